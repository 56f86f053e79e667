"""pbloom strip"""

from __future__ import annotations

import sys
from typing import Any

import click

from parquet_bloom.commands import options as option


@click.command()
@option.files
@option.columns()
@option.row_groups
@option.destinations
@option.keys
@option.as_json
def strip(
    inputs: option.Inputs, destination_of: option.DestinationOf, keys: option.GivenKeys,
    as_json: bool, **given: Any,
) -> None:  # fmt: skip
    """Remove Bloom filters from files.

    The footer loses its pointers. The filters' bytes go if nothing but the footer follows them, and
    always in an ORC file.

    \b
    Example:
      pbloom strip events.bloom.parquet -o events.plain.parquet
    """
    from parquet_bloom.options import Selection
    from parquet_bloom.render.changes import write_strip
    from parquet_bloom.verbs.strip import strip_file

    selection = Selection(**given)

    def work(path: str) -> None:
        report = strip_file(path, selection, destination_of(path), keys=keys)
        option.answer(report, as_json, write_strip)

    sys.exit(inputs.each(work))
