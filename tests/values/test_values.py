"""From Python values to the bytes that are hashed: every type, every refusal, and pyarrow's bytes."""

import math
import struct
import subprocess
import sys
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import missing
from hypothesis import given
from hypothesis import strategies as st
from make.leaves import DAYS, SOME_UUID, TEN, ZEROS, big, i4, i8, i12, int96_forms, leaf, row_id

from parquet_bloom.errors import ValueTypeError
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.thrift import ttypes
from parquet_bloom.values.encode import Encodings, encode, integer_range, signed_bytes
from parquet_bloom.values.given import list_values
from parquet_bloom.values.literals import encode_given, encode_literal
from parquet_bloom.values.types import TimestampNanos, canonical_nan, literal, zeros
from parquet_bloom.vocabulary import BEYOND_BITS, BEYOND_DIGITS


def hours(count: float) -> timezone:
    return timezone(timedelta(hours=count))


EVENING = datetime(1969, 12, 31, 23, 59, 59, 999_000)

# --- one encoding ---------------------------------------------------------------------------------

STORED: list[tuple[str, object, bytes]] = [
    ("INT32", 0, i4(0)),
    ("INT32", 1, b"\x01\0\0\0"),
    ("INT32", -1, b"\xff\xff\xff\xff"),
    ("INT32", 2**31 - 1, b"\xff\xff\xff\x7f"),
    ("INT32", -(2**31), b"\0\0\0\x80"),
    ("INT32", np.int8(-5), i4(-5)),
    ("INT32", np.uint64(5), i4(5)),
    ("INT64", 0x0102030405060708, bytes([8, 7, 6, 5, 4, 3, 2, 1])),
    ("INT64", -2, i8(-2)),
    ("INT64", 2**63 - 1, i8(2**63 - 1)),
    ("INT64", -(2**63), i8(-(2**63))),
    ("INT64", np.int32(7), i8(7)),
    # Annotated integers: four bytes of what is stored, also of the narrow ones.
    ("INT32 INTEGER(8,true)", -128, i4(-128)),
    ("INT32 INTEGER(8,true)", 127, i4(127)),
    ("INT32 INTEGER(16,true)", -(2**15), i4(-(2**15))),
    ("INT32 INTEGER(16,true)", 2**15 - 1, i4(2**15 - 1)),
    ("INT32 INTEGER(32,true)", -(2**31), i4(-(2**31))),
    ("INT64 INTEGER(64,true)", -(2**63), i8(-(2**63))),
    # Whoever wrote more bits than the type has, wrote these.
    ("INT32 INTEGER(8,true)", 128, i4(128)),
    ("INT32 INTEGER(8,true)", -129, i4(-129)),
    ("INT32 INTEGER(16,true)", 2**15, i4(2**15)),
    ("INT32 INTEGER(8,false)", 256, i4(256)),
    ("INT32 INTEGER(8,false)", 2**32 - 129, i4(-129)),
    ("INT32 INTEGER(8,false)", 2**32 - 1, i4(-1)),
    ("INT32 INTEGER(16,false)", 65_536, i4(65_536)),
    ("INT32 INTEGER(8,false)", 255, b"\xff\0\0\0"),
    ("INT32 INTEGER(16,false)", 65_535, b"\xff\xff\0\0"),
    ("INT32 INTEGER(32,false)", 2**31, b"\0\0\0\x80"),
    ("INT32 INTEGER(32,false)", 2**32 - 1, b"\xff\xff\xff\xff"),
    ("INT64 INTEGER(64,false)", 2**63, b"\0\0\0\0\0\0\0\x80"),
    ("INT64 INTEGER(64,false)", 2**64 - 1, b"\xff" * 8),
    ("INT64 INTEGER(64,false)", np.uint64(2**64 - 1), b"\xff" * 8),
    # Dates.
    ("INT32 DATE", date(1970, 1, 1), i4(0)),
    ("INT32 DATE", date(1969, 12, 31), i4(-1)),
    ("INT32 DATE", date(2024, 1, 31), i4(DAYS)),
    ("INT32 DATE", date.min, i4(-719_162)),
    ("INT32 DATE", date.max, i4(2_932_896)),
    ("INT32 DATE", np.datetime64("2024-01-31"), i4(DAYS)),
    ("INT32 DATE", np.datetime64("1969-12-31"), i4(-1)),
    ("INT32 DATE", np.datetime64(4_000_000, "D"), i4(4_000_000)),
    ("INT32 DATE", np.datetime64(2, "W"), i4(14)),
    ("INT32 DATE", np.datetime64("2024-02", "M"), i4(DAYS + 1)),
    ("INT32 DATE", np.datetime64("1971", "Y"), i4(365)),
    ("INT32 DATE", DAYS, i4(DAYS)),
    ("INT32 DATE", np.int32(-1), i4(-1)),
    # Times.
    ("INT32 TIME(MILLIS,true)", time(0), i4(0)),
    ("INT32 TIME(MILLIS,true)", time(10, 0, 0, 123_000), i4(36_000_123)),
    ("INT32 TIME(MILLIS,false)", time(23, 59, 59, 999_000), i4(86_399_999)),
    ("INT64 TIME(MICROS,true)", time(23, 59, 59, 999_999), i8(86_399_999_999)),
    ("INT64 TIME(MICROS,false)", time(0, 0, 0, 1), i8(1)),
    ("INT64 TIME(NANOS,false)", time(23, 59, 59, 999_999), i8(86_399_999_999_000)),
    ("INT64 TIME(NANOS,true)", time(0, 0, 1), i8(1_000_000_000)),
    ("INT32 TIME(MILLIS,true)", 36_000_123, i4(36_000_123)),
    # Timestamps in their units.
    ("INT64 TIMESTAMP(MILLIS,true)", datetime(2024, 1, 31, 10), i8(TEN * 10**3)),
    ("INT64 TIMESTAMP(MICROS,true)", datetime(2024, 1, 31, 10), i8(TEN * 10**6)),
    ("INT64 TIMESTAMP(NANOS,true)", datetime(2024, 1, 31, 10), i8(TEN * 10**9)),
    ("INT64 TIMESTAMP(MILLIS,false)", datetime(2024, 1, 31, 10), i8(TEN * 10**3)),
    ("INT64 TIMESTAMP(MICROS,false)", datetime(2024, 1, 31, 10), i8(TEN * 10**6)),
    ("INT64 TIMESTAMP(NANOS,false)", datetime(2024, 1, 31, 10), i8(TEN * 10**9)),
    ("INT64 TIMESTAMP(MICROS,true)", datetime(1970, 1, 1), i8(0)),
    # Before 1970.
    ("INT64 TIMESTAMP(MILLIS,true)", EVENING, i8(-1)),
    ("INT64 TIMESTAMP(MICROS,true)", EVENING, i8(-1000)),
    ("INT64 TIMESTAMP(NANOS,true)", EVENING, i8(-1_000_000)),
    ("INT64 TIMESTAMP(MICROS,false)", datetime(1969, 12, 31, 23, 59, 59, 999_999), i8(-1)),
    ("INT64 TIMESTAMP(MILLIS,true)", datetime(1, 1, 1), i8(-719_162 * 86_400_000)),
    ("INT64 TIMESTAMP(MICROS,true)", datetime.max, i8(2_932_897 * 86_400_000_000 - 1)),
    # Zones.
    ("INT64 TIMESTAMP(MICROS,true)", datetime(2024, 1, 31, 10, tzinfo=UTC), i8(TEN * 10**6)),
    ("INT64 TIMESTAMP(MICROS,true)", datetime(2024, 1, 31, 12, tzinfo=hours(2)), i8(TEN * 10**6)),
    ("INT64 TIMESTAMP(MICROS,true)", datetime(2024, 1, 30, 23, tzinfo=hours(-11)), i8(TEN * 10**6)),
    (
        "INT64 TIMESTAMP(MILLIS,true)",
        datetime(2024, 1, 31, 15, 30, tzinfo=hours(5.5)),
        i8(TEN * 10**3),
    ),
    ("INT64 TIMESTAMP(MILLIS,true)", datetime(1970, 1, 1, tzinfo=hours(1)), i8(-3_600_000)),
    (
        "INT64 TIMESTAMP(MILLIS,true)",
        datetime(1, 1, 1, tzinfo=hours(5)),
        i8(-719_162 * 86_400_000 - 5 * 3_600_000),
    ),
    (
        "INT64 TIMESTAMP(MILLIS,true)",
        datetime(9999, 12, 31, 23, tzinfo=hours(-5)),
        i8(2_932_897 * 86_400_000 + 4 * 3_600_000),
    ),
    # Whole numbers, as of a column that had gaps.
    ("INT64", 7.0, i8(7)),
    ("INT64", -(2.0**53 - 1), i8(1 - 2**53)),
    ("INT64", np.float64(-0.0), i8(0)),
    ("INT64", np.float64(2**24), i8(2**24)),
    ("INT64", np.float32(2**24 - 1), i8(2**24 - 1)),
    ("INT64", Decimal("7.00"), i8(7)),
    ("INT64", Decimal("9.223372036854775807E18"), i8(2**63 - 1)),
    ("INT64 INTEGER(64,false)", Decimal(2**64 - 1), b"\xff" * 8),
    # A date is its midnight, and an integer what is stored.
    ("INT64 TIMESTAMP(MICROS,true)", date(2024, 1, 31), i8(DAYS * 86_400_000_000)),
    ("INT64 TIMESTAMP(MILLIS,false)", date(1969, 12, 31), i8(-86_400_000)),
    ("INT64 TIMESTAMP(MILLIS,false)", -1, i8(-1)),
    # numpy's timestamps, whatever their unit.
    ("INT64 TIMESTAMP(MICROS,true)", np.datetime64("2024-01-31T10:00", "s"), i8(TEN * 10**6)),
    ("INT64 TIMESTAMP(MICROS,true)", np.datetime64("2024-01-31T10:00", "m"), i8(TEN * 10**6)),
    ("INT64 TIMESTAMP(MICROS,true)", np.datetime64("2024-01-31T10", "h"), i8(TEN * 10**6)),
    ("INT64 TIMESTAMP(MICROS,true)", np.datetime64("2024-01-31", "D"), i8(DAYS * 86_400_000_000)),
    ("INT64 TIMESTAMP(MILLIS,false)", np.datetime64(TEN * 10**9, "ns"), i8(TEN * 10**3)),
    ("INT64 TIMESTAMP(NANOS,false)", np.datetime64(-1, "ns"), i8(-1)),
    ("INT64 TIMESTAMP(NANOS,true)", np.datetime64(TEN * 10**9 + 7, "ns"), i8(TEN * 10**9 + 7)),
    ("INT64 TIMESTAMP(MICROS,true)", np.datetime64(3, "10us"), i8(30)),
    (
        "INT64 TIMESTAMP(MICROS,true)",
        np.datetime64("9999-12-31T00:00:00", "us"),
        i8(2_932_896 * 86_400_000_000),
    ),
    # INT96: nanoseconds of the day, then the Julian day. 2000-01-01 is Julian day 2,451,545.
    ("INT96", datetime(2000, 1, 1, 12), i12(43_200_000_000_000, 2_451_545)),
    ("INT96", datetime(1970, 1, 1), bytes([0, 0, 0, 0, 0, 0, 0, 0, 0x8C, 0x3D, 0x25, 0])),
    ("INT96", EVENING, i12(86_399_999_000_000, 2_440_587)),
    ("INT96", datetime(2000, 1, 1, 1, tzinfo=hours(2)), i12(82_800_000_000_000, 2_451_544)),
    ("INT96", np.datetime64(-1, "ns"), i12(86_399_999_999_999, 2_440_587)),
    ("INT96", np.datetime64("9999-12-31T00:00:01", "us"), i12(1_000_000_000, 5_373_484)),
    ("INT96", bytes(range(12)), bytes(range(12))),
    # Floating point numbers.
    ("FLOAT", 1.5, b"\0\0\xc0\x3f"),
    ("FLOAT", -1.5, b"\0\0\xc0\xbf"),
    ("FLOAT", 0.1, b"\xcd\xcc\xcc\x3d"),
    ("FLOAT", 3, b"\0\0\x40\x40"),
    ("FLOAT", Decimal("1.5"), b"\0\0\xc0\x3f"),
    ("FLOAT", np.float64(1.5), b"\0\0\xc0\x3f"),
    ("FLOAT", math.inf, b"\0\0\x80\x7f"),
    ("FLOAT", -math.inf, b"\0\0\x80\xff"),
    ("FLOAT", 3.4028234663852886e38, b"\xff\xff\x7f\x7f"),
    ("FLOAT", 2.0**-149, b"\x01\0\0\0"),
    ("FLOAT", -(2.0**-149), b"\x01\0\0\x80"),
    ("DOUBLE", 1.5, b"\0\0\0\0\0\0\xf8\x3f"),
    ("DOUBLE", 0.1, b"\x9a\x99\x99\x99\x99\x99\xb9\x3f"),
    ("DOUBLE", np.float32(0.1), b"\0\0\0\xa0\x99\x99\xb9\x3f"),
    ("DOUBLE", -math.inf, b"\0\0\0\0\0\0\xf0\xff"),
    ("DOUBLE", 5e-324, b"\x01" + bytes(7)),
    ("DOUBLE", 1.7976931348623157e308, b"\xff\xff\xff\xff\xff\xff\xef\x7f"),
    ("FIXED_LEN_BYTE_ARRAY(2) FLOAT16", 1.5, b"\0\x3e"),
    ("FIXED_LEN_BYTE_ARRAY(2) FLOAT16", np.float16(-1.5), b"\0\xbe"),
    ("FIXED_LEN_BYTE_ARRAY(2) FLOAT16", 65_504, b"\xff\x7b"),
    ("FIXED_LEN_BYTE_ARRAY(2) FLOAT16", 2.0**-24, b"\x01\0"),
    ("FIXED_LEN_BYTE_ARRAY(2) FLOAT16", math.inf, b"\0\x7c"),
    ("FIXED_LEN_BYTE_ARRAY(2) FLOAT16", b"\x34\x12", b"\x34\x12"),
    # Decimals.
    ("INT32 DECIMAL(9,2)", Decimal("12.34"), i4(1234)),
    ("INT32 DECIMAL(9,2)", Decimal("-12.34"), i4(-1234)),
    ("INT32 DECIMAL(9,2)", Decimal("12.340"), i4(1234)),
    ("INT32 DECIMAL(9,2)", Decimal("1E+3"), i4(100_000)),
    ("INT32 DECIMAL(9,2)", Decimal("-0.00"), i4(0)),
    ("INT32 DECIMAL(9,2)", Decimal("9999999.99"), i4(999_999_999)),
    ("INT32 DECIMAL(9,2)", 12, i4(1200)),
    ("INT64 DECIMAL(18,3)", Decimal("-999999999999999.999"), i8(-(10**18) + 1)),
    ("FIXED_LEN_BYTE_ARRAY(4) DECIMAL(9,2)", Decimal("12.34"), b"\0\0\x04\xd2"),
    ("FIXED_LEN_BYTE_ARRAY(4) DECIMAL(9,2)", Decimal("-12.34"), b"\xff\xff\xfb\x2e"),
    ("FIXED_LEN_BYTE_ARRAY(16) DECIMAL(38,10)", Decimal("0.0000000001"), big(1, 16)),
    ("FIXED_LEN_BYTE_ARRAY(16) DECIMAL(38,0)", 1 - 10**38, big(1 - 10**38, 16)),
    ("FIXED_LEN_BYTE_ARRAY(17) DECIMAL(40,3)", Decimal("-1.5"), big(-1500, 17)),
    ("FIXED_LEN_BYTE_ARRAY(50) DECIMAL(120,0)", 10**110 + 1, big(10**110 + 1, 50)),
    ("FIXED_LEN_BYTE_ARRAY(4) DECIMAL(9,2)", b"\0\0\x04\xd2", b"\0\0\x04\xd2"),
    # Bytes and text.
    ("BYTE_ARRAY", b"", b""),
    ("BYTE_ARRAY", b"\0\xff", b"\0\xff"),
    ("BYTE_ARRAY", bytearray(b"ab"), b"ab"),
    ("BYTE_ARRAY", memoryview(b"ab"), b"ab"),
    ("BYTE_ARRAY", np.bytes_(b"ab"), b"ab"),
    ("BYTE_ARRAY", "é", b"\xc3\xa9"),
    ("BYTE_ARRAY STRING", "", b""),
    ("BYTE_ARRAY STRING", "naïve 🙂", "naïve 🙂".encode()),
    ("BYTE_ARRAY STRING", np.str_("é"), b"\xc3\xa9"),
    ("BYTE_ARRAY STRING", b"as stored", b"as stored"),
    ("BYTE_ARRAY STRING", '"quoted"', b'"quoted"'),
    ("BYTE_ARRAY STRING", "0x41", b"0x41"),
    ("BYTE_ARRAY ENUM", "RED", b"RED"),
    ("BYTE_ARRAY JSON", '{"a": 1}', b'{"a": 1}'),
    ("BYTE_ARRAY BSON", b"\x05\0\0\0\0", b"\x05\0\0\0\0"),
    ("FIXED_LEN_BYTE_ARRAY(5)", b"12345", b"12345"),
    ("FIXED_LEN_BYTE_ARRAY(5)", "12345", b"12345"),
    ("FIXED_LEN_BYTE_ARRAY(16) UUID", SOME_UUID, bytes(range(0, 256, 17))),
    ("FIXED_LEN_BYTE_ARRAY(16) UUID", SOME_UUID.bytes, bytes(range(0, 256, 17))),
    ("FIXED_LEN_BYTE_ARRAY(16)", SOME_UUID, bytes(range(0, 256, 17))),
    ("FIXED_LEN_BYTE_ARRAY(12) INTERVAL", bytes(range(12)), bytes(range(12))),
]


@pytest.mark.parametrize(("spelling", "value", "stored"), STORED, ids=row_id)
def test_stored_bytes(spelling: str, value: object, stored: bytes) -> None:
    is_as_stored = isinstance(value, bytes)
    plain = (stored,) if is_as_stored else int96_forms(spelling, stored)
    assert encode(leaf(spelling), value) == Encodings(plain)


@given(st.datetimes(datetime(1678, 1, 1), datetime(2262, 1, 1)), st.integers(-14, 14))
def test_timestamps_count_from_1970(local: datetime, zone: int) -> None:
    value = local.replace(tzinfo=hours(zone))
    micros = (value - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    assert encode(leaf("INT64 TIMESTAMP(MICROS,true)"), value).plain == (i8(micros),)
    assert encode(leaf("INT64 TIMESTAMP(NANOS,true)"), value).plain == (i8(micros * 1000),)
    int96, late, early = encode(leaf("INT96"), value).plain
    assert (int96, late, early) == int96_forms("INT96", int96)
    nanos, day = struct.unpack("<qi", int96)
    assert 0 <= nanos < 86_400 * 10**9
    assert (day - 2_440_588) * 86_400 * 10**9 + nanos == micros * 1000


@pytest.fixture
def pandas() -> Any:
    try:
        import pandas
    except ImportError:
        missing("pandas")
    return pandas


@pytest.mark.parametrize("nanos", [0, -1, 7, 999, TEN * 10**9 + 7])
def test_pandas_timestamps_keep_their_nanoseconds(pandas: Any, nanos: int) -> None:
    for zone, utc in ((None, "false"), ("UTC", "true"), ("Europe/Berlin", "true")):
        value = pandas.Timestamp(nanos, tz=zone)
        assert encode(leaf(f"INT64 TIMESTAMP(NANOS,{utc})"), value) == Encodings((i8(nanos),))


def test_pandas_has_a_null_of_its_own(pandas: Any) -> None:
    for spelling in ("INT64 TIMESTAMP(NANOS,true)", "INT32 DATE", "INT96"):
        unknown = Encodings((), "nulls are not inserted into Bloom filters")
        assert encode(leaf(spelling), pandas.NaT) == unknown


# --- several encodings, and none ------------------------------------------------------------------


@pytest.mark.parametrize("spelling", ZEROS)
@pytest.mark.parametrize("value", [0.0, -0.0, 0, Decimal("0.00"), Decimal("-0"), np.float32(-0.0)])
def test_both_zeros(spelling: str, value: object) -> None:
    assert encode(leaf(spelling), value) == Encodings(ZEROS[spelling])


@pytest.mark.parametrize(
    ("spelling", "value"),
    [
        ("FLOAT", 1e-60),
        ("FLOAT", -1e-60),
        ("FIXED_LEN_BYTE_ARRAY(2) FLOAT16", 1e-9),
        ("DOUBLE", Decimal("1e-400")),
    ],
)
def test_a_number_too_small_rounds_to_both_zeros(spelling: str, value: object) -> None:
    assert encode(leaf(spelling), value) == Encodings(ZEROS[spelling])


NANS = [math.nan, -math.nan, np.float32("nan"), np.float16("nan"), Decimal("NaN"), Decimal("sNaN")]


@pytest.mark.parametrize("spelling", ZEROS)
@pytest.mark.parametrize("value", NANS, ids=repr)
def test_nan_is_unknown(spelling: str, value: object) -> None:
    assert encode(leaf(spelling), value) == Encodings((), "NaN has many encodings")


EVERY_TYPE = sorted({spelling for spelling, _, _ in STORED} | {"BYTE_ARRAY DECIMAL(9,2)"})


@pytest.mark.parametrize("spelling", EVERY_TYPE)
def test_null_is_unknown(spelling: str) -> None:
    assert encode(leaf(spelling), None) == Encodings(
        (), "nulls are not inserted into Bloom filters"
    )


@pytest.mark.parametrize("unit", ["D", "s", "ms", "us", "ns"])
@pytest.mark.parametrize(
    "spelling",
    ["INT32 DATE", "INT64 TIMESTAMP(MILLIS,true)", "INT64 TIMESTAMP(NANOS,true)", "INT96"],
)
def test_not_a_time_is_a_null(spelling: str, unit: str) -> None:
    value = np.datetime64("NaT", unit)
    assert encode(leaf(spelling), value) == Encodings(
        (), "nulls are not inserted into Bloom filters"
    )


@pytest.mark.parametrize("value", [True, False, 1, "true", b"\1", np.bool_(True)])
def test_boolean_is_unknown(value: object) -> None:
    assert encode(leaf("BOOLEAN"), value) == Encodings((), "BOOLEAN has no Bloom filter")
    # Which may be all that there is.
    unknown = Encodings((), "nulls are not inserted into Bloom filters")
    assert encode(leaf("BOOLEAN"), None) == unknown


@pytest.mark.parametrize(
    ("spelling", "value", "unscaled", "lengths"),
    [
        ("BYTE_ARRAY DECIMAL(9,2)", Decimal("12.34"), 1234, range(2, 17)),
        ("BYTE_ARRAY DECIMAL(9,2)", Decimal("-12.34"), -1234, range(2, 17)),
        ("BYTE_ARRAY DECIMAL(9,2)", 0, 0, range(17)),
        ("BYTE_ARRAY DECIMAL(9,2)", Decimal("-0.01"), -1, range(1, 17)),
        ("BYTE_ARRAY DECIMAL(9,2)", Decimal("1.27"), 127, range(1, 17)),
        ("BYTE_ARRAY DECIMAL(9,2)", Decimal("1.28"), 128, range(2, 17)),
        ("BYTE_ARRAY DECIMAL(9,2)", Decimal("-1.28"), -128, range(1, 17)),
        ("BYTE_ARRAY DECIMAL(9,2)", Decimal("-1.29"), -129, range(2, 17)),
        ("BYTE_ARRAY DECIMAL(38,0)", 10**38 - 1, 10**38 - 1, range(16, 17)),
        ("BYTE_ARRAY DECIMAL(40,0)", 1, 1, range(1, 33)),
        ("BYTE_ARRAY DECIMAL(76,2)", Decimal("1.00"), 100, range(1, 33)),
        ("BYTE_ARRAY DECIMAL(120,0)", 10**110 + 1, 10**110 + 1, range(46, 51)),
    ],
    ids=row_id,
)
def test_byte_array_decimals_of_every_plausible_length(
    spelling: str, value: object, unscaled: int, lengths: range
) -> None:
    """From the fewest bytes to 16 or 32, as many as Arrow has, or those of the precision."""
    assert encode(leaf(spelling), value) == Encodings(
        tuple(big(unscaled, length) for length in lengths)
    )


ABSURD_PRECISION = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))
resource.setrlimit(resource.RLIMIT_CPU, (10, 10))
from parquet_bloom.values.encode import encode
from parquet_bloom.values.types import LeafType, LogicalType
leaf = LeafType("{physical}", {length}, LogicalType("DECIMAL", precision={precision}))
encodings = encode(leaf, 7)
assert encodings.plain or encodings.unknown
assert sum(map(len, encodings.plain)) < 2**24
assert {{int.from_bytes(plain, "{order}") for plain in encodings.plain}} <= {{7}}
"""


@pytest.mark.parametrize("precision", [10**4, 10**5, 2**31 - 1])
@pytest.mark.parametrize(
    ("physical", "length", "order"),
    [("INT32", 0, "little"), ("FIXED_LEN_BYTE_ARRAY", 4, "big"), ("BYTE_ARRAY", 0, "big")],
)
def test_a_precision_that_nobody_needs(
    physical: str, length: int, order: str, precision: int
) -> None:
    """A schema may claim 2^31 - 1 digits; to ask for a 7 takes neither long nor much memory."""
    program = ABSURD_PRECISION.format(
        physical=physical, length=length, precision=precision, order=order
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@given(st.integers(-(2**200), 2**200))
def test_signed_bytes_are_the_fewest(number: int) -> None:
    length = signed_bytes(number)
    assert int.from_bytes(number.to_bytes(length, "big", signed=True), "big", signed=True) == number
    if length > 1:
        with pytest.raises(OverflowError):
            number.to_bytes(length - 1, "big", signed=True)


# --- what cannot be a value of the column ---------------------------------------------------------

INT32_RANGE = "-2147483648 to 2147483647"
INT64_RANGE = "-9223372036854775808 to 9223372036854775807"

OF_A_DURATION = "an integer: Parquet stores a duration as a number of units, which only the file's Arrow schema names"
REFUSED: list[tuple[str, object, str, str]] = [
    ("INT32", 1.5, "1.5", "an integer"),
    ("INT32", True, "True", "an integer"),
    ("INT32", np.bool_(True), "True", "an integer"),
    ("INT32", "1", "1", "an integer"),
    ("INT64", b"1", "b'1'", "an integer"),
    ("INT64", Decimal("1.5"), "1.5", "an integer"),
    ("INT64", [1], "[1]", "an integer"),
    ("INT32", date(2024, 1, 31), "2024-01-31", "an integer"),
    ("INT64", np.timedelta64(5, "s"), "5 seconds", OF_A_DURATION),
    ("INT64", timedelta(milliseconds=7), "0:00:00.007000", OF_A_DURATION),
    ("INT32 INTEGER(8,false)", -1, "-1", "0 or more"),
    ("INT32 INTEGER(8,false)", -128, "-128", "0 or more"),
    ("INT32 INTEGER(32,false)", -1, "-1", "0 or more"),
    ("INT64 INTEGER(64,false)", -1, "-1", "0 or more"),
    ("INT32 DATE", datetime(2024, 1, 31), "2024-01-31 00:00:00", "a date"),
    ("INT32 DATE", np.datetime64("2024-01-31T10", "h"), "2024-01-31T10", "a date"),
    ("INT32 DATE", "2024-01-31", "2024-01-31", "a date"),
    ("INT32 DATE", 2**31, "2147483648", INT32_RANGE),
    ("INT32 TIME(MILLIS,true)", time(10, 0, 0, 1), "10:00:00.000001", "whole millis"),
    ("INT32 TIME(MILLIS,true)", timedelta(hours=1), "1:00:00", "a time"),
    ("INT64 TIME(MICROS,true)", datetime(2024, 1, 31), "2024-01-31 00:00:00", "a time"),
    (
        "INT64 TIMESTAMP(MILLIS,true)",
        datetime(2024, 1, 31, 10, 0, 0, 1),
        "2024-01-31 10:00:00.000001",
        "whole millis",
    ),
    (
        "INT64 TIMESTAMP(MICROS,true)",
        np.datetime64(1, "ns"),
        "1970-01-01T00:00:00.000000001",
        "whole micros",
    ),
    ("INT64 TIMESTAMP(NANOS,true)", datetime(2263, 1, 1), "2263-01-01 00:00:00", INT64_RANGE),
    (
        "INT64 TIMESTAMP(NANOS,true)",
        np.datetime64("2263-01-01T00:00:00", "us"),
        "2263-01-01T00:00:00.000000",
        INT64_RANGE,
    ),
    (
        "INT64 TIMESTAMP(MICROS,false)",
        datetime(2024, 1, 31, tzinfo=UTC),
        "2024-01-31 00:00:00+00:00",
        "a local timestamp, without a zone",
    ),
    ("INT64 TIMESTAMP(MICROS,true)", time(10), "10:00:00", "a timestamp"),
    ("INT96", 5, "5", "a timestamp or 12 bytes"),
    ("INT96", time(10), "10:00:00", "a timestamp or 12 bytes"),
    ("INT96", "text", "text", "a timestamp or 12 bytes"),
    ("INT96", b"\1\2", "0x0102", "12 bytes, found 2"),
    ("FLOAT", 1e39, "1e+39", "a number that fits 32 bits"),
    ("FLOAT", 10**39, str(10**39), "a number that fits 32 bits"),
    ("FLOAT", "1.5", "1.5", "a number"),
    ("FLOAT", True, "True", "a number"),
    ("DOUBLE", b"12345678", "b'12345678'", "a number"),
    ("DOUBLE", 1j, "1j", "a number"),
    ("FIXED_LEN_BYTE_ARRAY(2) FLOAT16", 65_520, "65520", "a number that fits 16 bits"),
    ("INT32 DECIMAL(9,2)", Decimal(10**7), "10000000", "at most 9 digits"),
    ("INT32 DECIMAL(9,2)", -(10**7), "-10000000", "at most 9 digits"),
    ("INT32 DECIMAL(9,2)", Decimal("Infinity"), "Infinity", "a finite decimal"),
    ("INT32 DECIMAL(9,2)", Decimal("NaN"), "NaN", "a finite decimal"),
    ("INT32 DECIMAL(9,2)", Decimal("sNaN"), "sNaN", "a finite decimal"),
    ("INT32 DECIMAL(9,2)", 12.34, "12.34", "a decimal, not a float"),
    ("INT64 DECIMAL(18,3)", "12.34", "12.34", "a decimal"),
    ("INT32 DECIMAL(9,2)", True, "True", "a decimal"),
    ("INT32 DECIMAL(9,2)", Decimal("21474836.47"), "21474836.47", "at most 9 digits"),
    ("FIXED_LEN_BYTE_ARRAY(4) DECIMAL(9,2)", -21474836, "-21474836", "at most 9 digits"),
    ("BYTE_ARRAY DECIMAL(9,2)", 10**40, str(10**40), "at most 9 digits"),
    ("BYTE_ARRAY", 5, "5", "text or bytes"),
    ("BYTE_ARRAY STRING", 5, "5", "text or bytes"),
    ("BYTE_ARRAY STRING", date(2024, 1, 31), "2024-01-31", "text or bytes"),
    ("FIXED_LEN_BYTE_ARRAY(5)", b"1234", "0x31323334", "5 bytes, found 4"),
    ("FIXED_LEN_BYTE_ARRAY(5)", b"", "0x", "5 bytes, found 0"),
    ("FIXED_LEN_BYTE_ARRAY(4)", SOME_UUID, f"0x{SOME_UUID.hex}", "4 bytes, found 16"),
    (
        "FIXED_LEN_BYTE_ARRAY(16)",
        str(SOME_UUID),
        str(SOME_UUID),
        f"16 bytes, found 36; those of this UUID are 0x{SOME_UUID.hex}",
    ),
    ("FIXED_LEN_BYTE_ARRAY(4)", str(SOME_UUID), str(SOME_UUID), "4 bytes, found 36"),
    ("FIXED_LEN_BYTE_ARRAY(16) UUID", b"\1", "0x01", "16 bytes, found 1"),
    ("FIXED_LEN_BYTE_ARRAY(16) UUID", 5, "5", "a UUID"),
    ("FIXED_LEN_BYTE_ARRAY(12) INTERVAL", b"\1", "0x01", "12 bytes, found 1"),
    # Also those that only the 32 bits of the physical type can be.
    ("INT32 INTEGER(8,false)", -200, "-200", "0 or more"),
    ("INT32 INTEGER(16,false)", -(2**31), "-2147483648", "0 or more"),
]


@pytest.mark.parametrize(("spelling", "value", "shown", "expected"), REFUSED, ids=row_id)
def test_what_cannot_be_a_value_is_refused(
    spelling: str, value: object, shown: str, expected: str
) -> None:
    with pytest.raises(ValueTypeError) as refused:
        encode(leaf(spelling), value)
    assert str(refused.value) == f"{shown}: cannot be a value of {spelling}: expected {expected}"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("x" * 200, "x" * 200),
        ("x" * 201, "x" * 200 + "…"),
        (10**500, "an integer of 1661 bits"),
        (-(10**5000), "an integer of 16610 bits"),
    ],
    ids=row_id,
)
def test_a_message_stays_short(value: object, shown: str) -> None:
    with pytest.raises(ValueTypeError) as refused:
        encode(leaf("INT32 DATE"), value)
    assert str(refused.value).startswith(f"{shown}: cannot be a value of INT32 DATE: expected ")


BEYOND: list[tuple[str, object]] = [
    ("INT32", 2**31),
    ("INT32", -(2**31) - 1),
    ("INT32", np.int64(2**31)),
    ("INT32", 2.0**31),
    ("INT32", literal("2147483648")),
    ("INT32", literal("-2147483649", "int")),
    ("INT64", 2**63),
    ("INT64", np.uint64(2**63)),
    ("INT64", literal("9223372036854775808")),
    ("INT64", 10**5000),
    ("INT32 INTEGER(8,true)", 2**31),
    ("INT32 INTEGER(8,false)", 2**32),
    ("INT32 INTEGER(32,false)", 2**32),
    ("INT32 INTEGER(32,false)", literal("4294967296")),
    ("INT64 INTEGER(64,false)", 2**64),
    ("INT64 INTEGER(64,false)", literal("18446744073709551616")),
]


@pytest.mark.parametrize(("spelling", "value"), BEYOND, ids=row_id)
def test_an_integer_of_more_bits_than_the_column_has_is_nowhere(
    spelling: str, value: object
) -> None:
    """What has as many, as -1 in columns without a sign, is what some readers take other bits for."""
    assert encode_given(leaf(spelling), value) == Encodings((), BEYOND_BITS)


@pytest.mark.parametrize(
    ("spelling", "value"),
    [
        # No number of hundredths, however many there are.
        *((f"{physical} DECIMAL(9,2)", Decimal("1.234")) for physical in ("INT32", "BYTE_ARRAY")),
        ("INT32 DECIMAL(9,2)", literal("-1.234")),
        ("INT32 DECIMAL(9,2)", Decimal(f"1.{'0' * 110}1")),
        ("BYTE_ARRAY DECIMAL(9,2)", Decimal("1E-2000000")),
        ("INT64 DECIMAL(9,0)", Decimal("0.5")),
        # More bits than there are.
        ("INT32 DECIMAL(9,2)", Decimal("21474836.48")),
        ("INT32 DECIMAL(9,2)", Decimal("-21474836.49")),
        ("INT32 DECIMAL(9,2)", literal("21474836.48")),
        ("INT32 DECIMAL(20,0)", 2**31),
        ("INT64 DECIMAL(18,0)", -(2**63) - 1),
        ("FIXED_LEN_BYTE_ARRAY(2) DECIMAL(9,2)", Decimal("327.68")),
        ("FIXED_LEN_BYTE_ARRAY(16) DECIMAL(38,0)", 2**127),
        ("INT32 DECIMAL(9,2)", Decimal("1E+999999")),
        ("INT32 DECIMAL(9,2)", Decimal("1" * 5000)),
        ("INT32 DECIMAL(9,2)", 10**5000),
    ],
    ids=row_id,
)
def test_a_decimal_that_no_stored_number_is_equal_to_is_nowhere(
    spelling: str, value: object
) -> None:
    """What the bits can be, although the type has fewer digits, some readers take for what it is."""
    assert encode_given(leaf(spelling), value) == Encodings((), BEYOND_DIGITS)


@pytest.mark.parametrize(
    ("spelling", "value"),
    [
        # What is stored in a STRING for this UUID is its text.
        ("BYTE_ARRAY STRING", SOME_UUID),
        ("BYTE_ARRAY JSON", SOME_UUID),
        # Sixteen letters are no UUID.
        ("FIXED_LEN_BYTE_ARRAY(16) UUID", "0123456789abcdef"),
        # Half of a surrogate pair has no UTF-8; the command line gets one from a byte that is none.
        ("BYTE_ARRAY STRING", "\udcff"),
        ("FIXED_LEN_BYTE_ARRAY(3)", "\udcff"),
        ("INT64", np.timedelta64(5, "ns")),
        # A day and a time of day are no time of day, and a time of day has no zone to be in.
        ("INT64 TIME(MICROS,true)", np.datetime64("2024-01-31T10:00:00")),
        ("INT64 TIME(NANOS,true)", np.datetime64(5, "ns")),
        ("INT64 TIME(MICROS,false)", time(10, tzinfo=hours(5))),
        # Less than a nanosecond.
        ("INT64 TIMESTAMP(NANOS,true)", np.datetime64(1, "ps")),
        ("INT64 TIMESTAMP(NANOS,true)", np.datetime64(1_000_000_001, "fs")),
        # More than a double, which is not the same as infinity.
        ("DOUBLE", 10**400),
        ("DOUBLE", Decimal("1e400")),
        ("FLOAT", Decimal("-1e400")),
        ("BYTE_ARRAY DECIMAL(9,2)", Decimal("1E+2000000")),
        # Python neither reads nor writes down a number of so many digits.
        ("BYTE_ARRAY DECIMAL(9,2)", Decimal("1" * 5000)),
        ("BYTE_ARRAY DECIMAL(9,2)", 10**5000),
        # All that are after the point might be zeros.
        ("INT32 DECIMAL(9,2)", Decimal("1." + "0" * 5000)),
    ],
    ids=row_id,
)
def test_what_else_is_refused(spelling: str, value: object) -> None:
    with pytest.raises(ValueTypeError):
        encode(leaf(spelling), value)


# --- the types themselves -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spelling", "width", "is_float"),
    [
        ("BOOLEAN", None, False),
        ("INT32", 4, False),
        ("INT64", 8, False),
        ("INT96", 12, False),
        ("FLOAT", 4, True),
        ("DOUBLE", 8, True),
        ("BYTE_ARRAY", None, False),
        ("FIXED_LEN_BYTE_ARRAY(7)", 7, False),
        ("FIXED_LEN_BYTE_ARRAY(2) FLOAT16", 2, True),
        ("INT32 DECIMAL(9,2)", 4, False),
    ],
)
def test_width_and_is_float(spelling: str, width: int | None, is_float: bool) -> None:
    assert (leaf(spelling).width, leaf(spelling).is_float) == (width, is_float)


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_integer_range(bits: int) -> None:
    physical = "INT64" if bits == 64 else "INT32"
    assert integer_range(leaf(f"{physical} INTEGER({bits},false)")) == (0, 2**bits - 1)
    signed = integer_range(leaf(f"{physical} INTEGER({bits},true)"))
    assert signed == (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


@pytest.mark.parametrize(("width", "form"), [(2, "<e"), (4, "<f"), (8, "<d")])
def test_zeros_and_the_canonical_nan(width: int, form: str) -> None:
    assert zeros(width) == (bytes(width), bytes(width - 1) + b"\x80")
    assert canonical_nan(width) == struct.pack(form, math.nan)


# --- pyarrow stores the same bytes ----------------------------------------------------------------


def uuid_array(stored: bytes) -> pa.Array:
    return pa.ExtensionArray.from_storage(pa.uuid(), pa.array([stored], pa.binary(16)))


def of(value: object, arrow_type: pa.DataType) -> pa.Array:
    return pa.array([value], arrow_type)


INTEGER_DECIMALS = {"store_decimal_as_integer": True}
WRITTEN: list[tuple[str, pa.Array, object, str, dict[str, bool]]] = [
    ("INT32 INTEGER(8,true)", of(-5, pa.int8()), -5, "-5", {}),
    ("INT32 INTEGER(16,true)", of(-500, pa.int16()), -500, "-500", {}),
    ("INT32", of(-(2**31), pa.int32()), -(2**31), "-2147483648", {}),
    ("INT64", of(-(2**63), pa.int64()), -(2**63), "-9223372036854775808", {}),
    ("INT32 INTEGER(8,false)", of(200, pa.uint8()), 200, "200", {}),
    ("INT32 INTEGER(16,false)", of(60_000, pa.uint16()), 60_000, "60000", {}),
    ("INT32 INTEGER(32,false)", of(2**32 - 1, pa.uint32()), 2**32 - 1, "4294967295", {}),
    ("INT64 INTEGER(64,false)", of(2**64 - 1, pa.uint64()), 2**64 - 1, "18446744073709551615", {}),
    ("INT32 DATE", of(date(1969, 7, 20), pa.date32()), date(1969, 7, 20), "1969-07-20", {}),
    (
        "INT32 TIME(MILLIS,true)",
        of(time(10, 0, 0, 123_000), pa.time32("ms")),
        time(10, 0, 0, 123_000),
        "10:00:00.123",
        {},
    ),
    (
        "INT64 TIME(MICROS,true)",
        of(time(10, 0, 0, 123_456), pa.time64("us")),
        time(10, 0, 0, 123_456),
        "10:00:00.123456",
        {},
    ),
    (
        "INT64 TIME(NANOS,true)",
        of(time(10, 0, 0, 123_456), pa.time64("ns")),
        time(10, 0, 0, 123_456),
        "10:00:00.123456000",
        {},
    ),
    (
        "INT64 TIMESTAMP(MILLIS,false)",
        of(EVENING, pa.timestamp("ms")),
        EVENING,
        "1969-12-31T23:59:59.999",
        {},
    ),
    (
        "INT64 TIMESTAMP(MICROS,true)",
        of(datetime(2024, 1, 31, 10, tzinfo=UTC), pa.timestamp("us", "UTC")),
        datetime(2024, 1, 31, 11, tzinfo=hours(1)),
        "2024-01-31T11:00:00+01:00",
        {},
    ),
    (
        "INT64 TIMESTAMP(NANOS,true)",
        of(-1, pa.timestamp("ns", "UTC")),
        np.datetime64(-1, "ns"),
        "1969-12-31T23:59:59.999999999Z",
        {},
    ),
    (
        "INT96",
        of(-1, pa.timestamp("ns")),
        np.datetime64(-1, "ns"),
        "1969-12-31T23:59:59.999999999Z",
        {"use_deprecated_int96_timestamps": True},
    ),
    ("FLOAT", of(0.1, pa.float32()), 0.1, "0.1", {}),
    ("DOUBLE", of(-0.1, pa.float64()), -0.1, "-0.1", {}),
    ("FIXED_LEN_BYTE_ARRAY(2) FLOAT16", of(np.float16(0.1), pa.float16()), 0.1, "0.1", {}),
    ("BYTE_ARRAY STRING", of("naïve", pa.string()), "naïve", "naïve", {}),
    ("BYTE_ARRAY STRING", of("", pa.large_string()), "", "", {}),
    ("BYTE_ARRAY", of(b"\0\xff", pa.binary()), b"\0\xff", "0x00ff", {}),
    ("FIXED_LEN_BYTE_ARRAY(3)", of(b"\0\xffa", pa.binary(3)), b"\0\xffa", "0x00ff61", {}),
    (
        "FIXED_LEN_BYTE_ARRAY(16) UUID",
        uuid_array(SOME_UUID.bytes),
        SOME_UUID,
        str(SOME_UUID),
        {},
    ),
    (
        "FIXED_LEN_BYTE_ARRAY(4) DECIMAL(9,2)",
        of(Decimal("-12.34"), pa.decimal128(9, 2)),
        Decimal("-12.34"),
        "-12.34",
        {},
    ),
    (
        "FIXED_LEN_BYTE_ARRAY(17) DECIMAL(40,3)",
        of(Decimal("-12.345"), pa.decimal256(40, 3)),
        Decimal("-12.345"),
        "-12.345",
        {},
    ),
    (
        "INT32 DECIMAL(9,2)",
        of(Decimal("-12.34"), pa.decimal128(9, 2)),
        Decimal("-12.34"),
        "-12.34",
        INTEGER_DECIMALS,
    ),
    (
        "INT64 DECIMAL(18,2)",
        of(Decimal("12.3"), pa.decimal128(18, 2)),
        Decimal("12.3"),
        "12.3",
        INTEGER_DECIMALS,
    ),
]


def only_page(path: Path) -> tuple[str, bytes]:
    """The physical type of the only column, and the values of its only page."""
    chunk = pq.read_metadata(path).row_group(0).column(0)
    assert set(chunk.encodings) == {"PLAIN", "RLE"} or chunk.encodings == ("PLAIN",)
    stored = path.read_bytes()[chunk.data_page_offset :][: chunk.total_compressed_size]
    header, start = compact.decode(ttypes.PageHeader, stored)
    assert header.data_page_header.num_values == 1
    assert len(stored) - start == header.uncompressed_page_size
    return chunk.physical_type, stored[start:]


@pytest.mark.parametrize(("spelling", "array", "value", "literal", "options"), WRITTEN, ids=row_id)
def test_pyarrow_stores_these_bytes(
    tmp_path: Path,
    spelling: str,
    array: pa.Array,
    value: object,
    literal: str,
    options: dict[str, bool],
) -> None:
    path = tmp_path / "one.parquet"
    schema = pa.schema([pa.field("a", array.type, nullable=False)])
    table = pa.Table.from_arrays([array], schema=schema)
    pq.write_table(table, path, use_dictionary=False, compression="none", **options)
    physical, page = only_page(path)
    column = leaf(spelling)
    assert column.physical == physical
    stored, *others = encode(column, value).plain
    assert len(others) == 2 * (physical == "INT96")
    prefix = struct.pack("<I", len(stored)) if physical == "BYTE_ARRAY" else b""
    assert page == prefix + stored
    assert encode_literal(column, literal) == encode(column, value)


@given(st.floats(allow_nan=False, width=16))
def test_floats_of_every_width(value: float) -> None:
    """What a half holds is the same number in all three."""
    for spelling, form in (
        ("FIXED_LEN_BYTE_ARRAY(2) FLOAT16", "<e"),
        ("FLOAT", "<f"),
        ("DOUBLE", "<d"),
    ):
        plain = encode(leaf(spelling), value).plain
        assert struct.pack(form, value) in plain
        assert len(plain) == (2 if value == 0 else 1)


def test_what_was_an_array_is_looked_at_at_once() -> None:
    """Lists of numpy's values, one by one, take ten times as long."""
    numbers = list_values(list(np.arange(3, dtype=np.uint32)))
    assert isinstance(numbers, np.ndarray)
    assert (numbers.dtype, numbers.tolist()) == (np.uint32, [0, 1, 2])
    moments = np.array(["2026-01-01T00:00:01", "NaT", "1969-12-31T23:59:59"], "M8[ms]")
    texts = ["2026-01-01T00:00:01.000", "1969-12-31T23:59:59.000"]
    expected = [
        TimestampNanos(1_767_225_601 * 10**9, texts[0]),
        None,
        TimestampNanos(-(10**9), texts[1]),
    ]
    assert list_values(moments) == list_values(list(moments)) == expected
    assert list_values(np.array([1, 1000], "M8[ps]")) == [
        np.datetime64(1, "ps"),
        TimestampNanos(1, "1970-01-01T00:00:00.000000001000"),
    ]
    for others in (
        [np.int64(1), np.int32(2)],
        [np.datetime64(1, "s"), np.datetime64(1, "ms")],
        [np.float32(1)],
        [np.array([1]), np.array([1, 2])],
        [np.ma.masked],
        [1, np.int64(1)],
        [],
    ):
        assert list_values(others) is not others
        assert [*map(id, list_values(others))] == [*map(id, others)]
