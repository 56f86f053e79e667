"""Values that all engines compare with a leaf column as it is stored, so that a filter may answer for them.

| type                  | values                                                                        |
|-----------------------|-------------------------------------------------------------------------------|
| integers              | int                                                                           |
| FLOAT, DOUBLE, FLOAT16| int, float that the type has exactly: some engines round others, some do not  |
| DECIMAL               | int, Decimal; up to 38 digits, as engines read more as floats                 |
| STRING                | str: some engines read bytes as escaped text                                  |
| other bytes           | bytes; str of ASCII without backslashes                                       |
| UUID                  | UUID, str                                                                     |
| DATE                  | date: a date is not a time, nor the other way round                           |
| TIME                  | time without a zone                                                           |
| TIMESTAMP             | with a zone if the column has one, else without: engines have zones of their own |
| BOOLEAN, INT96, others| none: engines wrap or convert what they read, or refuse what they do not know |

Nanoseconds are cut off by some engines: such a column is only compared with bounds, SLACK wider on each side.
NaN equals itself in some engines, and is the greatest of all numbers there.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal
from math import isfinite
from typing import Any, Final
from uuid import UUID

from parquet_bloom.native.lazy import Array
from parquet_bloom.values.given import plain_value
from parquet_bloom.values.types import FLOAT_FORMAT, Days, LeafType, TimeNanos, TimestampNanos

SLACK: Final = 999
_MOST_DIGITS: Final = 38
_TEXTS: Final = ("", "ENUM", "JSON")
_INTEGERS: Final = ("INT32", "INT64")


def is_agreed(leaf: LeafType, values: Sequence[Any] | Array) -> bool:
    """Whether this is so for all of them."""
    if leaf.is_unknown:
        return False
    if getattr(getattr(values, "dtype", None), "kind", "") in ("i", "u") and _is_integer(leaf):
        return True
    return all(_is_agreed(leaf, plain_value(value)) for value in values)


def has_nanoseconds(leaf: LeafType) -> bool:
    return leaf.logical is not None and leaf.logical.unit == "NANOS"


def _is_integer(leaf: LeafType) -> bool:
    return leaf.physical in _INTEGERS and leaf.logical_name in ("", "INTEGER")


def _is_agreed(leaf: LeafType, value: object) -> bool:
    if value is None or isinstance(value, bool) or leaf.physical in ("BOOLEAN", "INT96"):
        return False
    if leaf.is_float:
        return _is_exact(leaf, value)
    if _is_integer(leaf):
        return isinstance(value, int)
    match leaf.logical_name:
        case "DECIMAL":
            precision = leaf.logical.precision if leaf.logical else 0
            return isinstance(value, int | Decimal) and precision <= _MOST_DIGITS
        case "STRING":
            return isinstance(value, str)
        case "UUID":
            return isinstance(value, str | UUID)
        case "DATE":
            return isinstance(value, Days | date) and not isinstance(value, datetime)
        case "TIME":
            return isinstance(value, TimeNanos) or (isinstance(value, time) and not value.tzinfo)
        case "TIMESTAMP":
            return _is_in_zone(value, leaf.logical is not None and leaf.logical.utc)
        case name if name in _TEXTS:
            is_plain = isinstance(value, str) and value.isascii() and "\\" not in value
            return is_plain or (name == "" and isinstance(value, bytes))
    return False


def _is_exact(leaf: LeafType, value: object) -> bool:
    if not isinstance(value, int | float):
        return False
    try:
        kept = struct.unpack(
            FLOAT_FORMAT[leaf.width or 8], struct.pack(FLOAT_FORMAT[leaf.width or 8], value)
        )
    except (OverflowError, struct.error):
        return False
    return isfinite(kept[0]) and bool(kept[0] == value)


def _is_in_zone(value: object, has_zone: bool) -> bool:
    if isinstance(value, TimestampNanos):
        return value.zoned == has_zone
    return isinstance(value, datetime) and (value.tzinfo is not None) == has_zone
