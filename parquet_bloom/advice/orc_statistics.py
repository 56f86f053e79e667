"""The values that min/max statistics rule out: the range of each index group, in the column's order.

| type                | order                                            |
|---------------------|--------------------------------------------------|
| BYTE SHORT INT LONG | as integers                                      |
| DATE                | as days since 1970                               |
| FLOAT DOUBLE        | as numbers; a NaN bound is none                  |
| DECIMAL             | as numbers                                       |
| STRING CHAR VARCHAR | the bytes of UTF-8; of a CHAR without its blanks |
| TIMESTAMP*          | as milliseconds since 1970 by the stored clock   |
| BINARY, others      | no minimum and maximum                           |

Index groups with text of more than 1,024 bytes have none either.

Spec: apache/orc-format, specification/ORCv1.md "Column Statistics".
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from math import isnan
from typing import Final

from parquet_bloom.advice.lookups import KEY_BYTES, Bounds, OrderKey, bounds_of
from parquet_bloom.orc.arrays import Texts, Times, Values
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.row_index import GroupStatistics, Shown

_INTEGERS: Final = ("BYTE", "SHORT", "INT", "LONG")
_FLOATS: Final = ("FLOAT", "DOUBLE")
_TEXTS: Final = ("STRING", "CHAR", "VARCHAR")
_TIMESTAMPS: Final = ("TIMESTAMP", "TIMESTAMP_INSTANT")
_ORDERED: Final = {*_INTEGERS, *_FLOATS, *_TEXTS, *_TIMESTAMPS, "DATE", "DECIMAL"}

_UNIX_EPOCH: Final = date(1970, 1, 1).toordinal()


def is_ordered(column: OrcColumn) -> bool:
    """Whether statistics can rule out values of this column."""
    return column.kind in _ORDERED


def order_keys(column: OrcColumn, values: Values) -> list[OrderKey | None]:
    """The places of values in the column's order, if it has one; None for NaN."""
    if isinstance(values, Times):
        return list(values.millis.tolist())
    if isinstance(values, Texts):
        return [_text_key(column.kind, text) for text in values.tolist()]
    if column.kind in _FLOATS:
        return [None if isnan(number) else number for number in values.tolist()]
    return list(values.tolist())


def _text_key(kind: str, text: bytes) -> bytes:
    return (text.rstrip(b" ") if kind == "CHAR" else text)[:KEY_BYTES]


def group_bounds(column: OrcColumn, statistics: GroupStatistics | None) -> Bounds | None:
    """The bounds in the statistics of an index group; None if there are none to rely on."""
    if statistics is None or not is_ordered(column):
        return None
    return bounds_of(_bound(column.kind, statistics.min), _bound(column.kind, statistics.max))


def _bound(kind: str, shown: Shown) -> OrderKey | None:
    """A minimum or maximum as a key; None if it is missing or not a value of the type."""
    if shown is None:
        return None
    try:
        if kind == "DATE":
            if isinstance(shown, int):
                return shown
            return date.fromisoformat(str(shown)).toordinal() - _UNIX_EPOCH
        if kind in _FLOATS:
            return None if isnan(float(shown)) else float(shown)
        if kind in _TEXTS:
            return _text_key(kind, str(shown).encode(errors="surrogateescape"))
        return Decimal(str(shown)) if kind == "DECIMAL" else int(shown)
    except (ValueError, ArithmeticError):
        return None
