"""pbloom inspect"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

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
    from parquet_bloom.errors import UnsupportedError
    from parquet_bloom.render.histogram import write_histograms, write_histograms_json
    from parquet_bloom.render.inspect import write_inspection
    from parquet_bloom.render.orc.inspect import write_orc_inspection
    from parquet_bloom.render.terminal import write_json
    from parquet_bloom.render.unverified import complain_if_unverified
    from parquet_bloom.verbs.inspect import inspect as inspect_file
    from parquet_bloom.verbs.occupancy import occupancies

    def work(path: str) -> None:
        report = inspect_file(
            path,
            columns=columns or None,
            row_groups=row_groups or None,
            index_groups=index_groups,
            keys=keys,
        )
        if report.format == "orc":
            if histogram:
                raise UnsupportedError(f"{path}: an ORC file, whose filters have no blocks")
            (write_json if as_json else write_orc_inspection)(report)
            return
        complain_if_unverified(path, report.unverified)
        if histogram:
            write = write_histograms_json if as_json else write_histograms
            write(report, occupancies(report, keys))
        else:
            (write_json if as_json else write_inspection)(report)

    sys.exit(Inputs(files).each(work))
