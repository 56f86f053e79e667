"""Collects the keys and filters of segments in bounded memory, and writes their maps.

Keys that do not fit the memory go to temporary files, sorted. In the end, all of them are read again in ranges of
hashes that fit, each of which is sorted and written. Filters go there as slices, which are put side by side.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from tempfile import TemporaryFile, gettempdir
from types import TracebackType
from typing import IO, BinaryIO, Final, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.index.keys import WIDE_PLACE_BITS, KeyBits, bits_for
from parquet_bloom.index.map_writer import MapWriter, are_to_fold
from parquet_bloom.index.slices import ROWS
from parquet_bloom.index.slices_writer import InMemory, SliceRun, in_tiles
from parquet_bloom.index.sorted_map import MapFile
from parquet_bloom.native import _kernel
from parquet_bloom.parallel import memory
from parquet_bloom.storage.source import naming

_KEY_BYTES: Final = 8
# Of the memory for keys, what is left beside them to put them together in.
_COPIES: Final = 3
# Of the memory budget, what keys may take; the rest is for pages.
_FOR_KEYS: Final = 2


class SortedKeys(Protocol):
    """Wide keys in ascending order, somewhere."""

    @property
    def num_keys(self) -> int: ...
    def between(self, first: int, end: int) -> Iterator[NDArray[np.uint64]]:
        """Those from `first` up to, but not including, `end`."""


class _Spilled:
    """Keys in a temporary file, which is gone with the process."""

    def __init__(self, keys: NDArray[np.uint64], file: IO[bytes]) -> None:
        self._file = file
        keys.tofile(self._file)
        self._file.flush()
        self.num_keys = keys.size

    def between(self, first: int, end: int) -> Iterator[NDArray[np.uint64]]:
        low, high = bisect_left(self, first), bisect_left(self, end)
        # Not mapped into memory, all of which would count as held.
        yield np.fromfile(self._file, np.uint64, high - low, offset=self._seek(low))

    def __len__(self) -> int:
        return self.num_keys

    def __getitem__(self, at: int) -> int:
        return int.from_bytes(os.pread(self._file.fileno(), _KEY_BYTES, at * _KEY_BYTES), "little")

    def _seek(self, at: int) -> int:
        """An offset counts from where the file is."""
        self._file.seek(0)
        return at * _KEY_BYTES


class _KeysInMemory:
    def __init__(self, keys: NDArray[np.uint64]) -> None:
        self._keys = keys

    @property
    def num_keys(self) -> int:
        return self._keys.size

    def between(self, first: int, end: int) -> Iterator[NDArray[np.uint64]]:
        yield _between(self._keys, first, end)


def _between(keys: NDArray[np.uint64], first: int, end: int) -> NDArray[np.uint64]:
    low = np.searchsorted(keys, np.uint64(first))
    high = keys.size if end > _LAST else np.searchsorted(keys, np.uint64(end))
    return np.asarray(keys[low:high])


_LAST: Final = (1 << 64) - 1


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
        self.collectors: list[Collector] = []
        self._folder = folder
        self._files = ExitStack()
        self._failure: OSError | None = None

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

    def make_room(self) -> None:
        """Let keys go to files, if there are more than fit. Raises OSError."""
        while sum(each.num_held for each in self.collectors) > self.most:
            max(self.collectors, key=_num_held).spill()

    @contextmanager
    def temporary(self) -> Iterator[IO[bytes]]:
        """A file to be written, which is there until the room is left, unless by an exception. Raises OSError."""
        try:
            with naming(self._folder or gettempdir()), ExitStack() as files:
                yield files.enter_context(TemporaryFile(dir=self._folder))
                self._files.push(files.pop_all())
        except OSError as error:
            self._failure = error
            raise

    def check(self) -> None:
        """Raise the OSError with which keys were lost, if any were: those of other files, too, than of the one that
        was read then."""
        if self._failure is not None:
            raise self._failure


class KeyCollector:
    """The wide keys of one segment."""

    def __init__(self, room: KeyRoom) -> None:
        self._room = room
        self._parts: list[NDArray[np.uint64]] = []
        self._runs: list[SortedKeys] = []
        self.num_held = 0
        room.collectors.append(self)

    def add(self, keys: NDArray[np.uint64]) -> None:
        """Add keys in any order. Raises OSError."""
        self._parts.append(keys)
        self.num_held += keys.size
        self._room.make_room()

    def spill(self) -> None:
        with self._room.temporary() as file:
            self._runs.append(_Spilled(self._sorted(), file))

    def _sorted(self) -> NDArray[np.uint64]:
        """Those that are held, ascending and distinct; none are held then."""
        keys = np.concatenate([np.empty(0, np.uint64), *self._parts])
        self._parts, self.num_held = [], 0
        return sorted_distinct(keys)

    def write(self, file: BinaryIO, name: str, num_places: int) -> MapFile:
        """Write the map of all keys; nothing is left of them. Raises OSError, also if keys were lost."""
        self._room.check()
        runs = [*self._runs, _KeysInMemory(self._sorted())]
        self._room.collectors.remove(self)
        bits = bits_for(sum(run.num_keys for run in runs), num_places)
        return write_map(file, name, runs, bits, self._room.most)


class _SpilledSlices:
    """Pages of slices in a temporary file, which is gone with the process."""

    def __init__(self, run: InMemory, num_blocks: int, file: IO[bytes]) -> None:
        self._file, self._page = file, ROWS * ((run.num_slots + 7) // 8)
        self.num_slots, self.live = run.num_slots, run.live
        for first, end in in_tiles(run.num_slots, num_blocks):
            file.write(run.pages(first, end))
        file.flush()

    def pages(self, first: int, end: int) -> bytes:
        size = (end - first) * self._page
        found = os.pread(self._file.fileno(), size, first * self._page)
        while len(found) < size:
            # One call returns 2 GiB at most.
            found += os.pread(
                self._file.fileno(), size - len(found), first * self._page + len(found)
            )
        return found


class FilterCollector:
    """The filters of `num_blocks` blocks of one segment."""

    def __init__(self, room: KeyRoom, num_blocks: int) -> None:
        self._room, self._num_blocks = room, num_blocks
        self._held: list[bytes] = []
        self._runs: list[SliceRun] = []
        self.num_held = 0
        room.collectors.append(self)

    def add(self, bitset: bytes) -> None:
        """Add a filter behind the others. Raises OSError."""
        self._held.append(bitset)
        # Nothing is put together in memory: it has room for more filters than keys.
        self.num_held += len(bitset) // (_KEY_BYTES * _COPIES)
        self._room.make_room()

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
        self._room.collectors.remove(self)
        return [*self._runs, *held]


def sorted_distinct(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Wide keys in any order, ascending and each once, in the same memory."""
    keys.sort()
    return keys[: _kernel.narrow_keys(keys, WIDE_PLACE_BITS, 0, WIDE_PLACE_BITS)]


def write_map(
    file: BinaryIO, name: str, runs: Sequence[SortedKeys], bits: KeyBits, most: int
) -> MapFile:
    """Write a map of the wide keys of several runs, of which `most` are in memory at a time, more or less. Raises
    OSError."""
    num_keys = sum(run.num_keys for run in runs)
    writer: MapWriter | None = None
    # Borders at which no two hashes are equal that are the same in narrow keys.
    num_ranges = min(1 << bits.hash, -(-max(1, num_keys) // most))
    borders = [(at << bits.hash) // num_ranges << (64 - bits.hash) for at in range(num_ranges + 1)]
    for at in range(num_ranges):
        parts = [part for run in runs for part in run.between(borders[at], borders[at + 1])]
        if len(runs) == 1 and len(parts) == 1:
            keys = parts[0]
        else:
            keys = np.concatenate([np.empty(0, np.uint64), *parts])
            keys.sort()
        keys = bits.narrow(keys)
        if writer is None:
            # Hashes are as good as random, so that those of one range tell how often all are repeated.
            writer = MapWriter(file, name, bits, num_keys, are_to_fold(keys, bits))
        writer.add(keys)
    assert writer is not None
    return writer.close()


def _num_held(collector: Collector) -> int:
    return collector.num_held
