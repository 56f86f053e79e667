"""Bit slices of the filters that files have: for each size of filters a Parquet file, in which a value takes eight
rows, however many filters there are.

    row group   page of `row` | header, 256 rows of bits | header, 256 rows of bits | … | CRC-32s

Page i has block i of all filters, and its row 32 * word + bit that bit of each: filter k is bit 7 - k % 8 of byte
k / 8. `row` counts from 0 in the file, so 256 * i is added. All pages have one size: so no footer is needed to find
a row. Each row has a checksum, or each page if it is small: then it is read whole.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Final

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import FormatError
from parquet_bloom.index.sorted_map import mapped
from parquet_bloom.native import _kernel
from parquet_bloom.native.lazy import NDArray, np
from parquet_bloom.parallel import read_once
from parquet_bloom.storage.source import Source

ROWS: Final = 256
# Of a block, in each of which a hash has one bit.
_WORDS: Final = 8
# Of filters that are together in a file: a page has 32 bytes of each.
MOST_SLOTS: Final = 1 << 21

_SUM_BYTES: Final = 4
# Up to this size, a page is read whole. Then a checksum of each row would take more than it is worth.
_SMALL_PAGE: Final = 64 << 10
# Of a page, so many rows are read by themselves before it is read whole.
_SINGLE_ROWS: Final = 64
# Where all pages are read, in one read, more or less.
_AT_ONCE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class SlicesFile:
    """What a manifest says about the slices of all filters of `num_blocks` blocks: those of places `first_place` to
    `first_place` + `num_slots`. `header`: the size of the header of each page; `per_group`: how many pages a row
    group has, and `starts`: where the first of each is."""

    name: str
    size: int
    num_blocks: int
    first_place: int
    num_slots: int
    header: int
    per_group: int
    starts: tuple[int, ...]

    @property
    def row_bytes(self) -> int:
        return (self.num_slots + 7) // 8

    @property
    def page_bytes(self) -> int:
        return ROWS * self.row_bytes

    @property
    def rows_at_once(self) -> int:
        """That have one checksum."""
        return rows_at_once(self.num_slots)

    @property
    def sums_bytes(self) -> int:
        """Of the checksums of a page."""
        return ROWS // self.rows_at_once * _SUM_BYTES

    def most_read_of(self, num_hashes: int) -> int:
        """The bytes of a page that so many hashes ask for: several may have rows in common."""
        rows = ROWS if self.rows_at_once == ROWS else min(_WORDS * num_hashes, ROWS)
        return rows * self.row_bytes + self.sums_bytes

    def block(self, hash: int) -> int:
        """That has the bits of a hash."""
        return (hash >> 32) * self.num_blocks >> 32

    def rows(self, hash: int) -> list[int]:
        """The numbers, in the file, of the rows in which a filter has the bits of a hash."""
        return [ROWS * self.block(hash) + row for row in _kernel.hash_rows(hash)]

    def start(self, block: int) -> int:
        """Where the rows of a block are."""
        group, at = divmod(block, self.per_group)
        return self.starts[group] + at * (self.header + self.page_bytes) + self.header

    def sums(self, block: int) -> int:
        """Where the checksums of a block are."""
        group, at = divmod(block, self.per_group)
        pages = min(self.per_group, self.num_blocks - group * self.per_group)
        behind = self.starts[group] + pages * (self.header + self.page_bytes)
        return behind + at * self.sums_bytes


@dataclass(frozen=True, slots=True)
class SlicesFiles:
    """The slices of a segment, of ascending sizes of filters. `num_others`: how many of its units, the last ones,
    have no place: files without row groups, and row groups without a filter."""

    files: tuple[SlicesFile, ...]
    num_others: int = 0

    @property
    def num_filters(self) -> int:
        return sum(file.num_slots for file in self.files)


def rows_at_once(num_slots: int) -> int:
    """How many rows of so many filters have one checksum."""
    return ROWS if ROWS * ((num_slots + 7) // 8) <= _SMALL_PAGE else 1


class SlicesReader:
    """Reads one file of slices. Methods raise FormatError for damage, OSError."""

    def __init__(self, source: Source, about: SlicesFile) -> None:
        self.source, self.about = source, about

    def slots(self, hash: int) -> list[int]:
        """The filters in which a hash may be, ascending. Takes nine small reads or two."""
        about, block = self.about, self.about.block(hash)
        start, sums = about.start(block), about.sums(block)
        if about.rows_at_once == 1:
            numbers, size = _kernel.hash_rows(hash), about.row_bytes
            places = [start + number * size for number in numbers]
        else:
            places, size = [start], about.page_bytes
        if self.source.is_remote:
            ranges = [(place, place + size) for place in places]
            self.source.will_read([*ranges, (sums, sums + about.sums_bytes)])
        found = array("I", self.source.read_at(sums, about.sums_bytes))
        parts = [self.source.read_at(place, size) for place in places]
        if about.rows_at_once == 1:
            self._check(parts, [found[number] for number in numbers], start)
        else:
            self._check(parts, found, start)
            (page,), size = parts, about.row_bytes
            parts = [page[row * size : (row + 1) * size] for row in _kernel.hash_rows(hash)]
        return _kernel.slots_in_rows(b"".join(parts), about.num_slots)

    def _check(self, parts: Sequence[bytes], sums: Sequence[int], start: int) -> None:
        for part, expected in zip(parts, sums, strict=True):
            if _kernel.crc32(part) != expected:
                raise FormatError(
                    f"{self.source.path}: the slices at {start:,} are damaged: a CRC-32 is wrong"
                )

    def slots_of_many(
        self, hashes: NDArray[np.uint64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For hashes in any order: the positions of those that are found, and a filter of each, as often as there
        are any."""
        about = self.about
        blocks = (hashes >> np.uint64(32)) * np.uint64(about.num_blocks) >> np.uint64(32)
        order = np.argsort(blocks, kind="stable")
        asked, blocks = hashes[order], blocks[order]
        starts = np.flatnonzero(np.diff(blocks, prepend=np.uint64(about.num_blocks)))
        pages = list(
            zip(
                blocks[starts].tolist(), starts.tolist(), [*starts[1:].tolist(), asked.size],
                strict=True,
            )
        )  # fmt: skip
        search = _kernel.SliceSearch(about.num_slots, about.rows_at_once)
        try:
            if self._mapped is None:
                self._look_in_far_pages(pages, asked, search)
            else:
                for block, first, end in pages:
                    start, sums = about.start(block), about.sums(block)
                    self.source.bytes_read += about.most_read_of(end - first)
                    search.look_in(self._mapped, start, sums, asked, first, end)
        except ValueError as error:
            raise FormatError(f"{self.source.path}: damaged: {error}") from None
        found = search.found
        return order[found[:, 0]], found[:, 1]

    def _look_in_far_pages(
        self,
        pages: Sequence[tuple[int, int, int]],
        asked: NDArray[np.uint64],
        search: _kernel.SliceSearch,
    ) -> None:
        """Of each page, rows are read by themselves, or all of it if many are wanted."""
        about = self.about
        wanted = []
        for block, first, end in pages:
            rows = {row for hash in asked[first:end].tolist() for row in _kernel.hash_rows(hash)}
            if about.rows_at_once == ROWS or len(rows) > _SINGLE_ROWS:
                rows = set(range(ROWS))
            wanted.append((block, first, end, list(_runs(sorted(rows)))))
        size = about.row_bytes
        self.source.will_read(
            each
            for block, _, _, runs in wanted
            for each in (
                *((about.start(block) + at * size, about.start(block) + end * size) for at, end in runs),
                (about.sums(block), about.sums(block) + about.sums_bytes),
            )
        )  # fmt: skip
        page = bytearray(about.page_bytes + about.sums_bytes)
        for block, first, end, runs in wanted:
            start = about.start(block)
            for at, behind in runs:
                page[at * size : behind * size] = self.source.read_at(
                    start + at * size, (behind - at) * size
                )
            page[about.page_bytes :] = self.source.read_at(about.sums(block), about.sums_bytes)
            search.look_in(page, 0, about.page_bytes, asked, first, end)

    @read_once
    def _mapped(self) -> memoryview | None:
        return mapped(self.source, self.about.size)

    def pages(self, first: int, end: int) -> bytearray:
        """The rows of blocks `first` to `end`, one page after the other."""
        about, found = self.about, bytearray()
        while first < end:
            group = first // about.per_group
            last = min(end, (group + 1) * about.per_group)
            stride = about.header + about.page_bytes
            data = memoryview(
                self.source.read_at(about.start(first) - about.header, (last - first) * stride)
            )
            for at in range(last - first):
                found += data[at * stride + about.header : (at + 1) * stride]
            size = about.sums_bytes * (last - first)
            sums = array("I", self.source.read_at(about.sums(first), size))
            parts = memoryview(found)[-(last - first) * about.page_bytes :]
            if _kernel.checksums(parts, about.rows_at_once * about.row_bytes) != sums:
                raise FormatError(
                    f"{self.source.path}: the slices at {about.start(first):,} are damaged: a"
                    " CRC-32 is wrong"
                )
            parts.release()
            first = last
        return found

    def all_pages(self) -> Iterator[tuple[int, bytearray]]:
        """All blocks, some at a time: the first of them, and their pages."""
        some = max(1, _AT_ONCE // self.about.page_bytes)
        for first in range(0, self.about.num_blocks, some):
            yield first, self.pages(first, min(first + some, self.about.num_blocks))


def _runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Ascending numbers as ranges [from, end)."""
    start = None
    for number, after in zip(numbers, [*numbers[1:], None], strict=True):
        start = number if start is None else start
        if after != number + 1:
            yield start, number + 1
            start = None


class Slices:
    """The slices of a segment: places as SortedMap has them. Methods raise FormatError for damage, OSError."""

    def __init__(self, readers: Sequence[SlicesReader], about: SlicesFiles) -> None:
        self.readers, self.about = tuple(readers), about

    def places(self, hash: int) -> list[int]:
        """The places of a hash of 64 bits, ascending."""
        return [
            reader.about.first_place + slot
            for reader in self.readers
            for slot in reader.slots(hash)
        ]

    def places_of_many(
        self, hashes: NDArray[np.uint64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For hashes of 64 bits in any order: the positions of those that are found, and a place of each, as
        often as there are places."""
        nothing = np.empty(0, np.int64)
        found, places = [nothing], [nothing]
        for reader in self.readers if hashes.size else ():
            positions, slots = reader.slots_of_many(hashes)
            found.append(positions)
            places.append(slots + reader.about.first_place)
        return np.concatenate(found), np.concatenate(places)
