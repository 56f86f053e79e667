"""The order of the values of a leaf column, by which min/max statistics rule values out.

| type                                   | order                             |
|----------------------------------------|-----------------------------------|
| INT32, INT64, DATE, TIME, TIMESTAMP    | as signed integers                |
| INTEGER(…, false)                      | as unsigned integers              |
| FLOAT, DOUBLE, FLOAT16                 | as numbers; NaN has no place      |
| DECIMAL                                | as signed integers, big-endian if in bytes |
| other BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY | byte by byte, unsigned            |
| INT96                                  | as moments, if the footer says so |
| INTERVAL, BOOLEAN, unknown ones        | none that readers can rely on     |

Spec: parquet-format, parquet.thrift `Statistics` and `ColumnOrder`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from math import isnan
from typing import Final, TypeAlias

from parquet_bloom.values.types import FLOAT_FORMAT, NANOS_PER_DAY, PHYSICAL_WIDTH, LeafType

_IN_BYTES: Final = ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
_BYTES_IN_ORDER: Final = ("", "STRING", "ENUM", "JSON", "BSON", "UUID")
_INTEGERS: Final = ("", "DATE", "TIME", "TIMESTAMP", "DECIMAL", "INTEGER")

# No DECIMAL that anybody writes is longer.
_MOST_DECIMAL_BYTES: Final = 64

# A place in the order; all of a column are of the same kind.
Key: TypeAlias = int | float | bytes

# From stored bytes to their place in the order: None for NaN, and for bytes of a wrong length.
KeyOf: TypeAlias = "Callable[[bytes], Key | None]"


def key_of(leaf: LeafType) -> KeyOf | None:
    """The keys of stored bytes; None if the type has no reliable order."""
    width, name = leaf.width, leaf.logical_name
    if leaf.is_unknown:
        return None
    if leaf.physical == "INT96":
        return _moment_key
    if leaf.is_float and width is not None:
        return partial(_float_key, width)
    if leaf.physical in ("INT32", "INT64") and width is not None:
        return partial(_integer_key, width, is_signed(leaf)) if name in _INTEGERS else None
    if leaf.physical in _IN_BYTES and name == "DECIMAL":
        return partial(_decimal_key, width)
    return partial(_bytes_key, width) if is_bytewise(leaf) else None


def is_signed(leaf: LeafType) -> bool:
    return leaf.logical is None or leaf.logical.signed


def is_bytewise(leaf: LeafType) -> bool:
    """Whether a stored value is its own place."""
    is_known = leaf.physical in _IN_BYTES and not leaf.is_unknown
    return is_known and leaf.logical_name in _BYTES_IN_ORDER


def number_kind(leaf: LeafType) -> str | None:
    """The dtype of stored values that are ordered as integers or as floating-point numbers; None for others."""
    if leaf.is_float:
        return f"<f{leaf.width}"
    if leaf.physical not in ("INT32", "INT64") or leaf.is_unknown:
        return None
    return (
        f"<{'i' if is_signed(leaf) else 'u'}{leaf.width}"
        if leaf.logical_name in _INTEGERS
        else None
    )


def _float_key(width: int, stored: bytes) -> Key | None:
    if len(stored) != width:
        return None
    (number,) = struct.unpack(FLOAT_FORMAT[width], stored)
    return None if isnan(number) else float(number)


def _integer_key(width: int, signed: bool, stored: bytes) -> Key | None:
    return int.from_bytes(stored, "little", signed=signed) if len(stored) == width else None


def _moment_key(stored: bytes) -> Key | None:
    if len(stored) != PHYSICAL_WIDTH["INT96"]:
        return None
    nanos, julian_day = struct.unpack("<qi", stored)
    return int(julian_day) * NANOS_PER_DAY + int(nanos)


def _decimal_key(width: int | None, stored: bytes) -> Key | None:
    if not 0 < len(stored) <= _MOST_DECIMAL_BYTES or width not in (None, len(stored)):
        return None
    return int.from_bytes(stored, "big", signed=True)


def _bytes_key(width: int | None, stored: bytes) -> Key | None:
    """A bound may be shorter than the values, but not longer."""
    return None if width is not None and len(stored) > width else bytes(stored)
