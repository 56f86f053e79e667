"""What is known of a column: distinct values, filters, min/max ranges, and sampled values.

It is gathered group by group, by the Surveyor of the format. Memory is bounded by the limits of `ndv`
and `samples`, not by the number of values; each group adds some 300 bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import count, islice
from typing import Any, Protocol, TypeAlias, TypeVar

from parquet_bloom.advice import ndv
from parquet_bloom.advice.lookups import Bounds, ExpectedReads, expected_reads
from parquet_bloom.advice.ndv import DistinctHashes
from parquet_bloom.advice.samples import GivenValue, Sample, SamplePart
from parquet_bloom.container.protocols import Chunk, Column, Container
from parquet_bloom.dataclass import dataclass
from parquet_bloom.engines.reading import EngineUse
from parquet_bloom.engines.settings import WriterSettings
from parquet_bloom.errors import UnsupportedError
from parquet_bloom.parallel import Progress, work_in_order
from parquet_bloom.threads import threads_for_values


@dataclass(slots=True)
class GroupSurvey:
    """What was found in one group of a column.

    `num_values`: with nulls in Parquet, without them in ORC; `filter_bytes` and `fpp`: of the filter
    that `build` would write, 0 and 1 if it would write none; `dictionary`: the number of entries of
    the dictionary page if it has all values, else 0; None in a format without such pages.
    """

    num_values: int
    distinct: DistinctHashes
    sample: SamplePart
    bounds: Bounds | None = None
    filter_bytes: int = 0
    fpp: float = 1.0
    dictionary: int | None = None

    @property
    def ndv(self) -> int:
        """Distinct values. The entries of a dictionary are distinct, however many they are."""
        if self.dictionary and not self.distinct.is_exact:
            return self.dictionary
        return min(self.distinct.count, self.num_values)


@dataclass(slots=True)
class ColumnCounts:
    """A column of one file, or of several together.

    Of all chunks: `num_values`, `chunk_bytes` as stored, `already` (groups with a filter),
    `dictionary_bytes` (the most that a dictionary of all values of one chunk can take). Of the
    `groups` with a non-null value: `filters` and `filter_bytes` that `build` would write,
    `largest_filter`, `group_ndv` (the most distinct values in one group), and `only_dictionary`:
    dictionary pages have all values, None in a format without them.
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

    def merge(self, other: ColumnCounts) -> None:
        """Add what was counted elsewhere."""
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


class ColumnSurvey:
    """What is known of a column of one file, or of several files that fill one sample."""

    def __init__(self, sample: Sample, limit: int = ndv.LIMIT) -> None:
        """`limit`: how many hashes are kept, see DistinctHashes."""
        self.counts = ColumnCounts()
        self._sample = sample
        self._distinct = DistinctHashes(limit)
        # The distinct values of the only group, if their number is exact.
        self._sole_ndv: int | None = None
        self._bounds: list[Bounds | None] = []
        self._fpps: list[float] = []

    def add(self, group: GroupSurvey) -> None:
        """Merge what was found in a group. Call it once for each, from one thread."""
        num_distinct, size = group.ndv, group.filter_bytes
        # In a stripe with values elsewhere, a group without any gets a filter all the same.
        self.counts.merge(ColumnCounts(num_values=group.num_values, filter_bytes=size))
        if num_distinct == 0:
            return
        only_dictionary = None if group.dictionary is None else group.dictionary > 0
        self.counts.merge(
            ColumnCounts(
                groups=1,
                filters=int(size > 0),
                largest_filter=size,
                group_ndv=num_distinct,
                only_dictionary=only_dictionary,
            )
        )
        is_exact = only_dictionary or group.distinct.is_exact
        self._sole_ndv = num_distinct if self.counts.groups == 1 and is_exact else None
        self._bounds.append(group.bounds)
        self._fpps.append(group.fpp)
        self._distinct.merge(group.distinct)
        group.sample.finish(group.fpp)

    def merge(self, other: ColumnSurvey) -> None:
        """Add the column of another file that filled the same sample."""
        self.counts.merge(other.counts)
        if other.counts.groups:
            is_sole = self.counts.groups == other.counts.groups
            self._sole_ndv = other._sole_ndv if is_sole else None
        self._bounds += other._bounds
        self._fpps += other._fpps
        self._distinct.merge(other._distinct)

    def pack(self, limit: int) -> None:
        """Save memory until there is more to add, and keep no more than `limit` hashes."""
        self._distinct.pack(limit)
        self._sample.pack()

    @property
    def ndv(self) -> tuple[int, float | None]:
        """The distinct non-null values of the whole column, and the relative standard error, None
        if the number is exact. It is if one group has them all in a dictionary, however large."""
        if self._sole_ndv is not None:
            return self._sole_ndv, None
        count = min(self._distinct.count, self.counts.num_values)
        return count, self._distinct.relative_error

    def expected_reads(self) -> ExpectedReads | None:
        """How many groups a look-up reads; None if there is nothing to look up."""
        return expected_reads(self._bounds, self._fpps, self._sample.look_ups())


# ------------------------------------------------------------------------------------------------
# What depends on the format

ColumnT_contra = TypeVar("ColumnT_contra", contravariant=True)
ChunkT_contra = TypeVar("ChunkT_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class Subject:
    """A column to be judged, in whichever file of the table.

    `is_ordered`: min/max statistics can rule out values of this type; `value_of`: a value or
    literal that is looked up, raises ValueTypeError; `engines`: who uses its filters; `seldom_asked`: see
    verdict.Evidence; `settings`: for other writers, from the path of a file and what was counted.
    """

    column: Column
    is_ordered: bool
    value_of: Callable[[object], GivenValue]
    engines: tuple[EngineUse, ...]
    seldom_asked: str
    settings: Callable[[str, ColumnCounts], tuple[WriterSettings, ...]]


class Surveyor(Protocol[ColumnT_contra, ChunkT_contra]):
    """Reads one open file; the columns and chunks below are those of the file."""

    @property
    def file(self) -> Container: ...
    @property
    def parts(self) -> Sequence[int]:
        """The ordinals of those to read."""

    @property
    def num_rows(self) -> int:
        """Of these parts."""

    @property
    def num_groups(self) -> int: ...
    @property
    def num_drawn(self) -> int:
        """The most distinct stored values to draw from each column."""

    @property
    def largest_filter(self) -> tuple[int, str]:
        """What limits the size of a filter: a number, the same in words."""

    def subject(self, column: ColumnT_contra) -> Subject: ...
    def reason_for_none(self, column: ColumnT_contra) -> str:
        """Why a column cannot have filters, as far as the footer tells; else empty."""

    def num_values(self, column: ColumnT_contra) -> int:
        """Of these parts according to the footer; 0 if it does not say."""

    def count(self, counts: ColumnCounts, chunk: ChunkT_contra) -> None:
        """Count what the footer says of a chunk, except for its values."""

    def room(self, chunk: ChunkT_contra) -> int:
        """The most memory that reading a chunk takes, in bytes."""

    def read(self, chunk: ChunkT_contra, sample: Sample) -> Sequence[GroupSurvey]:
        """Survey each group of a chunk; called from any thread.

        Raises UnsupportedError if it cannot have filters, FormatError for damage.
        """


AnySurveyor: TypeAlias = Surveyor[Any, Any]


def survey_columns(
    surveyor: AnySurveyor,
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
        [chunk for part in surveyor.parts for chunk in file.chunks(part, [column])]
        for column in columns
    ]
    ahead = [
        (chunk, sample)
        for of_column, reason, sample in zip(chunks, reasons, samples, strict=True)
        if not reason
        for chunk in of_column
    ]

    def read(item: tuple[Chunk, Sample]) -> Sequence[GroupSurvey] | str:
        try:
            return surveyor.read(*item)
        except UnsupportedError as error:
            return str(error).removeprefix(f"{file.path}: ")

    file.will_read_values([chunk for chunk, _ in ahead])
    done = count(1)
    threads = threads_for_values(threads, file.source, len(ahead))
    with closing(work_in_order(ahead, read, lambda item: surveyor.room(item[0]), threads)) as found:
        for column, of_column, reason, sample in zip(
            columns, chunks, reasons, samples, strict=True
        ):
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
