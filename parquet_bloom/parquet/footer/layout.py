"""Which bytes of a file are used for what, to tell a filter from bytes that only look like one.

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


class Ranges:
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

    def overlap_another(self, start: int, end: int) -> bool:
        """Whether any range but [start, end) itself, which is one of them, overlaps it."""
        first = bisect_left(self._starts, start)
        behind = bisect_left(self._starts, end)
        return behind - first > 1 or (first > 0 and self._ends[first - 1] > start)

    def sharing(self, start: int, end: int) -> list[Range]:
        """The ranges that overlap [start, end)."""
        before = self._ordered[: bisect_left(self._starts, end)]
        return [found for found in before if found[1] > start]

    def num_at(self, start: int) -> int:
        """The number of ranges that begin at `start`."""
        return bisect_right(self._starts, start) - bisect_left(self._starts, start)


class Layout:
    """The ranges of `pages`, `indexes` (page indexes) and `filters` according to the footer, which
    starts at `end`."""

    def __init__(self, chunks: ChunkTable, end: int) -> None:
        self._chunks = chunks
        self._end = end

    @cached_property
    def pages(self) -> Ranges:
        return Ranges(_pages(self._chunks, self._end))

    @cached_property
    def indexes(self) -> Ranges:
        return Ranges(_indexes(self._chunks, self._end))

    @cached_property
    def filters(self) -> Ranges:
        return Ranges(_filters(self._chunks, self._end))

    @cached_property
    def _everything(self) -> Ranges:
        kinds = (_pages, _indexes, _filters)
        return Ranges(each for kind in kinds for each in kind(self._chunks, self._end))

    @property
    def pages_reach_past_the_end(self) -> bool:
        """Whether pages have an impossible offset or size."""
        return self.pages.last > self._end

    def filters_reach_past_the_end(self, replaced: Collection[int]) -> bool:
        """Whether a filter extends past the end of the data, except those of the `replaced` chunks,
        counted row group by row group."""
        return any(
            max(end, start + 1) > self._end
            for chunk, (start, end) in enumerate(_filter_ranges(self._chunks, self._end))
            if chunk not in replaced
        )

    def is_alone(self, start: int, end: int) -> bool:
        """Whether the filter at [start, end) overlaps nothing: one look instead of four."""
        is_inside = start >= MAGIC_BYTES and end <= self._end
        return is_inside and not self._everything.overlap_another(start, end)

    def overlaps_data(self, start: int, end: int) -> bool:
        """Whether [start, end) overlaps the magic, a column chunk, a page index or the footer."""
        is_outside = start < MAGIC_BYTES or end > self._end
        return is_outside or self.pages.overlap(start, end) or self.indexes.overlap(start, end)

    def data_in(self, start: int, end: int) -> list[Range]:
        """The ranges of column chunks and page indexes that overlap [start, end)."""
        return [*self.pages.sharing(start, end), *self.indexes.sharing(start, end)]


def without(whole: Range, taken: Iterable[Range]) -> Iterator[Range]:
    """The parts of `whole` outside all `taken` ranges, in order."""
    start, end = whole
    for taken_start, taken_end in sorted(taken):
        if start < min(taken_start, end):
            yield start, min(taken_start, end)
        start = max(start, taken_end)
    if start < end:
        yield start, end


def _rows(chunks: ChunkTable, *fields: str) -> Iterator[tuple[int, ...]]:
    return zip(*map(chunks.every, fields), strict=True)


def _filter_ranges(chunks: ChunkTable, end: int) -> Iterator[Range]:
    """The range of every chunk's filter, empty without a length; start ABSENT if there is none."""
    for start, length in _rows(chunks, "bloom_filter_offset", "bloom_filter_length"):
        yield start, start + min(max(length, 0), end)


def _present_filters(chunks: ChunkTable, end: int) -> Iterator[Range]:
    return (found for found in _filter_ranges(chunks, end) if found[0] != _kernel.ABSENT)


def _filters(chunks: ChunkTable, end: int) -> Iterator[Range]:
    return (each for each in _filter_ranges(chunks, end) if each[0] != _kernel.ABSENT)


def _pages(chunks: ChunkTable, end: int) -> Iterator[Range]:
    """The pages of every chunk with values. An impossible size counts as up to past the end, an
    impossible start as the whole file."""
    sizes = ("num_values", "total_compressed_size")
    offsets = ("dictionary_page_offset", "data_page_offset")
    for meta, elsewhere, num_values, size, dictionary, data in _rows(
        chunks, "meta_start", "has_file_path", *sizes, *offsets
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
        for start, length in _rows(chunks, f"{kind}_offset", f"{kind}_length"):
            if 0 < start < end and 0 < length <= end - start:
                yield start, start + length
