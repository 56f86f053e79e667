"""The values that min/max statistics rule out: the range of each row group, in the column's order.

| type                                   | order                             |
|----------------------------------------|-----------------------------------|
| INT32, INT64, DATE, TIME, TIMESTAMP    | as signed integers                |
| INTEGER(…, false)                      | as unsigned integers              |
| FLOAT, DOUBLE, FLOAT16                 | as numbers; a NaN bound is none   |
| DECIMAL                                | as signed integers, big-endian if in bytes |
| other BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY | byte by byte, unsigned            |
| INT96, INTERVAL, BOOLEAN, unknown ones | none that readers can rely on     |

Bounds need not be stored values: writers shorten long ones, minima down and maxima up. The deprecated
fields `min` and `max` compare all types as signed, so they count only where that is right.

Spec: parquet-format, parquet.thrift `Statistics` and `ColumnOrder`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from math import isnan

from parquet_bloom.advice.lookups import KEY_BYTES, Bounds, OrderKey, bounds_of
from parquet_bloom.parquet.thrift.ttypes import Statistics
from parquet_bloom.values.types import FLOAT_FORMAT, LeafType

_BYTES_IN_ORDER = ("", "STRING", "ENUM", "JSON", "BSON", "UUID")
_INTEGERS = ("", "DATE", "TIME", "TIMESTAMP", "DECIMAL", "INTEGER")

# From stored bytes to their place in the order: None for NaN, and for bytes of a wrong length.
KeyOf = Callable[[bytes], OrderKey | None]


def key_of(leaf: LeafType) -> KeyOf | None:
    """The keys of stored bytes; None if the type has no reliable order."""
    width, name = leaf.width, leaf.logical_name
    if leaf.is_float and width is not None:
        return partial(_float_key, width)
    if leaf.physical in ("INT32", "INT64") and width is not None:
        return partial(_integer_key, width, _is_signed(leaf)) if name in _INTEGERS else None
    if leaf.physical not in ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"):
        return None
    if name == "DECIMAL":
        return partial(_decimal_key, width)
    return partial(_bytes_key, width) if name in _BYTES_IN_ORDER else None


def _is_signed(leaf: LeafType) -> bool:
    return leaf.logical is None or leaf.logical.signed


def _float_key(width: int, stored: bytes) -> OrderKey | None:
    if len(stored) != width:
        return None
    (number,) = struct.unpack(FLOAT_FORMAT[width], stored)
    return None if isnan(number) else float(number)


def _integer_key(width: int, signed: bool, stored: bytes) -> OrderKey | None:
    return int.from_bytes(stored, "little", signed=signed) if len(stored) == width else None


def _decimal_key(width: int | None, stored: bytes) -> OrderKey | None:
    if not 0 < len(stored) <= KEY_BYTES or width not in (None, len(stored)):
        return None
    return int.from_bytes(stored, "big", signed=True)


def _bytes_key(width: int | None, stored: bytes) -> OrderKey | None:
    """A bound may be shorter than the values, but not longer."""
    return None if width is not None and len(stored) > width else bytes(stored[:KEY_BYTES])


def bounds(leaf: LeafType, statistics: Statistics | None) -> Bounds | None:
    """The bounds in the statistics of a chunk; None if there are none to rely on."""
    key = key_of(leaf)
    if key is None or statistics is None:
        return None
    stored = [(statistics.min_value, statistics.max_value)]
    if _is_signed(leaf) and leaf.physical in ("INT32", "INT64", "FLOAT", "DOUBLE"):
        stored.append((statistics.min, statistics.max))
    for low, high in stored:
        if isinstance(low, bytes) and isinstance(high, bytes):
            return bounds_of(key(low), key(high))
    return None
