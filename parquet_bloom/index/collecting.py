"""Collects the keys and filters of segments in bounded memory, and writes their maps.

Keys that do not fit the memory go to temporary files, in parts by the highest bits of their hashes. In the end, all
of them are read again in ranges of hashes that fit the processor's cache, each of which is sorted and written: so
that each key is moved to its part once, and sorted once. Filters go there as slices, which are put side by side.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from tempfile import TemporaryFile, gettempdir
from types import TracebackType
from typing import IO, BinaryIO, Final, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.index.keys import (
    HASH_BITS,
    WIDE,
    WIDE_HASH_BITS,
    WIDE_PLACE_BITS,
    KeyBits,
    bits_for,
)
from parquet_bloom.index.map_writer import MapWriter, are_to_fold
from parquet_bloom.index.slices import ROWS
from parquet_bloom.index.slices_writer import InMemory, SliceRun, in_tiles
from parquet_bloom.index.sorted_map import MapFile
from parquet_bloom.native import _kernel
from parquet_bloom.parallel import memory
from parquet_bloom.storage.source import naming

_KEY_BYTES: Final = 8
# Of the memory for keys, how many times they are there while they are put in parts.
_COPIES: Final = 2
# Of the memory budget, what keys may take; the rest is for pages.
_FOR_KEYS: Final = 2
# Keys are in 2^_PART_BITS parts, and read in as many ranges at most.
_PART_BITS: Final = 12
# Keys that are sorted at a time, as long as parts are not larger: half a megabyte.
_SORTED_AT_ONCE: Final = 1 << 16
# What these and their pages are in, which is had again for the next ones.
_KEPT_BYTES: Final = 8 << 20


class KeyRun(Protocol):
    """Wide keys, somewhere."""

    @property
    def num_keys(self) -> int: ...
    def between(self, first: int, end: int) -> Iterator[NDArray[np.uint64]]:
        """Those from `first` up to, but not including, `end`, in any order. Only the highest
        _PART_BITS of both are set."""


class _Parts:
    """Keys in parts: where each begins, in keys, and where the last one ends."""

    def __init__(self, starts: NDArray[np.int64]) -> None:
        self._starts = starts
        self.num_keys = int(starts[-1])

    def _range(self, first: int, end: int) -> tuple[int, int]:
        """From which key on, and up to which one, those between two hashes are."""
        low, high = (at >> (HASH_BITS - _PART_BITS) for at in (first, end))
        return int(self._starts[low]), int(self._starts[high])


class _KeysInMemory(_Parts):
    def __init__(self, keys: NDArray[np.uint64], starts: NDArray[np.int64]) -> None:
        super().__init__(starts)
        self._keys = keys

    def between(self, first: int, end: int) -> Iterator[NDArray[np.uint64]]:
        low, high = self._range(first, end)
        yield self._keys[low:high]


class _Spilled(_Parts):
    """Keys in a temporary file, which is gone with the process."""

    def __init__(
        self, keys: NDArray[np.uint64], starts: NDArray[np.int64], file: IO[bytes]
    ) -> None:
        super().__init__(starts)
        self._file = file
        keys.tofile(file)
        file.flush()

    def between(self, first: int, end: int) -> Iterator[NDArray[np.uint64]]:
        low, high = (at * _KEY_BYTES for at in self._range(first, end))
        # Not mapped into memory, all of which would count as held.
        yield np.frombuffer(_read(self._file, low, high - low), np.uint64)


def _read(file: IO[bytes], start: int, size: int) -> bytes:
    """One call to the system returns 2 GiB at most."""
    found = os.pread(file.fileno(), size, start)
    while len(found) < size:
        found += os.pread(file.fileno(), size - len(found), start + len(found))
    return found


class Collector(Protocol):
    """Holds what `num_held` keys would take, until it is in a file."""

    @property
    def num_held(self) -> int: ...
    def spill(self) -> None:
        """Hold nothing. Raises OSError."""


class KeyRoom:
    """The memory, in bytes, that the keys and filters of all columns share, and temporary files for the others in
    `folder`; in the usual one for None. Leave it with `with`, which removes them."""

    def __init__(self, memory: int, folder: str | None = None) -> None:
        self.most = max(1 << 16, memory // _COPIES // _KEY_BYTES)
        self._collectors: list[Collector] = []
        self._num_held = 0
        self._for_parts = np.empty(0, np.uint64)
        self._folder = folder
        self._files = ExitStack()
        self._failure: OSError | MemoryError | None = None

    @classmethod
    def within_budget(cls) -> Self:
        return cls(memory() // _FOR_KEYS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._files.close()

    def enter(self, collector: Collector) -> None:
        self._collectors.append(collector)

    def leave(self, collector: Collector) -> None:
        self._collectors.remove(collector)
        self._num_held -= collector.num_held

    def hold(self, num_keys: int) -> None:
        """A collector holds so many more. Lets some go to files, if there are more than fit. Raises OSError."""
        self._num_held += num_keys
        try:
            while self._num_held > self.most:
                largest = max(self._collectors, key=_num_held)
                self._num_held -= largest.num_held
                largest.spill()
        except (OSError, MemoryError) as error:
            self._failure = error
            raise

    def for_parts(self, num_keys: int) -> NDArray[np.uint64]:
        """Memory for keys in parts, which those before have no longer."""
        if self._for_parts.size < num_keys:
            # Not both at a time.
            self._for_parts = np.empty(0, np.uint64)
            self._for_parts = np.empty(num_keys, np.uint64)
        return self._for_parts[:num_keys]

    @contextmanager
    def temporary(self) -> Iterator[IO[bytes]]:
        """A file to be written, which is there until the room is left, unless by an exception. Raises OSError."""
        with naming(self._folder or gettempdir()), ExitStack() as files:
            yield files.enter_context(TemporaryFile(dir=self._folder))
            self._files.push(files.pop_all())

    def check(self) -> None:
        """Raise the OSError or MemoryError with which keys were lost, if any were: those of other files, too, than of
        the one that was read then."""
        if self._failure is not None:
            raise self._failure


class KeyCollector:
    """The wide keys of one segment."""

    def __init__(self, room: KeyRoom) -> None:
        self._room = room
        self._held: list[tuple[NDArray[np.uint64], int]] = []
        self._runs: list[KeyRun] = []
        self.num_held = 0
        room.enter(self)

    def add(self, hashes: NDArray[np.uint64], place: int) -> None:
        """Add the keys of hashes of 64 bits, in any order, that are in one place. Raises OSError."""
        self._held.append((hashes, place))
        self.num_held += hashes.size
        self._room.hold(hashes.size)

    def spill(self) -> None:
        with self._room.temporary() as file:
            self._runs.append(_Spilled(*self._in_parts(), file))

    def _in_parts(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Those that are held, and where each part begins; none are held then."""
        found = _kernel.parted_keys(self._held, WIDE_PLACE_BITS, _PART_BITS, self._room.for_parts)
        self._held, self.num_held = [], 0
        return found

    def write(self, file: BinaryIO, name: str, num_places: int) -> MapFile:
        """Write the map of all keys; nothing is left of them. Raises OSError, also if keys were lost."""
        return write_map(file, name, self._taken(), num_places, self._sorted_at_once)

    def ranges(self, bits: KeyBits) -> Iterator[tuple[int, int, NDArray[np.uint64]]]:
        """All keys as narrow ones, ascending, each once, in ranges that cover all that are possible: the first key of
        each range, that behind it, and those that are in it. Nothing is left of them. Raises OSError, also if keys
        were lost."""
        runs = self._taken()
        range_bits = _range_bits(sum(run.num_keys for run in runs), self._sorted_at_once, bits.hash)
        step = bits.end >> range_bits
        for at in range(1 << range_bits):
            yield at * step, (at + 1) * step, bits.narrow(_between(runs, at, range_bits))

    @property
    def _sorted_at_once(self) -> int:
        return min(self._room.most, _SORTED_AT_ONCE)

    def _taken(self) -> list[KeyRun]:
        """All keys; nothing is left of them here. Raises OSError if some were lost."""
        self._room.check()
        self._room.leave(self)
        return [*self._runs, _KeysInMemory(*self._in_parts())]


class _SpilledSlices:
    """Pages of slices in a temporary file, which is gone with the process."""

    def __init__(self, run: InMemory, num_blocks: int, file: IO[bytes]) -> None:
        self._file, self._page = file, ROWS * ((run.num_slots + 7) // 8)
        self.num_slots, self.live = run.num_slots, run.live
        for first, end in in_tiles(run.num_slots, num_blocks):
            file.write(run.pages(first, end))
        file.flush()

    def pages(self, first: int, end: int) -> bytes:
        return _read(self._file, first * self._page, (end - first) * self._page)


class FilterCollector:
    """The filters of `num_blocks` blocks of one segment."""

    def __init__(self, room: KeyRoom, num_blocks: int) -> None:
        self._room, self._num_blocks = room, num_blocks
        self._held: list[bytes] = []
        self._runs: list[SliceRun] = []
        self.num_held = 0
        room.enter(self)

    def add(self, bitset: bytes) -> None:
        """Add a filter behind the others. Raises OSError."""
        self._held.append(bitset)
        # Nothing is put together in memory: it has room for more filters than keys.
        as_keys = len(bitset) // (_KEY_BYTES * _COPIES)
        self.num_held += as_keys
        self._room.hold(as_keys)

    def spill(self) -> None:
        held, self._held, self.num_held = self._held, [], 0
        with self._room.temporary() as file:
            self._runs.append(
                _SpilledSlices(InMemory(held, self._num_blocks), self._num_blocks, file)
            )

    def runs(self) -> list[SliceRun]:
        """All of them in turn; nothing is left of them here. Raises OSError if some were lost."""
        self._room.check()
        held = [InMemory(self._held, self._num_blocks)] if self._held else []
        self._room.leave(self)
        return [*self._runs, *held]


def write_map(
    file: BinaryIO,
    name: str,
    runs: Sequence[KeyRun],
    num_places: int,
    most: int,
    known_bits: int = WIDE_HASH_BITS,
) -> MapFile:
    """Write a map of the wide keys of several runs, of which `most` are in memory at a time, more or less. Of hashes,
    `known_bits` are known. Raises OSError."""
    _kernel.keep_freed_memory(_KEPT_BYTES)
    num_keys = sum(run.num_keys for run in runs)
    range_bits = _range_bits(num_keys, most, known_bits)
    # Hashes are as good as random, so that those of one range tell how often all are repeated,
    # and in how many places.
    some = _between(runs, 0, range_bits)
    distinct = WIDE.narrow(some).size
    num_keys -= round(num_keys * (1 - distinct / max(1, sum(each.size for each in some))))
    bits = bits_for(num_keys, num_places, known_bits)
    keys = bits.narrow(some)
    writer = MapWriter(file, name, bits, num_keys, are_to_fold(keys, bits))
    writer.add(keys)
    for at in range(1, 1 << range_bits):
        writer.add(bits.narrow(_between(runs, at, range_bits)))
    return writer.close()


def _range_bits(num_keys: int, most: int, known_bits: int) -> int:
    """In how many ranges keys are read, of which `most` are in memory at a time: 2^range_bits."""
    return min((max(0, num_keys - 1) // most).bit_length(), _PART_BITS, known_bits)


def _between(runs: Sequence[KeyRun], at: int, range_bits: int) -> list[NDArray[np.uint64]]:
    """The wide keys of one of 2^range_bits ranges of hashes. No hash of it is that of another range, in narrow keys
    neither, which have as many bits at least."""
    first, end = (each << (HASH_BITS - range_bits) for each in (at, at + 1))
    return [part for run in runs for part in run.between(first, end)]


def _num_held(collector: Collector) -> int:
    return collector.num_held
