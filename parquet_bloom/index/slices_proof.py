"""Proves that slices are what the manifest says, that they lead engines to the same rows as us, and that they have the
bits of the filters in the files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.errors import FormatError
from parquet_bloom.filters.sizing import BLOCK_BYTES
from parquet_bloom.index.parquet_writer import plain_header
from parquet_bloom.index.slices import ROWS, Slices, SlicesReader
from parquet_bloom.index.slices_writer import InMemory, in_tiles
from parquet_bloom.index.units import Unit
from parquet_bloom.index.values_reader import FoundFilter
from parquet_bloom.native import _kernel
from parquet_bloom.parallel import memory
from parquet_bloom.storage.source import Source

# Of the memory budget, what filters may take while they are compared.
_FOR_FILTERS: Final = 4


@contextmanager
def reading_footer(source: Source) -> Iterator[None]:
    """Make FormatErrors of what is missing in a footer, which engines need and we do not."""
    try:
        yield
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        raise FormatError(f"{source.path}: no footer of an index: {error}") from None


def file_problems(reader: SlicesReader, row_groups: Sequence[Any]) -> Iterator[str]:
    """What is wrong with a file of slices, `row_groups` of whose footer are what engines go by. Raises FormatError for
    damage, OSError."""
    about, path = reader.about, reader.source.path
    stride = about.header + about.page_bytes
    expected = []
    for group, start in enumerate(about.starts):
        first = group * about.per_group
        end = min(first + about.per_group, about.num_blocks)
        rows = (ROWS * (end - first), ROWS * first, ROWS * end - 1)
        expected.append((start, (end - first) * stride, *rows))
    with reading_footer(reader.source):
        seen = [_seen(group) for group in row_groups]
    if seen != expected:
        yield f"{path}: other rows for engines than for us"
    header = plain_header(about.page_bytes, ROWS)
    for block in range(about.num_blocks):
        if reader.source.read_at(about.start(block) - about.header, about.header) != header:
            yield f"{path}: block {block}: no page of {ROWS} rows for engines"
            break
    for _ in reader.all_pages():
        pass


def _seen(group: Any) -> tuple[int, ...]:
    """Start and size of the bits of a row group, how many rows, the first and the last of them."""
    rows, bits = (chunk.meta_data for chunk in group.columns)
    bounds = (rows.statistics.min_value, rows.statistics.max_value)
    first, last = (int.from_bytes(each, "little") for each in bounds)
    return bits.data_page_offset, bits.total_compressed_size, group.num_rows, first, last


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
