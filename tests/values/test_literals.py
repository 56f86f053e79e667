"""Typed literals: what a user writes, the bytes that are hashed, and the words of every refusal."""

import copy
import pickle
from collections.abc import Callable
from datetime import datetime, time
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from make.leaves import DAYS, SOME_UUID, TEN, ZEROS, big, i4, i8, i12, int96_forms, leaf, row_id

from parquet_bloom.errors import ValueTypeError
from parquet_bloom.values.encode import Encodings, encode
from parquet_bloom.values.literals import TYPES, encode_given, encode_literal
from parquet_bloom.values.types import TextInFile, literal

DAY_MICROS = 86_400_000_000

# --- what a literal stands for --------------------------------------------------------------------

READ: list[tuple[str, str, bytes]] = [
    # Integers.
    ("INT32", "123", i4(123)),
    ("INT32", "+7", i4(7)),
    ("INT32", "-2147483648", i4(-(2**31))),
    ("INT32", "007", i4(7)),
    ("INT32", "-0", i4(0)),
    ("INT64", "9223372036854775807", i8(2**63 - 1)),
    ("INT64 INTEGER(64,true)", "-9223372036854775808", i8(-(2**63))),
    ("INT32 INTEGER(8,true)", "-128", i4(-128)),
    ("INT32 INTEGER(16,false)", "65535", b"\xff\xff\0\0"),
    ("INT32 INTEGER(16,false)", "70000", i4(70_000)),
    ("INT32 INTEGER(32,false)", "4294967295", b"\xff\xff\xff\xff"),
    ("INT64 INTEGER(64,false)", "18446744073709551615", b"\xff" * 8),
    # Floating point numbers.
    ("FLOAT", "1.5", b"\0\0\xc0\x3f"),
    ("FLOAT", "0.1", b"\xcd\xcc\xcc\x3d"),
    ("FLOAT", "-1e-3", b"\x6f\x12\x83\xba"),
    ("FLOAT", "3", b"\0\0\x40\x40"),
    ("DOUBLE", "0.1", b"\x9a\x99\x99\x99\x99\x99\xb9\x3f"),
    ("DOUBLE", "1E5", b"\0\0\0\0\0\x6a\xf8\x40"),
    ("DOUBLE", "inf", b"\0\0\0\0\0\0\xf0\x7f"),
    ("DOUBLE", "-Infinity", b"\0\0\0\0\0\0\xf0\xff"),
    ("FIXED_LEN_BYTE_ARRAY(2) FLOAT16", "1.5", b"\0\x3e"),
    ("FIXED_LEN_BYTE_ARRAY(2) FLOAT16", "0.1", b"\x66\x2e"),
    # Decimals.
    ("INT32 DECIMAL(9,2)", "12.34", i4(1234)),
    ("INT32 DECIMAL(9,2)", "12", i4(1200)),
    ("INT32 DECIMAL(9,2)", "-.5", i4(-50)),
    ("INT32 DECIMAL(9,2)", "1e3", i4(100_000)),
    ("INT64 DECIMAL(18,3)", "-999999999999999.999", i8(-(10**18) + 1)),
    ("FIXED_LEN_BYTE_ARRAY(4) DECIMAL(9,2)", "-12.34", big(-1234, 4)),
    ("FIXED_LEN_BYTE_ARRAY(16) DECIMAL(38,0)", "9" * 38, big(10**38 - 1, 16)),
    # Dates.
    ("INT32 DATE", "2024-01-31", i4(DAYS)),
    ("INT32 DATE", "1969-12-31", i4(-1)),
    ("INT32 DATE", "0001-01-01", i4(-719_162)),
    ("INT32 DATE", "9999-12-31", i4(2_932_896)),
    # Times.
    ("INT32 TIME(MILLIS,true)", "10:00:00.123", i4(36_000_123)),
    ("INT32 TIME(MILLIS,false)", "10:00", i4(36_000_000)),
    ("INT32 TIME(MILLIS,false)", "10:00:00.1", i4(36_000_100)),
    ("INT32 TIME(MILLIS,true)", "10:00:00.123000000", i4(36_000_123)),
    ("INT64 TIME(MICROS,true)", "23:59:59.999999", i8(DAY_MICROS - 1)),
    ("INT64 TIME(NANOS,false)", "00:00:00.000000001", i8(1)),
    ("INT64 TIME(NANOS,true)", "23:59:59.999999999", i8(DAY_MICROS * 1000 - 1)),
    # Timestamps, by unit and zone.
    ("INT64 TIMESTAMP(MILLIS,true)", "2024-01-31T10:00:00Z", i8(TEN * 10**3)),
    ("INT64 TIMESTAMP(MICROS,true)", "2024-01-31T10:00:00Z", i8(TEN * 10**6)),
    ("INT64 TIMESTAMP(NANOS,true)", "2024-01-31T10:00:00Z", i8(TEN * 10**9)),
    ("INT64 TIMESTAMP(MICROS,true)", "2024-01-31T10:00:00", i8(TEN * 10**6)),
    ("INT64 TIMESTAMP(MICROS,true)", "2024-01-31 10:00", i8(TEN * 10**6)),
    ("INT64 TIMESTAMP(MICROS,true)", "2024-01-31", i8(DAYS * DAY_MICROS)),
    ("INT64 TIMESTAMP(MICROS,true)", "2024-01-31T12:00:00+02:00", i8(TEN * 10**6)),
    ("INT64 TIMESTAMP(MICROS,true)", "2024-01-31T15:30+0530", i8(TEN * 10**6)),
    ("INT64 TIMESTAMP(MICROS,true)", "2024-01-30T23:00:00-11:00", i8(TEN * 10**6)),
    (
        "INT64 TIMESTAMP(MICROS,true)",
        "2024-01-31T10:00:00.5-00:30",
        i8(TEN * 10**6 + 1_800_500_000),
    ),
    ("INT64 TIMESTAMP(MICROS,false)", "2024-01-31T10:00:00", i8(TEN * 10**6)),
    ("INT64 TIMESTAMP(NANOS,true)", "2024-01-31T10:00:00.000000007Z", i8(TEN * 10**9 + 7)),
    ("INT64 TIMESTAMP(NANOS,false)", "1969-12-31T23:59:59.999999999", i8(-1)),
    ("INT64 TIMESTAMP(MILLIS,true)", "1969-12-31T23:59:59.999Z", i8(-1)),
    ("INT64 TIMESTAMP(MILLIS,true)", "1970-01-01T00:00:00+01:00", i8(-3_600_000)),
    ("INT64 TIMESTAMP(MICROS,true)", "0001-01-01T00:00:00Z", i8(-719_162 * DAY_MICROS)),
    ("INT64 TIMESTAMP(MICROS,true)", "9999-12-31T23:59:59.999999Z", i8(2_932_897 * DAY_MICROS - 1)),
    # INT96.
    ("INT96", "2000-01-01T12:00:00Z", i12(DAY_MICROS * 500, 2_451_545)),
    ("INT96", "2000-01-01T12:00:00", i12(DAY_MICROS * 500, 2_451_545)),
    ("INT96", "2000-01-01T01:00:00+02:00", i12(23 * 3600 * 10**9, 2_451_544)),
    ("INT96", "1969-12-31T23:59:59.999999999Z", i12(DAY_MICROS * 1000 - 1, 2_440_587)),
    ("INT96", "2024-01-31", i12(0, 2_440_588 + DAYS)),
    # UUIDs.
    ("FIXED_LEN_BYTE_ARRAY(16) UUID", str(SOME_UUID), SOME_UUID.bytes),
    ("FIXED_LEN_BYTE_ARRAY(16) UUID", str(SOME_UUID).upper(), SOME_UUID.bytes),
    # Text, verbatim.
    ("BYTE_ARRAY STRING", "plain text", b"plain text"),
    ("BYTE_ARRAY STRING", "", b""),
    ("BYTE_ARRAY STRING", "naïve 🙂", "naïve 🙂".encode()),
    ("BYTE_ARRAY STRING", " spaces ", b" spaces "),
    ("BYTE_ARRAY STRING", "0x41", b"0x41"),
    ("BYTE_ARRAY STRING", "123", b"123"),
    ("BYTE_ARRAY ENUM", "RED", b"RED"),
    ("BYTE_ARRAY JSON", '{"a": 1}', b'{"a": 1}'),
    ("BYTE_ARRAY JSON", '["a"]', b'["a"]'),
    ("BYTE_ARRAY STRING", '"', b'"'),
    ("BYTE_ARRAY STRING", "\"mixed'", b"\"mixed'"),
    ("BYTE_ARRAY STRING", 'a "word" inside', b'a "word" inside'),
    # These quotes are the value's: without them it is no JSON.
    ("BYTE_ARRAY JSON", '"text"', b'"text"'),
    # Bytes.
    ("BYTE_ARRAY STRING", "\\x41ff", b"A\xff"),
    ("BYTE_ARRAY STRING", "\\x4", b"\\x4"),
    ("BYTE_ARRAY JSON", "\\x0a", b"\n"),
    ("INT32 DATE", "0xffffff7f", b"\xff\xff\xff\x7f"),
    ("INT64 DECIMAL(12,2)", "0x0e00000000000000", b"\x0e" + bytes(7)),
    ("BYTE_ARRAY", "0x00ff", b"\0\xff"),
    ("BYTE_ARRAY", "0X00FF", b"\0\xff"),
    ("BYTE_ARRAY", "0x", b""),
    ("BYTE_ARRAY", "text", b"text"),
    ("BYTE_ARRAY BSON", "0x0500000000", b"\x05\0\0\0\0"),
    ("FIXED_LEN_BYTE_ARRAY(3)", "0x00ff61", b"\0\xffa"),
    ("FIXED_LEN_BYTE_ARRAY(3)", "abc", b"abc"),
    ("FIXED_LEN_BYTE_ARRAY(12) INTERVAL", "0x000102030405060708090a0b", bytes(range(12))),
]


@pytest.mark.parametrize(("spelling", "text", "stored"), READ, ids=row_id)
def test_stored_bytes(spelling: str, text: str, stored: bytes) -> None:
    assert encode_literal(leaf(spelling), text) == Encodings(int96_forms(spelling, stored))


@pytest.mark.parametrize("spelling", ZEROS)
@pytest.mark.parametrize("text", ["0", "0.0", "-0.0", "+0", "-0e5", "1e-400"])
def test_both_zeros(spelling: str, text: str) -> None:
    assert encode_literal(leaf(spelling), text) == Encodings(ZEROS[spelling])


@pytest.mark.parametrize("spelling", ZEROS)
@pytest.mark.parametrize("text", ["nan", "NaN", "-nan"])
def test_nan_is_unknown(spelling: str, text: str) -> None:
    assert encode_literal(leaf(spelling), text) == Encodings((), "NaN has many encodings")


@pytest.mark.parametrize("text", ["true", "false"])
def test_boolean_is_unknown(text: str) -> None:
    unknown = Encodings((), "BOOLEAN has no Bloom filter")
    assert encode_literal(leaf("BOOLEAN"), text) == unknown


@pytest.mark.parametrize("text", ["12.34", "-0.01", "0", "9999999.99"])
def test_byte_array_decimals_have_every_plausible_length(text: str) -> None:
    column = leaf("BYTE_ARRAY DECIMAL(9,2)")
    unscaled = int(Decimal(text) * 100)
    # Zero also has no bytes at all.
    fewest = min(n for n in range(17) if -(2 ** (8 * n)) <= 2 * unscaled < 2 ** (8 * n))
    assert encode_literal(column, text) == Encodings(
        tuple(big(unscaled, length) for length in range(fewest, 17))
    )


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_integer_is_read_back(number: int) -> None:
    assert encode_literal(leaf("INT64"), str(number)) == Encodings((i8(number),))


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_every_text_can_be_written(text: str) -> None:
    column = leaf("BYTE_ARRAY STRING")
    assert encode_literal(column, f'"{text}"') == Encodings((text.encode(), f'"{text}"'.encode()))
    assert encode_literal(column, text, "string") == Encodings((text.encode(),))


@given(st.binary(max_size=20))
def test_every_byte_string_can_be_written(stored: bytes) -> None:
    assert encode_literal(leaf("BYTE_ARRAY"), f"0x{stored.hex()}") == Encodings((stored,))
    assert encode_literal(leaf("BYTE_ARRAY STRING"), f"0x{stored.hex()}", "bytes") == Encodings(
        (stored,)
    )


@given(st.datetimes(), st.sampled_from(["MICROS", "NANOS"]))
def test_every_timestamp_is_read_as_what_it_is(value: object, unit: str) -> None:
    column = leaf(f"INT64 TIMESTAMP({unit},false)")
    try:
        expected = encode(column, value)
    except ValueTypeError:
        with pytest.raises(ValueTypeError):
            encode_literal(column, value.isoformat())
    else:
        assert encode_literal(column, value.isoformat()) == expected
        assert encode_literal(column, value.isoformat(" ")) == expected


QUOTED: list[tuple[str, str, tuple[bytes, ...]]] = [
    ("BYTE_ARRAY STRING", '"quoted text"', (b"quoted text", b'"quoted text"')),
    ("BYTE_ARRAY STRING", "'quoted text'", (b"quoted text", b"'quoted text'")),
    ("BYTE_ARRAY ENUM", "'RED'", (b"RED", b"'RED'")),
    ("BYTE_ARRAY STRING", '""', (b"", b'""')),
    ("BYTE_ARRAY STRING", "''", (b"", b"''")),
    ("BYTE_ARRAY STRING", '""twice""', (b'"twice"', b'""twice""')),
    ("BYTE_ARRAY STRING", '"\\x41"', (b"\\x41", b'"\\x41"')),
    ("BYTE_ARRAY", '"0x41"', (b"0x41", b'"0x41"')),
    # One of them has the length of the column's values.
    ("FIXED_LEN_BYTE_ARRAY(3)", "'abc'", (b"abc",)),
    ("FIXED_LEN_BYTE_ARRAY(5)", "'abc'", (b"'abc'",)),
]


@pytest.mark.parametrize(("spelling", "text", "expected"), QUOTED)
def test_quotes_may_be_those_of_a_literal_or_of_the_value(spelling, text, expected) -> None:
    """SQL has them around texts, and stored texts can have them."""
    assert encode_literal(leaf(spelling), text) == Encodings(expected)


def test_quotes_do_not_hide_that_neither_length_fits() -> None:
    with pytest.raises(
        ValueTypeError, match=r"^abc: cannot be a value of .*: expected 4 bytes, found 3$"
    ):
        encode_literal(leaf("FIXED_LEN_BYTE_ARRAY(4)"), "'abc'")


# --- read as another type -------------------------------------------------------------------------


def test_the_types() -> None:
    assert TYPES == (
        "bytes",
        "date",
        "decimal",
        "float",
        "int",
        "string",
        "time",
        "timestamp",
        "uuid",
    )


READ_AS: list[tuple[str, str, str, bytes]] = [
    # The stored bytes, whatever they mean.
    ("INT32", "0x01020304", "bytes", bytes([1, 2, 3, 4])),
    ("INT64 TIMESTAMP(MICROS,true)", "0x0102030405060708", "bytes", bytes(range(1, 9))),
    ("INT96", "0x000102030405060708090a0b", "bytes", bytes(range(12))),
    ("FLOAT", "0x00000080", "bytes", b"\0\0\0\x80"),
    ("DOUBLE", "0x000000000000f87f", "bytes", b"\0\0\0\0\0\0\xf8\x7f"),
    ("BYTE_ARRAY STRING", "0x41", "bytes", b"A"),
    ("BYTE_ARRAY DECIMAL(9,2)", "0x04d2", "bytes", b"\x04\xd2"),
    ("FIXED_LEN_BYTE_ARRAY(4) DECIMAL(9,2)", "0x000004d2", "bytes", b"\0\0\x04\xd2"),
    ("FIXED_LEN_BYTE_ARRAY(2) FLOAT16", "0x003c", "bytes", b"\0\x3c"),
    ("FIXED_LEN_BYTE_ARRAY(16) UUID", f"0x{SOME_UUID.hex}", "bytes", SOME_UUID.bytes),
    # The stored number, whatever it means.
    ("INT32", "-5", "int", i4(-5)),
    ("INT32 DATE", "19753", "int", i4(DAYS)),
    ("INT32 TIME(MILLIS,true)", "36000123", "int", i4(36_000_123)),
    ("INT64 TIMESTAMP(MICROS,true)", "-1", "int", i8(-1)),
    ("INT32 DECIMAL(9,2)", "1234", "int", i4(1234)),
    ("INT64 DECIMAL(18,3)", "-1", "int", i8(-1)),
    ("FIXED_LEN_BYTE_ARRAY(4) DECIMAL(9,2)", "1234", "int", big(1234, 4)),
    ("INT32 INTEGER(32,false)", "4294967295", "int", b"\xff\xff\xff\xff"),
    ("DOUBLE", "2", "int", b"\0\0\0\0\0\0\0\x40"),
    # Text, quotes and all.
    ("BYTE_ARRAY", "0x41", "string", b"0x41"),
    ("BYTE_ARRAY STRING", '"quoted"', "string", b'"quoted"'),
    ("BYTE_ARRAY DECIMAL(9,2)", "ab", "string", b"ab"),
    ("FIXED_LEN_BYTE_ARRAY(3)", "0xa", "string", b"0xa"),
    ("FIXED_LEN_BYTE_ARRAY(16) UUID", "0123456789abcdef", "string", b"0123456789abcdef"),
    # The column's own type is the same as none.
    ("INT32 DATE", "2024-01-31", "date", i4(DAYS)),
    ("INT64 TIMESTAMP(MICROS,true)", "2024-01-31", "date", i8(DAYS * DAY_MICROS)),
    ("INT64 TIMESTAMP(MICROS,true)", "2024-01-31T10:00Z", "timestamp", i8(TEN * 10**6)),
    ("INT96", "2000-01-01T12:00", "timestamp", i12(DAY_MICROS * 500, 2_451_545)),
    ("INT64 TIME(MICROS,true)", "10:00", "time", i8(36_000_000_000)),
    ("INT32 DECIMAL(9,2)", "12.34", "decimal", i4(1234)),
    ("DOUBLE", "1.5", "decimal", b"\0\0\0\0\0\0\xf8\x3f"),
    ("FLOAT", "1.5", "float", b"\0\0\xc0\x3f"),
    ("FIXED_LEN_BYTE_ARRAY(2) FLOAT16", "1.5", "float", b"\0\x3e"),
    ("FIXED_LEN_BYTE_ARRAY(16) UUID", str(SOME_UUID), "uuid", SOME_UUID.bytes),
    ("FIXED_LEN_BYTE_ARRAY(16)", str(SOME_UUID), "uuid", SOME_UUID.bytes),
    ("BYTE_ARRAY", str(SOME_UUID), "uuid", SOME_UUID.bytes),
]


@pytest.mark.parametrize(("spelling", "text", "read_as", "stored"), READ_AS, ids=row_id)
def test_read_as(spelling: str, text: str, read_as: str, stored: bytes) -> None:
    plain = (stored,) if read_as == "bytes" else int96_forms(spelling, stored)
    assert encode_literal(leaf(spelling), text, read_as) == Encodings(plain)


def test_every_type_is_tried() -> None:
    assert {read_as for _, _, read_as, _ in READ_AS} == set(TYPES)


# --- refusals -------------------------------------------------------------------------------------

INT32_RANGE = "-2147483648 to 2147483647"
INT64_RANGE = "-9223372036854775808 to 9223372036854775807"
A_TIMESTAMP = "a timestamp such as 2024-01-31T10:00:00Z"
A_TIME = "a time such as 10:00:00.123"
A_DATE = "a date such as 2024-01-31"
A_DECIMAL = "a decimal such as 12.34"

# (column, literal, what is expected instead)
DATES = "; .date() makes a date of it, .dt.date of those of a pandas Series"
REFUSED: list[tuple[str, str, str]] = [
    *(
        ("INT32", text, "an integer")
        for text in ("", ".0", "1.", "1.01", "1.0e3", "abc", " 1", "1 ", "0x10", "1_000")
    ),
    *(("INT32", text, "an integer") for text in ("--1", "1e3", "true", "12\n")),
    ("INT64 INTEGER(64,false)", "1.5", "an integer"),
    ("INT64", "9007199254740992.0", "an integer, as floats from 2**53 on may have been rounded"),
    ("INT64", "-9007199254740992.00", "an integer, as floats from 2**53 on may have been rounded"),
    ("INT32 DATE", "1.0", "a date such as 2024-01-31"),
    ("INT32 INTEGER(8,false)", "-1", "0 or more"),
    *(("FLOAT", text, "a number") for text in ("", "abc", "1,5", "0x10", "1.5f")),
    ("DOUBLE", "one", "a number"),
    ("FIXED_LEN_BYTE_ARRAY(2) FLOAT16", "x", "a number"),
    ("FLOAT", "1e+39", "a number that fits 32 bits"),
    ("FIXED_LEN_BYTE_ARRAY(2) FLOAT16", "70000.0", "a number that fits 16 bits"),
    *(("INT32 DECIMAL(9,2)", text, A_DECIMAL) for text in ("", "abc", "1,5", "12.34 EUR")),
    ("INT32 DECIMAL(9,2)", "12345678.00", "at most 9 digits"),
    ("INT32 DECIMAL(9,2)", "Infinity", "a finite decimal"),
    ("INT32 DECIMAL(9,2)", "NaN", "a finite decimal"),
    ("INT64 DECIMAL(9,2)", "0x04d2", "8 bytes, found 2"),
    ("BYTE_ARRAY DECIMAL(9,2)", "\\x04d2", A_DECIMAL),
    *(("INT32 DATE", text, A_DATE) for text in ("", "2024-02-30", "2024-13-01", "31.01.2024")),
    *(("INT32 DATE", text, A_DATE) for text in ("19753", "2024-01-31T10:00", "10000-01-01")),
    *(("INT64 TIME(MICROS,true)", text, A_TIME) for text in ("", "10", "24:00:00", "10:60:00")),
    *(("INT64 TIME(MICROS,true)", text, A_TIME) for text in ("10:00:60", "1:00", "10:00:00.")),
    ("INT64 TIME(MICROS,true)", "10:00:00.0000000001", A_TIME),
    ("INT64 TIME(MICROS,true)", "2024-01-31T10:00:00", A_TIME),
    ("INT64 TIME(MICROS,true)", "10:00:00+02:00", "a time without a zone"),
    ("INT64 TIME(MICROS,true)", "10:00:00.0000001", "whole micros"),
    ("INT32 TIME(MILLIS,false)", "10:00:00.1234", "whole millis"),
    *(("INT64 TIMESTAMP(MICROS,true)", text, A_TIMESTAMP) for text in ("", "now", "1706695200")),
    *(
        ("INT64 TIMESTAMP(MICROS,true)", text, A_TIMESTAMP)
        for text in ("2024-01-31T", "2024-01-31T10", "2024-01-31T25:00", "2024-01-31T10:00 UTC")
    ),
    *(
        ("INT64 TIMESTAMP(MICROS,true)", text, A_TIMESTAMP)
        for text in ("2024-02-30T10:00", "0000-01-01T00:00", "2024-01-31T10:00:00.0000000001")
    ),
    ("INT64 TIMESTAMP(MILLIS,true)", "2024-01-31T10:00:00.0001Z", "whole millis"),
    ("INT64 TIMESTAMP(MICROS,false)", "1969-12-31T23:59:59.999999999", "whole micros"),
    ("INT64 TIMESTAMP(NANOS,true)", "2263-01-01", INT64_RANGE),
    ("INT64 TIMESTAMP(NANOS,true)", "1677-01-01", INT64_RANGE),
    *(
        ("INT64 TIMESTAMP(MICROS,false)", text, "a local timestamp, without a zone")
        for text in ("2024-01-31T10:00:00Z", "2024-01-31T10:00:00+02:00", "2024-01-31T10:00-0000")
    ),
    ("INT96", "yesterday", A_TIMESTAMP),
    *(
        ("FIXED_LEN_BYTE_ARRAY(16) UUID", text, "a UUID")
        for text in ("", "abc", "0" * 31, "g" * 32)
    ),
    ("FIXED_LEN_BYTE_ARRAY(3)", "0x00ff", "3 bytes, found 2"),
    ("FIXED_LEN_BYTE_ARRAY(3)", "0x", "3 bytes, found 0"),
    ("BOOLEAN", "yes", "true or false, of which no filter tells"),
    ("BOOLEAN", "1", "true or false, of which no filter tells"),
    ("BOOLEAN", "", "true or false, of which no filter tells"),
]


@pytest.mark.parametrize(("spelling", "text", "expected"), REFUSED, ids=row_id)
def test_a_literal_that_cannot_be_a_value(spelling: str, text: str, expected: str) -> None:
    with pytest.raises(ValueTypeError) as refused:
        encode_literal(leaf(spelling), text)
    assert (
        str(refused.value)
        == f"{text or 'an empty text'}: cannot be a value of {spelling}: expected {expected}"
    )


@pytest.mark.parametrize(
    ("spelling", "text", "shown", "expected"),
    [
        ("FIXED_LEN_BYTE_ARRAY(3)", "text", "text", "3 bytes, found 4"),
        ("FIXED_LEN_BYTE_ARRAY(3)", '""', "an empty text", "3 bytes, found 0"),
    ],
)
def test_text_of_another_length(spelling: str, text: str, shown: str, expected: str) -> None:
    with pytest.raises(ValueTypeError) as refused:
        encode_literal(leaf(spelling), text)
    assert str(refused.value) == f"{shown}: cannot be a value of {spelling}: expected {expected}"


def test_text_for_an_interval() -> None:
    with pytest.raises(ValueTypeError) as refused:
        encode_literal(leaf("FIXED_LEN_BYTE_ARRAY(12) INTERVAL"), "1 day")
    # No text will do, so none is asked for.
    assert "expected text" not in str(refused.value)


@pytest.mark.parametrize("text", ["0x0", "0xgg", "0x00f", "0xé0"])
@pytest.mark.parametrize("spelling", ["BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY(1)", "BYTE_ARRAY BSON"])
def test_no_pairs_of_hex_digits(spelling: str, text: str) -> None:
    with pytest.raises(ValueTypeError) as refused:
        encode_literal(leaf(spelling), text)
    assert str(refused.value) == f"{text}: not bytes: expected 0x and pairs of hex digits"


@pytest.mark.parametrize("text", ["cafe", "00"])
def test_stored_bytes_begin_with_0x(text: str) -> None:
    """Without, `-v cafe` would find another row with `--type bytes` than without it."""
    with pytest.raises(ValueTypeError) as refused:
        encode_literal(leaf("BYTE_ARRAY"), text, "bytes")
    assert str(refused.value) == f"{text}: not bytes: expected 0x and pairs of hex digits"


# (column, literal, read as, how the message shows it, what is expected instead)
REFUSED_AS: list[tuple[str, str, str, str, str]] = [
    ("INT32", "0x0102", "bytes", "0x0102", "4 bytes, found 2"),
    ("INT96", "0x", "bytes", "0x", "12 bytes, found 0"),
    ("FIXED_LEN_BYTE_ARRAY(3)", "0x01020304", "bytes", "0x01020304", "3 bytes, found 4"),
    ("INT32 INTEGER(8,false)", "-1", "int", "-1", "0 or more"),
    ("INT32", "12.5", "int", "12.5", "an integer"),
    ("INT32", "12.0", "int", "12.0", "an integer"),
    ("BYTE_ARRAY STRING", "12", "int", "12", "text or bytes"),
    ("INT96", "12", "int", "12", "a timestamp or 12 bytes"),
    ("INT32", "12", "string", "12", "an integer"),
    ("DOUBLE", "12", "string", "12", "a number"),
    ("INT32", "2024-01-31", "date", "2024-01-31", "an integer"),
    ("BYTE_ARRAY STRING", "2024-01-31", "date", "2024-01-31", "text or bytes"),
    ("INT32 DATE", "2024-01-31T10:00", "timestamp", "2024-01-31T10:00", "a date"),
    ("INT64", "2024-01-31T10:00", "timestamp", "2024-01-31T10:00", "an integer"),
    ("INT32 DATE", "10:00", "time", "10:00", "a date"),
    ("INT64", "10:00", "time", "10:00", "an integer"),
    ("INT32", "1.5", "float", "1.5", "an integer"),
    ("INT32 DECIMAL(9,2)", "1.5", "float", "1.5", "a decimal, not a float"),
    ("INT64", "1.5", "decimal", "1.5", "an integer"),
    ("FIXED_LEN_BYTE_ARRAY(4)", str(SOME_UUID), "uuid", f"0x{SOME_UUID.hex}", "4 bytes, found 16"),
    ("INT64", str(SOME_UUID), "uuid", str(SOME_UUID), "an integer"),
]


@pytest.mark.parametrize(
    ("spelling", "text", "read_as", "shown", "expected"), REFUSED_AS, ids=row_id
)
def test_a_literal_that_cannot_be_a_value_of_this_type(
    spelling: str, text: str, read_as: str, shown: str, expected: str
) -> None:
    with pytest.raises(ValueTypeError) as refused:
        encode_literal(leaf(spelling), text, read_as)
    assert str(refused.value) == f"{shown}: cannot be a value of {spelling}: expected {expected}"


@pytest.mark.parametrize(
    ("spelling", "text", "read_as", "expected"),
    [
        ("INT32 DATE", "31.1.2024", "date", A_DATE),
        ("INT64", "5", "date", A_DATE),
        ("DOUBLE", "x", "decimal", A_DECIMAL),
        ("BYTE_ARRAY STRING", "no UUID", "uuid", "a UUID"),
    ],
)
def test_a_literal_that_is_not_of_the_type_that_was_named(
    spelling: str, text: str, read_as: str, expected: str
) -> None:
    """Which has nothing to do with the column's."""
    with pytest.raises(ValueTypeError) as refused:
        encode_literal(leaf(spelling), text, read_as)
    assert str(refused.value) == f"{text}: not of type {read_as}: expected {expected}"


@pytest.mark.parametrize(
    ("spelling", "text", "read_as"),
    [
        # A time of day is no point in time, nor the other way round.
        ("INT64 TIMESTAMP(MICROS,true)", "10:00", "time"),
        ("INT96", "10:00", "time"),
        ("INT64 TIME(MICROS,true)", "2024-01-31T10:00", "timestamp"),
        ("INT64 TIME(NANOS,true)", "1970-01-01T10:00", "timestamp"),
        # Nobody is four days ahead, and no hour has 99 minutes.
        ("INT64 TIMESTAMP(MICROS,true)", "2024-01-31T10:00:00+99:00", None),
        ("INT64 TIMESTAMP(MICROS,true)", "2024-01-31T10:00:00+00:99", None),
        ("INT96", "2024-01-31T10:00:00-25:00", None),
        # A local time is in no zone, as a local timestamp is.
        ("INT64 TIME(MICROS,false)", "10:00:00Z", None),
        # Not infinity.
        ("DOUBLE", "1e400", None),
        ("FLOAT", "1e400", None),
        ("DOUBLE", "1e400", "decimal"),
        ("BYTE_ARRAY DECIMAL(9,2)", "1e999999", None),
        # One 0x is enough.
        ("BYTE_ARRAY", "0x0X41", None),
        ("BYTE_ARRAY", "0x0X41", "bytes"),
        # More digits than Python reads or writes.
        ("INT64", "1" * 5000, None),
        ("BYTE_ARRAY DECIMAL(9,2)", "1" * 5000, None),
        ("INT64", "1" * 5000, "int"),
        # A byte of the command line that is no UTF-8.
        ("BYTE_ARRAY STRING", "\udcff", None),
        ("BYTE_ARRAY STRING", "\udcff", "string"),
        ("BYTE_ARRAY", "\udcff", None),
    ],
    ids=row_id,
)
def test_what_else_is_refused(spelling: str, text: str, read_as: str | None) -> None:
    with pytest.raises(ValueTypeError):
        encode_literal(leaf(spelling), text, read_as)


def test_a_signaling_nan_is_a_nan() -> None:
    unknown = Encodings((), "NaN has many encodings")
    assert encode_literal(leaf("DOUBLE"), "sNaN", "decimal") == unknown


@pytest.mark.parametrize("text", ["1_0", " 1", "1 ", "1_0.5"])
@pytest.mark.parametrize("spelling", ["INT32", "FLOAT", "DOUBLE", "INT64 DECIMAL(9,2)"])
def test_numbers_as_only_python_writes_them(spelling: str, text: str) -> None:
    with pytest.raises(ValueTypeError, match="cannot be a value of"):
        encode_literal(leaf(spelling), text)


@pytest.mark.parametrize(("text", "shown"), [("42", "'42'"), ("", "an empty text")])
def test_text_where_a_number_is_expected_is_shown_as_text(text: str, shown: str) -> None:
    with pytest.raises(ValueTypeError) as refused:
        encode_given(leaf("INT64"), text)
    assert str(refused.value) == (
        f"{shown}: cannot be a value of INT64: expected an integer, or pb.literal(…) to read it from text"
    )


GAPS = "; .dropna() leaves out the gaps of a pandas Series"
REFUSED: list[tuple[str, object, str]] = [
    ("INT64", np.float32("nan"), "nan: cannot be a value of INT64: expected an integer" + GAPS),
    ("INT64", float("nan"), "nan: cannot be a value of INT64: expected an integer" + GAPS),
    ("INT64", np.float64(7.5), "7.5: cannot be a value of INT64: expected an integer"),
    ("INT64", float("inf"), "inf: cannot be a value of INT64: expected an integer"),
    ("INT64", 2.0**53, "9007199254740992.0: cannot be a value of INT64: expected an integer, as floats from 2**53 on may have been rounded"),
    ("INT64", -(2.0**60), "-1.152921504606847e+18: cannot be a value of INT64: expected an integer, as floats from 2**53 on may have been rounded"),
    ("INT64", np.float32(2**24), "16777216.0: cannot be a value of INT64: expected an integer, as such floats from 2**24 on may have been rounded"),
    ("INT32", np.float16(-2048), "-2048.0: cannot be a value of INT32: expected an integer, as such floats from 2**11 on may have been rounded"),
    ("INT64", pa.scalar(2.0**24, pa.float32()), "16777216.0: cannot be a value of INT64: expected an integer, as such floats from 2**24 on may have been rounded"),
    ("INT64", Decimal("7.5"), "7.5: cannot be a value of INT64: expected an integer"),
    ("INT64", Decimal("sNaN"), "sNaN: cannot be a value of INT64: expected an integer"),
    ("INT64", Decimal("1E+999999"), "1E+999999: cannot be a value of INT64: expected an integer that fits 64 bits"),
    ("INT64 TIMESTAMP(MICROS,true)", 7.0, "7.0: cannot be a value of INT64 TIMESTAMP(MICROS,true): expected a timestamp"),
    ("INT32 DATE", np.float64(7), "7.0: cannot be a value of INT32 DATE: expected a date"),
    ("INT32 DATE", datetime(2024, 1, 3), "2024-01-03 00:00:00: cannot be a value of INT32 DATE: expected a date" + DATES),
    ("INT32 DATE", np.datetime64("2024-01-03", "s"), "2024-01-03T00:00:00: cannot be a value of INT32 DATE: expected a date" + DATES),
    ("INT32 DATE", time(1), "01:00:00: cannot be a value of INT32 DATE: expected a date"),
    ("INT32 DECIMAL(9,2)", 1.25, "1.25: cannot be a value of INT32 DECIMAL(9,2): expected a decimal, not a float"),
    ("FIXED_LEN_BYTE_ARRAY(2)", "äö", "äö: cannot be a value of FIXED_LEN_BYTE_ARRAY(2): expected 2 bytes, found 4"),
    ("FIXED_LEN_BYTE_ARRAY(4)", literal("DEADbeef"), "DEADbeef: cannot be a value of FIXED_LEN_BYTE_ARRAY(4): expected 4 bytes, found 8; if these are the bytes in hexadecimal, begin with 0x"),
    ("FIXED_LEN_BYTE_ARRAY(4)", literal("deadbe"), "deadbe: cannot be a value of FIXED_LEN_BYTE_ARRAY(4): expected 4 bytes, found 6"),
    ("FIXED_LEN_BYTE_ARRAY(4)", literal("deadbeef", "string"), "deadbeef: cannot be a value of FIXED_LEN_BYTE_ARRAY(4): expected 4 bytes, found 8"),
    ("FIXED_LEN_BYTE_ARRAY(4) DECIMAL(9,2)", literal("deadbeef"), "deadbeef: cannot be a value of FIXED_LEN_BYTE_ARRAY(4) DECIMAL(9,2): expected a decimal such as 12.34"),
    ("BYTE_ARRAY STRING", 7, "7: cannot be a value of BYTE_ARRAY STRING: expected text or bytes, or str(…) to make text of it"),
    ("BYTE_ARRAY STRING", 7.5, "7.5: cannot be a value of BYTE_ARRAY STRING: expected text or bytes"),
    ("BYTE_ARRAY STRING", True, "True: cannot be a value of BYTE_ARRAY STRING: expected text or bytes"),
    ("BYTE_ARRAY", 7, "7: cannot be a value of BYTE_ARRAY: expected text or bytes"),
    ("INT64", literal(" 42"), " 42: cannot be a value of INT64: expected an integer; leave out the blanks around it"),
    ("INT64", literal('"42"'), '"42": cannot be a value of INT64: expected an integer; leave out the quotes around it'),
    ("INT64", literal("'x'"), "'x': cannot be a value of INT64: expected an integer"),
    ("INT64", literal("42", "string"), "42: cannot be a value of INT64: expected an integer; without read_as, it is a value of the column"),
    ("BYTE_ARRAY STRING", literal("12", "int"), "12: cannot be a value of BYTE_ARRAY STRING: expected text or bytes; without read_as, it is a value of the column"),
    ("INT64", literal("x", "string"), "x: cannot be a value of INT64: expected an integer"),
    ("INT64", literal(" x"), " x: cannot be a value of INT64: expected an integer"),
    ("INT32 DATE", literal("2024-01-01,2024-01-02"), "2024-01-01,2024-01-02: cannot be a value of INT32 DATE: expected a date such as 2024-01-31; if these are several values, pass a list of literals"),
]  # fmt: skip


@pytest.mark.parametrize(("spelling", "value", "told"), REFUSED)
def test_what_would_be_a_value_is_hinted_at(spelling: str, value: object, told: str) -> None:
    with pytest.raises(ValueTypeError) as refused:
        encode_given(leaf(spelling), value)
    assert str(refused.value) == told


@pytest.mark.parametrize("copied", [copy.copy, lambda each: pickle.loads(pickle.dumps(each))])
def test_text_in_a_file_is_known_by_its_row_where_it_is_sent(copied: Callable[[str], str]) -> None:
    """As to the executors of Spark."""
    text = copied(TextInFile("seven", "ids.parquet", 3))
    assert (text, hash(text)) == ("seven", hash("seven"))
    with pytest.raises(ValueTypeError) as refused:
        encode_given(leaf("INT64"), text)
    assert str(refused.value) == (
        "ids.parquet: row 3: 'seven': cannot be a value of INT64: expected an integer, or pb.literal(…) to read it from text"
    )
