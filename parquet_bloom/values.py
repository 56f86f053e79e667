"""From a value to the bytes that are hashed: the PLAIN encoding of the column's stored type.

| type                                    | bytes                                                |
|-----------------------------------------|------------------------------------------------------|
| INT32, with INTEGER(8..32), DATE, TIME  | 4, little-endian                                     |
| INT64, with INTEGER(64), TIME, TIMESTAMP| 8, little-endian, in the column's unit               |
| INT96                                   | 12: nanoseconds of the day (8), Julian day (4)       |
| FLOAT, DOUBLE, FLOAT16                  | 4, 8, 2: IEEE 754, little-endian                     |
| BYTE_ARRAY                              | the bytes, without their length                      |
| FIXED_LEN_BYTE_ARRAY, UUID, INTERVAL    | the bytes                                            |
| DECIMAL                                 | as INT32 or INT64; else two's complement, big-endian |

One value can have several encodings: both zeros are equal, and a DECIMAL in a BYTE_ARRAY may be
padded to any length. NaN has too many to try.

Spec: parquet-format, BloomFilter.md "Hash Function", Encodings.md "PLAIN", LogicalTypes.md.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from decimal import localcontext as decimal_context
from math import isnan
from typing import Any
from uuid import UUID

import numpy as np

from parquet_bloom.errors import ValueTypeError

NANOS = {"MILLIS": 1_000_000, "MICROS": 1_000, "NANOS": 1}
NANOS_PER_DAY = 86_400_000_000_000
UNIX_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
UNIX_EPOCH_JULIAN_DAY = 2_440_588

_DATETIME64_NANOS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}

PHYSICAL_WIDTH = {"INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}
FLOAT_FORMAT = {2: "<e", 4: "<f", 8: "<d"}


@dataclass(frozen=True, slots=True)
class LogicalType:
    """An annotation of a leaf column. `str()` spells it as parquet-java's schemas do."""

    name: str
    bit_width: int = 0
    signed: bool = True
    unit: str = ""
    utc: bool = False
    precision: int = 0
    scale: int = 0

    def __str__(self) -> str:
        match self.name:
            case "INTEGER":
                return f"INTEGER({self.bit_width},{str(self.signed).lower()})"
            case "TIME" | "TIMESTAMP":
                return f"{self.name}({self.unit},{str(self.utc).lower()})"
            case "DECIMAL":
                return f"DECIMAL({self.precision},{self.scale})"
            case _:
                return self.name


@dataclass(frozen=True, slots=True)
class LeafType:
    """The stored type of a leaf column; `length` is that of FIXED_LEN_BYTE_ARRAY, in bytes."""

    physical: str
    length: int = 0
    logical: LogicalType | None = None

    @property
    def logical_name(self) -> str:
        return self.logical.name if self.logical else ""

    @property
    def width(self) -> int | None:
        """Bytes of each value; None for BYTE_ARRAY (any) and BOOLEAN (less than one)."""
        if self.physical == "FIXED_LEN_BYTE_ARRAY":
            return self.length
        return PHYSICAL_WIDTH.get(self.physical)

    @property
    def is_float(self) -> bool:
        """Whether equal values can differ in their bytes: signed zeros, and NaN."""
        return self.physical in ("FLOAT", "DOUBLE") or self.logical_name == "FLOAT16"

    def __str__(self) -> str:
        physical = f"{self.physical}({self.length})" if self.length else self.physical
        return f"{physical} {self.logical}" if self.logical else physical


@dataclass(frozen=True, slots=True)
class Encodings:
    """Every byte string that a value may be stored as, or the reason why they cannot be listed."""

    plain: tuple[bytes, ...]
    unknown: str = ""


def zeros(width: int) -> tuple[bytes, bytes]:
    """Plus and minus zero of an IEEE float of `width` bytes (2, 4 or 8)."""
    return struct.pack(FLOAT_FORMAT[width], 0.0), struct.pack(FLOAT_FORMAT[width], -0.0)


def canonical_nan(width: int) -> bytes:
    """The quiet NaN without sign or payload, as Java and most arithmetic produce it."""
    quiet = {2: 0x7E00, 4: 0x7FC00000, 8: 0x7FF8000000000000}[width]
    return quiet.to_bytes(width, "little")


def encode(leaf: LeafType, value: Any) -> Encodings:
    """The stored bytes of a Python or numpy value.

    Takes int, float, Decimal, date, datetime, time, UUID, str, bytes, whichever the column holds;
    an int is also the stored number of a DATE, TIME or TIMESTAMP, a date the midnight of a
    TIMESTAMP, and bytes of the right length
    are the stored bytes of any FIXED_LEN_BYTE_ARRAY or INT96. Raises ValueTypeError for anything
    that cannot be a value of the column.
    """
    if isinstance(value, np.generic):
        value = value.item() if not isinstance(value, np.datetime64) else _datetime64(value)
    if leaf.physical == "BOOLEAN":
        return Encodings((), "BOOLEAN has no Bloom filter")
    if value is None:
        return Encodings((), "nulls are not in a Bloom filter")
    return _encoder(leaf)(leaf, value)


def _encoder(leaf: LeafType) -> Callable[[LeafType, Any], Encodings]:
    if leaf.is_float:
        return _encode_float
    if leaf.logical_name == "DECIMAL":
        return _encode_decimal
    match leaf.physical:
        case "INT32" | "INT64":
            return _encode_integer
        case "INT96":
            return _encode_int96
        case _:
            return _encode_bytes


def not_a_value(leaf: LeafType, value: object, expected: str) -> ValueTypeError:
    """The one wording for a value that the column cannot hold."""
    return ValueTypeError(f"{value!s}: cannot be a value of {leaf}: expected {expected}")


def integer_range(leaf: LeafType) -> tuple[int, int]:
    """The least and the greatest integer that an INT32 or INT64 column stands for."""
    bits = 8 * PHYSICAL_WIDTH[leaf.physical]
    logical = leaf.logical
    if logical and logical.name == "INTEGER":
        if not logical.signed:
            return 0, (1 << logical.bit_width) - 1
        bits = logical.bit_width
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


def _encode_integer(leaf: LeafType, value: Any) -> Encodings:
    number = _stored_integer(leaf, value)
    low, high = integer_range(leaf)
    if not low <= number <= high:
        raise not_a_value(leaf, value, f"{low} to {high}")
    width = PHYSICAL_WIDTH[leaf.physical]
    return Encodings(((number & ((1 << 8 * width) - 1)).to_bytes(width, "little"),))


def _stored_integer(leaf: LeafType, value: Any) -> int:
    logical = leaf.logical
    match leaf.logical_name, value:
        case _, bool():
            raise not_a_value(leaf, value, "an integer")
        case _, int():
            return value
        case "DATE", date() if not isinstance(value, datetime):
            return value.toordinal() - UNIX_EPOCH_ORDINAL
        case "TIME", time() if logical:
            return _in_unit(leaf, value, time_nanos(value), logical.unit)
        case "TIMESTAMP", date() if logical and not isinstance(value, datetime):
            midnight = (value.toordinal() - UNIX_EPOCH_ORDINAL) * NANOS_PER_DAY
            return _in_unit(leaf, value, midnight, logical.unit)
        case "TIMESTAMP", datetime() if logical:
            _check_zone(leaf, value, logical.utc)
            return _in_unit(leaf, value, timestamp_nanos(value), logical.unit)
        case "TIMESTAMP", Nanos() if logical:
            return _in_unit(leaf, value, value.nanos, logical.unit)
        case "TIME", Nanos() if logical:
            return _in_unit(leaf, value, value.nanos, logical.unit)
    expected = {"DATE": "a date", "TIME": "a time", "TIMESTAMP": "a timestamp"}
    raise not_a_value(leaf, value, expected.get(leaf.logical_name, "an integer"))


@dataclass(frozen=True, slots=True)
class Nanos:
    """A time or timestamp with all nine digits, which datetime cannot hold."""

    nanos: int
    text: str

    def __str__(self) -> str:
        return self.text


def time_nanos(value: time) -> int:
    """Nanoseconds since midnight."""
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return seconds * 1_000_000_000 + value.microsecond * 1_000


def timestamp_nanos(value: datetime) -> int:
    """Nanoseconds since the Unix epoch; a datetime without zone counts as UTC."""
    offset = value.utcoffset() or timedelta()
    local = value.replace(tzinfo=None) - offset
    days = local.toordinal() - UNIX_EPOCH_ORDINAL
    return days * NANOS_PER_DAY + time_nanos(local.time())


def _datetime64(value: np.datetime64) -> Nanos | date | None:
    """A whole day is a date. Counted in Python, because numpy's nanoseconds end in 2262."""
    if np.isnat(value):
        return None
    unit, step = np.datetime_data(value.dtype)
    if unit == "D":
        return date.fromordinal(int(value.astype(np.int64)) * step + UNIX_EPOCH_ORDINAL)
    if unit not in _DATETIME64_NANOS:
        unit, step, value = "s", 1, value.astype("datetime64[s]")
    return Nanos(int(value.astype(np.int64)) * step * _DATETIME64_NANOS[unit], str(value))


def _check_zone(leaf: LeafType, value: datetime, utc: bool) -> None:
    if value.tzinfo is not None and not utc:
        raise not_a_value(leaf, value, "a local timestamp, without a zone")


def _in_unit(leaf: LeafType, value: object, nanos: int, unit: str) -> int:
    count, rest = divmod(nanos, NANOS[unit])
    if rest:
        raise not_a_value(leaf, value, f"whole {unit.lower()}")
    return count


def _encode_int96(leaf: LeafType, value: Any) -> Encodings:
    if isinstance(value, bytes):
        return _fixed(leaf, value, 12)
    if isinstance(value, datetime):
        nanos = timestamp_nanos(value)
    elif isinstance(value, Nanos):
        nanos = value.nanos
    else:
        raise not_a_value(leaf, value, "a timestamp or 12 bytes")
    days, nanos_of_day = divmod(nanos, NANOS_PER_DAY)
    return Encodings((struct.pack("<qi", nanos_of_day, days + UNIX_EPOCH_JULIAN_DAY),))


def _encode_float(leaf: LeafType, value: Any) -> Encodings:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise not_a_value(leaf, value, "a number")
    width = leaf.width or 8
    number = float(value)
    if isnan(number):
        return Encodings((), "NaN has many encodings")
    if number == 0:
        return Encodings(zeros(width))
    try:
        plain = struct.pack(FLOAT_FORMAT[width], number)
    except OverflowError:
        raise not_a_value(leaf, value, f"a number that fits {8 * width} bits") from None
    # A number too small for the type rounds to zero, and zero is stored in two ways.
    return Encodings(zeros(width) if plain in zeros(width) else (plain,))


def _encode_decimal(leaf: LeafType, value: Any) -> Encodings:
    logical = leaf.logical
    assert logical is not None
    unscaled = _unscaled(leaf, value, logical)
    match leaf.physical:
        case "INT32" | "INT64":
            width = PHYSICAL_WIDTH[leaf.physical]
            _check_decimal_fits(leaf, value, unscaled, width)
            return Encodings((unscaled.to_bytes(width, "little", signed=True),))
        case "FIXED_LEN_BYTE_ARRAY":
            _check_decimal_fits(leaf, value, unscaled, leaf.length)
            return Encodings((unscaled.to_bytes(leaf.length, "big", signed=True),))
        case _:
            shortest = signed_bytes(unscaled)
            longest = max(16, signed_bytes(10**logical.precision), shortest)
            return Encodings(
                tuple(
                    unscaled.to_bytes(length, "big", signed=True)
                    for length in range(shortest, longest + 1)
                )
            )


def signed_bytes(number: int) -> int:
    """The fewest bytes that hold `number` in two's complement."""
    magnitude = number if number >= 0 else ~number
    return magnitude.bit_length() // 8 + 1


def _check_decimal_fits(leaf: LeafType, value: object, unscaled: int, width: int) -> None:
    if signed_bytes(unscaled) > width:
        raise not_a_value(leaf, value, f"a number that fits {width} bytes")


def _unscaled(leaf: LeafType, value: Any, logical: LogicalType) -> int:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise not_a_value(leaf, value, "a decimal")
    with decimal_context(prec=100, Emax=999_999, Emin=-999_999):
        try:
            scaled = Decimal(value).scaleb(logical.scale)
            unscaled = scaled.to_integral_exact()
        except (InvalidOperation, OverflowError):
            raise not_a_value(leaf, value, "a finite decimal") from None
        if not unscaled.is_finite() or unscaled != scaled:
            raise not_a_value(leaf, value, f"at most {logical.scale} digits after the point")
        if abs(unscaled) >= 10**logical.precision:
            raise not_a_value(leaf, value, f"at most {logical.precision} digits")
        return int(unscaled)


def _encode_bytes(leaf: LeafType, value: Any) -> Encodings:
    if isinstance(value, UUID):
        value = value.bytes
    if isinstance(value, str):
        value = value.encode()
    if not isinstance(value, bytes | bytearray | memoryview):
        raise not_a_value(leaf, value, "text or bytes")
    if leaf.physical == "BYTE_ARRAY":
        return Encodings((bytes(value),))
    return _fixed(leaf, bytes(value), leaf.length)


def _fixed(leaf: LeafType, value: bytes, length: int) -> Encodings:
    if len(value) != length:
        raise not_a_value(leaf, f"0x{value.hex()}", f"{length} bytes, found {len(value)}")
    return Encodings((value,))
