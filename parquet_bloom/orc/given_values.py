"""Values of ORC columns from Python values and literals, and shown again.

parquet_bloom.values knows the types of Parquet, so an ORC column is handled as the Parquet type that
holds the same values. A LONG that Spark marks as TIMESTAMP_NTZ holds microseconds.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from parquet_bloom.orc.arrays import Decimals, Numbers, Texts, Times, Values
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.values.encode import NANOS_PER_DAY, UNIX_EPOCH_JULIAN_DAY, not_a_value
from parquet_bloom.values.literals import literal_of
from parquet_bloom.values.types import LeafType, LogicalType

# The highest precision of a DECIMAL.
MOST_DIGITS: Final = 38

# What ORC Java takes a DECIMAL for that has none (Hive 0.11): TypeDescription.
_WITHOUT_PRECISION: Final = LogicalType("DECIMAL", precision=MOST_DIGITS, scale=10)

# The attribute in which Spark records a type that ORC does not have.
SPARK_TYPE: Final = "spark.sql.catalyst.type"

_LEAF_TYPES = {
    "BYTE": ("INT32", LogicalType("INTEGER", 8)),
    "SHORT": ("INT32", LogicalType("INTEGER", 16)),
    "INT": ("INT32", LogicalType("INTEGER", 32)),
    "LONG": ("INT64", LogicalType("INTEGER", 64)),
    "FLOAT": ("FLOAT", None),
    "DOUBLE": ("DOUBLE", None),
    "DATE": ("INT32", LogicalType("DATE")),
    "STRING": ("BYTE_ARRAY", LogicalType("STRING")),
    "CHAR": ("BYTE_ARRAY", LogicalType("STRING")),
    "VARCHAR": ("BYTE_ARRAY", LogicalType("STRING")),
    "BINARY": ("BYTE_ARRAY", None),
    "TIMESTAMP": ("INT96", LogicalType("TIMESTAMP")),
    "TIMESTAMP_INSTANT": ("INT96", LogicalType("TIMESTAMP", utc=True)),
}


@dataclass(frozen=True, slots=True)
class OrcLeafType(LeafType):
    """The Parquet type for an ORC column; error messages name the ORC type."""

    orc_type: str = ""

    def __str__(self) -> str:
        return self.orc_type


def leaf_type(column: OrcColumn) -> OrcLeafType:
    """The Parquet type for a column. Raises KeyError if its values have no keys."""
    if column.kind == "LONG" and column.attributes.get(SPARK_TYPE) == "timestamp_ntz":
        micros = LogicalType("TIMESTAMP", unit="MICROS")
        return OrcLeafType("INT64", logical=micros, orc_type="LONG (TIMESTAMP_NTZ)")
    if column.kind == "DECIMAL" and not column.precision:
        return OrcLeafType("BYTE_ARRAY", logical=_WITHOUT_PRECISION, orc_type=column.type)
    if column.kind == "DECIMAL":
        precision = min(column.precision, MOST_DIGITS)
        decimal = LogicalType("DECIMAL", precision=precision, scale=column.scale)
        return OrcLeafType("BYTE_ARRAY", logical=decimal, orc_type=column.type)
    physical, logical = _LEAF_TYPES[column.kind]
    return OrcLeafType(physical, logical=logical, orc_type=column.type)


def stored_values(column: OrcColumn, plain: Sequence[bytes]) -> Values:
    """Values that are `plain` in the column's Parquet type. Raises ValueTypeError for text that is too
    long and for a DECIMAL of too many digits."""
    match column.kind:
        case "FLOAT" | "DOUBLE":
            return Numbers(memoryview(b"".join(plain)).cast("f" if column.kind == "FLOAT" else "d"))
        case "STRING" | "BINARY":
            return Texts.of(list(plain))
        case "CHAR" | "VARCHAR":
            return Texts.of([_text(column, each) for each in plain])
        case "DECIMAL":
            numbers = [int.from_bytes(each, "big", signed=True) for each in plain]
            logical = leaf_type(column).logical
            assert logical is not None
            return Decimals.of([_decimal(column, each) for each in numbers], logical.scale)
        case "TIMESTAMP" | "TIMESTAMP_INSTANT":
            return Times.of([_nanos(each) for each in plain])
        case _:
            numbers = [int.from_bytes(each, "little", signed=True) for each in plain]
            return Numbers(memoryview(array("q", numbers)))


def _text(column: OrcColumn, plain: bytes) -> bytes:
    try:
        text = plain.decode()
    except UnicodeDecodeError:
        found = f"0x{plain.hex()}"
        raise not_a_value(leaf_type(column), found, "text that is valid Unicode") from None
    kept = text.rstrip(" ") if column.kind == "CHAR" else text
    if len(kept) > column.length:
        raise not_a_value(leaf_type(column), text, f"at most {column.length} characters")
    return kept.encode()


def _decimal(column: OrcColumn, unscaled: int) -> int:
    if abs(unscaled) >= 10**MOST_DIGITS:
        raise not_a_value(leaf_type(column), unscaled, f"at most {MOST_DIGITS} digits")
    return unscaled


def _nanos(plain: bytes) -> int:
    nanos_of_day, julian_day = struct.unpack("<qi", plain)
    nanos: int = (julian_day - UNIX_EPOCH_JULIAN_DAY) * NANOS_PER_DAY + nanos_of_day
    return nanos


def literals(column: OrcColumn, values: Values) -> tuple[str, ...]:
    """The values as for `pbloom probe -v`."""
    match values:
        case Texts():
            leaf, is_char = leaf_type(column), column.kind == "CHAR"
            texts = values.tolist()
            return tuple(literal_of(leaf, each.rstrip(b" ") if is_char else each) for each in texts)
        case Times():
            zone = "Z" if column.kind == "TIMESTAMP_INSTANT" else ""
            return tuple(
                f"{_clock(seconds)}.{nanos:09}{zone}" for seconds, nanos in values.tolist()
            )
        case Numbers() if column.kind == "DATE":
            import numpy as np

            return tuple(np.datetime_as_string(values.numbers.astype("datetime64[D]")).tolist())
        case Numbers() if column.kind in ("FLOAT", "DOUBLE"):
            # Of a FLOAT, the digits that tell it from other FLOATs.
            return tuple(str(number).removesuffix(".0") for number in values.numbers)
    return tuple(map(str, values.tolist()))


def _clock(seconds: int) -> str:
    import numpy as np

    return str(np.datetime64(seconds, "s")).replace("T", " ")
