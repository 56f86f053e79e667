"""Proves that slices are what the manifest says, that they lead engines to the same rows as us, and that they have
the bits of the filters in the files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.filters.sizing import BLOCK_BYTES
from parquet_bloom.index.slices import ROWS, Slices, SlicesReader
from parquet_bloom.index.slices_writer import InMemory, in_tiles, write_slices
from parquet_bloom.index.units import Unit
from parquet_bloom.index.values_reader import FoundFilter
from parquet_bloom.index.written_again import WrittenAgain
from parquet_bloom.native import _kernel
from parquet_bloom.parallel import memory

# Of the memory budget, what filters may take while they are compared.
_FOR_FILTERS: Final = 4


class _AllFilters:
    """Those of a file of slices, as a run."""

    def __init__(self, reader: SlicesReader) -> None:
        self.num_slots, self.pages = reader.about.num_slots, reader.pages
        self.live = ((0, self.num_slots),)


def file_problems(reader: SlicesReader) -> Iterator[str]:
    """What is wrong with a file of slices. Raises FormatError for damage, OSError."""
    about, again = reader.about, WrittenAgain(reader.source)
    run = _AllFilters(reader)
    written = write_slices(again, about.name, about.first_place, about.num_blocks, [run])
    yield from again.problems(written, about)


def unit_problems(slices: Slices, units: Sequence[Unit]) -> Iterator[str]:
    """What is wrong with all units of a segment, whose places ascend without gaps."""
    about, place = slices.about, 0
    ends = {reader.about.first_place + reader.about.num_slots for reader in slices.readers}
    with_places = [unit for unit in units if unit.num_places]
    if (
        units[: len(with_places)] != with_places
        or len(units) - len(with_places) != about.num_others
    ):
        yield f"{about.num_others} units without places, expected behind all others"
    for unit in with_places:
        place += unit.num_places
        if any(unit.first_place < end < place for end in ends):
            yield f"{unit.path}: places {unit.first_place} to {place} have filters of several sizes"


class FilterProblem(NamedTuple):
    """What the bits of a filter are in slices: `lost`, some of them, or `unexplained`, some others."""

    path: str
    row_group: int
    bits: Literal["lost", "unexplained"]


class _KeptFilter(NamedTuple):
    slot: int
    path: str
    row_group: int
    bitset: bytes


class FiltersProof:
    """Proves that slices have the bits of the filters of their files, many of which are compared at a time."""

    def __init__(self, slices: Slices) -> None:
        self._slices = slices
        self._held: list[list[_KeptFilter]] = [[] for _ in slices.readers]
        self._bytes = 0
        self.num_filters = 0

    def add(self, unit: Unit, filters: Sequence[FoundFilter | str]) -> Iterator[FilterProblem]:
        """Compare the filters of a unit with its slices, or keep them until they are compared; yields what is wrong
        with any. Raises what reads the filters raises, FormatError for damage, OSError."""
        at, reader = next(
            (at, each)
            for at, each in enumerate(self._slices.readers)
            if unit.first_place < each.about.first_place + each.about.num_slots
        )
        for number in range(unit.num_places):
            row_group = unit.row_group + number
            found = filters[row_group] if row_group < len(filters) else ""
            num_bytes = reader.about.num_blocks * BLOCK_BYTES
            bitset = None if isinstance(found, str) else _bitset(found, num_bytes)
            if bitset is None:
                yield FilterProblem(unit.path, row_group, "lost")
                continue
            slot = unit.first_place - reader.about.first_place + number
            self._held[at].append(_KeptFilter(slot, unit.path, row_group, bitset))
            self._bytes += num_bytes
            self.num_filters += 1
        if self._bytes > memory() // _FOR_FILTERS:
            yield from self.rest()

    def rest(self) -> Iterator[FilterProblem]:
        """Compare what is left."""
        for reader, held in zip(self._slices.readers, self._held, strict=True):
            if held:
                yield from _compared(reader, sorted(held))
            held.clear()
        self._bytes = 0


def _bitset(found: FoundFilter, num_bytes: int) -> bytes | None:
    """The bits of a filter of this size that can be believed."""
    bitset = found.bitset() if found.num_bytes == num_bytes else ""
    return None if isinstance(bitset, str) else bitset


def _compared(reader: SlicesReader, held: Sequence[_KeptFilter]) -> Iterator[FilterProblem]:
    about, num_slots = reader.about, len(held)
    ranges = list(_ranges([each.slot for each in held]))
    run = InMemory([each.bitset for each in held], about.num_blocks)
    size = (num_slots + 7) // 8
    lost, unexplained = np.zeros((2, size), np.uint8)
    for first, end in in_tiles(max(num_slots, about.num_slots), about.num_blocks):
        pages, theirs, at = reader.pages(first, end), bytearray((end - first) * ROWS * size), 0
        for slot, count in ranges:
            _kernel.copy_slots(pages, about.num_slots, slot, theirs, num_slots, at, count)
            at += count
        ours, stored = (
            np.frombuffer(each, np.uint8).reshape(-1, size)
            for each in (run.pages(first, end), theirs)
        )
        lost |= np.bitwise_or.reduce(ours & ~stored)
        unexplained |= np.bitwise_or.reduce(stored & ~ours)
    for each in (held[number] for number in _set(lost)):
        yield FilterProblem(each.path, each.row_group, "lost")
    for each in (held[number] for number in _set(unexplained)):
        yield FilterProblem(each.path, each.row_group, "unexplained")


def _set(bits: NDArray[np.uint8]) -> list[int]:
    found: list[int] = np.flatnonzero(np.unpackbits(bits)).tolist()
    return found


def _ranges(slots: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Ascending numbers as (from, count)."""
    start = 0
    for at in range(1, len(slots) + 1):
        if at == len(slots) or slots[at] != slots[at - 1] + 1:
            yield slots[start], at - start
            start = at
