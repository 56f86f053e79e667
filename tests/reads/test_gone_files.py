"""Reads of all files that an index knows, some of which are gone: rows are never lost in silence."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.delta_tables import make_table, rows_of

import parquet_bloom as pb

READS: dict[str, Callable[[Path, Any], int]] = {
    "rows": lambda index, filters: pb.rows(None, filters, index=index).num_rows,
    "row groups": lambda index, filters: pb.row_groups(None, filters, index=index).num_rows,
    "plan": lambda index, filters: pb.read_plan(None, filters, index=index).files_left,
    "dataset": lambda index, filters: len(
        [*pb.dataset(None, filters, index=index).get_fragments()]
    ),
    "polars": lambda index, filters: pb.polars_source(None, filters, index=index).collect().height,
}
reads = pytest.mark.parametrize("read", READS.values(), ids=READS)

GONE = (
    "gone since it was indexed, and may have had such rows: index add brings the index up to date"
)


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Four files of one row, by numbers, in two folders."""
    for number in range(4):
        folder = tmp_path / "lake" / f"half={'ab'[number // 2]}"
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"id": [number], "t": [number]}), folder / f"{number}.parquet")
    return tmp_path / "lake"


@pytest.fixture
def index(lake: Path, tmp_path: Path) -> Path:
    pb.Index.build(tmp_path / "ids.index", lake, "id").close()
    return tmp_path / "ids.index"


def refusal(*paths: Path) -> str:
    return rf"{re.escape(GONE)}: '{re.escape(', '.join(map(str, paths)))}'$"


@reads
def test_a_file_that_may_have_had_such_rows_is_missed(
    read: Callable[[Path, Any], int], lake: Path, index: Path
) -> None:
    gone = lake / "half=b" / "2.parquet"
    gone.unlink()
    for filters in ({"id": 2}, {"t": 2}, {"t": 1}, {"id": [1, 2]}, [("id", ">", 2)], {}):
        with pytest.raises(FileNotFoundError, match=refusal(gone)):
            read(index, filters)
    # As for find, it had no other values than when it was indexed.
    assert read(index, {"id": 1}) == 1
    assert read(index, {"id": 3, "t": 3}) == 1
    # Nor is it in another folder than it was.
    assert read(index, {"half": "a"}) == 2
    assert read(index, {"half": "a", "t": 1}) == 1
    with pb.Index(index) as found:
        found.add()
    assert read(index, {"id": 2}) == 0
    assert read(index, {}) == 3


@reads
def test_where_nothing_is_left_nothing_is_read(
    read: Callable[[Path, Any], int], lake: Path, index: Path, tmp_path: Path
) -> None:
    """Nobody tells the columns; it may be mounted elsewhere, or not now."""
    lake.rename(tmp_path / "elsewhere")
    paths = [lake / f"half={'ab'[number // 2]}" / f"{number}.parquet" for number in range(4)]
    for filters in ({"id": 2}, {"id": 9}):
        with pytest.raises(FileNotFoundError, match=refusal(*paths)):
            read(index, filters)
    with pb.Index(index) as found:
        found.remove(lake)
    none = "the index has no files with id, expected some"
    with pytest.raises(FileNotFoundError, match=f"{none}: '{re.escape(str(index))}'$"):
        read(index, {"id": 2})


@pytest.mark.filterwarnings("ignore::parquet_bloom.LeftOutWarning")
@reads
def test_a_folder_beside_tables_is_missed(read: Callable[[Path, Any], int], tmp_path: Path) -> None:
    table = make_table(tmp_path / "events")
    folder = tmp_path / "plain"
    folder.mkdir()
    pq.write_table(rows_of(5000, 1), folder / "plain.parquet")
    wanted = {"id": str(rows_of(5000, 1)["id"][0])}
    with pb.Index.build(tmp_path / "index", table, "id", table="auto") as found:
        found.add(folder)
    assert read(tmp_path / "index", wanted) == 1
    folder.rename(tmp_path / "elsewhere")
    told = "nothing is there any more, and the index is about it: index remove forgets it"
    with pytest.raises(FileNotFoundError, match=f"{told}: '{re.escape(str(folder))}'$"):
        read(tmp_path / "index", wanted)


def test_what_polars_asks_for_later_is_missed(lake: Path, index: Path) -> None:
    gone = lake / "half=b" / "2.parquet"
    source = pb.polars_source(None, index=index)
    of_three = source.filter(pl.col("id") == 3)
    of_two = source.filter(pl.col("id") == 2)
    assert (of_three.collect().height, of_two.collect().height) == (1, 1)
    gone.unlink()
    assert of_three.collect().height == 1
    with pytest.raises(Exception, match=refusal(gone)):
        of_two.collect()


def test_a_file_whose_values_nobody_knows_is_missed(lake: Path, tmp_path: Path) -> None:
    """Though the index has a state of it."""
    pq.write_table(pa.table({"id": [True]}), lake / "half=a" / "0.parquet")
    pb.Index.build(tmp_path / "index", lake, "id").close()
    (lake / "half=a" / "0.parquet").unlink()
    with pytest.raises(FileNotFoundError, match=GONE):
        pb.rows(None, {"id": 3}, index=tmp_path / "index")
