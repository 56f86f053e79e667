"""One pass over the columns of a Parquet file, to say what is in each column chunk.

The filter of each chunk is built as `build` does it, so that its size and FPP are known and not
guessed; its values are counted and sampled on their way into it. Chunks are read by several
threads; what each finds is given in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count, islice

from parquet_bloom.advice.ndv import DistinctHashes
from parquet_bloom.advice.samples import Sample, SampledChunk
from parquet_bloom.advice.statistics import Bounds, bounds
from parquet_bloom.advice.survey import ColumnCounts, ColumnSurvey
from parquet_bloom.errors import UnsupportedError
from parquet_bloom.filters.sizing import BLOCK_BYTES, Size
from parquet_bloom.parallel import Progress, work_in_order
from parquet_bloom.parquet.build import build_filter, reason_for_none
from parquet_bloom.parquet.file import NO_KEY, ParquetFile
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.schema import LeafColumn
from parquet_bloom.parquet.pages.pages import ChunkRun, chunk_runs, located

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


def _see(counts: ColumnCounts, chunk: ColumnChunk) -> None:
    """Count what the footer says of a chunk."""
    counts.num_values += chunk.num_values or 0
    counts.chunk_bytes += chunk.total_compressed_size or 0
    counts.already += chunk.bloom_filter_offset is not None
    counts.dictionary_bytes = max(counts.dictionary_bytes, chunk.total_uncompressed_size or 0)


class ParquetSurvey:
    """One pass over the columns of one file."""

    def __init__(
        self, file: ParquetFile, leaves: Sequence[LeafColumn], samples: Sequence[Sample], size: Size
    ) -> None:
        self._file = file
        self._leaves = leaves
        self._size = size
        self._samples = {leaf.index: sample for leaf, sample in zip(leaves, samples, strict=True)}

    def surveys(
        self, threads: int | None, progress: Progress | None
    ) -> Iterator[tuple[ColumnSurvey, str]]:
        """Each column, and why it can have no filter, one after the other."""
        chunks = {leaf.index: self._chunks(leaf) for leaf in self._leaves}
        ahead = [
            chunk
            for leaf in self._leaves
            if not reason_for_none(leaf.type)
            for chunk in chunks[leaf.index]
        ]
        found = work_in_order(ahead, self._read, self._room, threads)
        done = count(1)
        for leaf in self._leaves:
            survey = ColumnSurvey(self._samples[leaf.index])
            reason = reason_for_none(leaf.type) or ""
            for chunk in chunks[leaf.index]:
                _see(survey.counts, chunk)
            for chunk, part in islice(found, 0 if reason else len(chunks[leaf.index])):
                if isinstance(part, str):
                    reason = reason or part
                elif not reason:
                    survey.add(part, self._bounds(chunk))
                if progress:
                    progress(next(done), len(ahead))
            yield survey, reason

    def _chunks(self, leaf: LeafColumn) -> list[ColumnChunk]:
        groups = range(self._file.num_row_groups)
        return [self._file.footer.chunk(row_group, leaf) for row_group in groups]

    def _bounds(self, chunk: ColumnChunk) -> Bounds | None:
        statistics = self._file.footer.column_meta_data(chunk).statistics
        return bounds(chunk.leaf.type, statistics)

    def _read(self, chunk: ColumnChunk) -> ChunkSurvey | str:
        """What is in a chunk, or why it cannot be read."""
        if chunk.is_locked:
            return NO_KEY
        sample = self._samples[chunk.leaf.index].begin()
        try:
            return survey_chunk(self._file, chunk, self._size, sample)
        except UnsupportedError as error:
            return str(error).removeprefix(f"{self._file.path}: ")

    def _room(self, chunk: ColumnChunk) -> int:
        return survey_room(chunk, self._size)
