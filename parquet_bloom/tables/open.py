"""Open a table: the only place that chooses its kind."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from datetime import datetime
from importlib import import_module
from typing import Final, Protocol, cast

from parquet_bloom.arguments import (
    PATH_OR_URL,
    mapping_given,
    name_given,
    number_given,
    path_given,
)
from parquet_bloom.errors import IN_CATALOG, RewriteError
from parquet_bloom.storage import open_folder, with_options
from parquet_bloom.storage.folder import Folder
from parquet_bloom.storage.source import is_url, local_name
from parquet_bloom.storage.table_formats import FORMATS, TableFormat
from parquet_bloom.tables.table import LakeTable, Moment
from parquet_bloom.vocabulary import TableChoice, check_word

_NAME: Final = "the identifier of a table in its catalog"


class TableModule(Protocol):
    """What the module of a format of tables has. The functions that open raise RewriteError,
    UnsupportedError, FormatError, OSError."""

    def is_at(self, folder: Folder) -> bool:
        """Whether there is such a table. Raises OSError."""

    def open_at(
        self, folder: Folder, moment: Moment, options: Mapping[str, str] | None
    ) -> LakeTable:
        """The table in a folder. `options`: of the store of its files."""

    def open_in_catalog(
        self, catalog: str, name: str, moment: Moment, options: Mapping[str, str] | None
    ) -> LakeTable:
        """The table of this name in a catalog; of a format whose tables are in catalogs."""


def open_table(
    where: str | os.PathLike[str],
    kind: TableChoice = "auto",
    *,
    catalog: str | None = None,
    version: int | str | None = None,
    as_of: datetime | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> LakeTable:
    """The table in a local folder or below a URL, at its newest version, at `version`, or as it was at
    the time `as_of` (UTC unless it says otherwise). With a `catalog` of PyIceberg's configuration,
    `where` is the identifier of an Iceberg table in it, as in `lake.events`, and `version` that of a
    snapshot, or the name of a branch or tag.

    Raises RewriteError if there is no such table or version, UnsupportedError for what is not known
    here, FormatError, OSError, ValueError for both `version` and `as_of`, TypeError.
    """
    check_word("table", kind, TableChoice)
    name = path_given("table", where, _NAME if catalog is not None else PATH_OR_URL)
    if not name:
        # As of a variable that is not set: not the current folder, which may be a table.
        raise FileNotFoundError(errno.ENOENT, "an empty name, expected that of a table")
    if as_of is not None and not isinstance(as_of, datetime):
        raise TypeError(f"as_of: {as_of!r}, expected a datetime")
    if version is not None and as_of is not None:
        raise ValueError("version, as_of: expected one of them")
    name_of_version = version if isinstance(version, str) else None
    number = None if isinstance(version, str | None) else number_given("version", version)
    moment = Moment(number, as_of, name_of_version)
    if catalog is not None:
        found = next((each for each in _openable(kind) if each.in_catalogs), None)
        if found is None:
            raise ValueError("catalog: expected with an Iceberg table only")
        options = mapping_given("storage_options", storage_options or {}, "text")
        return _module(found).open_in_catalog(name_given("catalog", catalog), name, moment, options)
    folder = open_folder(with_options(name, storage_options))
    for format in _openable(kind):
        module = _module(format)
        if module.is_at(folder):
            return module.open_at(folder, moment, storage_options)
    is_missing = not is_url(name) and not os.path.exists(local_name(name))
    raise RewriteError(f"{folder.path}: {_no_folder(kind) if is_missing else _no_table(kind)}")


def _openable(kind: TableChoice) -> Iterator[TableFormat]:
    """The formats that may be meant."""
    return (each for each in FORMATS if each.module and kind in ("auto", each.kind))


def _module(format: TableFormat) -> TableModule:
    # Lazily: importing PyIceberg takes longer than building most files.
    return cast(TableModule, import_module(format.module))


def _no_folder(kind: TableChoice) -> str:
    in_catalogs = any(each.in_catalogs for each in _openable(kind))
    return f"no such folder{f'; for a table of a catalog, give {IN_CATALOG}' * in_catalogs}"


def _no_table(kind: TableChoice) -> str:
    signs = [each.sign for each in _openable(kind)]
    if kind == "auto":
        return f"neither {' nor '.join(signs)} in it, expected the folder of a table"
    (table,) = (each.table for each in _openable(kind))
    return f"no {signs[0]} in it, expected the folder of {table}"
