"""Build the filters of many column chunks in several threads."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from threading import local
from typing import TypeVar

from parquet_bloom.errors import (
    EncryptionError,
    FormatError,
    UnreadableError,
    UnsupportedError,
)
from parquet_bloom.filters.sizing import BLOCK_BYTES, MeasuredFilter, Size
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.parallel import work_in_order
from parquet_bloom.parquet.edit.change import Built
from parquet_bloom.parquet.filters.ahead import pages_ranges
from parquet_bloom.parquet.filters.insertion import build_filter, has_other_forms, reason_for_none
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.footer import Footer
from parquet_bloom.parquet.open_file import OpenFile
from parquet_bloom.parquet.pages.codecs import KEPT_BYTES, ChunkBuffers
from parquet_bloom.parquet.pages.pages import (
    check_readable,
    chunk_runs,
    located,
    pages_room,
    runs_to_insert,
)
from parquet_bloom.threads import threads_for_values
from parquet_bloom.vocabulary import NO_VALUES

BuiltT = TypeVar("BuiltT")


def made_or_reason(
    footer: Footer, chunk: ColumnChunk, make: Callable[[ColumnChunk], BuiltT]
) -> BuiltT | str:
    """What `make` returns; or, where nothing here can read the chunk's pages, why there is nothing. Other
    errors name the chunk."""
    with located(footer, chunk):
        try:
            return make(chunk)
        except UnreadableError as error:
            return str(error)


class FilterBuilder:
    """Builds the filters of a file's chunks at one `size`, or at that of their column."""

    def __init__(
        self,
        file: OpenFile,
        size: Size,
        threads: int | None,
        sizes: Mapping[str, Size] | None = None,
    ) -> None:
        """`threads`: one for each processor if None. `sizes`: by column, before `size`."""
        self._file = file
        self._size = size
        self._sizes = sizes or {}
        self._threads = threads
        # What each thread keeps: memory that is new with every chunk takes longer than its values.
        self._kept = local()

    def built(self, chunks: Sequence[ColumnChunk]) -> Generator[Built]:
        """Each chunk in turn with its filter."""
        source = self._file.source
        if chunks:
            # Otherwise what has been fetched would be forgotten.
            source.will_read(pages_ranges(self._file, chunks))
        threads = threads_for_values(self._threads, source, len(chunks))
        return work_in_order(chunks, self._try, self._room, threads)

    def reason_against(self, chunk: ColumnChunk, filter: MeasuredFilter) -> str:
        """Why the chunk's filter should not be written; empty if it should."""
        return self._size_of(chunk).reason_against(filter)

    def _size_of(self, chunk: ColumnChunk) -> Size:
        return self._sizes.get(chunk.leaf.name, self._size)

    def _room(self, chunk: ColumnChunk) -> int:
        file, size = self._file, self._size_of(chunk)
        filter = BLOCK_BYTES * size.blocks_for(size.ndv or self._max_values(chunk))
        return filter + pages_room(file.source, file.footer, chunk)

    def _try(self, chunk: ColumnChunk) -> SplitBlockBloomFilter | str:
        return made_or_reason(self._file.footer, chunk, self._build)

    def _build(self, chunk: ColumnChunk) -> SplitBlockBloomFilter | str:
        buffers: ChunkBuffers | None = getattr(self._kept, "buffers", None)
        if buffers is None or buffers.num_bytes > KEPT_BYTES:
            buffers = self._kept.buffers = ChunkBuffers()
        runs = chunk_runs if has_other_forms(chunk.leaf.type) else runs_to_insert
        filter = build_filter(
            lambda: runs(self._file.source, self._file.footer, chunk, buffers, only_used=True),
            chunk.leaf.type,
            self._max_values(chunk),
            self._size_of(chunk),
        )
        return filter or NO_VALUES

    def _max_values(self, chunk: ColumnChunk) -> int:
        """The most distinct values that there can be, if the footer counts the nulls right."""
        known = chunk.known_non_null
        return max(1, (chunk.num_values or 0) if known is None else known)


class TolerantFilterBuilder(FilterBuilder):
    """Skips a chunk that cannot be read, or should have no filter, and says why.
    `damaged`: keys of those whose pages are."""

    def __init__(self, file: OpenFile, size: Size, threads: int | None) -> None:
        super().__init__(file, size, threads)
        self.damaged: set[ChunkKey] = set()

    def _try(self, chunk: ColumnChunk) -> SplitBlockBloomFilter | str:
        try:
            check_readable(self._file.footer, chunk)
            return reason_for_none(chunk.leaf.type) or self._build(chunk)
        except FormatError as error:
            self.damaged.add(chunk.key)
            return str(error)
        except (EncryptionError, UnsupportedError) as error:
            return str(error)
