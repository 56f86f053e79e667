"""The rows that a deletion vector names, as Delta Lake and Iceberg store it: a Roaring bitmap of every 2^32 rows.

    magic 4 | number of bitmaps 8 | key 4, bitmap | key 4, bitmap | …
    bitmap: cookie | key and cardinality of each container | offsets | containers, of up to 65,536 rows each

All numbers are little-endian. Lengths tell where everything is, so offsets are not looked at.

Spec: Delta Lake, PROTOCOL.md, "Deletion Vector Format"; Iceberg, Puffin Spec,
"deletion-vector-v1"; RoaringFormatSpec.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from parquet_bloom.errors import FormatError
from parquet_bloom.native.lazy import NDArray, np
from parquet_bloom.parallel import check_fits

_MAGIC: Final = 1681511377
_COOKIE: Final = 12346
_COOKIE_WITH_RUNS: Final = 12347
# From so many containers on, a bitmap with runs has offsets, too.
_OFFSETS_FROM: Final = 4
# Containers of more rows are bits.
_MOST_IN_ARRAY: Final = 4096
_BITS_BYTES: Final = 8192
_ROW_BYTES: Final = 8


def rows_in(data: bytes, where: str) -> NDArray[np.int64]:
    """The numbers of the rows, ascending. Raises FormatError,
    UnsupportedError for more than fit the memory budget."""
    left = _Bytes(data, where)
    magic = left.number(4)
    if magic != _MAGIC:
        raise FormatError(f"{where}: deletion vector of magic {magic}, expected {_MAGIC}")
    found = [rows + (key << 32) for key in _keys(left) for rows in _bitmap(left)]
    rows = np.concatenate([np.empty(0, np.int64), *found])
    if (np.diff(rows) <= 0).any():
        raise FormatError(f"{where}: deletion vector: rows are not ascending")
    return rows


class _Bytes:
    """What is left of a deletion vector."""

    def __init__(self, data: bytes, where: str) -> None:
        self._data, self._at, self.where = data, 0, where

    def take(self, length: int) -> bytes:
        """Raises FormatError."""
        found = self._data[self._at : self._at + length]
        if len(found) < length:
            raise FormatError(
                f"{self.where}: deletion vector of {len(self._data)} bytes, expected at least"
                f" {self._at + length}"
            )
        self._at += length
        return found

    def number(self, length: int) -> int:
        return int.from_bytes(self.take(length), "little")

    def numbers(self, count: int) -> NDArray[np.int64]:
        """Of two bytes each."""
        return np.frombuffer(self.take(2 * count), "<u2").astype(np.int64)


def _keys(left: _Bytes) -> Iterator[int]:
    """The upper half of the rows of each bitmap, which follows."""
    for _ in range(left.number(8)):
        yield left.number(4)


def _bitmap(left: _Bytes) -> Iterator[NDArray[np.int64]]:
    """The rows of each container."""
    cookie = left.number(4)
    has_runs = cookie & 0xFFFF == _COOKIE_WITH_RUNS
    if not has_runs and cookie != _COOKIE:
        raise FormatError(f"{left.where}: deletion vector: bitmap of cookie {cookie}")
    size = (cookie >> 16) + 1 if has_runs else left.number(4)
    flags = left.take((size + 7) // 8) if has_runs else bytes(size // 8 + 1)
    of_containers = left.numbers(2 * size).reshape(-1, 2)
    check_fits(
        f"{left.where}: deletion vector: takes",
        _ROW_BYTES * int(of_containers[:, 1].sum() + size),
    )
    if not has_runs or size >= _OFFSETS_FROM:
        left.take(4 * size)
    for number, (key, last) in enumerate(of_containers.tolist()):
        if flags[number // 8] >> number % 8 & 1:
            rows = _runs(left)
        elif last < _MOST_IN_ARRAY:
            rows = left.numbers(last + 1)
        else:
            bits = np.frombuffer(left.take(_BITS_BYTES), np.uint8)
            rows = np.flatnonzero(np.unpackbits(bits, bitorder="little"))
        if len(rows) != last + 1:
            raise FormatError(
                f"{left.where}: deletion vector: container of {len(rows)} rows, expected {last + 1}"
            )
        yield rows + (key << 16)


def _runs(left: _Bytes) -> NDArray[np.int64]:
    """Rows side by side: the first of each run, and how many follow it."""
    runs = left.numbers(2 * left.number(2)).reshape(-1, 2)
    check_fits(f"{left.where}: deletion vector: takes", _ROW_BYTES * int(runs[:, 1].sum()))
    each = [np.arange(first, first + more + 1) for first, more in runs.tolist()]
    return np.concatenate([np.empty(0, np.int64), *each])
