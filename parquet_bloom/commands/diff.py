"""pbloom diff"""

from __future__ import annotations

import sys

import click

from parquet_bloom.commands import options as option
from parquet_bloom.commands.inputs import answer
from parquet_bloom.commands.key_options import GivenKeys, key_options
from parquet_bloom.commands.sections import Command, output_option
from parquet_bloom.program import FINE, NO


@click.command(cls=Command)
@option.file_argument("a")
@option.file_argument("b")
@option.columns()
@output_option("--all", "with_same", is_flag=True, help="Show filters that are the same, too.")
@output_option(
    "--diagnose",
    is_flag=True,
    help="Where bits differ, look up the values that each file stores: whose filter lacks which of"
    " them, and what its writer did instead.",
)
@output_option("--json", "as_json", is_flag=True, help="One JSON document.")
@key_options
def diff(
    a: str, b: str, columns: tuple[str, ...] | None, with_same: bool, diagnose: bool,
    keys: GivenKeys, as_json: bool,
) -> None:  # fmt: skip
    """Compare the filters of two files.

    Row group by row group: presence, size, what headers and footers say, bits that differ, and
    whether one filter is the other one folded. In ORC files, index group by index group: presence,
    size, hashes, streams, bits that differ. It does not matter where in a file the filters are.
    Legacy filters are counted, not compared, unless bloom_filter_offset leads to them. Prints
    nothing if all are the same. Exit code 1: there is a difference.

    \b
    Example:
      pbloom diff events.parquet events.bloom.parquet
    """
    from parquet_bloom.render.diff import write_diff
    from parquet_bloom.verbs.diff import diff as diff_files

    report = diff_files(a, b, columns=columns, diagnose=diagnose, keys=keys)
    answer(report, as_json, lambda report: write_diff(report, with_same))
    sys.exit(FINE if report.same else NO)
