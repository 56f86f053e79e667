"""Rows of tables: those that the table has, under its names, whatever is in its files."""

import json
import pickle
import random
import struct
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake
from make import delta_tables, iceberg_tables
from make.delta_features import make_mapped
from make.delta_tables import (
    bitmap,
    delete_rows,
    inline_vector,
    make_table,
    rows_of,
    stored_vector,
    with_features,
)
from make.s3_server import S3Server
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform, TruncateTransform
from pyiceberg.types import (
    DateType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    StringType,
    StructType,
)
from pyroaring import BitMap64

import parquet_bloom as pb
from parquet_bloom.reads.partitions import PartitionedFile
from parquet_bloom.tables.deletion_vectors import rows_in

VIEW = pb.TableView(kind="iceberg", catalog=iceberg_tables.CATALOG)
ALL = [("n", ">=", 0)]
MAGIC = struct.pack("<I", 1681511377)


def with_vectors(table: Path) -> Path:
    properties = {"delta.enableDeletionVectors": "true"}
    with_features(table, reader=["deletionVectors"], configuration=properties)
    return table


def test_rows_that_a_delta_table_has_deleted_are_not_read(tmp_path: Path) -> None:
    table = with_vectors(make_table(tmp_path / "table", partition_by=["day"]))
    first, second, *_ = pb.open_table(table).files()
    delete_rows(table, first.name, inline_vector({0, 99, 100, 149}))
    delete_rows(table, second.name, stored_vector(table, range(0, 150, 2)))
    found = pb.rows(table, ALL, ["n", "day"], table="delta").sort_by("n")
    query = "select n, day from t order by n"
    wanted = pa.table(QueryBuilder().register("t", DeltaTable(table)).execute(query).read_all())
    assert found.to_pylist() == wanted.to_pylist()
    assert found.num_rows == 900 - 4 - 75
    gone = pq.read_table(first.path)["n"][99].as_py()
    assert pb.rows(table, {"n": [gone, gone - 2]}, ["n"], table="delta")["n"].to_pylist() == [
        gone - 2
    ]


def test_they_stay_deleted_whatever_is_built_and_stripped(tmp_path: Path) -> None:
    table = with_vectors(make_table(tmp_path / "table", commits=2, partition_by=["day"]))
    first, second, *_ = pb.open_table(table).files()
    delete_rows(table, first.name, inline_vector({0, 99}))
    delete_rows(table, second.name, stored_vector(table, range(0, 150, 2)))
    wanted = pb.rows(table, ALL, ["n", "day"], table="delta").sort_by("n").to_pylist()
    numbers = [row["n"] for row in wanted]
    for change in (
        lambda: delta_tables.build(table, columns=["n"]).num_filters,
        lambda: pb.strip_table(table).bytes_removed,
        lambda: delta_tables.build(table, columns=["n"], existing="replace").num_filters,
        lambda: delta_tables.build(table, columns=["n", "id"]).num_filters,
    ):
        assert change()
        for filters in (ALL, {"n": numbers}):
            found = pb.rows(table, filters, ["n", "day"], table="delta").sort_by("n")
            assert found.to_pylist() == wanted


def test_damaged_deletion_vectors_delete_nothing(tmp_path: Path) -> None:
    table = with_vectors(make_table(tmp_path / "table", commits=1))
    (file,) = pb.open_table(table).files()
    vector = stored_vector(table, {3, 5})
    (stored,) = table.glob("deletion_vector_*.bin")
    for changes, problem in (
        ({"cardinality": 3}, f"{file.path}: deletion vector of 2 rows, expected 3"),
        ({"sizeInBytes": 30}, f"{stored}: deletion vector at 1: another size than in the log"),
        ({"pathOrInlineDv": "~"}, f"{file.path}: its deletion vector does not follow the protocol"),
        ({"offset": 2}, f"{stored}: bytes 2 to 46: expected 44 bytes, found 43"),
        (
            {"storageType": "p"},
            f"{file.path}: its deletion vector is stored as 'p', expected in the log or the table's folder",
        ),
    ):
        delete_rows(table, file.name, vector | changes)
        with pytest.raises(pb.ParquetBloomError) as caught:
            pb.rows(table, ALL, table="delta")
        assert str(caught.value) == problem
    data = bytearray(stored.read_bytes())
    data[-6] ^= 1
    stored.write_bytes(data)
    delete_rows(table, file.name, vector)
    with pytest.raises(pb.FormatError, match="at 1: checksum does not match"):
        pb.rows(table, ALL, table="delta")
    # Rows that no filter leaves are nobody's.
    assert pb.rows(table, {"n": -1}, table="delta").num_rows == 0


@pytest.mark.parametrize("seed", range(4))
def test_deletion_vectors_are_read_as_roaring_bitmaps(seed: int) -> None:
    chance = random.Random(seed)
    wanted = BitMap64()
    for _ in range(chance.randrange(7)):
        base = chance.choice((0, 1 << 16, 3 << 16, 5 << 32, (5 << 32) + (9 << 16)))
        size = chance.choice((1, 4096, 4097, 65536))
        step = chance.choice((1, 1, 3))
        wanted |= BitMap64(range(base, base + size, step))
    if seed % 2:
        wanted.run_optimize()
    data = MAGIC + wanted.serialize()
    assert rows_in(data, "x").tolist() == list(wanted)
    for end in {*range(40), *(chance.randrange(len(data)) for _ in range(40))}:
        if end < len(data):
            with pytest.raises(pb.FormatError, match=r"^x: deletion vector of"):
                rows_in(data[:end], "x")


def test_what_is_no_deletion_vector() -> None:
    for data, problem in (
        (b"\1" + bytes(20), "deletion vector of magic 1, expected 1681511377"),
        (MAGIC + struct.pack("<QII", 1, 0, 7), "deletion vector: bitmap of cookie 7"),
        (
            MAGIC + struct.pack("<Q", 2) + 2 * bitmap([1])[12:],
            "deletion vector: rows are not ascending",
        ),
    ):
        with pytest.raises(pb.FormatError) as caught:
            rows_in(data, "x")
        assert str(caught.value) == f"x: {problem}"


def test_columns_of_a_delta_table_have_its_names(tmp_path: Path) -> None:
    table, _ = make_mapped(tmp_path / "table")
    row = rows_of(97, 1).to_pylist()[0]
    (found,) = pb.rows(table, {"who.name": row["id"]}, table="delta").to_pylist()
    assert found == {
        "id": row["id"],
        "n": 97,
        "tags": ["x", row["id"]],
        "who": {"name": row["id"]},
        "day": "2026-11-01",
    }
    assert pb.rows(table, {"n": 97}, ["id"], table="delta").to_pylist() == [{"id": row["id"]}]
    report = pb.find(table, "n", 97, columns=["who"], table="delta")
    assert report.values.to_pylist() == [{"who": {"name": row["id"]}}]


def test_a_dataset_of_a_delta_table_has_its_names(tmp_path: Path) -> None:
    table, _ = make_mapped(tmp_path / "table")
    wanted = pb.rows(table, {"n": [3, 97]}, table="delta")
    dataset = pb.dataset(table, {"n": [3, 97]}, table="delta")
    # Two of four row groups.
    assert dataset.to_table().num_rows == 50
    for each in (dataset, pickle.loads(pickle.dumps(dataset))):
        found = each.to_table(filter=pc.field("n").isin([3, 97]))
        assert found.select(wanted.column_names).to_pylist() == wanted.to_pylist()
    nothing = pb.dataset(table, {"n": -1}, table="delta")
    assert (nothing.to_table().num_rows, nothing.schema.names) == (0, dataset.schema.names)


def test_polars_reads_what_a_delta_table_has(tmp_path: Path) -> None:
    table = with_vectors(make_table(tmp_path / "table", partition_by=["day"]))
    first, second, *_ = pb.open_table(table).files()
    delete_rows(table, first.name, inline_vector({0, 99, 100, 149}))
    delete_rows(table, second.name, inline_vector(range(150)))
    wanted = pb.rows(table, ALL, table="delta")
    source = pb.polars_source(table, table="delta")
    assert source.collect().to_arrow().to_pylist() == wanted.to_pylist()
    row = wanted.to_pylist()[500]
    by_id = (pl.col("id") == row["id"]) & (pl.col("day") == row["day"])
    assert source.filter(by_id).select("day", "n").collect().to_dicts() == [
        {"day": row["day"], "n": row["n"]}
    ]
    assert source.filter(pl.col("day") == "2026-11-02").select(pl.len()).collect().item() == (
        wanted.filter(pc.field("day") == "2026-11-02").num_rows
    )
    assert source.filter(pl.col("day") == "none").collect().height == 0
    assert source.head(3).collect().to_dicts() == wanted.slice(0, 3).to_pylist()
    of_two_files = source.head(220).filter(pl.col("n") >= 40).collect().to_dicts()
    assert of_two_files == [each for each in wanted.slice(0, 220).to_pylist() if each["n"] >= 40]
    mapped, _ = make_mapped(tmp_path / "mapped")
    found = pb.polars_source(mapped, table="delta").filter(pl.col("n") == 97).collect()
    assert found.to_dicts() == pb.rows(mapped, {"n": 97}, table="delta").to_pylist()


def test_polars_reads_columns_that_a_table_got_later(tmp_path: Path) -> None:
    table = str(tmp_path / "table")
    write_deltalake(table, pa.table({"id": range(100)}))
    later = pa.table({"id": range(100, 110), "more": range(10)})
    write_deltalake(table, later, mode="append", schema_mode="merge")
    source = pb.polars_source(table, table="delta")
    found = source.filter(pl.col("id").is_in([5, 105])).sort("id").collect()
    assert found.to_dicts() == [{"id": 5, "more": None}, {"id": 105, "more": 5}]
    # Of one file, polars reads it itself.
    assert source.filter(pl.col("id") == 105).collect().to_dicts() == found.to_dicts()[1:]


def test_polars_opens_files_of_other_partitions_for_no_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make_table(tmp_path / "table", partition_by=["day"])
    source = pb.polars_source(table, table="delta")
    read: list[str] = []
    of_rows = PartitionedFile.read_rows

    def spied(self: PartitionedFile, *arguments: Any) -> Any:
        read.append(self.path)
        return of_rows(self, *arguments)

    monkeypatch.setattr(PartitionedFile, "read_rows", spied)
    source.filter((pl.col("day") == "2026-11-02") & (pl.col("n") > 5)).collect()
    assert read
    assert all("day=2026-11-02" in path for path in read)


def test_tables_in_a_store(tmp_path: Path, s3: S3Server) -> None:
    table = with_vectors(make_table(tmp_path / "table", partition_by=["day"], commits=1))
    first, _ = pb.open_table(table).files()
    delete_rows(table, first.name, stored_vector(table, range(0, 150, 2)))
    make_mapped(tmp_path / "mapped")
    for path in tmp_path.rglob("*"):
        if path.is_file():
            s3.put(f"lake/{path.relative_to(tmp_path)}", path.read_bytes())
    more: dict[str, Any] = {"table": "delta", "storage_options": s3.options}
    wanted = pb.rows(table, ALL, table="delta").to_pylist()
    assert pb.rows("s3://lake/table", ALL, **more).to_pylist() == wanted
    assert pb.polars_source("s3://lake/table", **more).collect().to_dicts() == wanted
    mapped = pb.dataset("s3://lake/mapped", {"n": 97}, **more).to_table(filter=pc.field("n") == 97)
    assert mapped.to_pylist() == pb.rows("s3://lake/mapped", {"n": 97}, **more).to_pylist()
    (name,) = [name for name in s3.objects if "deletion_vector" in name]
    del s3.objects[name]
    with pytest.raises(
        FileNotFoundError, match=r"no such object: 's3://lake/table/deletion_vector"
    ):
        pb.rows("s3://lake/table", ALL, **more)


@pytest.fixture
def iceberg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    iceberg_tables.use_catalog(tmp_path, monkeypatch)
    return iceberg_tables


def evolve(method: str, *arguments: Any) -> None:
    with iceberg_tables.load().update_schema() as update:
        getattr(update, method)(*arguments)


def rows(filters: Any, columns: Any = None) -> pa.Table:
    return pb.rows(iceberg_tables.NAME, filters, columns, table=VIEW)


def test_rows_that_an_iceberg_table_has_deleted_are_not_read(iceberg: Any) -> None:
    table = iceberg.make_table(commits=2)
    first, second, third, *_ = iceberg.live(table)
    iceberg.delete_positions(iceberg.load(), first, [0, 99, 149])
    iceberg.delete_positions(iceberg.load(), first, [1, 99], says_which=False)
    iceberg.delete_positions(iceberg.load(), second, range(150))
    iceberg.load().append(rows_of(900, 10))
    found = rows(ALL).sort_by("n")
    assert found.to_pylist() == iceberg.load().scan().to_arrow().sort_by("n").to_pylist()
    assert found.num_rows == 610 - 4 - 150
    # A deletion vector is in place of what was there before.
    path = iceberg.delete_by_vector(iceberg.load(), third, [7, 8])
    assert rows(ALL).num_rows == 610 - 4 - 150 - 2
    report = pb.find(iceberg.NAME, "n", [900, 901], table=VIEW)
    assert (len(report.rows), report.deleted_in) == (2, ())
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(pb.FormatError) as caught:
        rows(ALL)
    assert str(caught.value) == f"file://{path}: deletion vector at 17: another size than recorded"


def test_positions_stay_deleted_whatever_is_built_and_stripped(iceberg: Any) -> None:
    table = iceberg.make_table(commits=2)
    first, second, *_ = iceberg.live(table)
    iceberg.delete_positions(iceberg.load(), first, [0, 99, 149])
    iceberg.delete_by_vector(iceberg.load(), second, [7, 8])
    wanted = rows(ALL).sort_by("n").to_pylist()
    for change in (
        lambda: iceberg.build(columns=["n"]).num_filters,
        lambda: iceberg.strip().bytes_removed,
        lambda: iceberg.build(columns=["n", "id"], existing="replace").num_filters,
    ):
        assert change()
        assert rows(ALL).sort_by("n").to_pylist() == wanted
        assert rows({"n": [row["n"] for row in wanted]}).num_rows == len(wanted)


LAND = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "land", StringType(), required=False),
    NestedField(3, "n", IntegerType(), required=False),
    NestedField(4, "day", DateType(), required=False),
)
OF_LAND = {
    "id": range(8),
    "land": ["DE", "FR", "null", None] * 2,
    "n": [1, 1, 2, 2, None, 3, 3, 3],
    "day": [date(2026, 1, 1), date(1969, 12, 31), None, date(2026, 1, 2)] * 2,
}


@pytest.mark.parametrize(
    ("filters", "row_filter", "num_other"),
    [
        ({"land": "DE"}, "land == 'DE'", 0),
        ({"land": ["null", "AT"]}, "land in ('null', 'AT')", 0),
        ({"m": np.int64(2)}, "m == 2", 0),
        ({"day": date(1969, 12, 31)}, "day == '1969-12-31'", 0),
        ([("day", ">", date(2026, 1, 1))], "day > '2026-01-01'", 3),
        ([("land", "!=", "DE")], "land != 'DE' and land is not null", 3),
        (
            [[("land", "==", "DE"), ("m", "==", 1)], [("m", "==", 3)]],
            "(land == 'DE' and m == 1) or m == 3",
            0,
        ),
    ],
)
def test_identity_partitions_of_an_iceberg_table_exclude_files(
    iceberg: Any, filters: Any, row_filter: str, num_other: int
) -> None:
    """Of files of any spec, and by the names that columns have by now. PyIceberg excludes null by any comparison."""
    by_land = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "land"))
    table = iceberg.make_table(commits=0, schema=LAND, spec=by_land)
    data = pa.table(OF_LAND, LAND.as_arrow())
    table.append(data)
    table.update_spec().add_identity("n").remove_field("land").commit()
    table.append(data)
    table.update_spec().add_identity("day").commit()
    table.append(data)
    evolve("rename_column", "n", "m")
    scan = iceberg.load().scan(row_filter=row_filter)
    num_wanted = len(list(scan.plan_files())) + num_other
    plan = pb.read_plan(iceberg.NAME, filters, table=VIEW)
    assert plan.files_left == num_wanted < plan.num_files
    assert plan.files_by_partitions
    assert plan.undecided == ()
    left = pb.row_groups(iceberg.NAME, filters, table=VIEW)
    assert len(set(left["path"].to_pylist())) == num_wanted
    assert len(pb.dataset(iceberg.NAME, filters, table=VIEW).files) == num_wanted
    found = rows(filters)
    assert json.loads(found.schema.metadata[b"parquet_bloom"])["files_by_partitions"]
    assert found.sort_by("id").to_pylist() == scan.to_arrow().sort_by("id").to_pylist()


def test_what_partitions_of_an_iceberg_table_do_not_decide_its_files_are_asked(
    iceberg: Any,
) -> None:
    iceberg.make_table(commits=1)
    with pytest.raises(pb.ValueTypeError, match="column day: 5 is a number, expected text"):
        pb.read_plan(iceberg.NAME, {"day": 5}, table=VIEW)
    # Folders of its files are called as they were once.
    evolve("rename_column", "id", "user")
    evolve("rename_column", "day", "id")
    plan = pb.read_plan(iceberg.NAME, [("id", ">", "z")], table=VIEW)
    assert (plan.files_left, plan.files_by_partitions) == (0, plan.num_files)
    # Others have something else than the values of the column.
    iceberg.load().update_spec().remove_field("day").add_field("id", TruncateTransform(3)).commit()
    iceberg.load().append(pa.table({"user": ["a"], "n": [1], "id": ["2026-11-02"]}))
    plan = pb.read_plan(iceberg.NAME, {"id": "2026-11-02"}, table=VIEW)
    assert plan.files_by_partitions == plan.num_files - 2
    assert plan.files_left == 2


def test_rows_that_are_deleted_by_their_values_are_refused(iceberg: Any) -> None:
    table = iceberg.make_table(commits=1)
    name = next(iter(iceberg.live(table)))
    iceberg.delete_equal(table, name, [5])
    iceberg.load().append(rows_of(900, 10))
    # Newer rows are none of them.
    assert rows({"n": 905})["n"].to_pylist() == [905]
    with pytest.raises(pb.UnsupportedError) as caught:
        rows({"n": [5, 6]})
    assert str(caught.value).endswith(
        ": an equality delete file may delete rows of it: expected an engine that reads the table"
    )


def test_columns_of_an_iceberg_table_have_its_names(iceberg: Any) -> None:
    """They were renamed, dropped, and added again under the names of others."""
    iceberg.make_table(commits=1, spec=PartitionSpec())
    for change in (
        ("rename_column", "id", "was_id"),
        ("rename_column", "day", "id"),
        ("delete_column", "n"),
    ):
        evolve(*change)
    iceberg.load().update_schema().add_column("n", StringType()).commit()
    wanted = iceberg.load().scan(row_filter="was_id == 'user 007919'").to_arrow()
    found = rows({"was_id": "user 007919"})
    assert found.to_pylist() == wanted.to_pylist()
    assert found["n"].to_pylist() == [None]
    assert rows({"n": "1"}, ["id"]).num_rows == 0
    of_polars = pb.polars_source(iceberg.NAME, table=VIEW).filter(pl.col("was_id") == "user 007919")
    assert of_polars.collect().to_dicts() == wanted.to_pylist()
    dataset = pb.dataset(iceberg.NAME, {"was_id": "user 007919"}, table=VIEW)
    of_pyarrow = dataset.to_table(filter=pc.field("was_id") == "user 007919")
    assert of_pyarrow.to_pylist() == wanted.to_pylist()
    with pytest.raises(pb.ColumnError):
        rows({"m": 1})
    with pytest.raises(pb.ColumnError):
        rows({"was_id": "user 007919"}, ["m"])


NESTED = Schema(
    NestedField(1, "n", LongType(), required=False),
    NestedField(
        2,
        "s",
        StructType(
            NestedField(3, "a", StringType(), required=False),
            NestedField(
                4, "tags", ListType(5, StringType(), element_required=False), required=False
            ),
        ),
        required=False,
    ),
)


def test_fields_of_structs_have_the_names_of_the_table(iceberg: Any) -> None:
    iceberg.make_table(commits=0, schema=NESTED, spec=PartitionSpec())
    table = iceberg.load()
    schema = table.schema().as_arrow()
    table.append(pa.Table.from_pylist([{"n": 1, "s": {"a": "x", "tags": ["y"]}}], schema))
    for change in (
        ("rename_column", "s.a", "b"),
        ("rename_column", "s.tags", "a"),
        ("rename_column", "s", "t"),
    ):
        evolve(*change)
    found = rows({"n": 1})
    assert found.to_pylist() == [{"n": 1, "t": {"b": "x", "a": ["y"]}}]
    assert (
        pb.dataset(iceberg.NAME, {"n": 1}, table=VIEW).to_table() == found.replace_schema_metadata()
    )
    assert found.to_pylist() == iceberg.load().scan().to_arrow().to_pylist()
    evolve("delete_column", "t.b")
    assert rows({"n": 1}, ["n"]).num_rows == 1
    with pytest.raises(pb.UnsupportedError) as caught:
        rows({"n": 1})
    assert str(caught.value).endswith(
        f": {iceberg.NAME} says more about it than is in it: column t: something else inside of it;"
        " expected an engine that reads the table"
    )
    # A whole column that the table has dropped is none of one that has its name by now.
    evolve("delete_column", "t")
    evolve("add_column", "s", StringType())
    assert rows({"n": 1}).to_pylist() == [{"n": 1, "s": None}]


def test_a_dataset_of_files_with_views(tmp_path: Path) -> None:
    """As delta-rs writes them where it deletes and updates rows, and pyarrow compares them with nothing."""
    folder = tmp_path / "table"
    write_deltalake(folder, pa.table({"id": [1, 2, 3], "text": ["a", "b", "c"]}))
    write_deltalake(folder, pa.table({"id": [4], "text": ["d"]}), mode="append")
    DeltaTable(folder).delete("id = 2")
    kinds = {pq.read_schema(path).field("text").type for path in DeltaTable(folder).file_uris()}
    assert kinds == {pa.string(), pa.string_view()}
    wanted = ["c", "d"]
    dataset = pb.dataset(folder, {"text": wanted}, table="delta")
    assert dataset.schema == pa.schema({"id": pa.int64(), "text": pa.string()})
    rows = dataset.to_table(filter=pc.field("text").isin(wanted)).sort_by("id").to_pylist()
    assert rows == [{"id": 3, "text": "c"}, {"id": 4, "text": "d"}]
    assert dataset.count_rows(filter=pc.field("text") == "c") == 1
