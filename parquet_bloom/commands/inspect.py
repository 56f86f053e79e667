"""pbloom inspect"""

from __future__ import annotations

import sys

import click

from parquet_bloom.commands.options import (
    Inputs,
    columns_option,
    files_argument,
    json_option,
    row_groups_option,
)


@click.command()
@files_argument
@columns_option()
@row_groups_option
@json_option
def inspect(
    files: tuple[str, ...], columns: tuple[str, ...], row_groups: tuple[int, ...], as_json: bool
) -> None:
    """Show which column chunks have filters, and what they are worth.

    Fill and FPP are computed from the bits. What has no filter says why.

    \b
    Example:
      pbloom inspect events.bloom.parquet
    """
    from parquet_bloom.render.inspect import write_inspection
    from parquet_bloom.render.terminal import write_json
    from parquet_bloom.verbs.inspect import inspect as inspect_file

    def work(path: str) -> None:
        report = inspect_file(path, columns=columns or None, row_groups=row_groups or None)
        (write_json if as_json else write_inspection)(report)

    sys.exit(Inputs(files).each(work))
