"""Look for the rows that hold values: of each file, in the row groups that min/max statistics and filters leave, and
there in the column itself."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from parquet_bloom.container import number_of
from parquet_bloom.container.by_name import or_null
from parquet_bloom.errors import (
    ColumnError,
    MissingKeyError,
    ParquetBloomError,
    RewriteError,
    UnsupportedError,
    ValueTypeError,
)
from parquet_bloom.index.states import GONE, is_as_read, states_of
from parquet_bloom.native.lazy import NDArray, np
from parquet_bloom.reads.columns import telling, whole_column
from parquet_bloom.storage.cache import CacheUse
from parquet_bloom.storage.left_out import LeftOut
from parquet_bloom.values.given import picked, python_values, show_values
from parquet_bloom.values.types import CANNOT_BE
from parquet_bloom.verbs.asked_files import AnsweredBy, AskedFile, AskedFiles
from parquet_bloom.verbs.found import (
    AbsentValues,
    FindReport,
    FoundRow,
    UnknownFile,
    UnverifiedFile,
)
from parquet_bloom.verbs.held_values import held_values
from parquet_bloom.verbs.listed_files import SOURCE_GONE
from parquet_bloom.verbs.several import Lacking, message_of
from parquet_bloom.vocabulary import NULL_BY_NAME, UNLISTED, WITHOUT_FILTERS

if TYPE_CHECKING:
    from parquet_bloom.container import FoundIn
    from parquet_bloom.container.protocols import Askable, Column, Container
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.native.lazy import Array
    from parquet_bloom.parallel import Progress
    from parquet_bloom.reads.partitions import Partitions
    from parquet_bloom.reads.rows import RowSource, RowTables
    from parquet_bloom.storage.cache import Cache
    from parquet_bloom.storage.folder import Found
    from parquet_bloom.verbs.candidates import Candidate, Candidates, Places
    from parquet_bloom.verbs.listed_files import ListedFiles
    from parquet_bloom.vocabulary import Format


_NOT_FOUND: Final = (FileNotFoundError, NotADirectoryError)


class _Left(NamedTuple):
    """Where in a file values may be, and how many of its row groups were ruled out."""

    places: Places
    by_statistics: int = 0
    by_filters: int = 0

    @property
    def answered_by(self) -> AnsweredBy:
        """What answers for the file: statistics only if they do alone, no filter having ruled out anything."""
        if self.places:
            return "values"
        return "filters" if self.by_filters else "statistics"


AnswerT = TypeVar("AnswerT")


class _Encoded(NamedTuple):
    """What a column is asked: all of the values; or those at some `positions`, and why not the others."""

    asked: object
    positions: Array | None = None
    problem: str = ""


class RowSearch:
    """What is looked for, and what was read for that."""

    def __init__(
        self,
        column: str,
        values: Sequence[Any] | Array,
        columns: Sequence[str] | None,
        keys: Keys | None,
        cache: Cache | None = None,
        union_by_name: bool = False,
    ) -> None:
        """Raises TypeError for what is no cache."""
        self._is_by_name = union_by_name
        self.column = column
        self.cache = None if cache is None else CacheUse(cache)
        # Of pages with rows, nothing is kept.
        self._cache_for_rows = None if cache is None else CacheUse(cache, is_keeping=False)
        # Of one object, so that what is asked is encoded once for all files.
        self.values: Any = tuple(values) if isinstance(values, list) else values
        self._keys = keys
        self._asked: tuple[Column, _Encoded] | None = None
        self._files_read = self._parts_read = 0
        self._files_by_statistics = self._files_by_filters = 0
        self._parts_by_statistics = self._parts_by_filters = 0
        self._pages_read = self._bytes_read = 0
        self._tables = _tables(columns)
        self._partitions: Partitions | None = None
        self._unknown: list[UnknownFile] = []
        # Those of them that are so for some of the values alone, and the positions of these values.
        self._of_some: set[str] = set()
        self._unsure: set[int] = set()
        self._unverified: list[UnverifiedFile] = []
        self._encrypted_in: list[str] = []
        self._undecided: list[UnknownFile] = []
        # What cannot be a value of the column in a file.
        self._no_values: list[ValueTypeError] = []
        # Of files that lack the column, or a key for it.
        self._not_askable: list[ColumnError | MissingKeyError] = []
        # Files that lack the column, as their table has null there; those that go by its name, while no other has it.
        self._files_without = 0
        self._without: dict[str, ColumnError] = {}
        self._lacking = Lacking()
        self._is_column = False
        # Folders of which nobody knows the files.
        self._not_listed: list[UnknownFile] = []
        self.left_out = LeftOut()
        self.inputs: tuple[str, ...] = ()
        self._formats: set[Format] = set()
        self._read: dict[str, AskedFile] = {}
        self._started = time.time()

    @cached_property
    def _asked_for(self) -> list[Any]:
        """The values as reports have them."""
        return python_values(self.values)

    def add_gone(self, errors: Sequence[OSError]) -> None:
        """Sources of an index where nothing is any more: whether their files are gone, too, nobody knows. Or at which
        nobody may look."""
        for error in errors:
            if isinstance(error, FileNotFoundError):
                self._not_listed.append(UnknownFile(str(error.filename), SOURCE_GONE))
            else:
                self.add_not_found([error])

    def add_not_found(self, errors: Sequence[OSError]) -> None:
        """Names that mean no files, or at which nobody may look."""
        for error in errors:
            name = str(error.filename)
            reason = message_of(name, error).removeprefix(f"{name}: ")
            self._not_listed.append(UnknownFile(name, reason))

    def _check_answers(self, candidates: Candidates, files: ListedFiles) -> None:
        """Raise what the verbs raise that could ask none of several files."""
        if self._no_values and len(self._no_values) == len(candidates.found) - self._files_without:
            raise self._no_value_of_any()
        if self._not_askable and len(self._not_askable) == candidates.num_files:
            # A table knows more about its columns than each of its files.
            files.check_columns([self.column])
            if self._lacking.num_files == candidates.num_files and not self._lacking.are_alike:
                raise self._lacking.error(self.column)
            raise self._first_of_all()

    def _no_value_of_any(self) -> ValueTypeError:
        """Of files whose columns have one type, the first speaks for all; what no type has is no file's fault."""
        paths: dict[str, list[str]] = {}
        for each in self._unknown:
            paths.setdefault(each.reason, []).append(each.path)
        told = (
            f"{_first_of(those)}: {reason}" if CANNOT_BE in reason else reason
            for reason, those in paths.items()
        )
        return ValueTypeError("; ".join(told))

    def _first_of_all(self) -> ColumnError | MissingKeyError:
        """What is wrong with the first file, and, if that is a key, with how many more."""
        first, *others = self._not_askable
        if others and all(isinstance(each, MissingKeyError) for each in self._not_askable):
            reasons = [file.reason for file in self._unknown]
            num_same = reasons.count(reasons[0])
            told = [f"the same for {number_of(num_same - 1, 'other file')}"] * (num_same > 1)
            if more := len(reasons) - num_same:
                told.append(f"others are missing for {number_of(more, 'file')}")
            return MissingKeyError("; ".join([str(first), *told]))
        return first

    def _check_nulls(self) -> None:
        """Without a file that has the column, nobody knows that it is one: it may be misspelt."""
        if not self._is_by_name or self._is_column:
            return
        for path, error in self._without.items():
            # Others are unknown for another reason.
            if self._read.pop(path, None) is not None:
                self._files_without -= 1
                self._add_unknown(path, error)

    def _with_hints(self) -> Iterator[UnknownFile]:
        """The files that are unknown; of one that lacks what others have, what its user may say."""
        is_hinted = self._is_column and not self._is_by_name
        for file in self._unknown:
            if is_hinted and file.path in self._without:
                yield UnknownFile(file.path, or_null(file.reason))
            else:
                yield file

    def _add_unknown(self, path: str, error: Exception) -> None:
        if isinstance(error, ValueTypeError):
            self._no_values.append(error)
        elif isinstance(error, ColumnError | MissingKeyError):
            self._not_askable.append(error)
        self._unknown.append(UnknownFile(path, message_of(path, error).removeprefix(f"{path}: ")))

    def _add_unknown_of_some(self, path: str, problem: str) -> None:
        self._unknown.append(UnknownFile(path, problem))
        self._of_some.add(path)

    def report(
        self, candidates: Candidates, files: ListedFiles, progress: Progress | None
    ) -> FindReport:
        rows: list[FoundRow] = []
        by, num_candidates = candidates.by, len(candidates.found)
        self._is_column = candidates.have_column
        if self._tables is not None and num_candidates:
            self._partitions = self._partitions_of(self._tables, candidates, files)
        for done, candidate in enumerate(candidates.found):
            if progress:
                progress(done, num_candidates)
            rows += self._looked_into(candidate, files, partial(self._rows, files)) or ()
        for path, problem in candidates.not_held.items():
            self._add_unknown_of_some(path, problem)
        self._unsure.update(candidates.unsure)
        if self._tables is not None and num_candidates:
            self._ask_others(self._tables, candidates, files)
        if progress:
            progress(num_candidates, num_candidates)
        self._check_nulls()
        if not candidates.are_by_index:
            # What an index has looked up is an answer, whatever has become of the files.
            self._check_answers(candidates, files)
        not_listed = [
            *self._not_listed,
            *(
                UnknownFile(path, f"{UNLISTED}: {reason}")
                for path, reason in self.left_out.all_unlisted
            ),
        ]
        unknown = (*self._with_hints(), *not_listed)
        of_all = [file.path for file in unknown if file.path not in self._of_some]
        return FindReport(
            column=self.column,
            index=None if by is None else by.index,
            generation=None if by is None else by.generation,
            num_files=candidates.num_files + len(not_listed),
            files_by_index=candidates.num_files - num_candidates,
            files_by_statistics=self._files_by_statistics,
            files_by_filters=self._files_by_filters,
            files_read=self._files_read,
            row_groups_by_statistics=self._parts_by_statistics,
            row_groups_by_filters=self._parts_by_filters,
            row_groups_read=self._parts_read,
            pages_read=self._pages_read,
            bytes_read=self._bytes_read,
            rows=tuple(rows),
            unknown=unknown,
            absent=AbsentValues(
                self.values, rows, self._unsure if unknown else (), known=not of_all
            ),
            unverified=tuple(self._unverified),
            asked=AskedFiles(files.found, self._read, of_all),
            deleted_in=tuple(
                path
                for path in dict.fromkeys(row.path for row in rows)
                if files.may_hide_rows(path)
            ),
            undecided=tuple(self._undecided),
            left_out=self.left_out.besides(files.found),
            inputs=self.inputs,
            tables=files.tables,
            formats=tuple(sorted(self._formats)),
            started=self._started,
            made=None if by is None else by.made,
            files_without_column=self._files_without,
            files_unknown_of_some=len(self._of_some),
            union_by_name=self._is_by_name,
            encrypted_in=tuple(self._encrypted_in),
            values=self._tables and self._tables.table(),
        )

    def are_held(self, candidates: Candidates, files: ListedFiles) -> NDArray[np.bool_] | None:
        """Of each value, whether a row holds it of the files as they were seen; None if one cannot be read, or is
        another one by now."""
        self._is_column = candidates.have_column
        are_held = np.zeros(len(self.values), np.bool_)
        for candidate in candidates.found:
            for each in (
                self._looked_into(candidate, files, partial(_as_seen, candidate.seen)) or ()
            ):
                are_held[each.values] = True
        self._check_nulls()
        is_unsure = (
            candidates.not_held or self._unknown or self._not_listed or self.left_out.all_unlisted
        )
        return None if is_unsure else are_held

    def _looked_into(
        self,
        candidate: Candidate,
        files: ListedFiles,
        answer: Callable[[Askable, Sequence[FoundIn]], AnswerT],
    ) -> AnswerT | None:
        """What `answer` makes of the rows that a file has; None if it cannot be read."""
        path = candidate.path
        try:
            known = self._left_by_cache(candidate, files)
            with self._opened(path, files, self._cache_for_rows) as file:
                self._formats.add(file.format)
                if file.unverified is not None:
                    self._unverified.append(UnverifiedFile(path, file.unverified))
                try:
                    left = self._left_of(file, candidate) if known is None else known
                    found = self._found_in(file, left.places)
                    values = self._tables and self._values_of(file, self._tables, found, files)
                    file.source.check_one_version()
                finally:
                    self._bytes_read += file.source.bytes_read
                    self._pages_read += file.pages_read
                if self._tables is not None:
                    self._tables.add(values)
                if any(len(each.rows) for each in found) and file.has_encrypted(
                    self._names_of(file)
                ):
                    self._encrypted_in.append(path)
                self._files_read += bool(left.places)
                self._parts_read += len(left.places)
                self._parts_by_statistics += left.by_statistics
                self._parts_by_filters += left.by_filters
                # What has no column here is null, or would have been raised.
                is_null = file.answer_to_all(self.column) is not None
                problem = "" if is_null else self._encoded(file, file.column(self.column)).problem
                by: AnsweredBy = "schema" if is_null else left.answered_by
                if problem:
                    self._add_unknown_of_some(path, problem)
                self._files_by_statistics += by == "statistics"
                self._files_by_filters += by == "filters"
                self._files_without += by == "schema"
                self._read[path] = AskedFile(path, file.source.size, file.source.version, by)
                return answer(file, found)
        except (ParquetBloomError, OSError) as error:
            is_gone = isinstance(error, _NOT_FOUND) and _is_gone(candidate, files)
            self._add_unknown(path, FileNotFoundError(errno.ENOENT, GONE) if is_gone else error)
            return None

    def _column_of(self, file: Askable) -> Column:
        try:
            column = file.column(self.column)
        except ColumnError as error:
            self._lacking.add(file)
            if file.is_without(self.column):
                self._without[file.path] = error
            raise
        self._is_column = True
        return column

    def _opened(self, path: str, files: ListedFiles, cache: CacheUse | None) -> Container:
        file = files.open(path, self._keys, cache)
        if self._is_by_name:
            file.unite_by_name([self.column])
        return file

    def _left_by_cache(self, candidate: Candidate, files: ListedFiles) -> _Left | None:
        """Where in a file values may be, and what says so stays in the cache; None without one."""
        if self.cache is None:
            return None
        with self._opened(candidate.path, files, self.cache) as file:
            try:
                return self._left_of(file, candidate)
            finally:
                self._bytes_read += file.source.bytes_read

    def _left_of(self, file: Askable, candidate: Candidate) -> _Left:
        """Where in a file values may be."""
        if told := file.answer_to_all(self.column):
            if told.verdict == "absent":
                if told.reason == NULL_BY_NAME:
                    with suppress(ColumnError):
                        self._column_of(file)
                return _Left({})
            raise UnsupportedError(f"{file.path}: {told.reason}")
        column = self._column_of(file)
        file.check_row_counts()
        places = candidate.places.get(file.source.version)
        if places is None or max(places, default=0) >= file.num_parts:
            return self._not_excluded(file, column)
        return _Left({part: places[part] for part in sorted(places)})

    def _found_in(self, file: Askable, places: Places) -> list[FoundIn]:
        if not places:
            return []
        column = file.column(self.column)
        if self._tables is not None:
            file.will_read_rows(self._tables.columns, places, column)
        asked, positions, _ = self._encoded(file, column)
        found = file.find_rows(column, places, asked)
        if positions is None:
            return list(found)
        return [each._replace(values=positions[each.values]) for each in found]

    def _encoded(self, file: Askable, column: Column) -> _Encoded:
        """The values that a column can hold, once for all files with the same schema. Raises ValueTypeError if there
        are none."""
        if self._asked is None or self._asked[0] is not column:
            self._asked = column, self._encode(file, column)
        found = self._asked[1]
        if found.positions is not None and not found.positions.size:
            raise ValueTypeError(f"{file.path}: {found.problem}")
        return found

    def _encode(self, file: Askable, column: Column) -> _Encoded:
        values = self.values
        try:
            return self._sought(file, column, _Encoded(file.encode(column, values)))
        except ValueTypeError:
            held = held_values(file, column, values)
            self._unsure.update(held.others)
        if not held.positions.size:
            return _Encoded(None, held.positions, held.problem)
        encoded = _Encoded(file.encode(column, held.values), held.positions, held.problem)
        return self._sought(file, column, encoded)

    def _sought(self, file: Askable, column: Column, encoded: _Encoded) -> _Encoded:
        """The same without values that the file cannot look for, unless that is so of all."""
        among = np.arange(len(self.values)) if encoded.positions is None else encoded.positions
        reasons = {int(among[at]): why for at, why in file.not_sought(encoded.asked).items()}
        if not reasons or len(reasons) == len(among):
            return encoded
        self._unsure.update(reasons)
        left = [at for at in among.tolist() if at not in reasons]
        problem = "; ".join(filter(None, (encoded.problem, _not_looked_for(reasons, self.values))))
        asked = file.encode(column, picked(self.values, left))
        return _Encoded(asked, np.array(left, np.intp), problem)

    def _rows(self, files: ListedFiles, file: Askable, found: Sequence[FoundIn]) -> list[FoundRow]:
        first_rows = list(accumulate(file.part_rows, initial=0))
        rows = [
            FoundRow(self._asked_for[value], file.path, part, row, first_rows[part] + row)
            for part, row, value in _one_by_one(found)
        ]
        return self._with_deletes(rows, files, file.path)

    def _with_deletes(self, rows: list[FoundRow], files: ListedFiles, path: str) -> list[FoundRow]:
        """Rows of one file, with what its table says of each. What nobody can read of that hides no row."""
        try:
            deleted = files.deleted_rows(path) if rows else None
        except (ParquetBloomError, OSError) as error:
            reason = message_of(path, error).removeprefix(f"{path}: ")
            self._undecided.append(UnknownFile(path, reason))
            return [replace(row, deleted=None) for row in rows]
        if deleted is None:
            return rows
        are_deleted = np.isin([row.row for row in rows], deleted).tolist()
        return [replace(row, deleted=each) for row, each in zip(rows, are_deleted, strict=True)]

    def _values_of(
        self, file: Askable, tables: RowTables, found: Sequence[FoundIn], files: ListedFiles
    ) -> Any:
        """A row can hold several of the values, and is read once."""
        rows: dict[int, list[int]] = {}
        places: dict[tuple[int, int], int] = {}
        for part, row, _ in _one_by_one(found):
            if (part, row) not in places:
                places[part, row] = len(places)
                rows.setdefault(part, []).append(row)
        source = self._row_source(file, tables, files)
        return tables.read(source, rows, [places[part, row] for part, row, _ in _one_by_one(found)])

    def _partitions_of(
        self, tables: RowTables, candidates: Candidates, files: ListedFiles
    ) -> Partitions:
        """Raises UnsupportedError, FormatError."""
        found = files.partitions(self.inputs, candidates.all_paths())
        opener = partial(files.open, keys=self._keys, cache=self._cache_for_rows)
        try:
            stored = files.stored_keys(found, tables.columns, opener)
        except (ParquetBloomError, OSError):
            # What cannot be read tells nothing.
            stored = None
        partitions = found.as_stored(stored)
        partitions.check(tables.columns)
        return partitions

    def _row_source(self, file: Askable, tables: RowTables, files: ListedFiles) -> RowSource:
        from parquet_bloom.reads.partitions import PartitionedFile

        assert self._partitions is not None
        of_table = files.as_listed(file, tables.columns)
        # By what is stored there, the rows were found.
        own = whole_column(self.column, of_table.top_columns)
        return PartitionedFile(of_table, self._partitions, own)

    def _ask_others(self, tables: RowTables, candidates: Candidates, files: ListedFiles) -> None:
        """Files that hold none of the values, for columns that those lack which may."""
        looked_into = {each.path for each in candidates.found}
        for path in telling([path for path in candidates.all_paths() if path not in looked_into]):
            if not tables.lacking:
                return
            # What cannot be read tells nothing.
            with (
                suppress(ParquetBloomError, OSError),
                files.open(path, self._keys, self._cache_for_rows) as file,
            ):
                tables.add(tables.read(self._row_source(file, tables, files), {}, ()))
                self._bytes_read += file.source.bytes_read

    def _names_of(self, file: Askable) -> Iterator[str]:
        """Of the columns whose values are in the answer."""
        yield file.column(self.column).name
        if self._tables is not None:
            yield from self._tables.columns

    def _not_excluded(self, file: Askable, column: Column) -> _Left:
        """The row groups in which neither statistics nor filters rule out every value,
        or the index groups of stripes."""
        asked = self._encoded(file, column).asked
        within = file.within_bounds(column, range(file.num_parts), asked)
        places: dict[int, Collection[int] | None] = {}
        by_filters = 0
        by_statistics = file.num_parts - len(within)
        for part, groups in within.items():
            left, are_asked = _groups_left(file, column, part, groups, asked)
            if left is None or left:
                places[part] = left
            else:
                # What has no rows, only nulls in them, or a type that holds none of the values, no filter ruled out.
                by_filters += are_asked
                by_statistics += not are_asked
        return _Left(places, by_statistics, by_filters)


def _groups_left(
    file: Askable, column: Column, part: int, among: Collection[int] | None, asked: object
) -> tuple[Sequence[int] | None, bool]:
    """The groups of a part that may have one of the values, None for all; and whether any filter of those `among`
    which they are was asked."""
    left: set[int] = set()
    some: dict[int, Sequence[int]] = {}
    num_groups, are_asked = 0, False
    for number, answers in enumerate(file.prober(column, part).answers(asked)):
        num_groups += 1
        if among is not None and number not in among:
            continue
        are_asked = are_asked or any(
            each.num_rows and each.reason not in WITHOUT_FILTERS for each in answers.given
        )
        values = answers.not_absent
        if len(values) == len(answers.picks):
            left.add(number)
        elif len(values):
            some[number] = values
    if some:
        # Those that a filter has by chance may be out of bounds, where others are within them.
        left.update(file.groups_within_bounds(column, part, asked, some))
    are_all = bool(left) and len(left) == num_groups
    return (None if are_all else sorted(left)), are_asked


# So many values are named that a file cannot look for.
_MOST_SHOWN: Final = 3


def _not_looked_for(reasons: Mapping[int, str], values: Sequence[Any] | Array) -> str:
    """`1500-01-01, 1501-01-01 and 7 more: cannot be looked for: dates before …`"""
    first, *_ = reasons.values()
    shown = show_values([values[at] for at in reasons])
    more = f" and {len(shown) - _MOST_SHOWN:,} more" * (len(shown) > _MOST_SHOWN)
    return f"{', '.join(shown[:_MOST_SHOWN])}{more}: cannot be looked for: {first}"


def _is_gone(candidate: Candidate, files: ListedFiles) -> bool:
    """Whether a file that is not found was there when it was indexed: a link to it may be there still."""
    path = candidate.path
    return not candidate.is_listed and states_of([path], files.options)[path] is None


def _first_of(paths: Sequence[str]) -> str:
    first, *others = paths
    return f"{first} and {number_of(len(others), 'other file')}" if others else first


def _one_by_one(found: Sequence[FoundIn]) -> Iterator[tuple[int, int, int]]:
    """Part, row in it, and position of the value."""
    for part, rows, values in found:
        for row, value in zip(rows.tolist(), values.tolist(), strict=True):
            yield part, row, value


def _as_seen(seen: Found, file: Askable, found: Sequence[FoundIn]) -> Sequence[FoundIn]:
    """Raises RewriteError for what was found in another state of the file."""
    if not is_as_read(seen, file.source.size, file.source.version):
        raise RewriteError(f"{file.path}: has changed since it was seen, expected the same file")
    return found


def _tables(columns: Sequence[str] | None) -> RowTables | None:
    if columns is None:
        return None
    from parquet_bloom.reads.rows import RowTables

    return RowTables(tuple(dict.fromkeys(columns)))
