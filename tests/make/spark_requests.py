"""What the driver sends to the executors."""

from collections.abc import Sequence
from typing import Any

from parquet_bloom.options import BuildOptions, Destination, Selection


def destination(verify: bool = True, dry_run: bool = False) -> Destination:
    return Destination(in_place=True, verify=verify, dry_run=dry_run)


def build_request(
    columns: Sequence[str],
    only_missing: bool = False,
    verify: bool = True,
    dry_run: bool = False,
    keys_file: str | None = None,
    **options: Any,
) -> dict[str, Any]:
    """To build filters for `columns` in the places of files."""
    return {
        "verb": "build",
        "options": {
            "build": BuildOptions(columns=tuple(columns), threads=1, **options),
            "destination": destination(verify, dry_run),
            "only_missing": only_missing,
            "keys_file": keys_file,
        },
    }


def strip_request() -> dict[str, Any]:
    """To remove all filters of files in their places."""
    request = {"selection": Selection(), "destination": destination(), "keys_file": None}
    return {"verb": "strip", "options": request}
