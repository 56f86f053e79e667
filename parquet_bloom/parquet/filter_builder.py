"""Filters of many column chunks, built by several threads and written in file order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

from xxhash import xxh3_64_intdigest

from parquet_bloom.errors import EncryptionError, FormatError, UnsupportedError
from parquet_bloom.filters.sizing import BLOCK_BYTES, MeasuredFilter, Size
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.parallel import work_in_order
from parquet_bloom.parquet import bloom
from parquet_bloom.parquet.build import build_filter, reason_for_none
from parquet_bloom.parquet.file import ParquetFile
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.footer import FilterPlace
from parquet_bloom.parquet.pages.pages import check_readable, chunk_runs, located
from parquet_bloom.parquet.writer import Rewrite

# Why a chunk gets none, if filters that are there are to be kept.
HAS_ONE = "has a filter already"

# Why a chunk gets none, whatever is asked for.
NO_VALUES = "no non-null values"


@dataclass(frozen=True, slots=True)
class BuiltFilter:
    """One filter that was added. `fpp` is computed from its bits; `offset` is None where it became a
    part of the footer."""

    row_group: int
    column: str
    num_values: int
    num_bytes: int
    fpp: float
    offset: int | None
    length: int

    @classmethod
    def of(
        cls, chunk: ColumnChunk, filter: MeasuredFilter, offset: int | None, length: int
    ) -> BuiltFilter:
        """That of `chunk`; header and bitset take `length` bytes."""
        return cls(
            row_group=chunk.row_group,
            column=chunk.leaf.name,
            num_values=chunk.num_values or 0,
            num_bytes=filter.num_bytes,
            fpp=filter.fpp,
            offset=offset,
            length=length,
        )


@dataclass(frozen=True, slots=True)
class SkippedChunk:
    """One column chunk that got no filter, and why."""

    row_group: int
    column: str
    reason: str


@dataclass(frozen=True, slots=True)
class Appended:
    """What was written so far: filters, chunks that got none, and what a rewrite must know."""

    filters: list[BuiltFilter] = field(default_factory=list)
    skipped: list[SkippedChunk] = field(default_factory=list)
    places: dict[ChunkKey, FilterPlace | None] = field(default_factory=dict)
    digests: dict[ChunkKey, int] = field(default_factory=dict)


# A chunk with its filter, or with why it gets none.
Built = tuple[ColumnChunk, SplitBlockBloomFilter | str]


class FilterBuilder:
    """Builds the filters of a file's chunks at one `size`."""

    def __init__(self, file: ParquetFile, size: Size, threads: int | None) -> None:
        """`threads`: one for each processor if None."""
        self._file = file
        self._size = size
        self._threads = threads

    def built(self, chunks: Sequence[ColumnChunk]) -> Iterator[Built]:
        """Each chunk in turn with its filter."""
        return work_in_order(chunks, self._build_located, self._room, self._threads)

    def _room(self, chunk: ColumnChunk) -> int:
        return BLOCK_BYTES * self._size.blocks_for(self._size.ndv or self._max_values(chunk))

    def _build_located(self, chunk: ColumnChunk) -> SplitBlockBloomFilter | str:
        with located(self._file.footer, chunk):
            return self._build(chunk)

    def _build(self, chunk: ColumnChunk) -> SplitBlockBloomFilter | str:
        filter = build_filter(
            lambda: chunk_runs(self._file.source, self._file.footer, chunk),
            chunk.leaf.type,
            self._max_values(chunk),
            self._size,
        )
        return filter or NO_VALUES

    def _max_values(self, chunk: ColumnChunk) -> int:
        """The most distinct values that there can be, if the footer counts the nulls right."""
        statistics = self._file.footer.column_meta_data(chunk).statistics
        nulls = (statistics and statistics.null_count) or 0
        num_values = chunk.num_values or 0
        return max(1, num_values - nulls if 0 <= nulls <= num_values else num_values)


class TolerantFilterBuilder(FilterBuilder):
    """The same; a chunk that cannot be read, or should have none, is skipped for that reason."""

    def _build_located(self, chunk: ColumnChunk) -> SplitBlockBloomFilter | str:
        try:
            check_readable(self._file.footer, chunk)
            return reason_for_none(chunk.leaf.type) or self._build(chunk)
        except (EncryptionError, FormatError, UnsupportedError) as error:
            return str(error)


def append_filters(
    file: ParquetFile,
    built: Iterable[Built],
    rewrite: Rewrite,
    reason_against: Callable[[MeasuredFilter], str],
    progress: Callable[[int], None] = lambda done: None,
) -> Appended:
    """Write filters in the order in which they come. `reason_against` says why one is not to be
    written, "" if it is; `progress` is told how many chunks are done."""
    appended = Appended()
    done = count(1)
    for chunk, filter in built:
        reason = filter if isinstance(filter, str) else reason_against(filter)
        if isinstance(filter, str) or reason:
            appended.skipped.append(SkippedChunk(chunk.row_group, chunk.leaf.name, reason))
        else:
            with located(file.footer, chunk):
                _append_filter(chunk, filter, rewrite, appended)
        # It can take 128 MiB, and the next one begins when it is asked for.
        del filter
        progress(next(done))
    return appended


def _append_filter(
    chunk: ColumnChunk, filter: SplitBlockBloomFilter, rewrite: Rewrite, appended: Appended
) -> None:
    plain_header = bloom.encode_header(filter.num_bytes)
    header, bitset = chunk.modules.seal_filter(plain_header, filter.bitset)
    offset = rewrite.append(header)
    rewrite.append(bitset)
    length = len(header) + len(bitset)
    key = chunk.key
    appended.places[key] = FilterPlace(offset, length)
    appended.digests[key] = xxh3_64_intdigest(filter.bitset)
    appended.filters.append(BuiltFilter.of(chunk, filter, offset, length))
