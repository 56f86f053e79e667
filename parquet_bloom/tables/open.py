"""Open a table: the only place that chooses its kind."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime

from parquet_bloom.errors import RewriteError, UnsupportedError
from parquet_bloom.storage import open_folder, with_options
from parquet_bloom.storage.folder import Folder
from parquet_bloom.tables.delta.log import LOG, Log, read_snapshot
from parquet_bloom.tables.delta.table import DeltaTable
from parquet_bloom.tables.table import Table
from parquet_bloom.vocabulary import TableChoice, check_word


def open_table(
    where: str | os.PathLike[str],
    kind: TableChoice = "auto",
    *,
    version: int | None = None,
    as_of: datetime | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> Table:
    """The table in a local folder or below a URL, at its newest version, at `version`, or as it was at
    the time `as_of` (UTC unless it says otherwise).

    Raises RewriteError if there is no such table or version, UnsupportedError for what is not known
    here, FormatError, OSError, ValueError for both `version` and `as_of`.
    """
    check_word("table", kind, TableChoice)
    if version is not None and as_of is not None:
        raise ValueError("version, as_of: expected one of them")
    folder = open_folder(with_options(where, storage_options))
    if not folder.has_folder(LOG):
        raise _no_table(folder)
    if as_of is not None:
        version = _version_at(folder, as_of)
    return DeltaTable(folder, version)


def _no_table(folder: Folder) -> Exception:
    if any(entry.name.endswith(".metadata.json") for entry in folder.entries("metadata")):
        return UnsupportedError(f"{folder.path}: is an Iceberg table, expected one of Delta Lake")
    return RewriteError(f"{folder.path}: no {LOG} in it, expected the folder of a Delta table")


def _version_at(folder: Folder, as_of: datetime) -> int:
    """The newest version that was there at a time. Raises RewriteError if there was none."""
    moment = as_of if as_of.tzinfo else as_of.replace(tzinfo=UTC)
    limit = moment.timestamp() * 1000
    has_timestamps = "delta.enableInCommitTimestamps" in read_snapshot(folder).configuration
    times = list(Log(folder).times(has_timestamps))
    found = max((version for version, made in times if made <= limit), default=None)
    if found is None:
        first = (
            f"{datetime.fromtimestamp(times[0][1] / 1000, UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
            if times
            else ""
        )
        raise RewriteError(
            f"{folder.path}: no version as of {moment.isoformat()}"
            + (f", expected {first} or later" if first else "")
        )
    return found
