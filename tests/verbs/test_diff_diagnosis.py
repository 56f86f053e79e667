"""diff --diagnose: whose filter lacks which values, and what its writer did instead."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from make import orc_defects
from make.commands import outcome
from make.defects_files import integers, sound
from make.defects_truth import murmur3, of_values
from make.filters import bitset, with_bits, with_bitset
from make.parquet_files import built, written

from parquet_bloom.diagnosis.diagnosis import Diagnosis
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.verbs.diff import diff


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
            " 1361930890: 1,000 of 1,000 values that were tried are found that way"
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
            " values that were tried are found that way"
        ),
        "b: column a, row group 0: nothing wrong is found",
    ]


@pytest.mark.usefixtures("here")
def test_index_groups():
    of_a, of_b, done = said("good.orc", "exchanged.orc")
    assert of_a == "a: column a, stripe 0, index groups 0, 1: nothing wrong is found"
    assert of_b == (
        "b: error PB401 false-negatives: column a, stripe 0, index groups 0, 1; the first: 989 of 1,000 stored values are"
        " not in the filter: readers lose their rows (expected 0, found 989); in 989 rows, 0 to 999"
    )
    assert done == (
        "    the filter is that of stripe 0, index group 1 in a, which lacks no value there; 1 more in a similar way"
        " (--verbose)"
    )


@pytest.mark.usefixtures("here")
def test_bits_that_exclude_nothing():
    data = sound()
    Path("ones.parquet").write_bytes(with_bitset(data, b"\xff" * len(bitset(data, 0)), 0))
    assert (
        "b: error PB303 all-bits-set: column a, row group 0: every bit is set: the filter excludes nothing; the values"
        " can set at most 16,000 of its 32,768 bits, so it was overwritten, or has values from elsewhere"
    ) in said("good.parquet", "ones.parquet")


def test_what_was_tried_is_listed_if_asked_for(others):
    copied(others, 1, 1)
    (short,) = (line for line in said("copied.parquet", "a.parquet") if "none of" in line)
    assert short.endswith("; tried on 997 missing values, in ways that --verbose lists")
    (long,) = (
        line for line in said("copied.parquet", "a.parquet", "--verbose") if "none of" in line
    )
    assert long.endswith(" that were not inserted]")


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
    assert [each["wrong_b"] for each in others] == [[], [], []]


@pytest.mark.usefixtures("here")
def test_nothing_is_said_where_nothing_differs_and_nothing_is_wrong():
    assert outcome("diff", "good.parquet", "good.parquet", "--diagnose").output == ""


@pytest.fixture
def others(tmp_path, monkeypatch):
    """Two files with other values, of three row groups."""
    monkeypatch.chdir(tmp_path)
    data = {}
    for name, start in (("a.parquet", 100_000), ("b.parquet", 500_000)):
        table = pa.table({"id": [f"u{start + row}" for row in range(3000)]})
        data[name] = built(written(table, row_group_size=1000), ["id"])
        (tmp_path / name).write_bytes(data[name])
    return data


def copied(others, from_group, *to_groups):
    """The first file with a filter of the second one."""
    data = others["a.parquet"]
    for group in to_groups:
        data = with_bitset(data, bitset(others["b.parquet"], from_group), group)
    Path("copied.parquet").write_bytes(data)


def test_a_filter_that_is_the_same_in_both_is_wrong_in_one(others):
    copied(others, 1, 1)
    ran = outcome("diff", "copied.parquet", "b.parquet", "--diagnose")
    rows = [line.split("\t")[:3] for line in ran.stdout.splitlines() if "\t" in line]
    assert rows[1:] == [["0", "id", "different"], ["1", "id", "same"], ["2", "id", "different"]]
    wrong, *more = said("copied.parquet", "b.parquet")
    assert wrong.startswith(
        "a: error PB401 false-negatives: column id, row group 1: 997 of 1,000 stored values"
    )
    assert more == [
        "    the filter is that of row group 1 in b, which lacks no value there",
        "a: column id, row groups 0, 2: nothing wrong is found",
        "b: column id, row groups 0, 1, 2: nothing wrong is found",
    ]


def test_so_it_is_where_no_filter_differs(others):
    for group in range(3):
        copied(others, group, group)
        others["a.parquet"] = Path("copied.parquet").read_bytes()
    ran = outcome("diff", "copied.parquet", "b.parquet", "--diagnose")
    assert ran.code == 0
    assert (
        "\na: error PB401 false-negatives: column id, row groups 0, 1, 2; the first: " in ran.stdout
    )
    assert ran.stdout.endswith("\nb: column id, row groups 0, 1, 2: nothing wrong is found\n")
    assert outcome("diff", "copied.parquet", "b.parquet").output == ""


def test_the_filter_of_another_row_group_of_the_other_file(others):
    copied(others, 0, 1, 2)
    report = diff("b.parquet", "copied.parquet", diagnose=True)
    assert [found.status for found in report.filters] == ["different"] * 3
    assert [
        [(each.diagnosis, each.undiagnosed) for each in found.wrong_b] for found in report.filters
    ] == [
        [],
        *[[(Diagnosis(
            "filter-of-another-file",
            "the filter is that of row group 0 in a, which lacks no value there",
            0,
            0,
        ), None)]] * 2,
    ]  # fmt: skip


def of_folded(name_a, name_b):
    """How two files differ in a row group, and what the first one's filter is said to be."""
    found = diff(name_a, name_b, row_groups=1, diagnose=True).filters[0]
    (wrong,) = (each for each in found.wrong_a if each.rule == "PB401")
    return found.reason, wrong.diagnosis and wrong.diagnosis.explanation


def test_so_it_is_of_filters_that_are_folded(others):
    """As the table says, whichever is the larger one."""
    there = SplitBlockBloomFilter.from_bytes(bitset(others["b.parquet"], 1))
    copied(others, 1, 1)
    smaller = with_bits(others["b.parquet"], there.fold().to_bytes(), 1)
    Path("smaller.parquet").write_bytes(smaller)
    that = "the filter is that of row group 1 in b, which lacks no value there"
    expected = "b is a, folded by 2", f"folded by 2, {that}"
    assert of_folded("copied.parquet", "smaller.parquet") == expected
    Path("copied.parquet").write_bytes(with_bits(others["a.parquet"], there.fold(4).to_bytes(), 1))
    expected = "a is b, folded by 4", f"{that}, folded by 4"
    assert of_folded("copied.parquet", "b.parquet") == expected


def test_a_folded_one_that_finds_most_values_may_be_any(others):
    there = SplitBlockBloomFilter.from_bytes(bitset(others["b.parquet"], 1))
    folded = there.fold(there.num_blocks // 8)
    assert 0.5 < folded.fpp < 1
    Path("copied.parquet").write_bytes(with_bits(others["a.parquet"], folded.to_bytes(), 1))
    expected = f"a is b, folded by {there.num_blocks // 8}", None
    assert of_folded("copied.parquet", "b.parquet") == expected


def test_a_filter_that_is_wrong_in_both_says_nothing_of_either(others):
    copied(others, 1, 1)
    (first, *_) = diff("copied.parquet", "copied.parquet", row_groups=1, diagnose=True).filters
    for (each,) in (first.wrong_a, first.wrong_b):
        assert each.diagnosis is None
        assert "or be those of another file, or the bits" in each.undiagnosed
