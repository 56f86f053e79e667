"""What the driver sends to the executors."""

from collections.abc import Sequence
from typing import Any

from parquet_bloom.options import BuildOptions, Destination, Selection
from parquet_bloom.spark.request import Request


def build_request(
    columns: Sequence[str],
    only_missing: bool = False,
    verify: bool = True,
    dry_run: bool = False,
    keys_file: str | None = None,
    **options: Any,
) -> Request:
    """To build filters for `columns` in the places of files."""
    return Request(
        verb="build",
        options=BuildOptions(columns=tuple(columns), threads=1, **options),
        keys_file=keys_file,
        destination=Destination(in_place=True, verify=verify, dry_run=dry_run),
        only_missing=only_missing,
    )


def strip_request() -> Request:
    """To remove all filters of files in their places."""
    return Request(verb="strip", options=Selection())
