"""Filters of a shredded VARIANT: a typed leaf has not all values of its field, a residual has encoded ones."""

import json

import pytest
from make.commands import outcome
from make.variant import RESIDUAL, TYPED, shredded

import parquet_bloom as pb
from parquet_bloom.files import open_file
from parquet_bloom.parquet.footer import shredded as leaves

NOTE = "about the typed part of v.a only: other values of it can be in v.value and v.typed_value.a.value"


@pytest.fixture(params=[True, False], ids=["annotated", "bare"])
def path(tmp_path, request):
    """40 is in row group 0 as a number and in row group 1 as text, which `v.a::INT = 40` finds, too."""
    path = tmp_path / "variant.parquet"
    rows = [[(0, 40), (1, 47)], [(2, 7), (3, "40")], [(4, 7), (5, 8)]]
    path.write_bytes(shredded(rows, annotated=request.param))
    pb.build(path, in_place=True, columns=[TYPED], force=True)
    return path


def test_the_report_says_what_it_is_not_about(path):
    report = pb.probe(path, TYPED, [40, 99])
    assert [each.verdicts for each in report.results] == [
        ("maybe", "absent", "absent"),
        ("absent", "absent", "absent"),
    ]
    assert report.caveat == NOTE
    assert pb.probe(path, "n", 1).caveat is None


def test_the_command_says_it_wherever_it_answers(path):
    asked = ("probe", path, "-c", TYPED, "-v", "40")
    assert outcome(*asked).stdout.endswith(f"\nnote: {NOTE}\n")
    assert outcome(*asked, "--explain").stdout.endswith(f"\nnote: {NOTE}\n")
    assert json.loads(outcome(*asked, "--json").stdout)["caveat"] == NOTE
    groups = outcome(*asked, "--groups-to-read")
    assert groups.stdout == f"{path}\t0\t0\t2\n"
    assert groups.stderr == f"pbloom: {path}: note: {NOTE}\n"


def test_the_summary_of_many_files_says_it(path, tmp_path):
    other = tmp_path / "other.parquet"
    other.write_bytes(path.read_bytes())
    answer = outcome("probe", path, other, "-c", TYPED, "-v", "99")
    assert f": note: {NOTE}\n" in answer.stdout


def test_other_columns_have_no_caveat(path):
    document = json.loads(outcome("probe", path, "-c", "n", "-v", "1", "--json").stdout)
    assert "caveat" not in document


def test_encoded_values_are_no_values(path):
    about = "about the encoded bytes of v.typed_value.a.value only, not about values of v.a"
    assert pb.probe(path, RESIDUAL, b"40").caveat == about


def test_which_part_a_leaf_is(path):
    with open_file(path) as file:
        found = [leaf for leaf in file.select(None) if leaves.is_in_variant(leaf)]
    assert [leaf.name for leaf in found] == ["v.metadata", "v.value", RESIDUAL, TYPED]
    assert [leaves.is_typed(leaf) for leaf in found] == [False, False, False, True]
    assert [leaves.is_field(leaf) for leaf in found] == [False, False, False, True]
    assert [leaves.field_of(leaf) for leaf in found] == ["v", "v", "v.a", "v.a"]


def test_advise_recommends_no_encoded_values(path):
    advice = {each.column: each for each in pb.advise(path).columns}
    encoded = "part of a VARIANT that holds encoded values: no predicate asks for their bytes"
    for column in ("v.metadata", "v.value", RESIDUAL):
        assert (advice[column].verdict, advice[column].reason) == ("skip", encoded)
        assert not any(each.uses for each in advice[column].engines)
    assert [each.engine for each in advice[TYPED].engines if each.uses] == ["DuckDB"]
