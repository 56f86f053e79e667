"""Samples of stored values, and whether a hash belongs to a stored value."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from math import gcd

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.dataclass import dataclass
from parquet_bloom.diagnosis.layouts import STANDARD
from parquet_bloom.filters.hashers import Hashes
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.parquet.file import ParquetContainer
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.pages.pages import ChunkRun, chunk_runs, page_rows, used_entries

SAMPLE_VALUES = 1000
SAMPLE_PAGES = 32

# All of them are hashed in hundreds of ways.
SAMPLE_BYTES = 1 << 20
MAX_VALUE_BYTES = 64 << 10

# How far into a page a sample reaches: far enough for pages that repeat their values a lot.
PAGE_REACH = 1 << 14

PageNumber = int | None
"""A data page of the chunk, counted from 0; None is the dictionary page."""


@dataclass(frozen=True, slots=True)
class StoredValue:
    """A value's stored bytes; `index`: in the dictionary, None outside one."""

    plain: bytes
    index: int | None


def spread(pages: Sequence[PageNumber], count: int) -> list[PageNumber]:
    """At most `count` of the pages, evenly spaced."""
    step = max(1.0, len(pages) / count)
    return [pages[int(i * step)] for i in range(min(count, len(pages)))]


def missing_values(
    file: ParquetContainer,
    chunk: ColumnChunk,
    filter: SplitBlockBloomFilter,
    pages: Sequence[PageNumber],
) -> list[StoredValue]:
    """About SAMPLE_VALUES distinct values of these pages that are not found, in random order; fewer
    where they are long, and none of more than MAX_VALUE_BYTES. Raises as chunk_runs."""
    wanted = spread(pages, SAMPLE_PAGES)
    last = max((page for page in wanted if page is not None), default=-1)
    quota = -(-SAMPLE_VALUES // max(1, len(wanted)))
    room = SAMPLE_BYTES // max(1, len(wanted))
    random = np.random.default_rng(0)
    values: dict[bytes, StoredValue] = {}
    for part in chunk_runs(file.source, file.footer, chunk):
        if part.page in wanted:
            is_missing = ~part.run.found_in(filter)
            if part.is_dictionary:
                is_missing &= _used(file, chunk, is_missing.size)
            for value in _chosen(part, is_missing, quota, room, random):
                values.setdefault(value.plain, value)
        if part.page is not None and part.page > last:
            break
    ordered = list(values.values())
    return [ordered[i] for i in random.permutation(len(ordered))]


def stored_values(file: ParquetContainer, chunk: ColumnChunk) -> Sequence[StoredValue]:
    """A sample of those that are stored: of those that a filter without any value lacks."""
    pages = list(dict.fromkeys(part.page for part in chunk_runs(file.source, file.footer, chunk)))
    return missing_values(file, chunk, SplitBlockBloomFilter.empty(1), pages)


def _chosen(
    part: ChunkRun,
    is_missing: NDArray[np.bool_],
    quota: int,
    room: int,
    random: np.random.Generator,
) -> Iterator[StoredValue]:
    """At most `quota` distinct values of a page, of `room` bytes in all."""
    candidates = np.flatnonzero(is_missing)[:PAGE_REACH]
    _, distinct = np.unique(part.run.hashes()[candidates], return_index=True)
    count = min(quota, distinct.size)
    positions = np.sort(candidates[random.choice(distinct, count, replace=False)]).tolist()
    for position, plain in zip(positions, part.run.take(positions), strict=True):
        if room <= 0:
            break
        if len(plain) <= MAX_VALUE_BYTES:
            yield StoredValue(plain, position if part.is_dictionary else None)
            room -= len(plain)


def page_hashes(
    file: ParquetContainer, chunk: ColumnChunk, pages: Sequence[PageNumber]
) -> dict[PageNumber, NDArray[np.uint64]]:
    """The hashes of some distinct values of each of these pages. Raises as chunk_runs."""
    hashes: dict[PageNumber, NDArray[np.uint64]] = {page: np.empty(0, np.uint64) for page in pages}
    for part in chunk_runs(file.source, file.footer, chunk):
        if part.page in hashes:
            own = part.run.hashes()
            if part.is_dictionary:
                own = own[_used(file, chunk, own.size)]
            hashes[part.page] = np.union1d(hashes[part.page], own[:PAGE_REACH])
    return hashes


def hashes_of_blocks(
    file: ParquetContainer, chunk: ColumnChunk, is_meant: NDArray[np.bool_]
) -> Hashes:
    """The distinct hashes of values that belong to the blocks with a flag. All entries of a dictionary count, used or
    not. Raises as chunk_runs."""
    found = [np.empty(0, np.uint64)]
    for part in chunk_runs(file.source, file.footer, chunk):
        hashes = part.run.hashes()
        found.append(np.unique(hashes[is_meant[STANDARD.block(hashes, is_meant.size)]]))
    return np.unique(np.concatenate(found))


def stored_among(
    file: ParquetContainer,
    chunk: ColumnChunk,
    hashes: NDArray[np.uint64],
    pages: Collection[PageNumber] | None = None,
) -> NDArray[np.bool_]:
    """For each hash: whether a value of these pages (None: of the chunk) has it. All entries of a
    dictionary count, used or not. Raises as chunk_runs."""
    is_near = np.zeros(1 << 16, np.bool_)
    is_near[hashes.astype(np.uint16)] = True
    stored = np.zeros(hashes.size, np.bool_)
    for part in chunk_runs(file.source, file.footer, chunk):
        if pages is None or part.page in pages:
            own = part.run.hashes()
            # The low 16 bits leave few to compare.
            stored |= np.isin(hashes, own[is_near[own.astype(np.uint16)]])
    return stored


def missing_between(
    file: ParquetContainer, chunk: ColumnChunk, filter: SplitBlockBloomFilter
) -> tuple[int, int, int]:
    """How many values come before the first that is not found, how many up to the last, and how many there are.
    Raises as chunk_runs."""
    first, end, total = None, 0, 0
    for hashes in _in_order(file, chunk):
        missing = np.flatnonzero(~filter.check_hashes(hashes))
        if missing.size:
            first = total + int(missing[0]) if first is None else first
            end = total + int(missing[-1]) + 1
        total += hashes.size
    return first or 0, end, total


def distance_between(
    file: ParquetContainer, chunk: ColumnChunk, filter: SplitBlockBloomFilter, is_found: bool
) -> tuple[int, int, int]:
    """The greatest distance of which those between the values that are found, or that are not, are multiples, as rows
    have them; how many such values there are, and how many from the first to the last of them are at this distance.
    Raises as chunk_runs."""
    first, last, distance, count, total = None, 0, 0, 0, 0
    for hashes in _in_order(file, chunk):
        such = np.flatnonzero(filter.check_hashes(hashes) == is_found) + total
        if such.size:
            first = int(such[0]) if first is None else first
            distance = gcd(distance, int(np.gcd.reduce(such - first)))
            last, count = int(such[-1]), count + such.size
        total += hashes.size
    return distance, count, (last - (first or 0)) // max(1, distance) + 1


def inside_and_outside(
    file: ParquetContainer, chunk: ColumnChunk, values: range
) -> tuple[Hashes, Hashes]:
    """The hashes of some distinct values among these, counted as rows have them, and of some of the others that are
    not among these. Raises as chunk_runs."""
    random = np.random.default_rng(0)
    inside, outside = np.empty(0, np.uint64), np.empty(0, np.uint64)
    for within, before, after in _parted(file, chunk, values):
        inside = np.union1d(inside, _some(within, random))
        outside = np.union1d(outside, _some(np.concatenate((before, after)), random))
    stored = np.zeros(outside.size, np.bool_)
    for within, _, _ in _parted(file, chunk, values):
        stored |= np.isin(outside, within)
    return inside, outside[~stored]


def _parted(
    file: ParquetContainer, chunk: ColumnChunk, values: range
) -> Iterator[tuple[Hashes, Hashes, Hashes]]:
    """The hashes of values among these, of those before them, and of those after them, page by page."""
    position = 0
    for hashes in _in_order(file, chunk):
        start = min(max(values.start - position, 0), hashes.size)
        end = min(max(values.stop - position, start), hashes.size)
        yield hashes[start:end], hashes[:start], hashes[end:]
        position += hashes.size


def _in_order(file: ParquetContainer, chunk: ColumnChunk) -> Iterator[Hashes]:
    """The hashes of all values as rows have them, page by page."""
    for part in page_rows(file.source, file.footer, chunk):
        hashes = part.run.hashes()
        yield hashes[: part.rows.size] if part.indices is None else hashes[part.indices]


def _some(hashes: Hashes, random: np.random.Generator) -> Hashes:
    """Not evenly spaced: what a writer left out may be."""
    return random.choice(hashes, min(hashes.size, SAMPLE_VALUES), replace=False)


def _used(file: ParquetContainer, chunk: ColumnChunk, num_entries: int) -> NDArray[np.bool_]:
    """Which entries of the dictionary rows refer to: the others need not be in a filter."""
    return np.frombuffer(used_entries(file.source, file.footer, chunk, num_entries), np.bool_)
