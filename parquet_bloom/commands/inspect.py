"""pbloom inspect"""

from __future__ import annotations

import sys
from typing import Any

import click

from parquet_bloom.commands import options as option


@click.command()
@option.files
@option.columns()
@option.row_groups
@click.option("--index-groups", is_flag=True, help="Also show each index group of an ORC file.")
@click.option("--histogram", is_flag=True, help="Draw how many blocks have how many bits set.")
@option.keys
@option.as_json
def inspect(
    files: tuple[str, ...], index_groups: bool, histogram: bool, keys: option.GivenKeys, as_json: bool,
    **given: Any,
) -> None:  # fmt: skip
    """Show which column chunks have filters, and how good they are.

    Fill and FPP are computed from the bits. Where there is no filter, the reason is given. For an
    ORC file, each line is a column in a stripe, whose index groups have a filter each.

    --histogram draws the blocks of each filter by the number of bits set, beside what hashing would
    give; in a pipe and with --json, it lists the counts.

    \b
    Example:
      pbloom inspect events.bloom.parquet
    """
    if histogram and index_groups:
        raise click.UsageError("--histogram: not with --index-groups")
    from parquet_bloom.files import open as open_file
    from parquet_bloom.options import Selection
    from parquet_bloom.render.inspect import write_inspection
    from parquet_bloom.render.terminal import complain_if_unverified
    from parquet_bloom.verbs.inspect import inspect_file

    selection = Selection(**given)

    def work(path: str) -> None:
        with open_file(path, keys) as file:
            report = inspect_file(file, selection, index_groups=index_groups)
        complain_if_unverified(path, report.unverified)
        option.answer(report, as_json, write_inspection)

    def draw(path: str) -> None:
        from parquet_bloom.render.histogram import HistogramWriter, write_histograms_json
        from parquet_bloom.verbs.occupancy import FilterOccupancy, inspect_occupancy

        found: list[FilterOccupancy] = []
        writer = HistogramWriter(path)
        with open_file(path, keys) as file:
            take = (lambda each, _: found.append(each)) if as_json else writer.take
            report = inspect_occupancy(file, selection, take)
        if as_json:
            write_histograms_json(report, found)
        else:
            writer.finish(report)
        complain_if_unverified(path, report.unverified)

    sys.exit(option.Inputs(files).each(draw if histogram else work))
