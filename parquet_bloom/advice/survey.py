"""One pass over a column: distinct values, filters, min/max ranges, and sampled values.

The filter of each chunk is built as `build` does it, so that its size and FPP are known and not
guessed; its values are counted and sampled on their way into it. Row groups are read by several
threads; what each finds is merged in order. Memory is bounded by the largest filter and the limits
of `ndv` and `samples`, not by the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from parquet_bloom.advice.lookups import ExpectedReads, expected_reads
from parquet_bloom.advice.ndv import DistinctHashes
from parquet_bloom.advice.samples import GivenSample, Sample, SampledChunk, StoredSample
from parquet_bloom.advice.statistics import Bounds, RowGroupRanges, bounds, key_of
from parquet_bloom.chunk_filter import Size, build_filter
from parquet_bloom.files import ParquetFile
from parquet_bloom.filters.sizing import BLOCK_BYTES
from parquet_bloom.parquet.footer import ColumnChunk
from parquet_bloom.parquet.pages import ChunkRun, chunk_runs, located
from parquet_bloom.parquet.schema import LeafColumn
from parquet_bloom.values import Encodings

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


@dataclass(frozen=True, slots=True)
class RowGroupSurvey:
    """What is kept of a chunk that has values."""

    ndv: int
    ndv_is_exact: bool
    only_dictionary: bool
    filter_bytes: int
    fpp: float
    bounds: Bounds | None


class ColumnSurvey:
    """What is known of a column. Row groups without a value of it are left out."""

    def __init__(
        self, file: ParquetFile, leaf: LeafColumn, size: Size, given: Sequence[Encodings]
    ) -> None:
        """`given`: the values that are looked up; if there are none, stored ones are drawn."""
        key = key_of(leaf.type)
        self.row_groups: list[RowGroupSurvey] = []
        self._num_values = 0
        self._distinct = DistinctHashes()
        self._sample: Sample = GivenSample(given, key) if given else StoredSample(key)
        self._file = file
        self._leaf = leaf
        self._size = size

    def room(self, chunk: ColumnChunk) -> int:
        """The most bytes that `read` takes."""
        return BLOCK_BYTES * self._size.blocks_for(_max_values(chunk)) + HASHES_BYTES

    def read(self, chunk: ColumnChunk) -> ChunkSurvey:
        """One pass over the pages of a chunk, by any thread.

        Raises PageError for damage, UnsupportedError for codecs, encodings and encryption.
        """
        found = ChunkSurvey(self._sample.begin(), chunk.num_values or 0)
        with located(self._file.footer, chunk):
            filter = build_filter(
                lambda: found.watch(chunk_runs(self._file.source, self._file.footer, chunk)),
                self._leaf.type,
                _max_values(chunk),
                self._size,
            )
        if filter is not None and filter.fpp <= self._size.fpp:
            found.filter_bytes, found.fpp = filter.num_bytes, filter.fpp
        return found

    def add(self, chunk: ColumnChunk, found: ChunkSurvey) -> None:
        """Merge what `read` has found in a chunk; by one thread, once for each chunk."""
        if found.ndv == 0:
            return
        statistics = self._file.footer.column_meta_data(chunk).statistics
        self.row_groups.append(
            RowGroupSurvey(
                ndv=found.ndv,
                ndv_is_exact=found.ndv_is_exact,
                only_dictionary=found.only_dictionary,
                filter_bytes=found.filter_bytes,
                fpp=found.fpp,
                bounds=bounds(self._leaf.type, statistics),
            )
        )
        self._num_values += chunk.num_values or 0
        self._distinct.merge(found.distinct)
        found.sample.finish(found.fpp)

    @property
    def ndv(self) -> int:
        """Distinct non-null values of the whole column."""
        if len(self.row_groups) == 1:
            return self.row_groups[0].ndv
        return min(self._distinct.count, self._num_values)

    @property
    def ndv_error(self) -> float | None:
        """The relative standard error of `ndv`, None if it is exact."""
        if len(self.row_groups) == 1 and self.row_groups[0].ndv_is_exact:
            return None
        return self._distinct.relative_error

    @property
    def only_dictionary(self) -> bool:
        """Whether every value of every row group is in a dictionary page."""
        return all(group.only_dictionary for group in self.row_groups)

    def expected_reads(self) -> ExpectedReads | None:
        """Row groups that a look-up reads; None if there is nothing to look up."""
        ranges = RowGroupRanges(
            [group.bounds for group in self.row_groups], [group.fpp for group in self.row_groups]
        )
        return expected_reads(ranges, self._sample.look_ups())


def _max_values(chunk: ColumnChunk) -> int:
    return max(1, chunk.num_values or 0)
