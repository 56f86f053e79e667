"""Values of ORC columns and their hashes: the rule of each type, by a transliteration in
specification.py and vectors that were taken from ORC Java."""

import datetime
import struct
from array import array
from decimal import Context, Decimal
from math import nan
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from make.orc_values import values_of
from oracle.hashing import hive64, wang, wang_logical

from parquet_bloom.errors import UnsupportedError, ValueTypeError
from parquet_bloom.filters.k_hash import KHashFilter, KHashFilters
from parquet_bloom.native import _kernel
from parquet_bloom.orc.arrays import Decimals, Numbers, Texts, Times
from parquet_bloom.orc.bloom import OrcKeyForm
from parquet_bloom.orc.columns import KINDS, OrcColumn
from parquet_bloom.orc.keys import (
    AskedValues,
    insert_values,
    insertion_hashes,
    lookup_hashes,
    never_absent,
)
from parquet_bloom.values.types import literal
from parquet_bloom.vocabulary import BEYOND_BITS, BEYOND_DIGITS

FORM = OrcKeyForm()
NTZ = {"spark.sql.catalyst.type": "timestamp_ntz"}
SECOND = 1_000
WIDE = Context(prec=60)


class Encoded(NamedTuple):
    hashes: tuple[int, ...]
    unknown: str


def encode(of, value, form):
    """The hashes of one value, and why they are unknown."""
    found = AskedValues(of, [value]).hashes(form)
    unknown = found.unknown.get(0, "")
    return Encoded(() if unknown else tuple(found.of(0).tolist()), unknown)


def column(kind, length=0, precision=0, scale=0, attributes=None):
    return OrcColumn(1, "x", kind, (), 0, length, precision, scale, attributes or {})


def bits(number):
    return struct.unpack("<q", struct.pack("<d", number))[0]


def at(text):
    """Milliseconds of a moment in UTC."""
    moment = datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC)
    return int(moment.timestamp() * SECOND)


# Column, values, what is hashed of each: a number or bytes.
RULES = {
    "byte": (column("BYTE"), pa.array([-128, 0, 127], pa.int8()), [-128, 0, 127]),
    "short": (column("SHORT"), pa.array([-32768, 7], pa.int16()), [-32768, 7]),
    "int": (column("INT"), pa.array([-(1 << 31), 7], pa.int32()), [-(1 << 31), 7]),
    "long": (column("LONG"), pa.array([-(1 << 63), 7], pa.int64()), [-(1 << 63), 7]),
    "float": (column("FLOAT"), pa.array([0.1, -2], pa.float32()), [bits(float(np.float32(0.1))), bits(-2)]),
    "double": (column("DOUBLE"), pa.array([0.1, -2]), [bits(0.1), bits(-2)]),
    "string": (column("STRING"), pa.array(["", "hello", "ü"]), [b"", b"hello", "ü".encode()]),
    "binary": (column("BINARY"), pa.array([b"\x00\xff"]), [b"\x00\xff"]),
    "varchar": (column("VARCHAR", 5), pa.array(["ab"]), [b"ab"]),
    "char": (column("CHAR", 4), pa.array(["äb", "ab  ", "abcd"]), ["äb  ".encode(), b"ab  ", b"abcd"]),
    "date": (column("DATE"), pa.array([-1, 19000], pa.int32()).cast(pa.date32()), [-1, 19000]),
    "decimal": (column("DECIMAL", precision=9, scale=2), pa.array([Decimal("-0.05")], pa.decimal128(9, 2)), [b"-0.05"]),
    "timestamp": (column("TIMESTAMP"), pa.array([at("2020-01-01") * 10**6 + 999_999, -10**15 - 1]).cast(pa.timestamp("ns")), [at("2020-01-01"), -(10**9) - 1]),
    "seconds": (column("TIMESTAMP"), pa.array([-5]).cast(pa.timestamp("s")), [-5000]),
    "instant": (column("TIMESTAMP_INSTANT"), pa.array([10**10 + 1]).cast(pa.timestamp("us", "UTC")), [10**7]),
    "list": (column("LIST"), pa.array([[], [1, None, 2]]), [0, 3]),
    "map": (column("MAP"), pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())), [1]),
    "union": (column("UNION"), pa.array([1, 0], pa.uint8()), [1, 0]),
}  # fmt: skip


def hashed(key):
    return wang(key) if isinstance(key, int) else hive64(key)


@pytest.mark.parametrize("name", RULES)
def test_the_rule_of_each_type(name):
    of, array, keys = RULES[name]
    values = values_of(array)
    expected = [[hashed(key)] for key in keys]
    assert lookup_hashes(of, values, FORM).tolist() == expected
    assert insertion_hashes(of, values, FORM).tolist() == [each for (each,) in expected]


# What has several hashes, or a rule of its own.
SPECIAL = {
    "zero": (column("DOUBLE"), Numbers(np.array([1.5, -0.0]))),
    "nan": (column("DOUBLE"), Numbers(np.array([0x7FF8000000000001, bits(2.5)]).view(np.float64))),
    "float nan": (column("FLOAT"), Numbers(np.array([-0x3FFFFF, 1], np.int32).view(np.float32))),
    "both": (column("FLOAT"), Numbers(np.array([0.0, np.nan, np.inf], np.float32))),
    "around 1970": (column("TIMESTAMP"), Times.of([500_000_000, -1, 10**9 + 1])),
    "long ago": (column("TIMESTAMP"), Times.of([-(10**18) - 1, 10**18 + 999_999])),
    "many": (column("LONG"), Numbers(np.arange(-700, 700) * 12345)),
    "many texts": (column("STRING"), Texts.of([b"x" * n for n in range(150)])),
}
FORMS = {
    "utf8": FORM,
    "shifts": OrcKeyForm(logical_shifts=True),
    "clock": OrcKeyForm(utf8=False, writer_timezone="America/New_York"),
}


def as_decoded(values):
    """In memoryviews, as decoders return them."""
    if not isinstance(values, Numbers):
        return values
    numbers = values.numbers
    if numbers.dtype.kind == "f":
        return Numbers(memoryview(numbers.tobytes()).cast(numbers.dtype.char))
    return Numbers(memoryview(array("q", numbers.tolist())))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", [*RULES, *SPECIAL])
def test_values_and_their_hashes_set_the_same_bits(name, form):
    if name in RULES:
        of, values = RULES[name][0], values_of(RULES[name][1])
    else:
        of, values = SPECIAL[name]
    # Filters of three groups of values, of which the second is empty, behind one that gets none.
    start = len(values) // 3
    counts, parts = (
        (start, 0, len(values) - start),
        ((0, start), (start, start), (start, len(values))),
    )
    expected = [KHashFilter.empty(64_000, 7) for _ in range(4)]
    for filter, part in zip(expected[1:], parts, strict=True):
        filter.insert_hashes(insertion_hashes(of, values.part(*part), FORMS[form]))
    found = KHashFilters(4, 64_000, 7)
    insert_values(found, range(1, 4), of, as_decoded(values), array("q", counts), FORMS[form])
    assert [bytes(each.bitset) for each in found.filters] == [
        bytes(each.bitset) for each in expected
    ]
    for each in found.filters:
        assert each.bits_set == sum(map(int.bit_count, bytes(each.bitset)))


def test_vectors_of_java():
    assert wang(-1) == 0x5BCA868437950D03
    assert hive64(b"hello") == 0x3928100018224141
    found = encode(column("LONG"), 123456789, FORM)
    assert found.hashes == (0xE61EF031A43FDAF8,)
    assert encode(column("STRING"), "a", FORM).hashes == (0xDDD9B0AF19F61187,)


def test_logical_shifts():
    form = OrcKeyForm(logical_shifts=True)
    assert lookup_hashes(column("LONG"), values_of(pa.array([-5])), form).tolist() == [
        [wang_logical(-5)]
    ]
    assert wang_logical(-5) != wang(-5)


def test_zeros_and_nans():
    """Both zeros are inserted, and for a NaN with other bits the canonical one, too."""
    other_nan = 0x7FF8000000000001
    values = Numbers(np.array([bits(0.0), bits(1.5), other_nan], np.int64).view(np.float64))
    canonical = wang(0x7FF8000000000000)
    looked_up = lookup_hashes(column("DOUBLE"), values, FORM)
    assert looked_up.shape == (3, 3)
    assert [set(row) for row in looked_up.tolist()] == [
        {wang(0), wang(bits(-0.0))},
        {wang(bits(1.5))},
        {canonical, wang(other_nan)},
    ]
    inserted = insertion_hashes(column("DOUBLE"), values, FORM).tolist()
    assert sorted(inserted) == sorted({hash for row in looked_up.tolist() for hash in row})


@pytest.mark.parametrize(
    ("number", "precision", "scale", "text"),
    [
        ("0", 9, 9, "0"),
        ("-0.05", 9, 2, "-0.05"),
        ("1.50", 9, 2, "1.5"),
        ("100", 9, 0, "100"),
        ("100.00", 9, 2, "100"),
        ("-100", 38, 0, "-100"),
        ("0.000000001", 20, 9, "0.000000001"),
        ("1E-38", 38, 38, f"0.{37 * '0'}1"),
        (38 * "9", 38, 0, 38 * "9"),
        (f"-{28 * '9'}.{9 * '9'}1", 38, 10, f"-{28 * '9'}.{9 * '9'}1"),
        (str(1 << 63), 20, 0, str(1 << 63)),
        (str(-(1 << 63)), 20, 0, str(-(1 << 63))),
    ],
)
def test_the_text_of_decimals(number, precision, scale, text):
    decimal = column("DECIMAL", precision=precision, scale=scale)
    values = Decimals.of([10**scale % 10**38, int(Decimal(number).scaleb(scale, WIDE))], scale)
    assert insertion_hashes(decimal, values, FORM).tolist()[-1] == hive64(text.encode())


@given(st.lists(st.integers(1 - 10**38, 10**38 - 1), max_size=20), st.integers(0, 38))
def test_decimals_as_text(numbers, scale):
    """As Python's decimals have it, in which no zero behind the point is lost."""
    texts = [f"{Decimal(number).scaleb(-scale, WIDE):f}" for number in numbers]
    stripped = [text.rstrip("0").rstrip(".") if "." in text else text for text in texts]
    decimal = column("DECIMAL", precision=38, scale=scale)
    assert insertion_hashes(decimal, Decimals.of(numbers, scale), FORM).tolist() == [
        hive64(text.removeprefix("-" if text == "-0" else "").encode()) for text in stripped
    ]


def test_the_kernel_checks_decimals():
    with pytest.raises(ValueError, match="scale: 39, expected 0 to 38"):
        _kernel.hive64_decimals(bytes(16), 39)
    with pytest.raises(ValueError, match="15 bytes, expected a multiple of 16"):
        _kernel.hive64_decimals(bytes(15), 0)


def test_the_seconds_around_1970():
    """What lies within a second behind 1970 may be stored for what lies within one before."""
    values = Times.of([500_000_000, 0, 999_999_999, 10**9 + 1, -(10**9)])
    looked_up = [set(row) for row in lookup_hashes(column("TIMESTAMP"), values, FORM).tolist()]
    assert looked_up == [
        {wang(500), wang(-500), wang(1500)},
        {wang(0)},
        {wang(999), wang(-1), wang(1999)},
        {wang(1000)},
        {wang(-1000)},
    ]


def test_the_hours_around_1970_in_another_zone():
    """ORC C++ asks for the sign of the wall clock, ORC Java for that of the instant."""
    form = OrcKeyForm(writer_timezone="America/New_York")
    hours = [-6, -4, -1, 1]
    values = Times.of([(hour * 3_600_000 + 500) * 1_000_000 for hour in hours])
    sizes = [len(set(row)) for row in lookup_hashes(column("TIMESTAMP"), values, form).tolist()]
    assert sizes == [1, 3, 3, 1]
    unknown = OrcKeyForm(writer_timezone="Nowhere/At_All")
    rows = lookup_hashes(column("TIMESTAMP"), values, unknown).tolist()
    assert [len(set(row)) for row in rows] == [3, 3, 3, 3]


def test_instants_of_old_streams():
    """BLOOM_FILTER streams: the writer's clock, in July and January, twice an hour in November."""
    form = OrcKeyForm(utf8=False, writer_timezone="America/New_York")
    of = column("TIMESTAMP")

    def hashes(text):
        return set(encode(of, literal(text), form).hashes)

    assert hashes("2020-01-01 12:00") == {wang(at("2020-01-01 17:00"))}
    assert hashes("2020-07-01 12:00") == {wang(at("2020-07-01 16:00"))}
    assert hashes("2020-11-01 01:30") == {
        wang(at("2020-11-01 05:30")), wang(at("2020-11-01 06:30")),
    }  # fmt: skip
    assert hashes("1850-07-01 12:00") == {wang(at("1850-07-01 17:00"))}
    assert hashes("2100-07-01 12:00") == {wang(at("2100-07-01 16:00"))}
    assert hashes("9999-07-01 12:00") == {wang(at("9999-07-01 16:00"))}
    assert hashes("9999-01-01 12:00") == {wang(at("9999-01-01 17:00"))}
    instant = column("TIMESTAMP_INSTANT")
    assert encode(instant, literal("2020-07-01 12:00Z"), form).hashes == (
        wang(at("2020-07-01 12:00")),
    )
    nowhere = OrcKeyForm(utf8=False, writer_timezone="Nowhere/At_All")
    assert encode(of, literal("2020-01-01"), nowhere).unknown == (
        "time zone Nowhere/At_All: not in the time zone database"
    )
    with pytest.raises(UnsupportedError, match="Nowhere"):
        insertion_hashes(of, Times.of([0]), nowhere)


# Column, Python value, literal, what is hashed.
VALUES = {
    "byte": (column("BYTE"), -5, "-5", -5),
    "float": (column("FLOAT"), 0.1, "0.1", bits(float(np.float32(0.1)))),
    "double": (column("DOUBLE"), 1, "1", bits(1.0)),
    "string": (column("STRING"), "hello", "hello", b"hello"),
    "binary": (column("BINARY"), b"\x01", "0x01", b"\x01"),
    "varchar": (column("VARCHAR", 5), "hello", "hello", b"hello"),
    "decimal": (column("DECIMAL", precision=5, scale=2), Decimal("1.5"), "1.50", b"1.5"),
    "date": (column("DATE"), datetime.date(2020, 1, 1), "2020-01-01", 18262),
    "timestamp": (
        column("TIMESTAMP"), datetime.datetime(2020, 1, 1, 12, 0, 0, 1999), "2020-01-01T12:00:00.001999999",
        at("2020-01-01 12:00:00.001"),
    ),
    "sentinel": (column("TIMESTAMP"), datetime.datetime(9999, 12, 31), "9999-12-31", at("9999-12-31")),
    "instant": (
        column("TIMESTAMP_INSTANT"), datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC),
        "2020-01-01T02:00:00+02:00", at("2020-01-01"),
    ),
    "ntz": (column("LONG", attributes=NTZ), datetime.datetime(2020, 1, 1), "2020-01-01", at("2020-01-01") * 1000),
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_values_and_literals(name):
    of, value, text, key = VALUES[name]
    assert encode(of, value, FORM).hashes == (hashed(key),)
    assert encode(of, literal(text), FORM).hashes == (hashed(key),)


def test_text_in_quotes_is_looked_up_with_and_without_them():
    found = encode(column("STRING"), literal('"hello"'), FORM)
    assert found.hashes == (hashed(b"hello"), hashed(b'"hello"'))


def test_values_with_several_hashes():
    assert encode(column("DOUBLE"), -0.0, FORM).hashes == (wang(0), wang(bits(-0.0)))
    with_blanks, without = hive64(b"ab  "), hive64(b"ab")
    assert encode(column("CHAR", 4), "ab", FORM).hashes == (with_blanks, without)
    assert encode(column("CHAR", 4), "ab   ", FORM).hashes == (with_blanks, without)


def test_an_integer_beyond_the_type_is_asked_as_it_would_be_stored():
    assert encode(column("BYTE"), 128, FORM).hashes == (wang(128),)
    assert AskedValues(column("SHORT"), [2**31]).not_held == {0: BEYOND_BITS}


def test_literals_read_as_another_type():
    assert encode(column("DATE"), literal("18262", "int"), FORM).hashes == (wang(18262),)
    cents = column("DECIMAL", precision=5, scale=2)
    assert encode(cents, literal("150", "int"), FORM).hashes == (hive64(b"1.5"),)
    assert encode(column("BINARY"), literal("0x01", "string"), FORM).hashes == (hive64(b"0x01"),)


def test_digits_after_the_point_are_those_of_the_scale_if_there_is_one():
    """Without a precision (Hive 0.11), each number has a scale of its own."""
    values = [Decimal("1.234"), Decimal("1E-11")]
    cents = AskedValues(column("DECIMAL", precision=5, scale=2), values)
    assert cents.not_held == dict.fromkeys(range(2), BEYOND_DIGITS)
    any_scale = AskedValues(column("DECIMAL"), values)
    assert any_scale.not_held == {}
    assert any_scale.hashes(FORM).unknown == {
        1: "DECIMAL without a precision: each number has a scale of its own"
    }


@pytest.mark.parametrize(
    ("of", "value", "message"),
    [
        (column("BYTE"), 1.5, "1.5: cannot be a value of BYTE: expected an integer"),
        (column("LONG"), "x", "'x': cannot be a value of LONG: expected an integer, or pb.literal(…) to read it from text"),
        (column("VARCHAR", 3), "abcd", "abcd: cannot be a value of VARCHAR(3): expected at most 3 characters"),
        (column("CHAR", 3), "abcd", "abcd: cannot be a value of CHAR(3): expected at most 3 characters"),
        (column("CHAR", 3), b"\xff", "0xff: cannot be a value of CHAR(3): expected text that is valid Unicode"),
        (
            column("DECIMAL", precision=9, scale=2), Decimal("12345678.9"),
            "12345678.9: cannot be a value of DECIMAL(9,2): expected at most 9 digits",
        ),
        (
            column("TIMESTAMP"), datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC),
            "2020-01-01 00:00:00+00:00: cannot be a value of TIMESTAMP: expected a local timestamp, without a zone",
        ),
    ],
)  # fmt: skip
def test_what_a_column_cannot_hold(of, value, message):
    with pytest.raises(ValueTypeError) as found:
        encode(of, value, FORM)
    assert str(found.value) == message


def test_what_nobody_knows():
    assert encode(column("DOUBLE"), nan, FORM).unknown == "NaN has many encodings"
    assert encode(column("LONG"), None, FORM).unknown == "nulls are not inserted into Bloom filters"
    julian = "dates before 1582-10-15 may be stored by either of two calendars"
    for of in (column("DATE"), column("TIMESTAMP"), column("TIMESTAMP_INSTANT")):
        assert encode(of, literal("1582-10-14"), FORM).unknown == julian
        assert encode(of, literal("1582-10-15"), FORM).unknown == ""


def test_types_that_are_never_absent():
    never = {kind for kind in KINDS if never_absent(column(kind))}
    assert never == {"BOOLEAN", "STRUCT", "LIST", "MAP", "UNION"}
    assert never_absent(column("unknown")) == "unknown: unknown type"
    for kind in never:
        assert encode(column(kind), 1, FORM).unknown == never_absent(column(kind))
        assert encode(column(kind), literal("1"), FORM).unknown == never_absent(column(kind))
    for kind in ("BOOLEAN", "STRUCT"):
        with pytest.raises(UnsupportedError, match=f"^{kind}: values have no keys$"):
            insertion_hashes(column(kind), Numbers(np.array([True])), FORM)
