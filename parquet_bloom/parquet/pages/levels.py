"""Definition and repetition levels of a page, and the RLE / bit-packing hybrid that they share with
dictionary indices.

    run of one value   varint: length << 1        the value, in whole bytes
    bit-packed         varint: groups << 1 | 1    8 values per group, the lowest bit first

Spec: parquet-format, Encodings.md "Run Length Encoding / Bit-Packing Hybrid".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from parquet_bloom.errors import PageError
from parquet_bloom.native import _kernel
from parquet_bloom.native.lazy import NDArray, np
from parquet_bloom.parquet.pages.runs import checked

_NOTHING: Final = memoryview(b"")


@dataclass(frozen=True, slots=True)
class Levels:
    """`count` levels of 0 to `highest`; without any data if that is 0. `bit_packed`: in the encoding
    of that name, the highest bit first, which only old files have."""

    count: int
    highest: int = 0
    data: memoryview = _NOTHING
    bit_packed: bool = False

    def num_highest(self) -> int:
        """How many are the highest one: of definition levels, the number of stored values."""
        if self.highest == 0:
            return self.count
        count = _kernel.count_bit_packed_levels if self.bit_packed else _kernel.count_levels
        return checked(count, self.data, self.highest.bit_length(), self.count, self.highest)

    def decoded(self) -> NDArray[np.uint32]:
        """All of them, shape (count,). Raises PageError for damage."""
        if self.highest == 0:
            return np.zeros(self.count, np.uint32)
        width = self.highest.bit_length()
        if not self.bit_packed:
            return hybrid(self.data, width, self.count)
        bits = np.unpackbits(np.frombuffer(self.data, np.uint8))[: self.count * width]
        return _numbers(bits.reshape(-1, width)[:, ::-1])


def hybrid(data: memoryview, width: int, count: int) -> NDArray[np.uint32]:
    """The first `count` values of a hybrid of `width` bits each. Raises PageError for damage."""
    values = np.zeros(count, np.uint32)
    at = done = 0
    while done < count:
        header, at = _varint(data, at)
        size = (header >> 1) * width if header & 1 else (width + 7) // 8
        stored = data[at : at + size]
        at += size
        if not header & 1:
            end = min(count, done + (header >> 1))
            values[done:end] = int.from_bytes(stored, "little")
        elif width:
            packed = np.unpackbits(np.frombuffer(stored, np.uint8), bitorder="little")
            whole = packed[: packed.size // width * width].reshape(-1, width)[: count - done]
            end = done + len(whole)
            values[done:end] = _numbers(whole)
        else:
            end = min(count, done + 8 * (header >> 1))
        done = end
    return values


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    """The number at `at`, and where it ends."""
    number = shift = 0
    for end in range(at, min(len(data), at + 10)):
        number |= (data[end] & 0x7F) << shift
        shift += 7
        if data[end] < 0x80:
            return number, end + 1
    raise PageError("levels or dictionary indices end too early")


def _numbers(bits: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """The number in each row of `bits`, the lowest bit first."""
    numbers = np.zeros(len(bits), np.uint32)
    for place in range(bits.shape[1]):
        numbers |= bits[:, place].astype(np.uint32) << np.uint32(place)
    return numbers
