"""The columns of a read do not depend on the values that are asked: one rule for all three."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import parquet_bloom as pb
from parquet_bloom.reads.columns import telling

# In the first file only, in the second only, in both, in none.
VALUES = [[3], [13], [3, 13], [99]]


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A column was added, and another one is narrower."""
    folder = tmp_path / "lake"
    folder.mkdir()
    old = {"id": pa.array(range(10)), "size": pa.array(range(10), pa.int32())}
    pq.write_table(pa.table(old), folder / "0.parquet", row_group_size=2)
    new = {
        "id": pa.array(range(10, 20)),
        "extra": [f"e{number}" for number in range(10)],
        "size": pa.array(range(10), pa.int16()),
    }
    pq.write_table(pa.table(new), folder / "1.parquet", row_group_size=2)
    return folder


def by_rows(lake: Any, filters: dict[str, Any], **given: Any) -> list[dict[str, Any]]:
    return pb.rows(lake, filters, **given).to_pylist()


def by_dataset(lake: Any, filters: dict[str, Any]) -> list[dict[str, Any]]:
    ((column, values),) = filters.items()
    return pb.dataset(lake, filters).to_table(filter=pc.field(column).isin(values)).to_pylist()


def by_polars(lake: Any, filters: dict[str, Any]) -> list[dict[str, Any]]:
    ((column, values),) = filters.items()
    source = pb.polars_source(lake, filters).filter(pl.col(column).is_in(values))
    return source.collect().to_dicts()


READS = [by_rows, by_dataset, by_polars]


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("ids", VALUES, ids=str)
def test_they_are_those_of_the_first_file(lake: Path, read: Any, ids: list[int]) -> None:
    rows = [{"id": number, "size": number % 10} for number in ids if number < 20]
    assert read(lake, {"id": ids}) == rows
    # Whichever is named first.
    assert read([lake / "1.parquet", lake / "0.parquet"], {"id": ids}) == rows


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("text", ["e4", "none"])
def test_those_of_the_filters_are_among_them(lake: Path, read: Any, text: str) -> None:
    rows = [{"id": 14, "size": 4, "extra": "e4"}] if text == "e4" else []
    assert read(lake, {"extra": [text]}) == rows


def test_so_are_those_of_filters_that_exclude_nothing(lake: Path) -> None:
    found = pb.rows(lake, [("extra", "!=", "e4"), ("id", ">", 17)])
    assert found.to_pylist() == [
        {"id": 18, "size": 8, "extra": "e8"},
        {"id": 19, "size": 9, "extra": "e9"},
    ]
    assert pb.dataset(lake, [[("extra", "!=", "e4")], [("id", "==", 3)]]).schema.names == [
        *("id", "size", "extra")
    ]


@pytest.mark.parametrize("ids", VALUES, ids=str)
def test_those_that_are_named_have_their_types(lake: Path, ids: list[int]) -> None:
    found = pb.rows(lake, {"id": ids}, ["extra", "id"])
    texts = [None if number < 10 else f"e{number - 10}" for number in ids if number < 20]
    assert found["extra"].to_pylist() == texts
    assert found.schema.equals(pa.schema({"extra": pa.string(), "id": pa.int64()}))


def test_a_source_without_filters_has_nulls_where_a_file_lacks_a_column(tmp_path: Path) -> None:
    """Of the first file, which has it, and of slices and whole files beside it."""
    for number in range(3):
        table = pa.table({"id": range(8)})
        if number != 1:
            table = table.append_column("extra", pa.array([f"{number}"] * 8))
        path = tmp_path / f"day={'a' if number == 2 else number}" / "0.parquet"
        path.parent.mkdir()
        pq.write_table(table, path, row_group_size=2)
    for wanted in (pl.col("id") == 3, pl.col("id").is_in([3])):
        found = pb.polars_source(tmp_path).filter(wanted).select("day", "extra").collect()
        assert found.rows() == [("0", "0"), ("1", None), ("a", "2")]


def test_a_source_of_files_whose_types_differ(lake: Path) -> None:
    pq.write_table(pa.table({"id": ["3"], "size": pa.array([1], pa.int32())}), lake / "2.parquet")
    # Of which older versions of polars make their own.
    kinds = pb.UnsupportedError, pl.exceptions.ComputeError
    with pytest.raises(kinds, match="polars: data type mismatch for column id") as said:
        pb.polars_source(lake).collect()
    assert "hint" not in str(said.value)
    if isinstance(said.value, pb.UnsupportedError):
        assert str(said.value).endswith("; select other columns, or try pb.rows")
    assert pb.polars_source(lake).select("size").collect().height == 21


def test_files_of_other_partitions_have_the_columns(tmp_path: Path) -> None:
    for day, table in ((1, {"id": [1]}), (2, {"id": [2], "extra": ["x"]})):
        path = tmp_path / f"day={day}" / "0.parquet"
        path.parent.mkdir()
        pq.write_table(pa.table(table), path)
    assert by_rows(tmp_path, {"day": 1, "extra": "x"}) == []
    assert by_rows(tmp_path, {"day": 2, "extra": "x"}) == [{"id": 2, "day": 2, "extra": "x"}]
    with pytest.raises(pb.ColumnError, match="no column extar"):
        pb.rows(tmp_path, {"day": 1, "extar": "x"})


def test_files_that_an_index_excludes_have_the_columns(lake: Path, tmp_path: Path) -> None:
    """Though they stay closed, as long as others have them."""
    index = tmp_path / "ids.index"
    pb.Index.build(index, lake, "id").close()
    filters = {"id": 3, "extra": "e4"}
    plan = pb.read_plan(lake, filters, index=index)
    assert (plan.files_by_index, plan.files_without_column, plan.files_left) == (1, 1, 1)
    assert pb.row_groups(lake, filters, index=index).num_rows == 1
    assert pb.rows(lake, filters, index=index).num_rows == 0
    assert pb.dataset(lake, filters, index=index).schema.names == ["id", "size", "extra"]
    wanted = (pl.col("id") == 3) & (pl.col("extra") == "e4")
    assert pb.polars_source(lake, filters, index=index).filter(wanted).collect().height == 0
    for read in (pb.rows, pb.row_groups, pb.dataset, pb.read_plan):
        with pytest.raises(pb.ColumnError, match="no column extar"):
            read(lake, {"id": 3, "extar": "e4"}, index=index)


def test_files_that_another_condition_excludes_have_the_columns(lake: Path) -> None:
    for filters in ({"id": 3, "extra": "e4"}, {"extra": "e4", "id": 3}):
        assert pb.rows(lake, filters).num_rows == 0
        assert pb.row_groups(lake, filters).num_rows == 1
        assert pb.dataset(lake, filters).schema.names == ["id", "size", "extra"]


def test_what_an_index_leaves_changes_no_columns(lake: Path, tmp_path: Path) -> None:
    index = tmp_path / "ids.index"
    pb.Index.build(index, lake, "id").close()
    assert by_rows(lake, {"id": 13}, index=index) == [{"id": 13, "size": 3}]
    assert by_rows(lake, {"id": 3}, columns=["extra"], index=index) == [{"extra": None}]
    for files in (lake, None):
        for number, text in ((3, None), (13, "e3")):
            found = pb.find(files, "id", number, columns=["extra"], index=index).values
            assert found.equals(pa.table({"extra": pa.array([text], pa.string())}))
        with pytest.raises(pb.ColumnError, match="no column extar; did you mean extra"):
            pb.find(files, "id", 3, columns=["extar"], index=index)


def test_few_of_many_files_are_asked_for_columns() -> None:
    """The first and the last among them, each once."""
    for number in (0, 1, 2, 64, 65, 66, 1000, 100_000):
        paths = [f"{each:06d}" for each in range(number)]
        asked = telling(paths)
        assert asked[:2] == [*paths[:1], *paths[:0:-1]][:2]
        assert len({*asked}) == len(asked) <= 65
        assert len(asked) == number or len(asked) > 32
