"""What a read is asked for: files or tables, filters, and an index if there is one."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from parquet_bloom.arguments import PATH_OR_URL, files_given, path_given
from parquet_bloom.container import ROW_GROUPS
from parquet_bloom.errors import UnsupportedError, quoted_name
from parquet_bloom.index.asking import AskedIndex
from parquet_bloom.index.states import state_of, state_unless_asked_for
from parquet_bloom.options import TableView
from parquet_bloom.parallel import read_once, work_in_order
from parquet_bloom.reads.columns import (
    ONLY_NAMES,
    check_by_name,
    is_lacking,
    telling,
    whole_column,
    with_filtered,
)
from parquet_bloom.reads.held import HeldFiles
from parquet_bloom.reads.indexed import Indexed
from parquet_bloom.reads.predicates import (
    ANYTHING,
    Predicate,
    all_of,
    also_in_utc,
    are_alike,
    are_alike_in_names,
    askable,
    besides,
    columns_in,
    columns_of,
    conditions_in,
    holds,
    listed,
    predicate_of,
    with_text_of_dates,
    without,
)
from parquet_bloom.reads.pruning import MOST_LEFT, Left, Open, Pruned, Pruner, besides_folders
from parquet_bloom.storage import open_folder, open_source, with_options
from parquet_bloom.storage.cache import CacheUse
from parquet_bloom.storage.left_out import LeftOut
from parquet_bloom.storage.source import is_url
from parquet_bloom.verbs.documents import document_of
from parquet_bloom.verbs.index_probe import check_has_files
from parquet_bloom.verbs.left_out_files import warn_of_left_out
from parquet_bloom.verbs.listed_files import (
    SOURCE_GONE,
    ListedFiles,
    files_again,
    files_gone,
    files_in_index,
    for_index,
    list_files,
)
from parquet_bloom.verbs.table_folders import warn_of_tables
from parquet_bloom.vocabulary import FORMAT_TITLES

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as pads

    from parquet_bloom.container.protocols import Container
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.reads.matching import Found, Matching
    from parquet_bloom.reads.partitions import Partitions
    from parquet_bloom.reads.whole_groups import WholeGroups
    from parquet_bloom.storage.cache import Cache
    from parquet_bloom.storage.source import FileEnd
    from parquet_bloom.vocabulary import TableChoice

# From so many row groups on, or so many rows in them, files are read by several threads.
_MANY_GROUPS, _MANY_ROWS = 32, 1_000_000

# Slices of files take longer than as many row groups of whole files.
_MOST_LEFT_IN_SLICES: Final = 0.5


class Sizes(NamedTuple):
    """Of each row group of a file: its rows, and its bytes, see Overview.part_bytes."""

    rows: Sequence[int]
    num_bytes: Sequence[int | None]


class Possible(NamedTuple):
    """The files that their partitions do not exclude, and those of them whose rows all match, as these say.
    `predicate`: what is said of all; `predicate_of`: what is left to ask one."""

    paths: Sequence[str]
    told: Collection[str]
    predicate: Predicate
    predicate_of: Callable[[str], Predicate]


class Reading:
    """As verbs.row_groups takes it. Raises TypeError, ValueError."""

    def __init__(
        self,
        files: Any,
        filters: Any,
        table: TableChoice | TableView | None,
        index: str | os.PathLike[str] | None,
        hash_key: bytes | str | None,
        keys: Keys | None,
        storage_options: Mapping[str, str] | None,
        cache: Cache | None = None,
    ) -> None:
        self._view = TableView.given(table)
        if files is None and (index is None or self._view is not None):
            expected = "files or an index" if self._view is None else "tables"
            raise TypeError(f"files: None, expected {expected}")
        self._filters = listed(filters)
        self.predicate = predicate_of(self._filters)
        self.filtered = columns_of(self._filters)
        self.names = None if files is None else files_given("files", files)
        if self.names is not None and self._view is None:
            warn_of_tables(self.names)
        self.keys, self.storage_options = keys, storage_options
        # Files of the folders, once these were searched.
        self.left_out: tuple[str, ...] = ()
        self._index, self._hash_key = index, hash_key
        self._asked_now: AskedIndex | None = None
        self._cache = None if cache is None else CacheUse(cache)
        # Of pages with rows, nothing is kept.
        self._cache_for_rows = None if cache is None else CacheUse(cache, is_keeping=False)

    @read_once
    def files(self) -> ListedFiles:
        """All that are meant, in the order of their paths. Warns of what folders have besides. Raises as
        files_again."""
        left_out = LeftOut(is_proof=False)
        files = self._listed(left_out)
        self.left_out = left_out.besides(files.found)
        warn_of_left_out(self.left_out)
        return files

    def _listed(self, left_out: LeftOut | None = None) -> ListedFiles:
        """The same as they are now. left_out: takes what is not looked at because of its name."""
        if self.names is not None:
            if self._index is not None:
                listed_now = files_again(
                    self.names, self._view, self.storage_options, left_out=left_out
                )
                return for_index(listed_now)
            look = state_unless_asked_for if self._cache is None else state_of
            return files_again(self.names, self._view, self.storage_options, look, left_out)
        with self._asked() as asked:
            manifest = asked.manifest
            if manifest.tables:
                found = list_files(manifest.sources, manifest.tables, self.storage_options)
                found.check_seen()
                for error in found.errors:
                    raise FileNotFoundError(errno.ENOENT, SOURCE_GONE, error.filename)
                return found
            units = [unit for name in manifest.columns for unit, _ in asked.units(name)]
            check_has_files(str(self._index), ", ".join(manifest.columns), len(units))
            found = files_in_index(units, manifest.sources, self.storage_options)
            if not found.found:
                # Nobody would tell the columns.
                raise files_gone(found.gone)
            return found

    def row_groups(self) -> Pruned:
        """What is left of each file by the filters, with the rows of all row groups, and what is not. Raises as
        Pruner.left."""
        return self._pruned(self._open)

    def measured(self) -> tuple[Pruned, Mapping[str, Sizes]]:
        """The same, and how large the files are that were opened. Raises as row_groups."""
        sizes: dict[str, Sizes] = {}

        @contextmanager
        def measuring(path: str) -> Iterator[Container]:
            with self._open(path) as file:
                sizes[path] = Sizes(file.part_rows, file.part_bytes)
                yield file

        return self._pruned(measuring), sizes

    def _pruned(self, opener: Open) -> Pruned:
        with self._one_index():
            possible = self._possible(self.files, self.predicate)
            return self._row_groups(possible, opener)

    def _row_groups(self, possible: Possible, opener: Open) -> Pruned:
        in_files = [name for name in self.filtered if name not in self._partitions.names]
        without: set[str] = set()

        @contextmanager
        def noting(path: str) -> Iterator[Container]:
            with opener(path) as file:
                if any(is_lacking(file, column) for column in in_files):
                    without.add(path)
                yield file

        pruner = self._pruner(self.files, possible, noting)
        # Each of these has been opened then.
        left = pruner.with_groups(pruner.left(possible.paths), of_whole=True)
        num_files, excluded = len(self.files.found), pruner.excluded
        num_left_without = sum(each.path in without for each in left)
        excluded = excluded._replace(
            num_files=num_files,
            files_by_partitions=num_files - len(possible.paths),
            files_without_column=excluded.files_without_column + num_left_without,
            undecided=self._undecided(pruner),
            without_zone=tuple(name for name in self.filtered if name in pruner.without_zone),
            row_groups_by_index=sum(len(each.by_index) for each in (*left, *pruner.not_left)),
        )
        return Pruned(left, pruner.not_left, excluded)

    def slices(self, pushed: Predicate | None) -> list[Left]:
        """What is left by the filters and by another predicate, or for None, all that there is, with the rows of row
        groups of files that are not left as a whole. Raises as dataset."""
        # Whoever asks may do so long after the files were found; those of tables stay what they are.
        now = self._listed() if self._view is None else self.files
        return self._pushed(pushed, now, _MOST_LEFT_IN_SLICES, of_whole=False)

    def groups(self, pushed: Predicate | None) -> list[Left]:
        """The same of tables, with the rows of all row groups."""
        return self._pushed(pushed, self.files, MOST_LEFT, of_whole=True)

    def _pushed(
        self, pushed: Predicate | None, files: ListedFiles, most_left: float, of_whole: bool
    ) -> list[Left]:
        predicate = ANYTHING if pushed is None else all_of([self.predicate, pushed])
        opener = partial(self._open_parquet, files=files)
        possible = self._possible(files, predicate)
        pruner = self._pruner(files, possible, opener, most_left)
        return pruner.with_groups(pruner.left(possible.paths), of_whole)

    def _possible(self, files: ListedFiles, predicate: Predicate) -> Possible:
        asked = columns_in(predicate)
        names = [name for name in self._partitions.names if name in asked] if asked else []
        told = asked & files.told_columns
        if not names and not told:
            return Possible(list(files.found), (), predicate, lambda _: predicate)
        alike = are_alike if self.is_of_tables else are_alike_in_names
        dates = {name for name in names if self._partitions.are_dates(name)}
        predicate = with_text_of_dates(predicate, dates)

        def known(path: str) -> dict[str, object]:
            there = self._partitions.names_of(path)
            of_partitions = {
                name: self._partitions.value(path, name).as_py() for name in names if name in there
            }
            return {**files.told(path), **of_partitions} if told else of_partitions

        of_files = {path: holds(predicate, known(path), alike) for path in files.found}
        paths = [path for path, matches in of_files.items() if matches is not False]
        return Possible(
            paths,
            {path for path in paths if of_files[path]},
            predicate,
            lambda path: besides(predicate, known(path), alike),
        )

    def _undecided(self, pruner: Pruner) -> tuple[str, ...]:
        """The columns of the filters that exclude nothing, whatever partitions and files say."""
        of_partitions = {*self._partitions.names, *self.files.told_columns}
        asked = columns_in(askable(self.predicate, of_partitions))
        decided = asked - pruner.undecidable
        return tuple(column for column in self.filtered if column not in decided)

    @property
    def is_of_tables(self) -> bool:
        return self._view is not None

    def whole_groups(self) -> WholeGroups:
        """What reads row groups as tables have them. Raises as dataset."""
        from parquet_bloom.reads.whole_groups import WholeGroups

        return WholeGroups(self.files, self._partitions, self._open_for_rows)

    def dataset(self, schema: pa.Schema | None) -> pads.FileSystemDataset:
        """What is left of the files. Raises as left, and UnsupportedError for ORC files, and for tables whose files
        do not hold all that they say."""
        from parquet_bloom.reads.fragments import Fragments

        with_views: set[str] = set()

        def opener(path: str) -> Container:
            file = self._open_parquet(path)
            check_by_name(file, self.filtered)
            if file.has_views:
                with_views.add(path)
            return file

        with self._one_index():
            self.check_first(opener)
            files = self.files
            possible = self._possible(files, self.predicate)
            pruner = self._pruner(files, possible, opener)
            left = pruner.left(possible.paths)
        files.check_not_deleted([each.path for each in left])
        every = list(files.found)
        of_left = [each.path for each in left]
        ends = files.ends([*every[:1], *of_left], self.keys)
        if with_views and not self.is_of_tables:
            ends = self._without_views([*every[:1], *of_left])
        are_local = not any(map(is_url, every))
        fragments = Fragments(self._partitions, self.keys, every, are_local, ends)
        if schema is None and files.leaf_columns:
            schema = fragments.schema_of_tables(
                of_left or every[:1], files.table_columns, files.kinds_of, files.kinds
            )
        elif schema is None:
            schema = fragments.schema(telling(every), self.filtered)
        return fragments.dataset(left, schema)

    def _without_views(self, paths: Sequence[str]) -> dict[str, FileEnd]:
        """The ends of those that have views, for a reader that can compare these with nothing."""
        ends: dict[str, FileEnd] = {}
        for path in paths:
            with self._open_parquet(path) as file:
                if file.has_views:
                    ends[path] = file.end_as_called()
        return ends

    def rows(self, columns: Sequence[str] | None) -> pa.Table:
        """The rows of all files that match the filters. Raises as verbs.rows."""
        from parquet_bloom.reads.matching import Matching

        with (
            self._one_index(),
            HeldFiles(lambda path: self.files.open(path, self.keys)) as held,
        ):
            to_ask: Open = held.opened if self._cache is None else self._open
            to_read: Open = held.opened if self._cache is None else self._open_for_rows
            names = columns or self._columns(to_ask)
            stored = self.files.stored_keys(self._partitions, [*names, *self.filtered], to_ask)
            partitions = self._partitions.as_stored(stored)
            matching = Matching(self._filters, names, partitions, self.files)
            possible = self._possible(self.files, also_in_utc(self.predicate))
            paths = [path for path in possible.paths if matching.may_match(path)]
            possible = possible._replace(paths=paths)

            @contextmanager
            def checking(path: str) -> Iterator[Container]:
                with to_ask(path) as file:
                    # What is refused must not depend on which values are there.
                    matching.check(file)
                    yield file

            left, _, excluded = self._row_groups(possible, checking)

            def found_in(each: Left) -> Found:
                with to_read(each.path) as file:
                    return matching.found_in(file, each)

            groups = [group for each in left for group in each.groups or ()]
            num_rows = sum(group.num_rows for group in groups)
            is_much = len(groups) >= _MANY_GROUPS or num_rows >= _MANY_ROWS
            threads = None if is_much else 1
            with closing(work_in_order(left, found_in, self._size, threads)) as work:
                for _, found in work:
                    matching.add(found)
            for each in self._telling(left, matching):
                matching.add(found_in(each))
        rows = matching.table()
        read = excluded._asdict() | {
            "by_chance": [document_of(each) for each in excluded.by_chance],
            "without_filter": [document_of(each) for each in excluded.without_filter],
            "files_read": matching.num_files,
            "row_groups_read": matching.num_groups,
            "pages_read": matching.pages_read,
            "bytes_read": matching.bytes_read,
        }
        return rows.replace_schema_metadata({"parquet_bloom": json.dumps(read)})

    def _size(self, left: Left) -> int:
        """Of a file, as most take less to read."""
        return self.files.found[left.path].size or 0

    def _telling(self, left: Sequence[Left], matching: Matching) -> Iterator[Left]:
        """Files that tell of columns which are lacking so far, and of their types, behind what is left."""
        are_read = {each.path for each in left}
        paths = telling(list(self.files.found))
        if not left:
            yield from (Left(path, (), ()) for path in paths[:1])
        for path in paths[0 if left else 1 :]:
            if not matching.lacking:
                return
            if path not in are_read:
                yield Left(path, (), ())

    def _columns(self, opener: Open) -> tuple[str, ...]:
        """Those of a read that names none: of tables, or see reads.columns."""
        files, paths = self.files, telling([*self.files.found])

        def of_file(path: str) -> dict[str, None]:
            with opener(path) as file:
                return dict.fromkeys(files.as_listed(file, ()).top_columns)

        of_partitions = dict.fromkeys(self._partitions.names)
        if files.table_columns or not paths:
            return tuple(dict.fromkeys(files.table_columns) | of_partitions)
        first, *others = paths
        known = of_file(first) | of_partitions
        found = with_filtered(known, self.filtered, map(of_file, others), ONLY_NAMES)
        return tuple(found)

    def _known_besides(self, asked: Sequence[str], opener: Open) -> list[str]:
        """The columns of the filters that are there, if not all files are asked for all of them: those of other
        partitions, or those that an index excludes, may have them alone."""
        is_alike = self._index is None and not {*self._partitions.names} & {*self.filtered}
        if is_alike and len(asked) == len(self.files.found):
            return []
        names = self._columns(opener)
        return [column for column in self.filtered if whole_column(column, names) in names]

    @read_once
    def _partitions(self) -> Partitions:
        return self.files.partitions(self.names or ())

    @property
    def has_partitions(self) -> bool:
        """Whether names of folders make columns."""
        return bool(self._partitions.names)

    def columns_above(self) -> list[str]:
        """Those that only the names of folders above the one that was named have, as whoever takes partitions from
        whole paths has it. Raises UnsupportedError if the files store one, in whose place that is read; else as
        files.open."""
        if not self.has_partitions:
            return []
        others = {*self.files.partitions(()).names} - {*self._partitions.names}
        if stored := sorted(others & {*self._columns(self._open_parquet)} if others else ()):
            raise UnsupportedError(
                f"{next(iter(self.files.found))}: column {quoted_name(stored[0])}: polars takes it from the name of a"
                " folder above the one that was given: give that folder, or try pb.rows"
            )
        return sorted(others)

    def check_first(self, opener: Open | None = None) -> None:
        """Raise UnsupportedError if the first file is of a format that only we read; behind a URL, nobody looks.
        FileNotFoundError for tables without files. Other errors are those of whoever reads it."""
        first = next(iter(self.files.found), None)
        if first is None:
            raise FileNotFoundError(errno.ENOENT, "no files", ", ".join(self.names or ()))
        if not is_url(first):
            with (opener or self._open_parquet)(first):
                pass

    def _pruner(
        self,
        files: ListedFiles,
        possible: Possible,
        opener: Open,
        most_left: float = MOST_LEFT,
    ) -> Pruner:
        """What asks these of the files."""
        of_tables = files.partition_types.keys()
        indexed = None
        if self._index is not None:
            conditions = [
                each for each in conditions_in(possible.predicate) if each.column not in of_tables
            ]
            with self._asked() as asked:
                indexed = Indexed(asked, conditions, files)

        def known() -> set[str]:
            of_partitions = self._partitions.names
            besides = self._known_besides(possible.paths, opener)
            return {*files.leaf_columns, *of_partitions, *besides}

        def predicate_of(path: str) -> Predicate:
            asked = askable(without(possible.predicate_of(path), of_tables))
            # What the folders of a table's files are called means nothing.
            return asked if files.is_of_table(path) else besides_folders(asked, path)

        pruner = Pruner(predicate_of, opener, indexed, most_left, known, possible.told)
        self._check_gone(files, possible.predicate, pruner)
        return pruner

    def _check_gone(self, files: ListedFiles, predicate: Predicate, pruner: Pruner) -> None:
        """Raise FileNotFoundError for files of the index that are gone, but for those in which nothing matched by
        what it says, and by the names of their folders."""
        folders = files.partitions((), files.gone)

        def had_none(path: str) -> bool:
            known = {name: folders.value(path, name).as_py() for name in folders.names_of(path)}
            return holds(predicate, known, are_alike_in_names) is False or pruner.is_excluded(path)

        if gone := [path for path in files.gone if not had_none(path)]:
            raise files_gone(gone)

    def _open(self, path: str, files: ListedFiles | None = None) -> Container:
        return (files or self.files).open(path, self.keys, self._cache)

    def _open_for_rows(self, path: str) -> Container:
        return self.files.open(path, self.keys, self._cache_for_rows)

    def _open_parquet(self, path: str, files: ListedFiles | None = None) -> Container:
        """Raises UnsupportedError for another format, too."""
        file = self._open(path, files)
        if file.units is ROW_GROUPS:
            return file
        file.close()
        raise UnsupportedError(
            f"{path}: {FORMAT_TITLES[file.format]}, expected Parquet; pb.row_groups and pb.rows take it"
        )

    def _asked(self) -> AbstractContextManager[AskedIndex]:
        return (
            closing(self._opened_index())
            if self._asked_now is None
            else nullcontext(self._asked_now)
        )

    @contextmanager
    def _one_index(self) -> Iterator[None]:
        """Opens the index once for all that is asked of it within. Not for several threads."""
        if self._index is None:
            yield
            return
        with closing(self._opened_index()) as self._asked_now:
            try:
                yield
            finally:
                self._asked_now = None

    def _opened_index(self) -> AskedIndex:
        assert self._index is not None
        index = path_given("index", self._index, PATH_OR_URL)
        folder = open_folder(with_options(index, self.storage_options))
        opener = open_source if self._cache is None else self._cache.open_lasting
        return AskedIndex(folder, self._hash_key, opener)
