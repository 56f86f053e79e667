"""Encode a value into the bytes that are hashed: the PLAIN encoding of the column's stored type.

| type                                    | bytes                                                |
|-----------------------------------------|------------------------------------------------------|
| INT32, with INTEGER(8..32), DATE, TIME  | 4, little-endian                                     |
| INT64, with INTEGER(64), TIME, TIMESTAMP| 8, little-endian, in the column's unit               |
| TIMESTAMP in FIXED_LEN_BYTE_ARRAY       | 12, little-endian or big-endian, in the column's unit |
| INT96                                   | 12: nanoseconds of the day (8), Julian day (4)       |
| FLOAT, DOUBLE, FLOAT16                  | 4, 8, 2: IEEE 754, little-endian                     |
| BYTE_ARRAY                              | the bytes, without their length                      |
| FIXED_LEN_BYTE_ARRAY, UUID, INTERVAL    | the bytes                                            |
| DECIMAL                                 | as INT32 or INT64; else two's complement, big-endian |

A value can have several encodings: the two zeros are equal, a DECIMAL in a BYTE_ARRAY may be padded
to any length, and the nanoseconds of an INT96 may lie outside their day. NaN has too many to try.

Spec: parquet-format, BloomFilter.md "Hash Function", Encodings.md "PLAIN", LogicalTypes.md.
"""

from __future__ import annotations

import struct
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import inf, isfinite, isnan
from typing import Literal, NamedTuple
from uuid import UUID

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import ParquetBloomError, UnsupportedError, ValueTypeError
from parquet_bloom.values.given import plain_value, show_value
from parquet_bloom.values.types import (
    FLOAT_FORMAT,
    NANOS_PER_DAY,
    PHYSICAL_WIDTH,
    UNIX_EPOCH_JULIAN_DAY,
    WIDE_TIMESTAMP_BYTES,
    Days,
    LeafType,
    LogicalType,
    TimeNanos,
    TimestampNanos,
    not_a_value,
    zeros,
)
from parquet_bloom.vocabulary import BEYOND_BITS, BEYOND_DIGITS

NANOS = {"MILLIS": 1_000_000, "MICROS": 1_000, "NANOS": 1}
UNIX_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()

INTEGERS = ("INT32", "INT64")
BYTES_TYPES = ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY", "INT96")
# Far more digits than any stored DECIMAL has; bounds the work for a literal.
MOST_DIGITS = 1_000

# The bits of floats that integers fit in; longer ones may have been rounded. Those of Python and numpy have 53.
FLOAT_BITS = 53
_FLOAT_BITS_BY_TYPE = {"float32": 24, "float": 24, "float16": 11, "halffloat": 11}

_OF_A_DURATION = (
    "an integer: Parquet stores a duration as a number of units,"
    " which only the file's Arrow schema names"
)

# How many days too late an INT96 may be, with nanoseconds that make up for it. pyarrow up to 21 wrote
# moments before 1970 a day too late, with negative nanoseconds; other writers did not carry whole
# days. What is further off is only found in filters that build wrote, which have the first form.
INT96_DAY_SHIFTS = (0, 1, -1)

# Why a value cannot be looked up.
OF_BOOLEAN = "BOOLEAN has no Bloom filter"
OF_ORC_BOOLEAN = "values of BOOLEAN columns are not looked up"
NAN = "NaN has many encodings"

# What finds rows all the same, by whatever pyarrow makes of the stored values.
FOUND_BY_READING = "pb.rows, in Python, reads all rows and compares"


@dataclass(frozen=True, slots=True)
class Encodings:
    """Every byte string that a value may be stored as, or why they cannot be listed."""

    plain: tuple[bytes, ...]
    unknown: str = ""


def not_looked_for(value: object, reason: str) -> ParquetBloomError:
    """The error for a value, as reports have it, of which the rows are wanted, and whose stored bytes cannot be
    listed. NaN is at fault itself, whatever the file; for others, it is this column of this file."""
    kind = ValueTypeError if reason == NAN else UnsupportedError
    others = f"; {FOUND_BY_READING}" * (reason == OF_BOOLEAN)
    return kind(f"{show_value(value)}: cannot be looked for: {reason}{others}")


def encode(leaf: LeafType, value: object) -> Encodings:
    """The stored bytes of a Python, numpy, pandas or pyarrow value.

    Takes int, float, Decimal, date, datetime, time, UUID, str or bytes, as the column requires. An
    int also gives the stored number of a DATE, TIME or TIMESTAMP, a whole float or Decimal an
    integer, a date the midnight of a TIMESTAMP, and bytes of the right length the stored bytes of a
    FIXED_LEN_BYTE_ARRAY or INT96. An integer of more than the 8 or 16 bits of an INT32 is what 32 bits make it.
    Raises ValueTypeError for anything that cannot be a value of the column.
    """
    given, value = value, plain_value(value)
    if value is None:
        return Encodings((), "nulls are not inserted into Bloom filters")
    if leaf.physical == "BOOLEAN":
        return Encodings((), OF_BOOLEAN)
    if isinstance(value, bytes | bytearray | memoryview) and leaf.physical in BYTES_TYPES:
        return encode_stored(leaf, bytes(value))
    if leaf.is_float:
        return _encode_float(leaf, value)
    if leaf.logical_name == "DECIMAL":
        return _encode_decimal(leaf, value)
    if leaf.physical in INTEGERS:
        return _encode_integer(leaf, value, _float_bits(given))
    if leaf.physical == "INT96":
        return _encode_int96(leaf, value)
    if leaf.logical_name == "TIMESTAMP":
        return _encode_wide_timestamp(leaf, value)
    return _encode_text(leaf, value)


def _as_uuid(width: int, text: str) -> str:
    """What to say of a UUID where bytes are expected that nothing calls one."""
    try:
        stored = UUID(text).bytes
    except ValueError:
        return ""
    return f"; those of this UUID are 0x{stored.hex()}" if len(stored) == width else ""


def encode_stored(leaf: LeafType, value: bytes) -> Encodings:
    """The bytes themselves. Raises ValueTypeError if the column has values of another length."""
    if leaf.width is not None and len(value) != leaf.width:
        expected = f"{leaf.width} bytes, found {len(value)}"
        raise not_a_value(leaf, f"0x{value.hex()}", expected)
    return Encodings((value,))


def integer_range(leaf: LeafType) -> tuple[int, int]:
    """The smallest and largest integer that an INT32 or INT64 column can hold."""
    bits = 8 * PHYSICAL_WIDTH[leaf.physical]
    logical = leaf.logical
    if logical and logical.name == "INTEGER":
        if not logical.signed:
            return 0, (1 << logical.bit_width) - 1
        bits = logical.bit_width
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


def _float_bits(given: object) -> int:
    """Of a float of numpy or pyarrow, as its type says."""
    kind = getattr(given, "dtype", None) or getattr(given, "type", None)
    return _FLOAT_BITS_BY_TYPE.get(str(kind), FLOAT_BITS)


def _encode_integer(leaf: LeafType, value: object, float_bits: int) -> Encodings:
    number = _stored_integer(leaf, value, float_bits)
    low, high = integer_range(leaf)
    width = PHYSICAL_WIDTH[leaf.physical]
    if not low <= number <= high:
        if leaf.logical_name not in ("", "INTEGER"):
            raise not_a_value(leaf, value, f"{low} to {high}")
        if _is_other_sign(number, low, width):
            # Larger ones are looked up, or absent.
            raise not_a_value(leaf, value, "0 or more")
        # Of 8 and 16 bits, writers that do not look may have stored more, in the 32 that there are.
        if not _fits(number, 8 * width, or_unsigned=low == 0):
            return Encodings((), BEYOND_BITS)
    return Encodings(((number & ((1 << 8 * width) - 1)).to_bytes(width, "little"),))


def _is_other_sign(number: int, low: int, width: int) -> bool:
    """Whether the bytes of an unsigned column, so many as its physical type has, can be this negative number: some
    readers take all integers for signed ones."""
    return low == 0 and number < 0 and _fits(number, 8 * width)


def _fits(number: int, bits: int, *, or_unsigned: bool = False) -> bool:
    """Whether so many bits can be this signed number, or unsigned one."""
    return -(1 << (bits - 1)) <= number < 1 << (bits - 1 + or_unsigned)


def _stored_integer(leaf: LeafType, value: object, float_bits: int = FLOAT_BITS) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float | Decimal) and leaf.logical_name in ("", "INTEGER"):
        return _whole_number(leaf, value, float_bits)
    match leaf.logical_name:
        case "DATE" if (days := days_of(value)) is not None:
            return days
        case "TIME" if (nanos := time_nanos(value)) is not None:
            return _count_units(leaf, value, nanos)
        case "TIMESTAMP" if (nanos := _timestamp_nanos(leaf, value)) is not None:
            return _count_units(leaf, value, nanos)
    expected = {"DATE": "a date", "TIME": "a time", "TIMESTAMP": "a timestamp"}
    is_duration = isinstance(value, timedelta) or type(value).__name__ == "timedelta64"
    integer = _OF_A_DURATION if is_duration else "an integer"
    raise not_a_value(leaf, value, expected.get(leaf.logical_name, integer))


def _whole_number(leaf: LeafType, value: float | Decimal, float_bits: int) -> int:
    """The integer that a float or a decimal surely was: pandas and others make such of integers with gaps."""
    if isinstance(value, float):
        is_whole = value.is_integer()
    else:
        is_whole = value.is_finite() and value == value.to_integral_value()
    if not is_whole:
        raise not_a_value(leaf, value, "an integer")
    if isinstance(value, float):
        check_not_rounded(leaf, value, abs(value), float_bits)
    if isinstance(value, Decimal) and value.adjusted() > MOST_DIGITS:
        raise not_a_value(leaf, value, "an integer that fits 64 bits")
    return int(value)


def check_not_rounded(
    leaf: LeafType, shown: object, size: float, float_bits: int = FLOAT_BITS
) -> None:
    """Raise ValueTypeError for a whole float from which nobody knows the integer that it was."""
    if size >= 1 << float_bits:
        kind = "floats" if float_bits == FLOAT_BITS else "such floats"
        expected = f"an integer, as {kind} from 2**{float_bits} on may have been rounded"
        raise not_a_value(leaf, shown, expected)


def days_of(value: object) -> int | None:
    """Days since 1970 for a date; None for anything else."""
    if isinstance(value, Days):
        return value.number
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.toordinal() - UNIX_EPOCH_ORDINAL
    return None


def time_nanos(value: object) -> int | None:
    """Nanoseconds since midnight for a time without a zone; None for anything else."""
    if isinstance(value, TimeNanos):
        return value.number
    return clock_nanos(value) if isinstance(value, time) and value.tzinfo is None else None


def clock_nanos(value: time | datetime) -> int:
    """Nanoseconds since midnight by the clock, with the field that only pandas values have."""
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    nanosecond: int = getattr(value, "nanosecond", 0)
    return seconds * 1_000_000_000 + value.microsecond * 1_000 + nanosecond


def _timestamp_nanos(leaf: LeafType, value: object) -> int | None:
    """Nanoseconds since 1970, UTC if the value has no zone; None for anything but a timestamp."""
    moment = moment_of(value)
    if moment is None:
        return None
    if moment.zoned and leaf.logical and not leaf.logical.utc:
        raise not_a_value(leaf, value, "a local timestamp, without a zone")
    return moment.nanos


class Moment(NamedTuple):
    """Nanoseconds since 1970, and whether they are in UTC."""

    nanos: int
    zoned: bool


def moment_of(value: object) -> Moment | None:
    """A timestamp, or the midnight of a date; None for anything else."""
    days = days_of(value)
    if days is not None:
        return Moment(days * NANOS_PER_DAY, False)
    if isinstance(value, TimestampNanos):
        return Moment(value.number, value.zoned)
    if not isinstance(value, datetime):
        return None
    offset = (value.utcoffset() or timedelta()) // timedelta(microseconds=1) * 1_000
    days = value.toordinal() - UNIX_EPOCH_ORDINAL
    return Moment(days * NANOS_PER_DAY + clock_nanos(value) - offset, value.tzinfo is not None)


def _count_units(leaf: LeafType, value: object, nanos: int) -> int:
    unit = leaf.logical.unit if leaf.logical else ""
    count, rest = divmod(nanos, NANOS[unit])
    if rest:
        raise not_a_value(leaf, value, f"whole {unit.lower()}")
    return count


def _encode_int96(leaf: LeafType, value: object) -> Encodings:
    nanos = _timestamp_nanos(leaf, value)
    if nanos is None:
        raise not_a_value(leaf, value, "a timestamp or 12 bytes")
    days, nanos_of_day = divmod(nanos, NANOS_PER_DAY)
    julian_day = days + UNIX_EPOCH_JULIAN_DAY
    if not _fits_32_bits(julian_day):
        raise not_a_value(leaf, value, "a day that fits 32 bits")
    # ORC's TIMESTAMP passes through here too, but is not stored as INT96.
    shifts = INT96_DAY_SHIFTS if leaf.logical is None else (0,)
    return Encodings(
        tuple(
            struct.pack("<qi", nanos_of_day - shift * NANOS_PER_DAY, julian_day + shift)
            for shift in shifts
            if _fits_32_bits(julian_day + shift)
        )
    )


def _fits_32_bits(number: int) -> bool:
    return -(1 << 31) <= number < 1 << 31


def _encode_wide_timestamp(leaf: LeafType, value: object) -> Encodings:
    """In either order of bytes: pyarrow 26 reads little-endian, and the format's text left it open."""
    number = _stored_integer(leaf, value)
    try:
        orders: tuple[Literal["little", "big"], ...] = ("little", "big")
        plain = [number.to_bytes(WIDE_TIMESTAMP_BYTES, order, signed=True) for order in orders]
    except OverflowError:
        raise not_a_value(leaf, value, f"a number that fits {WIDE_TIMESTAMP_BYTES} bytes") from None
    return Encodings(tuple(dict.fromkeys(plain)))


def _encode_float(leaf: LeafType, value: object) -> Encodings:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise not_a_value(leaf, value, "a number")
    # Without conversion: huge integers overflow as floats, and signaling NaNs raise.
    if value.is_nan() if isinstance(value, Decimal) else isinstance(value, float) and isnan(value):
        return Encodings((), NAN)
    width = leaf.width or 8
    try:
        number = float(value)
        plain = struct.pack(FLOAT_FORMAT[width], number)
    except OverflowError:
        number, plain = inf, b""
    if not isfinite(number) and abs(value) != inf:
        raise not_a_value(leaf, value, f"a number that fits {8 * width} bits")
    # A number too small for the type rounds to zero, which has two encodings.
    return Encodings(zeros(width) if plain in zeros(width) else (plain,))


def _encode_decimal(leaf: LeafType, value: object) -> Encodings:
    logical = leaf.logical
    assert logical is not None
    unscaled = _unscaled(leaf, value, logical)
    if unscaled is None:
        return Encodings((), BEYOND_DIGITS)
    shortest = signed_bytes(unscaled)
    if leaf.width is not None:
        if shortest > leaf.width:
            return Encodings((), BEYOND_DIGITS)
        widths = range(leaf.width, leaf.width + 1)
    else:
        # No bytes at all are zero, too.
        widths = range(shortest if unscaled else 0, longest_decimal(logical) + 1)
    order: Literal["little", "big"] = "little" if leaf.physical in INTEGERS else "big"
    return Encodings(tuple(unscaled.to_bytes(width, order, signed=True) for width in widths))


def longest_decimal(logical: LogicalType) -> int:
    """The most bytes in a BYTE_ARRAY that a DECIMAL is looked up with: as many as Arrow C++ takes."""
    precision = _precision(logical)
    return 16 if precision <= 38 else max(32, signed_bytes(10**precision))


def signed_bytes(number: int) -> int:
    """The fewest bytes that hold `number` as two's complement."""
    magnitude = number if number >= 0 else ~number
    return magnitude.bit_length() // 8 + 1


def _unscaled(leaf: LeafType, value: object, logical: LogicalType) -> int | None:
    """The stored integer: exact, and range-checked before any large power is computed; None if no stored one is
    the value, whatever its digits. Raises ValueTypeError for one that may be stored although it has too many."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        is_float = isinstance(value, float)
        raise not_a_value(leaf, value, "a decimal, not a float" if is_float else "a decimal")
    exact = Decimal(value)
    if not exact.is_finite():
        raise not_a_value(leaf, value, "a finite decimal")
    if not exact:
        return 0
    bits = None if leaf.width is None else 8 * leaf.width
    # Each digit takes more than three.
    if bits is not None and 3 * (exact.adjusted() + logical.scale) > bits:
        return None
    precision = _precision(logical)
    too_long = not_a_value(leaf, value, f"at most {precision} digits")
    _, each_digit, exponent = exact.as_tuple()
    assert isinstance(exponent, int)
    if len(each_digit) > 2 * MOST_DIGITS:
        raise too_long
    digits, shift = int("".join(map(str, each_digit))), exponent + logical.scale
    if shift < -2 * MOST_DIGITS or (shift < 0 and digits % 10**-shift):
        return None
    if shift > MOST_DIGITS:
        raise too_long
    unscaled: int = digits * 10**shift if shift >= 0 else digits // 10**-shift
    unscaled = -unscaled if value < 0 else unscaled
    if abs(unscaled) >= 10**precision:
        if bits is not None and 8 * signed_bytes(unscaled) > bits:
            return None
        raise too_long
    return unscaled


def _precision(logical: LogicalType) -> int:
    """The digits of a DECIMAL, limited because a schema may claim any number."""
    return min(logical.precision, MOST_DIGITS)


def _encode_text(leaf: LeafType, value: object) -> Encodings:
    if leaf.logical_name == "UUID":
        with suppress(ValueError):
            value = UUID(value) if isinstance(value, str) else value
        if not isinstance(value, UUID):
            raise not_a_value(leaf, value, "a UUID")
        return Encodings((value.bytes,))
    if isinstance(value, UUID) and leaf.logical is None:
        return encode_stored(leaf, value.bytes)
    if not isinstance(value, str) or leaf.logical_name == "INTERVAL":
        expected = "bytes" if leaf.logical_name == "INTERVAL" else "text or bytes"
        raise not_a_value(leaf, value, expected)
    try:
        plain = value.encode()
    except UnicodeEncodeError:
        raise not_a_value(leaf, ascii(value), "text that is valid Unicode") from None
    if leaf.width is not None and len(plain) != leaf.width:
        # Shown as it was given, and not as bytes.
        expected = f"{leaf.width} bytes, found {len(plain)}{_as_uuid(leaf.width, value)}"
        raise not_a_value(leaf, value, expected)
    return Encodings((plain,))
