"""A map from values to places: a Parquet file of one column `k` of ascending keys, | hash | place |.

    row group   page | page | … | directory
    page        4,096 keys in DELTA_BINARY_PACKED
    directory   first key of each page (uint64) | size of each page (uint32) | its CRC-32 (uint32)

    WHERE k BETWEEN hash << place_bits AND (hash + 1) << place_bits - 1

Engines find the pages by the file's own ColumnIndex. A directory tells the same in fewer bytes and one read; the
manifest knows where it is, so that a value takes two reads, and no footer.
"""

from __future__ import annotations

import mmap
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple
from zlib import crc32

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import FormatError
from parquet_bloom.index.keys import KeyBits
from parquet_bloom.native import _kernel
from parquet_bloom.native.lazy import NDArray, np
from parquet_bloom.parallel import read_once
from parquet_bloom.storage.source import Source, local_path

# Where all keys are read, in one read: about a megabyte.
_PAGES_AT_ONCE: Final = 128


# Of each page: its first key, its size and its checksum.
DIRECTORY_BYTES: Final = 16


class KeyGroup(NamedTuple):
    """A row group of a map: its first key, where its first page and its directory are, the number of pages, and
    the CRC-32 of the directory."""

    first_key: int
    start: int
    directory: int
    num_pages: int
    crc: int


class KeyPage(NamedTuple):
    """A page: where it is, its first key as the directory has it, and its keys."""

    start: int
    size: int
    first: int
    keys: NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class MapFile:
    """What a manifest says about the map of a segment."""

    name: str
    size: int
    num_keys: int
    bits: KeyBits
    groups: tuple[KeyGroup, ...]


class _Directory:
    """Where the pages of a row group are: their first keys, starts, sizes and checksums."""

    def __init__(self, data: bytes, group: KeyGroup) -> None:
        count, view = group.num_pages, memoryview(data)
        self.firsts = array("Q", bytes(view[: 8 * count]))
        self.sizes = array("I", bytes(view[8 * count : 12 * count]))
        self.checksums = array("I", bytes(view[12 * count :]))
        self.starts = array("q", [group.start])
        for size in self.sizes[:-1]:
            self.starts.append(self.starts[-1] + size)


class SortedMap:
    """Reads a map. Methods raise FormatError for damage, OSError."""

    def __init__(self, source: Source, about: MapFile) -> None:
        self.source, self.about = source, about
        self._firsts = [group.first_key for group in about.groups]
        self._directories: dict[int, _Directory] = {}

    def places(self, hash: int) -> list[int]:
        """The places of a hash of 64 bits, ascending. Takes two reads, and rarely more."""
        key = self.about.bits.key(hash)
        last = key | ((1 << self.about.bits.place) - 1)
        places: list[int] = []
        for number in self._overlapping(self._firsts, key, last):
            directory = self._directory(number)
            for page in self._overlapping(directory.firsts, key, last):
                data = self._page(directory, page)
                places += self._places_in(data, key)
        return places

    @staticmethod
    def _overlapping(firsts: list[int] | array[int], key: int, last: int) -> range:
        """The numbers of parts, by their first keys, that can have keys from `key` to `last`."""
        return range(max(0, bisect_right(firsts, key) - 1), bisect_right(firsts, last))

    def _directory(self, number: int) -> _Directory:
        known = self._directories.get(number)
        if known is None:
            group = self.about.groups[number]
            data = self.source.read_at(group.directory, DIRECTORY_BYTES * group.num_pages)
            if crc32(data) != group.crc:
                raise self._damaged(group.directory, "a directory")
            known = _Directory(data, group)
            if not group.num_pages or known.starts[-1] + known.sizes[-1] != group.directory:
                raise FormatError(
                    f"{self.source.path}: pages that do not reach from {group.start:,} to their directory at"
                    f" {group.directory:,}"
                )
            self._directories[number] = known
        return known

    def _page(self, directory: _Directory, page: int) -> bytes:
        start = directory.starts[page]
        data = self.source.read_at(start, directory.sizes[page])
        if _kernel.crc32(data) != directory.checksums[page]:
            raise self._damaged(start, "a page")
        return data

    def _damaged(self, start: int, what: str) -> FormatError:
        return FormatError(
            f"{self.source.path}: {what} at {start:,} is damaged: its CRC-32 is wrong"
        )

    def _places_in(self, page: bytes, key: int) -> list[int]:
        try:
            return _kernel.find_in_page(page, key, self.about.bits.place)
        except ValueError as error:
            raise FormatError(f"{self.source.path}: {error}") from None

    def places_of_many(
        self, hashes: NDArray[np.uint64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For hashes of 64 bits in any order: the positions of those that are found, and a place of each, as
        often as there are places."""
        nothing = np.empty(0, np.int64)
        if not hashes.size or not self.about.num_keys:
            return nothing, nothing
        keys = self.about.bits.keys(hashes)
        order = np.argsort(keys)
        asked = keys[order]
        search = _kernel.KeySearch(asked, self.about.bits.place)
        last = asked | np.uint64((1 << self.about.bits.place) - 1)
        try:
            for number, first, end in _parts(self._firsts, asked, last).tolist():
                self._look_in(number, asked[first:end], last[first:end], first, search)
        except ValueError as error:
            raise FormatError(f"{self.source.path}: {error}") from None
        found = search.found
        return order[found[:, 0]], found[:, 1]

    def _look_in(
        self,
        number: int,
        asked: NDArray[np.uint64],
        last: NDArray[np.uint64],
        before: int,
        search: _kernel.KeySearch,
    ) -> None:
        directory = self._directory(number)
        pages = _parts(directory.firsts, asked, last)
        if not pages.size:
            return
        which = pages[:, 0]
        starts = np.frombuffer(directory.starts, np.int64)[which]
        sizes = np.frombuffer(directory.sizes, np.uint32)[which].astype(np.int64)
        sums = np.frombuffer(directory.checksums, np.uint32)[which]
        first, end = pages[:, 1] + before, pages[:, 2] + before
        if self._mapped is not None:
            search.look_in(self._mapped, starts, sizes, sums, first.copy(), end.copy())
            return
        self.source.will_read(zip(starts.tolist(), (starts + sizes).tolist(), strict=True))
        for at in range(len(pages)):
            data = self.source.read_at(int(starts[at]), int(sizes[at]))
            here = slice(at, at + 1)
            begin = np.zeros(1, np.int64)
            search.look_in(
                data, begin, sizes[here], sums[here], first[here].copy(), end[here].copy()
            )

    @read_once
    def _mapped(self) -> memoryview | None:
        return mapped(self.source, self.about.size)

    def keys_from(self, first: int, end: int) -> Iterator[NDArray[np.uint64]]:
        """All keys from `first` up to, but not including, `end`, ascending, some at a time."""
        if first >= end:
            return
        for number in self._overlapping(self._firsts, first, end - 1):
            directory = self._directory(number)
            pages = self._overlapping(directory.firsts, first, end - 1)
            for keys in self._pages(directory, pages):
                low, high = np.searchsorted(keys, np.array([first, end], np.uint64))
                if high > low:
                    yield keys[low:high].copy()

    def pages_of_group(self, number: int) -> Iterator[KeyPage]:
        """All pages of a row group."""
        directory = self._directory(number)
        pages = self._pages(directory, range(len(directory.firsts)))
        yield from map(KeyPage, directory.starts, directory.sizes, directory.firsts, pages)

    def _pages(self, directory: _Directory, pages: range) -> Iterator[NDArray[np.uint64]]:
        """The keys of neighbouring pages, several of which take one read."""
        for at in range(0, len(pages), _PAGES_AT_ONCE):
            some = pages[at : at + _PAGES_AT_ONCE]
            start, last = directory.starts[some[0]], some[-1]
            data = memoryview(
                self.source.read_at(start, directory.starts[last] + directory.sizes[last] - start)
            )
            for page in some:
                begin = directory.starts[page] - start
                yield self._keys(directory, page, data[begin : begin + directory.sizes[page]])

    def _keys(self, directory: _Directory, page: int, data: memoryview) -> NDArray[np.uint64]:
        if _kernel.crc32(data) != directory.checksums[page]:
            raise self._damaged(directory.starts[page], "a page")
        try:
            return np.asarray(_kernel.keys_in_page(data), np.uint64)
        except ValueError as error:
            raise FormatError(f"{self.source.path}: {error}") from None


def mapped(source: Source, size: int) -> memoryview | None:
    """A local file, mapped into memory: thousands of small reads take longer than to look for what is asked. None for
    one that is not. Raises OSError."""
    if source.is_remote:
        return None
    with open(local_path(source.path), "rb") as file:
        return memoryview(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ))


def _parts(
    firsts: Iterable[int], asked: NDArray[np.uint64], last: NDArray[np.uint64]
) -> NDArray[np.int64]:
    """The numbers of parts, by their first keys, that can have keys from asked[i] to last[i], and the range of i.
    Shape (parts, 3)."""
    starts = np.array(firsts, np.uint64)
    begins = np.searchsorted(last, starts)
    ends = np.append(np.searchsorted(asked, starts[1:]), asked.size)
    numbers = np.flatnonzero(begins < ends)
    return np.stack([numbers, begins[numbers], ends[numbers]], axis=1)
