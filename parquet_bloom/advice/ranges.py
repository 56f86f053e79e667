"""The ranges of values in min/max statistics, and which of them a value falls into.

A group is what readers skip: a row group of Parquet, an index group of ORC.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Where a value lies in its column's order; all keys of a column are of the same kind.
OrderKey = int | float | bytes | Decimal
# From a stored value (in Parquet, its bytes) to its place in the order, None if it has none.
KeyOf = Callable[[Any], OrderKey | None]

# No more bytes of a value or a bound are compared; that only makes a range a little wider.
KEY_BYTES = 64


@dataclass(frozen=True, slots=True)
class Bounds:
    """No value of the group lies outside; low <= high."""

    low: Any
    high: Any


def bounds_of(low: OrderKey | None, high: OrderKey | None) -> Bounds | None:
    """The bounds, None if one is missing or they are the wrong way round."""
    if low is None or high is None:
        return None
    found = Bounds(low, high)
    return found if found.low <= found.high else None


class Ranges:
    """The ranges of some groups, each with a weight; says which of them may hold a value."""

    def __init__(self, ranges: Sequence[Bounds | None], weights: Sequence[float]) -> None:
        """None stands for a group without a range, which may hold any value."""
        known = [(each, weight) for each, weight in zip(ranges, weights, strict=True) if each]
        lows = sorted((each.low, weight) for each, weight in known)
        highs = sorted((each.high, weight) for each, weight in known)
        self._lows = [low for low, _ in lows]
        self._highs = [high for high, _ in highs]
        self._weights_from = np.array([0.0, *accumulate(weight for _, weight in lows)])
        self._weights_to = np.array([0.0, *accumulate(weight for _, weight in highs)])
        self._num_unknown = len(ranges) - len(known)
        self._weight_unknown = sum(weights) - sum(weight for _, weight in known)
        self._num, self._weight = len(ranges), sum(weights)

    def around(
        self, keys: Sequence[OrderKey | None]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """For each value, how many groups may hold it, and the sum of their weights; for None, all
        groups. Both have the shape (len(keys),)."""
        is_known = np.array([key is not None for key in keys], np.bool_)
        known: list[Any] = [key for key in keys if key is not None]
        # Ranges that have begun, less those that have ended: low <= high, so these have begun, too.
        begun = np.array([bisect_right(self._lows, key) for key in known], np.int64)
        ended = np.array([bisect_left(self._highs, key) for key in known], np.int64)
        count = np.full(len(keys), self._num, np.int64)
        weight = np.full(len(keys), self._weight, np.float64)
        count[is_known] = self._num_unknown + begun - ended
        weight[is_known] = self._weight_unknown + np.maximum(
            0, self._weights_from[begun] - self._weights_to[ended]
        )
        return count, weight
