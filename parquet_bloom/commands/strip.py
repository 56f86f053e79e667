"""pbloom strip"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from parquet_bloom.commands.options import (
    Destinations,
    Inputs,
    columns_option,
    destination_options,
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
@destination_options
@key_options
@json_option
def strip(
    files: tuple[str, ...], columns: tuple[str, ...], row_groups: tuple[int, ...],
    destinations: Destinations, keys: Keys | None, as_json: bool,
) -> None:  # fmt: skip
    """Remove Bloom filters from files.

    The footer loses its pointers; the filters' bytes go where they are the last before the footer,
    and always in an ORC file.

    \b
    Example:
      pbloom strip events.bloom.parquet -o events.plain.parquet
    """
    from parquet_bloom.options import Selection
    from parquet_bloom.render.changes import write_strip
    from parquet_bloom.render.terminal import write_json
    from parquet_bloom.verbs.documents import document_of
    from parquet_bloom.verbs.strip import strip_file

    inputs = Inputs(files)
    destination_of = destinations(inputs)
    selection = Selection(columns=columns or None, parts=row_groups or None)

    def work(path: str) -> None:
        report = strip_file(path, selection, destination_of(path), keys=keys)
        if as_json:
            write_json(document_of(report))
        else:
            write_strip(report)

    sys.exit(inputs.each(work))
