"""Which bytes of a file are taken, so that a filter can be told from what only looks like one.

    | PAR1 | column chunks, page indexes, Bloom filters, gaps | footer

A footer that lies about one chunk makes every range behind that chunk doubtful.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator
from itertools import accumulate

from parquet_bloom.native import _kernel
from parquet_bloom.parquet.chunk_table import ChunkTable

MAGIC_BYTES = 4

Range = tuple[int, int]


class Layout:
    """The ranges that a footer, which begins at `end`, gives to pages, page indexes and filters."""

    def __init__(self, chunks: ChunkTable, end: int) -> None:
        self._end = end
        self._filters = list(_filter_ranges(chunks, end))
        self._data_starts, self._data_ends = _sorted([*_pages(chunks, end), *_indexes(chunks, end)])
        there = [found for found in self._filters if found[0] != _kernel.ABSENT]
        self._filter_starts, self._filter_ends = _sorted(there)

    def reaches_past_the_end(self, replaced: Collection[int]) -> bool:
        """Whether a range leads behind the end of the data: pages of an impossible place or size,
        or a pointer to a filter. What is written there would be taken for that. `replaced` are the
        chunks, counted row group by row group, whose filters are about to go."""
        return any(end > self._end for end in self._data_ends[-1:]) or any(
            max(end, start + 1) > self._end
            for chunk, (start, end) in enumerate(self._filters)
            if chunk not in replaced
        )

    def overlaps_data(self, start: int, end: int) -> bool:
        """Whether [start, end) touches the magic, a column chunk, a page index or the footer."""
        if start < MAGIC_BYTES or end > self._end:
            return True
        before = bisect_left(self._data_starts, end)
        return before > 0 and self._data_ends[before - 1] > start

    def overlaps_filters(self, start: int, end: int) -> bool:
        """Whether the filter at [start, end) shares bytes with another one."""
        first = bisect_left(self._filter_starts, start)
        behind = bisect_left(self._filter_starts, end)
        return behind - first > 1 or (first > 0 and self._filter_ends[first - 1] > start)


def _sorted(ranges: Iterable[Range]) -> tuple[list[int], list[int]]:
    """The starts in order, and for each the greatest end up to there."""
    ordered = sorted(ranges)
    return [start for start, _ in ordered], list(accumulate((end for _, end in ordered), max))


def _filter_ranges(chunks: ChunkTable, end: int) -> Iterator[Range]:
    """Of every chunk: the filter as far as the footer tells its length; absent ones included."""
    lengths = chunks.every("bloom_filter_length")
    for start, length in zip(chunks.every("bloom_filter_offset"), lengths, strict=True):
        yield start, start + min(max(length, 0), end)


def _pages(chunks: ChunkTable, end: int) -> Iterator[Range]:
    """Where a chunk has values, a size that cannot be stands for all that follows and more, and a
    start that cannot be for the whole file."""
    for meta, elsewhere, num_values, dictionary, data, size in zip(
        chunks.every("meta_start"),
        chunks.every("has_file_path"),
        chunks.every("num_values"),
        chunks.every("dictionary_page_offset"),
        chunks.every("data_page_offset"),
        chunks.every("total_compressed_size"),
        strict=True,
    ):
        if meta == _kernel.ABSENT or elsewhere or num_values == 0:
            continue
        start = dictionary if 0 < dictionary < data else data
        if not MAGIC_BYTES <= start <= end:
            yield MAGIC_BYTES, end + 1
        elif not 0 < size <= end - start:
            yield start, end + 1
        else:
            yield start, start + size


def _indexes(chunks: ChunkTable, end: int) -> Iterator[Range]:
    for kind in ("offset_index", "column_index"):
        lengths = chunks.every(f"{kind}_length")
        for start, length in zip(chunks.every(f"{kind}_offset"), lengths, strict=True):
            if 0 < start < end and 0 < length <= end - start:
                yield start, start + length
