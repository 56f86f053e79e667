"""What min/max statistics exclude: the range of values of each row group, in the column's order.

| type                                   | order                             |
|----------------------------------------|-----------------------------------|
| INT32, INT64, DATE, TIME, TIMESTAMP    | as signed integers                |
| INTEGER(…, false)                      | as unsigned integers              |
| FLOAT, DOUBLE, FLOAT16                 | as numbers; a NaN bound is none   |
| DECIMAL                                | as signed integers, big-endian if in bytes |
| other BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY | byte by byte, unsigned            |
| INT96, INTERVAL, BOOLEAN, unknown ones | none that readers could rely on   |

Bounds need not be values: writers shorten long ones, minima down and maxima up. The older fields
`min` and `max` were compared as signed whatever the type, so they count only where that is right.

Spec: parquet-format, parquet.thrift `Statistics` and `ColumnOrder`.
"""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.parquet.thrift.ttypes import Statistics
from parquet_bloom.values.floats import FLOAT_FORMAT
from parquet_bloom.values.types import LeafType

# Where a value lies in its column's order; all keys of a column are of the same kind.
OrderKey = int | float | bytes | Decimal
# From a stored value, which of Parquet is its bytes.
KeyOf = Callable[[Any], OrderKey | None]

# Of values and bounds alike, no more bytes are compared: a range only becomes a little wider.
KEY_BYTES = 64

_BYTES_IN_ORDER = ("", "STRING", "ENUM", "JSON", "BSON", "UUID")
_SIGNED = ("", "DATE", "TIME", "TIMESTAMP", "DECIMAL")


def key_of(leaf: LeafType) -> KeyOf | None:
    """The function from stored bytes to a key; None if the type has no order to rely on.

    It returns None for bytes that have no place in the order: NaN, and those of a wrong length.
    """
    width = leaf.width
    if leaf.is_float and width is not None:
        return _float_key(width)
    if leaf.physical in ("INT32", "INT64") and width is not None:
        return _integer_key(leaf, width)
    if leaf.physical not in ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"):
        return None
    if leaf.logical_name == "DECIMAL":
        return _decimal_key(width)
    return _bytes_key(width) if leaf.logical_name in _BYTES_IN_ORDER else None


def _float_key(width: int) -> KeyOf:
    def key(stored: bytes) -> OrderKey | None:
        if len(stored) != width:
            return None
        (number,) = struct.unpack(FLOAT_FORMAT[width], stored)
        return None if isnan(number) else float(number)

    return key


def _integer_key(leaf: LeafType, width: int) -> KeyOf | None:
    if leaf.logical_name not in (*_SIGNED, "INTEGER"):
        return None
    signed = leaf.logical is None or leaf.logical.signed

    def key(stored: bytes) -> OrderKey | None:
        return int.from_bytes(stored, "little", signed=signed) if len(stored) == width else None

    return key


def _decimal_key(width: int | None) -> KeyOf:
    def key(stored: bytes) -> OrderKey | None:
        if not 0 < len(stored) <= KEY_BYTES or width not in (None, len(stored)):
            return None
        return int.from_bytes(stored, "big", signed=True)

    return key


def _bytes_key(width: int | None) -> KeyOf:
    """A bound may be shorter than the values, never longer."""

    def key(stored: bytes) -> OrderKey | None:
        return None if width is not None and len(stored) > width else bytes(stored[:KEY_BYTES])

    return key


@dataclass(frozen=True, slots=True)
class Bounds:
    """No value of the row group lies outside; low <= high."""

    low: Any
    high: Any


def bounds(leaf: LeafType, statistics: Statistics | None) -> Bounds | None:
    """What the statistics of a chunk say of its values; None if nothing that can be relied on."""
    key = key_of(leaf)
    if key is None or statistics is None:
        return None
    for low, high in _stored_bounds(leaf, statistics):
        if isinstance(low, bytes) and isinstance(high, bytes):
            least, greatest = key(low), key(high)
            if least is None or greatest is None:
                return None
            found = Bounds(least, greatest)
            return found if found.low <= found.high else None
    return None


def _stored_bounds(leaf: LeafType, statistics: Statistics) -> list[tuple[Any, Any]]:
    """The current fields first, the deprecated ones if signed comparison is the column's order."""
    current = statistics.min_value, statistics.max_value
    signed = leaf.logical is None or leaf.logical.signed
    if signed and leaf.physical in ("INT32", "INT64", "FLOAT", "DOUBLE"):
        return [current, (statistics.min, statistics.max)]
    return [current]


class RowGroupRanges:
    """The ranges of some row groups, each with a weight, to be asked about values."""

    def __init__(self, ranges: Sequence[Bounds | None], weights: Sequence[float]) -> None:
        """None is a row group without a range, which no value is outside of."""
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
        """For each value, how many row groups may hold it, and their weights together; all of them
        for None. Both of the shape (len(keys),)."""
        is_known = np.array([key is not None for key in keys], np.bool_)
        known: list[Any] = [key for key in keys if key is not None]
        # Begun, less those that have ended: low <= high, so what has ended has begun.
        begun = np.array([bisect_right(self._lows, key) for key in known], np.int64)
        ended = np.array([bisect_left(self._highs, key) for key in known], np.int64)
        count = np.full(len(keys), self._num, np.int64)
        weight = np.full(len(keys), self._weight, np.float64)
        count[is_known] = self._num_unknown + begun - ended
        weight[is_known] = self._weight_unknown + np.maximum(
            0, self._weights_from[begun] - self._weights_to[ended]
        )
        return count, weight
