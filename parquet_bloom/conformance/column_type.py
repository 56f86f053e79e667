"""The types of columns, as parquet-java spells them, and values of each in their order.

    INT32 INTEGER(8,true)      FIXED_LEN_BYTE_ARRAY(4) DECIMAL(9,2)      BYTE_ARRAY STRING      DOUBLE

Spec: parquet-format, LogicalTypes.md
"""

from __future__ import annotations

import re
import struct as packing
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Context, Decimal
from typing import Final
from uuid import UUID

from parquet_bloom.conformance.made_file import PHYSICAL
from parquet_bloom.conformance.thrift import Field, binary, boolean, i8, i32, struct, within
from parquet_bloom.dataclass import dataclass

# Members of the union LogicalType.
_LOGICAL: Final = {
    "STRING": 1,
    "MAP": 2,
    "LIST": 3,
    "ENUM": 4,
    "DECIMAL": 5,
    "DATE": 6,
    "TIME": 7,
    "TIMESTAMP": 8,
    "INTEGER": 10,
    "JSON": 12,
    "BSON": 13,
    "UUID": 14,
    "FLOAT16": 15,
    "VARIANT": 16,
}
# The older annotation, where there is one.
_CONVERTED: Final = {
    "STRING": 0,
    "MAP": 1,
    "LIST": 3,
    "ENUM": 4,
    "DECIMAL": 5,
    "DATE": 6,
    "TIME(MILLIS,true)": 7,
    "TIME(MICROS,true)": 8,
    "TIMESTAMP(MILLIS,true)": 9,
    "TIMESTAMP(MICROS,true)": 10,
    "INTEGER(8,false)": 11,
    "INTEGER(16,false)": 12,
    "INTEGER(32,false)": 13,
    "INTEGER(64,false)": 14,
    "INTEGER(8,true)": 15,
    "INTEGER(16,true)": 16,
    "INTEGER(32,true)": 17,
    "INTEGER(64,true)": 18,
    "JSON": 19,
    "BSON": 20,
    "INTERVAL": 21,
}
_UNITS: Final = {"MILLIS": 1, "MICROS": 2, "NANOS": 3}
PER_SECOND: Final = {"MILLIS": 10**3, "MICROS": 10**6, "NANOS": 10**9}

REQUIRED, OPTIONAL, REPEATED = 0, 1, 2


@dataclass(frozen=True, slots=True)
class ColumnType:
    """`logical`: DECIMAL(9,2), or empty; `length`: of FIXED_LEN_BYTE_ARRAY, else 0."""

    physical: str
    length: int = 0
    logical: str = ""

    @classmethod
    def of(cls, text: str) -> ColumnType:
        physical, _, logical = text.partition(" ")
        name, _, length = physical.rstrip(")").partition("(")
        return cls(name, int(length or 0), logical)

    def __str__(self) -> str:
        physical = f"{self.physical}({self.length})" if self.length else self.physical
        return f"{physical} {self.logical}".strip()

    @property
    def name(self) -> str:
        return self.logical.partition("(")[0]

    @property
    def arguments(self) -> list[str]:
        return re.findall(r"\w+", self.logical.partition("(")[2])

    @property
    def has_order(self) -> bool:
        """Whether minimum and maximum can be stored."""
        return self.physical != "INT96" and self.name != "INTERVAL"

    def element(self, name: str, repetition: int = REQUIRED) -> bytes:
        """The SchemaElement of a leaf."""
        fields: list[Field] = [i32(1, PHYSICAL[self.physical])]
        if self.length:
            fields.append(i32(2, self.length))
        fields += [i32(3, repetition), binary(4, name)]
        return struct(*fields, *annotation(self.logical))


def annotation(logical: str) -> list[Field]:
    """A logical type in both spellings."""
    name, _, inside = logical.rstrip(")").partition("(")
    arguments = inside.split(",")
    fields: list[Field] = []
    converted = _CONVERTED.get(logical if name != "DECIMAL" else name)
    if converted is not None:
        fields.append(i32(6, converted))
    match name:
        case "DECIMAL":
            precision, scale = map(int, arguments)
            fields += [i32(7, scale), i32(8, precision)]
            told = [i32(1, scale), i32(2, precision)]
        case "TIME" | "TIMESTAMP":
            unit, utc = arguments
            told = [boolean(1, utc == "true"), within(2, within(_UNITS[unit]))]
        case "INTEGER":
            told = [i8(1, int(arguments[0])), boolean(2, arguments[1] == "true")]
        case "VARIANT":
            told = [i8(1, 1)]
        case _:
            told = []
    if name in _LOGICAL:
        fields.append(within(10, within(_LOGICAL[name], *told)))
    return fields


def group(name: str, children: int, repetition: int = OPTIONAL, logical: str = "") -> bytes:
    """The SchemaElement of a group."""
    head = [i32(3, repetition), binary(4, name), i32(5, children)]
    return struct(*head, *annotation(logical))


# --- values ---------------------------------------------------------------------------------------

# The places of values, from the least to the greatest.
LAST: Final = 47

_FRACTIONS: Final = {"MILLIS": ".123", "MICROS": ".123456", "NANOS": ".123456789"}
_NUMBERS: Final = {"INT32": "<i", "INT64": "<q", "FLOAT": "<f", "DOUBLE": "<d"}
_UNIX_EPOCH: Final = date(1970, 1, 1)
_JULIAN: Final = 2_440_588
_DAY: Final = 86_400


@dataclass(frozen=True, slots=True)
class Value:
    """`literal`: as text; `stored`: its PLAIN bytes, without the length of a BYTE_ARRAY."""

    literal: str
    stored: bytes


def value_at(type: ColumnType, index: int) -> Value:
    """The value of a type at a place in its order."""
    make = _VALUES.get(type.name or type.physical, _bytes)
    return make(type, index)


def number(type: ColumnType, value: float) -> bytes:
    """A number as the physical type stores it; integers that are too large for its sign wrap around."""
    if type.physical in ("INT32", "INT64"):
        width = 4 if type.physical == "INT32" else 8
        return (int(value) % (1 << 8 * width)).to_bytes(width, "little")
    return packing.pack(_NUMBERS[type.physical], value)


def unscaled(type: ColumnType, value: int) -> bytes:
    """A decimal as the physical type stores it."""
    if type.physical in ("INT32", "INT64"):
        return number(type, value)
    shortest = (value if value >= 0 else ~value).bit_length() // 8 + 1
    return value.to_bytes(type.length or shortest, "big", signed=True)


def _integer(type: ColumnType, index: int) -> Value:
    # Of 64 bits the middle half, since DataFusion 43 cannot count the numbers of a wider range.
    width, signed = int(type.arguments[0]), type.arguments[1] == "true"
    span = 2 ** min(width, 63) - 1
    first = (0 if signed else 2 ** (width - 1)) - (span + 1) // 2
    value = first + span * index // LAST
    return Value(str(value), number(type, value))


def _decimal(type: ColumnType, index: int) -> Value:
    precision, scale = map(int, type.arguments)
    largest = 10**precision - 1
    value = 2 * largest * index // LAST - largest
    text = Decimal(value).scaleb(-scale, Context(prec=100))
    return Value(f"{text:f}", unscaled(type, value))


def _day(index: int) -> date:
    return date(1960, 1, 1) + timedelta(days=600 * index)


def _clock(index: int) -> time:
    return time(index // 2, index % 2 * 30, 7)


def _seconds(index: int) -> int:
    clock = _clock(index)
    return clock.hour * 3600 + clock.minute * 60 + clock.second


def _date(type: ColumnType, index: int) -> Value:
    day = _day(index)
    return Value(day.isoformat(), number(type, (day - _UNIX_EPOCH).days))


def _time(type: ColumnType, index: int) -> Value:
    unit = type.arguments[0]
    count = _seconds(index) * PER_SECOND[unit] + int(_FRACTIONS[unit][1:])
    return Value(f"{_clock(index)}{_FRACTIONS[unit]}", number(type, count))


def _timestamp(type: ColumnType, index: int) -> Value:
    unit, utc = type.arguments
    seconds = (_day(index) - _UNIX_EPOCH).days * _DAY + _seconds(index)
    count = seconds * PER_SECOND[unit] + int(_FRACTIONS[unit][1:])
    zone = "Z" if utc == "true" else ""
    moment = datetime.combine(_day(index), _clock(index)).isoformat()
    return Value(f"{moment}{_FRACTIONS[unit]}{zone}", number(type, count))


def _int96(type: ColumnType, index: int) -> Value:
    """Nanoseconds within the day, then the Julian day."""
    moment = datetime.combine(_day(index), _clock(index)).isoformat()
    nanos = _seconds(index) * 10**9 + 123_456_000
    days = (_day(index) - _UNIX_EPOCH).days + _JULIAN
    return Value(f"{moment}.123456Z", packing.pack("<qi", nanos, days))


def _float(type: ColumnType, index: int) -> Value:
    value = index / 2 - 11.75
    form = "<e" if type.name == "FLOAT16" else _NUMBERS[type.physical]
    return Value(str(value), packing.pack(form, value))


def _text(text: str) -> Value:
    return Value(text, text.encode())


def _uuid(type: ColumnType, index: int) -> Value:
    uuid = UUID(int=(index << 122) + index)
    return Value(str(uuid), uuid.bytes)


def _raw(data: bytes) -> Value:
    return Value(f"0x{data.hex()}", data)


def _bytes(type: ColumnType, index: int) -> Value:
    return _raw(bytes([5 * index, 0, 255, 39, index]))


_VALUES: Final[Mapping[str, Callable[[ColumnType, int], Value]]] = {
    "INTEGER": _integer,
    "DECIMAL": _decimal,
    "DATE": _date,
    "TIME": _time,
    "TIMESTAMP": _timestamp,
    "INT96": _int96,
    "FLOAT16": _float,
    "FLOAT": _float,
    "DOUBLE": _float,
    "STRING": lambda type, index: _text(f"naïve {index:02}"),
    "ENUM": lambda type, index: _text(f"KIND_{index:02}"),
    "JSON": lambda type, index: _text(f'{{"key": {10 + index}}}'),
    "UUID": _uuid,
    "INTERVAL": lambda type, index: _raw(packing.pack("<3I", index, 3, 1000 * index)),
}

INTEGERS: Final = tuple(
    f"INT{64 if width == 64 else 32} INTEGER({width},{signed})"
    for signed in ("true", "false")
    for width in (8, 16, 32, 64)
)
DECIMALS: Final = (
    "INT32 DECIMAL(9,2)",
    "INT64 DECIMAL(18,3)",
    "FIXED_LEN_BYTE_ARRAY(4) DECIMAL(9,2)",
    "FIXED_LEN_BYTE_ARRAY(8) DECIMAL(18,3)",
    "FIXED_LEN_BYTE_ARRAY(9) DECIMAL(20,3)",
    "FIXED_LEN_BYTE_ARRAY(16) DECIMAL(38,4)",
    "FIXED_LEN_BYTE_ARRAY(32) DECIMAL(76,4)",
    "BYTE_ARRAY DECIMAL(9,2)",
    "BYTE_ARRAY DECIMAL(40,2)",
)
TIMES: Final = tuple(
    f"{'INT32' if unit == 'MILLIS' else 'INT64'} TIME({unit},{utc})"
    for utc in ("false", "true")
    for unit in _UNITS
)
TIMESTAMPS: Final = tuple(
    f"INT64 TIMESTAMP({unit},{utc})" for utc in ("true", "false") for unit in _UNITS
)
TYPES: Final = (
    *INTEGERS,
    "FLOAT",
    "DOUBLE",
    "FIXED_LEN_BYTE_ARRAY(2) FLOAT16",
    *DECIMALS,
    "INT32 DATE",
    *TIMES,
    *TIMESTAMPS,
    "INT96",
    "BYTE_ARRAY STRING",
    "BYTE_ARRAY ENUM",
    "BYTE_ARRAY JSON",
    "BYTE_ARRAY BSON",
    "BYTE_ARRAY",
    "FIXED_LEN_BYTE_ARRAY(5)",
    "FIXED_LEN_BYTE_ARRAY(16) UUID",
    "FIXED_LEN_BYTE_ARRAY(12) INTERVAL",
)
