"""What is in each column chunk of a Parquet file.

The filter of each chunk is built as `build` does it, so that its size and FPP are known rather than
guessed; the values are counted and sampled on their way into it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from parquet_bloom.advice.engines import seldom_asked
from parquet_bloom.advice.ndv import DistinctHashes
from parquet_bloom.advice.parquet_engines import engine_uses
from parquet_bloom.advice.parquet_statistics import bounds, key_of
from parquet_bloom.advice.ranges import Bounds, KeyOf
from parquet_bloom.advice.samples import LIMIT, GivenValue, Sample, SampledChunk
from parquet_bloom.advice.settings import WantedFilter, WriterSettings, writer_settings
from parquet_bloom.advice.survey import ColumnCounts, Limit, Subject
from parquet_bloom.errors import UnsupportedError
from parquet_bloom.filters.sizing import BLOCK_BYTES, MAX_BYTES, Size
from parquet_bloom.native import _kernel
from parquet_bloom.options import AdviseOptions
from parquet_bloom.parquet.build import build_filter, reason_for_none
from parquet_bloom.parquet.file import ParquetFile
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.schema import LeafColumn
from parquet_bloom.parquet.pages.pages import ChunkRun, chunk_runs, located
from parquet_bloom.values.encode import Encodings
from parquet_bloom.values.literals import encode_literal
from parquet_bloom.vocabulary import NO_KEY

# The most memory that counting and sampling one chunk takes.
HASHES_BYTES: Final = 8 << 20


class ParquetSurveyor:
    """Reads one file; see survey.Surveyor."""

    num_drawn: Final = LIMIT

    def __init__(self, file: ParquetFile, options: AdviseOptions) -> None:
        """Raises FooterError if row groups are missing from the footer."""
        file.footer.check_row_counts()
        self.file = file
        self._size = Size(options.target_fpp, options.max_bytes or MAX_BYTES)

    @property
    def num_groups(self) -> int:
        return self.file.num_parts

    @property
    def largest_filter(self) -> Limit:
        return Limit(self._size.max_bytes, f"within {self._size.max_bytes:,} bytes")

    def subject(self, leaf: LeafColumn) -> Subject:
        key = key_of(leaf.type)
        return Subject(
            column=leaf,
            key_of=key,
            value_of=lambda literal: given_value(encode_literal(leaf.type, literal), key),
            engines=engine_uses(leaf),
            seldom_asked=seldom_asked(leaf.type),
            settings=partial(_settings, leaf, self._size),
        )

    def reason_for_none(self, leaf: LeafColumn) -> str:
        return reason_for_none(leaf.type) or ""

    def num_values(self, leaf: LeafColumn) -> int:
        parts = range(self.file.num_parts)
        return sum(self.file.footer.chunk(part, leaf).num_values or 0 for part in parts)

    def count(self, counts: ColumnCounts, chunk: ColumnChunk) -> None:
        counts.chunk_bytes += chunk.total_compressed_size or 0
        counts.already += chunk.has_filters
        counts.dictionary_bytes = max(counts.dictionary_bytes, chunk.total_uncompressed_size or 0)

    def room(self, chunk: ColumnChunk) -> int:
        return BLOCK_BYTES * self._size.blocks_for(_max_values(chunk)) + HASHES_BYTES

    def read(self, chunk: ColumnChunk, sample: Sample) -> tuple[ChunkSurvey]:
        """Raises PageError for damage, UnsupportedError for codecs, encodings and encryption."""
        if chunk.is_locked:
            raise UnsupportedError(NO_KEY)
        file, size = self.file, self._size
        found = ChunkSurvey(sample.begin(), chunk.num_values or 0)
        with located(file.footer, chunk):
            filter = build_filter(
                lambda: found.watch(chunk_runs(file.source, file.footer, chunk)),
                chunk.leaf.type,
                _max_values(chunk),
                size,
            )
        if filter is not None and filter.fpp <= size.fpp:
            found.filter_bytes, found.fpp = filter.num_bytes, filter.fpp
        statistics = file.footer.column_meta_data(chunk).statistics
        found.bounds = bounds(chunk.leaf.type, statistics)
        return (found,)


class ChunkSurvey:
    """What is found in one chunk; see survey.Surveyed."""

    def __init__(self, sample: SampledChunk, num_values: int) -> None:
        self.distinct = DistinctHashes()
        self.sample = sample
        self.num_values = num_values
        self.filter_bytes = 0
        self.fpp = 1.0
        self.bounds: Bounds | None = None
        self._in_dictionary = 0
        self._has_others = False

    def watch(self, parts: Iterator[ChunkRun]) -> Iterator[ChunkRun]:
        """The same runs, counted and sampled: all of a chunk, or all of it again."""
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
        return min(self.distinct.count, self.num_values)

    @property
    def ndv_is_exact(self) -> bool:
        return self.only_dictionary or self.distinct.is_exact


def _max_values(chunk: ColumnChunk) -> int:
    return max(1, chunk.num_values or 0)


def given_value(value: Encodings, key_of: KeyOf | None) -> GivenValue:
    """A value that is looked up, by its stored bytes."""
    return GivenValue(
        hashes=[_kernel.xxh64(plain) for plain in value.plain],
        key=key_of(value.plain[0]) if key_of and value.plain else None,
        is_unknown=bool(value.unknown),
    )


def _settings(
    leaf: LeafColumn, size: Size, path: str, counts: ColumnCounts
) -> tuple[WriterSettings, ...]:
    return writer_settings(
        WantedFilter(
            path=path,
            column_path=leaf.path,
            fpp=size.fpp,
            max_bytes=size.max_bytes,
            ndv=counts.group_ndv,
            num_bytes=counts.largest_filter,
            dictionary_bytes=counts.dictionary_bytes,
            only_dictionary=bool(counts.only_dictionary),
        )
    )
