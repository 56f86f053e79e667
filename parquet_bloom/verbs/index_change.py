"""Make an index over files, and keep it up to date: what is new, changed or gone, by their listing."""

from __future__ import annotations

import errno
import os
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

from parquet_bloom.arguments import (
    PATH_OR_URL,
    columns_needed,
    files_given,
    flag_given,
    path_given,
    paths_given,
    threads_given,
)
from parquet_bloom.container import IN_PYTHON, number_of
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import (
    HASH_KEY,
    INDEX_ADD,
    ColumnError,
    EncryptionError,
    MissingKeyError,
    ParquetBloomError,
    RewriteError,
    complaint,
    quoted_name,
    without_secrets,
)
from parquet_bloom.files import FORMATS
from parquet_bloom.index.asking import hash_key_given, key_of
from parquet_bloom.index.manifest import (
    IndexForm,
    Manifest,
    Places,
    Segment,
    TableSource,
    changes_in_words,
    check_form,
    commit,
    existing,
    newest,
    newest_name,
    newest_readable,
)
from parquet_bloom.index.names import GivenNames, lasting
from parquet_bloom.index.opened import OpenSegment, as_ranges, existing_whole, numbers_in
from parquet_bloom.index.states import states_of
from parquet_bloom.index.units import FAILED
from parquet_bloom.index.unseen import unseen
from parquet_bloom.options import TableView
from parquet_bloom.parallel import Progress
from parquet_bloom.storage import address_if_any, open_folder, with_options, without_options
from parquet_bloom.storage.address import Address
from parquet_bloom.storage.left_out import LeftOut
from parquet_bloom.storage.objects.signed_urls import is_signed_anew
from parquet_bloom.storage.source import before_wildcard, has_wildcard, is_data_file, is_url
from parquet_bloom.verbs.documents import VerbReport
from parquet_bloom.verbs.listed_files import (
    ListedFiles,
    list_files,
    names_in_index,
    tables_given,
)
from parquet_bloom.verbs.table_folders import warn_of_tables
from parquet_bloom.vocabulary import TableChoice, check_word

if TYPE_CHECKING:
    from parquet_bloom.arguments import SomeNames
    from parquet_bloom.container.protocols import Askable, Container
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.index.building import LeftColumn, SegmentsBuilder
    from parquet_bloom.index.hash_key import HashKey
    from parquet_bloom.index.units import Unit
    from parquet_bloom.storage.folder import Found, WritableFolder


# How a column is called that a file has.
_RENAMED: Final = "which the table calls"


@dataclass(frozen=True, slots=True)
class NotIndexed:
    """A file of which nothing is known about a column, and why."""

    path: str
    column: str
    reason: str

    @property
    def is_lacking(self) -> bool:
        """Whether the file has no such column, by any name."""
        return self.reason.startswith("no column ") and _RENAMED not in self.reason


@dataclass(frozen=True, slots=True, repr=False)
class IndexChange(VerbReport):
    """What became of an index. `files`: how many it knows in this generation; `added`, `changed`, `removed`: how
    many are new in it by this change, are in another state than before, or are gone; `failed`: how many of all
    files could not be read, or not all of them, as they are now, by this change or one before; `not_indexed`: those
    that were looked at and say `unknown`; `unknown`: how many of all files do, about any
    column; `keys`: pairs of value and place that were written; `filters`: those that were; `generation`: of the
    manifest that was made, or that is still right; `left_out`: files in the folders that are not looked at because
    of their names; `failed_before`: how many of the failed ones are as they were, and were not looked at again;
    `is_about_nothing`: whether no file, folder, glob or table is left that `add` looks at;
    `still_about`: the places by which it finds files that were removed, if they are still there; `not_known`: what
    was to be removed and is not in the index; `not_listed`: where nobody could look, and why: what the index knows
    there stays as it was, and is of the moment when it was looked at last."""

    _rows: ClassVar = ("not_indexed",)

    index: str
    generation: int
    files: int
    added: int
    changed: int
    removed: int
    failed: int
    keys: int
    filters: int
    bytes_written: int
    unknown: int
    not_indexed: tuple[NotIndexed, ...] = field(default_factory=tuple)
    left_out: tuple[str, ...] = ()
    failed_before: int = field(default=0, metadata=IN_PYTHON)
    is_about_nothing: bool = field(default=False, metadata=IN_PYTHON)
    still_about: tuple[str, ...] = ()
    not_known: tuple[str, ...] = ()
    not_listed: tuple[str, ...] = ()

    def __repr__(self) -> str:
        counts = changes_in_words(self.added, self.changed, self.removed)
        failed = f"; {self.failed:,} failed" if self.failed else ""
        return f"<IndexChange {self.index}: {number_of(self.files, 'file')}: {counts}{failed}>"


def build_index(
    index: str | os.PathLike[str],
    files: Any,
    columns: SomeNames,
    *,
    table: TableChoice | TableView | None = None,
    places: Places = "row-group",
    form: IndexForm = "map",
    include_encrypted: bool = False,
    overwrite: bool = False,
    hash_key: bytes | str | None = None,
    keys: Keys | None = None,
    storage_options: Mapping[str, str] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> IndexChange:
    """Make an index in the folder `index`, as Index.build."""
    check_word("places", places, Places)
    check_word("form", form, IndexForm)
    check_form(form, places, is_keyed=hash_key is not None)
    flag_given("overwrite", overwrite)
    folder = _folder(index, storage_options)
    key = hash_key_given(hash_key)
    _check_free(folder, overwrite, is_keyed=key is not None)
    start = Manifest(
        columns=columns_needed(columns),
        places=places,
        key_check=key.check if key else "",
        include_encrypted=include_encrypted,
        form=form,
    )
    change = _Change(folder, keys, storage_options, threads, progress, key)
    sources = _sources(files_given("files", files), table)
    return change.bring_up_to_date(start, *sources, anew=overwrite)


def _check_free(folder: WritableFolder, overwrite: bool, *, is_keyed: bool) -> None:
    """Raise RewriteError for a folder in which no index can be made, MissingKeyError for one whose index nobody can
    ask without a key, if everybody could ask the new one: who forgets the key would let them try any value."""
    if not overwrite and newest_name(folder) is not None:
        raise RewriteError(
            f"{folder.path}: is an index already, expected a new folder, also for other columns; {INDEX_ADD}"
            " adds files to it, overwrite=True makes it anew"
        )
    check_without_data(folder)
    if overwrite and not is_keyed:
        old = newest_readable(folder)
        if old is not None and old.key_check:
            raise MissingKeyError(
                f"{folder.path}: its hashes are made with a key, expected {HASH_KEY}, or a new folder for an index"
                " without a key"
            )


def check_without_data(folder: WritableFolder) -> None:
    """Raise RewriteError for a new index among files of data."""
    if data := next(filter(is_data_file, folder.file_names("")), None):
        raise RewriteError(f"{folder.path}: has data in it, {data}: expected a new folder")


def add_to_index(
    index: str | os.PathLike[str],
    files: Any = (),
    *,
    table: TableChoice | TableView | None = None,
    hash_key: bytes | str | None = None,
    keys: Keys | None = None,
    storage_options: Mapping[str, str] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> IndexChange:
    """Bring an index up to date, as Index.add. Raises also FileNotFoundError if there is no index."""
    folder = _folder(index, storage_options)
    # What is lost of it, no `add` writes again.
    old = existing_whole(folder)
    key = key_of(folder.path, old, hash_key)
    sources = _sources(paths_given("files", files), table)
    change = _Change(folder, keys, storage_options, threads, progress, key)
    return change.bring_up_to_date(old, *sources)


def remove_from_index(
    index: str | os.PathLike[str],
    files: Any,
    *,
    storage_options: Mapping[str, str] | None = None,
) -> IndexChange:
    """Forget `files`, as Index.remove. Raises as add_to_index."""
    folder = _folder(index, storage_options)
    existing(folder)
    names = files_given("files", files)
    if "" in names:
        # Which all paths would be below.
        raise FileNotFoundError(errno.ENOENT, "an empty name, expected a file")
    # Tables in catalogs have names that are no paths; files are known by what is shown of their URLs.
    called = list(zip(names, lasting(names), map(without_options, names), strict=True))
    return _Change(folder, None, storage_options, None, None).remove(called)


def _sources(
    files: list[str], table: TableChoice | TableView | None
) -> tuple[Sequence[str], tuple[TableSource, ...]]:
    """Paths that are no tables, and tables."""
    view = TableView.given(table)
    if view is None:
        warn_of_tables(files)
    names = names_in_index(files, view)
    return (names, ()) if view is None else ((), tables_given(names, view))


def _folder(
    index: str | os.PathLike[str], storage_options: Mapping[str, str] | None
) -> WritableFolder:
    return open_folder(with_options(path_given("path", index, PATH_OR_URL), storage_options))


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file that was read for an index. `version`: of the state that it was in; `reasons`: why columns are not
    indexed, by name; `lacking`: those that the file does not have; `damage`: the name of the error by which a column
    is damaged, empty if none is; `error`: what the file failed of as a whole; `is_as_known`: whether the index knows
    just that."""

    version: str
    reasons: Mapping[str, str]
    lacking: tuple[str, ...] = ()
    damage: str = ""
    error: Exception | None = None
    is_as_known: bool = False


# What can go wrong with one file and must not stop the others.
_FAILURES: Final = (ParquetBloomError, OSError, ValueError, MemoryError)


class Readable(Protocol):
    """What files are read as, and how; see ListedFiles."""

    def read_as(self, path: str, column: str) -> str: ...
    def open(self, path: str, keys: Keys | None) -> Container: ...


class FileIndexer:
    """Adds files to the new segments of an index with the terms of `index`."""

    def __init__(
        self, builder: SegmentsBuilder, index: Manifest, key: HashKey | None, threads: int | None
    ) -> None:
        self._builder, self._index, self._key, self._threads = builder, index, key, threads

    def add(
        self,
        file: Found,
        among: Readable,
        keys: Keys | None,
        known: Collection[tuple[str, str]] = (),
        left: Mapping[str, str] | None = None,
    ) -> ReadFile:
        """Index a file, or keep why it is not, unless that is `known`: columns, and why they could not be read
        before. `left`: columns that it has not got, and why."""
        columns = self._index.columns
        read_as = {column: among.read_as(file.path, column) for column in columns}
        try:
            with among.open(file.path, keys) as opened:
                version = opened.source.version
                found = self._add_columns(opened, read_as, left or {})
                opened.source.check_unchanged()
                return ReadFile(
                    version,
                    {column: each.reason for column, each in found.items()},
                    tuple(column for column in found if not _has(opened, column)),
                    damage=next((each.damage for each in found.values() if each.damage), ""),
                )
        except _FAILURES as error:
            # Whatever was added of it is about a state that it may not be in any more, or is not all of it.
            self._builder.forget_last(file.path)
            # Python's own say `[Errno 5] …: 'path'`, and some say nothing.
            said = "" if isinstance(error, OSError) else str(error)
            reason = (said or complaint(error)).removeprefix(f"{file.path}: ")
            # What may pass is tried again by the next `add`, in whatever state the file is.
            version = "" if isinstance(error, OSError | MemoryError) else file.version or ""
            reasons = dict.fromkeys(columns, reason)
            is_as_known = not version and known == {*reasons.items()}
            for column in columns if not is_as_known else ():
                self._builder.add_whole(
                    file.path, file.size, version, column, reason, read_as[column], FAILED
                )
            return ReadFile(version, reasons, error=error, is_as_known=is_as_known)

    def _add_columns(
        self, opened: Container, read_as: Mapping[str, str], left: Mapping[str, str]
    ) -> dict[str, LeftColumn]:
        """The columns that are not indexed."""
        from parquet_bloom.index.building import LeftColumn
        from parquet_bloom.index.chosen_values import chosen

        reader = chosen(
            FORMATS[opened.format].values_reader(opened),
            self._index.include_encrypted,
            self._key,
        )
        version = opened.source.version
        for column, reason in left.items():
            self._builder.add_whole(
                opened.path, opened.source.size, version, column, reason, read_as[column]
            )
        found = {
            column: self._builder.add(reader, column, version, self._threads, read_as[column])
            for column in self._index.columns
            if column not in left
        }
        not_there = {column: LeftColumn(reason) for column, reason in left.items()}
        return not_there | {column: each for column, each in found.items() if each}


class _Change:
    """One change of an index in `folder`."""

    def __init__(
        self,
        folder: WritableFolder,
        keys: Keys | None,
        storage_options: Mapping[str, str] | None,
        threads: int | None,
        progress: Progress | None,
        hash_key: HashKey | None = None,
    ) -> None:
        self._hash_key = hash_key
        # When files were listed, in seconds since 1970.
        self._looked = 0.0
        self._folder, self._keys, self._options = folder, keys, storage_options
        self._threads, self._progress = threads_given(threads), progress
        self._not_indexed: list[NotIndexed] = []
        self._left_out: tuple[str, ...] = ()
        self._still_about: tuple[str, ...] = ()
        self._not_known: tuple[str, ...] = ()
        self._not_listed: tuple[str, ...] = ()
        # The files that could not be read, or not all of them, whenever they were read.
        self._failed: set[str] = set()
        # Those that the index says nothing about, for some column.
        self._unknown: set[str] = set()
        # In how many files that were read there is no such column.
        self._lacking: Counter[str] = Counter()
        self._last_lacking: dict[str, NotIndexed] = {}
        # How many could be read at all.
        self._opened = 0
        # Of files that could not be read before: the columns, and why.
        self._unread: dict[str, set[tuple[str, str]]] = {}
        # How many of them fail of the same again.
        self._as_known = 0
        # Of each file that was looked at, the state that is known now; None if it is gone.
        self._states: dict[str, str | None] = {}
        # By the ids of segments, which are read once: the units of these files, by their numbers.
        self._units: dict[str, dict[int, Unit]] = {}
        # What it was added to in the end, and what others know of the same files in later states.
        self._before: Manifest | None = None
        self._later: Mapping[str, str | None] = {}

    def bring_up_to_date(
        self,
        start: Manifest,
        more: Sequence[str],
        tables: Sequence[TableSource],
        *,
        anew: bool = False,
    ) -> IndexChange:
        """Change an index that was `start`, about `more` sources and tables from now on. `anew`: of what is there
        nothing is read, as it may be damaged."""
        self._looked = time.time()
        left_out = LeftOut(is_proof=False)
        sources = _united(start.sources, more)
        files = self._listed(sources, _united_tables(start.tables, tables), left_out)
        self._left_out = left_out.besides(files.found)
        # A source may have no files any more, but an index is not made of nothing.
        if files.errors and not files.found and not start.generation:
            files.check_seen()
            raise files.errors[0]
        _check_new(files, start.sources, more)
        if not start.generation:
            files.check_columns(start.columns)
        known = self._known(start, files)
        missing = sorted(known.keys() - files.found.keys())
        not_seen, self._not_listed = unseen(missing, sources, files.errors)
        if self._not_listed:
            # What the index says is no younger than the part of it that is oldest.
            self._looked = start.made
        _check_sources(sources, files, known, not_seen)
        as_known = {path for path, is_current in known.items() if is_current} | not_seen
        self._unknown &= as_known
        self._failed &= as_known
        to_read = [file for path, file in files.found.items() if not known.get(path)]
        gone = [path for path in missing if path not in not_seen]
        self._states.update({path: None for path in gone})
        new = self._read(to_read, files, start)
        wanted = _Sources(start.generation, more, tables, files.tables)
        old = None if anew else newest(self._folder)
        if not new and not gone and old is not None and wanted.of(old) == (old.sources, old.tables):
            made: Manifest | None = old
            self._before = old
        else:
            made = commit(
                self._folder,
                lambda old: self._with(old, start, wanted, new),
                anew=anew,
            )
        assert made is not None
        read = {file.path for file in to_read}
        added = read - known.keys()
        changed = len(read) - len(added) - self._as_known
        before = self._before
        if before is None or before.generation == start.generation:
            return self._report(
                made, len(added), changed, len(gone), new, len(files.found) + len(not_seen)
            )
        # Somebody else was faster: what they have done of it is not done here, and they know other files, too.
        done = self._done_by_others(before, start)
        return self._report(
            made,
            len(added - done),
            changed - len((read & known.keys()) & done),
            len({*gone} - done),
            new,
            len(self._paths(made)),
        )

    def remove(self, called: Sequence[tuple[str, ...]]) -> IndexChange:
        """`called`: each name, and what else it may be known as."""
        names = [name for each in called for name in each]

        def without(old: Manifest | None) -> Manifest | None:
            assert old is not None
            known = self._paths(old)
            tables = tuple(table for table in old.tables if not _is_meant(table, names))
            left = self._files_of([table for table in old.tables if _is_meant(table, names)])
            ended = [name for name in old.sources if {name, without_options(name)} & {*names}]
            sources = tuple(name for name in old.sources if name not in ended)
            shown = {*ended, *map(without_options, ended)}
            asked = GivenNames(names)
            self._states = dict.fromkeys(
                [*known & {*left}, *_forgotten(known, asked, shown, sources)]
            )
            if not self._states and sources == old.sources and tables == old.tables:
                named = without_secrets(names[0])
                raise FileNotFoundError(
                    errno.ENOENT, f"not in the index {self._folder.path}", named
                )
            meant = shown.union(asked.that_mean(known), (table.name for table in old.tables))
            self._not_known = tuple(
                without_secrets(first)
                for first, *others in called
                if meant.isdisjoint((first, first.rstrip("/"), *others))
            )
            still = GivenNames(sources).that_mean(self._states)
            self._still_about = tuple(without_options(name) for name in sources if name in still)
            self._units.clear()
            segments = [
                self._without(segment, self._known_units(segment)) for segment in old.segments
            ]
            return replace(old, sources=sources, tables=tables, segments=tuple(segments))

        made = commit(self._folder, without)
        assert made is not None
        return self._report(made, 0, 0, len(self._states), [], len(self._paths(made)))

    def _listed(
        self,
        sources: Sequence[str],
        tables: Sequence[TableSource],
        left_out: LeftOut | None = None,
    ) -> ListedFiles:
        return list_files(sources, tables, self._options, self._folder.path, left_out=left_out)

    def _files_of(self, tables: Sequence[TableSource]) -> Collection[str]:
        """Of those that can still be read; what is left of others, the next `add` forgets."""
        found: set[str] = set()
        for table in tables:
            with suppress(ParquetBloomError, OSError):
                found |= list_files((), [table], self._options).found.keys()
        return found

    def _known(self, index: Manifest, files: ListedFiles) -> dict[str, bool]:
        """All files that the index knows, and whether it knows them as they are now, for every column."""
        current: dict[str, set[str]] = {column: set() for column in index.columns}
        known: set[str] = set()
        for segment in index.segments:
            for _, unit in self._live(segment):
                known.add(unit.path)
                if files.is_known(unit, segment.column, segment.read_as):
                    current.setdefault(segment.column, set()).add(unit.path)
                elif unit.is_unread and files.read_as(unit.path, segment.column) == segment.read_as:
                    failed = self._unread.setdefault(unit.path, set())
                    failed.add((segment.column, unit.reason))
                if unit.reason:
                    self._unknown.add(unit.path)
                if unit.has_failed:
                    self._failed.add(unit.path)
        whole = set.intersection(*current.values())
        return {path: path in whole for path in known}

    def _paths(self, index: Manifest) -> set[str]:
        """All files that the index knows."""
        units = [unit for segment in index.segments for _, unit in self._live(segment)]
        self._unknown = {unit.path for unit in units if unit.reason}
        self._failed = {unit.path for unit in units if unit.has_failed}
        return {unit.path for unit in units}

    def _live(self, segment: Segment) -> Iterable[tuple[int, Unit]]:
        with closing(OpenSegment(self._folder, segment)) as opened:
            yield from opened.live_units()

    def _read(self, files: Sequence[Found], among: ListedFiles, wanted: Manifest) -> list[Segment]:
        if not files:
            return []
        from parquet_bloom.index.building import SegmentsBuilder
        from parquet_bloom.index.collecting import KeyRoom

        with KeyRoom.within_budget() as room:
            builder = SegmentsBuilder(wanted.places, room, wanted.form)
            indexer = FileIndexer(builder, wanted, self._hash_key, self._threads)
            called = {(segment.column, segment.read_as) for segment in wanted.segments}
            for done, file in enumerate(files):
                if self._progress:
                    self._progress(done, len(files))
                unread, left = self._unread.get(file.path, ()), _renamed(file.path, among, called)
                read = indexer.add(file, among, self._keys, unread, left)
                if read.is_as_known:
                    self._as_known += 1
                else:
                    self._states[file.path] = read.version
                if read.damage or read.error is not None:
                    self._failed.add(file.path)
                self._not_indexed += [
                    NotIndexed(file.path, column, reason) for column, reason in read.reasons.items()
                ]
                self._lacking.update(read.lacking)
                self._last_lacking.update(
                    (column, NotIndexed(file.path, column, read.reasons[column]))
                    for column in read.lacking
                )
                self._opened += read.error is None
                room.check()
            if self._progress:
                self._progress(len(files), len(files))
            if not wanted.generation:
                self._check_columns()
            return builder.write(self._folder)

    def _check_columns(self) -> None:
        """A column that is in none of the first files is a mistake, whatever is in those that cannot be read."""
        for column, lacking in self._lacking.items():
            if lacking == self._opened:
                last = self._last_lacking[column]
                raise ColumnError(f"{last.path}: {last.reason}; no other of the files has it")

    def _with(
        self, old: Manifest | None, start: Manifest, wanted: _Sources, new: Sequence[Segment]
    ) -> Manifest:
        """The newest manifest with the new segments, in which other states of the files that were looked at are
        dead. Raises RewriteError if somebody else has made another index meanwhile."""
        if old is None:
            sources, tables = wanted.of(start)
            started = replace(start, made=self._looked)
            return replace(started, sources=sources, tables=tables, segments=tuple(new))
        if not _is_same(old, start):
            raise RewriteError(f"{self._folder.path}: another index was made here meanwhile")
        later = {} if old.generation == start.generation else self._later_states(old, start, wanted)
        self._before, self._later = old, later
        segments = []
        for segment in old.segments:
            units = self._known_units(segment).items()
            dead = {n: unit for n, unit in units if later.get(unit.path) != unit.version}
            segments.append(self._without(segment, dead))
        for segment in new:
            units = self._known_units(segment).items()
            segments.append(self._without(segment, {n: u for n, u in units if u.path in later}))
        sources, tables = wanted.of(old)
        # What somebody else has looked at before, this change has not looked at again, if it is about more.
        made = self._looked if old.made == start.made else min(self._looked, old.made)
        return replace(old, sources=sources, tables=tables, segments=tuple(segments), made=made)

    def _later_states(
        self, old: Manifest, start: Manifest, wanted: _Sources
    ) -> dict[str, str | None]:
        """Of files that somebody else has looked at after this change, or removed with what they were found by: the
        states that they are in."""
        sources, tables = wanted.of(old)
        # Whether a file is there tells nothing if it may be of a table, or of a source that is none any more.
        is_listed = bool(tables) or not _about(start) <= _about(old)
        now = self._states_listed(sources, tables) if is_listed else self._states_there()
        later = {path for path, version in now.items() if version is None}
        for segment in old.segments:
            for unit in self._known_units(segment).values():
                if unit.version == now[unit.path]:
                    later.add(unit.path)
        return {path: now[path] for path in later if now[path] != self._states[path]}

    def _done_by_others(self, before: Manifest, start: Manifest) -> set[str]:
        """Of the files that were looked at, those that somebody else has looked at after `start`, in the same state
        or later, or has forgotten."""
        ours = {segment.id for segment in start.segments}
        there: set[str] = set()
        done: set[str] = set()
        for segment in before.segments:
            for unit in self._known_units(segment).values():
                there.add(unit.path)
                if segment.id not in ours and unit.version == self._states[unit.path]:
                    done.add(unit.path)
        gone = {path for path, version in self._states.items() if version is None} - there
        return done | gone | self._later.keys()

    def _states_there(self) -> dict[str, str | None]:
        """Of the files that were looked at, as they are now."""
        return states_of(list(self._states), self._options)

    def _states_listed(
        self, sources: Sequence[str], tables: Sequence[TableSource]
    ) -> dict[str, str | None]:
        """The same; one that is there, and that no source and no table has any more, is gone."""
        files = self._listed(sources, tables)
        missing = sorted(self._states.keys() - files.found.keys())
        not_seen = unseen(missing, sources, files.errors).paths
        for path in sorted(not_seen):
            problem = "cannot be looked at any more, so that nothing is written of this change"
            raise PermissionError(errno.EACCES, problem, path)
        _check_sources(sources, files, self._states, not_seen)
        there = [path for path in self._states if path in files.found]
        return dict.fromkeys(self._states) | states_of(there, self._options)

    def _known_units(self, segment: Segment) -> dict[int, Unit]:
        """Those that are alive, of files that were looked at."""
        found = self._units.get(segment.id)
        if found is None:
            live = self._live(segment)
            found = {number: unit for number, unit in live if unit.path in self._states}
            self._units[segment.id] = found
        return {number: unit for number, unit in found.items() if not segment.is_dead(number)}

    @staticmethod
    def _without(segment: Segment, dead: Mapping[int, Unit]) -> Segment:
        """A segment in which these units are dead."""
        if not dead:
            return segment
        return replace(
            segment,
            dead=as_ranges(numbers_in(segment.dead) | dead.keys()),
            num_files=segment.num_files - len({unit.path for unit in dead.values()}),
        )

    def _report(
        self,
        made: Manifest,
        added: int,
        changed: int,
        removed: int,
        new: Sequence[Segment],
        files: int,
    ) -> IndexChange:
        return IndexChange(
            index=self._folder.path,
            generation=made.generation,
            files=files,
            added=added,
            changed=changed,
            removed=removed,
            failed=len(self._failed),
            keys=sum(segment.num_keys for segment in new),
            filters=sum(segment.num_filters for segment in new),
            bytes_written=sum(segment.num_bytes for segment in new),
            unknown=len(self._unknown.union(each.path for each in self._not_indexed)),
            not_indexed=tuple(self._not_indexed),
            left_out=self._left_out,
            still_about=self._still_about,
            not_known=self._not_known,
            not_listed=self._not_listed,
            is_about_nothing=not (made.sources or made.tables),
            failed_before=len(self._failed - {each.path for each in self._not_indexed}),
        )


def _renamed(path: str, among: ListedFiles, called: Collection[tuple[str, str]]) -> dict[str, str]:
    """Why a file has no columns of some names any more: its table has given them others. `called`: each column of an
    index, and what files call it, see Segment.read_as."""
    return {
        column: f"no column {quoted_name(column)}, {_RENAMED} {quoted_name(now)} by now: index build makes"
        " an index of that"
        for column, read_as in called
        if (now := among.called_now(path, column, read_as)) is not None
    }


def _has(file: Askable, column: str) -> bool:
    try:
        file.column(column)
    except ColumnError:
        return False
    except EncryptionError:
        # It is there, but another key was given for it.
        pass
    return True


def _is_same(index: Manifest, earlier: Manifest) -> bool:
    """Whether it is the index that was there `earlier`, which others may have changed, and none that was made in its
    place."""
    is_same = index.has_identity(earlier.identity)
    if is_same is not None:
        return is_same
    # What is about less may be another one.
    return index.terms == earlier.terms and _about(earlier) <= _about(index)


def _about(manifest: Manifest) -> set[object]:
    """What an index is about."""
    return {*manifest.sources, *(table.key for table in manifest.tables)}


def _united(sources: Sequence[str], more: Sequence[str]) -> tuple[str, ...]:
    """All of them; of a URL that was signed anew, the one that came last."""
    with_query = filter(None, (address_if_any(name) for name in more if "?" in name))
    anew = {str(address): address for address in with_query}
    left = [name for name in sources if "?" not in name or not _is_signed_anew(name, anew)]
    return tuple(dict.fromkeys([*left, *more]))


def _is_signed_anew(name: str, anew: Mapping[str, Address]) -> bool:
    """Whether a URL is, by one of these, by what is shown of them."""
    old = address_if_any(name)
    new = None if old is None else anew.get(str(old))
    return old is not None and new is not None and is_signed_anew(old, new)


def _united_tables(
    tables: Sequence[TableSource], more: Sequence[TableSource]
) -> tuple[TableSource, ...]:
    known = {table.key for table in tables}
    others = {table.key: table for table in more if table.key not in known}
    return (*tables, *others.values())


@dataclass(frozen=True, slots=True)
class _Sources:
    """What a change adds to the sources of an index, which was in this `generation`; `seen`: all tables, as they were
    looked at."""

    generation: int
    more: Sequence[str]
    tables: Sequence[TableSource]
    seen: Sequence[TableSource]

    def of(self, old: Manifest) -> tuple[tuple[str, ...], tuple[TableSource, ...]]:
        """The sources and tables that an index is about by then. Others may have changed it meanwhile, and of two
        versions of a table that two writers have seen, nobody knows which is the later one."""
        is_alone, seen = old.generation == self.generation, {each.key: each for each in self.seen}
        tables = []
        for table in old.tables:
            now = seen.get(table.key, table)
            is_sure = is_alone or now.version == table.version
            tables.append(now if is_sure else replace(table, version=None))
        new = [seen[table.key] for table in self.tables]
        return _united(old.sources, self.more), _united_tables(tables, new)


def _forgotten(
    known: Iterable[str], asked: GivenNames, ended: set[str], left: Sequence[str]
) -> set[str]:
    """Of the files that are `known`, those that are to be forgotten: those that are `asked` for by name, all in
    folders, and what globs match. Of a glob among the sources that are `ended`, what sources that are `left` mean
    stays."""
    staying = GivenNames(left)

    def is_forgotten(path: str) -> bool:
        matching = asked.matching(path)
        if asked.naming(path) or not ended.issuperset(matching):
            return True
        return bool(matching) and not staying.meaning(path)

    return {path for path in known if is_forgotten(path)}


def _is_meant(table: TableSource, names: Sequence[str]) -> bool:
    return any(table.name == name.rstrip("/") for name in names)


class PlaceGoneError(FileNotFoundError):
    """Folders and globs of an index mean no file any more: they may be mounted elsewhere, or not now. `problem`: what
    is said of the first; `names`: of all, as `remove` takes them."""

    def __init__(self, problem: str, names: Sequence[str], shown: str) -> None:
        forgets = "Index.remove forgets what is gone for good or has moved"
        message = f"{problem}: {forgets}, then Index.add adds what is elsewhere by now"
        super().__init__(errno.ENOENT, message, shown)
        self.problem, self.names = problem, names


def _check_new(files: ListedFiles, sources: Sequence[str], more: Sequence[str]) -> None:
    """Raise the OSError of what an index is to be about and nobody could look at, or is not there. Of its `sources`,
    it knows what was there before."""
    known = GivenNames(map(without_options, sources))
    new = [without_options(name) for name in more if name not in sources]
    reached = GivenNames([*new, *map(_folder_of, new)])
    for error in files.errors:
        if isinstance(error, FileNotFoundError):
            is_new = error.filename in more and error.filename not in sources
        elif error.filename is None or not sources:
            is_new = True
        else:
            (place,) = lasting([str(error.filename)])
            is_known = place not in new and bool(known.meaning(place))
            is_new = bool(reached.meaning(place)) and not is_known
        if is_new:
            raise error


def _check_sources(
    sources: Sequence[str],
    files: ListedFiles,
    known: Collection[str],
    not_seen: Collection[str],
) -> None:
    """Raise PlaceGoneError for folders and globs without files that the index knows files of."""
    gone = places_gone(sources, files.errors, not_seen)
    num_files = GivenNames(gone).num_found(known)
    concerned = [name for name in gone if num_files[name]]
    if concerned:
        first, *_ = concerned
        problem = (
            f"{gone[first].strerror}; the index has {number_of(num_files[first], 'file')} of it"
        )
        raise PlaceGoneError(problem, concerned, str(gone[first].filename))


def places_gone(
    sources: Sequence[str], errors: Iterable[OSError], not_seen: Collection[str]
) -> dict[str, OSError]:
    """Of what an index is about: what means no file any more, as it is shown, and why; but for what means files that
    may be there, as they were `not_seen`."""
    by_place: dict[str, list[str]] = {}
    for name in map(without_options, sources):
        # Of a glob, the folder may be gone in which it starts.
        for place in {name, _folder_of(name)}:
            by_place.setdefault(place, []).append(name)
    found: dict[str, OSError] = {}
    for error in errors:
        if isinstance(error, FileNotFoundError):
            for name in by_place.get(str(error.filename), ()):
                found.setdefault(name, error)
    there = GivenNames(found).that_mean(not_seen)
    return {name: error for name, error in found.items() if name not in there}


def places_not_there(sources: Sequence[str], gone: Collection[str]) -> list[str]:
    """Of the local folders and globs that mean files that are gone: those of which nothing is there, so that `add`
    would refuse to forget their files."""
    from glob import iglob

    def is_there(name: str) -> bool:
        return os.path.exists(name) or any(iglob(name, recursive=True))

    found = GivenNames(sources).num_found(gone)
    return [name for name in sources if name in found and not is_url(name) and not is_there(name)]


def _folder_of(name: str) -> str:
    """In which a glob starts; any other name as it is."""
    return os.path.dirname(before_wildcard(name)) if has_wildcard(name) else name
