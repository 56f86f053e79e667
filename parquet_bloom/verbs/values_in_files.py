"""Which of many values may be in which of many files, by the filters of each file.

Most answers are `absent`, and only the others are kept, as columns in the order in which they came:

    values | 0 | 7 | 7 | 3 | …      a value may be
    files  | 0 | 0 | 0 | 1 | …      in this file,
    groups | 0 | 0 | 1 | 0 | …      in this group of it,
    reason | 0 | 0 | 2 | 0 | …      0: the filter says so; else why nobody knows

A group of which nothing is known about any value is kept once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import field
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar

from parquet_bloom.arguments import files_given
from parquet_bloom.container import AS_TEXT, IN_PYTHON, WHERE_KNOWN, number_of
from parquet_bloom.dataclass import dataclass
from parquet_bloom.filters.rates import at_least_once, never_false
from parquet_bloom.native.lazy import Array, NDArray, np
from parquet_bloom.options import ProbeOptions
from parquet_bloom.parallel import check_fits, read_once
from parquet_bloom.storage.traffic import Requests, in_all
from parquet_bloom.verbs.documents import VerbReport
from parquet_bloom.verbs.held_values import probe_held
from parquet_bloom.verbs.probe import kept_values
from parquet_bloom.verbs.several import each_read, message_of
from parquet_bloom.verbs.value_answers import ValueAnswers
from parquet_bloom.vocabulary import NULL_BY_NAME

if TYPE_CHECKING:
    from parquet_bloom.arguments import SomeNumbers
    from parquet_bloom.container import Answer, GroupAnswers
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.options import TableView
    from parquet_bloom.storage.cache import Cache
    from parquet_bloom.verbs.held_values import HeldAnswers
    from parquet_bloom.verbs.probe import ProbeReport
    from parquet_bloom.vocabulary import Dialect, Format, TableChoice, Verdict

# Of what is kept for one answer.
_BYTES_KEPT = 24


@dataclass(frozen=True, slots=True)
class ValueInFile:
    """A file that may hold a value, in these `row_groups`, which are the stripes of an ORC file. `reason`: why a
    verdict is `unknown`."""

    path: str
    verdict: Verdict
    row_groups: tuple[int, ...]
    rows_to_read: int
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ValueInFiles:
    """The verdict on a `value`, as Python has it: `absent` only if it is absent in every file. `files`: those whose
    filters do not exclude it; files that are unknown for all values are in the report."""

    value: Any = field(metadata=AS_TEXT)
    verdict: Verdict
    files: tuple[ValueInFile, ...]


@dataclass(frozen=True, slots=True)
class NotAsked:
    """A file that may hold any of the values, or row groups of it, and why nobody could tell."""

    path: str
    reason: str


class ValuesInFiles(ValueAnswers[ValueInFiles]):
    """The verdicts on all values."""

    def __init__(self, values: Sequence[Any] | Array, hits: _Hits, are_unknown: bool) -> None:
        super().__init__(values)
        self._hits, self._are_unknown = hits, are_unknown

    @property
    def absent(self) -> NDArray[np.bool_]:
        """Which values are absent in every file. Shape (n,), dtype bool."""
        return ~self.hit & (not self._are_unknown)

    @property
    def hit(self) -> NDArray[np.bool_]:
        """Which values have `files`. Shape (n,), dtype bool."""
        return self._hits.hit(len(self))

    @property
    def maybe(self) -> NDArray[np.bool_]:
        """Which values may be in a file, as its filter says. Shape (n,), dtype bool."""
        return self._hits.hit(len(self), by_filter=True)

    def _of(self, number: int, value: Any) -> ValueInFiles:
        files = self._hits.files_of(number)
        verdict: Verdict = "unknown" if files or self._are_unknown else "absent"
        if any(each.verdict == "maybe" for each in files):
            verdict = "maybe"
        return ValueInFiles(value, verdict, files)


@dataclass(frozen=True, slots=True, repr=False)
class ValuesReport(VerbReport):
    """What the filters of `num_files` files say about values of a column, value by value: how many are `absent` in
    every file, `maybe` in one, or `unknown`. `files_unknown` may hold any of them: in tables, each has a row without
    a value.

    The filters also say `maybe` of values that are in no file, and more often the more row groups there are: of such
    a value in `false_groups` of `num_filters` on average, and somewhere with a probability of at least `worst_fpp`,
    that of the filter that says so most often, as in copies of one file, and of about `false_maybe` at most, as where
    no two files have a value in common. All three are computed from the bits of all filters; None if these were not
    read whole, as for few values.
    `files_without_column`: how many have null there, as the files are united by name. `requests`: sent to object
    stores, None if none of the files is in one. `formats`: those of the files that were asked.
    """

    _rows: ClassVar = ("results", "files")
    _item: ClassVar = ValueInFiles

    column: str
    num_files: int
    num_groups: int
    num_filters: int
    absent: int
    maybe: int
    unknown: int
    false_groups: float | None
    false_maybe: float | None
    worst_fpp: float | None
    results: ValuesInFiles
    files_unknown: tuple[NotAsked, ...]
    bytes_read: int
    files_without_column: int = 0
    requests: Requests | None = field(default=None, metadata=WHERE_KNOWN)
    formats: tuple[Format, ...] = field(default=(), metadata=IN_PYTHON)

    def __repr__(self) -> str:
        found = f"{self.absent:,} absent, {self.maybe:,} maybe, {self.unknown:,} unknown"
        doubt = f"; {self._doubt}" if self.files_unknown else ""
        return (
            f"<ValuesReport {self.column} in {number_of(self.num_files, 'file')}: {found}{doubt}>"
        )

    @property
    def _doubt(self) -> str:
        """Why values are unknown."""
        first, paths = self.files_unknown[0], {file.path for file in self.files_unknown}
        such_as = f", such as {first.path}" if len(paths) > 1 else f": {first.path}"
        return f"{number_of(len(paths), 'file')} unknown{such_as}: {first.reason}"

    def _items(self) -> Iterator[dict[str, Any]]:
        for row in VerbReport._items(self):
            # No file may hold this value alone: those that are unknown may hold any.
            is_in_doubt = row["verdict"] == "unknown" and "path" not in row
            yield row | {"reason": self._doubt} if is_in_doubt else row
        # A row for each value would be as many as all answers together.
        for file in self.files_unknown:
            yield {"verdict": "unknown", "path": file.path, "reason": file.reason}

    @property
    def is_absent(self) -> bool:
        """Whether no value can be in any file."""
        return self.absent == len(self.results)

    @property
    def maybe_by_chance(self) -> tuple[float, float] | None:
        """How many of those that are `maybe` are likely in no file, by how many of such values were absent: at
        least, if all filters say `maybe` of the same ones, and at most. None if none was absent, or nobody knows the
        chance."""
        if self.worst_fpp is None or self.false_maybe is None or not self.absent:
            return None
        # Rounded, one may be 1.0, and the least be more than the most.
        least, most = sorted(self._by_chance(each) for each in (self.worst_fpp, self.false_maybe))
        return least, most

    def _by_chance(self, chance: float) -> float:
        """The same, if a value that is in no file is `maybe` with this chance."""
        return self.maybe if chance == 1.0 else min(self.maybe, self.absent * chance / (1 - chance))


def probe_values(
    files: Any,
    column: str,
    values: Any,
    *,
    table: TableChoice | TableView | None = None,
    row_groups: SomeNumbers | None = None,
    dialect: Dialect | None = None,
    seed: int | None = None,
    keys: Keys | None = None,
    storage_options: Mapping[str, str] | None = None,
    cache: Cache | None = None,
    union_by_name: bool = False,
    threads: int | None = None,
) -> ValuesReport:
    """Which of `files` may hold each of `values` of `column`: all files are asked, and the report is value by value.

    files: paths, URLs, globs and folders, one or several. A file that cannot be asked may hold any value, and is in
    `files_unknown` of the report. values: each has a result, in this order; one that is given twice has two, and
    counts twice; one that the column of a file cannot hold is `unknown` there. All others as for probe.

    Raises FileNotFoundError for a name that means nothing, ColumnError if a table lacks the column, and what the
    first file raises if none can be asked.
    """
    options = ProbeOptions.of(locals(), values=kept_values(values))
    gathered = GatheredValues(column, options.values)

    def take(path: str, found: HeldAnswers | Exception) -> None:
        if isinstance(found, Exception):
            gathered.add_failed(path, message_of(path, found))
        else:
            gathered.add(found.report)

    each_read(
        files_given("files", files), options, probe_held, take, table=table, keys=keys,
        storage_options=storage_options, cache=cache,
    )  # fmt: skip
    return gathered.report()


class GatheredValues:
    """Takes what each file answers about `values` of `column`."""

    def __init__(self, column: str, values: Sequence[Any] | Array) -> None:
        self._column, self._values = column, values
        self._hits = _Hits()
        self._unknown: dict[NotAsked, None] = {}
        self._num_files = self._num_groups = self._num_filters = self._bytes_read = 0
        self._files_without = 0
        self._requests: Requests | None = None
        self._formats: set[Format] = set()
        # Of the filters of all groups: the sum of their rates, and of the logarithms of what they leave.
        self._false_groups, self._never_false, self._are_rates_known = 0.0, 0.0, True
        self._worst_fpp = 0.0

    def add(self, report: ProbeReport) -> None:
        """Raises UnsupportedError if there are more answers than the memory budget has room for."""
        groups = report.results.groups
        self._num_files += 1
        self._formats.add(report.format)
        self._num_groups += len(groups)
        self._bytes_read += report.bytes_read
        self._files_without += report.caveat == NULL_BY_NAME
        self._requests = in_all([self._requests, report.requests])
        if not len(self._values):
            return
        file = self._hits.add_file(report.path, [group.distinct[0] for group in groups])
        for number, group in enumerate(groups):
            given = group.given
            if given and all(each.verdict != "absent" and each.reason for each in given):
                # Why values are doubted comes after why the filter is.
                self._unknown[NotAsked(report.path, given[0].reason or "")] = None
                continue
            self._hits.add(file, number, group)
            self._num_filters += group.distinct[0].num_rows > 0
            if group.fpp is None:
                # One without rows has no filter, and is of no value.
                self._are_rates_known &= group.distinct[0].num_rows == 0
            else:
                self._false_groups += group.fpp
                self._never_false += never_false(group.fpp)
                self._worst_fpp = max(self._worst_fpp, group.fpp)

    def add_failed(self, path: str, message: str) -> None:
        """A file that could not be asked."""
        self._num_files += 1
        self._unknown[NotAsked(path, message.removeprefix(f"{path}: "))] = None

    def report(self) -> ValuesReport:
        results = ValuesInFiles(copy(self._values), self._hits, bool(self._unknown))
        absent, maybe = int(results.absent.sum()), int(results.maybe.sum())
        are_known = self._are_rates_known and self._num_groups > 0
        return ValuesReport(
            column=self._column,
            num_files=self._num_files,
            num_groups=self._num_groups,
            num_filters=self._num_filters,
            absent=absent,
            maybe=maybe,
            unknown=len(results) - absent - maybe,
            false_groups=self._false_groups if are_known else None,
            false_maybe=at_least_once(self._never_false) if are_known else None,
            worst_fpp=self._worst_fpp if are_known else None,
            results=results,
            files_unknown=tuple(self._unknown),
            bytes_read=self._bytes_read,
            files_without_column=self._files_without,
            requests=self._requests,
            formats=tuple(sorted(self._formats)),
        )


class _Hits:
    """The answers that are not `absent`, see above."""

    def __init__(self) -> None:
        self._paths: list[str] = []
        self._groups: list[Sequence[Answer]] = []
        self._reasons: dict[str | None, int] = {None: 0}
        self._parts: list[tuple[NDArray[np.integer], ...]] = []
        self._num_kept = 0

    def add_file(self, path: str, groups: Sequence[Answer]) -> int:
        """`groups`: an answer of each, for its place and rows. Returns the number of the file."""
        self._paths.append(path)
        self._groups.append(groups)
        return len(self._paths) - 1

    def add(self, file: int, number: int, group: GroupAnswers) -> None:
        numbers = [
            -1 if each.verdict == "absent" else self._reasons.setdefault(each.reason, len(self._reasons))
            for each in group.distinct
        ]  # fmt: skip
        reasons = np.array(numbers, np.int32)[np.asarray(group.picks, np.intp)]
        (values,) = np.nonzero(reasons >= 0)
        self._num_kept += len(values)
        check_fits(f"{number_of(self._num_kept, 'answer')} take", self._num_kept * _BYTES_KEPT)
        filled = (np.full(len(values), each, np.int32) for each in (file, number))
        self._parts.append((values.astype(np.int32), *filled, reasons[values]))

    @read_once
    def _sorted(self) -> tuple[NDArray[np.integer], ...]:
        """The columns, by value, and of each value in the order in which they came."""
        nothing = (np.empty(0, np.int32),) * 4
        columns = tuple(map(np.concatenate, zip(nothing, *self._parts, strict=True)))
        order = np.argsort(columns[0], kind="stable")
        return tuple(column[order] for column in columns)

    def hit(self, num_values: int, *, by_filter: bool = False) -> NDArray[np.bool_]:
        """Which of so many values any file may hold; `by_filter`: as its filter says."""
        hit = np.zeros(num_values, np.bool_)
        values, _, _, reasons = self._sorted
        hit[values[reasons == 0] if by_filter else values] = True
        return hit

    def files_of(self, value: int) -> tuple[ValueInFile, ...]:
        columns = self._sorted
        first, end = np.searchsorted(columns[0], [value, value + 1])
        found = zip(*(column[first:end].tolist() for column in columns[1:]), strict=True)
        return tuple(self._file(*each) for each in groupby(found, lambda hit: hit[0]))

    def _file(self, file: int, hits: Iterable[tuple[int, int, int]]) -> ValueInFile:
        groups, reasons = self._groups[file], [*self._reasons]
        found = [(groups[group], reasons[reason]) for _, group, reason in hits]
        return ValueInFile(
            path=self._paths[file],
            verdict="maybe" if any(reason is None for _, reason in found) else "unknown",
            row_groups=tuple(dict.fromkeys(answer.place.part for answer, _ in found)),
            rows_to_read=sum(answer.num_rows for answer, _ in found),
            reason=next((reason for _, reason in found if reason is not None), None),
        )
