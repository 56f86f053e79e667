"""pbloom diff"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from parquet_bloom.commands.options import columns_option, json_option, key_options
from parquet_bloom.program import FINE, NO

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys


@click.command()
@click.argument("a")
@click.argument("b")
@columns_option()
@click.option("--all", "with_same", is_flag=True, help="Show filters that are the same, too.")
@key_options
@json_option
def diff(
    a: str, b: str, columns: tuple[str, ...], with_same: bool, keys: Keys | None, as_json: bool
) -> None:
    """Compare the filters of two files.

    Row group by row group: presence, size, what headers and footers say, bits that differ, and
    whether one filter is the other, folded. Of two ORC files, index group by index group: presence,
    size, hashes, streams, bits that differ. Where filters lie does not count. Legacy filters are
    counted, not compared, unless bloom_filter_offset leads to them. Prints nothing if all are the
    same. Exit code 1: there is a difference.

    \b
    Example:
      pbloom diff events.parquet events.bloom.parquet
    """
    from parquet_bloom.render.diff import write_diff
    from parquet_bloom.render.terminal import write_json
    from parquet_bloom.verbs.diff import diff as diff_files
    from parquet_bloom.verbs.documents import document_of

    report = diff_files(a, b, columns=columns or None, keys=keys)
    if as_json:
        write_json(document_of(report))
    else:
        write_diff(report, with_same)
    sys.exit(FINE if report.same else NO)
