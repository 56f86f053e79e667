"""Who asks the folder of a table from Python may mean the table."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from types import FrameType
from typing import Final

from parquet_bloom.errors import TableFolderWarning
from parquet_bloom.storage.source import is_url, local_name

# To whom asks files, and may change them with what is printed.
_UNCHANGED: Final = ", and none of these is changed in place"


def tables_among(names: Iterable[str], option: str, besides: str = _UNCHANGED) -> Iterator[str]:
    """What to say of each local folder among names of files that is a table's; `option`: what takes the table
    instead, with `{}` for its kind; `besides`: what else is to be known of all files."""
    return _said_of(
        names,
        f"of which {option} takes the live files; this is about all files in its folder{besides}",
    )


def copied_tables(names: Iterable[str], option: str) -> Iterator[str]:
    """The same to whom copies files with other filters. `option`: what changes those of the table instead."""
    return _said_of(
        names,
        f"whose live files {option} changes, with a commit; this is about all files in its folder,"
        " whatever the table has deleted",
    )


def _said_of(names: Iterable[str], what: str) -> Iterator[str]:
    for name in names:
        if is_url(name) or not os.path.isdir(local_name(name)):
            continue
        from parquet_bloom.storage.table_formats import table_at

        with suppress(OSError):
            if format := table_at(local_name(name)):
                yield f"{name}: {format.table}, {what.format(format.kind)}"


def warn_of_tables(
    names: Iterable[str], option: str = 'table="{}"', besides: str = _UNCHANGED
) -> None:
    """Say it to the caller of this package as a warning; `option`, `besides`: as in tables_among."""
    _warn(tables_among(names, option, besides))


def warn_of_copied_tables(names: Iterable[str], verb: str) -> None:
    """The same as copied_tables, of one of the functions that have a twin for tables."""
    _warn(copied_tables(names, f"pb.{verb}_table"))


def _warn(said_of_tables: Iterable[str]) -> None:
    for said in said_of_tables:
        warnings.warn(said, TableFolderWarning, level_of_caller())


def level_of_caller() -> int:
    """Of who has called this package, seen from who warns. What is between its frames may be those of others."""
    package, _, _ = __name__.partition(".")
    found = level = 0
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        level += 1
        if frame.f_globals.get("__name__", "").partition(".")[0] == package:
            found = level
        frame = frame.f_back
    return found + 1
