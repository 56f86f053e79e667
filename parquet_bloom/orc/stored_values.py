"""Convert one value, from Python or from a literal, to how an ORC column stores it.

parquet_bloom.values knows the types of Parquet; an ORC column is handled as the Parquet type that
holds the same values.

    BYTE SHORT INT LONG    integers of 8 to 64 bits     TIMESTAMP            INT96, without a zone
    FLOAT DOUBLE           the same                     TIMESTAMP_INSTANT    INT96, in UTC
    DATE                   the same                     STRING CHAR VARCHAR  BYTE_ARRAY with text
    DECIMAL                BYTE_ARRAY                   BINARY               BYTE_ARRAY

A LONG that Spark marks as TIMESTAMP_NTZ holds microseconds.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.values.encode import NANOS_PER_DAY, UNIX_EPOCH_JULIAN_DAY, not_a_value
from parquet_bloom.values.types import LeafType, LogicalType

_INTEGER_BITS = {"BYTE": 8, "SHORT": 16, "INT": 32, "LONG": 64}

# The highest precision of a DECIMAL.
MOST_DIGITS = 38

# The attribute in which Spark records a type that ORC does not have.
SPARK_TYPE = "spark.sql.catalyst.type"


@dataclass(frozen=True, slots=True)
class OrcLeafType(LeafType):
    """The Parquet type for an ORC column; error messages name the ORC type."""

    orc_type: str = ""

    def __str__(self) -> str:
        return self.orc_type


def leaf_type(column: OrcColumn) -> OrcLeafType:
    """The Parquet type for a column. Raises KeyError if its values have no keys."""
    if column.kind in _INTEGER_BITS:
        return _integer_type(column)
    physical, logical = {
        "FLOAT": ("FLOAT", None),
        "DOUBLE": ("DOUBLE", None),
        "DATE": ("INT32", LogicalType("DATE")),
        "STRING": ("BYTE_ARRAY", LogicalType("STRING")),
        "CHAR": ("BYTE_ARRAY", LogicalType("STRING")),
        "VARCHAR": ("BYTE_ARRAY", LogicalType("STRING")),
        "BINARY": ("BYTE_ARRAY", None),
        "TIMESTAMP": ("INT96", LogicalType("TIMESTAMP")),
        "TIMESTAMP_INSTANT": ("INT96", LogicalType("TIMESTAMP", utc=True)),
        "DECIMAL": (
            "BYTE_ARRAY",
            LogicalType(
                "DECIMAL", precision=min(column.precision, MOST_DIGITS), scale=column.scale
            ),
        ),
    }[column.kind]
    return OrcLeafType(physical, logical=logical, orc_type=column.type)


def _integer_type(column: OrcColumn) -> OrcLeafType:
    if column.kind == "LONG" and column.attributes.get(SPARK_TYPE) == "timestamp_ntz":
        logical = LogicalType("TIMESTAMP", unit="MICROS")
        return OrcLeafType("INT64", logical=logical, orc_type="LONG (TIMESTAMP_NTZ)")
    bits = _INTEGER_BITS[column.kind]
    physical = "INT64" if bits == 64 else "INT32"
    logical = LogicalType("INTEGER", bit_width=bits)
    return OrcLeafType(physical, logical=logical, orc_type=column.type)


def stored_value(column: OrcColumn, plain: bytes) -> Any:
    """An Arrow array of the one value that is `plain` in the Parquet type for the column. Raises
    ValueTypeError for text that is too long and for a time that exceeds 64 bits."""
    match column.kind:
        case "FLOAT" | "DOUBLE":
            width = len(plain)
            (number,) = struct.unpack("<f" if width == 4 else "<d", plain)
            return pa.array([number], pa.float32() if width == 4 else pa.float64())
        case "STRING" | "BINARY":
            return pa.array([plain], pa.binary())
        case "CHAR" | "VARCHAR":
            return pa.array([_text(column, plain)], pa.string())
        case "DECIMAL":
            return _decimal(column, int.from_bytes(plain, "big", signed=True))
        case "TIMESTAMP" | "TIMESTAMP_INSTANT":
            return _timestamp(column, plain)
        case _:
            return pa.array([int.from_bytes(plain, "little", signed=True)], pa.int64())


def _text(column: OrcColumn, plain: bytes) -> str:
    try:
        text = plain.decode()
    except UnicodeDecodeError:
        found = f"0x{plain.hex()}"
        raise not_a_value(leaf_type(column), found, "text that is valid Unicode") from None
    length = len(text.rstrip(" ") if column.kind == "CHAR" else text)
    if length > column.length:
        raise not_a_value(leaf_type(column), text, f"at most {column.length} characters")
    return text.rstrip(" ") if column.kind == "CHAR" else text


def _decimal(column: OrcColumn, unscaled: int) -> Any:
    digits = tuple(map(int, str(abs(unscaled))))
    if len(digits) > MOST_DIGITS:
        raise not_a_value(leaf_type(column), unscaled, f"at most {MOST_DIGITS} digits")
    value = Decimal((int(unscaled < 0), digits, -column.scale))
    return pa.array([value], pa.decimal128(MOST_DIGITS, column.scale))


def _timestamp(column: OrcColumn, plain: bytes) -> Any:
    nanos_of_day, julian_day = struct.unpack("<qi", plain)
    nanos = (julian_day - UNIX_EPOCH_JULIAN_DAY) * NANOS_PER_DAY + nanos_of_day
    # Only the years 1677 to 2262 fit nanoseconds; keys are milliseconds.
    for unit, factor in (("ns", 1), ("us", 1_000)):
        if abs(nanos // factor) < 1 << 63:
            return pa.array([nanos // factor], pa.timestamp(unit))
    raise not_a_value(leaf_type(column), f"0x{plain.hex()}", "a time that fits 64 bits")
