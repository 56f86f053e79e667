"""Which bytes of a file are taken, so that a filter can be told from what only looks like one.

    | PAR1 | column chunks, page indexes, Bloom filters, gaps | footer

A footer that lies about one chunk makes every range behind that chunk doubtful.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from parquet_bloom.native import _kernel

MAGIC_BYTES = 4


class Layout:
    """The ranges that a footer gives to pages, page indexes and filters.

    `spans` has shape (row groups, leaf columns), dtype _kernel.CHUNK_SPAN; `end` is where the
    footer begins.
    """

    def __init__(self, spans: np.ndarray, end: int) -> None:
        self._end = end
        chunks = spans.ravel()
        self._chunks = chunks
        starts, ends = _data_ranges(chunks[chunks["meta_start"] != _kernel.ABSENT], end)
        order = np.argsort(starts, kind="stable")
        self._data_starts = starts[order]
        self._data_ends = _running_maximum(ends[order])

        filters = np.sort(
            chunks[chunks["bloom_filter_offset"] != _kernel.ABSENT], order="bloom_filter_offset"
        )
        self._filter_starts = filters["bloom_filter_offset"]
        self._filter_ends = _running_maximum(
            self._filter_starts + np.clip(filters["bloom_filter_length"], 0, end)
        )

    def reaches_past_the_end(self, replaced: Collection[int]) -> bool:
        """Whether a range leads behind the end of the data: pages of an impossible place or size,
        or a pointer to a filter. What is written there would be taken for that. `replaced` are the
        chunks, counted row group by row group, whose filters are about to go."""
        starts = self._chunks["bloom_filter_offset"].copy()
        starts[list(replaced)] = _kernel.ABSENT
        ends = starts + np.clip(self._chunks["bloom_filter_length"], 1, self._end)
        return bool((ends > self._end).any() or (self._data_ends > self._end).any())

    def overlaps_data(self, start: int, end: int) -> bool:
        """Whether [start, end) touches the magic, a column chunk, a page index or the footer."""
        if start < MAGIC_BYTES or end > self._end:
            return True
        before = int(np.searchsorted(self._data_starts, end, side="left"))
        return before > 0 and int(self._data_ends[before - 1]) > start

    def overlaps_filters(self, start: int, end: int) -> bool:
        """Whether the filter at [start, end) shares bytes with another one."""
        first = int(np.searchsorted(self._filter_starts, start, side="left"))
        behind = int(np.searchsorted(self._filter_starts, end, side="left"))
        return behind - first > 1 or (first > 0 and int(self._filter_ends[first - 1]) > start)


def _running_maximum(ends: np.ndarray) -> np.ndarray:
    return np.maximum.accumulate(ends) if ends.size else ends


def _data_ranges(chunks: np.ndarray, end: int) -> tuple[np.ndarray, np.ndarray]:
    """Starts and ends of all pages and page indexes."""
    here = chunks[chunks["has_file_path"] == 0]
    ranges = [
        _page_ranges(here, end),
        _index_ranges(here["offset_index_offset"], here["offset_index_length"], end),
        _index_ranges(here["column_index_offset"], here["column_index_length"], end),
    ]
    return (
        np.concatenate([starts for starts, _ in ranges]),
        np.concatenate([ends for _, ends in ranges]),
    )


def _page_ranges(chunks: np.ndarray, end: int) -> tuple[np.ndarray, np.ndarray]:
    """Where a chunk has values, a size that cannot be stands for all that follows and more, and a
    start that cannot be for the whole file."""
    dictionary, data = chunks["dictionary_page_offset"], chunks["data_page_offset"]
    starts = np.where((dictionary > 0) & (dictionary < data), dictionary, data)
    sizes = chunks["total_compressed_size"]
    lost = (starts < MAGIC_BYTES) | (starts > end)
    starts = np.where(lost, MAGIC_BYTES, starts)
    ends = np.where(lost | (sizes <= 0) | (sizes > end - starts), end + 1, starts + sizes)
    filled = chunks["num_values"] != 0
    return starts[filled], ends[filled]


def _index_ranges(
    starts: np.ndarray, lengths: np.ndarray, end: int
) -> tuple[np.ndarray, np.ndarray]:
    real = (starts > 0) & (lengths > 0) & (starts < end) & (lengths <= end - starts)
    return starts[real], (starts + lengths)[real]
