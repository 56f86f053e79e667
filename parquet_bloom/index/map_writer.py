"""Writes a map from values to places, see sorted_map."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.index.keys import KeyBits
from parquet_bloom.index.parquet_writer import ParquetWriter, PlainColumn, Writable, WrittenPage
from parquet_bloom.index.sorted_map import KeyGroup, MapFile
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.thrift import ttypes as thrift

PER_PAGE: Final = 4096
# Of many keys, a row group has more pages: a manifest should not name too many of them.
_PAGES_PER_GROUP: Final = 64
_MOST_GROUPS: Final = 256

_DELTA: Final = thrift.Encoding.DELTA_BINARY_PACKED
_KEYS: Final = PlainColumn("k", thrift.Type.INT64, _DELTA)
_OTHERS: Final = PlainColumn("others", thrift.Type.INT32, _DELTA, is_list=True)

# A map is folded if this share of its keys have the hash of the one before. Where half of them do, it is smaller by
# 6 %, of values in 16 places each by 26 %. Below, that is not worth another read for whoever asks.
_SHARE: Final = 0.4
# So many keys are looked at to know that.
_SOME: Final = 1 << 20


class _MapColumn:
    """The pages of a column in a row group, before they are written."""

    def __init__(self) -> None:
        self.data: list[bytes | bytearray] = []
        self.pages: list[WrittenPage] = []
        self._sizes, self._checksums = array("I"), array("I")

    def add(self, data: bytes | bytearray, sizes: array[int], pages: Iterable[WrittenPage]) -> None:
        self.data.append(data)
        self.pages += pages
        self._sizes += sizes
        self._checksums += _checksums(data, sizes)

    @property
    def directory(self) -> bytes:
        """What a directory has of them."""
        return self._sizes.tobytes() + self._checksums.tobytes()


class MapWriter:
    """Writes a map of about `num_keys` keys. Methods raise OSError."""

    def __init__(
        self, file: Writable, name: str, bits: KeyBits, num_keys: int, is_folded: bool
    ) -> None:
        about = {"hash_bits": str(bits.hash), "place_bits": str(bits.place)}
        self._leaves = [_KEYS, _OTHERS] if is_folded else [_KEYS]
        self._writer = ParquetWriter(file, "map", self._leaves, about)
        self._name, self._bits, self._num_keys = name, bits, 0
        self._is_folded = is_folded
        pages = -(-num_keys // PER_PAGE)
        self._per_group = PER_PAGE * max(_PAGES_PER_GROUP, -(-pages // _MOST_GROUPS))
        self._groups: list[KeyGroup] = []
        self._rest = np.empty(0, np.uint64)
        self._begin_group()

    def _begin_group(self) -> None:
        self._columns = [_MapColumn() for _ in self._leaves]
        # The first key of each page.
        self._firsts: list[NDArray[np.uint64]] = []
        self._num_in_group = 0

    def add(self, keys: NDArray[np.uint64]) -> None:
        """Add narrow keys, ascending and distinct, all greater than those before."""
        if self._rest.size:
            missing = PER_PAGE - self._rest.size
            self._rest, keys = np.concatenate([self._rest, keys[:missing]]), keys[missing:]
            if self._rest.size < PER_PAGE:
                return
            self._add_whole(self._rest)
        num_whole = keys.size // PER_PAGE * PER_PAGE
        self._add_whole(keys[:num_whole])
        self._rest = keys[num_whole:].copy()

    def _add_whole(self, keys: NDArray[np.uint64]) -> None:
        """Keys that fill whole pages."""
        while keys.size:
            left = self._per_group - self._num_in_group
            self._add_pages(keys[:left])
            keys = keys[left:]
            if self._num_in_group == self._per_group:
                self._end_group()

    def _add_pages(self, keys: NDArray[np.uint64]) -> None:
        add = self._add_folded if self._is_folded else self._add_keys
        add(keys)
        self._firsts.append(keys[::PER_PAGE].copy())
        self._num_in_group += keys.size

    def _add_keys(self, keys: NDArray[np.uint64]) -> None:
        pages, sizes = _kernel.key_pages(keys, PER_PAGE)
        rows = [min(PER_PAGE, keys.size - at) for at in range(0, keys.size, PER_PAGE)]
        most = np.append(keys[PER_PAGE - 1 :: PER_PAGE], keys[-1:])[: len(rows)]
        self._columns[0].add(pages, sizes, _with_bounds(keys, sizes, rows, most.tolist()))

    def _add_folded(self, keys: NDArray[np.uint64]) -> None:
        pages, sizes, lists, list_sizes, rows, levels, most = _kernel.folded_pages(
            keys, PER_PAGE, self._bits.place
        )
        self._columns[0].add(pages, sizes, _with_bounds(keys, sizes, rows, most))
        written = (
            WrittenPage(size, count, num_values=num_values)
            for size, count, num_values in zip(list_sizes, rows, levels, strict=True)
        )
        self._columns[1].add(lists, list_sizes, written)

    def _end_group(self) -> None:
        start, *_ = [self._writer.add_chunk(each.data, each.pages) for each in self._columns]
        firsts = np.concatenate(self._firsts)
        directory = firsts.tobytes() + b"".join(each.directory for each in self._columns)
        at = self._writer.write(directory)
        self._groups.append(KeyGroup(int(firsts[0]), start, at, firsts.size, crc32(directory)))
        self._writer.end_group()
        self._num_keys += self._num_in_group
        self._begin_group()

    def close(self) -> MapFile:
        """Write the rest and the footer."""
        if self._rest.size:
            self._add_pages(self._rest)
        if self._num_in_group:
            self._end_group()
        size = self._writer.close()
        groups = tuple(self._groups)
        return MapFile(self._name, size, self._num_keys, self._bits, groups, self._is_folded)


def _with_bounds(
    keys: NDArray[np.uint64], sizes: Iterable[int], rows: Iterable[int], most: Iterable[int]
) -> Iterator[WrittenPage]:
    """The pages of keys. `most`: the last one in each."""
    for size, count, low, high in zip(sizes, rows, keys[::PER_PAGE].tolist(), most, strict=True):
        yield WrittenPage(size, count, _stored(low), _stored(high))


def written_as(about: MapFile, file: Writable) -> MapWriter:
    """Writes a map with row groups such as those of another."""
    pages = about.groups[0].num_pages if about.groups else 0
    num_keys = pages * _MOST_GROUPS * PER_PAGE
    return MapWriter(file, about.name, about.bits, num_keys, about.is_folded)


def are_to_fold(keys: NDArray[np.uint64], bits: KeyBits) -> bool:
    """Whether a map of keys such as these, narrow and ascending, is to be folded."""
    hashes = keys[:_SOME] >> np.uint64(bits.place)
    return hashes.size > 1 and float((hashes[1:] == hashes[:-1]).mean()) >= _SHARE


def _stored(key: int) -> bytes:
    return key.to_bytes(8, "little")


def _checksums(pages: bytes | bytearray, sizes: array[int]) -> array[int]:
    found, at, view = array("I"), 0, memoryview(pages)
    for size in sizes:
        found.append(_kernel.crc32(view[at : at + size]))
        at += size
    return found
