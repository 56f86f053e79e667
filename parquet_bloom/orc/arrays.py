"""Values of a column in memory, without nulls.

Numbers     integers, days, floating-point numbers, booleans; of a LIST or MAP the number of its
            elements, of a UNION the tag
Texts       text and bytes, one after the other
Decimals    unscaled numbers of 128 bits
Times       seconds since 1970 by the wall clock or in UTC, and nanoseconds

They are held in memoryviews or arrays, and are arrays for whoever asks for that: those who only build
filters do not, and need no numpy.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable
from dataclasses import field
from decimal import Context, Decimal
from itertools import pairwise
from typing import Any, Self, TypeAlias

from parquet_bloom.dataclass import dataclass
from parquet_bloom.native import _kernel
from parquet_bloom.native.lazy import Array, NDArray, np

# What numbers are held in.
Held: TypeAlias = "memoryview[Any] | Array"

# More bytes than any index group or dictionary has; see streams.MOST_VALUES.
MOST_BYTES = 1 << 30

# More digits than 128 bits have.
_CONTEXT = Context(prec=60)

_WORD = 64


def as_array(held: Held) -> Array:
    """The same memory as an array."""
    return np.asarray(held)


@dataclass(frozen=True, slots=True)
class Numbers:
    """`held`: numbers of any width, shape (n,)."""

    held: Held = field(repr=False)

    def __len__(self) -> int:
        return len(self.held)

    @property
    def numbers(self) -> Array:
        return as_array(self.held)

    def part(self, start: int, end: int) -> Self:
        return type(self)(self.held[start:end])

    def take(self, positions: NDArray[np.int64]) -> Self:
        return type(self)(self.numbers[positions])

    def tolist(self) -> list[Any]:
        return list(self.held.tolist())

    def identities(self) -> Iterable[Hashable]:
        """Equal only for values with the same bits."""
        numbers = self.numbers
        if numbers.dtype.kind == "f":
            numbers = numbers.view(f"i{numbers.itemsize}")
        identities: list[Hashable] = numbers.tolist()
        return identities


@dataclass(frozen=True, slots=True)
class Texts:
    """Value i is data[starts[i]:starts[i + 1]]; `starts`: int64, shape (n + 1,)."""

    data: bytes | memoryview = field(repr=False)
    starts: memoryview = field(repr=False)

    @classmethod
    def of(cls, texts: list[bytes]) -> Self:
        lengths = memoryview(array("q", map(len, texts)))
        return cls(b"".join(texts), _kernel.orc_starts(lengths, MOST_BYTES))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def part(self, start: int, end: int) -> Self:
        return type(self)(self.data, self.starts[start : end + 1])

    def take(self, positions: Held) -> Self:
        """Raises ValueError for a position that is out of range."""
        return type(self)(*_kernel.orc_picked(self.data, self.starts, positions, MOST_BYTES))

    def tolist(self) -> list[bytes]:
        data, starts = bytes(self.data), self.starts.tolist()
        return [data[start:end] for start, end in pairwise(starts)]

    def identities(self) -> Iterable[Hashable]:
        return self.tolist()


@dataclass(frozen=True, slots=True)
class Decimals:
    """`held`: the unscaled numbers as two's complement, two words for each, the low one first, uint64,
    shape (2 * n,); `scale`: digits after the point, 0 to 38."""

    held: Held = field(repr=False)
    scale: int

    @classmethod
    def of(cls, unscaled: list[int], scale: int) -> Self:
        low = (1 << _WORD) - 1
        words = (word for number in unscaled for word in (number & low, number >> _WORD & low))
        return cls(memoryview(array("Q", words)), scale)

    def __len__(self) -> int:
        return len(self.held) // 2

    @property
    def words(self) -> NDArray[np.uint64]:
        """Shape (n, 2)."""
        return as_array(self.held).reshape(-1, 2)

    def part(self, start: int, end: int) -> Self:
        return type(self)(self.held[2 * start : 2 * end], self.scale)

    def take(self, positions: NDArray[np.int64]) -> Self:
        return type(self)(self.words[positions].ravel(), self.scale)

    def unscaled(self) -> list[int]:
        signed = as_array(self.held).view("i8")[1::2].tolist()
        return [
            above << _WORD | below
            for below, above in zip(self.held[::2].tolist(), signed, strict=True)
        ]

    def tolist(self) -> list[Decimal]:
        return [_CONTEXT.scaleb(Decimal(number), -self.scale) for number in self.unscaled()]

    def identities(self) -> Iterable[Hashable]:
        return self.unscaled()


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds since 1970, rounded down, and nanoseconds after them, 0 to 999,999,999: int64, shape
    (n,)."""

    held_seconds: Held = field(repr=False)
    held_nanos: Held = field(repr=False)

    @classmethod
    def of(cls, nanos: list[int]) -> Self:
        """From nanoseconds since 1970."""
        pairs = [divmod(each, 1_000_000_000) for each in nanos]
        seconds, rests = (array("q", (pair[at] for pair in pairs)) for at in (0, 1))
        return cls(memoryview(seconds), memoryview(rests))

    def __len__(self) -> int:
        return len(self.held_seconds)

    @property
    def seconds(self) -> NDArray[np.int64]:
        return as_array(self.held_seconds)

    @property
    def nanos(self) -> NDArray[np.int64]:
        return as_array(self.held_nanos)

    def part(self, start: int, end: int) -> Self:
        return type(self)(self.held_seconds[start:end], self.held_nanos[start:end])

    def take(self, positions: NDArray[np.int64]) -> Self:
        return type(self)(self.seconds[positions], self.nanos[positions])

    def to_millis(self, low: int = 0, high: int = 0) -> tuple[memoryview, bool]:
        """Whole milliseconds since 1970, rounded down: int64, shape (n,); and whether any time that is
        not a whole second is in [low, high) of them."""
        return _kernel.orc_millis(self.held_seconds, self.held_nanos, low, high)

    @property
    def millis(self) -> NDArray[np.int64]:
        """Whole milliseconds since 1970, rounded down."""
        return as_array(self.to_millis()[0])

    def tolist(self) -> list[tuple[int, int]]:
        return list(zip(self.held_seconds.tolist(), self.held_nanos.tolist(), strict=True))

    def identities(self) -> Iterable[Hashable]:
        return self.tolist()


Values: TypeAlias = Numbers | Texts | Decimals | Times

# Values that are compared at a time.
_STEP = 10_000


def selected(values: Values, wanted: NDArray[np.bool_], at_most: int) -> Values:
    """The first distinct values among the `wanted` ones."""
    positions = np.flatnonzero(wanted)
    first: dict[Hashable, int] = {}
    for start in range(0, len(positions), _STEP):
        part = positions[start : start + _STEP]
        for identity, position in zip(values.take(part).identities(), part.tolist(), strict=True):
            first.setdefault(identity, position)
        if len(first) >= at_most:
            break
    return values.take(np.array([*first.values()][:at_most], np.int64))
