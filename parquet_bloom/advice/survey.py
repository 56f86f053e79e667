"""One pass over a column: distinct values, filters, min/max ranges, and sampled values.

The filter of each chunk is built as `build` does it, so that its size and FPP are known and not
guessed; its values are counted and sampled on their way into it. Chunks are read by several
threads; what each finds is added in order. Memory is bounded by the largest filter and the limits
of `ndv` and `samples`, not by the values; some 300 bytes stay of each chunk.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from parquet_bloom.advice import ndv
from parquet_bloom.advice.lookups import ExpectedReads, expected_reads
from parquet_bloom.advice.ndv import DistinctHashes
from parquet_bloom.advice.samples import Sample, SampledChunk
from parquet_bloom.advice.statistics import Bounds, RowGroupRanges, bounds
from parquet_bloom.chunk_filter import Size, build_filter
from parquet_bloom.files import ParquetFile
from parquet_bloom.filters.sizing import BLOCK_BYTES
from parquet_bloom.parquet.column_chunk import ColumnChunk
from parquet_bloom.parquet.pages import ChunkRun, chunk_runs, located

# What counting and sampling one chunk takes at most.
HASHES_BYTES = 8 << 20


class ChunkSurvey:
    """What is found in one chunk; `filter_bytes` and `fpp` are those of the filter that `build`
    would write, 0 and 1 if it would write none."""

    def __init__(self, sample: SampledChunk, num_values: int) -> None:
        self.distinct = DistinctHashes()
        self.sample = sample
        self.filter_bytes = 0
        self.fpp = 1.0
        self._num_values = num_values
        self._in_dictionary = 0
        self._has_others = False

    def watch(self, parts: Iterator[ChunkRun]) -> Iterator[ChunkRun]:
        """The same runs, counted and sampled. All of a chunk, and if again, all of it again."""
        for part in parts:
            hashes = part.run.hashes()
            self.distinct.add(hashes)
            self.sample.add(part.run, hashes)
            if part.is_dictionary:
                self._in_dictionary = hashes.size
            elif hashes.size:
                self._has_others = True
            yield part

    @property
    def only_dictionary(self) -> bool:
        """Whether every value is in the dictionary page."""
        return self._in_dictionary > 0 and not self._has_others

    @property
    def ndv(self) -> int:
        """Distinct values. The entries of a dictionary are distinct, however many they are."""
        if self.only_dictionary and not self.distinct.is_exact:
            return self._in_dictionary
        return min(self.distinct.count, self._num_values)

    @property
    def ndv_is_exact(self) -> bool:
        return self.only_dictionary or self.distinct.is_exact


def survey_chunk(
    file: ParquetFile, chunk: ColumnChunk, size: Size, sample: SampledChunk
) -> ChunkSurvey:
    """One pass over the pages of a chunk, by any thread.

    Raises PageError for damage, UnsupportedError for codecs, encodings and encryption.
    """
    found = ChunkSurvey(sample, chunk.num_values or 0)
    with located(file.footer, chunk):
        filter = build_filter(
            lambda: found.watch(chunk_runs(file.source, file.footer, chunk)),
            chunk.leaf.type,
            _max_values(chunk),
            size,
        )
    if filter is not None and filter.fpp <= size.fpp:
        found.filter_bytes, found.fpp = filter.num_bytes, filter.fpp
    return found


def survey_room(chunk: ColumnChunk, size: Size) -> int:
    """The most bytes that `survey_chunk` takes."""
    return BLOCK_BYTES * size.blocks_for(_max_values(chunk)) + HASHES_BYTES


def _max_values(chunk: ColumnChunk) -> int:
    return max(1, chunk.num_values or 0)


@dataclass(slots=True)
class ColumnCounts:
    """A column of one file, or of several together.

    Of all its chunks: `num_values` (nulls counted), `chunk_bytes` as stored, `already` (those with
    a filter), `dictionary_bytes` (what a dictionary of all values of one takes at most). Of the
    `row_groups` with a non-null value: `filters` and `filter_bytes` that `build` would write,
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

    def see(self, chunk: ColumnChunk) -> None:
        """Count what the footer says of a chunk."""
        self.num_values += chunk.num_values or 0
        self.chunk_bytes += chunk.total_compressed_size or 0
        self.already += chunk.bloom_filter_offset is not None
        self.dictionary_bytes = max(self.dictionary_bytes, chunk.total_uncompressed_size or 0)

    def add(self, found: ChunkSurvey, ndv: int) -> None:
        """Count what is in a chunk with `ndv` distinct values, at least one."""
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

    def add(self, file: ParquetFile, chunk: ColumnChunk, found: ChunkSurvey) -> None:
        """Merge what `survey_chunk` has found in a chunk; by one thread, once for each chunk."""
        num_distinct = found.ndv
        if num_distinct == 0:
            return
        self.counts.add(found, num_distinct)
        is_sole = self.counts.row_groups == 1 and found.ndv_is_exact
        self._sole_dictionary = Distinct(num_distinct, None) if is_sole else None
        statistics = file.footer.column_meta_data(chunk).statistics
        self._bounds.append(bounds(chunk.leaf.type, statistics))
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
