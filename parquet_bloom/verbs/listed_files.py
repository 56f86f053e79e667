"""The files that a verb is about, each in its state: those that names mean, and the live ones of tables.

The live files of a table are in its log or its manifests: nothing is listed for them. A table never puts another file
in the place of one, so in an object store no file is asked for its version until it is read;
local ones are looked at.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import UnsupportedError
from parquet_bloom.files import Opener, open_file
from parquet_bloom.index.manifest import TableSource
from parquet_bloom.index.names import lasting
from parquet_bloom.index.states import in_stores_of, is_as_read, listed, state_of
from parquet_bloom.options import TableView
from parquet_bloom.storage import open_source, with_options
from parquet_bloom.storage.folder import Found
from parquet_bloom.storage.paths import NO_FILES, not_listed
from parquet_bloom.storage.source import is_url
from parquet_bloom.verbs.table_folders import warn_of_tables

if TYPE_CHECKING:
    from parquet_bloom.container.protocols import Askable, Container, Overview
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.index.units import Unit
    from parquet_bloom.native.lazy import Array
    from parquet_bloom.reads.partitions import Partitions, Stored
    from parquet_bloom.reads.pruning import Open
    from parquet_bloom.reads.rows import RowSource
    from parquet_bloom.reads.table_types import Kind
    from parquet_bloom.storage.cache import CacheUse
    from parquet_bloom.storage.left_out import LeftOut
    from parquet_bloom.storage.source import FileEnd
    from parquet_bloom.tables.table import LakeTable, TableFile

    # By path, the tables of files and their records of them.
    _Recorded: TypeAlias = dict[str, tuple[LakeTable, TableFile]]

# So many are named of those with which the same is wrong.
_MOST_NAMES: Final = 5

# Of a folder that an index over tables is about, too.
SOURCE_GONE: Final = "nothing is there any more, and the index is about it: index remove forgets it"
_FILE_GONE: Final = (
    "gone since it was indexed, and may have had such rows: index add brings the index up to date"
)

# The version of a file that nobody has read: it is not there, or nobody may look.
NOT_SEEN: Final = ""


@dataclass(frozen=True, slots=True)
class ListedFiles:
    """`found`: in the order of their paths; the size of a table's file is the recorded one, and behind URLs its
    version is None. `errors`: why some names mean nothing, or nobody may look. `tables`: as they were looked at.
    `gone`: files that an index has and that are not there any more, as it read them."""

    found: Mapping[str, Found]
    errors: Sequence[OSError] = ()
    tables: tuple[TableSource, ...] = ()
    options: Mapping[str, str] | None = None
    gone: Mapping[str, Found] = field(default_factory=dict)
    _recorded: _Recorded = field(default_factory=dict)
    _lake_tables: Sequence[LakeTable] = ()
    _given: Mapping[str, str] = field(default_factory=dict)

    def given(self, path: str) -> str:
        """What users call a file that an index has by this path, see for_index."""
        return self._given.get(path, path)

    def open(self, path: str, keys: Keys | None, cache: CacheUse | None = None) -> Container:
        """One of the files, or another one. Of a table, as far as it records it, and with its names of columns.
        Raises as open_file."""
        opener: Opener = open_source
        if cache is not None:
            opener = partial(cache.open, now=self.found.get(path))
        of_table = self._recorded.get(path)
        if of_table is None:
            # An index has only the text of a URL, and no options of its own.
            listed = self.found.get(path)
            place = path if listed is None else listed.path
            return open_file(with_options(place, self.options), keys, opener=opener)
        table, file = of_table
        return table.open_file(file, keys, opener)

    def check_seen(self) -> None:
        """Raise the OSError of the first name at which nobody may look;
        one that means nothing any more has no files."""
        for error in self.errors:
            if not isinstance(error, FileNotFoundError):
                raise error

    def check_columns(self, columns: Iterable[str]) -> None:
        """Raise ColumnError for a column that a table does not have."""
        for table in self._lake_tables:
            for name in columns:
                table.physical(name)

    def read_as(self, path: str, column: str) -> str:
        """What a file calls a column, see Segment."""
        of_table = self._recorded.get(path)
        return "" if of_table is None else of_table[0].names.stored_as(column)

    def called_now(self, path: str, column: str, read_as: str) -> str | None:
        """What a file's table calls the column by now that an index has as this one, and read as `read_as`; None if
        it still has one of that name, or none in its place."""
        of_table = self._recorded.get(path)
        if of_table is None or column in of_table[0].columns:
            return None
        names = of_table[0].names
        # As it is stored once it is called otherwise.
        stored = read_as or f"column {column}"
        return next((each for each in of_table[0].columns if names.stored_as(each) == stored), None)

    def is_known(self, unit: Unit, column: str, read_as: str) -> bool:
        """Whether a file is as it was when an index read it, or was when it was last there, and its column means the
        same."""
        path = self.given(unit.path)
        now = self.found.get(path) or self.gone.get(path)
        return (
            now is not None
            and is_as_read(now, unit.size, unit.version)
            and self.read_as(path, column) == read_as
        )

    def ends(self, paths: Iterable[str], keys: Keys | None) -> dict[str, FileEnd]:
        """Those of files that are not called as their tables call them, see LakeTable.end_for_others. Raises
        UnsupportedError."""
        of_tables = {path: self._recorded[path] for path in paths if path in self._recorded}
        ends = {path: table.end_for_others(file, keys) for path, (table, file) in of_tables.items()}
        return {path: end for path, end in ends.items() if end is not None}

    def check_not_deleted(self, paths: Iterable[str]) -> None:
        """Raise UnsupportedError for a file of which its table has deleted rows."""
        for path in paths:
            if self.may_hide_rows(path):
                table, file = self._recorded[path]
                # Raises for those that nobody finds here.
                table.deleted_rows(file)
                raise table.says_more(path, "deleted rows", "pb.rows or pb.polars_source, or ")

    @property
    def table_columns(self) -> tuple[str, ...]:
        """See reads.matching.ListedFiles."""
        if self.found.keys() != self._recorded.keys():
            return ()
        names = [name for table in self._lake_tables for name in table.top_columns]
        return tuple(dict.fromkeys(names))

    @property
    def leaf_columns(self) -> frozenset[str]:
        """Those of all tables."""
        return frozenset(name for table in self._lake_tables for name in table.columns)

    def as_listed(self, file: Askable, wanted: Collection[str]) -> RowSource:
        """See reads.matching.ListedFiles."""
        of_table = self._recorded.get(file.path)
        if of_table is None:
            return file
        return _FileOfTable(file, *of_table, wanted)

    def deleted_rows(self, path: str) -> Array | None:
        """See reads.matching.ListedFiles."""
        if not self.may_hide_rows(path):
            return None
        table, file = self._recorded[path]
        return table.deleted_rows(file)

    @property
    def told_columns(self) -> frozenset[str]:
        """See LakeTable."""
        return frozenset(name for table in self._lake_tables for name in table.told_columns)

    def told(self, path: str) -> Mapping[str, object]:
        """See LakeTable; nothing of a file of no table."""
        of_table = self._recorded.get(path)
        return {} if of_table is None else of_table[0].told(of_table[1])

    def is_of_table(self, path: str) -> bool:
        return path in self._recorded

    @property
    def partition_types(self) -> Mapping[str, str]:
        """Of the columns of tables whose values are not in their files. Raises UnsupportedError for one that has
        several, FormatError."""
        found: dict[str, str] = {}
        for table in self._lake_tables:
            for name, kind in table.partition_types.items():
                if found.setdefault(name, kind) != kind:
                    problem = (
                        f"partition column {name}: {kind}, expected {found[name]} as in others"
                    )
                    raise UnsupportedError(f"{table.location}: {problem}")
        return found

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """See reads.matching.ListedFiles."""
        return {name: kind for table in self._lake_tables for name, kind in table.kinds.items()}

    def kinds_of(self, path: str) -> Mapping[str, Kind]:
        """What a file's table says about its columns, see TableColumns; nothing of a file of no table."""
        of_table = self._recorded.get(path)
        return {} if of_table is None else of_table[0].kinds

    def is_called_alike(self, file: Overview) -> bool:
        """See reads.matching.ListedFiles."""
        return self._recorded[file.path][0].is_called_alike(file)

    def partitions(self, names: Sequence[str], among: Iterable[str] | None = None) -> Partitions:
        """The columns of the files' partitions, as tables tell them, or the names of folders: if one of `names` alone
        was given, of those below it. among: these files in the place of those found. Raises UnsupportedError,
        FormatError."""
        from parquet_bloom.reads.partitions import Partitions, texts_in

        base = names[0] if len(names) == 1 else ""
        types, texts = self.partition_types, {}
        for path in self.found if among is None else among:
            if path in self._recorded:
                told = self._recorded[path][1].partition
                of_file = {name: text for name, text in told.items() if name in types}
            else:
                of_file = texts_in(path, base)
            if of_file:
                texts[path] = of_file
        return Partitions(texts, types)

    def stored_keys(
        self, partitions: Partitions, wanted: Collection[str], opener: Open
    ) -> Stored | None:
        """Those `wanted` columns of folders that the first file with such columns has, too. Raises FormatError,
        UnsupportedError, EncryptionError, OSError for a file that cannot be read."""
        from parquet_bloom.reads.partitions import Stored

        of_folders = {*partitions.of_folders} & {*wanted}
        if not of_folders:
            return None
        first = next(iter(partitions.paths))
        with opener(first) as file:
            names = [name for name in file.top_columns if name in of_folders]
            return Stored(first, file.read_rows(names, {}).schema) if names else None

    def may_hide_rows(self, path: str) -> bool:
        """Whether a table may have deleted rows of a file that are still in it."""
        of_table = self._recorded.get(path)
        return of_table is not None and of_table[0].may_hide_rows(of_table[1])


def files_in_index(
    units: Iterable[Unit], sources: Sequence[str], options: Mapping[str, str] | None
) -> ListedFiles:
    """Those that an index about these sources has, and which of them are gone. Raises OSError for one at which nobody
    may look."""
    had = {unit.path: unit for unit in units}
    files = list_files(in_stores_of(sources, sorted(had)), (), options)
    files.check_seen()
    gone = {
        path: Found(path, unit.size, unit.version, None)
        for path, unit in had.items()
        if path not in files.found
    }
    return replace(files, gone=gone)


def files_gone(paths: Iterable[str]) -> OSError:
    """What is said of files of an index that may have had what is asked for."""
    return _in_one([FileNotFoundError(errno.ENOENT, _FILE_GONE, path) for path in paths])


def list_files(
    names: Iterable[str],
    tables: Iterable[TableSource] = (),
    options: Mapping[str, str] | None = None,
    besides: str | None = None,
    look: Callable[[str], Found | None] = state_of,
    left_out: LeftOut | None = None,
) -> ListedFiles:
    """The files that `names` mean, see states.listed, and those of tables at their newest versions. Raises
    RewriteError for what is no table, UnsupportedError, FormatError, OSError."""
    found, errors = listed(names, options, besides, look, left_out)
    files = {file.path: replace(file, version=file.version or NOT_SEEN) for file in found}
    seen: list[TableSource] = []
    opened: list[tuple[LakeTable, Sequence[TableFile]]] = []
    for source in tables:
        view = TableView(kind=source.kind, catalog=source.catalog)
        table = _opened(source.name, view, options)
        seen.append(replace(source, kind=table.kind, version=table.version))
        opened.append((table, table.files()))
    return replace(_in_tables(opened, options, files), errors=errors, tables=tuple(seen))


def files_asked(
    given: Sequence[str],
    view: TableView | None,
    options: Mapping[str, str] | None,
    look: Callable[[str], Found | None] = state_of,
    left_out: LeftOut | None = None,
) -> ListedFiles:
    """The files that a user has named, or those of tables; warns of the folders of tables among names of files.
    Raises FileNotFoundError for what means nothing, and as files_found."""
    if view is None:
        warn_of_tables(given)
    return files_again(given, view, options, look, left_out)


def files_again(
    given: Sequence[str],
    view: TableView | None,
    options: Mapping[str, str] | None,
    look: Callable[[str], Found | None] = state_of,
    left_out: LeftOut | None = None,
) -> ListedFiles:
    """The same without a warning."""
    found = _found(given, view, options, look, left_out)
    if found.errors:
        raise found.errors[0]
    return found


def files_found(
    given: Sequence[str],
    view: TableView | None,
    options: Mapping[str, str] | None,
    look: Callable[[str], Found | None] = state_of,
    left_out: LeftOut | None = None,
) -> ListedFiles:
    """The same as files_asked if some names mean files: why others do not is in the `errors`. left_out: as for
    paths.expand. Raises FileNotFoundError for an empty name and if there are no files, PermissionError if nobody
    could look where some may be, and as list_files."""
    if view is None:
        warn_of_tables(given)
    return _found(given, view, options, look, left_out)


def _found(
    given: Sequence[str],
    view: TableView | None,
    options: Mapping[str, str] | None,
    look: Callable[[str], Found | None],
    left_out: LeftOut | None,
) -> ListedFiles:
    if view is None:
        found = list_files(given, (), options, look=look, left_out=left_out)
        nameless = [error for error in found.errors if error.filename is None]
        if not (found.found or nameless) and left_out is not None and left_out.all_unlisted:
            # Where nobody could look, nothing is known to be missing.
            raise _in_one([not_listed(*each) for each in left_out.all_unlisted])
        if found.errors and (nameless or not found.found):
            raise _in_one(nameless or found.errors)
        if not found.found:
            # All that was listed is gone meanwhile, and must not become an answer.
            names = ", ".join(str(with_options(name, {})) for name in given)
            raise FileNotFoundError(errno.ENOENT, NO_FILES, names)
        return found
    from parquet_bloom.tables.partitions import files_where

    tables = [_opened(name, view, options) for name in given]
    files = [(table, files_where(table, view.where, view.since)) for table in tables]
    seen = [
        TableSource(name, table.kind, view.catalog, table.version)
        for name, table in zip(given, tables, strict=True)
    ]
    return replace(_in_tables(files, options, {}), tables=tuple(seen))


def _in_one(errors: Sequence[OSError]) -> OSError:
    """The first error, with the names of all that are alike."""
    first = errors[0]
    alike = [
        str(each.filename)
        for each in errors
        if each.filename is not None
        and (each.errno, each.strerror) == (first.errno, first.strerror)
    ]
    if len(alike) < 2:
        return first
    more = ", …" * (len(alike) > _MOST_NAMES)
    return type(first)(first.errno, first.strerror, f"{', '.join(alike[:_MOST_NAMES])}{more}")


def names_in_index(names: list[str], view: TableView | None) -> list[str]:
    """What a user has named, as an index has it."""
    if view is not None and view.catalog is not None:
        return names
    places = lasting(names)
    return places if view is None else [name.rstrip("/") for name in places]


def for_index(files: ListedFiles) -> ListedFiles:
    """The same for an index, which has them by paths that mean the same from anywhere; each once, by the first of its
    names."""
    given: dict[str, str] = {}
    for path, place in zip(files.found, lasting(files.found), strict=True):
        given.setdefault(place, path)
    found = {path: files.found[path] for path in given.values()}
    return replace(files, found=found, _given=given)


def tables_given(names: Iterable[str], view: TableView) -> tuple[TableSource, ...]:
    """Tables that an index is to be about. Raises ValueError for a view of less than that."""
    if not view.is_newest:
        raise ValueError("table: an index is about all files of the newest version")
    return tuple(TableSource(name, view.kind, view.catalog) for name in names)


def _opened(name: str, view: TableView, options: Mapping[str, str] | None) -> LakeTable:
    from parquet_bloom.tables.open import open_table

    return open_table(
        name,
        view.kind,
        catalog=view.catalog,
        version=view.version,
        as_of=view.as_of,
        storage_options=options,
    )


def _in_tables(
    tables: Sequence[tuple[LakeTable, Sequence[TableFile]]],
    options: Mapping[str, str] | None,
    others: Mapping[str, Found],
) -> ListedFiles:
    """The files of tables, and others."""
    recorded = {file.path: (table, file) for table, files in tables for file in files}
    found = {**others, **{path: recorded_state(file) for path, (_, file) in recorded.items()}}
    by_path = {path: found[path] for path in sorted(found)}
    lake_tables = [table for table, _ in tables]
    return ListedFiles(by_path, options=options, _recorded=recorded, _lake_tables=lake_tables)


def recorded_state(file: TableFile) -> Found:
    """Of a file of a table: the recorded size, and the version of one that can be looked at without asking a
    store."""
    if is_url(file.path):
        return Found(file.path, file.size, None, None)
    now = None
    with suppress(OSError):
        now = state_of(os.fspath(file.path))
    version = None if now is None else now.version
    return Found(file.path, file.size, version or NOT_SEEN, None)


class _FileOfTable:
    """A file with those of its columns that are its table's, by the table's names."""

    def __init__(
        self, file: Askable, table: LakeTable, recorded: TableFile, wanted: Collection[str]
    ) -> None:
        """Raises as LakeTable.columns_in."""
        self.path, self._file = file.path, file
        self.top_columns = table.columns_in(file, recorded, wanted)
        self._kinds = table.kinds

    def read_rows(self, columns: Sequence[str], rows: Mapping[int, Sequence[int]]) -> Any:
        """As Askable.read_rows, of the table's types where these are wider or have more fields. Raises
        UnsupportedError, too."""
        from parquet_bloom.reads.table_types import converted, in_table

        found = self._file.read_rows(columns, rows)
        return converted(found, in_table(found.schema, self._kinds))
