"""Places in the order of a column: of one value, and of many.

Of many, they are in an array: int64 for integers that fit, float64 for floating-point numbers, and objects for
all others. Numbers are most of what is surveyed, and an object for each would take longer than all the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.dataclass import dataclass

# A value's place; all of a column are of the same kind.
OrderKey = int | float | bytes | Decimal

# Only so many bytes of a value or a bound are compared. Addresses and paths often begin alike and are rarely longer,
# and ORC has no longer bounds.
KEY_BYTES = 1024


@dataclass(frozen=True, slots=True)
class Keys:
    """The places of values, both of shape (n,): `values`, whatever it is where `is_known` is False."""

    values: NDArray[Any]
    is_known: NDArray[np.bool_]

    @classmethod
    def of(cls, keys: Sequence[OrderKey | None]) -> Self:
        """None is no place."""
        is_known = np.array([key is not None for key in keys], np.bool_)
        return cls.spread(array_of([key for key in keys if key is not None]), is_known)

    @classmethod
    def none(cls, count: int) -> Self:
        """So many values without a place."""
        return cls(np.zeros(count, np.int64), np.zeros(count, np.bool_))

    @classmethod
    def of_numbers(cls, numbers: NDArray[Any]) -> Self:
        """Integers or floating-point numbers of any width; NaN has no place."""
        if numbers.dtype.kind == "f":
            return cls(numbers.astype(np.float64), ~np.isnan(numbers))
        is_small = numbers.dtype.kind == "i" or numbers.max(initial=0) < 1 << 63
        return cls(
            numbers.astype(np.int64 if is_small else object), np.ones(numbers.size, np.bool_)
        )

    @classmethod
    def spread(cls, known: NDArray[Any], is_known: NDArray[np.bool_]) -> Self:
        """These places, in order, where there is one."""
        values = np.zeros(is_known.size, known.dtype)
        values[is_known] = known
        return cls(values, is_known)

    @classmethod
    def joined(cls, parts: Sequence[Keys]) -> Self:
        """All of one column, one part after the other."""
        known = [part.known for part in parts if part.is_known.any()]
        is_known = np.concatenate([np.zeros(0, np.bool_), *(part.is_known for part in parts)])
        # Integers that fit, and some that do not, are objects.
        return cls.spread(np.concatenate(known) if known else array_of([]), is_known)

    def __len__(self) -> int:
        return self.values.size

    def at(self, positions: NDArray[np.intp] | NDArray[np.bool_] | slice) -> Keys:
        return Keys(self.values[positions], self.is_known[positions])

    @property
    def known(self) -> NDArray[Any]:
        """Without those that have no place."""
        return self.values[self.is_known]

    def tolist(self) -> list[OrderKey | None]:
        keys = self.values.tolist()
        return [key if known else None for key, known in zip(keys, self.is_known, strict=True)]


def array_of(keys: Sequence[OrderKey]) -> NDArray[Any]:
    """Places as Keys has them."""
    kinds = set(map(type, keys))
    if kinds == {float}:
        return np.array(keys, np.float64)
    if kinds <= {int} and all(-(1 << 63) <= int(key) < 1 << 63 for key in keys):
        return np.array(keys, np.int64)
    values = np.empty(len(keys), object)
    values[:] = keys
    return values
