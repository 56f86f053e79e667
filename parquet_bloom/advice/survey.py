"""What is known of a column: distinct values, filters, min/max ranges, and sampled values.

Told by the parts that a reader can leave out: row groups, and index groups of ORC. How a part is
read is the matter of its format; here it is added to those before it. Memory is bounded by the
limits of `ndv` and `samples`, not by the values; some 300 bytes stay of each part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from parquet_bloom.advice import ndv
from parquet_bloom.advice.lookups import ExpectedReads, expected_reads
from parquet_bloom.advice.ndv import DistinctHashes
from parquet_bloom.advice.samples import Sample, SampledChunk
from parquet_bloom.advice.statistics import Bounds, RowGroupRanges


class Surveyed(Protocol):
    """What was found in one row group or index group of a column.

    `ndv`: distinct values; `filter_bytes` and `fpp` are those of the filter that `build` would
    write, 0 and 1 if it would write none; `only_dictionary`: a dictionary page has all values.
    """

    @property
    def ndv(self) -> int: ...
    @property
    def ndv_is_exact(self) -> bool: ...
    @property
    def only_dictionary(self) -> bool: ...
    @property
    def filter_bytes(self) -> int: ...
    @property
    def fpp(self) -> float: ...
    @property
    def distinct(self) -> DistinctHashes: ...
    @property
    def sample(self) -> SampledChunk: ...


@dataclass(slots=True)
class ColumnCounts:
    """A column of one file, or of several together; what is said of row groups is, in ORC, said of
    index groups.

    Of all its chunks: `num_values` (nulls counted, in ORC not), `chunk_bytes` as stored, `already`
    (those with a filter), `dictionary_bytes` (what a dictionary of all values of one takes at
    most). Of the `row_groups` with a non-null value: `filters` and `filter_bytes` that `build` would write,
    `largest_filter`, `row_group_ndv` (the most distinct values of one), and whether
    `only_dictionary` pages hold them.
    """

    num_values: int = 0
    chunk_bytes: int = 0
    already: int = 0
    dictionary_bytes: int = 0
    row_groups: int = 0
    filters: int = 0
    filter_bytes: int = 0
    largest_filter: int = 0
    row_group_ndv: int = 0
    only_dictionary: bool = True

    def add(self, found: Surveyed, ndv: int) -> None:
        """Count what is in a row group with `ndv` distinct values, at least one."""
        self.row_groups += 1
        self.filters += found.filter_bytes > 0
        self.filter_bytes += found.filter_bytes
        self.largest_filter = max(self.largest_filter, found.filter_bytes)
        self.row_group_ndv = max(self.row_group_ndv, ndv)
        self.only_dictionary &= found.only_dictionary

    def merge(self, other: ColumnCounts) -> None:
        """Count the column of another file."""
        self.num_values += other.num_values
        self.chunk_bytes += other.chunk_bytes
        self.already += other.already
        self.dictionary_bytes = max(self.dictionary_bytes, other.dictionary_bytes)
        self.row_groups += other.row_groups
        self.filters += other.filters
        self.filter_bytes += other.filter_bytes
        self.largest_filter = max(self.largest_filter, other.largest_filter)
        self.row_group_ndv = max(self.row_group_ndv, other.row_group_ndv)
        self.only_dictionary &= other.only_dictionary


@dataclass(frozen=True, slots=True)
class Distinct:
    """How many distinct non-null values there are; `error`: the relative standard error, None if
    the number is exact."""

    ndv: int
    error: float | None


class ColumnSurvey:
    """What is known of a column of one file, or of several together, which fill one sample."""

    def __init__(self, sample: Sample, limit: int = ndv.LIMIT) -> None:
        """`limit`: of the hashes that are kept, see DistinctHashes."""
        self.counts = ColumnCounts()
        self.sample = sample
        self._distinct = DistinctHashes(limit)
        self._sole_dictionary: Distinct | None = None
        self._bounds: list[Bounds | None] = []
        self._fpps: list[float] = []

    def add(self, found: Surveyed, bounds: Bounds | None) -> None:
        """Merge what was found in a row group with these statistics; by one thread, once for each."""
        num_distinct = found.ndv
        if num_distinct == 0:
            return
        self.counts.add(found, num_distinct)
        is_sole = self.counts.row_groups == 1 and found.ndv_is_exact
        self._sole_dictionary = Distinct(num_distinct, None) if is_sole else None
        self._bounds.append(bounds)
        self._fpps.append(found.fpp)
        self._distinct.merge(found.distinct)
        found.sample.finish(found.fpp)

    def merge(self, other: ColumnSurvey) -> None:
        """Add the column of another file, which filled the same sample."""
        self.counts.merge(other.counts)
        if other.counts.row_groups:
            is_sole = self.counts.row_groups == other.counts.row_groups
            self._sole_dictionary = other._sole_dictionary if is_sole else None
        self._bounds += other._bounds
        self._fpps += other._fpps
        self._distinct.merge(other._distinct)

    def pack(self) -> None:
        """Take little memory until there is more to add."""
        self._distinct.pack()
        self.sample.pack()

    @property
    def distinct(self) -> Distinct:
        """Of the whole column. Exact for the dictionary of a single row group, however large."""
        if self._sole_dictionary:
            return self._sole_dictionary
        count = min(self._distinct.count, self.counts.num_values)
        return Distinct(count, self._distinct.relative_error)

    def expected_reads(self) -> ExpectedReads | None:
        """Row groups that a look-up reads; None if there is nothing to look up."""
        return expected_reads(RowGroupRanges(self._bounds, self._fpps), self.sample.look_ups())
