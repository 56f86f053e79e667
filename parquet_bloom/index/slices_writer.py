"""Writes bit slices of filters, see slices: of runs, in each of which filters of one size are turned already or in
memory."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, Protocol

import numpy as np

from parquet_bloom.index.parquet_writer import (
    ParquetWriter,
    PlainColumn,
    Writable,
    WrittenPage,
    plain_header,
)
from parquet_bloom.index.slices import ROWS, SlicesFile, rows_at_once
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.thrift import ttypes as thrift

_ROW: Final = PlainColumn("row", thrift.Type.INT64, thrift.Encoding.DELTA_BINARY_PACKED)
# Of `row`, which counts.
_PER_PAGE: Final = 1 << 16

# Engines read a row group at least; a manifest should not name too many of them.
_GROUP_BYTES: Final = 1 << 20
_MOST_GROUPS: Final = 64

# Of pages that are made at a time: what fits a cache, but some blocks of each filter.
_TILE_BYTES: Final = 1 << 20
_LEAST_BLOCKS: Final = 8
_MOST_BYTES: Final = 64 << 20


class SliceRun(Protocol):
    """Filters of one size. `live`: the ranges [from, end) of those that are wanted, of `num_slots`."""

    @property
    def num_slots(self) -> int: ...
    @property
    def live(self) -> Sequence[tuple[int, int]]: ...
    def pages(self, first: int, end: int) -> bytes | bytearray:
        """The rows of blocks `first` to `end`, one page after the other; of all filters. Raises FormatError for
        damage, OSError. What was returned before is nobody's then."""


class InMemory:
    """Bitsets as files have them, as a run."""

    def __init__(self, filters: list[bytes], num_blocks: int) -> None:
        self._filters = _kernel.FilterPages(filters, num_blocks)
        self.num_slots = len(filters)
        self.live = ((0, len(filters)),)
        self._buffer = bytearray()

    def pages(self, first: int, end: int) -> bytearray:
        size = (end - first) * ROWS * ((self.num_slots + 7) // 8)
        if len(self._buffer) != size:
            self._buffer = bytearray(size)
        self._filters.write(first, end, self._buffer)
        return self._buffer


def in_tiles(num_slots: int, num_blocks: int) -> Iterator[tuple[int, int]]:
    """Ranges [from, end) of blocks whose pages are made at a time."""
    page = ROWS * ((num_slots + 7) // 8)
    some = max(_TILE_BYTES // page, min(_LEAST_BLOCKS, _MOST_BYTES // page), 1)
    for first in range(0, num_blocks, some):
        yield first, min(first + some, num_blocks)


def write_slices(
    file: Writable, name: str, first_place: int, num_blocks: int, runs: Sequence[SliceRun]
) -> SlicesFile:
    """Write what is wanted of runs of filters of `num_blocks` blocks, side by side.
    Raises what runs raise, OSError."""
    num_slots = sum(end - start for run in runs for start, end in run.live)
    size = (num_slots + 7) // 8
    bits = PlainColumn("bits", thrift.Type.FIXED_LEN_BYTE_ARRAY, thrift.Encoding.PLAIN, length=size)
    about = {"num_blocks": str(num_blocks), "num_filters": str(num_slots)}
    writer = ParquetWriter(file, "slices", [_ROW, bits], about)
    header = plain_header(ROWS * size, ROWS)
    stride = len(header) + ROWS * size
    per_group = max(1, _GROUP_BYTES // stride, -(-num_blocks // _MOST_GROUPS))
    pages, starts = _joined(runs, num_slots, num_blocks), []
    for first in range(0, num_blocks, per_group):
        count = min(per_group, num_blocks - first)
        _write_rows(writer, ROWS * first, ROWS * (first + count))
        sums = array("I")
        parts = _parts(islice(pages, count), header, rows_at_once(num_slots) * size, sums)
        starts.append(writer.add_chunk(parts, [WrittenPage(stride, ROWS)] * count))
        writer.end_group()
        writer.write(sums.tobytes())
    return SlicesFile(
        name, writer.close(), num_blocks, first_place, num_slots, len(header), per_group,
        tuple(starts),
    )  # fmt: skip


def _parts(
    pages: Iterator[memoryview], header: bytes, size: int, sums: array[int]
) -> Iterator[bytes | memoryview]:
    """Pages with their headers, of which `sums` gets the checksums of every `size` bytes."""
    for page in pages:
        sums.extend(_kernel.checksums(page, size))
        yield header
        yield page


def _write_rows(writer: ParquetWriter, first: int, end: int) -> None:
    """The numbers of rows, in a few bytes, by which engines find them."""
    data, sizes = _kernel.key_pages(np.arange(first, end, dtype=np.uint64), _PER_PAGE)
    written = []
    for size in sizes:
        last = min(first + _PER_PAGE, end)
        bounds = (first.to_bytes(8, "little"), (last - 1).to_bytes(8, "little"))
        written.append(WrittenPage(size, last - first, *bounds))
        first = last
    writer.add_chunk([data], written)


def _joined(runs: Sequence[SliceRun], num_slots: int, num_blocks: int) -> Iterator[memoryview]:
    """The pages of what is wanted of all runs."""
    is_whole = len(runs) == 1 and tuple(runs[0].live) == ((0, runs[0].num_slots),)
    size, joined = ROWS * ((num_slots + 7) // 8), bytearray()
    for first, end in in_tiles(sum(run.num_slots for run in runs), num_blocks):
        if is_whole:
            found = memoryview(runs[0].pages(first, end))
        else:
            if len(joined) != (end - first) * size:
                joined = bytearray((end - first) * size)
            _join(runs, first, end, num_slots, joined)
            found = memoryview(joined)
        for at in range(end - first):
            yield found[at * size : (at + 1) * size]


def _join(
    runs: Sequence[SliceRun], first: int, end: int, num_slots: int, joined: bytearray
) -> None:
    slot = 0
    for run in runs:
        pages = run.pages(first, end)
        for start, behind in run.live:
            count = behind - start
            _kernel.copy_slots(pages, run.num_slots, start, joined, num_slots, slot, count)
            slot += count
