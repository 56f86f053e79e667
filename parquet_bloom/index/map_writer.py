"""Writes a map from values to places, see sorted_map."""

from __future__ import annotations

from array import array
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

_COLUMN: Final = PlainColumn("k", thrift.Type.INT64, thrift.Encoding.DELTA_BINARY_PACKED)


class MapWriter:
    """Writes a map of about `num_keys` keys. Methods raise OSError."""

    def __init__(self, file: BinaryIO, name: str, bits: KeyBits, num_keys: int) -> None:
        about = {"hash_bits": str(bits.hash), "place_bits": str(bits.place)}
        self._writer = ParquetWriter(file, "map", [_COLUMN], about)
        self._name, self._bits, self._num_keys = name, bits, 0
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
        pages, sizes = _kernel.key_pages(keys, PER_PAGE)
        least = keys[::PER_PAGE]
        most = np.append(keys[PER_PAGE - 1 :: PER_PAGE], keys[-1:])[: least.size]
        written = [
            WrittenPage(size, min(PER_PAGE, keys.size - at * PER_PAGE), *bounds)
            for at, (size, *bounds) in enumerate(
                zip(sizes, map(_stored, least.tolist()), map(_stored, most.tolist()), strict=True)
            )
        ]
        start = self._writer.add_chunk([pages], written)
        directory = least.tobytes() + sizes.tobytes() + _checksums(pages, sizes).tobytes()
        at = self._writer.write(directory)
        self._groups.append(KeyGroup(int(keys[0]), start, at, len(sizes), crc32(directory)))
        self._writer.end_group()
        self._num_keys += keys.size

    def close(self) -> MapFile:
        """Write the rest and the footer."""
        if self._num_waiting:
            self._end_group()
        size = self._writer.close()
        return MapFile(self._name, size, self._num_keys, self._bits, tuple(self._groups))


def _stored(key: int) -> bytes:
    return key.to_bytes(8, "little")


def _checksums(pages: bytearray, sizes: array[int]) -> array[int]:
    found, at, view = array("I"), 0, memoryview(pages)
    for size in sizes:
        found.append(_kernel.crc32(view[at : at + size]))
        at += size
    return found
