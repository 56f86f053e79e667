"""Values of a column whose type a table has widened since a file was written: they are of the table's type, and what
the file may store for one is exactly equal to it, or nothing is.

| file                | table                        |
|---------------------|------------------------------|
| integer             | wider integer, DECIMAL       |
| INT32               | DOUBLE                       |
| FLOAT               | DOUBLE                       |
| DECIMAL             | DECIMAL                      |
| DATE                | TIMESTAMP without a zone     |

Spec: Delta Lake, PROTOCOL.md, "Type Widening"; Iceberg Table Spec, "Schema Evolution".
"""

from __future__ import annotations

import re
import struct
from collections.abc import Collection
from dataclasses import replace
from decimal import Decimal
from typing import Final

from parquet_bloom.errors import ValueTypeError
from parquet_bloom.values.encode import INTEGERS, NANOS, Encodings, encode, integer_range
from parquet_bloom.values.types import NANOS_PER_DAY, LeafType, LogicalType
from parquet_bloom.vocabulary import BEYOND_TYPE

# As Delta Lake calls primitive types. Those that nothing widens to are not here.
_OF_TABLES: Final = {
    "short": LeafType("INT32", logical=LogicalType("INTEGER", bit_width=16)),
    "integer": LeafType("INT32"),
    "long": LeafType("INT64"),
    "double": LeafType("DOUBLE"),
    "timestamp_ntz": LeafType("INT64", logical=LogicalType("TIMESTAMP", unit="MICROS")),
}
_DECIMAL: Final = re.compile(r"decimal\((\d+),(\d+)\)")
# Bytes for all digits of a DECIMAL that tables have, which are at most 38.
_DECIMAL_BYTES: Final = 17


def promoted(stored: LeafType, kind: str) -> LeafType:
    """A file's type for values of a type of a table, by the name that Delta Lake has for it;
    as it is where that is no wider one."""
    table = _type_of(kind)
    return stored if table is None or not _is_wider(stored, table) else replace(stored, wide=table)


def promoted_among(stored: LeafType, others: Collection[LeafType]) -> LeafType:
    """The same for a table of which only the types in its files are known, if one of them is such a wider one."""
    for table in reversed(_OF_TABLES.values()):
        if table in others and _is_wider(stored, table):
            return replace(stored, wide=table)
    return stored


def narrowed(stored: LeafType, wide: LeafType, encodings: Encodings) -> Encodings:
    """What a file of the type `stored` has for a value that is encoded as one of the type `wide`,
    which `promoted` gave."""
    if encodings.unknown:
        return encodings
    value = _decoded(wide, encodings.plain[0])
    if stored.logical_name == "DATE":
        days, rest = divmod(int(value) * NANOS["MICROS"], NANOS_PER_DAY)
        return _exact(stored, days) if not rest else Encodings((), BEYOND_TYPE)
    return _exact(stored, value)


def _exact(stored: LeafType, value: float | Decimal) -> Encodings:
    if _is_integer(stored):
        low, high = integer_range(stored)
        if not low <= value <= high:
            return Encodings((), BEYOND_TYPE)
    try:
        found = encode(stored, value)
    except ValueTypeError:
        return Encodings((), BEYOND_TYPE)
    if found.unknown:
        return Encodings((), BEYOND_TYPE)
    is_rounded = stored.physical == "FLOAT" and struct.unpack("<f", found.plain[0])[0] != value
    return Encodings((), BEYOND_TYPE) if is_rounded else found


def _type_of(kind: str) -> LeafType | None:
    digits = _DECIMAL.fullmatch(kind)
    if digits is None:
        return _OF_TABLES.get(kind)
    logical = LogicalType("DECIMAL", precision=int(digits[1]), scale=int(digits[2]))
    return LeafType("FIXED_LEN_BYTE_ARRAY", _DECIMAL_BYTES, logical)


def _is_wider(stored: LeafType, table: LeafType) -> bool:
    if stored.logical_name == "DECIMAL":
        assert stored.logical is not None
        digits = stored.logical.precision, stored.logical.scale
        wider = table.logical
        return (
            wider is not None
            and wider.name == "DECIMAL"
            and digits != (wider.precision, wider.scale)
        )
    if _is_integer(stored):
        if _is_integer(table):
            low, high = integer_range(stored)
            least, most = integer_range(table)
            return least <= low and high <= most and (least, most) != (low, high)
        # A DOUBLE rounds longer ones.
        is_exact = table.physical == "DOUBLE" and stored.physical == "INT32"
        return is_exact or table.logical_name == "DECIMAL"
    if stored.physical == "FLOAT":
        return table.physical == "DOUBLE"
    return stored.logical_name == "DATE" and table.logical_name == "TIMESTAMP"


def _is_integer(leaf: LeafType) -> bool:
    return leaf.physical in INTEGERS and leaf.logical_name in ("", "INTEGER")


def _decoded(leaf: LeafType, plain: bytes) -> float | Decimal:
    if leaf.physical == "DOUBLE":
        number: float = struct.unpack("<d", plain)[0]
        return number
    if leaf.logical is not None and leaf.logical_name == "DECIMAL":
        return Decimal(f"{int.from_bytes(plain, 'big', signed=True)}E-{leaf.logical.scale}")
    return int.from_bytes(plain, "little", signed=True)
