"""What is left to read of files: by an index, where it decides, else by their statistics and filters.

file | in the index, in this state?  -> its row groups, and the file stays closed
     | else                          -> opened, asked condition by condition
     | one of many, of which a few samples excluded little -> whole, and stays closed
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import unquote

from parquet_bloom.container import number_of
from parquet_bloom.container.conditions import Condition, In
from parquet_bloom.container.protocols import Container
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import ColumnError, ValueTypeError
from parquet_bloom.reads.indexed import Indexed
from parquet_bloom.reads.predicates import (
    ANYTHING,
    And,
    Anything,
    NotIn,
    Or,
    Predicate,
    conditions_in,
    in_utc,
    unlike,
    without,
)
from parquet_bloom.storage.source import is_url

Open: TypeAlias = Callable[[str], AbstractContextManager[Container]]

# So many files, spread over all, tell whether it is worth asking the others.
_SAMPLES: Final = 16
# If more than this share of their row groups is left, to ask costs more than it spares.
MOST_LEFT: Final = 0.875

# Files behind URLs are opened so many at a time.
_AT_ONCE: Final = 16

# What a file is excluded by that lacks a column, where its table reads null.
MISSING_COLUMN: Final = "missing column"

# Why files are left as a whole without asking them; another reason is _few_spared.
_NOTHING_TO_ASK: Final = "the conditions say nothing that files can answer"
_BY_INDEX: Final = "the index has told"
_BY_PARTITIONS: Final = "partitions have told"


class Group(NamedTuple):
    """A row group, and its rows: how many, and how many are before it in the file."""

    number: int
    num_rows: int
    first_row: int


class Chances(NamedTuple):
    """Of a condition: how likely the filters of row groups are to leave them by chance, and those of the row groups
    that have none, see PartsLeft."""

    condition: In
    by_chance: Sequence[float]
    without_filter: Sequence[int]

    def among(self, left: Collection[int]) -> Chances:
        """The same, if only these row groups are left by others."""
        kept = [number for number in self.without_filter if number in left]
        return self._replace(without_filter=kept)


class Left(NamedTuple):
    """What is left of a file: row groups `numbers`, None for all; `groups`: the same with their rows, and
    `num_groups`, how many the file has; None if it was not opened. `by_statistics` and `by_filters`: those of them
    that were asked and are not left, for whom filters were not needed, or were. `chances`: what is known of these
    filters. `is_without`: nothing is left as the file lacks a column, and its table reads null there.
    `why_not_asked`: of a file that was to be read as a whole without asking it."""

    path: str
    numbers: tuple[int, ...] | None
    groups: tuple[Group, ...] | None = None
    num_groups: int | None = None
    by_statistics: tuple[int, ...] = ()
    by_filters: tuple[int, ...] = ()
    chances: tuple[Chances, ...] = ()
    is_without: bool = False
    why_not_asked: str = ""

    def among(self, numbers: tuple[int, ...] | None) -> Left:
        """Of a file with groups, only these."""
        if numbers is None:
            return self
        groups = tuple(group for group in self.groups or () if group.number in numbers)
        return self._replace(numbers=numbers, groups=groups)

    @property
    def by_index(self) -> tuple[int, ...]:
        """The row groups that an index excludes, of a file with groups."""
        others = {group.number for group in self.groups or ()}
        others.update(self.by_statistics, self.by_filters)
        return tuple(number for number in range(self.num_groups or 0) if number not in others)

    def not_left(self, num_groups: int) -> dict[str, tuple[int, ...]]:
        """The row groups of an opened file of so many that are excluded, by what."""
        if self.is_without:
            return {MISSING_COLUMN: tuple(range(num_groups))}
        return {
            "index": self.by_index,
            "statistics": self.by_statistics,
            "filters": self.by_filters,
        }

    @property
    def is_nothing(self) -> bool:
        return self.numbers == ()

    @property
    def counted_among(self) -> str:
        """Those that are excluded by the same, of a file of which nothing is left."""
        if self.groups is None:
            return "files_by_index"
        if self.is_without:
            return "files_without_column"
        return "files_by_filters" if self.by_filters else "files_by_statistics"


@dataclass(frozen=True, slots=True)
class LeftByChance:
    """Of `row_groups_asked` row groups whose filters were asked about `num_values` values of a `column`, how many
    these would leave by chance if none held any of the values, `false_row_groups` on average:
    computed from bits of theirs."""

    column: str
    num_values: int
    row_groups_asked: int
    false_row_groups: float


@dataclass(frozen=True, slots=True)
class WithoutFilter:
    """How many `row_groups` are left of so many `files` that have no filter of a `column` which could be asked: not
    those with a single value in it, as statistics tell."""

    column: str
    files: int
    row_groups: int


class Excluded(NamedTuple):
    """What is not left: of `num_files`, how many by what, and how many were left without asking them, and why; of
    files that were asked, how many row groups, and by an index those of files that it leaves. By statistics: without
    filters. Without a column: files of tables that read null there; nobody counts their row groups. `by_chance`: of
    each condition that filters were asked about. `without_filter`: of each column whose filters would have been
    asked, and were not there. `undecided`: the columns that exclude nothing, whatever partitions and files say.
    `without_zone`: columns in UTC that are compared with moments without a zone."""

    num_files: int = 0
    files_by_partitions: int = 0
    files_by_index: int = 0
    files_by_statistics: int = 0
    files_by_filters: int = 0
    files_without_column: int = 0
    files_not_asked: int = 0
    why_not_asked: tuple[str, ...] = ()
    row_groups_by_index: int = 0
    row_groups_by_statistics: int = 0
    row_groups_by_filters: int = 0
    by_chance: tuple[LeftByChance, ...] = ()
    without_filter: tuple[WithoutFilter, ...] = ()
    undecided: tuple[str, ...] = ()
    without_zone: tuple[str, ...] = ()

    @classmethod
    def of(cls, found: Iterable[Left]) -> Excluded:
        """From what is left of each file, nothing included."""
        counts: Counter[str] = Counter()
        chances: dict[int, list[Chances]] = {}
        without: dict[str, tuple[int, int]] = {}
        why_not_asked: dict[str, None] = {}
        for each in found:
            for of_condition in each.chances:
                chances.setdefault(id(of_condition.condition), []).append(of_condition)
            for column, parts in _lacking(each.chances).items():
                files, groups = without.get(column, (0, 0))
                without[column] = files + 1, groups + len(parts)
            counts["row_groups_by_statistics"] += len(each.by_statistics)
            counts["row_groups_by_filters"] += len(each.by_filters)
            if each.is_nothing:
                counts[each.counted_among] += 1
            elif each.why_not_asked:
                counts["files_not_asked"] += 1
                why_not_asked[each.why_not_asked] = None
        return cls(
            **counts,
            why_not_asked=tuple(why_not_asked),
            by_chance=tuple(filter(None, map(_summed, chances.values()))),
            without_filter=tuple(WithoutFilter(name, *of) for name, of in without.items()),
            undecided=(),
            without_zone=(),
        )


def _summed(chances: Sequence[Chances]) -> LeftByChance | None:
    """Of one condition; None where no filter was asked."""
    condition, each = chances[0].condition, [one for some in chances for one in some.by_chance]
    if not each:
        return None
    return LeftByChance(condition.column, len(condition.values), len(each), sum(each))


def _lacking(chances: Iterable[Chances]) -> Mapping[str, Collection[int]]:
    """Of a file, by column: the row groups without a filter, whichever condition they are left by."""
    found: dict[str, set[int]] = {}
    for each in chances:
        if each.without_filter:
            found.setdefault(each.condition.column, set()).update(each.without_filter)
    return found


class Pruned(NamedTuple):
    """What is left of files, those of which nothing is left though partitions do not exclude them, and the counts."""

    left: Sequence[Left]
    not_left: Sequence[Left]
    excluded: Excluded


class _Among(NamedTuple):
    """Of row groups, those that statistics leave, whichever condition they are about, those of them that are `left`,
    and what is known of the filters that were asked. `is_without`: some are not left as the file lacks a column, and
    its table reads null there."""

    within: Sequence[int]
    left: Sequence[int]
    chances: tuple[Chances, ...] = ()
    is_without: bool = False


class Pruner:
    """Asks files about predicates."""

    def __init__(
        self,
        predicate_of: Callable[[str], Predicate],
        open: Open,
        index: Indexed | None = None,
        most_left: float = MOST_LEFT,
        known: Callable[[], Iterable[str]] = tuple,
        told: Collection[str] = (),
    ) -> None:
        """`predicate_of`: what a file is asked, by its path. `most_left`: of row groups, so that it is worth asking
        more files. `known`: columns that are there, whether or not the files that are asked have them; nobody looks
        unless these lack some. `told`: files whose rows all match, as their partitions say."""
        self._predicate_of, self._open, self._index = predicate_of, open, index
        self._most_left = most_left
        self._missing: dict[str, ColumnError] = {}
        self._known, self._told = known, told
        self._present = {*(() if index is None else index.columns)}
        # Columns with values of another kind, and those that have them in some file.
        self._unlike: dict[str, ValueTypeError] = {}
        self._alike: set[str] = set()
        # Columns about which files could be asked, and could not, as of values of another type.
        self._decidable: set[str] = set()
        self._undecidable: set[str] = set()
        # Those of the latter that could be asked, if moments without a zone were in UTC.
        self.without_zone: set[str] = set()
        # Row groups of files that have the columns.
        self._asked = self._kept = 0
        self.excluded = Excluded()
        self.not_left: Sequence[Left] = ()

    def left(self, paths: Sequence[str]) -> list[Left]:
        """What is left of each file, without those of which nothing is. Raises FormatError, UnsupportedError,
        EncryptionError, OSError for files that cannot be read, ColumnError for a column that none of them has,
        ValueTypeError for one of another kind than its value in all of them."""
        known: dict[str, Left] = {}
        wanted: dict[str, Predicate] = {}
        for path in paths:
            if path in self._told:
                known[path] = Left(path, None, why_not_asked=_BY_PARTITIONS)
                continue
            predicate = self._predicate_of(path)
            numbers, is_decided = _by_index(self._index, predicate, path)
            if is_decided:
                why = _NOTHING_TO_ASK if isinstance(predicate, Anything) else _BY_INDEX
                known[path] = Left(path, numbers, why_not_asked=why if numbers is None else "")
            elif numbers is None:
                wanted[path] = predicate
            else:
                known[path] = self._of_file(path, predicate, numbers)
        known |= self._of_asked(wanted)
        self.excluded = Excluded.of(known.values())
        found = [known[path] for path in paths]
        self.not_left = [each for each in found if each.is_nothing]
        return [each for each in found if not each.is_nothing]

    def is_excluded(self, path: str) -> bool:
        """Whether the index says that nothing is left of a file; nobody opens it."""
        numbers, _ = _by_index(self._index, self._predicate_of(path), path)
        return numbers == ()

    def with_groups(self, left: Sequence[Left], of_whole: bool) -> list[Left]:
        """The same with the rows of all row groups; `of_whole`: also of files that are left as a whole. Raises as
        left."""
        lacking = [
            each for each in left if each.groups is None and (of_whole or each.numbers is not None)
        ]
        found = {each.path: each for each in self._each([each.path for each in lacking], {})}
        return [
            found[each.path].among(each.numbers) if each.path in found else each for each in left
        ]

    def _of_asked(self, wanted: Mapping[str, Predicate]) -> dict[str, Left]:
        """Of files that have to be asked; some of them first."""
        paths = list(wanted)
        is_many = len(paths) > 2 * _SAMPLES
        samples = [paths[n * len(paths) // _SAMPLES] for n in range(_SAMPLES)] if is_many else paths
        known = {left.path: left for left in self._each(samples, wanted)}
        rest = [path for path in paths if path not in known]
        is_much_left = self._asked and self._kept > self._most_left * self._asked
        if rest and is_much_left and not self._mistaken:
            return known | {path: Left(path, None, why_not_asked=self._few_spared) for path in rest}
        known |= {left.path: left for left in self._each(rest, wanted)}
        if lacking := self._missing.keys() - self._present:
            for column in lacking - {*self._known()}:
                raise self._missing[column]
        for column in self._mistaken:
            raise self._unlike[column]
        return known

    @property
    def undecidable(self) -> set[str]:
        """The columns about which no file could be asked."""
        return self._undecidable - self._decidable

    @property
    def _few_spared(self) -> str:
        return f"of the files asked first, {self._kept:,} of {number_of(self._asked, 'row group')} are left"

    @property
    def _mistaken(self) -> list[str]:
        """Columns that have values of another kind in all files that have been asked."""
        return [column for column in self._unlike if column not in self._alike]

    def _each(self, paths: Sequence[str], wanted: Mapping[str, Predicate]) -> Iterable[Left]:
        if len(paths) < 2 or not any(map(is_url, paths)):
            return [self._of_file(path, wanted.get(path, ANYTHING)) for path in paths]
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(_AT_ONCE, "pbloom-prune") as pool:
            predicates = [wanted.get(path, ANYTHING) for path in paths]
            return list(pool.map(self._of_file, paths, predicates))

    def _of_file(
        self, path: str, predicate: Predicate, among: tuple[int, ...] | None = None
    ) -> Left:
        """By asking it; `among`: about these row groups."""
        with self._open(path) as file:
            return self._of_open_file(file, path, predicate, among)

    def _of_open_file(
        self, file: Container, path: str, predicate: Predicate, among: tuple[int, ...] | None
    ) -> Left:
        file.check_answers(None, None)
        parts = range(file.num_parts)
        wanted = parts if among is None else [part for part in among if part in parts]
        found = self._among(file, predicate, wanted)
        numbers, taken, within = tuple(found.left), {*found.left}, {*found.within}
        by_statistics = tuple(each for each in wanted if each not in within)
        by_filters = tuple(each for each in found.within if each not in taken)
        of_asked = (len(parts), by_statistics, by_filters, found.chances)
        there = {each.column for each in conditions_in(predicate)} & {*file.columns}
        # Of a file that one condition excludes, no filters of other columns are asked.
        self._present |= there
        if there:
            self._asked += len(wanted)
            self._kept += len(numbers)
        if not numbers and found.is_without:
            return Left(path, (), (), is_without=True)
        if not numbers:
            return Left(path, (), (), *of_asked)
        groups, first = [], 0
        for part, num_rows in enumerate(file.part_rows):
            if part in taken:
                groups.append(Group(part, num_rows, first))
            first += num_rows
        is_whole = len(numbers) == len(parts) and among is None
        numbers_of = None if is_whole else numbers
        return Left(path, numbers_of, tuple(groups), *of_asked)

    def _among(
        self, file: Container, predicate: Predicate, parts: Sequence[int], by_filters: bool = True
    ) -> _Among:
        """Those of the row groups that may have rows which match, by statistics and, if wanted, `by_filters`."""
        match predicate:
            case And():
                return self._among_all(file, predicate.parts, parts, by_filters)
            case Or():
                found = [self._among(file, part, parts, by_filters) for part in predicate.parts]
                return _Among(
                    sorted({number for each in found for number in each.within}),
                    sorted({number for each in found for number in each.left}),
                    tuple(one for each in found for one in each.chances),
                    any(each.is_without for each in found),
                )
            case Anything() | NotIn():
                return _Among(parts, parts)
        return self._among_of_one(file, predicate, parts, by_filters)

    def _among_all(
        self, file: Container, every: Sequence[Predicate], parts: Sequence[int], by_filters: bool
    ) -> _Among:
        """Those that all of these leave. What the statistics of any exclude, filters are not asked about, so that it
        does not depend on the order of conditions which of them excludes a row group."""
        within, is_without = parts, False
        for predicate in every:
            found = self._among(file, predicate, within, by_filters=False)
            within, is_without = found.within, is_without or found.is_without
        left = within
        chances: tuple[Chances, ...] = ()
        for predicate in every if by_filters else ():
            if left:
                found = self._among(file, predicate, left)
                left, chances = found.left, chances + found.chances
        kept = {*left}
        return _Among(within, left, tuple(each.among(kept) for each in chances), is_without)

    def _among_of_one(
        self, file: Container, condition: Condition, parts: Sequence[int], by_filters: bool
    ) -> _Among:
        column = condition.column
        told = file.answer_to_all(column)
        if told is not None and told.verdict == "absent":
            self._present.add(column)
            return _Among((), (), is_without=True)
        is_of_none = isinstance(condition, In) and not len(condition.values)
        try:
            found = file.parts_left(condition, () if is_of_none else parts, by_filters)
        except ColumnError as error:
            # Engines read null, or complain themselves.
            self._missing.setdefault(column, error)
            return _Among(parts, parts)
        self._present.add(column)
        is_decidable = found.is_decidable or is_of_none
        (self._decidable if is_decidable else self._undecidable).add(column)
        if not is_decidable and column not in self.without_zone:
            zoned = in_utc(condition)
            if zoned is not None and file.parts_left(zoned, ()).is_decidable:
                self.without_zone.add(column)
        self._compare_kinds(file, condition)
        if is_of_none:
            return _Among((), ())
        chances: tuple[Chances, ...] = ()
        if (found.by_chance or found.without_filter) and isinstance(condition, In):
            chances = (Chances(condition, found.by_chance, found.without_filter),)
        return _Among(found.within, found.left, chances)

    def _compare_kinds(self, file: Container, condition: Condition) -> None:
        column = file.column(condition.column)
        # A field of a VARIANT may have values of any type.
        problem = None if file.caveat(column) else unlike(condition, column)
        if problem is None:
            self._alike.add(condition.column)
        else:
            error = ValueTypeError(f"{file.path}: filters: column {condition.column}: {problem}")
            self._unlike.setdefault(condition.column, error)


def besides_folders(predicate: Predicate, path: str) -> Predicate:
    """What a file is asked: values of partitions are in the names of its folders, whatever it says."""
    if "=" not in path and "%3" not in path:
        return predicate
    # Of a URL, what Hive has escaped is escaped once more.
    folders = [each.partition("=") for each in (*path.split("/"), *unquote(path).split("/"))]
    return without(predicate, {unquote(name) for name, mark, _ in folders if mark})


def _by_index(
    index: Indexed | None, predicate: Predicate, path: str
) -> tuple[tuple[int, ...] | None, bool]:
    """The row groups that an index leaves, None for all; and whether to ask the file could exclude more."""
    if isinstance(predicate, Anything | NotIn):
        return None, True
    if index is None:
        return None, False
    match predicate:
        case And():
            both = [_by_index(index, part, path) for part in predicate.parts]
            some = [set(numbers) for numbers, _ in both if numbers is not None]
            numbers = tuple(sorted(set.intersection(*some))) if some else None
            return numbers, numbers == () or all(is_decided for _, is_decided in both)
        case Or():
            each = [_by_index(index, part, path) for part in predicate.parts]
            is_decided = all(decided for _, decided in each)
            if any(numbers is None for numbers, _ in each):
                return None, is_decided
            return tuple(sorted({n for numbers, _ in each for n in numbers or ()})), is_decided
    return index.left(predicate, path)
