"""Columns in the names of folders: those, of those types, that pyarrow finds there; and columns in the log of a Delta
table, as delta-rs reads them."""

from __future__ import annotations

import datetime
import decimal
import io
import random
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

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


@pytest.mark.parametrize(
    ("operator", "value"),
    [
        *((operator, datetime.date(2026, 1, 2)) for operator in ("==", "!=", "<", "<=", ">", ">=")),
        ("==", np.datetime64("2026-01-02")),
        ("in", [datetime.date(2026, 1, 2), "2026-01-03"]),
        ("not in", pa.array([datetime.date(2026, 1, 2)])),
    ],
    ids=str,
)
def test_dates_of_folders_are_compared_with_dates(
    tmp_path: Path, operator: str, value: object
) -> None:
    """As by who tells pyarrow that they are such."""
    for day in ("2026-01-01", "2026-01-02", "2026-01-03", "__HIVE_DEFAULT_PARTITION__"):
        path = tmp_path / f"day={day}" / "0.parquet"
        path.parent.mkdir()
        pq.write_table(pa.table({"id": [len(day), 3]}), path)
    schema = pa.schema([("day", pa.date32())])
    partitioning = pads.partitioning(schema, flavor="hive")
    rows = pads.dataset(tmp_path, partitioning=partitioning).to_table()
    days = [datetime.date(2026, 1, 2), datetime.date(2026, 1, 3)]
    wanted = {
        "==": pc.field("day") == days[0],
        "!=": pc.field("day") != days[0],
        "<": pc.field("day") < days[0],
        "<=": pc.field("day") <= days[0],
        ">": pc.field("day") > days[0],
        ">=": pc.field("day") >= days[0],
        "in": pc.field("day").isin(days),
        # Null is in no list.
        "not in": ~pc.field("day").isin(days[:1]),
    }
    expected = rows.filter(wanted[operator])
    found = pb.rows(tmp_path, [("day", operator, value)])
    assert found["day"].type == pa.string()
    assert found.to_pylist() == expected.cast(found.schema).to_pylist()


def test_they_go_before_columns_of_the_file(tmp_path: Path) -> None:
    for day, stored in ((1, 5), (2, 6)):
        path = tmp_path / f"day={day}" / "0.parquet"
        path.parent.mkdir()
        pq.write_table(pa.table({"day": pa.array([stored], pa.int32()), "id": [3]}), path)
    table = pads.dataset(tmp_path, partitioning="hive").to_table(filter=pc.field("id") == 3)
    assert pb.rows(tmp_path, {"id": 3}).equals(table)
    assert table["day"].to_pylist() == [1, 2]
    assert pb.rows(tmp_path, {"day": 5}).num_rows == 0


def keyed_lake(folder: Path, name: str, texts: list[str], stored: list[pa.Array]) -> Path:
    """A file for each of `texts`, which holds something else."""
    for text, values in zip(texts, stored, strict=True):
        path = folder / "lake" / f"{quote(name)}={text}" / "0.parquet"
        path.parent.mkdir(parents=True)
        pq.write_table(pa.table({name: values, "id": range(3, 3 + len(values))}), path)
    return folder / "lake"


@pytest.mark.parametrize(
    ("texts", "kind", "keys"),
    [
        (["01", "02"], pa.string(), ["01", "02"]),
        (["01", "02"], pa.large_string(), ["01", "02"]),
        (["01", "02"], pa.dictionary(pa.int32(), pa.string()), ["01", "02"]),
        (["1", "__HIVE_DEFAULT_PARTITION__"], pa.int64(), [1, None]),
        (["1", "2"], pa.float64(), [1.0, 2.0]),
        (
            ["2024-01-01", "2024-01-02"],
            pa.date32(),
            [datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)],
        ),
        (["false", "true"], pa.bool_(), [False, True]),
    ],
    ids=str,
)
def test_they_are_of_the_type_that_files_have(
    tmp_path: Path, texts: list[str], kind: pa.DataType, keys: list[object]
) -> None:
    """`01` is text there, and no number. polars says so, too; pyarrow needs to be told."""
    stored = [pa.array([keys[0]] * 2, kind), pa.array([keys[1]], kind)]
    lake = keyed_lake(tmp_path, "k", texts, stored)
    expected = pa.table({"k": pa.chunked_array(stored), "id": [3, 4, 3]})
    found = pb.rows(lake, [("id", ">", 0)])
    assert found.to_pylist() == expected.to_pylist()
    assert found.schema.field("k").type == kind
    assert pb.dataset(lake, {"id": [3, 4]}).to_table().to_pylist() == expected.to_pylist()
    frame = pb.polars_source(lake).collect()
    assert frame.to_dicts() == expected.to_pylist()
    assert pb.rows(lake, {"k": keys[0]}).to_pylist() == expected.to_pylist()[:2]
    for columns in (["k"], ["id", "k"]):
        found = pb.find(lake, "id", [3, 4], columns=columns).values
        assert found.to_pylist() == expected.select(columns).to_pylist()
    given = pa.schema([("k", kind), ("id", pa.int64())])
    found = pb.dataset(lake, {"id": [3, 4]}, schema=given).to_table()
    assert found.to_pylist() == expected.to_pylist()


def test_what_find_shows_is_what_it_found(tmp_path: Path) -> None:
    """What is stored, even if folders say otherwise; of other columns, what everybody reads."""
    lake = keyed_lake(tmp_path, "k", ["01", "02"], [pa.array(["x"]), pa.array(["y"])])
    assert pb.find(lake, "k", "y", columns=["k", "id"]).values.to_pylist() == [{"k": "y", "id": 3}]
    assert pb.find(lake, "id", 3, columns=["k"]).values["k"].to_pylist() == ["01", "02"]
    assert pb.rows(lake, {"id": 3})["k"].to_pylist() == ["01", "02"]


@pytest.mark.parametrize("name", ["k", "my key", "a=b"])
def test_their_names_are_escaped(tmp_path: Path, name: str) -> None:
    """Statistics of the column in the file exclude nothing."""
    lake = keyed_lake(tmp_path, name, ["1"], [pa.array([5])])
    assert pb.rows(lake, {name: 1}).num_rows == 1
    assert pb.row_groups(lake, {name: 1}).num_rows == 1


def test_a_column_of_another_kind(tmp_path: Path) -> None:
    lake = keyed_lake(tmp_path, "k", ["a"], [pa.array([5])])
    expected = "0.parquet: column k: int64, expected what names of folders have for it: Failed to parse string: 'a'"
    for read in (pb.rows, pb.dataset):
        with pytest.raises(pb.UnsupportedError, match=expected):
            read(lake, {"id": 3})
    with pytest.raises(pb.UnsupportedError, match=expected):
        pb.find(lake, "id", 3, columns=["k"])
    assert pb.find(lake, "id", 3, columns=["id"]).values.to_pylist() == [{"id": 3}]
    with pytest.raises(pb.UnsupportedError, match=r"^schema: column k: int64, expected what"):
        pb.dataset(lake, {"id": 3}, schema=pa.schema([("k", pa.int64())]))
    first = next(lake.rglob("*.parquet"))
    first.write_bytes(b"no Parquet")
    assert [each.path for each in pb.find(lake, "id", 3, columns=["k"]).unknown] == [str(first)]


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
        pb.ValueTypeError,
        match=r"filters: column day: '3': cannot be a value of int32: expected a number$",
    ):
        pb.rows(tmp_path, {"day": "3"})
    with pytest.raises(pb.ColumnError, match=r"/0\.parquet: no column days; did you mean day\?$"):
        pb.rows(tmp_path / "day=3", {"days": 3})


# Files that lie at several depths: the first, one between others, or the last is in the fewest folders.
SEVERAL_DEPTHS = {
    "first": ["0.parquet", "day=a/1.parquet", "day=b/2.parquet"],
    "between": ["day=a/0.parquet", "day=b/hour=3/1.parquet", "day=c/hour=4/2.parquet"],
    "last": ["day=a/0.parquet", "day=b/1.parquet", "zzz.parquet"],
}


def unequal_lake(folder: Path, depths: str) -> Path:
    for number, name in enumerate(SEVERAL_DEPTHS[depths]):
        path = folder / "lake" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"id": [number, 5]}), path)
    return folder / "lake"


@pytest.mark.parametrize("depths", SEVERAL_DEPTHS)
@pytest.mark.parametrize(
    "any_of",
    [
        [[("day", "==", "a")]],
        [[("day", ">=", "b")]],
        [[("day", "!=", "a")]],
        [[("day", "not in", ["a"])]],
        [[("day", "==", "a")], [("id", "==", 5)]],
        [[("day", "==", "a"), ("id", "==", 5)], [("day", "==", "c")]],
        [[("id", "==", 5)]],
    ],
)
def test_files_at_several_depths(tmp_path: Path, depths: str, any_of: Any) -> None:
    """Those in fewer folders have null in the others' columns, which is equal to nothing."""
    lake = unequal_lake(tmp_path, depths)
    wanted = pq.filters_to_expression(any_of)
    everything = pads.dataset(lake, partitioning="hive")
    expected = everything.to_table(filter=wanted)
    assert pb.rows(lake, any_of, expected.column_names).to_pylist() == expected.to_pylist()
    found = pb.dataset(lake, any_of, schema=everything.schema).to_table(filter=wanted)
    assert found.to_pylist() == expected.to_pylist()
    assert pb.row_groups(lake, any_of).num_rows <= 3
    frame = pb.polars_source(lake, any_of).collect()
    assert frame.to_arrow().filter(wanted).to_pylist() == expected.to_pylist()


def test_polars_takes_columns_of_several_types_for_text(tmp_path: Path) -> None:
    """Each depth by itself would be of another one."""
    for name in ("k=07/0.parquet", "k=2026-01-02/m=1/0.parquet", "0.parquet"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"id": [5]}), path)
    frame = pb.polars_source(tmp_path).collect()
    assert frame.rows() == [(5, None, None), (5, "07", None), (5, "2026-01-02", 1)]
    assert pb.rows(tmp_path, {})["k"].to_pylist() == frame["k"].to_list()


def test_a_file_in_no_folder_has_its_own_column(tmp_path: Path) -> None:
    lake = unequal_lake(tmp_path, "last")
    pq.write_table(pa.table({"id": [2, 5], "day": ["a", "d"]}), lake / "zzz.parquet")
    everything = pads.dataset(lake, partitioning="hive")
    for any_of in ([[("day", "==", "a")]], [[("day", "==", "d")]], [[("id", "==", 5)]]):
        expected = everything.to_table(filter=pq.filters_to_expression(any_of))
        assert pb.rows(lake, any_of).to_pylist() == expected.to_pylist()
    found = pb.find(lake, "id", 5, columns=["day"]).values
    assert found["day"].to_pylist() == ["a", "b", "d"]


# ------------------------------------------------------------------------------------------------
# Delta tables

# delta-rs itself fails on negative decimals, and on numbers of more digits than a name may have.
OF_TABLES = {
    "date": pa.array([datetime.date(2026, 11, 2), datetime.date(1969, 1, 1), None]),
    "integer": pa.array([7, -(2**31), None], pa.int32()),
    "long": pa.array([7, 2**63 - 1, -(2**63)], pa.int64()),
    "short": pa.array([7, -1, None], pa.int16()),
    "text": pa.array(["a b=ü/%", "7", None]),
    "truth": pa.array([True, False, None]),
    "exact": pa.array([decimal.Decimal("1.50"), decimal.Decimal("99.99"), None]),
    "real": pa.array([0.5, -2.25, None], pa.float64()),
}


@pytest.mark.parametrize("name", OF_TABLES)
def test_columns_of_a_delta_table(tmp_path: Path, name: str) -> None:
    values = OF_TABLES[name]
    if name == "exact":
        values = values.cast(pa.decimal128(9, 2))
    rows = pa.table({"id": range(6), name: values.take(pa.array([0, 1, 2, 0, 1, 2]))})
    folder = str(tmp_path / "table")
    write_deltalake(folder, rows, partition_by=[name])
    judge = DeltaTable(folder).to_pyarrow_table()
    assert judge.schema.field(name).type == values.type
    found = pb.rows(folder, [("id", ">=", 0)], table="delta")
    assert found.schema.field(name).type == values.type
    assert found.select(["id", name]).sort_by("id").equals(judge.select(["id", name]).sort_by("id"))
    of_dataset = pb.dataset(folder, {"id": [0, 1, 2, 3, 4, 5]}, table="delta").to_table()
    assert (
        of_dataset.select(["id", name])
        .sort_by("id")
        .equals(found.select(["id", name]).sort_by("id"))
    )
    # A filter on them reads no other file, and compares as types do.
    some = pb.rows(folder, {name: values[1], "id": [0, 1, 2]}, ["id"], table="delta")
    expected = [] if values[1].as_py() is None else [1]
    assert some["id"].to_pylist() == expected
    source = pb.polars_source(folder, {"id": [2, 3]}, table="delta")
    of_polars = source.filter(pl.col("id") == 3).collect().to_arrow().cast(found.schema)
    assert of_polars.to_pylist() == found.filter(pc.field("id") == 3).to_pylist()
    some = pl.scan_pyarrow_dataset(pb.dataset(folder, {}, table="delta")).collect()
    assert source.select(name, "id").head(0).collect().schema == some.select(name, "id").schema


def test_files_of_a_table_need_not_be_in_folders_of_their_names(tmp_path: Path) -> None:
    """As writers put them who take random names: the log alone says what a file's partition is."""
    folder = tmp_path / "table"
    write_deltalake(str(folder), pa.table({"id": [1, 2], "day": ["a", "b"]}), partition_by=["day"])
    (log,) = (folder / "_delta_log").glob("*.json")
    text = log.read_text()
    for path in [*folder.rglob("*.parquet")]:
        text = text.replace(str(path.relative_to(folder)), path.name)
        path.rename(folder / path.name)
    log.write_text(text)
    table = {"table": "delta"}
    assert pb.rows(folder, {"day": "b"}, **table).to_pylist() == [{"id": 2, "day": "b"}]
    assert pb.row_groups(folder, {"day": "b"}, **table).num_rows == 1
    assert pb.row_groups(folder, {"day": "b", "id": 1}, **table).num_rows == 0
    assert pb.dataset(folder, {"day": "b"}, **table).to_table(
        filter=pc.field("day") == "b"
    ).to_pylist() == [{"id": 2, "day": "b"}]


def test_values_that_are_none_of_the_type(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    write_deltalake(str(folder), pa.table({"id": [1], "day": [5]}), partition_by=["day"])
    (log,) = (folder / "_delta_log").glob("*.json")
    log.write_text(
        log.read_text().replace('"partitionValues":{"day":"5"}', '"partitionValues":{"day":"five"}')
    )
    with pytest.raises(
        pb.UnsupportedError, match=r"^partition column day: Failed to parse string: 'five'"
    ):
        pb.rows(folder, {"id": 1}, table="delta")


def test_times_without_a_zone_have_none(tmp_path: Path) -> None:
    """Spark writes them as its session's clock shows them, delta-rs in UTC, and neither says so."""
    folder = str(tmp_path / "table")
    rows = {
        "id": [1, 2],
        "time": pa.array([datetime.datetime(2026, 1, 2), None], pa.timestamp("us", "UTC")),
    }
    write_deltalake(folder, pa.table(rows), partition_by=["time"])
    refused = (
        r"^partition column time: Failed to parse string: '2026-01-02 00:00:00\.000000' as a scalar of type"
        r" timestamp\[us, tz=UTC\]: expected a zone offset; columns besides it can be read$"
    )
    asked = pc.field("id") == 1
    some = pa.schema([("id", pa.int64())])
    for read in (
        lambda: pb.rows(folder, {"id": 1}, table="delta"),
        lambda: pb.rows(folder, {"time": datetime.datetime(2026, 1, 2)}, "id", table="delta"),
        lambda: pb.dataset(folder, {"id": 1}, table="delta"),
        lambda: pb.find(folder, "id", 1, columns="time", table="delta"),
        lambda: pb.polars_source(folder, table="delta").collect(),
    ):
        with pytest.raises((pb.UnsupportedError, pl.exceptions.ComputeError), match=refused):
            read()
    # Nobody else needs them.
    assert pb.rows(folder, {"id": 1}, "id", table="delta").to_pylist() == [{"id": 1}]
    assert pb.find(folder, "id", 1, columns="id", table="delta").values.to_pylist() == [{"id": 1}]
    left = pb.dataset(folder, {"id": 1}, table="delta", schema=some)
    assert left.to_table(filter=asked).to_pylist() == [{"id": 1}]
    source = pb.polars_source(folder, {"id": 1}, table="delta")
    assert source.collect_schema()["time"] == pl.Datetime("us", "UTC")
    assert source.filter(pl.col("id") == 1).select("id").collect().to_dicts() == [{"id": 1}]


def test_bytes_have_no_text(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    write_deltalake(str(folder), pa.table({"id": [1], "key": [b"a"]}), partition_by=["key"])
    with pytest.raises(
        pb.UnsupportedError, match=r"^partition column key: binary, expected string,"
    ):
        pb.rows(folder, {"id": 1}, table="delta")
    assert pb.rows(folder, {"id": 1}, "id", table="delta").to_pylist() == [{"id": 1}]


def test_find_shows_them_beside_the_rows(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    days = pa.array([datetime.date(2026, 11, 1), datetime.date(2026, 11, 2), None])
    write_deltalake(
        str(folder), pa.table({"id": [1, 2, 2], "day": days, "n": [7, 8, 9]}), partition_by=["day"]
    )
    found = pb.find(folder, "id", [2, 1], columns=["day", "n"], table="delta").values.to_pylist()
    assert sorted(found, key=lambda row: row["n"]) == [
        {"day": day, "n": n} for day, n in zip(days.to_pylist(), (7, 8, 9), strict=True)
    ]


def test_those_of_a_folder_that_is_named_are_none(tmp_path, monkeypatch):
    """As for pyarrow, however it is spelled, and whether an index says where its files are."""
    folder = tmp_path / "day=1"
    folder.mkdir()
    pq.write_table(pa.table({"id": [1]}), folder / "0.parquet")
    monkeypatch.chdir(tmp_path)
    pb.Index.build("index", ["day=1"], "id").close()
    for name in (
        "day=1",
        "day=1/",
        "./day=1/",
        "../" + str(folder.relative_to(tmp_path.parent)),
        folder.as_uri(),
    ):
        assert pb.rows(name, {"id": 1}).column_names == ["id"]
        assert pb.rows(name, {"id": 1}, index="index").column_names == ["id"]
        assert pb.dataset(name, {"id": 1}).schema.names == ["id"]
        assert pb.polars_source(name).collect().columns == ["id"]
    for name in (".", "./", "*"):
        assert pb.rows(name, {"id": 1}).column_names == ["id", "day"]
        assert pb.dataset(name, {"id": 1}).schema.names == ["id", "day"]
        assert pb.polars_source(name).collect().columns == ["id", "day"]


def test_those_in_a_store(server, monkeypatch):
    """Hive escapes what is in the key, and the URL escapes that."""
    sink = io.BytesIO()
    pq.write_table(pa.table({"id": [1]}), sink)
    server.put("lake/at=a%3Ab/0.parquet", sink.getvalue())
    options = {"storage_options": server.options}
    for name in ("s3://lake/", "s3://lake/*/"):
        assert pb.rows(name, {"id": 1}, **options).to_pylist() == [{"id": 1, "at": "a:b"}]
        assert pb.dataset(name, {"id": 1}, **options).to_table()["at"].to_pylist() == ["a:b"]
        frame = pb.polars_source(name, **options).collect()
        assert frame["at"].to_list() == ["a:b"]
    place = "s3://lake/at=a%253Ab/"
    query = "&".join(f"{name}={quote(value)}" for name, value in server.options.items())
    for name in (place, place.replace("=", "%3D"), f"{place}?{query}"):
        assert pb.rows(name, {"id": 1}, **options).column_names == ["id"]


def test_polars_takes_no_values_of_columns_from_folders_above(tmp_path: Path) -> None:
    """Where files store such a column, these are its values, as for scan_parquet."""
    folder = tmp_path / "country=DE" / "data"
    folder.mkdir(parents=True)
    for name, stored in (("a", {"id": [1]}), ("b", {"id": [2, 3], "country": ["FR", "IT"]})):
        pq.write_table(pa.table(stored), folder / f"{name}.parquet")
    is_french = pl.col("country") == "FR"
    for name in (folder, folder / "b.parquet"):
        source = pb.polars_source(name, {"country": "FR"})
        assert source.filter(is_french).select("id").collect()["id"].to_list() == [2]
        assert pb.rows(name, {"country": "FR"})["id"].to_pylist() == [2]
    below = tmp_path / "country=DE" / "day=7"
    folder.rename(below)
    with pytest.raises(pb.UnsupportedError, match="column country: polars takes it from the name"):
        pb.polars_source(below.parent, {"country": "FR"})
    (found,) = pb.polars_source(below.parent).filter(pl.col("id") == 2).collect().to_dicts()
    assert found == {"id": 2, "day": 7}
