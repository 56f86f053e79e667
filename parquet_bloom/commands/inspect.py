"""pbloom inspect"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from parquet_bloom.commands.options import (
    Inputs,
    columns_option,
    files_argument,
    json_option,
    key_options,
    row_groups_option,
)

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys


@click.command()
@files_argument
@columns_option()
@row_groups_option
@click.option("--index-groups", is_flag=True, help="Each index group of an ORC file, too.")
@click.option("--histogram", is_flag=True, help="Draw how many blocks have how many bits set.")
@key_options
@json_option
def inspect(
    files: tuple[str, ...], columns: tuple[str, ...], row_groups: tuple[int, ...],
    index_groups: bool, histogram: bool, keys: Keys | None, as_json: bool,
) -> None:  # fmt: skip
    """Show which column chunks have filters, and what they are worth.

    Fill and FPP are computed from the bits. What has no filter says why. Of an ORC file, a line is
    a column in a stripe, whose index groups have a filter each.

    --histogram draws each filter's blocks by the number of bits that are set, beside what hashing
    makes them; in a pipe, and with --json, it counts them.

    \b
    Example:
      pbloom inspect events.bloom.parquet
    """
    if histogram and index_groups:
        raise click.UsageError("--histogram: not with --index-groups")
    from parquet_bloom.render.inspect import write_inspection
    from parquet_bloom.render.terminal import complain_if_unverified, write_json
    from parquet_bloom.verbs.documents import document_of
    from parquet_bloom.verbs.inspect import inspect as inspect_file

    selection: dict[str, Any] = {
        "columns": columns or None,
        "row_groups": row_groups or None,
        "keys": keys,
    }

    def work(path: str) -> None:
        report = inspect_file(path, index_groups=index_groups, **selection)
        complain_if_unverified(path, report.unverified)
        if as_json:
            write_json(document_of(report))
        else:
            write_inspection(report)

    def draw(path: str) -> None:
        from parquet_bloom.render.histogram import HistogramWriter, write_histograms_json
        from parquet_bloom.verbs.occupancy import FilterOccupancy, inspect_occupancy

        if as_json:
            found: list[FilterOccupancy] = []
            report = inspect_occupancy(path, lambda each, _: found.append(each), **selection)
            write_histograms_json(report, found)
        else:
            writer = HistogramWriter(path)
            report = inspect_occupancy(path, writer.take, **selection)
            writer.finish(report)
        complain_if_unverified(path, report.unverified)

    sys.exit(Inputs(files).each(draw if histogram else work))
