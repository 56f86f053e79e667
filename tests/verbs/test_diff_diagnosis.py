"""diff --diagnose: whose filter lacks which values, and what its writer did instead."""

import json

import pytest
from make import orc_defects
from make.commands import outcome
from make.defects_files import integers, sound
from make.defects_truth import murmur3, of_values


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, data in {
        "good.parquet": sound(),
        "murmur3.parquet": murmur3(),
        "cut.parquet": of_values(integers(0)[:1600], integers(1)),
        "good.orc": orc_defects.sound(),
        "exchanged.orc": orc_defects.exchanged(),
    }.items():  # fmt: skip
        (tmp_path / name).write_bytes(data)


def said(*arguments):
    """The lines below the table, without examples."""
    ran = outcome("diff", *arguments, "--diagnose")
    assert ran.code == 1
    lines = ran.stdout.splitlines()
    return [line.partition("; for example")[0] for line in lines if "\t" not in line]


@pytest.mark.usefixtures("here")
def test_another_hash_is_named():
    assert said("good.parquet", "murmur3.parquet") == [
        "a: column a, row group 0: nothing wrong is found",
        (
            "b: error PB401 false-negatives: column a, row group 0: 1,996 of 2,000 stored values are not in the filter: readers"
            " lose their rows (expected 0, found 1996); in 1,996 rows, 0 to 1999, page 0"
        ),
        (
            "    the writer hashed each value using the first 64 bits of Murmur3 x64_128 with seed"
            " 1361930890: 1,000 of 1,000 values are found that way"
        ),
    ]


@pytest.mark.usefixtures("here")
def test_the_values_that_one_side_lacks_are_named():
    assert said("cut.parquet", "good.parquet") == [
        (
            "a: error PB401 false-negatives: column a, row group 0: 400 of 2,000 stored values are not in the filter: readers lose"
            " their rows (expected 0, found 400); in 400 rows, 1600 to 1999, page 0, only at the end"
            " of the row group"
        ),
        (
            "    the writer closed the filter too early, before the values of the last rows: 1,600 of 1,600"
            " values are found that way"
        ),
        "b: column a, row group 0: nothing wrong is found",
    ]


@pytest.mark.usefixtures("here")
def test_index_groups():
    of_a, of_b, tried = said("good.orc", "exchanged.orc")
    assert of_a == "a: column a, stripe 0, index groups 0, 1: nothing wrong is found"
    assert of_b == (
        "b: error PB401 false-negatives: column a, stripe 0, index groups 0, 1 (the first of them): 989 of 1,000 stored values are"
        " not in the filter: readers lose their rows (expected 0, found 989); in 989 rows, 0 to 999"
    )
    assert (
        tried
        == "    nothing explains it; tried on 989 missing values: logical-shifts, bits-inverted, closed-early, opened-late"
    )


@pytest.mark.usefixtures("here")
def test_json():
    def filters(*arguments):
        return json.loads(outcome("diff", *arguments, "--json").stdout)["filters"]

    for found in filters("good.parquet", "cut.parquet"):
        assert found["wrong_a"] is found["wrong_b"] is None
    first, *others = filters("good.parquet", "cut.parquet", "--diagnose")
    assert first["wrong_a"] == []
    (wrong,) = first["wrong_b"]
    assert (wrong["rule"], wrong["found"], wrong["rows"]["first"]) == ("PB401", "400", 1600)
    assert {each["wrong_b"] for each in others} == {None}


@pytest.mark.usefixtures("here")
def test_nothing_is_read_where_nothing_differs():
    assert outcome("diff", "good.parquet", "good.parquet", "--diagnose").output == ""
