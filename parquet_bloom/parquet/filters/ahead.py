"""Which ranges of a Parquet file will be read, for a source that fetches them ahead."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from parquet_bloom.native import _kernel
from parquet_bloom.parquet.filters.clear import FIRST_BYTES
from parquet_bloom.parquet.footer.layout import MAGIC_BYTES
from parquet_bloom.parquet.sealed.modules import FILTER_HEADER_GUESS

if TYPE_CHECKING:
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
    from parquet_bloom.parquet.footer.layout import Range
    from parquet_bloom.parquet.footer.schema import LeafColumn
    from parquet_bloom.parquet.open_file import OpenFile

# With 16 requests in flight that take 30 ms each, 1 MiB comes in the time of one, at 500 MB/s.
BYTES_PER_REQUEST: Final = 1 << 20
# So much is one request anyway.
FEW_BYTES: Final = 8 << 20
# For headers alone, more is not fetched.
MOST_FOR_HEADERS: Final = 64 << 20


def filter_ranges(
    file: OpenFile, parts: Iterable[int], leaves: Sequence[LeafColumn]
) -> Iterator[Range]:
    """The filters that the footer points to; up to what comes next in the file, if the footer does not
    say how long one is."""
    footer, chunks = file.footer, file.footer.chunks_of(leaves)
    starts: list[int] = []
    fields = "bloom_filter_offset", "bloom_filter_length", "has_crypto_metadata"
    for part in parts:
        stored = list(zip(*(chunks.part(field, part) for field in fields), strict=True))
        for leaf in leaves:
            offset, length, is_encrypted = stored[leaf.index]
            if is_encrypted:
                chunk = footer.chunk(part, leaf)
                offset = _kernel.ABSENT
                if chunk.bloom_filter_offset is not None:
                    offset, length = chunk.bloom_filter_offset, chunk.bloom_filter_length or 0
            if not MAGIC_BYTES <= offset < footer.start:
                continue
            if length <= 0:
                starts = starts or sorted(footer.chunks.every("bloom_filter_offset"))
                length = _room_at(file, offset, starts)
            yield offset, min(offset + max(length, FILTER_HEADER_GUESS), footer.start)


def _room_at(file: OpenFile, offset: int, starts: Sequence[int]) -> int:
    """How many bytes there are up to what comes next, one of the filters that begin at `starts` or
    something else; no more than one request is worth."""
    following = bisect_right(starts, offset)
    end = min([*starts[following : following + 1], offset + BYTES_PER_REQUEST])
    data = file.footer.layout.data_in(offset + 1, end)
    return min([end, *(start for start, _ in data if start > offset)]) - offset


def block_ranges(
    file: OpenFile, parts: Iterable[int], leaf: LeafColumn, num_values: int
) -> Iterator[Range]:
    """The same filters, or their beginnings if it is quicker to read the blocks of the values one by
    one."""
    whole = list(filter_ranges(file, parts, (leaf,)))
    size = sum(end - start for start, end in whole)
    asked = len(whole) * (1 + num_values) * BYTES_PER_REQUEST
    if size <= max(FEW_BYTES, asked):
        yield from whole
    else:
        yield from (beginning(*each) for each in whole)


def beginning(start: int, end: int) -> Range:
    """The header of a filter, and the blocks that tell mostly whether any bit is set."""
    return start, min(end, start + FILTER_HEADER_GUESS + FIRST_BYTES)


def header_ranges(file: OpenFile, chunks: Iterable[ColumnChunk]) -> Iterator[Range]:
    """The headers of their filters, or the whole filters if that is quicker."""
    headers, whole = [], []
    for chunk in chunks:
        offset, length = chunk.bloom_filter_offset or 0, chunk.bloom_filter_length or 0
        if MAGIC_BYTES <= offset < file.footer.start:
            end = min(offset + FILTER_HEADER_GUESS, file.footer.start)
            headers.append((offset, end))
            whole.append((offset, min(max(end, offset + length), file.footer.start)))
    size = sum(end - start for start, end in whole)
    most = min(MOST_FOR_HEADERS, max(FEW_BYTES, len(whole) * BYTES_PER_REQUEST))
    yield from whole if size <= most else headers


def pages_range(file: OpenFile, chunk: ColumnChunk) -> Range:
    """The pages of a chunk, as the footer says; empty if it does not."""
    start, size = chunk.pages_start, chunk.total_compressed_size
    if start is None or size is None or not 0 <= start < file.footer.start:
        return 0, 0
    return start, min(start + max(0, size), file.footer.start)


def pages_ranges(file: OpenFile, chunks: Iterable[ColumnChunk]) -> Iterator[Range]:
    """Those of many chunks; lazily, as only a remote source asks for them."""
    return (pages_range(file, chunk) for chunk in chunks)


def survey_ranges(file: OpenFile, chunks: Iterable[ColumnChunk]) -> Iterator[Range]:
    """The pages of each chunk, and the beginning of its filter."""
    for chunk in chunks:
        yield pages_range(file, chunk)
        yield from (beginning(*each) for each in header_ranges(file, (chunk,)))


def null_ranges(file: OpenFile, parts: Iterable[int], leaf: LeafColumn) -> Iterator[Range]:
    """The pages that show whether all is null in chunks without a filter, see chunk_values."""
    chunks = (file.footer.chunk(part, leaf) for part in parts)
    return pages_ranges(file, (each for each in chunks if not each.has_filters and each.seems_null))
