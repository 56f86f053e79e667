"""Values that are stored in another form than readers look up: build inserts both, probe asks for
both, validate tells which filter lacks the usual one."""

import struct
from decimal import Decimal

import pyarrow.parquet as pq
import pytest
from make.filters import bits_of, bitset
from make.pages import byte_arrays, data_page
from make.parquet_files import Column, forge
from make.unusual_forms import (
    JULIAN_1970,
    NANOS_PER_DAY,
    days_late,
    decimals,
    hashed_as,
    int96,
    narrow_integers,
    timestamps,
)

import parquet_bloom as pb
from parquet_bloom.parquet.thrift.ttypes import ConvertedType, Type

OLD = "1938-05-26T13:58:52.36Z"
NEW = "2000-01-01T12:00:00Z"
NEW_INT96 = int96(NANOS_PER_DAY // 2, 2_451_545)
LOST = (
    "values are stored in an unusual form, and only that is in the filter: readers that hash the"
    " usual form lose rows"
)


def file(tmp_path, data):
    path = tmp_path / "unusual.parquet"
    path.write_bytes(data)
    return path


def verdicts(path, column, *literals):
    answers = pb.probe(path, column, [pb.literal(text) for text in literals]).results
    return [answer.verdict for answer in answers]


def rules(path, **options):
    return [(found.rule, found.message) for found in pb.validate(path, **options).findings]


def built(tmp_path, data, column):
    path = file(tmp_path, data)
    pb.build(path, in_place=True, columns=[column])
    return path


# --- INT96 ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("late", [1, -1, 2, -3, 4000])
def test_build_inserts_both_forms_of_an_int96(tmp_path, late):
    path = built(tmp_path, timestamps([days_late(late), NEW_INT96]), "t")
    assert verdicts(path, "t", OLD, NEW) == ["maybe", "maybe"]
    both = bits_of([days_late(late), days_late(0), NEW_INT96], 2)
    assert bitset(path.read_bytes()) == both
    assert rules(path) == []


def test_build_adds_nothing_to_usual_ones(tmp_path):
    path = built(tmp_path, timestamps([days_late(0), NEW_INT96]), "t")
    assert bitset(path.read_bytes()) == bits_of([days_late(0), NEW_INT96], 2)


@pytest.mark.parametrize("late", [0, 1, -1])
def test_an_int96_is_found_in_whichever_form_it_was_hashed(tmp_path, late):
    path = file(tmp_path, hashed_as(timestamps([days_late(late)]), [days_late(late)]))
    assert verdicts(path, "t", OLD, NEW) == ["maybe", "absent"]
    many = pb.probe(path, "t", [pb.literal(OLD)] * 300).results
    assert {answer.verdict for answer in many} == {"maybe"}
    assert rules(path) == ([("PB211", LOST)] if late else [])


def test_the_forms_that_are_asked_for(tmp_path):
    path = file(tmp_path, hashed_as(timestamps([NEW_INT96]), [NEW_INT96]))
    explained = pb.probe(path, "t", [pb.literal(OLD)], explain=True).explanations
    assert [each.plain for each in explained] == [days_late(late).hex() for late in (0, 1, -1)]


def test_days_that_do_not_fit_are_left_as_they_are(tmp_path):
    stored = [int96(NANOS_PER_DAY, 2**31 - 1), int96(-1, -(2**31))]
    path = built(tmp_path, timestamps(stored), "t")
    assert bitset(path.read_bytes()) == bits_of(stored, 2)


def test_repair_inserts_the_usual_form(tmp_path):
    path = file(tmp_path, hashed_as(timestamps([days_late(1)]), [days_late(1)]))
    pb.repair(path, in_place=True, rebuild=True)
    assert rules(path) == []
    assert bitset(path.read_bytes()) == bits_of([days_late(1), days_late(0)], 2)


def test_diagnosis_of_a_filter_with_only_the_usual_form(tmp_path):
    moments = [(1_000_000 * row - NANOS_PER_DAY, JULIAN_1970 - 50 * row) for row in range(1, 40)]
    stored = [int96(*moment) for moment in moments]
    usual = [int96(nanos + NANOS_PER_DAY, day - 1) for nanos, day in moments]
    path = file(tmp_path, hashed_as(timestamps(stored), usual))
    [found] = pb.validate(path, diagnose=True).findings
    assert found.rule == "PB401"
    assert found.diagnosis is not None
    assert found.diagnosis.hypothesis == "int96-carried"


def test_diff_tells_which_filter_lacks_the_usual_form(tmp_path):
    lacking = file(tmp_path, hashed_as(timestamps([days_late(1)]), [days_late(1)], 2))
    whole = tmp_path / "whole.parquet"
    pb.build(lacking, whole, columns=["t"], existing="replace")
    [found] = pb.diff(lacking, whole, diagnose=True).filters
    assert [each.rule for each in found.wrong_a] == ["PB211"]
    assert found.wrong_b == ()
    assert found.bits_only_a == 0
    assert found.bits_only_b > 0


@pytest.mark.parametrize("dialect", ["murmur3", "statistics"])
def test_legacy_filters_have_integers_in_both_forms(tmp_path, dialect):
    path = file(tmp_path, narrow_integers([300], "INT_8"))
    out = tmp_path / "legacy.parquet"
    pb.build(path, out, columns=["n"], dialect=dialect)
    answers = [
        pb.probe(out, "n", [pb.literal(f"0x{plain.hex()}", "bytes")], dialect=dialect).results[0]
        for plain in int32(300, 44, 45)
    ]
    assert [answer.verdict for answer in answers] == ["maybe", "maybe", "absent"]


@pytest.mark.parametrize(
    ("options", "dialect"),
    [(pb.Murmur3(), "murmur3"), (pb.StatisticsFilter(), "statistics")],
)
def test_legacy_filters_have_both_forms(tmp_path, options, dialect):
    path = file(tmp_path, timestamps([days_late(1)]))
    out = tmp_path / "legacy.parquet"
    pb.build(path, out, columns=["t"], dialect=options)
    stored_bytes = [days_late(0), days_late(1), days_late(2)]
    answers = pb.probe(out, "t", stored_bytes, dialect=dialect).results
    assert [answer.verdict for answer in answers] == ["maybe", "maybe", "absent"]


# --- INTEGER(8) and INTEGER(16) -------------------------------------------------------------------

# Stored, and what readers make of it.
NARROW = {
    "INT_8": (300, 44),
    "UINT_8": (-1, 255),
    "INT_16": (0x1234_8000, -0x8000),
    "UINT_16": (-200, 65336),
}


def int32(*numbers):
    return [number.to_bytes(4, "little", signed=True) for number in numbers]


@pytest.mark.parametrize("kind", NARROW)
def test_build_inserts_an_integer_as_stored_and_as_read(tmp_path, kind):
    stored, read = NARROW[kind]
    path = built(tmp_path, narrow_integers([stored, 5], kind), "n")
    assert bitset(path.read_bytes()) == bits_of(int32(stored, read, 5), 2)
    assert verdicts(path, "n", str(read), "5", "6") == ["maybe", "maybe", "absent"]
    assert rules(path) == []


@pytest.mark.parametrize(("kind", "stored"), [("INT_8", 300), ("UINT_8", 300), ("INT_16", 70_000)])
def test_an_integer_of_more_bits_than_its_type_is_found_if_it_is_stored(tmp_path, kind, stored):
    """And is no value that the column cannot hold if it is not: so files stay out of the way of others' ids."""
    path = built(tmp_path, narrow_integers([stored, 5], kind), "n")
    # The same bytes: negative numbers are refused where they are unsigned.
    low = 2**32 - 70_000 if kind.startswith("U") else -70_000
    asked = [stored, 5, 80_000, 5_000_000_000, low]
    assert verdicts(path, "n", *map(str, asked)) == ["maybe", "maybe", *["absent"] * 3]
    assert [row.value for row in pb.find(path, "n", asked).rows] == [stored, 5]
    usual = file(tmp_path, narrow_integers([1, 5], kind))
    report = pb.find(usual, "n", asked)
    assert ([row.value for row in report.rows], report.unknown) == ([5], ())


@pytest.mark.interop
@pytest.mark.parametrize("kind", NARROW)
def test_readers_show_the_low_bits(tmp_path, kind):
    duckdb = pytest.importorskip("duckdb")
    stored, read = NARROW[kind]
    path = file(tmp_path, narrow_integers([stored], kind))
    assert pq.read_table(path).column("n").to_pylist() == [read]
    assert duckdb.sql(f"SELECT n FROM '{path}'").fetchall() == [(read,)]


@pytest.mark.parametrize("kind", NARROW)
def test_validate_tells_which_integers_lack_the_number_that_is_read(tmp_path, kind):
    stored, read = NARROW[kind]
    data = narrow_integers([stored, 5], kind)
    path = file(tmp_path, hashed_as(data, int32(stored, 5)))
    assert verdicts(path, "n", str(read)) == ["absent"]
    assert rules(path) == [("PB211", LOST)]
    pb.repair(path, in_place=True, rebuild=True)
    assert verdicts(path, "n", str(read)) == ["maybe"]
    assert rules(path) == []


@pytest.mark.parametrize("kind", NARROW)
def test_build_adds_nothing_to_integers_that_fit(tmp_path, kind):
    _, read = NARROW[kind]
    path = built(tmp_path, narrow_integers([read, 5], kind), "n")
    assert bitset(path.read_bytes()) == bits_of(int32(read, 5), 2)


def test_diagnosis_of_a_filter_with_only_what_is_read(tmp_path):
    stored = [256 * row + row for row in range(1, 40)]
    data = narrow_integers(stored, "UINT_8")
    path = file(tmp_path, hashed_as(data, int32(*range(1, 40))))
    [found] = pb.validate(path, diagnose=True).findings
    assert found.rule == "PB401"
    assert found.diagnosis is not None
    assert found.diagnosis.hypothesis == "integer-narrowed"


# --- DECIMAL in BYTE_ARRAY ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stored", "number"),
    [
        (b"", "0.00"),
        (b"\0", "0.00"),
        (bytes(16), "0.00"),
        (b"\x05", "0.05"),
        (bytes(11) + b"\x05", "0.05"),
        (b"\xff" * 15 + b"\xfb", "-0.05"),
    ],
)
def test_a_decimal_is_found_at_any_length_up_to_16(tmp_path, stored, number):
    path = file(tmp_path, hashed_as(decimals([stored]), [stored]))
    assert verdicts(path, "d", number, "123.45") == ["maybe", "absent"]
    pb.build(path, in_place=True, columns=["d"], existing="replace")
    assert bitset(path.read_bytes()) == bits_of([stored], 2)
    assert verdicts(path, "d", number) == ["maybe"]


@pytest.mark.parametrize(
    ("stored", "usual"),
    [(bytes(17) + b"\x05", b"\x05"), (b"\xff" * 40, b"\xff"), (bytes(40), b"\0")],
)
def test_longer_decimals_are_also_inserted_short(tmp_path, stored, usual):
    path = file(tmp_path, hashed_as(decimals([stored]), [stored]))
    assert ("PB211", LOST) in rules(path)
    pb.build(path, in_place=True, columns=["d"], existing="replace")
    assert bitset(path.read_bytes()) == bits_of([stored, usual], 2)
    number = Decimal(int.from_bytes(stored, "big", signed=True)).scaleb(-2)
    assert verdicts(path, "d", str(number)) == ["maybe"]
    assert [rule for rule, _ in rules(path)] == ["PB208"]


def test_decimals_of_high_precision_are_asked_for_at_their_length(tmp_path):
    number = 10**59
    stored = number.to_bytes(30, "big", signed=True)
    path = file(tmp_path, hashed_as(decimals([stored], 60), [stored]))
    assert verdicts(path, "d", f"{number}E-2") == ["maybe"]
    assert [rule for rule, _ in rules(path)] == ["PB208", "PB212"]


# --- what needs nothing ---------------------------------------------------------------------------


def test_a_nan_is_never_absent(tmp_path):
    """Whatever its payload: there are too many to ask for."""
    odd = struct.pack("<Q", 0xFFF8_0000_0000_0001)
    stored = [odd, struct.pack("<d", 1.5)]
    column = Column([data_page(b"".join(stored), 2)], 2, "x", Type.DOUBLE)
    path = file(tmp_path, hashed_as(forge(column), stored))
    assert verdicts(path, "x", "nan", "1.5", "2.5") == ["unknown", "maybe", "absent"]


def test_text_is_compared_byte_by_byte(tmp_path):
    """Parquet has no padded CHAR: a reader that pads asks for the padded text."""
    stored = [b"ab  "]
    path = file(tmp_path, hashed_as(forge(text_column(stored)), stored))
    assert verdicts(path, "s", "ab  ", "ab") == ["maybe", "absent"]


def text_column(stored):
    return Column(
        [data_page(byte_arrays(*stored), len(stored))],
        len(stored),
        "s",
        Type.BYTE_ARRAY,
        element={"converted_type": ConvertedType.UTF8},
    )
