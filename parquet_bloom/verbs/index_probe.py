"""Ask an index which files may hold values, and where in them."""

from __future__ import annotations

import errno
import os
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from copy import copy
from dataclasses import field, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Final

from parquet_bloom.arguments import files_given, flag_given, name_given
from parquet_bloom.container import AS_TEXT, UNITS, Units, number_of
from parquet_bloom.container.by_name import or_null
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import ColumnError, complaint_about, no_column
from parquet_bloom.index.asking import AskedIndex, FoundValues, Hits, Numbers, listed_numbers
from parquet_bloom.index.kinds import format_of
from parquet_bloom.index.manifest import Manifest, Places, TableSource, existing
from parquet_bloom.index.states import GONE, in_stores_of, states_seen
from parquet_bloom.native.lazy import Array, NDArray, np
from parquet_bloom.options import TableView
from parquet_bloom.storage import open_folder, with_options
from parquet_bloom.values.given import list_values
from parquet_bloom.verbs.documents import VerbReport
from parquet_bloom.verbs.value_answers import ValueAnswers

if TYPE_CHECKING:
    from parquet_bloom.index.units import Unit
    from parquet_bloom.verbs.listed_files import ListedFiles
    from parquet_bloom.vocabulary import Format, TableChoice, Verdict

_STALE: Final = "not in the index as it is now"


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """What an index says of one file about a value: `maybe` in `row_groups`, which are the stripes of an ORC file,
    and there in `pages`, data pages of the column; `unknown` with the `reason`. Empty where places are files:
    anywhere in it. If nothing is known of some of them alone, these are among the others,
    and the `reason` is about them."""

    path: str
    verdict: Verdict
    row_groups: tuple[int, ...] = ()
    pages: tuple[tuple[int, int], ...] = ()
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class IndexedValue:
    """The verdict on a `value`, as Python has it: `absent` only if it is absent in every file.
    `files`: the others."""

    value: Any = field(metadata=AS_TEXT)
    verdict: Verdict
    files: tuple[IndexedFile, ...]


class IndexedValues(ValueAnswers[IndexedValue]):
    """The verdicts on all values."""

    def __init__(
        self,
        values: Sequence[Any] | Array,
        answers: IndexAnswers,
        word: Callable[[str], str] = str,
    ) -> None:
        """`word`: says a reason to those who asked."""
        super().__init__(values)
        self._answers, self._word = answers, word

    def worded(self, word: Callable[[str], str]) -> IndexedValues:
        """The same, as IndexReport.worded."""
        return IndexedValues(self._values, self._answers, word)

    def _of(self, number: int, value: Any) -> IndexedValue:
        found = self._answers.of(number, value)
        return (
            replace(found, files=tuple(_worded(found.files, self._word))) if found.files else found
        )

    @property
    def absent(self) -> NDArray[np.bool_]:
        """Which values are absent in every file. Shape (n,), dtype bool."""
        return self._answers.absent(len(self))

    @property
    def by_themselves(self) -> list[int]:
        """The numbers of those that would not be absent, either, if there were no files that may hold any value;
        first those that may be in a file."""
        return self._answers.by_themselves(len(self))

    @property
    def askable(self) -> NDArray[np.bool_]:
        """Which values can be looked up at all. Shape (n,), dtype bool."""
        return self._answers.askable(len(self))

    @property
    def changed(self) -> NDArray[np.bool_]:
        """Which values a file may have held, as far as the index knows, that is another one by now, or gone. Shape
        (n,), dtype bool."""
        return self._answers.changed(len(self))

    def units_of(self, path: str) -> Units:
        """What the format of a file that may hold any of them calls its parts."""
        return UNITS[self._answers.formats.get(path, "parquet")]

    @property
    def files_unknown_of_some(self) -> list[IndexedFile]:
        """Files that may hold some of them, but not any value; each with one reason."""
        return _worded(self._answers.files_unknown_of_some, self._word)

    @property
    def are_all_known(self) -> bool:
        """Whether no file is unknown, about any of them."""
        return self._answers.are_all_known

    @property
    def files_gone(self) -> frozenset[str]:
        """The files that held some of them, and are gone."""
        return self._answers.gone


@dataclass(frozen=True, slots=True, repr=False)
class IndexReport(VerbReport):
    """What an index says about values of a column in `num_files` files: how many are `absent` in every file,
    `maybe` in one, or `unknown`. If `as_indexed`, it is about the files as they were when the index last looked
    at them (`made`, in seconds since 1970), but one that may hold a value and has changed since, or is gone, is
    unknown for it; else about those that were named, as they are now. `files_unknown` may hold any value, if only in
    some of their parts; others are unknown for the values in whose results they are. `tables`: that the index is
    about, at the versions that it was made of. `files_without_column`: how many of the files have no such column,
    which is null there by `union_by_name`."""

    _rows: ClassVar = ("results", "files")
    _item: ClassVar = IndexedValue

    index: str
    generation: int
    made: float
    as_indexed: bool
    column: str
    num_files: int
    absent: int
    maybe: int
    unknown: int
    results: IndexedValues
    files_unknown: tuple[IndexedFile, ...]
    bytes_read: int
    tables: tuple[TableSource, ...] = ()
    files_without_column: int = 0

    def __repr__(self) -> str:
        found = f"{self.absent:,} absent, {self.maybe:,} maybe, {self.unknown:,} unknown"
        where = f"{number_of(self.num_files, 'file')}{' as indexed' * self.as_indexed}"
        return f"<IndexReport {self.index}: {self.column} in {where}: {found}>"

    @property
    def is_absent(self) -> bool:
        """Whether no value can be in any file."""
        return self.absent == len(self.results)

    @property
    def is_outdated(self) -> bool:
        """Whether it has come across files that the index does not know as they are now, which `add` has it know. If
        `as_indexed`, only those that may hold a value were looked at."""
        unknown = chain(self.files_unknown, self.results.files_unknown_of_some)
        return any(file.reason == _STALE for file in unknown)

    def worded(self, word: Callable[[str], str]) -> IndexReport:
        """The same, with each reason as `word` says it."""
        files = tuple(_worded(self.files_unknown, word))
        return replace(self, results=self.results.worded(word), files_unknown=files)


def probe_index(
    index: str | os.PathLike[str],
    column: str,
    values: Any,
    *,
    files: Any = None,
    table: TableChoice | TableView | None = None,
    union_by_name: bool = False,
    hash_key: bytes | str | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> IndexReport:
    """Which files of an index may hold values of `column`, as Index.probe."""
    among = files_if_given(files, table, storage_options, union_by_name)
    folder = open_folder(with_options(os.fspath(index), storage_options))
    with closing(AskedIndex(folder, hash_key)) as asked:
        return probe_asked(
            asked, folder.path, column, list_values(values), among, storage_options, union_by_name
        )


def files_if_given(
    files: Any,
    table: TableChoice | TableView | None,
    storage_options: Mapping[str, str] | None,
    union_by_name: bool = False,
) -> ListedFiles | None:
    """The files that an answer is to be about, None for those of the index. Raises as Index.probe."""
    TableView.check_none(table, flag_given("union_by_name", union_by_name))
    if files is None:
        if table is not None:
            raise TypeError("files: None, expected the tables")
        return None
    from parquet_bloom.verbs.listed_files import files_found, for_index

    names, view = files_given("files", files), TableView.given(table)
    return for_index(files_found(names, view, storage_options))


def terms_of(
    index: str | os.PathLike[str], storage_options: Mapping[str, str] | None = None
) -> Manifest:
    """What an index is about, and how it was built. Raises FormatError, OSError."""
    return existing(open_folder(with_options(os.fspath(index), storage_options)))


def check_column(path: str, index: Manifest, column: str) -> None:
    """Raise ColumnError unless the index is about this column."""
    if name_given("column", column) not in index.columns:
        raise ColumnError(f"{path}: {no_column(column, index.columns, 'index')}")


def check_has_files(path: str, column: str, num_files: int) -> None:
    """Raise FileNotFoundError for an index that knows no files: nothing must not become an answer."""
    if not num_files:
        problem = f"the index has no files with {column}, expected some"
        raise FileNotFoundError(errno.ENOENT, problem, path)


def probe_asked(
    asked: AskedIndex,
    path: str,
    column: str,
    values: Sequence[Any] | Array,
    files: ListedFiles | None,
    storage_options: Mapping[str, str] | None,
    union_by_name: bool = False,
) -> IndexReport:
    """The same of an open index."""
    manifest = asked.manifest
    check_column(path, manifest, column)
    before = asked.bytes_read
    found = asked.look_up(column, values)
    if files is not None:
        found = found.named(files.given)
    without: set[str] = set()
    if asked.has_column(column):
        found, without = _by_name(found, union_by_name)
    others: list[IndexedFile] = []
    gone: list[str] = []
    if files is None:
        paths = in_stores_of(manifest.sources, sorted(_paths(found)))
        now = states_seen(paths, storage_options)
        # What a table has put in the place of a file that is gone, the index does not know.
        current = {path: now.versions.get(path) or "" for path in paths}
        if not manifest.tables:
            gone = [path for path, version in now.versions.items() if not version]
        unseen = now.reasons
        num_files = asked.num_files(column)
        check_has_files(path, column, num_files)
    else:
        current, others, unseen = _among(
            files, column, asked.units(column), _paths(found), storage_options
        )
        without &= current.keys() - {file.path for file in others}
        num_files = len(files.found) + len(files.errors)
    answers = IndexAnswers(found, manifest.places, current, others, gone, unseen)
    absent, maybe, unknown = answers.counts(len(values))
    return IndexReport(
        index=path,
        generation=manifest.generation,
        made=manifest.made,
        as_indexed=files is None,
        column=column,
        num_files=num_files,
        absent=absent,
        maybe=maybe,
        unknown=unknown,
        results=IndexedValues(copy(values), answers),
        files_unknown=tuple(answers.files_unknown),
        bytes_read=asked.bytes_read - before,
        tables=manifest.tables,
        files_without_column=len(without),
    )


def _by_name(found: FoundValues, union_by_name: bool) -> tuple[FoundValues, set[str]]:
    """What is known if files that certainly have no such column, which others have, have null there, and which these
    are; else, of each, that this may be said."""
    without = {unit.path for unit in found.unknown if unit.is_without}
    if union_by_name:
        return found._replace(unknown=[u for u in found.unknown if not u.is_without]), without
    told = (
        unit._replace(reason=or_null(unit.reason)) if unit.is_without else unit
        for unit in found.unknown
    )
    return found._replace(unknown=[*told]), set()


def _among(
    files: ListedFiles,
    column: str,
    units: Iterable[tuple[Unit, str]],
    candidates: set[str],
    storage_options: Mapping[str, str] | None,
) -> tuple[dict[str, str], list[IndexedFile], dict[str, str]]:
    """The states of the files, as far as an answer needs them; those that the index does not know in theirs, and
    names that mean none, or at which nobody may look; and why nobody could tell the state of others."""
    known, unread = set(), {}
    for unit, read_as in units:
        path = files.given(unit.path)
        if files.is_known(unit, column, read_as):
            known.add(path)
        elif unit.is_unread:
            unread[path] = unit.reason
    # Nobody was asked for them yet.
    to_see = [
        path for path, file in files.found.items() if file.version is None and path in candidates
    ]
    seen = states_seen(to_see, storage_options)
    current = {
        path: seen.versions.get(path) or file.version or "" for path, file in files.found.items()
    }
    others = [
        IndexedFile(path, "unknown", reason=unread.get(path, _STALE))
        for path in files.found
        if path not in known
    ]
    for error in files.errors:
        name = str(error.filename)
        reason = complaint_about(name, error).removeprefix(f"{name}: ")
        others.append(IndexedFile(name, "unknown", reason=reason))
    return current, others, seen.reasons


def _worded(files: Iterable[IndexedFile], word: Callable[[str], str]) -> list[IndexedFile]:
    return [
        file if file.reason is None else replace(file, reason=word(file.reason)) for file in files
    ]


def _paths(found: FoundValues) -> set[str]:
    """The files that an answer is about."""
    return {unit.path for unit in found.units}


def _stale(path: str) -> IndexedFile:
    return IndexedFile(path, "unknown", reason=_STALE)


class IndexAnswers:
    """Verdicts on values, by what was found in segments. `current`: the states of files that count; `others`: files
    of which nothing is known about any value; `gone`: those in whose place nobody has put another one; `unseen`: why
    nobody could tell the states of others.

    What is said of a value depends on no other: of a file that is gone, or in another state than it was, only the
    values are unknown that it held."""

    def __init__(
        self,
        found: FoundValues,
        kind: Places,
        current: Mapping[str, str],
        others: Iterable[IndexedFile],
        gone: Iterable[str],
        unseen: Mapping[str, str],
    ) -> None:
        self._kind, self._not_asked = kind, found.not_asked
        self._current, self.gone = current, frozenset(gone)
        # What they held, they may hold still.
        self._out_of_sight = {**dict.fromkeys(self.gone, GONE), **unseen}
        self._unknown = {file.path: file for file in others}
        for unit in self._counting(found.unknown):
            if unit.path not in self._unknown:
                self._unknown[unit.path] = self._not_known(unit, unit.reason)
        # By the path of each file: parts of which nothing is known, and why.
        self._parts: dict[str, dict[int, str]] = {}
        for unit in self._counting(found.unknown_parts):
            if self._changed(unit) == _STALE:
                self._unknown[unit.path] = _stale(unit.path)
            if unit.path not in self._unknown:
                reason = self._changed(unit) or unit.reason
                self._parts.setdefault(unit.path, {})[unit.row_group] = reason
        self._not_held = [
            (each.problems, units)
            for each in found.not_held
            if (units := [u for u in self._counting(each.units) if u.path not in self._unknown])
        ]
        # Of each segment: the units that may have values.
        self._hits: list[tuple[Hits, dict[int, Unit]]] = []
        for hits in found.hits:
            found_in = hits.distinct_units.items()
            counting = {number: unit for number, unit in found_in if unit.path in current}
            self._hits.append((hits, counting))

    def _counting(self, units: Iterable[Unit]) -> Iterator[Unit]:
        """Those of files that count."""
        return (unit for unit in units if unit.path in self._current)

    def _changed(self, unit: Unit) -> str | None:
        """Why what a file held says nothing of what is there now."""
        if unit.path in self._out_of_sight:
            return self._out_of_sight[unit.path]
        return None if unit.is_unread or self._current[unit.path] == unit.version else _STALE

    def _not_known(self, unit: Unit, reason: str) -> IndexedFile:
        return IndexedFile(unit.path, "unknown", reason=self._changed(unit) or reason)

    @cached_property
    def formats(self) -> dict[str, Format]:
        """Of the files that may have values, by their paths. Only Parquet files have slices, and so parts of which
        nothing is known."""
        return {
            unit.path: format
            for hits, units in self._hits
            for format in [format_of(hits.kind)]
            for unit in units.values()
        }

    def of(self, number: int, value: Any) -> IndexedValue:
        files = self._maybe(number)
        for problems, units in self._not_held:
            if number in problems:
                files.update({u.path: self._not_known(u, problems[number]) for u in units})
        files.update(self._unknown)
        verdict: Verdict = "absent"
        if files or self._parts:
            are_maybe = any(file.verdict == "maybe" for file in files.values())
            verdict = "maybe" if are_maybe else "unknown"
        for path, reasons in self._parts.items():
            known = files.get(path)
            # Of a whole file that is unknown, so is each part.
            if known is None or known.verdict == "maybe" or known.row_groups:
                files[path] = self._with_parts(known, path, reasons)
        return IndexedValue(value, verdict, tuple(sorted(files.values(), key=_candidates_first)))

    def _with_parts(
        self, maybe: IndexedFile | None, path: str, reasons: Mapping[int, str]
    ) -> IndexedFile:
        """A file that may hold it, or does not, but for parts of which nothing is known."""
        named = (f"row group {part}: {reason}" for part, reason in sorted(reasons.items()))
        parts: set[int] = set()
        if self._kind != "file":
            parts = {*reasons, *(maybe.row_groups if maybe else ())}
        is_maybe = maybe is not None and maybe.verdict == "maybe"
        verdict: Verdict = "maybe" if is_maybe else "unknown"
        return IndexedFile(path, verdict, tuple(sorted(parts)), reason="; ".join(named))

    def _maybe(self, value: int) -> dict[str, IndexedFile]:
        """Files that may hold it, or may have held it."""
        where: dict[str, _Where] = {}
        files: dict[str, IndexedFile] = {}
        for hits, units in self._hits:
            first, end = bisect_left(hits.values, value), bisect_right(hits.values, value)
            for at in range(first, end):
                unit = units.get(int(hits.units[at]))
                if unit is None:
                    continue
                if self._changed(unit) == _STALE:
                    files[unit.path] = _stale(unit.path)
                else:
                    where.setdefault(unit.path, _Where(self._kind)).add(unit, int(hits.places[at]))
        for path, places in where.items():
            found = places.as_file(path)
            if path in self._out_of_sight:
                found = replace(found, verdict="unknown", reason=self._out_of_sight[path])
            files[path] = found
        return files

    def counts(self, num_values: int) -> tuple[int, int, int]:
        """How many of so many values are absent in every file, maybe in one, or unknown."""
        absent = num_values - len(self._not_absent(num_values))
        maybe = len(self._maybe_somewhere(num_values))
        return absent, maybe, num_values - absent - maybe

    def by_themselves(self, num_values: int) -> list[int]:
        """As IndexedValues has them."""
        maybe = listed_numbers(self._maybe_somewhere(num_values))
        first = {*maybe}
        found = listed_numbers(self._with_files(num_values))
        return [*maybe, *(number for number in found if number not in first)]

    def _maybe_somewhere(self, num_values: int) -> Numbers:
        return self._found_in(num_values, self._is_candidate)

    def _is_candidate(self, unit: Unit) -> bool:
        """Whether a file may hold what was found of it, as far as the index knows."""
        return unit.path not in self._unknown and self._changed(unit) is None

    def absent(self, num_values: int) -> NDArray[np.bool_]:
        """Which of so many values are absent in every file."""
        absent = np.ones(num_values, np.bool_)
        absent[self._not_absent(num_values)] = False
        return absent

    def _not_absent(self, num_values: int) -> Numbers:
        """The numbers of the others."""
        if self._unknown or self._parts:
            return [*range(num_values)]
        return self._with_files(num_values)

    def _with_files(self, num_values: int) -> Numbers:
        """The numbers of those that some files may hold which may not hold any of them."""
        of_any = self._unknown.keys() | self._parts.keys()
        others = {
            at
            for problems, units in self._not_held
            if any(unit.path not in of_any for unit in units)
            for at in problems
        }
        found = self._found_in(
            num_values, lambda unit: unit.path not in of_any or self._is_candidate(unit)
        )
        return sorted(others.union(listed_numbers(found))) if others else found

    def _found_in(self, num_values: int, is_wanted: Callable[[Unit], bool]) -> Numbers:
        """The numbers of the values that were found in such units, ascending; of a few, without numpy."""
        of_each = [
            (hits, {number for number, unit in units.items() if is_wanted(unit)})
            for hits, units in self._hits
        ]
        if all(isinstance(hits.values, list) for hits, _ in of_each):
            found_few: set[int] = set()
            for hits, units in of_each:
                found_few.update(
                    value
                    for value, unit in zip(hits.values, hits.units, strict=True)
                    if unit in units
                )
            return sorted(found_few)
        found = np.zeros(num_values, np.bool_)
        for hits, units in of_each:
            found[np.asarray(hits.values, np.int64)[np.isin(hits.units, [*units])]] = True
        return np.flatnonzero(found)

    def askable(self, num_values: int) -> NDArray[np.bool_]:
        """Which of so many values can be looked up."""
        askable = np.ones(num_values, np.bool_)
        askable[[*self._not_asked]] = False
        return askable

    def changed(self, num_values: int) -> NDArray[np.bool_]:
        """Which of so many values were found in units of files that have changed, or are gone."""
        changed = np.zeros(num_values, np.bool_)
        changed[self._found_in(num_values, lambda unit: self._changed(unit) is not None)] = True
        return changed

    @property
    def files_unknown(self) -> list[IndexedFile]:
        parts = [self._with_parts(None, path, reasons) for path, reasons in self._parts.items()]
        return sorted([*self._unknown.values(), *parts], key=lambda file: file.path)

    @property
    def files_unknown_of_some(self) -> list[IndexedFile]:
        """As IndexedValues has them."""
        files: dict[str, IndexedFile] = {}
        for problems, units in self._not_held:
            reason = next(iter(problems.values()))
            files.update({unit.path: self._not_known(unit, reason) for unit in units})
        changed = ((unit, self._changed(unit)) for unit in self._units_found)
        files.update(
            {unit.path: self._not_known(unit, reason) for unit, reason in changed if reason}
        )
        of_any = self._unknown.keys() | self._parts.keys()
        return [files[path] for path in sorted(files.keys() - of_any)]

    @property
    def are_all_known(self) -> bool:
        """Whether every file is known that may hold a value, as it is now."""
        unknown = self._unknown or self._parts or self._not_held
        return not unknown and all(self._changed(unit) is None for unit in self._units_found)

    @property
    def _units_found(self) -> Iterator[Unit]:
        """Those in which a value was found."""
        return (unit for _, units in self._hits for unit in units.values())


def _candidates_first(file: IndexedFile) -> tuple[bool, str]:
    return file.verdict != "maybe", file.path


class _Where:
    """Where in a file a value may be."""

    def __init__(self, kind: Places) -> None:
        self._kind = kind
        self._parts: set[int] = set()
        self._pages: set[tuple[int, int]] = set()

    def add(self, unit: Unit, place: int) -> None:
        match self._kind:
            case "row-group":
                self._parts.add(unit.row_group + place)
            case "page":
                self._parts.add(unit.row_group)
                self._pages.add((unit.row_group, place))

    def as_file(self, path: str) -> IndexedFile:
        parts, pages = tuple(sorted(self._parts)), tuple(sorted(self._pages))
        return IndexedFile(path, "maybe", parts, pages)
