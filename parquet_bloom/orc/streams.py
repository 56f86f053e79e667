"""Decode the streams of a column, a number of values at a time, into memoryviews: numpy would take longer
to import than most files take to build.

A stream is a sequence of compressed chunks, of which only a few are held in memory at a time. Nothing is
allocated for values that a file only claims to have: large arrays grow with what is decoded.

Spec: apache/orc-format, specification/ORCv1.md "Run Length Encoding".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

from parquet_bloom.errors import FormatError, UnsupportedError, placing
from parquet_bloom.native import _kernel
from parquet_bloom.orc.arrays import MOST_BYTES
from parquet_bloom.parallel import check_fits

if TYPE_CHECKING:
    from parquet_bloom.orc.compression import Compression

# More values than any index group has: 13,000 times the usual number of rows.
MOST_VALUES: Final = 1 << 27

# Of each value: in pieces and as one array, and while it is hashed.
_VALUE_BYTES: Final = 48

# Values to allocate at a time.
_PIECE: Final = 1 << 20

# Decodes from a byte of a part into items; returns how many values those are, and the next byte.
_Decode = Callable[[Any, int, memoryview], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class _Layout:
    """How values are held: memoryview items of a format, so many for each value."""

    format: Literal["B", "q", "Q"]
    num_items: int = 1

    def num_bytes(self, count: int) -> int:
        """For so many values."""
        return count * self.num_items * (1 if self.format == "B" else 8)


_INTEGERS: Final = _Layout("q")
_BYTES: Final = _Layout("B")
_WORD_PAIRS: Final = _Layout("Q", 2)


def _copied(part: memoryview | bytes, at: int, room: memoryview) -> tuple[int, int]:
    count = min(len(part) - at, len(room))
    room[:count] = memoryview(part)[at : at + count]
    return count, at + count


# Errors of the kernel and of codecs as ours, which name their place.
naming = partial(
    placing,
    kinds={
        UnsupportedError: UnsupportedError,
        OverflowError: UnsupportedError,
        FormatError: FormatError,
        ValueError: FormatError,
    },
)


class Stream:
    """The bytes of a stream, `stored` in pieces that may end anywhere; `where` names file, stripe, column
    and stream."""

    def __init__(
        self,
        stored: Iterable[bytes],
        compression: Compression,
        where: str,
        *,
        reuse: bool = False,
    ) -> None:
        """`reuse`: what is taken is put in place of what was taken before: memory that is new takes
        longer than to decode into it."""
        self.where = where
        self._reuse = reuse
        self._memory = bytearray()
        self._parts = compression.parts(stored)
        self._part: memoryview | bytes = b""
        self._at = 0

    def take_bytes(self, count: int) -> memoryview:
        """A copy of the next bytes. Raises FormatError if there are fewer, UnsupportedError."""
        return self._taken(_copied, _BYTES, count, "bytes")

    def fill(self, decode: _Decode, layout: _Layout, count: int) -> memoryview:
        """The next `count` values. Raises as take_bytes."""
        if count > MOST_VALUES:
            raise UnsupportedError(
                f"{self.where}: {count} values in an index group, expected at most {MOST_VALUES}"
            )
        check_fits(f"{self.where}: {count} values take", _VALUE_BYTES * count)
        return self._taken(decode, layout, count, "values")

    def _taken(self, decode: _Decode, layout: _Layout, count: int, what: str) -> memoryview:
        size = layout.num_bytes(count)
        if count <= _PIECE or size <= len(self._memory):
            memory = self._memory if size <= len(self._memory) else bytearray(size)
            items = memoryview(memory)[:size].cast(layout.format)
            filled = self._fill(decode, items, count, layout.num_items)
            if filled < count:
                raise self._too_short(filled, count, what)
        else:
            pieces = []
            for start in range(0, count, _PIECE):
                room = min(_PIECE, count - start)
                piece = memoryview(bytearray(layout.num_bytes(room))).cast(layout.format)
                filled = self._fill(decode, piece, room, layout.num_items)
                if filled < room:
                    raise self._too_short(start + filled, count, what)
                pieces.append(piece)
            memory = bytearray().join(pieces)
            items = memoryview(memory).cast(layout.format)
        if self._reuse:
            self._memory = memory
        return items

    def _fill(self, decode: _Decode, items: memoryview, count: int, num_items: int) -> int:
        filled = 0
        while True:
            with naming(self.where):
                decoded, self._at = decode(self._part, self._at, items[filled * num_items :])
            filled += decoded
            if filled == count or not self._refill():
                return filled

    def _refill(self) -> bool:
        """Put the next part behind what is left of this one."""
        with naming(self.where):
            part = self._parts.following(self._part[self._at :])
        if part is None:
            return False
        self._part, self._at = part, 0
        return True

    def _too_short(self, found: int, expected: int, what: str) -> FormatError:
        return FormatError(f"{self.where}: ends after {found} {what}, expected {expected}")


class Integers:
    """Run-length encoded integers, in version 1 or 2."""

    def __init__(self, stream: Stream, version: int, *, signed: bool) -> None:
        self.stream = stream
        self._decode = _kernel.OrcIntegers(version, signed).decode

    def take(self, count: int) -> memoryview:
        """The next values, int64, shape (count,). Raises FormatError if there are fewer, or for
        damage, UnsupportedError."""
        return self.stream.fill(self._decode, _INTEGERS, count)


class Bytes:
    """Run-length encoded bytes."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self._decode = _kernel.OrcBytes().decode

    def take(self, count: int) -> memoryview:
        """uint8, shape (count,). Raises as Integers.take."""
        return self.stream.fill(self._decode, _BYTES, count)


class Booleans:
    """Bits of run-length encoded bytes, the highest first."""

    def __init__(self, stream: Stream) -> None:
        self._bytes = Bytes(stream)
        self._last = b""
        self._left = 0

    def take(self, count: int) -> tuple[memoryview, int]:
        """bool, shape (count,), and how many are set. Raises as Integers.take."""
        # The bits that are left begin within the first byte.
        packed, first = self._last, -self._left % 8
        if count > self._left:
            packed = b"".join([packed, self._bytes.take((count - self._left + 7) // 8)])
        bits, num_set = _kernel.orc_bits(packed, first, count)
        self._left = 8 * len(packed) - first - count
        self._last = packed[len(packed) - (self._left + 7) // 8 :]
        return bits, num_set


class LongNumbers:
    """Zigzag numbers in base 128, of up to 128 bits."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream

    def take(self, count: int) -> memoryview:
        """Two words for each, the low one first: uint64, shape (2 * count,). Raises as
        Integers.take."""
        return self.stream.fill(_kernel.orc_decimals, _WORD_PAIRS, count)


@dataclass(frozen=True, slots=True)
class Lengths:
    """The lengths of texts, or of lists."""

    integers: Integers

    def take(self, count: int, most: int = MOST_BYTES) -> memoryview:
        """The starts, and the end of the last one: int64, shape (count + 1,). Raises as
        Integers.take."""
        lengths = self.integers.take(count)
        with naming(self.integers.stream.where):
            return _kernel.orc_starts(lengths, most)
