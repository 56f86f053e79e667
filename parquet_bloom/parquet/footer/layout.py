"""The use of the byte ranges of a file, to tell a filter from bytes that only look like one.

    | PAR1 | column chunks, page indexes, Bloom filters, gaps | footer

If the footer lies about one chunk, every range after that chunk is in doubt.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from itertools import accumulate

from parquet_bloom.native import _kernel
from parquet_bloom.parquet.footer.chunk_table import ChunkTable

MAGIC_BYTES = 4

Range = tuple[int, int]


class Layout:
    """The ranges of pages, page indexes and filters according to the footer, which starts at `end`."""

    def __init__(self, chunks: ChunkTable, end: int) -> None:
        self._chunks = chunks
        self._end = end

    @cached_property
    def _pages(self) -> _Ranges:
        return _Ranges(_pages(self._chunks, self._end))

    @cached_property
    def _indexes(self) -> _Ranges:
        return _Ranges(_indexes(self._chunks, self._end))

    @cached_property
    def _filters(self) -> _Ranges:
        return _Ranges(_present_filters(self._chunks, self._end))

    @cached_property
    def _everything(self) -> _Ranges:
        chunks, end = self._chunks, self._end
        return _Ranges(
            [*_pages(chunks, end), *_indexes(chunks, end), *_present_filters(chunks, end)]
        )

    def reaches_past_the_end(self, replaced: Collection[int]) -> bool:
        """Whether pages or a filter extend past the end of the data, so that whatever is written
        there would be taken for them. `replaced`: chunks, counted row group by row group, whose
        filters are about to be replaced."""
        return self.pages_reach_past_the_end or any(
            max(end, start + 1) > self._end
            for chunk, (start, end) in enumerate(_filter_ranges(self._chunks, self._end))
            if chunk not in replaced
        )

    @property
    def pages_reach_past_the_end(self) -> bool:
        """Whether pages have an impossible offset or size."""
        return self._pages.last > self._end

    def is_alone(self, start: int, end: int) -> bool:
        """Whether the filter at [start, end) overlaps nothing: one look instead of four."""
        return not self.is_outside(start, end) and not self._everything.overlap_another(start, end)

    def overlaps_data(self, start: int, end: int) -> bool:
        """Whether [start, end) overlaps the magic, a column chunk, a page index or the footer."""
        return (
            self.is_outside(start, end)
            or self.overlaps_pages(start, end)
            or self.overlaps_indexes(start, end)
        )

    def data_in(self, start: int, end: int) -> list[Range]:
        """The ranges of column chunks and page indexes that overlap [start, end)."""
        return [*self._pages.sharing(start, end), *self._indexes.sharing(start, end)]

    def is_outside(self, start: int, end: int) -> bool:
        """Whether [start, end) overlaps the magic or the footer."""
        return start < MAGIC_BYTES or end > self._end

    def overlaps_pages(self, start: int, end: int) -> bool:
        """Whether [start, end) overlaps a column chunk."""
        return self._pages.overlap(start, end)

    def overlaps_indexes(self, start: int, end: int) -> bool:
        """Whether [start, end) overlaps a page index."""
        return self._indexes.overlap(start, end)

    def overlaps_filters(self, start: int, end: int) -> bool:
        """Whether the filter at [start, end) overlaps another one."""
        return self._filters.overlap_another(start, end)

    def num_filters_at(self, start: int) -> int:
        """The number of filters that begin at `start`."""
        return self._filters.num_at(start)


class _Ranges:
    """Ranges ordered by start, and for each the greatest end up to there."""

    def __init__(self, ranges: Iterable[Range]) -> None:
        self._ordered = sorted(ranges)
        self._starts = [start for start, _ in self._ordered]
        self._ends = list(accumulate((end for _, end in self._ordered), max))

    @property
    def last(self) -> int:
        """The greatest end; 0 if there are no ranges."""
        return self._ends[-1] if self._ends else 0

    def overlap(self, start: int, end: int) -> bool:
        """Whether any range overlaps [start, end)."""
        before = bisect_left(self._starts, end)
        return before > 0 and self._ends[before - 1] > start

    def sharing(self, start: int, end: int) -> list[Range]:
        """The ranges that overlap [start, end)."""
        before = self._ordered[: bisect_left(self._starts, end)]
        return [found for found in before if found[1] > start]

    def overlap_another(self, start: int, end: int) -> bool:
        """Whether any range but [start, end) itself, which is one of them, overlaps it."""
        first = bisect_left(self._starts, start)
        behind = bisect_left(self._starts, end)
        return behind - first > 1 or (first > 0 and self._ends[first - 1] > start)

    def num_at(self, start: int) -> int:
        return bisect_right(self._starts, start) - bisect_left(self._starts, start)


def without(whole: Range, taken: Iterable[Range]) -> Iterator[Range]:
    """The parts of `whole` outside all `taken` ranges, in order."""
    start, end = whole
    for taken_start, taken_end in sorted(taken):
        if start < min(taken_start, end):
            yield start, min(taken_start, end)
        start = max(start, taken_end)
    if start < end:
        yield start, end


def _filter_ranges(chunks: ChunkTable, end: int) -> Iterator[Range]:
    """The range of every chunk's filter, as far as the footer gives its length; also absent ones."""
    lengths = chunks.every("bloom_filter_length")
    for start, length in zip(chunks.every("bloom_filter_offset"), lengths, strict=True):
        yield start, start + min(max(length, 0), end)


def _present_filters(chunks: ChunkTable, end: int) -> Iterator[Range]:
    return (found for found in _filter_ranges(chunks, end) if found[0] != _kernel.ABSENT)


def _pages(chunks: ChunkTable, end: int) -> Iterator[Range]:
    """The pages of every chunk with values. An impossible size counts as up to past the end, an
    impossible start as the whole file."""
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
