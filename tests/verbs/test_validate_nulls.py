"""What validate makes of chunks of nulls, whatever the footer says, or does not say, of them."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import parquet_bloom as pb
from parquet_bloom.container import OneFilter
from parquet_bloom.files import open_file
from parquet_bloom.verbs.validate import ValidationReport, validate

ROWS = 100

NULLS = {
    "nulls": pa.nulls(ROWS, pa.int64()),
    "empty lists": pa.array([[]] * ROWS, pa.list_(pa.int64())),
    "structs of nulls": pa.array([{"x": None}] * ROWS, pa.struct([("x", pa.int64())])),
}


# pyarrow makes no filter without values larger than one block.
ONE_BLOCK = "PB202"


def rules(report: ValidationReport) -> list[str]:
    return [found.rule for found in report.findings if found.rule != ONE_BLOCK]


def written(path: Path, array: pa.Array, **options: object) -> None:
    """pyarrow's file of one column with filters."""
    table = pa.table({"a": array})
    pq.write_table(table, path)
    with pb.open(path) as file:
        (leaf,) = file.columns
    pq.write_table(table, path, bloom_filter_options={leaf: True}, **options)


@pytest.mark.parametrize("name", NULLS)
@pytest.mark.parametrize("dictionary", [False, True])
def test_a_filter_without_bits_is_right_where_there_are_no_values(tmp_path, name, dictionary):
    """Also where no statistics count the nulls; then no look at the footer alone can tell."""
    path = tmp_path / "nulls.parquet"
    for statistics, without_deep in ((True, ["PB308"]), (False, [])):
        written(path, NULLS[name], write_statistics=statistics, use_dictionary=dictionary)
        assert rules(validate(path)) == ["PB308"]
        assert set(rules(validate(path, deep=False))) - {"PB305"} == set(without_deep)


def test_entries_of_a_dictionary_that_no_row_has_need_no_bits(tmp_path):
    path = tmp_path / "unused.parquet"
    indices = pa.nulls(ROWS, pa.int32())
    unused = pa.DictionaryArray.from_arrays(indices, pa.array(["x", "y"]))
    written(path, unused)
    report = validate(path)
    assert rules(report) == ["PB308"]
    assert report.checked.values == 0


def test_a_filter_without_bits_is_wrong_where_the_pages_have_values(tmp_path):
    """The nulls are not counted, and the values tell."""
    path = tmp_path / "values.parquet"
    pq.write_table(
        pa.table({"a": [None, *range(ROWS)]}), path, write_statistics=False, use_dictionary=False
    )
    pb.build(path, in_place=True, columns=["a"])
    data = bytearray(path.read_bytes())
    with open_file(path) as file:
        chunk = file.chunk(0, "a")
        end = chunk.bloom_filter_offset + chunk.bloom_filter_length
        num_bytes = file.bloom_filter(OneFilter(0, "a")).num_bytes
    data[end - num_bytes : end] = bytes(num_bytes)
    path.write_bytes(data)
    (found,) = validate(path).findings
    assert (found.rule, found.expected) == ("PB402", f"bits of {ROWS} values")


# ------------------------------------------------------------------------------------------------
# Chunks without a filter


@pytest.fixture
def second_group_only(tmp_path):
    """Row group 0 has no values, so build gives it no filter; the footer counts no nulls."""
    path = tmp_path / "built.parquet"
    values = pa.array([None] * ROWS + list(range(ROWS)), pa.int64())
    pq.write_table(
        pa.table({"a": values}), path,
        row_group_size=ROWS, write_statistics=False, use_dictionary=False,
    )  # fmt: skip
    report = pb.build(path, in_place=True, columns=["a"])
    assert [item.reason for item in report.skipped] == ["no non-null values"]
    return path


def test_what_build_leaves_out_is_not_missed(second_group_only):
    assert validate(second_group_only, require=["a"]).findings == ()


def test_without_the_pages_nobody_knows_that_there_are_no_values(second_group_only):
    assert rules(validate(second_group_only, require=["a"], deep=False)) == ["PB307", "PB310"]


def test_what_has_values_and_no_filter_is_missed(second_group_only):
    pb.strip(second_group_only, in_place=True, columns=["a"])
    (found,) = validate(second_group_only, require=["a"]).findings
    assert (found.rule, found.row_group) == ("PB310", 1)


def test_row_groups_that_want_a_filter_are_counted_without_those_that_do_not(tmp_path):
    path = tmp_path / "some.parquet"
    values = pa.array([None] * ROWS + list(range(3 * ROWS)), pa.int64())
    pq.write_table(pa.table({"a": values}), path, row_group_size=ROWS, use_dictionary=False)
    pb.build(path, in_place=True, columns=["a"], row_groups=[1, 3])
    (found,) = validate(path).findings
    assert found.rule == "PB307"
    assert found.message == "no filter in 1 of 3 row groups that have values; the first is 2"
    assert (found.expected, found.found) == ("3", "2")
