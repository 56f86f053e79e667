"""What is known of a column: distinct values, filters, min/max ranges, and sampled values.

It is gathered group by group, a group being what readers skip: a row group of Parquet, an index
group of ORC. How groups are read is up to the format's Surveyor. Memory is bounded by the limits of
`ndv` and `samples`, not by the number of values; each group adds some 300 bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from typing import Any, Protocol

from parquet_bloom.advice import ndv
from parquet_bloom.advice.engines import EngineUse
from parquet_bloom.advice.lookups import ExpectedReads, expected_reads
from parquet_bloom.advice.ndv import DistinctHashes
from parquet_bloom.advice.ranges import Bounds, KeyOf, Ranges
from parquet_bloom.advice.samples import GivenValue, Sample, SampledChunk
from parquet_bloom.advice.settings import WriterSettings
from parquet_bloom.container.protocols import Column, Container
from parquet_bloom.errors import UnsupportedError
from parquet_bloom.parallel import Progress, work_in_order


class Surveyed(Protocol):
    """What was found in one group of a column.

    `num_values`: with nulls in Parquet, without them in ORC; `ndv`: distinct values;
    `filter_bytes` and `fpp` are those of the filter that `build` would write, 0 and 1 if it would
    write none; `only_dictionary`: all values are in a dictionary page, None in a format without
    such pages; `bounds`: from the min/max statistics.
    """

    @property
    def num_values(self) -> int: ...
    @property
    def ndv(self) -> int: ...
    @property
    def ndv_is_exact(self) -> bool: ...
    @property
    def only_dictionary(self) -> bool | None: ...
    @property
    def filter_bytes(self) -> int: ...
    @property
    def fpp(self) -> float: ...
    @property
    def distinct(self) -> DistinctHashes: ...
    @property
    def sample(self) -> SampledChunk: ...
    @property
    def bounds(self) -> Bounds | None: ...


@dataclass(slots=True)
class ColumnCounts:
    """A column of one file, or of several together.

    Of all chunks: `num_values`, `chunk_bytes` as stored, `already` (groups with a filter),
    `dictionary_bytes` (the most that a dictionary of all values of one chunk can take). Of the
    `groups` with a non-null value: `filters` and `filter_bytes` that `build` would write,
    `largest_filter`, `group_ndv` (the most distinct values in one group), and `only_dictionary`.
    """

    num_values: int = 0
    chunk_bytes: int = 0
    already: int = 0
    dictionary_bytes: int = 0
    groups: int = 0
    filters: int = 0
    filter_bytes: int = 0
    largest_filter: int = 0
    group_ndv: int = 0
    only_dictionary: bool | None = True

    def add(self, found: Surveyed, ndv: int) -> None:
        """Count a group with `ndv` distinct values, at least one."""
        self.groups += 1
        self.filters += found.filter_bytes > 0
        self.filter_bytes += found.filter_bytes
        self.largest_filter = max(self.largest_filter, found.filter_bytes)
        self.group_ndv = max(self.group_ndv, ndv)
        self.only_dictionary = found.only_dictionary and self.only_dictionary

    def merge(self, other: ColumnCounts) -> None:
        """Count the column of another file."""
        self.num_values += other.num_values
        self.chunk_bytes += other.chunk_bytes
        self.already += other.already
        self.dictionary_bytes = max(self.dictionary_bytes, other.dictionary_bytes)
        self.groups += other.groups
        self.filters += other.filters
        self.filter_bytes += other.filter_bytes
        self.largest_filter = max(self.largest_filter, other.largest_filter)
        self.group_ndv = max(self.group_ndv, other.group_ndv)
        self.only_dictionary = other.only_dictionary and self.only_dictionary


@dataclass(frozen=True, slots=True)
class Distinct:
    """How many distinct non-null values there are; `error`: relative standard error, None if the
    number is exact."""

    ndv: int
    error: float | None


class ColumnSurvey:
    """What is known of a column of one file, or of several files that fill one sample."""

    def __init__(self, sample: Sample, limit: int = ndv.LIMIT) -> None:
        """`limit`: how many hashes are kept, see DistinctHashes."""
        self.counts = ColumnCounts()
        self.sample = sample
        self._distinct = DistinctHashes(limit)
        self._sole_dictionary: Distinct | None = None
        self._bounds: list[Bounds | None] = []
        self._fpps: list[float] = []

    def add(self, found: Surveyed) -> None:
        """Merge what was found in a group. Call it once for each, from one thread."""
        num_distinct = found.ndv
        self.counts.num_values += found.num_values
        if num_distinct == 0:
            # In a stripe with values elsewhere, such a group gets a filter all the same.
            self.counts.filter_bytes += found.filter_bytes
            return
        self.counts.add(found, num_distinct)
        is_sole = self.counts.groups == 1 and found.ndv_is_exact
        self._sole_dictionary = Distinct(num_distinct, None) if is_sole else None
        self._bounds.append(found.bounds)
        self._fpps.append(found.fpp)
        self._distinct.merge(found.distinct)
        found.sample.finish(found.fpp)

    def merge(self, other: ColumnSurvey) -> None:
        """Add the column of another file that filled the same sample."""
        self.counts.merge(other.counts)
        if other.counts.groups:
            is_sole = self.counts.groups == other.counts.groups
            self._sole_dictionary = other._sole_dictionary if is_sole else None
        self._bounds += other._bounds
        self._fpps += other._fpps
        self._distinct.merge(other._distinct)

    def pack(self) -> None:
        """Save memory until there is more to add."""
        self._distinct.pack()
        self.sample.pack()

    @property
    def distinct(self) -> Distinct:
        """Of the whole column. Exact if one group has them all in a dictionary, however large."""
        if self._sole_dictionary:
            return self._sole_dictionary
        count = min(self._distinct.count, self.counts.num_values)
        return Distinct(count, self._distinct.relative_error)

    def expected_reads(self) -> ExpectedReads | None:
        """How many groups a look-up reads; None if there is nothing to look up."""
        return expected_reads(Ranges(self._bounds, self._fpps), self.sample.look_ups())


# ------------------------------------------------------------------------------------------------
# What depends on the format


@dataclass(frozen=True, slots=True)
class Subject:
    """A column to be judged, in whichever file of the table.

    `key_of`: where a stored value lies in the column's order, None if there is no order;
    `value_of`: what a literal stands for, raises ValueTypeError; `engines`: who uses its filters;
    `seldom_asked`: see verdict.Evidence; `settings`: for other writers, given the path of a file
    and what was counted.
    """

    column: Column
    key_of: KeyOf | None
    value_of: Callable[[str], GivenValue]
    engines: tuple[EngineUse, ...]
    seldom_asked: str
    settings: Callable[[str, ColumnCounts], tuple[WriterSettings, ...]]


@dataclass(frozen=True, slots=True, order=True)
class Limit:
    """What limits the size of a filter, as a number and in words."""

    number: int
    words: str


class Surveyor(Protocol):
    """Reads one open file, whose columns and chunks are meant below."""

    @property
    def file(self) -> Container: ...
    @property
    def num_groups(self) -> int: ...
    @property
    def num_drawn(self) -> int:
        """The most distinct stored values to draw from each column."""

    @property
    def largest_filter(self) -> Limit: ...
    def subject(self, column: Any) -> Subject: ...
    def reason_for_none(self, column: Any) -> str:
        """Why a column cannot have filters, as far as the footer tells; else empty."""

    def num_values(self, column: Any) -> int:
        """According to the footer; 0 if it does not say."""

    def count(self, counts: ColumnCounts, chunk: Any) -> None:
        """Count what the footer says of a chunk, except for its values."""

    def room(self, chunk: Any) -> int:
        """The most memory that reading a chunk takes, in bytes."""

    def read(self, chunk: Any, sample: Sample) -> Sequence[Surveyed]:
        """What is in each group of a chunk; called from any thread.

        Raises UnsupportedError if it cannot have filters, FormatError for damage.
        """


def survey_columns(
    surveyor: Surveyor,
    columns: Sequence[Column],
    samples: Sequence[Sample],
    threads: int | None,
    progress: Progress | None,
) -> Iterator[tuple[ColumnSurvey, str]]:
    """Each column in turn, and why it cannot have filters, else "".

    Several threads read the chunks; what they find is added in order.
    """
    file = surveyor.file
    reasons = [surveyor.reason_for_none(column) for column in columns]
    chunks = [
        [chunk for part in range(file.num_parts) for chunk in file.chunks(part, [column])]
        for column in columns
    ]
    ahead = [
        (chunk, sample)
        for of_column, reason, sample in zip(chunks, reasons, samples, strict=True)
        if not reason
        for chunk in of_column
    ]

    def read(item: tuple[Any, Sample]) -> Sequence[Surveyed] | str:
        try:
            return surveyor.read(*item)
        except UnsupportedError as error:
            return str(error).removeprefix(f"{file.path}: ")

    found = work_in_order(ahead, read, lambda item: surveyor.room(item[0]), threads)
    done = count(1)
    for column, of_column, reason, sample in zip(columns, chunks, reasons, samples, strict=True):
        survey = ColumnSurvey(sample)
        for chunk in of_column:
            surveyor.count(survey.counts, chunk)
        for _, groups in islice(found, 0 if reason else len(of_column)):
            if isinstance(groups, str):
                reason = reason or groups
            elif not reason:
                for group in groups:
                    survey.add(group)
            if progress:
                progress(next(done), len(ahead))
        if reason:
            survey.counts.num_values = surveyor.num_values(column)
        yield survey, reason
