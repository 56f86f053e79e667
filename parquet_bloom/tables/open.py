"""Open a table: the only place that chooses its kind."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from parquet_bloom.arguments import (
    PATH_OR_URL,
    mapping_given,
    name_given,
    number_if_given,
    path_given,
)
from parquet_bloom.errors import RewriteError
from parquet_bloom.storage import open_folder, with_options
from parquet_bloom.storage.folder import Folder
from parquet_bloom.tables.delta.log import LOG, Log, read_snapshot
from parquet_bloom.tables.delta.table import DeltaTable
from parquet_bloom.tables.iceberg.library import check_installed
from parquet_bloom.tables.iceberg.metadata_files import METADATA, newest_metadata
from parquet_bloom.tables.table import Table, no_version_as_of
from parquet_bloom.vocabulary import TableChoice, TableKind, check_word

_NAME: Final = "the identifier of a table in its catalog"


def open_table(
    where: str | os.PathLike[str],
    kind: TableChoice = "auto",
    *,
    catalog: str | None = None,
    version: int | None = None,
    as_of: datetime | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> Table:
    """The table in a local folder or below a URL, at its newest version, at `version`, or as it was at
    the time `as_of` (UTC unless it says otherwise). With a `catalog` of PyIceberg's configuration,
    `where` is the identifier of an Iceberg table in it, as in `lake.events`, and `version` that of a
    snapshot.

    Raises RewriteError if there is no such table or version, UnsupportedError for what is not known
    here, FormatError, OSError, ValueError for both `version` and `as_of`, TypeError.
    """
    check_word("table", kind, TableChoice)
    name = path_given("table", where, _NAME if catalog is not None else PATH_OR_URL)
    version = number_if_given("version", version)
    if as_of is not None and not isinstance(as_of, datetime):
        raise TypeError(f"as_of: {as_of!r}, expected a datetime")
    if version is not None and as_of is not None:
        raise ValueError("version, as_of: expected one of them")
    if catalog is not None:
        if kind == "delta":
            raise ValueError("catalog: expected with an Iceberg table only")
        check_installed(name)
        # Lazily: importing PyIceberg takes longer than building most files.
        from parquet_bloom.tables.iceberg.table import Moment, in_catalog

        options = mapping_given("storage_options", storage_options or {}, "text")
        return in_catalog(name_given("catalog", catalog), name, Moment(version, as_of), options)
    folder = open_folder(with_options(name, storage_options))
    if _kind_of(folder, kind) == "iceberg":
        check_installed(folder.path)
        from parquet_bloom.tables.iceberg.table import Moment, in_folder

        return in_folder(folder, Moment(version, as_of), storage_options)
    if as_of is not None:
        version = _version_at(folder, as_of)
    return DeltaTable(folder, version)


def _kind_of(folder: Folder, kind: TableChoice) -> TableKind:
    """Raises RewriteError for the folder of no such table."""
    # A Delta table may have metadata of Iceberg's, too; its own log says so.
    if kind != "iceberg" and folder.has_folder(LOG):
        return "delta"
    if kind != "delta" and newest_metadata(folder) is not None:
        return "iceberg"
    signs = {
        "auto": f"neither {LOG} nor {METADATA}/*.metadata.json in it, expected the folder of a table",
        "delta": f"no {LOG} in it, expected the folder of a Delta table",
        "iceberg": f"no {METADATA}/*.metadata.json in it, expected the folder of an Iceberg table",
    }
    raise RewriteError(f"{folder.path}: {signs[kind]}")


def _version_at(folder: Folder, as_of: datetime) -> int:
    """The newest version that was there at a time. Raises RewriteError if there was none."""
    moment = as_of if as_of.tzinfo else as_of.replace(tzinfo=UTC)
    limit = moment.timestamp() * 1000
    has_timestamps = "delta.enableInCommitTimestamps" in read_snapshot(folder).configuration
    times = list(Log(folder).times(has_timestamps))
    found = max((version for version, made in times if made <= limit), default=None)
    if found is None:
        raise RewriteError(no_version_as_of(folder.path, moment, [made for _, made in times]))
    return found
