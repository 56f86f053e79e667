"""`validate` on ORC files: each rule on a file that breaks it, and none on what sound writers write."""

import json
import re
from dataclasses import asdict, fields
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyorc
import pytest
from conftest import FIXTURES, ROOT
from make.commands import outcome
from make.handmade_orc import index_of
from make.orc_defect_files import (
    ROWS,
    STRIDE,
    STRIPE_ROWS,
    A,
    OrcDefect,
    edited,
    opened,
    sound,
    stream,
    values,
    with_first_filter,
)
from make.orc_defects import (
    ORC,
    before_1970,
    by_pyarrow,
    by_pyorc,
    encrypted,
    narrow,
    of_generation,
    one_bit_cleared,
    other_bits,
)
from make.orc_files import all_types
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.container import STRIPES, Place
from parquet_bloom.diagnosis import orc_writers
from parquet_bloom.filters.k_hash import KHashFilter
from parquet_bloom.orc.arrays import Decimals, Numbers, Texts, Times, selected
from parquet_bloom.orc.bloom import OrcKeyForm, read_filters
from parquet_bloom.orc.columns import KINDS
from parquet_bloom.orc.keys import lookup_hashes
from parquet_bloom.orc.stripe import BLOOM_FILTER_UTF8
from parquet_bloom.orc.writers import Generation
from parquet_bloom.rules.finding import Finding
from parquet_bloom.rules.policy import Policy
from parquet_bloom.rules.rule import rules, rules_of
from parquet_bloom.verbs.documents import document_of
from parquet_bloom.verbs.validate import ValidationReport, validate


@pytest.fixture
def checked(tmp_path):
    """The report on a file of these bytes."""

    def check(data: bytes, **options):
        path = tmp_path / "a.orc"
        path.write_bytes(data)
        return validate(path, **options)

    return check


each_defect = pytest.mark.parametrize("defect", ORC, ids=str)


@each_defect
def test_the_rule_is_found_where_it_is_broken(defect: OrcDefect, checked):
    found = checked(defect.make(), policy=Policy(**defect.policy), deep=defect.deep).findings
    places = {
        (each.stripe, each.index_group, each.column) for each in found if each.rule == defect.rule
    }
    assert (defect.stripe, defect.index_group, defect.column) in places
    assert all(each.row_group is None for each in found)


@each_defect
def test_no_other_error_is_found(defect: OrcDefect, checked):
    found = checked(defect.make(), policy=Policy(**defect.policy), deep=defect.deep).findings
    errors = {each.rule for each in found if each.severity == "error"}
    assert errors - {defect.rule} == defect.beside


@pytest.mark.parametrize("defect", [each for each in ORC if each.deep], ids=str)
def test_what_needs_the_values_is_not_found_without_them(defect: OrcDefect, checked):
    assert defect.rule not in {each.rule for each in checked(defect.make(), deep=False).findings}


def test_every_rule_for_orc_has_a_defective_file():
    assert {each.rule for each in ORC} == {rule.id for rule in rules_of("orc")}
    assert {rule for rule in rules() if rule.startswith("PB6")} <= {each.rule for each in ORC}


@pytest.mark.parametrize("data", [sound, lambda: edited(sound(), lambda stripes, footer: None)])
def test_nothing_is_wrong_with_what_the_files_are_made_of(data, checked):
    report = checked(data())
    assert report.findings == ()
    assert (report.ok, report.format) == (True, "orc")
    assert (report.checked.filters, report.checked.values) == (8, 2 * ROWS)


def test_without_the_values_none_is_looked_up(checked):
    report = checked(sound(), deep=False)
    assert (report.ok, report.checked.filters, report.checked.values) == (True, 8, None)


def test_only_the_columns_that_are_asked_for(checked):
    report = checked(one_bit_cleared(), columns=["s"])
    assert (report.ok, report.checked.values) == (True, ROWS)
    with pytest.raises(pb.ColumnError, match="no column x; the file has a, s, t"):
        checked(sound(), columns=["x"])


def test_a_finding_is_in_one_index_group_of_a_stripe(checked):
    (found,) = checked(one_bit_cleared()).findings
    assert found.place == Place(0, 0, STRIPES)
    document = asdict(found)
    del document["place"]
    stored = list(map(str, values()["a"].to_pylist()))
    (example,) = document.pop("examples")
    row = stored.index(example)
    assert document.pop("rows") == {
        "first": row, "last": row, "count": 1, "only_at_end": row == STRIDE - 1,
        "first_page": None, "last_page": None,
    }  # fmt: skip
    assert document.pop("next").endswith("a.orc -c a --diagnose")
    assert document == {
        "rule": "PB401",
        "severity": "error",
        "column": "a",
        "message": "1 of 1,000 stored values is not in the filter: readers lose their rows",
        "expected": "0",
        "found": "1",
        "diagnosis": None,
        "undiagnosed": None,
    }


def test_rules_can_be_ignored_and_severities_chosen(checked):
    assert checked(one_bit_cleared(), ignore=["false-negatives"]).findings == ()
    assert checked(one_bit_cleared(), fail_on="never").ok
    policy = Policy(require=("t",))
    assert {each.rule for each in checked(sound(), policy=policy).findings} == {"PB310"}
    assert not checked(sound(), policy=policy).ok


def test_an_index_group_of_nulls_needs_no_bits(checked):
    column = pa.array([None] * STRIDE + list(range(ROWS - STRIDE)), pa.int64())
    report = checked(by_pyarrow(column))
    assert report.findings == ()
    assert report.checked.values == ROWS - STRIDE


def test_a_stripe_without_values_needs_no_filters(checked):
    """Nor is one missed there that is required."""
    column = pa.array([None] * STRIPE_ROWS + list(range(ROWS - STRIPE_ROWS)), pa.int64())
    data = by_pyarrow(column)

    def drop(stripes, footer):
        stripes[0].streams = [
            each for each in stripes[0].streams if (each.kind, each.column) != (8, A)
        ]

    assert checked(edited(data, drop), require=["a"]).findings == ()


def test_values_that_have_several_forms_are_found_in_any(checked):
    """pyarrow inserts the one zero that is stored. Of the others a single one is not there."""
    numbers = [0.0, *map(float, range(1, ROWS))]
    data = by_pyarrow(pa.array(numbers))
    column = opened(data, lambda file: file.column("a"))
    filter = KHashFilter.empty(9600, 7)
    values = Numbers(np.array([number for number in numbers[:STRIDE] if number != 5]))
    filter.insert_hashes(lookup_hashes(column, values, OrcKeyForm())[:, 0].copy())

    def change(stripes, footer):
        found = stream(stripes[0], A)
        (_, second) = read_filters(found.data, BLOOM_FILTER_UTF8, 2, "here")
        found.data = index_of([filter, second])

    (found,) = checked(edited(data, change)).findings
    assert (found.rule, found.found, found.examples) == ("PB401", "1", ("5",))


def test_forms_that_build_inserts_are_no_foreign_bits(checked, tmp_path):
    numbers = pa.array([0.0, float("nan"), *map(float, range(2, ROWS))])
    orc.write_table(pa.table({"a": numbers}), tmp_path / "plain.orc", row_index_stride=STRIDE)
    pb.build(tmp_path / "plain.orc", tmp_path / "b.orc", columns=["a"])
    assert validate(tmp_path / "b.orc", ignore=["PB309"]).findings == ()


def test_bits_that_contradict_each_other_are_not_looked_at(checked):
    data = with_first_filter(bitset=other_bits())
    report = checked(data)
    assert [each.rule for each in report.findings] == ["PB606"]
    assert report.checked.values == 2 * ROWS - STRIDE


def test_filters_of_encrypted_columns_are_not_looked_at(checked):
    report = checked(encrypted())
    assert {each.rule for each in report.findings} == {"PB651"}
    assert report.checked.values == ROWS
    assert (report.checked.encrypted_chunks, report.state) == (2, "ok where readable")


# ------------------------------------------------------------------------------------------------
# What the writer did instead


def diagnoses(report):
    found = [each.diagnosis for each in report.findings if each.rule == "PB401"]
    assert found
    return {None if each is None else (each.hypothesis, each.hits == each.tried > 0)
            for each in found}  # fmt: skip


def test_bytes_by_orc_cpp(checked):
    assert diagnoses(checked(by_pyarrow(narrow()), diagnose=True)) == {("cpp-byte", True)}


@pytest.mark.parametrize("rows", [ROWS, 700])
def test_bytes_in_the_batches_of_pyorc(rows, checked):
    numbers = [row % 1024 % 128 if row % 1024 < 120 else -1 for row in range(rows)]
    assert diagnoses(checked(by_pyorc("tinyint", *numbers), diagnose=True)) == {("cpp-byte", True)}


def test_bytes_with_nulls_are_known_by_their_writer(checked):
    column = pa.array([None, *narrow().to_pylist()[1:]], pa.int8())
    report = checked(by_pyarrow(column), diagnose=True)
    (first, *_) = [each for each in report.findings if each.rule == "PB401"]
    assert (first.diagnosis.hypothesis, first.diagnosis.tried) == ("cpp-byte", 0)


@pytest.mark.parametrize("nulls", [0, 1], ids=["all values", "a null"])
def test_bytes_beside_all_values_are_from_the_same_writer(checked, nulls):
    """Where the first eighth of a batch has no value that the rest of it has not."""
    numbers = [*[None] * nulls, *(row % 256 - 128 for row in range(nulls, ROWS))]
    found = [
        each
        for each in checked(by_pyarrow(pa.array(numbers, pa.int8()))).findings
        if each.rule == "PB405"
    ]
    assert found
    by_cpp = "bits come from no stored value: ORC C++ hashes the first eighth of each batch as "
    assert all(by_cpp in each.message for each in found)


def test_timestamps_before_1970_by_pyarrow(checked):
    report = checked(by_pyarrow(before_1970()), diagnose=True)
    assert diagnoses(report) == {("rounded-towards-1970", True)}


def test_chars_by_orc_cpp(checked):
    data = by_pyorc("char(8)", *(f"n{row}" for row in range(ROWS)))
    assert diagnoses(checked(data, diagnose=True)) == {("cpp-char", False)}


def test_floats_by_pyorc_whose_digits_are_lost(checked):
    data = by_pyorc("float", *(row / 7 for row in range(ROWS)))
    assert diagnoses(checked(data, diagnose=True)) == {("cpp-float", False)}


@pytest.mark.parametrize(
    ("deep", "fact"),
    [
        (True, "these filters lack no stored value, which only looking up all of them shows"),
        (False, "the filters may be right or wrong"),
    ],
)
def test_floats_by_pyarrow_are_right_but_not_believed(deep, fact, tmp_path):
    """As those of pyorc are not, which no file tells apart: all verbs say so, and what builds filters that are."""
    path, built = tmp_path / "a.orc", tmp_path / "b.orc"
    path.write_bytes(by_pyarrow(pa.array([(row + 1) / 7 for row in range(ROWS)], pa.float32())))
    doubt = "FLOAT filters of ORC C++ may miss stored values"
    found = pb.validate(path, deep=deep).findings
    assert {(each.rule, each.severity, each.message, each.next) for each in found} == {
        (
            "PB627",
            "note",
            f"probe answers unknown: {doubt}; {fact}",
            f"pbloom build {path} -c a --existing replace --in-place",
        )
    }
    with pb.open(path) as file:
        assert {(each.verdict, each.reason) for each in file.probe("a", 0.5)} == {
            ("unknown", doubt)
        }
    chunks = [stripe.columns[0] for stripe in pb.inspect(path).stripes]
    assert {(chunk.column, chunk.notes) for chunk in chunks} == {("a", (doubt,))}
    pb.build(path, built, columns=["a"], existing="replace")
    assert pb.validate(built, deep=deep).findings == ()
    with pb.open(built) as file:
        assert {each.verdict for each in file.probe("a", 0.123)} == {"absent"}


def test_floats_by_pyorc_of_few_digits(checked):
    """The double that 0.1 was is found by the digits of the FLOAT."""
    data = by_pyorc("float", *(row / 10 for row in range(1, ROWS, 3)))
    assert diagnoses(checked(data, diagnose=True)) == {("shortest-double", True)}


@pytest.mark.parametrize("software", [b"1.6.0", b"1.6.11", b"1.7.0", b""])
def test_integers_with_logical_shifts_are_right_where_they_belong(software, checked):
    """Readers make no use of them, and so lose nothing."""
    report = checked(of_generation(software, logical_shifts=True))
    assert {(each.rule, each.severity) for each in report.findings} == {("PB621", "warning")}
    assert report.ok


@pytest.mark.parametrize("software", [b"1.6.12", b"1.7.1", b"2.2.2"])
def test_integers_with_logical_shifts_by_others(software, checked):
    report = checked(of_generation(software, logical_shifts=True), diagnose=True)
    assert diagnoses(report) == {("logical-shifts", True)}
    assert diagnoses(checked(of_generation(software, logical_shifts=True))) == {None}


def test_the_shifts_of_today_are_wrong_in_files_of_1_6(checked):
    report = checked(of_generation(b"1.6.3", logical_shifts=False), diagnose=True)
    assert {each.rule for each in report.findings} == {"PB401", "PB621"}


def test_one_value_is_no_hypothesis(checked):
    assert diagnoses(checked(one_bit_cleared(), diagnose=True)) == {None}


# ------------------------------------------------------------------------------------------------
# Sound files


def problems(report):
    return [each for each in report.findings if each.severity == "error"]


def test_all_types_by_pyarrow(tmp_path):
    table = all_types()
    path = tmp_path / "a.orc"
    orc.write_table(
        table, path, row_index_stride=STRIDE, bloom_filter_columns=list(range(1, 23)),
        compression="zstd", bloom_filter_fpp=0.01,
    )  # fmt: skip
    report = validate(path)
    assert {each.column for each in problems(report)} <= {"byte", "timestamp"}
    assert {each.rule for each in report.findings} <= {"PB401", "PB405", "PB621", "PB627", "PB628"}
    assert report.checked.values > 20 * 0.5 * len(table)


def test_all_types_by_build(tmp_path):
    orc.write_table(all_types(), tmp_path / "a.orc", row_index_stride=STRIDE)
    path = tmp_path / "b.orc"
    leaves = ["byte", "float", "double", "string", "binary", "date", "timestamp", "decimal9",
              "decimal30", "list._elem", "map._key", "struct.b.c"]  # fmt: skip
    pb.build(tmp_path / "a.orc", path, columns=leaves, orc_streams="both")
    report = validate(path)
    # Of binary columns nobody asks, of elements no engine.
    assert {(each.rule, each.column) for each in report.findings} == {
        ("PB621", "binary"), ("PB628", "list._elem"), ("PB628", "map._key")
    }  # fmt: skip


def test_types_that_pyorc_writes_right(tmp_path):
    path = tmp_path / "a.orc"
    schema = "struct<i:int,s:string,v:varchar(9),d:double,b:binary>"
    with open(path, "wb") as out, pyorc.Writer(
        out, schema, row_index_stride=STRIDE, bloom_filter_columns=(0, 1, 2, 3, 4, 5),
        compression=pyorc.CompressionKind.SNAPPY,
    ) as writer:  # fmt: skip
        writer.writerows(
            (row, f"text {row}", f"v{row}", row / 3 + 1, bytes([row % 256] * 9))
            for row in range(ROWS)
        )
    report = validate(path)
    assert problems(report) == []
    assert {(each.rule, each.column) for each in report.findings} == {("PB621", "b")}


def test_both_kinds_of_streams_by_orc_java():
    report = validate(FIXTURES / "java_original.orc")
    assert [(each.rule, each.column) for each in report.findings] == [("PB621", "flag")]
    assert report.checked.values > 4000


def test_other_stored_values_are_no_evidence():
    """Each millisecond before 1970 is stored, so what a missing one would be, rounded up, is found anyway."""
    values = Times.of([-millis * 1_000_000 + 500_000 for millis in range(2, 402)])
    is_missing = np.arange(400) % 40 == 20
    column, form = SimpleNamespace(kind="TIMESTAMP"), OrcKeyForm()
    filter = KHashFilter.empty(num_bits=6400, num_hashes=7)
    filter.insert_hashes(lookup_hashes(column, values, form)[~is_missing, 0])
    lacking = orc_writers.Lacking(
        column=column,
        key_form=form,
        generation=Generation(0, 8, "", (0, 12)),
        filter=filter,
        values=values,
        is_missing=is_missing,
        foreign_bits=0,
        first_row=0,
        num_rows=400,
    )
    rounded = orc_writers.rounded_towards_1970(selected(values, is_missing, orc_writers.MAX_SAMPLE))
    assert filter.check_hashes(rounded).all()
    assert orc_writers.diagnose(lacking) is None


def test_what_is_found_is_json(checked):
    report = document_of(checked(one_bit_cleared(), diagnose=True))
    assert list(json.loads(json.dumps(report))) == ["path", "format", "ok", "findings", "checked"]
    (found,) = report["findings"]
    assert (found["stripe"], found["index_group"]) == (0, 0)
    assert "row_group" not in found


def test_every_hypothesis_is_documented():
    text = (ROOT / "docs" / "diagnosis.md").read_text().split("## ORC files")[1]
    documented = re.findall(r"^\| `([a-z0-9-]+)` \|", text, re.MULTILINE)
    assert sorted(documented) == sorted(hypothesis_names())


def hypothesis_names():
    """Of columns of every kind."""
    names = {
        "bits-inverted",
        "bytes-lost",
        "closed-early",
        "opened-late",
        *(name for name, _ in orc_writers._BY_CPP.values()),
    }
    values = {
        "BYTE": Numbers(np.empty(0, np.int8)),
        "FLOAT": Numbers(np.empty(0, np.float32)),
        "CHAR": Texts.of([]),
        "DECIMAL": Decimals.of([], 0),
        "TIMESTAMP": Times.of([]),
    }
    for kind in KINDS:
        lacking = orc_writers.Lacking(
            column=SimpleNamespace(kind=kind),
            key_form=OrcKeyForm(),
            generation=None,
            filter=None,
            values=values.get(kind, Numbers(np.empty(0, np.int64))),
            is_missing=np.zeros(0, np.bool_),
            foreign_bits=0,
            first_row=0,
            num_rows=0,
        )
        names |= {name for name, *_ in orc_writers._hypotheses(lacking)}
    return names


def test_every_key_is_documented():
    text = (
        (ROOT / "docs" / "json.md").read_text().split("## `pbloom validate`")[1].split("\n## ")[0]
    )
    keys = {field.name for kind in (ValidationReport, Finding) for field in fields(kind)}
    keys = keys - {"place"} | {"row_group", "stripe", "index_group"}
    assert keys <= set(re.findall(r"`(\w+)`", text))


def test_the_command_for_stripes_without_filters_builds_them(tmp_path):
    """Of lists, whose index groups have more elements than rows: without --ndv, it would skip them again."""
    path = tmp_path / "a.orc"
    few, many = (
        [[number] for number in range(3_000)],
        [[*range(at, at + 4)] for at in range(0, 12_000, 4)],
    )
    orc.write_table(
        pa.table({"l": few + many}), path, stripe_size=1, batch_size=1_000, row_index_stride=1_000
    )
    report = pb.build(path, columns="l._elem", in_place=True)
    assert report.filters
    assert report.skipped
    [command] = {each.next for each in pb.validate(path).findings if each.rule == "PB307"}
    assert command == f"pbloom build {path} -c l._elem --in-place --ndv 4000"
    assert outcome(*command.split()[1:]).code == 0
    assert "PB307" not in {each.rule for each in pb.validate(path).findings}
