"""Which bytes of a file are used for what, to tell a filter from bytes that only look like one.

    | PAR1 | column chunks, page indexes, Bloom filters, gaps | footer

If the footer lies about one chunk, every range after that chunk is in doubt.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from parquet_bloom.native import _kernel
from parquet_bloom.parallel import read_once
from parquet_bloom.parquet.footer.chunk_table import ChunkTable

MAGIC_BYTES = 4

Range = tuple[int, int]


class Layout:
    """The ranges of `pages`, `indexes` (page indexes) and `filters` according to the footer, which
    starts at `end`."""

    def __init__(self, chunks: ChunkTable, end: int) -> None:
        self._chunks = chunks
        self._end = end

    @read_once
    def pages(self) -> _kernel.Ranges:
        return self._chunks.ranges(self._end, "pages")

    @read_once
    def indexes(self) -> _kernel.Ranges:
        return self._chunks.ranges(self._end, "indexes")

    @read_once
    def filters(self) -> _kernel.Ranges:
        return self._chunks.ranges(self._end, "filters")

    @read_once
    def everything(self) -> _kernel.Ranges:
        return self._chunks.ranges(self._end, "pages", "indexes", "filters")

    @property
    def pages_reach_past_the_end(self) -> bool:
        """Whether pages have an impossible offset or size."""
        return self.pages.last > self._end

    @read_once
    def indexes_past_the_end(self) -> dict[int, Range]:
        """By the number of a chunk, counted row group by row group: a page index of it that ends behind
        the data."""
        found: dict[int, Range] = {}
        for kind in ("offset_index", "column_index"):
            offsets, lengths = (self._chunks.every(f"{kind}_{of}") for of in ("offset", "length"))
            for chunk, (start, length) in enumerate(zip(offsets, lengths, strict=True)):
                if start >= MAGIC_BYTES and length > 0 and start + length > self._end:
                    found.setdefault(chunk, (start, start + length))
        return found

    @property
    def has_all_lengths(self) -> bool:
        """Whether the footer says of every filter how long it is."""
        offsets, lengths = map(self._chunks.every, ("bloom_filter_offset", "bloom_filter_length"))
        return all(
            start < MAGIC_BYTES or length > 0
            for start, length in zip(offsets, lengths, strict=True)
        )

    def filter_past_the_end(self, replaced: Collection[int]) -> int | None:
        """The first chunk, counted row group by row group, whose filter extends past the end of the data, except the
        `replaced` ones."""
        offsets, lengths = map(self._chunks.every, ("bloom_filter_offset", "bloom_filter_length"))
        past = (
            chunk
            for chunk, (start, length) in enumerate(zip(offsets, lengths, strict=True))
            if chunk not in replaced and start + min(max(length, 1), self._end) > self._end
        )
        return next(past, None)

    def is_alone(self, start: int, end: int) -> bool:
        """Whether the filter at [start, end) overlaps nothing: one look instead of four."""
        is_inside = start >= MAGIC_BYTES and end <= self._end
        return is_inside and not self.everything.overlap_another(start, end)

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
        if taken_start >= end:
            break
        if start < taken_start:
            yield start, taken_start
        start = max(start, taken_end)
    if start < end:
        yield start, end
