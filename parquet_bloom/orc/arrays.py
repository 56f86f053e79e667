"""Values of a column in memory, without nulls.

Numbers     integers, days, floating-point numbers, booleans; of a LIST or MAP the number of its
            elements, of a UNION the tag
Texts       text and bytes, one after the other
Decimals    unscaled numbers of 128 bits
Times       seconds since 1970 by the wall clock or in UTC, and nanoseconds
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from decimal import Context, Decimal
from itertools import pairwise
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.native import _kernel

# More bytes than any index group or dictionary has; see streams.MOST_VALUES.
MOST_BYTES = 1 << 30

# More digits than 128 bits have.
_CONTEXT = Context(prec=60)

_WORD = 64


@dataclass(frozen=True, slots=True)
class Numbers:
    """`numbers`: shape (n,), of any width."""

    numbers: NDArray[Any] = field(repr=False)

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, positions: NDArray[np.int64]) -> Self:
        return type(self)(self.numbers[positions])

    def tolist(self) -> list[Any]:
        numbers: list[Any] = self.numbers.tolist()
        return numbers

    def identities(self) -> Iterable[Hashable]:
        """Equal only for values with the same bits."""
        numbers: NDArray[Any] = self.numbers
        if numbers.dtype.kind == "f":
            numbers = numbers.view(f"i{numbers.itemsize}")
        identities: list[Hashable] = numbers.tolist()
        return identities


@dataclass(frozen=True, slots=True)
class Texts:
    """Value i is data[starts[i]:starts[i + 1]]; `starts`: int64, shape (n + 1,)."""

    data: bytes | memoryview | NDArray[np.uint8] = field(repr=False)
    starts: NDArray[np.int64] = field(repr=False)

    @classmethod
    def of(cls, texts: list[bytes]) -> Self:
        lengths = np.array([len(text) for text in texts], np.int64)
        return cls(b"".join(texts), _kernel.orc_starts(lengths, MOST_BYTES))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def take(self, positions: NDArray[np.int64]) -> Self:
        """Raises ValueError for a position that is out of range."""
        return type(self)(*_kernel.orc_picked(self.data, self.starts, positions, MOST_BYTES))

    def tolist(self) -> list[bytes]:
        data, starts = bytes(self.data), self.starts.tolist()
        return [data[start:end] for start, end in pairwise(starts)]

    def identities(self) -> Iterable[Hashable]:
        return self.tolist()


@dataclass(frozen=True, slots=True)
class Decimals:
    """`words`: the unscaled numbers as two's complement, the low word first, uint64, shape (n, 2);
    `scale`: digits after the point, 0 to 38."""

    words: NDArray[np.uint64] = field(repr=False)
    scale: int

    @classmethod
    def of(cls, unscaled: list[int], scale: int) -> Self:
        low = (1 << _WORD) - 1
        words = [(number & low, number >> _WORD & low) for number in unscaled]
        return cls(np.array(words, np.uint64).reshape(-1, 2), scale)

    def __len__(self) -> int:
        return len(self.words)

    def take(self, positions: NDArray[np.int64]) -> Self:
        return type(self)(self.words[positions], self.scale)

    def unscaled(self) -> list[int]:
        low, high = self.words[:, 0].tolist(), self.words[:, 1].view(np.int64).tolist()
        return [above << _WORD | below for below, above in zip(low, high, strict=True)]

    def tolist(self) -> list[Decimal]:
        return [_CONTEXT.scaleb(Decimal(number), -self.scale) for number in self.unscaled()]

    def identities(self) -> Iterable[Hashable]:
        return self.unscaled()


@dataclass(frozen=True, slots=True)
class Times:
    """`seconds` since 1970, rounded down, and `nanos` after them, 0 to 999,999,999: int64, shape
    (n,)."""

    seconds: NDArray[np.int64] = field(repr=False)
    nanos: NDArray[np.int64] = field(repr=False)

    @classmethod
    def of(cls, nanos: list[int]) -> Self:
        """From nanoseconds since 1970."""
        pairs = [divmod(each, 1_000_000_000) for each in nanos]
        seconds, rests = np.array(pairs, np.int64).reshape(-1, 2).T
        return cls(seconds.copy(), rests.copy())

    def __len__(self) -> int:
        return len(self.seconds)

    def take(self, positions: NDArray[np.int64]) -> Self:
        return type(self)(self.seconds[positions], self.nanos[positions])

    @property
    def millis(self) -> NDArray[np.int64]:
        """Whole milliseconds since 1970, rounded down."""
        return self.seconds * 1_000 + self.nanos // 1_000_000

    def tolist(self) -> list[tuple[int, int]]:
        return list(zip(self.seconds.tolist(), self.nanos.tolist(), strict=True))

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
