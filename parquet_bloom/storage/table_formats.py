"""The formats of tables, and whose table a file belongs to: readers of most would break if one of their
files were changed in place.

A format has an entry here and, if its tables are opened, a module in `tables`, which `tables.open` loads.
Delta Lake, Iceberg and Hudi record the size of every data file. A reader that seeks the footer by
the recorded size would find filters there instead.

Hive's transactional tables record no sizes, so their ORC files can be changed, unless transactions
are still writing them:

    delta_0000005_0000006/bucket_00000                 several footers, one per transaction
    delta_0000005_0000006/bucket_00000_flush_length    the end of the last valid one

Source: orc-core, org.apache.orc.impl.OrcAcidUtils.getLastFlushLength.
"""

from __future__ import annotations

import errno
import math
import os
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from parquet_bloom.errors import CATALOG, RewriteError
from parquet_bloom.storage import address_of, folder_at
from parquet_bloom.storage.source import (
    NoStoreError,
    is_object,
    is_url,
    local_name,
    tolerating,
)

# Seconds for which it is known whether a folder is a table's: a task may change thousands of its files.
KNOWN_FOR = 60


class _Searched(Protocol):
    """A folder that may be a table's."""

    def has_folder(self, name: str) -> bool: ...
    def names_in(self, name: str) -> Sequence[str]: ...


class TableFormat(NamedTuple):
    """A format, called `title`, whose tables are told by a `folder` that they have or, if `marks` are
    given, by a file in it whose path ends in one of these. `advice`: in place of changing a file.

    kind: as --table has it. table: with its article. sign: of a table, in messages. module: that opens
    tables, a TableModule; empty if none are opened. in_catalogs: whether a catalog may have them, too.
    """

    kind: str
    title: str
    folder: str
    advice: str
    marks: tuple[str, ...] = ()
    table: str = ""
    sign: str = ""
    module: str = ""
    in_catalogs: bool = False

    def is_at(self, place: _Searched) -> bool:
        """Whether a table of this format is there. Raises OSError if nobody may tell."""
        if not self.marks:
            return place.has_folder(self.folder)
        return any(f"/{name}".endswith(self.marks) for name in place.names_in(self.folder))


# What helps, and what helps who can write elsewhere, which nobody can on Spark.
_IN_TABLES: Final = "by build_table, repair_table and strip_table, which also commit the new sizes"
COPIES: Final = ", or write copies with output="

# A table of two formats is one of the first: Delta tables may have Iceberg's metadata, too.
FORMATS: Final = (
    TableFormat(
        kind="delta",
        title="Delta Lake",
        folder="_delta_log",
        advice=f"change the table {_IN_TABLES}{COPIES}",
        table="a Delta table",
        sign="_delta_log",
        module="parquet_bloom.tables.delta.table",
    ),
    TableFormat(
        kind="hudi",
        title="Hudi",
        folder=".hoodie",
        advice=f"set the writer's Bloom filter options for new files{COPIES}",
    ),
    TableFormat(
        kind="iceberg",
        title="Iceberg",
        folder="metadata",
        marks=("/version-hint.text", ".metadata.json"),
        advice=f"change the table {_IN_TABLES}, to its catalog with {CATALOG}{COPIES}",
        table="an Iceberg table",
        sign="metadata/*.metadata.json",
        module="parquet_bloom.tables.iceberg.opening",
        in_catalogs=True,
    ),
)

_NOT_THERE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}

# Hive's prefix for the files in deltas, and its suffix for their lengths.
_BUCKET = "bucket_"
_SIDE_FILE = "_flush_length"


def check_not_in_table(file: Path | str) -> None:
    """Raise RewriteError if changing this file, a local path or a URL, would break a table, and
    OSError if a remote folder cannot be listed."""
    table: tuple[TableFormat, object] | None
    if isinstance(file, Path):
        table = _local_table(file)
    else:
        try:
            table = _remote_table(_parent(file), time.monotonic() // KNOWN_FOR, _store_of(file))
        except (FileNotFoundError, NoStoreError) as error:
            # Not that folder is not there, but all that it would be in.
            error.filename = str(file)
            raise
    if table:
        format, root = table
        raise RewriteError(
            f"{file}: belongs to the {format.title} table {root}, which records the size of its files:"
            f" not changed in place; {format.advice}"
        )
    side_file = _local_side_file(file) if isinstance(file, Path) else _remote_side_file(file)
    if side_file:
        raise RewriteError(
            f"{file}: being written by Hive, {side_file} holds its valid length: not changed in"
            " place; wait until the transactions are closed, or compact the table"
        )


def is_in_table(path: str) -> bool:
    """Whether a file is one of a table's that check_not_in_table refuses, as far as is known without asking a
    store."""
    if is_url(path):
        return False
    with suppress(OSError):
        return _local_table(Path(local_name(path))) is not None
    return False


def table_at(folder: str) -> TableFormat | None:
    """The format of the table whose own folder a local one is, if we read such tables. Raises OSError."""
    found = _known_format(folder)
    return found if found is not None and found.module else None


def _format_at(place: _Searched) -> TableFormat | None:
    return next((format for format in FORMATS if format.is_at(place)), None)


def _local_table(file: Path) -> tuple[TableFormat, Path] | None:
    """The format and root folder of the file's table."""
    # A table may reach a file through a link, so both the given path and the resolved one count.
    named, real = os.path.abspath(file), os.path.realpath(file)
    for folder in dict.fromkeys([*_folders_above(named), *_folders_above(real)]):
        if format := _known_format(folder):
            return format, Path(folder)
    return None


# While folders are asked only once: the format of each that was asked, and when.
_asked: dict[str, tuple[TableFormat | None, float]] | None = None


@contextmanager
def asking_once() -> Iterator[None]:
    """Ask a local folder at most every KNOWN_FOR seconds whether it is a table's: for a task of Spark,
    which changes thousands of files of few folders."""
    global _asked
    _asked = {}
    try:
        yield
    finally:
        _asked = None


def _known_format(folder: str) -> TableFormat | None:
    if _asked is None:
        return _format_at(_LocalPlace(folder))
    format, when = _asked.get(folder, (None, -math.inf))
    if time.monotonic() - when >= KNOWN_FOR:
        format = _format_at(_LocalPlace(folder))
        _asked[folder] = format, time.monotonic()
    return format


class _LocalPlace:
    """Raises OSError if nobody may tell: os.path.isdir would deny it."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def has_folder(self, name: str) -> bool:
        with tolerating(_NOT_THERE):
            return stat.S_ISDIR(os.stat(os.path.join(self._folder, name)).st_mode)
        return False

    def names_in(self, name: str) -> Sequence[str]:
        with tolerating(_NOT_THERE):
            return os.listdir(os.path.join(self._folder, name))
        return ()


def _folders_above(path: str) -> Iterator[str]:
    """All of them, the nearest first, of an absolute path."""
    above = os.path.dirname(path)
    while above != path:
        yield above
        path, above = above, os.path.dirname(above)


def _local_side_file(file: Path) -> Path | None:
    for path in (file, Path(os.path.realpath(file))):
        if not path.name.startswith(_BUCKET):
            continue
        side_file = path.with_name(path.name + _SIDE_FILE)
        if side_file.exists():
            return side_file
    return None


def _remote_side_file(url: str) -> str | None:
    place = url if is_object(url) else url.partition("?")[0]
    folder, name = _parent(url), place.rpartition("/")[2]
    if folder is None or not name.startswith(_BUCKET):
        return None
    return name + _SIDE_FILE if folder_at(folder).has_file(name + _SIDE_FILE) else None


@lru_cache(maxsize=4096)
def _remote_table(
    folder: str | None, period: float, place: tuple[str | None, ...]
) -> tuple[TableFormat, str] | None:
    """The table at the URL `folder` or above it; `period` makes cache entries expire, and the `place` of
    the store tells folders apart."""
    if folder is None:
        return None
    if format := _format_at(folder_at(folder)):
        return format, folder
    return _remote_table(_parent(folder), period, place)


def _store_of(url: str) -> tuple[str | None, ...]:
    if not is_object(url):
        return ()
    from parquet_bloom.storage.store_environment import place_of

    return place_of(address_of(url))


def _parent(url: str) -> str | None:
    """The URL of the folder above, with the same options; None for a bucket."""
    if is_object(url):
        return address_of(url).parent
    place, mark, options = url.partition("?")
    scheme, _, path = place.partition("://")
    folder, slash, _ = path.rpartition("/")
    return f"{scheme}://{folder}{mark}{options}" if slash else None
