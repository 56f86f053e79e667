"""Columns in the names of folders: those, of those types, that pyarrow finds there."""

from __future__ import annotations

import random
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

import parquet_bloom as pb

# What numbers and texts look like, and what only seems to be one.
VALUES = {
    "numbers": ["7", "-3", "0", "2147483647", "__HIVE_DEFAULT_PARTITION__"],
    "large": ["7", "2147483648"],
    "texts": ["a b", "ü/%", "x=y", "7", "+7", "", "__HIVE_DEFAULT_PARTITION__"],
    "zeros": ["007", "7", "-0"],
    "hex": ["0x1F", "5"],
    "spaces": [" 7", "8"],
}


@pytest.mark.parametrize("seed", range(4))
def test_rows_are_those_of_a_dataset_of_pyarrow(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    folder = tmp_path / "lake=0"
    names = chance.sample(list(VALUES), 2)
    for number in range(6):
        parts = [f"{name}={quote(chance.choice(VALUES[name]), safe='=')}" for name in names]
        path = folder.joinpath(*parts, f"{number}.parquet")
        path.parent.mkdir(parents=True, exist_ok=True)
        stored = {"id": [number, number + 1, 99], "text": ["a", "b", None]}
        pq.write_table(pa.table(stored), path, row_group_size=2)
    everything = pads.dataset(folder, partitioning="hive")
    table = everything.to_table()
    found = pb.dataset(folder, {"id": 99})
    assert found.schema.equals(everything.schema)
    assert found.to_table(filter=pc.field("id") == 99).equals(table.filter(pc.field("id") == 99))
    for _ in range(15):
        name = chance.choice(names)
        kind = table.schema.field(name).type
        value = chance.choice(table[name].drop_null().to_pylist() or [1])
        other = chance.choice(["id", "text"])
        any_of = [
            [(name, "==", value), ("id", ">", 1)],
            [(other, "==", 99 if other == "id" else "b")],
        ]
        wanted = ((pc.field(name) == pa.scalar(value, kind)) & (pc.field("id") > 1)) | (
            pc.field(other) == (99 if other == "id" else "b")
        )
        columns = chance.sample(["id", "text", *names], chance.randrange(1, 4))
        rows = pb.rows(folder, any_of, columns)
        expected = table.filter(wanted).select(columns)
        assert rows.schema.equals(expected.schema)
        assert rows.to_pylist() == expected.to_pylist()


def test_they_go_before_columns_of_the_file(tmp_path: Path) -> None:
    for day, stored in ((1, 5), (2, 6)):
        path = tmp_path / f"day={day}" / "0.parquet"
        path.parent.mkdir()
        pq.write_table(pa.table({"day": pa.array([stored], pa.int32()), "id": [3]}), path)
    table = pads.dataset(tmp_path, partitioning="hive").to_table(filter=pc.field("id") == 3)
    assert pb.rows(tmp_path, {"id": 3}).equals(table)
    assert table["day"].to_pylist() == [1, 2]
    assert pb.rows(tmp_path, {"day": 5}).num_rows == 0


def test_files_of_other_partitions_are_not_read(tmp_path: Path) -> None:
    for day in range(5):
        path = tmp_path / f"day={day}" / "0.parquet"
        path.parent.mkdir()
        pq.write_table(pa.table({"id": [3, 4]}), path)
    found = pb.rows(tmp_path, {"day": 3, "id": 4})
    assert found.to_pylist() == [{"id": 4, "day": 3}]
    (tmp_path / "day=2" / "0.parquet").write_bytes(b"no Parquet")
    assert pb.rows(tmp_path, {"day": 3, "id": 4}).equals(found)
    assert b'"row_groups_read": 1' in found.schema.metadata[b"parquet_bloom"]
    nothing = pb.rows(tmp_path, {"day": 7})
    assert (nothing.num_rows, nothing.column_names) == (0, ["id", "day"])
    with pytest.raises(
        pb.ValueTypeError, match=r"filters: .* matching input types \(int32, string\)"
    ):
        pb.rows(tmp_path, {"day": "3"})
