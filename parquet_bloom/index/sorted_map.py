"""A map from values to places: a Parquet file of one column `k` of ascending keys, | hash | place |.

    row group   page | page | … | directory
    page        4,096 keys in DELTA_BINARY_PACKED
    directory   first key of each page (uint64) | size of each page (uint32) | its CRC-32 (uint32)

    WHERE k BETWEEN hash << place_bits AND (hash + 1) << place_bits - 1

Where many values are in several places, it is folded: `k` has a row for each hash in a page, with its first place,
and the other places are in a second column, `others`, a list of INT32. A page is still 4,096 keys, and a hash that
goes on in the next page has a row there, too.

    row group   page of k | … | page of others | … | directory
    directory   as above, and behind it sizes and CRC-32s of the pages of `others`

Engines find the pages by the file's own ColumnIndex. A directory tells the same in fewer bytes and one read; the
manifest knows where it is, so that a value takes two reads, three of a folded map, and no footer. From a store, both
are had at once, as a hash tells where in a row group its page is, more or less.
"""

from __future__ import annotations

import mmap
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Final, NamedTuple, TypeVar
from zlib import crc32

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import FormatError
from parquet_bloom.index.keys import KeyBits
from parquet_bloom.native import _kernel
from parquet_bloom.native.lazy import NDArray, np
from parquet_bloom.parallel import read_once
from parquet_bloom.storage.source import Source, local_path

ColumnT = TypeVar("ColumnT")

# Where all keys are read, in one read: about a megabyte.
_PAGES_AT_ONCE: Final = 128


# Before and behind where a key is expected: a whole one, and by how much a million keys may be out of place.
_PAGES_AROUND: Final = 1.5

# Of a page, in a directory: its first key; and its size and its checksum in each column.
_KEY_BYTES: Final = 8
_SIZE_BYTES: Final = 8


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
    first: int
    keys: NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class MapFile:
    """What a manifest says about the map of a segment. `is_folded`: whether it has a second column."""

    name: str
    size: int
    num_keys: int
    bits: KeyBits
    groups: tuple[KeyGroup, ...]
    is_folded: bool = False

    @property
    def num_columns(self) -> int:
        return 2 if self.is_folded else 1

    @property
    def directory_bytes(self) -> int:
        """Of each page, in a directory."""
        return _KEY_BYTES + self.num_columns * _SIZE_BYTES


class _Pages:
    """Where the pages of a column in a row group are: their starts, sizes and checksums."""

    def __init__(self, start: int, sizes: array[int], checksums: array[int]) -> None:
        self.sizes, self.checksums = sizes, checksums
        self.starts = array("q", accumulate(sizes, initial=start))
        self.end = self.starts.pop()

    @read_once
    def table(self) -> NDArray[np.int64]:
        """The same as KeySearch takes it, a row for each page."""
        columns = (np.array(each, np.int64) for each in (self.starts, self.sizes, self.checksums))
        return np.stack([*columns], axis=1)


class _Directory:
    """What the pages of a row group begin with, and where they are in each column."""

    def __init__(self, data: bytes, group: KeyGroup, num_columns: int) -> None:
        count = group.num_pages
        self.firsts = array("Q", data[: _KEY_BYTES * count])
        numbers = array("I", data[_KEY_BYTES * count :])
        self.columns: list[_Pages] = []
        self.end = group.start
        for at in range(0, 2 * num_columns * count, 2 * count):
            sizes, checksums = numbers[at : at + count], numbers[at + count : at + 2 * count]
            self.columns.append(_Pages(self.end, sizes, checksums))
            self.end = self.columns[-1].end


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
            if self.source.is_remote and number not in self._directories:
                self._will_look_for(key, number)
            directory = self._directory(number)
            for page in self._overlapping(directory.firsts, key, last):
                places += self._places_in(self._page(directory, page), key)
        return places

    @staticmethod
    def _overlapping(firsts: list[int] | array[int], key: int, last: int) -> range:
        """The numbers of parts, by their first keys, that can have keys from `key` to `last`."""
        return range(max(0, bisect_right(firsts, key) - 1), bisect_right(firsts, last))

    def _will_look_for(self, key: int, number: int) -> None:
        """Fetch the directory of a row group and the pages around a key at the same time: hashes are as good as
        evenly spread. Of two columns, nobody knows yet where the second begins."""
        group = self.about.groups[number]
        ranges = [(group.directory, group.directory + self.about.directory_bytes * group.num_pages)]
        if not self.about.is_folded:
            behind = [*self._firsts, self.about.bits.end][number + 1]
            share = (key - group.first_key) / max(1, behind - group.first_key)
            size = group.directory - group.start
            at = group.start + int(size * min(max(share, 0), 1))
            around = int(_PAGES_AROUND * size / max(1, group.num_pages))
            ranges.append((max(at - around, group.start), min(at + around, group.directory)))
        self.source.will_read(ranges)

    def _directory(self, number: int) -> _Directory:
        known = self._directories.get(number)
        if known is None:
            group = self.about.groups[number]
            size = self.about.directory_bytes * group.num_pages
            data = self.source.read_at(group.directory, size)
            if crc32(data) != group.crc:
                raise self._damaged(group.directory, "a directory")
            known = _Directory(data, group, self.about.num_columns)
            if not group.num_pages or known.end != group.directory:
                raise FormatError(
                    f"{self.source.path}: pages that do not reach from {group.start:,} to their directory at"
                    f" {group.directory:,}"
                )
            self._directories[number] = known
        return known

    def _page(self, directory: _Directory, page: int) -> list[bytes]:
        """In each column."""
        if self.source.is_remote and self.about.is_folded:
            ends = ((each.starts[page], each.sizes[page]) for each in directory.columns)
            self.source.will_read((start, start + size) for start, size in ends)
        found = []
        for column in directory.columns:
            data = self.source.read_at(column.starts[page], column.sizes[page])
            self._check(column, page, data)
            found.append(data)
        return found

    def _check(self, column: _Pages, page: int, data: bytes | memoryview) -> None:
        if _kernel.crc32(data) != column.checksums[page]:
            raise self._damaged(column.starts[page], "a page")

    def _check_pages(self, tables: Iterable[NDArray[np.int64]]) -> None:
        """Raise FormatError for a damaged page among these, which a search calls by a number of its own."""
        for table in tables:
            for start, size, crc in table.tolist():
                if _kernel.crc32(self.source.read_at(start, size)) != crc:
                    raise self._damaged(start, "a page")

    def _unreadable(self, error: ValueError) -> FormatError:
        """What the kernel said of pages whose checksums are right, or where they are."""
        return FormatError(f"{self.source.path}: damaged: {error}")

    def _damaged(self, start: int, what: str) -> FormatError:
        return FormatError(
            f"{self.source.path}: {what} at {start:,} is damaged: its CRC-32 is wrong"
        )

    def _places_in(self, page: Sequence[bytes], key: int) -> list[int]:
        try:
            return _kernel.find_in_page(*_with_lists(page), key, self.about.bits.place)
        except ValueError as error:
            raise self._unreadable(error) from None

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
        groups = _parts(self._firsts, asked, last)
        # Those of a file that is here at once; what is remote is fetched for one at a time.
        together = max(1, len(groups)) if self._mapped is not None else 1
        for at in range(0, len(groups), together):
            some = groups[at : at + together]
            here = slice(int(some[0, 1]), int(some[-1, 2]))
            try:
                directories = [self._directory(number) for number in some[:, 0].tolist()]
                self._look_in(directories, asked[here], last[here], here.start, search)
            except ValueError as error:
                raise self._unreadable(error) from None
        found = search.found
        return order[found[:, 0]], found[:, 1]

    def _look_in(
        self,
        directories: Sequence[_Directory],
        asked: NDArray[np.uint64],
        last: NDArray[np.uint64],
        before: int,
        search: _kernel.KeySearch,
    ) -> None:
        firsts = np.concatenate([np.frombuffer(each.firsts, np.uint64) for each in directories])
        pages = _parts(firsts, asked, last)
        if not pages.size:
            return
        columns = zip(*(each.columns for each in directories), strict=True)
        tables = [
            np.concatenate([each.table for each in column])[pages[:, 0]] for column in columns
        ]
        wanted = pages[:, 1:] + before
        if self._mapped is not None:
            self.source.bytes_read += sum(int(table[:, 1].sum()) for table in tables)
            try:
                search.look_in(self._mapped, wanted, *_with_lists(tables))
            except ValueError:
                self._check_pages(tables)
                raise
            return
        self.source.will_read(
            (start, start + size) for table in tables for start, size, _ in table.tolist()
        )
        for at in range(len(pages)):
            data, here = b"", []
            for start, size, crc in (table[at].tolist() for table in tables):
                here.append(np.array([[len(data), size, crc]], np.int64))
                data += self.source.read_at(start, size)
            try:
                search.look_in(data, wanted[at : at + 1], *_with_lists(here))
            except ValueError:
                self._check_pages([table[at : at + 1] for table in tables])
                raise

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
        yield from map(KeyPage, directory.columns[0].starts, directory.firsts, pages)

    def _pages(self, directory: _Directory, pages: range) -> Iterator[NDArray[np.uint64]]:
        """The keys of neighbouring pages, several of which take one read of each column."""
        for at in range(0, len(pages), _PAGES_AT_ONCE):
            some = pages[at : at + _PAGES_AT_ONCE]
            for page in zip(
                *(self._some(column, some) for column in directory.columns), strict=True
            ):
                yield self._keys(page)

    def _some(self, column: _Pages, pages: range) -> Iterator[memoryview]:
        start, last = column.starts[pages[0]], pages[-1]
        size = column.starts[last] + column.sizes[last] - start
        data = memoryview(self.source.read_at(start, size))
        for page in pages:
            begin = column.starts[page] - start
            found = data[begin : begin + column.sizes[page]]
            self._check(column, page, found)
            yield found

    def _keys(self, page: Sequence[memoryview]) -> NDArray[np.uint64]:
        try:
            return _kernel.keys_in_page(*_with_lists(page), self.about.bits.place)
        except ValueError as error:
            raise self._unreadable(error) from None


def _with_lists(columns: Sequence[ColumnT]) -> tuple[ColumnT, ColumnT | None]:
    """That of `k` and that of `others`, None if there is none."""
    return columns[0], columns[1] if len(columns) > 1 else None


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
