"""A bounded memory of what was read of files: footers, filters and indexes, for those who ask again and again.

    file, in a state | block 0 | block 1 | … | the last block, which ends with the file
                       BLOCK_BYTES each; the least recently used go first

A local file is in the state that the system tells whenever it is opened; one behind a URL in that of the listing that
has just found it. In another state nothing is known of it. A file is only opened for what is not there.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterable
from threading import Lock
from time import time_ns
from typing import TYPE_CHECKING, Final, NamedTuple

from parquet_bloom.arguments import number_given
from parquet_bloom.storage import address_of, open_source
from parquet_bloom.storage.folder import Found
from parquet_bloom.storage.source import (
    Cut,
    Source,
    Window,
    changed,
    check_length,
    identity_of,
    is_object,
    is_url,
    local_name,
    version_of,
)
from parquet_bloom.storage.store_environment import place_of
from parquet_bloom.storage.traffic import Requests

if TYPE_CHECKING:
    from os import PathLike

# Next to nothing for a footer or a filter, and enough for the block of a filter beside its header.
BLOCK_BYTES: Final = 4 << 10
# What Python takes for a block besides its bytes, as measured.
_MORE_BYTES: Final = 200
_LEAST_BYTES: Final = 1 << 20
# More of it at a time is not kept: it would drive out what is asked for more often.
_MOST_AT_ONCE: Final = 0.25
# File systems tell times of change to so many ns at worst (FAT): what was changed since then can change again and be
# told by none of its times.
_SETTLED: Final = 2_000_000_000


class _FileState(NamedTuple):
    """`where`: what tells files of the same name apart. `version`: as whoever stores the file tells it; None if no
    other is ever put in its place."""

    path: str
    where: object
    size: int
    version: object


class _Blocks:
    """Blocks of files. Ranges of them are all there, or nothing."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.num_bytes = self.hits = self.misses = 0
        self._known: OrderedDict[tuple[_FileState, int], bytes] = OrderedDict()
        self._lock = Lock()

    def has(self, state: _FileState, numbers: range) -> bool:
        return all((state, number) in self._known for number in numbers)

    def found(self, state: _FileState, numbers: range) -> list[bytes] | None:
        with self._lock:
            found = [self._known.get((state, number)) for number in numbers]
            there = [each for each in found if each is not None]
            if len(there) < len(found):
                self.misses += 1
                return None
            for number in numbers:
                self._known.move_to_end((state, number))
            self.hits += 1
            return there

    def keep(self, state: _FileState, numbers: range, data: bytes) -> None:
        """`data`: of all of these blocks."""
        if len(data) > _MOST_AT_ONCE * self.max_bytes:
            return
        with self._lock:
            for at, number in enumerate(numbers):
                block = data[at * BLOCK_BYTES : (at + 1) * BLOCK_BYTES]
                if (state, number) not in self._known:
                    self._known[state, number] = block
                    self.num_bytes += len(block) + _MORE_BYTES
            while self.num_bytes > self.max_bytes:
                _, block = self._known.popitem(last=False)
                self.num_bytes -= len(block) + _MORE_BYTES

    def clear(self) -> None:
        with self._lock:
            self._known.clear()
            self.num_bytes = 0


class Cache:
    """What was read of footers, filters and indexes, for `row_groups`, `dataset`, `polars_source`, `rows`, `find`,
    `probe` and `probe_values` (`cache=`), in any threads. Whoever made it owns it: there is none by default.

    It knows a file by its state: size and times of change, in an object store size and ETag. One that has changed is
    read anew. Pages with rows are not kept.
    """

    def __init__(self, max_bytes: int = 256 << 20) -> None:
        """max_bytes: the most that it takes, 1 MiB or more. Raises TypeError, ValueError."""
        if number_given("max_bytes", max_bytes, "a number of bytes") < _LEAST_BYTES:
            raise ValueError(f"max_bytes: {max_bytes}, expected {_LEAST_BYTES} or more")
        self._blocks = _Blocks(max_bytes)

    def __repr__(self) -> str:
        return (
            f"<Cache: {self.num_bytes:,} of {self.max_bytes:,} bytes, {self.hits:,} hits,"
            f" {self.misses:,} misses>"
        )

    @property
    def max_bytes(self) -> int:
        return self._blocks.max_bytes

    @property
    def num_bytes(self) -> int:
        """What it takes now."""
        return self._blocks.num_bytes

    @property
    def hits(self) -> int:
        """Reads that it has answered."""
        return self._blocks.hits

    @property
    def misses(self) -> int:
        """Reads for which a file was read."""
        return self._blocks.misses

    def clear(self) -> None:
        """Forget what was read."""
        self._blocks.clear()


class CacheUse:
    """How files are opened through a cache. `is_keeping`: False if what is read is only looked up in it."""

    def __init__(self, cache: Cache, is_keeping: bool = True) -> None:
        """Raises TypeError for what is no cache."""
        if not isinstance(cache, Cache):
            raise TypeError(f"cache: a {type(cache).__name__}, expected pb.Cache()")
        self._blocks, self._is_keeping = cache._blocks, is_keeping

    def open(self, path: str | PathLike[str], now: Found | None) -> Source:
        """As open_source. `now`: a file behind a URL as it was just found, without a version if its size is that of a
        table's record; of one with an empty version, or of which nothing is known, nothing is kept."""
        name = os.fspath(path)
        if not is_url(name):
            return self._of_local(path, name)
        if now is None or now.version == "":
            return open_source(path)
        state = _FileState(name, _store_of(name), now.size, now.version)

        def opened(end: int) -> Source:
            if now.version is None:
                return _as_recorded(open_source(path), now.size)
            # The last bytes come with an object that is opened for its end, where the footer is.
            return open_source(path, now.size if is_object(name) and end < now.size else None)

        return _CachedSource(self._blocks, state, opened, now.version, self._is_keeping)

    def open_lasting(self, path: str | PathLike[str], size: int) -> Source:
        """A file in whose place no other is ever put."""
        name = os.fspath(path)
        if not is_url(name):
            return self._of_local(path, name)
        state = _FileState(name, _store_of(name), size, None)
        return _CachedSource(
            self._blocks, state, lambda end: open_source(path, size), None, self._is_keeping
        )

    def _of_local(self, path: str | PathLike[str], name: str) -> Source:
        status = os.stat(local_name(name))
        is_settled = time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) > _SETTLED
        return _CachedSource(
            self._blocks,
            _FileState(name, None, status.st_size, identity_of(status)),
            lambda end: open_source(path),
            version_of(status),
            self._is_keeping and is_settled,
        )


def _as_recorded(source: Source, size: int) -> Source:
    """Of a file of a table, to which filters may have been appended since, the bytes that are recorded."""
    return Cut(source, size) if size < source.size else source


def _store_of(url: str) -> object:
    return place_of(address_of(url)) if is_object(url) else None


class _CachedSource:
    """A file in a state, for several threads. `bytes_read`: those that came from the file."""

    def __init__(
        self,
        blocks: _Blocks,
        state: _FileState,
        opener: Callable[[int], Source],
        version: str | None,
        is_keeping: bool,
    ) -> None:
        """`opener`: opens the file, which is going to be read up to where it is told. `version`: that the file must
        have; None if it is always the same."""
        self.path, self.size = state.path, state.size
        self.bytes_read = 0
        self.successor: str | None = None
        self._blocks, self._state, self._opener = blocks, state, opener
        self._version, self._is_keeping = version, is_keeping
        self._source: Source | None = None
        self._opening = Lock()

    def read_at(self, offset: int, length: int) -> bytes:
        check_length(self.path, offset, length, max(0, min(length, self.size - offset)))
        numbers = _blocks_of(offset, offset + length)
        start = numbers.start * BLOCK_BYTES
        found = self._blocks.found(self._state, numbers)
        if found is not None:
            data = found[0] if len(found) == 1 else b"".join(found)
        elif self._is_keeping:
            data = self._read(start, min(numbers.stop * BLOCK_BYTES, self.size))
            self._blocks.keep(self._state, numbers, data)
        else:
            return self._read(offset, offset + length)
        return data[offset - start : offset - start + length]

    def will_read(self, ranges: Iterable[tuple[int, int]]) -> None:
        if not self.is_remote:
            return
        wanted = []
        for start, end in ranges:
            numbers = _blocks_of(start, min(end, self.size))
            if not self._blocks.has(self._state, numbers):
                ends = numbers.start * BLOCK_BYTES, min(numbers.stop * BLOCK_BYTES, self.size)
                wanted.append(ends if self._is_keeping else (start, end))
        if wanted:
            self._opened(max(end for _, end in wanted)).will_read(wanted)

    def _read(self, start: int, end: int) -> bytes:
        source = self._opened(end)
        data = bytes(source.read_at(start, end - start))
        self.bytes_read = source.bytes_read
        if self._version is not None and source.version != self._version:
            raise changed(self.path, self.size, source.size)
        return data

    def _opened(self, end: int) -> Source:
        with self._opening:
            if self._source is None:
                source = self._opener(end)
                if source.size != self.size:
                    source.close()
                    raise changed(self.path, self.size, source.size)
                self._source = source
            return self._source

    @property
    def is_remote(self) -> bool:
        return is_url(self.path)

    @property
    def held_ahead(self) -> int:
        if not is_object(self.path):
            return 0
        from parquet_bloom.storage.objects.read_ahead import HELD_BYTES

        return HELD_BYTES

    @property
    def version(self) -> str:
        return self._opened(self.size).version if self._version is None else self._version

    @property
    def requests(self) -> Requests | None:
        if self._source is None:
            return Requests() if is_object(self.path) else None
        return self._source.requests

    def window(self) -> Source:
        return self if self.is_remote else Window(self)

    def check_unchanged(self) -> None:
        # What came from the cache is of the state in which the file was when it was opened.
        if self._source is not None:
            self._source.check_unchanged()

    def check_one_version(self) -> None:
        if self._source is not None:
            self._source.check_one_version()

    def close(self) -> None:
        if self._source is not None:
            self._source.close()


def _blocks_of(start: int, end: int) -> range:
    return range(start // BLOCK_BYTES, -(-end // BLOCK_BYTES))
