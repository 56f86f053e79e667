"""Every other form of a value's bytes is recognised on a file made that way."""

import binascii
import codecs
import random
import re
import struct
import uuid
from collections.abc import Callable
from datetime import date, datetime, timedelta
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from make import wrong_writers as wrong
from make.diagnosing import check, diagnosed, diagnosed_after, insert_only, why_not
from make.pages import byte_arrays
from make.wrong_writers import Column, Writer, make_column

from parquet_bloom.diagnosis.key_forms import key_forms
from parquet_bloom.diagnosis.rare_key_forms import rare_key_forms
from parquet_bloom.diagnosis.samples import StoredValue
from parquet_bloom.values.types import LeafType

# --- other bytes of a value -----------------------------------------------------------------------


def reverse(plain: bytes) -> bytes:
    return plain[::-1]


def recoded(read: str, write: str) -> Callable[[bytes], bytes]:
    return lambda plain: struct.pack(write, struct.unpack(read, plain)[0])


def recoded_text(encoding: str) -> Callable[[bytes], bytes]:
    return lambda plain: plain.decode().encode(encoding)


def resized(read: str, width: int, order: str = "little") -> Callable[[bytes], bytes]:
    """A number in another width, cut if it does not fit."""

    def form(plain: bytes) -> bytes:
        number = struct.unpack(read, plain)[0]
        return (number % 2 ** (8 * width)).to_bytes(width, order)

    return form


def scaled(read: str, numerator: int, denominator: int) -> Callable[[bytes], bytes]:
    return lambda plain: struct.pack("<q", struct.unpack(read, plain)[0] * numerator // denominator)


def spelled_out(read: str) -> Callable[[bytes], bytes]:
    return lambda plain: str(struct.unpack(read, plain)[0]).encode()


def big(width: int) -> Callable[[bytes], bytes]:
    """A decimal of big-endian bytes in another width."""
    return lambda plain: int.from_bytes(plain, "big", signed=True).to_bytes(
        width, "big", signed=True
    )


def fewest_bytes(number: int) -> bytes:
    for width in range(1, 40):
        if -(2 ** (8 * width - 1)) <= number < 2 ** (8 * width - 1):
            return number.to_bytes(width, "big", signed=True)
    raise AssertionError(number)


def fewest(order: str) -> Callable[[bytes], bytes]:
    return lambda plain: fewest_bytes(int.from_bytes(plain, order, signed=True))


def with_point(order: str, scale: int) -> Callable[[bytes], bytes]:
    def form(plain: bytes) -> bytes:
        number = int.from_bytes(plain, order, signed=True)
        digits = str(abs(number)).rjust(scale + 1, "0")
        sign = "-" if number < 0 else ""
        return f"{sign}{digits[:-scale]}.{digits[-scale:]}".encode()

    return form


def little_integer(width: int) -> Callable[[bytes], bytes]:
    return lambda plain: int.from_bytes(plain, "big", signed=True).to_bytes(
        width, "little", signed=True
    )


def int96_in(divisor: int) -> Callable[[bytes], bytes]:
    def form(plain: bytes) -> bytes:
        nanos, day = struct.unpack("<qi", plain)
        return struct.pack("<q", ((day - 2_440_588) * 86_400 * 10**9 + nanos) // divisor)

    return form


def value_as(code: str, order: str, scale: int) -> Callable[[bytes], bytes]:
    return lambda plain: struct.pack(
        code, float(Fraction(int.from_bytes(plain, order, signed=True), 10**scale))
    )


def micros(plain: bytes) -> datetime:
    return datetime(1970, 1, 1) + timedelta(microseconds=struct.unpack("<q", plain)[0])


def micros_of_int96(plain: bytes) -> datetime:
    nanos, day = struct.unpack("<qi", plain)
    return datetime(1970, 1, 1) + timedelta(day - 2_440_588, microseconds=nanos // 1000)


def date_as(pattern: str) -> Callable[[bytes], bytes]:
    def form(plain: bytes) -> bytes:
        return f"{date(1970, 1, 1) + timedelta(struct.unpack('<i', plain)[0]):{pattern}}".encode()

    return form


def later(code: str, step: int) -> Callable[[bytes], bytes]:
    return lambda plain: struct.pack(code, struct.unpack(code, plain)[0] + step)


def int96_later(step: int) -> Callable[[bytes], bytes]:
    def form(plain: bytes) -> bytes:
        nanos, day = struct.unpack("<qi", plain)
        days, nanos = divmod(nanos + step, 86_400 * 10**9)
        return struct.pack("<qi", nanos, day + days)

    return form


def extended(kept: int, width: int) -> Callable[[bytes], bytes]:
    """With zeros behind the bytes that a number takes, whatever its sign."""
    return lambda plain: plain[:kept].ljust(width, b"\0")


def after_mark(mark: bytes, encoding: str) -> Callable[[bytes], bytes]:
    return lambda plain: mark + plain.decode().encode(encoding)


def iso_date(plain: bytes) -> bytes:
    return (date(1970, 1, 1) + timedelta(struct.unpack("<i", plain)[0])).isoformat().encode()


def ascii_json(text: str) -> bytes:
    """In quotes, with umlauts escaped; the texts hold nothing else that JSON escapes."""
    return b'"' + text.replace("Ü", "\\u00dc").encode() + b'"'


def percent_encoded(plain: bytes) -> bytes:
    return plain.replace(b"@", b"%40").replace("ß".encode(), b"%C3%9F")


FORMS = [
    ("int32", "big-endian", recoded("<i", ">i"), "as big-endian bytes"),
    ("int32", "int64", recoded("<i", "<q"), "as an integer of 8 bytes"),
    ("int32_small", "int64", recoded("<i", "<q"), "as an integer of 8 bytes"),
    ("uint32", "uint64", recoded("<I", "<Q"), "taken as unsigned"),
    ("uint32", "int64", recoded("<i", "<q"), "as an integer of 8 bytes, taken as signed"),
    ("int32", "uint64", recoded("<I", "<Q"), "taken as unsigned"),
    ("int32", "int64-big-endian", recoded("<i", ">q"), "8 bytes, big-endian"),
    ("int32", "int128", resized("<i", 16), "16 bytes"),
    ("int32", "uint128", resized("<I", 16), "16 bytes, taken as unsigned"),
    ("int32", "int128-big-endian", resized("<i", 16, "big"), "16 bytes, big-endian"),
    ("int8", "int8", resized("<i", 1), "an integer of 1 byte"),
    ("int16", "int16", resized("<i", 2), "an integer of 2 bytes"),
    ("int16", "int16-big-endian", resized("<i", 2, "big"), "2 bytes, big-endian"),
    ("int32_small", "float", recoded("<i", "<f"), "as a float"),
    ("int32", "double", recoded("<i", "<d"), "as a double"),
    ("int32", "text", spelled_out("<i"), "as text"),
    ("uint32", "text", spelled_out("<I"), "as text"),
    ("uint32", "text", spelled_out("<i"), "as text, taken as signed"),
    ("int32", "text", spelled_out("<I"), "as text, taken as unsigned"),
    ("int16", "zero-extended", extended(2, 4), "of 16 bits, taken as unsigned, in 4 bytes"),
    ("int8", "zero-extended", extended(1, 8), "of 8 bits, taken as unsigned, in 8 bytes"),
    ("int64_of_32", "zero-extended", extended(4, 8), "of 32 bits, taken as unsigned, in 8"),
    ("int64", "big-endian", recoded("<q", ">q"), "as big-endian bytes"),
    ("int64_small", "int32", resized("<q", 4), "an integer of 4 bytes"),
    ("int64", "int32", resized("<q", 4), "an integer of 4 bytes"),
    ("int64_small", "int32-big-endian", resized("<q", 4, "big"), "4 bytes, big-endian"),
    ("int64", "int128", resized("<q", 16), "16 bytes"),
    ("int64", "double", recoded("<q", "<d"), "as a double"),
    ("int64", "text", spelled_out("<q"), "as text"),
    ("date", "other-unit", scaled("<i", 86_400_000_000, 1), "86,400,000,000 times as large"),
    ("date", "int64", recoded("<i", "<q"), "as an integer of 8 bytes"),
    ("timestamp", "other-unit", scaled("<q", 1000, 1), "in another unit: 1,000 times as large"),
    ("timestamp", "other-unit", scaled("<q", 1, 1000), "in another unit: divided by 1,000,"),
    ("timestamp", "other-unit", scaled("<q", 1, 10**6), "in another unit: divided by 1,000,000,"),
    ("int96", "int96-as-int64", int96_in(1), "in nanoseconds"),
    ("int96", "int96-as-int64", int96_in(1000), "in microseconds"),
    ("int96", "reversed-bytes", reverse, "in reverse order"),
    ("float", "double", recoded("<f", "<d"), "as a double"),
    ("float", "big-endian", recoded("<f", ">f"), "as big-endian bytes"),
    ("float", "text", lambda plain: str(np.frombuffer(plain, "<f4")[0]).encode(), "as text"),
    ("double", "float", recoded("<d", "<f"), "as a float"),
    ("double", "big-endian", recoded("<d", ">d"), "as big-endian bytes"),
    ("double", "text", spelled_out("<d"), "as text"),
    ("float16", "float", recoded("<e", "<f"), "as a float"),
    ("float16", "double", recoded("<e", "<d"), "as a double"),
    ("decimal_int32", "decimal-byte-order", reverse, "in big-endian order"),
    ("decimal_int32", "decimal-width", lambda plain: big(16)(plain[::-1]), "as 16 big-endian"),
    ("decimal_int32", "decimal-minimal", fewest("little"), "the fewest big-endian bytes"),
    ("decimal_int32", "decimal-integer", recoded("<i", "<q"), "integer of 8 bytes"),
    ("decimal_int32", "decimal-text", with_point("little", 2), "as text with a decimal point"),
    ("decimal_int32", "text", spelled_out("<i"), "as text"),
    ("decimal_int32", "decimal-double", value_as("<d", "little", 2), "as a double of its value"),
    ("decimal_int32", "decimal-float", value_as("<f", "little", 2), "as a float of its value"),
    ("decimal_int64", "decimal-double", value_as("<d", "little", 4), "as a double of its value"),
    ("decimal_fixed", "decimal-double", value_as("<d", "big", 5), "as a double of its value"),
    (
        "decimal_int32",
        "decimal-text",
        lambda plain: with_point("little", 2)(plain).rstrip(b"0").removesuffix(b"."),
        "without the zeros at its end",
    ),
    ("date", "iso-text", iso_date, "as text such as 2024-01-31"),
    ("timestamp", "iso-text", lambda plain: micros(plain).isoformat().encode(), "59.120000,"),
    ("timestamp", "iso-text", lambda plain: f"{micros(plain)}".encode(), "31 23:59:59.120000,"),
    (
        "timestamp",
        "iso-text",
        lambda plain: f"{micros(plain):%Y-%m-%dT%H:%M:%S.%f}".rstrip("0").encode() + b"Z",
        "as text such as 2024-01-31T23:59:59.12Z, without zeros at its end",
    ),
    (
        "int96",
        "iso-text",
        lambda plain: micros_of_int96(plain).isoformat().encode(),
        "as text such as 2024-01-31T23:59:59.120000, with 0 or 6 digits of a second",
    ),
    *(
        ("date", "date-text", date_as(pattern), f"as text such as {example}")
        for pattern, example in (
            ("%d.%m.%Y", "31.01.2024"),
            ("%m/%d/%Y", "01/31/2024"),
            ("%d/%m/%Y", "31/01/2024"),
            ("%Y/%m/%d", "2024/01/31"),
            ("%Y%m%d", "20240131"),
        )
    ),
    (
        "time",
        "iso-text",
        lambda plain: f"{micros(plain):%H:%M:%S.%f}".encode(),
        "as text such as 23:59:59.120000, with all digits of its unit",
    ),
    ("timestamp", "other-zone", later("<q", 3600 * 10**6), "each value 1 hour later, as in"),
    ("timestamp", "other-zone", later("<q", -19800 * 10**6), "each value 5:30 hours earlier, as"),
    ("int96", "other-zone", int96_later(-8 * 3600 * 10**9), "each value 8 hours earlier, as in"),
    ("decimal_int64", "decimal-byte-order", reverse, "in big-endian order"),
    ("decimal_int64", "decimal-width", lambda plain: big(16)(plain[::-1]), "as 16 big-endian"),
    ("decimal_int64", "double", recoded("<q", "<d"), "as a double"),
    ("decimal_fixed", "decimal-width", big(16), "as 16 big-endian bytes"),
    ("decimal_fixed", "decimal-minimal", fewest("big"), "the fewest big-endian bytes"),
    ("decimal_fixed", "decimal-byte-order", reverse, "in little-endian order"),
    ("decimal_fixed", "decimal-integer", little_integer(16), "integer of 16 bytes"),
    ("decimal_fixed", "decimal-text", with_point("big", 5), "as text with a decimal point"),
    ("decimal_fixed", "length-prefix", byte_arrays, "with its 4-byte length in front"),
    ("decimal_fixed_small", "decimal-integer", little_integer(8), "integer of 8 bytes"),
    ("uuid", "uuid-text", lambda plain: str(uuid.UUID(bytes=plain)).encode(), "with hyphens"),
    (
        "uuid",
        "uuid-text-upper-case",
        lambda plain: str(uuid.UUID(bytes=plain)).upper().encode(),
        "with hyphens in upper case",
    ),
    ("uuid", "hex", lambda plain: plain.hex().encode(), "as hexadecimal digits"),
    (
        "uuid",
        "uuid-hex-upper-case",
        lambda plain: plain.hex().upper().encode(),
        "hexadecimal digits in upper case",
    ),
    ("uuid", "uuid-guid", lambda plain: uuid.UUID(bytes=plain).bytes_le, "Microsoft GUID"),
    (
        "uuid",
        "uuid-halves-reversed",
        lambda plain: plain[:8][::-1] + plain[8:][::-1],
        "two little-endian integers of 8 bytes",
    ),
    ("uuid", "uuid-halves-swapped", lambda plain: plain[8:] + plain[:8], "in front of the first"),
    ("uuid", "reversed-bytes", reverse, "in reverse order"),
    ("fixed7", "reversed-bytes", reverse, "in reverse order"),
    ("fixed7", "length-prefix", byte_arrays, "with its 4-byte length in front"),
    ("fixed7", "length-prefix", lambda plain: struct.pack(">I", 7) + plain, "4 big-endian bytes"),
    ("fixed7", "truncated", lambda plain: plain[:6], "only by its first 6 bytes"),
    ("fixed7", "base64", lambda plain: binascii.b2a_base64(plain)[:-1], "as Base64"),
    ("uuid", "length-prefix", lambda plain: struct.pack("<q", 16) + plain, "8 little-endian bytes"),
    ("uuid", "truncated", lambda plain: plain[:8], "by its first 8 bytes only"),
    ("uuid", "base64", lambda plain: binascii.b2a_base64(plain)[:-1], "as Base64"),
    ("text", "length-prefix", byte_arrays, "with its 4-byte length in front"),
    ("text", "zero-terminated", lambda plain: plain + b"\0", "with a zero byte appended"),
    ("text", "lower-case", lambda plain: plain.decode().lower().encode(), "in lower case"),
    ("text", "upper-case", lambda plain: plain.decode().upper().encode(), "in upper case"),
    ("text", "without-trailing-spaces", lambda plain: plain.rstrip(), "without trailing spaces"),
    ("text", "utf-16", lambda plain: plain.decode().encode("utf-16-le"), "as UTF-16LE"),
    ("text", "utf-16", lambda plain: plain.decode().encode("utf-16-be"), "as UTF-16BE"),
    ("text", "utf-16", after_mark(codecs.BOM_UTF16_LE, "utf-16-le"), "UTF-16LE after a byte order"),
    ("text", "utf-16", after_mark(codecs.BOM_UTF16_BE, "utf-16-be"), "UTF-16BE after a byte order"),
    ("text", "reversed-bytes", reverse, "in reverse order"),
    ("long_text", "truncated", lambda plain: plain[:64], "by its first 64 bytes only"),
    ("long_text", "truncated", lambda plain: plain[:16], "by its first 16 bytes only"),
    ("binary", "hex", lambda plain: plain.hex().encode(), "as hexadecimal digits"),
    ("binary", "hex", lambda plain: plain.hex().upper().encode(), "digits in upper case"),
    ("fixed7", "hex", lambda plain: plain.hex().upper().encode(), "digits in upper case"),
    ("binary", "length-prefix", byte_arrays, "with its 4-byte length in front"),
    ("email", "quoted", lambda plain: b'"' + plain + b'"', "each value in double quotes (or as a"),
    ("text", "quoted", lambda plain: ascii_json(plain.decode()), "with other than ASCII as \\u"),
    ("text", "quoted", lambda plain: b'"' + plain + b'"', "each value in double quotes (or as a"),
    ("email", "quoted", lambda plain: b"'" + plain + b"'", "in single quotes"),
    ("email", "length-prefix", lambda plain: struct.pack(">q", len(plain)) + plain, "8 big-endian"),
    ("email", "length-prefix", lambda plain: bytes([len(plain)]) + plain, "in front, a varint"),
    ("email", "prefix", lambda plain: b"values=" + plain, "with `values=` in front"),
    ("email", "prefix", lambda plain: b"\x07" + plain, "with the byte 0x07 in front"),
    ("email", "case-folded", lambda plain: plain.replace("ß".encode(), b"ss"), "case folded"),
    ("email", "part", lambda plain: plain.split(b"@")[0], "only by what is before its first '@'"),
    ("email", "part", lambda plain: plain.split(b".", 1)[1], "only by what is after its first '.'"),
    ("email", "part", lambda plain: plain[-21:], "only by its last 21 bytes"),
    ("email", "part", lambda plain: plain[2:], "without its first 2 bytes"),
    ("email", "truncated", lambda plain: plain[:13], "only by its first 13 bytes"),
    ("email", "percent-encoded", percent_encoded, "percent-encoded, as in a URL"),
    ("email", "base64", lambda plain: binascii.b2a_base64(plain)[:-1], "as Base64"),
    ("email", "line", lambda plain: plain + b"\n", "followed by a line feed"),
    (
        "email",
        "twice-utf-8",
        lambda plain: plain.replace(b"\xc3\x9f", b"\xc3\x83\xc2\x9f"),
        "of UTF-8",
    ),
    ("email", "line", lambda plain: plain + b"\r\n", "by a carriage return and a line feed"),
    ("email", "trailing-space", lambda plain: plain + b" ", "followed by a space"),
    ("uuid_text", "without-hyphens", lambda plain: plain.replace(b"-", b""), "without its hyphens"),
    ("uuid_digits", "uuid-text", lambda plain: str(uuid.UUID(plain.decode())).encode(), "hyphens"),
    (
        "uuid_bytes",
        "uuid-text",
        lambda plain: str(uuid.UUID(bytes=plain)).encode(),
        "of the UUID that its 16 bytes are",
    ),
    ("uuid_text", "uuid-bytes", lambda plain: uuid.UUID(plain.decode()).bytes, "the UUID"),
]


@pytest.mark.every(6)
@pytest.mark.parametrize(("column", "name", "form", "clause"), FORMS)
def test_forms(tmp_path, column, name, form, clause):
    diagnosis = diagnosed_after(tmp_path / "x.parquet", make_column(column), Writer(form=form))
    check(diagnosis, name, clause)


@pytest.mark.parametrize(
    ("name", "form", "clause"),
    [
        ("decimal-width", big(16), "as 16 big-endian bytes"),
        ("decimal-minimal", fewest("big"), "the fewest big-endian bytes"),
        ("decimal-integer", little_integer(8), "integer of 8 bytes"),
        ("length-prefix", byte_arrays, "with its 4-byte length in front"),
    ],
)
def test_forms_of_byte_array_decimals(tmp_path, name, form, clause):
    path, plain = wrong.byte_array_decimals(tmp_path / "x.parquet")
    writer = Writer(form=form)
    wrong.overwrite(path, writer.bitset(plain, wrong.header(path).num_blocks))
    check(diagnosed(path), name, clause)


@pytest.mark.parametrize("code", ["<i", "<q"])
def test_dictionary_index(tmp_path, code):
    column = make_column("text")
    path = wrong.write(tmp_path / "x.parquet", column, use_dictionary=True)
    indices = [struct.pack(code, index) for index in range(len(column.plain))]
    wrong.overwrite(path, Writer().bitset(indices, wrong.header(path).num_blocks))
    check(diagnosed(path), "dictionary-index", "its index in the dictionary")


def test_an_index_that_is_a_stored_value_proves_nothing(tmp_path):
    """The numbers below 500 in any order: the index of each that is lost is another number."""
    numbers = random.Random(5).sample(range(500), 500)
    lost = set(numbers[100:112])
    assert not lost & set(range(100, 112))
    column = Column(pa.array(numbers, pa.int32()), [struct.pack("<i", n) for n in numbers], {})
    path = wrong.write(tmp_path / "x.parquet", column, use_dictionary=True, fpp=0.001)
    insert_only(path, [struct.pack("<i", n) for n in numbers if n not in lost])
    assert diagnosed(path) is None


def test_what_holds_of_some_values_is_not_said_of_all(tmp_path):
    """A writer that was mended while it wrote: every second value is hashed in upper case."""
    column = make_column("text")
    path = wrong.write(tmp_path / "file.parquet", column)
    upper = [plain.decode().upper().encode() for plain in column.plain]
    insert_only(path, [*upper[::2], *column.plain[1::2]])
    found = diagnosed(path)
    check(found, "upper-case")
    assert found.explanation == (
        "the writer hashed the missing values, but not the others, in upper case"
    )
    insert_only(path, upper)
    assert diagnosed(path).explanation == "the writer hashed each value in upper case"


def test_what_leaves_others_as_they_are_is_said_of_each(tmp_path):
    """Only negative numbers are others in this form."""
    found = diagnosed_after(tmp_path / "x.parquet", make_column("int16"), Writer(extended(2, 4)))
    assert found.explanation == (
        "the writer hashed each value as an integer of 16 bits, taken as unsigned, in 4 bytes"
    )


def texts(*parts: Callable[[int], str]) -> Column:
    """Of each twentieth number by the first part, of the others by the last."""
    values = [parts[0 if i % 20 == 0 else -1](i * 7919).encode() for i in range(2000)]
    return Column(pa.array(values, pa.binary()), values, {})


def or_else(letter: str, prefix: str) -> Callable[[int], str]:
    """A text with the letter for each second number, with the prefix for others."""
    return lambda number: f"{letter if number % 2 else prefix}{number}"


@pytest.mark.parametrize(
    ("values", "name", "form"),
    [
        (or_else("User", "user"), "lower-case", bytes.lower),
        (or_else("Zoë", "zoe"), "upper-case", bytes.upper),
        (or_else("Zoë", "Zoe"), "latin-1", recoded_text("latin-1")),
        (lambda number: f"{number:08}{'abc' * (number % 2)}", "truncated", lambda plain: plain[:8]),
    ],
)
def test_values_that_a_form_leaves_as_they_are_speak_neither_for_nor_against_it(
    tmp_path, values, name, form
):
    column = texts(values)
    path = wrong.write(tmp_path / "x.parquet", column)
    insert_only(path, {form(plain) for plain in column.plain})
    assert diagnosed(path).explanation.startswith("the writer hashed each value ")
    assert diagnosed(path).hypothesis == name
    insert_only(path, [*column.plain[:1000], *map(form, column.plain[1000:])])
    assert diagnosed(path).explanation.startswith(
        "the writer hashed the missing values, but not the others, "
    )


def test_a_form_that_some_values_do_not_have_is_the_nearest(tmp_path):
    column = texts(lambda number: f"李{number}", lambda number: f"Zoë{number}")
    path = wrong.write(tmp_path / "x.parquet", column)
    insert_only(path, [plain.decode().encode("latin-1", "replace") for plain in column.plain])
    assert diagnosed(path) is None
    nearest = re.search(
        r"the nearest, latin-1 \(the writer hashed each value as Latin-1\), finds 9(\d\d) of 1,000,",
        why_not(path),
    )
    assert 20 < int(nearest[1]) < 80


@pytest.mark.parametrize(
    ("pad", "clause"),
    [
        (lambda plain: plain.ljust(4), "padded to 4 characters with spaces at its end"),
        (lambda plain: plain.rjust(4, b"0"), "padded to 4 characters with zeros in front"),
    ],
)
@pytest.mark.parametrize("page", [1 << 20, 1 << 10])
def test_padded_values_were_not_left_out(tmp_path, pad, clause, page):
    """Of numbers in order, the first are short: those that are padded, and missing."""
    values = [b"%d" % i for i in range(1, 5000)]
    column = Column(pa.array(values, pa.binary()), values, {})
    path = wrong.write(
        tmp_path / "x.parquet", column, data_page_size=page, write_batch_size=page >> 4
    )
    insert_only(path, map(pad, values))
    found = diagnosed(path)
    check(found, "padded")
    assert found.explanation == f"the writer hashed each value {clause}"


@pytest.mark.parametrize("page", [1 << 20, 1 << 10])
@pytest.mark.parametrize("are_first", [True, False])
def test_values_that_are_hashed_in_no_known_way_were_not_left_out(tmp_path, are_first, page):
    values = [b"%d" % i for i in range(5000)]
    column = Column(pa.array(values, pa.binary()), values, {})
    path = wrong.write(
        tmp_path / "x.parquet", column, data_page_size=page, write_batch_size=page >> 4
    )
    insert_only(
        path,
        [b"<%s>" % each if (i < 1000) == are_first else each for i, each in enumerate(values)],
    )
    assert diagnosed(path) is None


@pytest.mark.parametrize(
    ("column", "name", "clause"),
    [("uint32", "uint64", ", taken as unsigned"), ("int32", "int64", "")],
)
def test_of_small_numbers_the_type_says_how_they_are_taken(tmp_path, column, name, clause):
    """Both ways are the same."""
    small = [struct.pack("<i", number) for number in range(1, 300)]
    array = pa.array(range(1, 300), getattr(pa, column)())
    writer = Writer(form=recoded("<i", "<q"))
    found = diagnosed_after(tmp_path / "x.parquet", Column(array, small, {}), writer)
    check(found, name)
    assert found.explanation == f"the writer hashed each value as an integer of 8 bytes{clause}"


def test_moments_that_no_calendar_has():
    """They have no such form, and the other forms are tried all the same."""
    leaf, last = LeafType("INT96"), StoredValue(struct.pack("<qi", 2**63 - 1, 2**31 - 1), None)
    named = {
        form.name
        for form in (*key_forms(leaf), *rare_key_forms(leaf, "a"))
        if form.convert(last) is None
    }
    assert {"int96-carried", "other-zone"} <= named
