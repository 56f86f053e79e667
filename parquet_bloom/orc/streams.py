"""Decode the streams of a column, a number of values at a time.

A stream is a sequence of compressed chunks, of which only one is held in memory at a time. Nothing is
allocated for values that a file only claims to have: large arrays grow with what is decoded.

Spec: apache/orc-format, specification/ORCv1.md "Run Length Encoding".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.errors import FormatError, UnsupportedError
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

# Decodes from a byte of a part into an array; returns the number of values, and the next byte.
_Decode = Callable[[Any, int, NDArray[Any]], tuple[int, int]]


@contextmanager
def naming(where: str) -> Iterator[None]:
    """Errors of the kernel and of codecs as ours, which name `where`."""
    try:
        yield
    except UnsupportedError as error:
        raise UnsupportedError(f"{where}: {error}") from None
    except OverflowError as error:
        raise UnsupportedError(f"{where}: {error}") from None
    except (FormatError, ValueError) as error:
        raise FormatError(f"{where}: {error}") from None


class Stream:
    """The bytes of a stream; `where` names file, stripe, column and stream."""

    def __init__(self, stored: bytes, compression: Compression, where: str) -> None:
        self.where = where
        self._parts: Iterator[memoryview | bytes] = compression.parts(stored)
        self._part: memoryview | bytes = b""
        self._at = 0

    def take_bytes(self, count: int) -> memoryview | bytes:
        """The next bytes. Raises FormatError if there are fewer, UnsupportedError."""
        pieces: list[memoryview | bytes] = []
        left = count
        while left > len(self._part) - self._at:
            pieces.append(self._part[self._at :])
            left -= len(pieces[-1])
            self._part, self._at = b"", 0
            if not self._refill():
                raise self._too_short(count - left, count, "bytes")
        start, self._at = self._at, self._at + left
        last = memoryview(self._part)[start : self._at]
        return b"".join([*pieces, last]) if pieces else last

    def fill(self, decode: _Decode, values: NDArray[Any], count: int) -> NDArray[Any]:
        """The next `count` values in an array like `values`. Raises as take_bytes."""
        if count > MOST_VALUES:
            raise UnsupportedError(
                f"{self.where}: {count} values in an index group, expected at most {MOST_VALUES}"
            )
        check_fits(f"{self.where}: {count} values take", _VALUE_BYTES * count)
        pieces = []
        for start in range(0, count, _PIECE):
            piece = np.empty((min(_PIECE, count - start), *values.shape[1:]), values.dtype)
            filled = self._fill(decode, piece)
            if filled < len(piece):
                raise self._too_short(start + filled, count, "values")
            pieces.append(piece)
        return pieces[0] if len(pieces) == 1 else np.concatenate([values[:0], *pieces])

    def _fill(self, decode: _Decode, values: NDArray[Any]) -> int:
        filled = 0
        while True:
            with naming(self.where):
                decoded, self._at = decode(self._part, self._at, values[filled:])
            filled += decoded
            if filled == len(values) or not self._refill():
                return filled

    def _refill(self) -> bool:
        """Put the next part behind what is left of this one."""
        rest = self._part[self._at :]
        with naming(self.where):
            part = next(self._parts, None)
        if part is None:
            return False
        self._part, self._at = (b"".join([rest, part]) if len(rest) else part), 0
        return True

    def _too_short(self, found: int, expected: int, what: str) -> FormatError:
        return FormatError(f"{self.where}: ends after {found} {what}, expected {expected}")


_INTEGERS: Final = np.empty(0, np.int64)
_BYTES: Final = np.empty(0, np.uint8)
_PAIRS: Final = np.empty((0, 2), np.uint64)


class Integers:
    """Run-length encoded integers, in version 1 or 2."""

    def __init__(self, stream: Stream, version: int, *, signed: bool) -> None:
        self.stream = stream
        self._decode = _kernel.OrcIntegers(version, signed).decode

    def take(self, count: int) -> NDArray[np.int64]:
        """The next values. Raises FormatError if there are fewer, or for damage,
        UnsupportedError."""
        return self.stream.fill(self._decode, _INTEGERS, count)


class Bytes:
    """Run-length encoded bytes."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self._decode = _kernel.OrcBytes().decode

    def take(self, count: int) -> NDArray[np.uint8]:
        """Raises as Integers.take."""
        return self.stream.fill(self._decode, _BYTES, count)


class Booleans:
    """Bits of run-length encoded bytes, the highest first."""

    def __init__(self, stream: Stream) -> None:
        self._bytes = Bytes(stream)
        self._left = np.empty(0, np.bool_)

    def take(self, count: int) -> NDArray[np.bool_]:
        """Raises as Integers.take."""
        missing = count - len(self._left)
        if missing > 0:
            bits = np.unpackbits(self._bytes.take(-(-missing // 8))).view(np.bool_)
            self._left = np.concatenate([self._left, bits]) if len(self._left) else bits
        taken, self._left = self._left[:count], self._left[count:].copy()
        return taken


class LongNumbers:
    """Zigzag numbers in base 128, of up to 128 bits."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream

    def take(self, count: int) -> NDArray[np.uint64]:
        """Two words for each, the low one first: shape (n, 2). Raises as Integers.take."""
        return self.stream.fill(_kernel.orc_decimals, _PAIRS, count)


@dataclass(frozen=True, slots=True)
class Lengths:
    """The lengths of texts, or of lists."""

    integers: Integers

    def take(self, count: int, most: int = MOST_BYTES) -> NDArray[np.int64]:
        """The starts, and the end of the last one: shape (count + 1,). Raises as Integers.take."""
        lengths = self.integers.take(count)
        with naming(self.integers.stream.where):
            return _kernel.orc_starts(lengths, most)
