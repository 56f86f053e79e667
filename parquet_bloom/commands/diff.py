"""pbloom diff"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from parquet_bloom.commands import options as option
from parquet_bloom.commands.check_options import ignore_checksums
from parquet_bloom.commands.inputs import answer
from parquet_bloom.commands.key_options import GivenKeys, arguments_of, key_options
from parquet_bloom.commands.sections import Command, output_option
from parquet_bloom.commands.store_options import storage_options, stores
from parquet_bloom.program import FINE, NO


@click.command(cls=Command)
@option.file_argument("a")
@option.file_argument("b")
@option.columns()
@option.row_groups
@output_option("--all", "with_same", is_flag=True, help="Show filters that are the same, too.")
@output_option(
    "--diagnose",
    is_flag=True,
    help="Where bits differ, look up the values that each file stores: whose filter lacks which of"
    " them, and what its writer did instead.",
)
@output_option("--json", "as_json", is_flag=True, help="One JSON document.")
@option.answer_options
@ignore_checksums
@option.threads_to_read
@option.memory
@stores
@key_options
def diff(
    a: str, b: str, columns: tuple[str, ...] | None, parts: tuple[int, ...] | None, with_same: bool,
    keys: GivenKeys, as_json: bool, output: Path | None, overwrite: bool, **given: Any,
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
    from parquet_bloom.options import quoted_name
    from parquet_bloom.render.diff import write_diff
    from parquet_bloom.verbs.diff import diff as diff_files

    again = [
        *(word for name in columns or () for word in ("-c", quoted_name(name))),
        *(word for part in parts or () for word in ("-g", str(part))),
        *arguments_of(keys),
    ]
    with option.answering([a, b], output, overwrite):
        report = diff_files(
            a,
            b,
            columns=columns,
            row_groups=parts,
            keys=keys,
            storage_options=storage_options(),
            **given,
        )
        answer(report, as_json, lambda report: write_diff(report, with_same, again))
        sys.exit(FINE if report.same else NO)
