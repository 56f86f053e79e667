"""What min/max statistics rule out: the range of values of each row group, in the column's order.

| type                                   | order                             |
|----------------------------------------|-----------------------------------|
| INT32, INT64, DATE, TIME, TIMESTAMP    | as signed integers                |
| INTEGER(…, false)                      | as unsigned integers              |
| FLOAT, DOUBLE, FLOAT16                 | as numbers; a NaN bound is none   |
| DECIMAL                                | as signed integers, big-endian if in bytes |
| other BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY | byte by byte, unsigned            |
| INT96, INTERVAL, BOOLEAN, unknown ones | none that readers can rely on     |

Bounds need not be stored values: writers shorten long ones, minima down and maxima up. The older
fields `min` and `max` compare all types as signed, so they count only where that is right.

Spec: parquet-format, parquet.thrift `Statistics` and `ColumnOrder`.
"""

from __future__ import annotations

import struct
from math import isnan
from typing import Any

from parquet_bloom.advice.ranges import KEY_BYTES, Bounds, KeyOf, OrderKey, bounds_of
from parquet_bloom.parquet.thrift.ttypes import Statistics
from parquet_bloom.values.types import FLOAT_FORMAT, LeafType

_BYTES_IN_ORDER = ("", "STRING", "ENUM", "JSON", "BSON", "UUID")
_SIGNED = ("", "DATE", "TIME", "TIMESTAMP", "DECIMAL")


def key_of(leaf: LeafType) -> KeyOf | None:
    """A function from stored bytes to a key; None if the type has no reliable order.

    It returns None for bytes with no place in the order: NaN, and those of a wrong length.
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
    """A bound may be shorter than the values, but not longer."""

    def key(stored: bytes) -> OrderKey | None:
        return None if width is not None and len(stored) > width else bytes(stored[:KEY_BYTES])

    return key


def bounds(leaf: LeafType, statistics: Statistics | None) -> Bounds | None:
    """The bounds in the statistics of a chunk; None if there are none to rely on."""
    key = key_of(leaf)
    if key is None or statistics is None:
        return None
    for low, high in _stored_bounds(leaf, statistics):
        if isinstance(low, bytes) and isinstance(high, bytes):
            return bounds_of(key(low), key(high))
    return None


def _stored_bounds(leaf: LeafType, statistics: Statistics) -> list[tuple[Any, Any]]:
    """The current fields first, then the deprecated ones if the column's order is signed."""
    current = statistics.min_value, statistics.max_value
    signed = leaf.logical is None or leaf.logical.signed
    if signed and leaf.physical in ("INT32", "INT64", "FLOAT", "DOUBLE"):
        return [current, (statistics.min, statistics.max)]
    return [current]
