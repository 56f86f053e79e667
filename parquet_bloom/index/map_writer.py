"""Writes a map from values to places, see sorted_map."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import BinaryIO, Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.index.keys import KeyBits
from parquet_bloom.index.parquet_writer import ParquetWriter, PlainColumn, WrittenPage
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

# A map is folded if this share of its keys have the hash of the one before. Where half of them do, it is smaller by 6 %,
# of values in 16 places each by 26 %. Below, that is not worth another read for whoever asks.
_SHARE: Final = 0.4
# So many keys are looked at to know that.
_SOME: Final = 1 << 20


class MapWriter:
    """Writes a map of about `num_keys` keys. Methods raise OSError."""

    def __init__(
        self, file: BinaryIO, name: str, bits: KeyBits, num_keys: int, is_folded: bool
    ) -> None:
        about = {"hash_bits": str(bits.hash), "place_bits": str(bits.place)}
        columns = [_KEYS, _OTHERS] if is_folded else [_KEYS]
        self._writer = ParquetWriter(file, "map", columns, about)
        self._name, self._bits, self._num_keys = name, bits, 0
        self._is_folded = is_folded
        pages = -(-num_keys // PER_PAGE)
        self._per_group = PER_PAGE * max(_PAGES_PER_GROUP, -(-pages // _MOST_GROUPS))
        self._groups: list[KeyGroup] = []
        self._waiting: list[NDArray[np.uint64]] = []
        self._num_waiting = 0

    def add(self, keys: NDArray[np.uint64]) -> None:
        """Add narrow keys, ascending and distinct, all greater than those before."""
        while keys.size:
            part = keys[: self._per_group - self._num_waiting]
            self._waiting.append(part)
            self._num_waiting += part.size
            keys = keys[part.size :]
            if self._num_waiting == self._per_group:
                self._end_group()

    def _end_group(self) -> None:
        keys = self._waiting[0] if len(self._waiting) == 1 else np.concatenate(self._waiting)
        self._waiting, self._num_waiting = [], 0
        write = self._write_folded if self._is_folded else self._write_keys
        start, sizes = write(keys)
        directory = keys[::PER_PAGE].tobytes() + sizes
        at = self._writer.write(directory)
        num_pages = -(-keys.size // PER_PAGE)
        self._groups.append(KeyGroup(int(keys[0]), start, at, num_pages, crc32(directory)))
        self._writer.end_group()
        self._num_keys += keys.size

    def _write_keys(self, keys: NDArray[np.uint64]) -> tuple[int, bytes]:
        """Returns where the pages begin, and what a directory has of them."""
        pages, sizes = _kernel.key_pages(keys, PER_PAGE)
        rows = [min(PER_PAGE, keys.size - at) for at in range(0, keys.size, PER_PAGE)]
        most = np.append(keys[PER_PAGE - 1 :: PER_PAGE], keys[-1:])[: len(rows)]
        start = self._add_keys(keys, pages, sizes, rows, most.tolist())
        return start, sizes.tobytes() + _checksums(pages, sizes).tobytes()

    def _write_folded(self, keys: NDArray[np.uint64]) -> tuple[int, bytes]:
        pages, sizes, lists, list_sizes, rows, levels, most = _kernel.folded_pages(
            keys, PER_PAGE, self._bits.place
        )
        start = self._add_keys(keys, pages, sizes, rows, most)
        written = [
            WrittenPage(size, count, num_values=num_values)
            for size, count, num_values in zip(list_sizes, rows, levels, strict=True)
        ]
        self._writer.add_chunk([lists], written)
        of_keys = sizes.tobytes() + _checksums(pages, sizes).tobytes()
        return start, of_keys + list_sizes.tobytes() + _checksums(lists, list_sizes).tobytes()

    def _add_keys(
        self,
        keys: NDArray[np.uint64],
        pages: bytearray,
        sizes: Iterable[int],
        rows: Iterable[int],
        most: Iterable[int],
    ) -> int:
        """Write the column of keys. `most`: the last one in each page."""
        least = keys[::PER_PAGE].tolist()
        written = [
            WrittenPage(size, count, _stored(low), _stored(high))
            for size, count, low, high in zip(sizes, rows, least, most, strict=True)
        ]
        return self._writer.add_chunk([pages], written)

    def close(self) -> MapFile:
        """Write the rest and the footer."""
        if self._num_waiting:
            self._end_group()
        size = self._writer.close()
        groups = tuple(self._groups)
        return MapFile(self._name, size, self._num_keys, self._bits, groups, self._is_folded)


def are_to_fold(keys: NDArray[np.uint64], bits: KeyBits) -> bool:
    """Whether a map of keys such as these, narrow and ascending, is to be folded."""
    hashes = keys[:_SOME] >> np.uint64(bits.place)
    return hashes.size > 1 and float((hashes[1:] == hashes[:-1]).mean()) >= _SHARE


def _stored(key: int) -> bytes:
    return key.to_bytes(8, "little")


def _checksums(pages: bytearray, sizes: array[int]) -> array[int]:
    found, at, view = array("I"), 0, memoryview(pages)
    for size in sizes:
        found.append(_kernel.crc32(view[at : at + size]))
        at += size
    return found
