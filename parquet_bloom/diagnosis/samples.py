"""Stored values that are missing from a filter: a sample of them, and whether a hash is of one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.parquet.file import ParquetFile
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.pages.pages import ChunkRun, chunk_runs, used_entries

SAMPLE_VALUES = 1000
SAMPLE_PAGES = 32

# All of them are hashed in hundreds of ways.
SAMPLE_BYTES = 1 << 20
MAX_VALUE_BYTES = 64 << 10

# How far into a page a sample reaches: enough to find the values in one that repeats them a lot.
PAGE_REACH = 1 << 14

Page = int | None
"""A data page of the chunk, counted from 0; None is the dictionary page."""


@dataclass(frozen=True, slots=True)
class StoredValue:
    """A value's stored bytes; `index` is its place in the dictionary, None outside one."""

    plain: bytes
    index: int | None


def spread(pages: Sequence[Page], count: int) -> list[Page]:
    """At most `count` of the pages, evenly spread."""
    step = max(1.0, len(pages) / count)
    return [pages[int(i * step)] for i in range(min(count, len(pages)))]


def missing_values(
    file: ParquetFile,
    chunk: ColumnChunk,
    filter: SplitBlockBloomFilter,
    pages: Sequence[Page],
) -> list[StoredValue]:
    """Distinct values of these pages that are not found, some SAMPLE_VALUES, in random order.

    Values longer than MAX_VALUE_BYTES are left out, and some more where they are long. Raises PageError and UnsupportedError, as chunk_runs.
    """
    sample = _Sample(file, chunk, spread(pages, SAMPLE_PAGES))
    for part in chunk_runs(file.source, file.footer, chunk):
        if sample.wants(part.page):
            sample.add(part, ~filter.check_hashes(part.run.hashes()))
        if sample.is_behind(part.page):
            break
    return sample.values()


def page_hashes(
    file: ParquetFile, chunk: ColumnChunk, pages: Sequence[Page]
) -> dict[Page, NDArray[np.uint64]]:
    """The hashes of a sample of the distinct values of each of these pages. Raises as above."""
    hashes: dict[Page, NDArray[np.uint64]] = {page: np.empty(0, np.uint64) for page in pages}
    for part in chunk_runs(file.source, file.footer, chunk):
        if part.page in hashes:
            own = part.run.hashes()
            if part.is_dictionary:
                own = own[_used(file, chunk, own.size)]
            some = np.unique(own[:PAGE_REACH])
            hashes[part.page] = np.union1d(hashes[part.page], some)
    return hashes


def stored_among(
    file: ParquetFile,
    chunk: ColumnChunk,
    hashes: NDArray[np.uint64],
    pages: Collection[Page] | None = None,
) -> NDArray[np.bool_]:
    """For each hash: whether a value of these pages (None: of the chunk) has it. Raises as above.

    A dictionary's entries count as stored whether they are used or not.
    """
    is_near = np.zeros(1 << 16, np.bool_)
    is_near[hashes.astype(np.uint16)] = True
    stored = np.zeros(hashes.size, np.bool_)
    for part in chunk_runs(file.source, file.footer, chunk):
        if pages is None or part.page in pages:
            own = part.run.hashes()
            # The low 16 bits leave few to compare.
            stored |= np.isin(hashes, own[is_near[own.astype(np.uint16)]])
    return stored


def _used(file: ParquetFile, chunk: ColumnChunk, num_entries: int) -> NDArray[np.bool_]:
    """Which entries of the dictionary a row has: the others need not be in a filter."""
    used = used_entries(file.source, file.footer, chunk, num_entries)
    return np.frombuffer(used, np.bool_)


class _Sample:
    """Some values of each wanted page, each value once."""

    def __init__(self, file: ParquetFile, chunk: ColumnChunk, pages: Sequence[Page]) -> None:
        self._file, self._chunk = file, chunk
        self._pages = set(pages)
        self._last = max((page for page in pages if page is not None), default=-1)
        self._quota = -(-SAMPLE_VALUES // max(1, len(pages)))
        self._room = SAMPLE_BYTES // max(1, len(pages))
        self._values: dict[bytes, StoredValue] = {}
        self._random = np.random.default_rng(0)

    def wants(self, page: Page) -> bool:
        return page in self._pages

    def is_behind(self, page: Page) -> bool:
        """Whether no page that comes after this one is wanted."""
        return page is not None and page > self._last

    def add(self, part: ChunkRun, is_missing: NDArray[np.bool_]) -> None:
        if part.is_dictionary:
            is_missing &= _used(self._file, self._chunk, is_missing.size)
        candidates = np.flatnonzero(is_missing)[:PAGE_REACH]
        _, distinct = np.unique(part.run.hashes()[candidates], return_index=True)
        count = min(self._quota, distinct.size)
        chosen = np.zeros(is_missing.size, np.bool_)
        chosen[candidates[self._random.choice(distinct, count, replace=False)]] = True
        last = int(candidates[-1]) + 1 if candidates.size else 0
        self._take(
            part, np.flatnonzero(chosen), compress(part.run.values(), chosen[:last].tolist())
        )

    def _take(self, part: ChunkRun, indices: NDArray[np.intp], values: Iterable[bytes]) -> None:
        room = self._room
        for index, plain in zip(indices.tolist(), values, strict=False):
            if room <= 0:
                break
            if len(plain) <= MAX_VALUE_BYTES:
                value = StoredValue(plain, index if part.is_dictionary else None)
                self._values.setdefault(plain, value)
                room -= len(plain)

    def values(self) -> list[StoredValue]:
        values = list(self._values.values())
        return [values[i] for i in self._random.permutation(len(values))]
