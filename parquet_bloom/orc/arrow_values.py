"""Values of ORC columns as Arrow arrays: made from Python values and literals, and shown again.

parquet_bloom.values knows the types of Parquet, so an ORC column is handled as the Parquet type that
holds the same values. A LONG that Spark marks as TIMESTAMP_NTZ holds microseconds.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.values.encode import NANOS_PER_DAY, UNIX_EPOCH_JULIAN_DAY, not_a_value
from parquet_bloom.values.literals import literal_of
from parquet_bloom.values.types import LeafType, LogicalType

# The highest precision of a DECIMAL.
MOST_DIGITS: Final = 38

# The attribute in which Spark records a type that ORC does not have.
SPARK_TYPE: Final = "spark.sql.catalyst.type"

_DECIMAL_BYTES: Final = 16

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
    if column.kind == "DECIMAL":
        precision = min(column.precision, MOST_DIGITS)
        decimal = LogicalType("DECIMAL", precision=precision, scale=column.scale)
        return OrcLeafType("BYTE_ARRAY", logical=decimal, orc_type=column.type)
    physical, logical = _LEAF_TYPES[column.kind]
    return OrcLeafType(physical, logical=logical, orc_type=column.type)


def stored_value(column: OrcColumn, plain: bytes) -> Any:
    """An Arrow array of one value, which is `plain` in the column's Parquet type. Raises
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
    kept = text.rstrip(" ") if column.kind == "CHAR" else text
    if len(kept) > column.length:
        raise not_a_value(leaf_type(column), text, f"at most {column.length} characters")
    return kept


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


def selected(values: Any, wanted: NDArray[np.bool_], at_most: int) -> Any:
    """The first distinct values among the `wanted` ones of an Arrow array."""
    return values.filter(pa.array(wanted)).unique()[:at_most]


def literals(column: OrcColumn, values: Any) -> tuple[str, ...]:
    """The values of an Arrow array without nulls, as for `pbloom probe -v`."""
    return tuple(_literal(column, value) for value in values)


def _literal(column: OrcColumn, value: Any) -> str:
    if column.kind not in ("STRING", "VARCHAR", "CHAR", "BINARY"):
        return str(value.cast(pa.string()).as_py())
    stored = value.as_buffer().to_pybytes()
    return literal_of(leaf_type(column), stored.rstrip(b" ") if column.kind == "CHAR" else stored)


def integers(values: Any) -> NDArray[Any]:
    """A view of integers, dates or timestamps without nulls: shape (n,), int8 to int64."""
    return _numbers(values, "i")


def floats(values: Any) -> NDArray[Any]:
    """A view of floating-point numbers without nulls: shape (n,), float32 or float64."""
    return _numbers(values, "f")


def decimals(values: Any) -> memoryview:
    """The unscaled values of a decimal128 array without nulls: 16 bytes each, little-endian."""
    start = _DECIMAL_BYTES * values.offset
    return _data(values)[start : start + _DECIMAL_BYTES * len(values)]


def _numbers(values: Any, kind: str) -> NDArray[Any]:
    # Arrow's own conversion would import pandas.
    width = values.type.bit_width // 8
    return np.frombuffer(_data(values), f"<{kind}{width}", len(values), width * values.offset)


def _data(values: Any) -> memoryview:
    return memoryview(values.buffers()[1] or b"").cast("B")
