"""Columns that a table got when some of its files were there: these have null there, by the specifications of tables,
and so none of the values. What is said of them is what readers of the table find."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, Field, write_deltalake
from deltalake.schema import ArrayType, MapType, StructType
from make.commands import outcome
from make.delta_features import mapped_field, mapped_table, parquet_bytes
from make.delta_tables import build, write_commit
from make.iceberg_tables import CATALOG, NAME, make_table, path_of, use_catalog
from pyiceberg.expressions import EqualTo
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField, StringType

import parquet_bloom as pb
from parquet_bloom.tables.delta.columns import OwnNames
from parquet_bloom.tables.iceberg.names import NamesById
from parquet_bloom.tables.table import opened_as
from parquet_bloom.vocabulary import LACKS_COLUMN, NULL_IN_TABLE

NULL = ("absent", NULL_IN_TABLE)
UNKNOWN = ("unknown", LACKS_COLUMN)
UNKNOWN_NULL = ("unknown", NULL_IN_TABLE)


@pytest.fixture
def delta(tmp_path: Path) -> Path:
    """Two files without `late` and `s.y`, and one that has them."""
    folder = tmp_path / "events"
    for name in ("a", "b"):
        write_deltalake(folder, pa.table({"id": [name], "s": [{"x": name}]}), mode="append")
    structs = [{"x": "c", "y": "x"}, {"x": "d", "y": None}]
    later = pa.table({"id": ["c", "d"], "late": ["x", None], "s": structs})
    write_deltalake(folder, later, mode="append", schema_mode="merge")
    return folder


def said(table: pb.LakeTable, column: str, value: object = "x") -> list[tuple[str, str | None]]:
    """Of each file, what its only row group says."""
    found = []
    for file in table.files():
        with table.open(file) as opened:
            (answer,) = opened.probe(column, value)
            found.append((answer.verdict, answer.reason))
    return found


def older(table: Path) -> set[str]:
    """The files that lack a column."""
    paths = [table / file.name for file in pb.open_table(table).files()]
    return {str(path) for path in paths if "late" not in pq.read_schema(path).names}


@pytest.mark.parametrize("column", ["late", "s.y"])
def test_older_files_have_null_there(delta, column):
    assert sorted(said(pb.open_table(delta), column)) == [NULL, NULL, ("unknown", "no filter")]
    report = pb.find(delta, column, ["x", "nobody"], table="auto")
    assert (report.unknown, [*report.absent], report.num_files) == ((), ["nobody"], 3)
    assert (report.files_without_column, report.files_by_filters, report.files_read) == (2, 0, 1)
    told = "; 2 files without the column: the table reads null there>"
    assert repr(report).endswith(told)
    assert {file.path for file in report.asked if file.answered_by == "schema"} == older(delta)
    assert [row.row for row in report.rows] == [0]
    left = pb.row_groups(delta, [(column, "==", "x")], table="auto")
    assert older(delta).isdisjoint(left["path"].to_pylist())
    assert len(left) == 1
    plan = pb.read_plan(delta, {column: "x"}, table="auto")
    assert (plan.files_without_column, plan.files_by_filters, plan.row_groups_by_filters) == (
        2,
        0,
        0,
    )
    assert repr(plan) == (
        "<ReadPlan: 1 row group left in 1 of 3 files; nothing excluded;"
        " 2 files without a column of the conditions: null there>"
    )
    either = [[(column, "==", "x")], [("id", "==", "a")]]
    plan = pb.read_plan(delta, either, table="auto")
    assert (plan.files_left, plan.files_without_column, plan.files_by_statistics) == (2, 2, 0)


def test_many_values(delta):
    build(delta, columns=["late"])
    report = pb.probe_values(delta, "late", ["x", "nobody", None], table="auto")
    assert [each.verdict for each in report.results] == ["maybe", "absent", "unknown"]
    assert report.files_unknown == ()
    result = outcome("probe", "--by-value", delta, "--table", "auto", "-c", "late", "-v", "nobody")
    assert (result.code, result.stderr) == (1, "")
    (found,) = [
        file
        for file in pb.probe(delta, "late", [None, "x"], table="auto").reports
        if file.path == min(older(delta))
    ]
    assert [*found.results.doubts] == [UNKNOWN_NULL]


def test_rows_are_those_that_another_reader_finds(delta):
    for value in ("x", "nobody"):
        rows = DeltaTable(delta).to_pyarrow_dataset().to_table(filter=pc.field("late") == value)
        found = pb.rows(delta, [("late", "==", value)], table="auto", columns=["id", "late"])
        assert found.to_pylist() == rows.select(["id", "late"]).to_pylist()
        assert len(pb.find(delta, "late", value, table="auto").rows) == len(rows)


def test_null_is_there(delta):
    report = pb.probe(delta, "late", [None, float("nan"), "x"], table="auto")
    verdicts = {file.path: [each.verdict for each in file.results] for file in report.reports}
    assert [verdicts[path] for path in older(delta)] == [["unknown", "unknown", "absent"]] * 2


def test_the_command_says_why(delta):
    build(delta, columns=["late"])
    result = outcome("probe", delta, "--table", "auto", "-c", "late", "-v", "nobody")
    assert (result.code, "3 files: 3 absent" in result.stdout) == (1, True)
    result = outcome("probe", delta, "--table", "auto", "-c", "late", "-v", "nobody", "--explain")
    assert result.stdout.count(NULL_IN_TABLE) == 2
    result = outcome("find", delta, "--table", "auto", "-c", "late", "-v", "nobody")
    assert result.code == 1
    result = outcome("probe", delta, "--table", "auto", "-c", "latest", "-v", "nobody")
    assert (result.code, "no column latest; did you mean late?" in result.stderr) == (2, True)


@pytest.mark.parametrize("form", ["map", "slices"])
def test_an_index_knows_it(delta, tmp_path, form):
    build(delta, columns=["late"])
    with pb.Index.build(tmp_path / "index", delta, "late", table="auto", form=form) as index:
        report = index.probe("late", ["x", "nobody"], files=delta, table="auto")
        some, none = report.results
        assert ([file.verdict for file in some.files], some.verdict) == (["maybe"], "maybe")
        assert (none.verdict, report.num_files) == ("absent", 3)
        assert index.check(deep=True).findings == ()
        assert index.add().not_indexed == ()
    found = pb.find(delta, "late", ["x", "nobody"], table="auto", index=tmp_path / "index")
    assert (found.files_by_index, found.unknown, [*found.absent]) == (2, (), ["nobody"])
    rows = pb.rows(delta, [("late", "==", "x")], table="auto", index=tmp_path / "index")
    assert rows["id"].to_pylist() == ["c"]


def test_an_index_asked_in_sql(delta, tmp_path):
    import duckdb

    pb.Index.build(tmp_path / "index", delta, "late", table="auto").close()
    for value, expected in (("x", ["maybe"]), ("nobody", [])):
        query = pb.Index(tmp_path / "index").sql("late", value, engine="duckdb")
        assert [row[1] for row in duckdb.sql(query).fetchall()] == expected


def test_an_index_of_a_column_in_no_file(delta, tmp_path):
    """It is no mistake: the table has it."""
    write_commit(delta, {"metaData": metadata_with(delta, {"name": "none", "type": "string"})})
    with pb.Index.build(tmp_path / "index", delta, "none", table="auto") as index:
        assert index.probe("none", "x").results[0].verdict == "absent"
        assert index.check(deep=True).findings == ()
        assert index.compact(everything=True) is not None
        assert index.probe("none", "x").results[0].verdict == "absent"


def metadata_with(table: Path, field: dict) -> dict:
    """The metadata of a table with one more column."""
    fields = json.loads(DeltaTable(table).schema().to_json())["fields"]
    fields.append({"nullable": True, "metadata": {}} | field)
    return {
        "id": DeltaTable(table).metadata().id,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "configuration": {},
    }


def test_a_default_that_spark_reads_leaves_it_unknown(delta):
    field = {"name": "none", "type": "string", "metadata": {"EXISTS_DEFAULT": "'x'"}}
    write_commit(delta, {"metaData": metadata_with(delta, field)})
    assert said(pb.open_table(delta), "none") == [UNKNOWN] * 3


def test_the_same_name_in_other_letters_leaves_it_unknown(delta):
    """Spark reads it, most others do not."""
    metadata = metadata_with(delta, {"name": "LATE", "type": "string"})
    metadata["schemaString"] = metadata["schemaString"].replace('"late"', '"another"')
    write_commit(delta, {"metaData": metadata})
    assert sorted(said(pb.open_table(delta), "LATE")) == [NULL, NULL, UNKNOWN]


# ------------------------------------------------------------------------------------------------
# Column mapping


def mapped(folder: Path, mode: str, data: pa.Table) -> pb.LakeTable:
    """A table of one file with some of the columns `a`, `late` and `tags`, which are called p, q and r."""
    names = {"a": "p", "late": "q", "tags": "r"}
    tags = {"type": "array", "elementType": "string", "containsNull": True}
    kinds = {"a": "string", "late": "string", "tags": tags}
    fields = [
        mapped_field(name, kind, names, number)
        for number, (name, kind) in enumerate(kinds.items(), 1)
    ]
    return pb.open_table(mapped_table(folder, mode, fields, parquet_bytes(data)))


def stored(*fields: tuple[str, int | None, object]) -> pa.Table:
    """Columns of names, field ids, and values."""
    schema = [
        pa.field(
            name, pa.infer_type([value]), metadata=number and {"PARQUET:field_id": f"{number}"}
        )
        for name, number, value in fields
    ]
    return pa.table([[value] for _, _, value in fields], schema=pa.schema(schema))


A = ("p", 1, "x")


@pytest.mark.parametrize(
    ("mode", "others", "column", "expected"),
    [
        ("name", [], "late", NULL),
        ("name", [], "tags.list.element", NULL),
        ("name", [("late", 9, "x")], "late", NULL),
        ("name", [("Q", 9, "x")], "late", UNKNOWN),
        ("id", [], "late", NULL),
        ("id", [], "tags.list.element", NULL),
        ("id", [("q", 9, "x")], "late", NULL),
        ("id", [("q", None, "x")], "late", UNKNOWN),
        ("id", [("Q", None, "x")], "late", UNKNOWN),
        # A struct, and no list.
        ("name", [("r", 3, {"y": "x"})], "tags.list.element", UNKNOWN),
        ("id", [("z", 3, {"y": "x"})], "tags.list.element", UNKNOWN),
    ],
)
def test_mapped_columns(tmp_path, mode, others, column, expected):
    assert said(mapped(tmp_path / "t", mode, stored(A, *others)), column) == [expected]


def test_fields_of_a_variant(tmp_path):
    path, columns = tmp_path / "a.parquet", ["id", "v", "w", "w:a"]
    pq.write_table(pa.table({"id": ["x"], "w:a": ["x"]}), path)
    with opened_as(OwnNames(), columns, str(path), path.stat().st_size, None) as file:
        for column in ("v", "v:a", "v:$.a.b", "w", "w:b"):
            assert file.answer_to_all(column) == NULL
        # A column that is called so.
        assert file.answer_to_all("w:a") is None
        assert file.answer_to_all("no:a") is None


# ------------------------------------------------------------------------------------------------
# Iceberg


@pytest.fixture
def catalog(tmp_path, monkeypatch):
    use_catalog(tmp_path, monkeypatch)


COLUMNS_OF_ICEBERG = {"a": 1, "late": 2, "tags.element": 3}


@pytest.mark.parametrize(
    ("mapped", "fields", "column", "expected"),
    [
        (None, [("a", 1, "x")], "late", NULL),
        (None, [("a", 1, "x")], "tags.element", NULL),
        # The id tells, and not the name.
        (None, [("a", 1, "x"), ("late", 9, "x")], "late", NULL),
        # Of a file that has some ids, libraries make different things.
        (None, [("a", 1, "x"), ("b", None, "x")], "late", UNKNOWN),
        ({("a",): 1}, [("a", None, "x")], "late", NULL),
        ({("a",): 1}, [("a", None, "x"), ("late", None, "x")], "late", NULL),
        ({("a",): 1, ("late",): 2}, [("a", None, "x"), ("LATE", None, "x")], "late", UNKNOWN),
        ({("a",): 1, ("late",): 2}, [("a", 1, "x"), ("late", 9, "x")], "late", UNKNOWN),
    ],
)
def test_columns_of_iceberg(tmp_path, mapped, fields, column, expected):
    path = tmp_path / "a.parquet"
    pq.write_table(stored(*fields), path)
    names, size = NamesById(COLUMNS_OF_ICEBERG, mapped), path.stat().st_size
    with opened_as(names, [*COLUMNS_OF_ICEBERG], str(path), size, None) as file:
        assert file.answer_to_all(column) == expected
    # The value of a partition, or a default.
    valued = [column.partition(".")[0]]
    with opened_as(names, [*COLUMNS_OF_ICEBERG], str(path), size, None, valued=valued) as file:
        assert file.answer_to_all(column) == UNKNOWN


def test_an_element_without_the_id_that_it_should_have(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(stored(("a", 1, "x"), ("tags", 7, ["x"])), path)
    columns = [*COLUMNS_OF_ICEBERG]
    names, size = NamesById(COLUMNS_OF_ICEBERG, None), path.stat().st_size
    with opened_as(names, columns, str(path), size, None) as file:
        assert file.answer_to_all("tags.element") == UNKNOWN


@pytest.fixture
def iceberg(tmp_path, monkeypatch):
    """A file without `late` and `day`, and one that has them; by now, the table is partitioned by `day`."""
    use_catalog(tmp_path, monkeypatch)
    schema = Schema(NestedField(1, "id", StringType(), required=False))
    table = make_table(commits=0, schema=schema, spec=PartitionSpec())
    table.append(pa.table({"id": ["a"]}))
    with table.update_schema() as update:
        update.add_column("late", StringType())
        update.add_column("day", StringType())
    with table.update_spec() as spec:
        spec.add_identity("day")
    row = {"id": ["b"], "late": ["x"], "day": ["x"]}
    table.append(pa.table(row))
    return table


def test_older_files_of_iceberg(iceberg):
    table = pb.open_table(NAME, catalog=CATALOG)
    for column in ("late", "day"):
        assert sorted(said(table, column, "x")) == [NULL, ("unknown", "no filter")]
        view = pb.TableView(catalog=CATALOG)
        for value in ("x", "nobody"):
            wanted = iceberg.scan(EqualTo(column, value), selected_fields=("id",)).to_arrow()
            found = pb.rows(NAME, [(column, "==", value)], table=view, columns=["id"])
            assert found.to_pylist() == wanted.to_pylist()
            report = pb.find(NAME, column, value, table=view)
            assert (report.unknown, len(report.rows)) == ((), len(wanted))


def test_a_default_leaves_it_unknown(iceberg):
    """PyIceberg reads tables of version 3, and writes none."""
    path = path_of(iceberg.metadata_location)
    metadata = json.loads(path.read_text())
    for schema in metadata["schemas"]:
        for field in schema["fields"]:
            if field["name"] == "late":
                field["initial-default"] = "x"
    path.write_text(json.dumps(metadata))
    table = pb.open_table(NAME, catalog=CATALOG)
    assert sorted(said(table, "late")) == [("unknown", "no filter"), UNKNOWN]
    assert sorted(said(table, "day")) == [NULL, ("unknown", "no filter")]
    valued = [{*table.valued_without(file)} for file in table.files()]
    assert sorted(valued, key=len) == [{"late"}, {"late", "day"}]


def test_the_names_of_partitions_are_those_of_now(iceberg):
    """An older snapshot has columns by other names."""
    then = iceberg.current_snapshot().snapshot_id
    with iceberg.update_schema() as update:
        update.rename_column("day", "weekday")
    table = pb.open_table(NAME, catalog=CATALOG, version=then)
    (partitioned,) = [file for file in table.files() if file.partition]
    assert {"day", "late"} <= {*table.valued_without(partitioned)}
    assert NULL in said(table, "day", "x")


@pytest.mark.parametrize("is_first", [True, False])
def test_fields_that_a_struct_got_later(delta, is_first):
    """Whichever file is read first, rows have all fields that the table has."""
    log = delta / "_delta_log" / f"{2:020}.json"
    (new,) = [file.name for file in pb.open_table(delta).files() if file.name in log.read_text()]
    there = "0.parquet" if is_first else "z.parquet"
    log.write_text(log.read_text().replace(new, there))
    (delta / new).rename(delta / there)
    found = pb.rows(delta, [("id", "in", ["a", "d"])], ["id", "s"], table="delta").sort_by("id")
    assert found.to_pylist() == [
        {"id": "a", "s": {"x": "a", "y": None}},
        {"id": "d", "s": {"x": "d", "y": None}},
    ]
    fields = pa.struct([("x", pa.string()), ("y", pa.string())])
    assert pb.rows(delta, {"id": "a"}, "s", table="delta").schema.field("s").type == fields
    assert pb.dataset(delta, {"id": "a"}, table="delta").schema.field("s").type == fields
    for source in (pb.polars_source(delta, table="delta"),
                   pb.polars_source(delta, table="delta").filter(pl.col("id").is_in(["a", "c"]))):  # fmt: skip
        rows = {row["id"]: row["s"] for row in source.collect().rows(named=True)}
        assert (rows["a"], rows["c"]) == ({"x": "a", "y": None}, {"x": "c", "y": "x"})
    source = pb.polars_source(delta, {"id": ["a"]}, table="delta")
    frame = source.filter(pl.col("id") == "a").collect()
    assert frame.schema == source.collect_schema()


def test_columns_that_no_file_has_yet(tmp_path):
    """They are of the types that the table has given them."""
    use = tmp_path / "events"
    write_deltalake(use, pa.table({"id": ["a"]}))
    DeltaTable(use).alter.add_columns(
        [Field("n", "long"), Field("l", ArrayType("string")),
         Field("s", StructType([Field("d", "decimal(9,2)"), Field("b", "binary")])),
         Field("m", MapType("string", "double"))]
    )  # fmt: skip
    judge = DeltaTable(use).to_pyarrow_table()
    found = pb.polars_source(use, table="delta").collect()
    assert found.equals(pl.DataFrame(judge))
    assert found.schema == pl.DataFrame(judge).schema


def test_names_of_folders_say_nothing_of_a_table(iceberg):
    """Iceberg puts the values of a partition there, too, and null as a word."""
    with iceberg.update_schema() as update:
        update.add_column("t", StringType())
    with iceberg.update_spec() as update:
        update.add_identity("t")
    rows = {"id": ["y", "z"], "t": [None, "u"], "day": ["mon", "tue"], "late": ["l", "l"]}
    iceberg.append(pa.table(rows))
    view = pb.TableView(kind="iceberg", catalog=CATALOG)
    source = pb.polars_source(NAME, {"id": ["y", "z"]}, table=view)
    found = source.filter(pl.col("id").is_in(["y", "z"])).collect()
    assert dict(found.select("id", "t").rows()) == {"y": None, "z": "u"}


ASKED = [
    ({"late": "y"}, pc.field("late") == "y", 0),
    ({"s.y": "y"}, pc.field("s", "y") == "y", 0),
    ({"late": "x"}, pc.field("late") == "x", 1),
    ({"id": "a"}, pc.field("late").is_null(), 1),
]


@pytest.mark.parametrize(("filters", "asked", "num_rows"), ASKED)
def test_a_dataset_has_all_columns_whatever_is_left(
    delta: Path, filters: Any, asked: pc.Expression, num_rows: int
) -> None:
    dataset = pb.dataset(delta, filters, table="delta")
    assert dataset.schema == DeltaTable(delta).to_pyarrow_dataset().schema
    assert dataset.to_table(filter=asked).num_rows == num_rows


@pytest.mark.parametrize("wanted", ["a", "x", "y"])
def test_a_dataset_of_iceberg_has_all_columns_whatever_is_left(
    iceberg: object, wanted: str
) -> None:
    dataset = pb.dataset(NAME, {"late": wanted}, table=pb.TableView(catalog=CATALOG))
    assert dataset.schema.names == ["id", "late", "day"]
    assert dataset.schema.field("late").type == pa.string()
    assert dataset.to_table(filter=pc.field("late") == wanted).num_rows == (wanted == "x")


def test_rows_that_delta_rs_has_written_anew(tmp_path):
    """It notes that their text was in views, which pyarrow neither compares nor puts beside other text."""
    folder = tmp_path / "events"
    rows = {"id": [1, 2, 3], "t": ["a", "b", "c"], "s": [{"v": "a"}, {"v": None}, None], "l": [["x"], [], None], "k": [b"a", b"b", None]}  # fmt: skip
    write_deltalake(folder, pa.table(rows))
    DeltaTable(folder).delete("id = 1")
    (path,) = [folder / file.name for file in pb.open_table(folder).files()]
    assert pq.read_schema(path).field("t").type == pa.string_view()
    write_deltalake(folder, pa.table(rows), mode="append")
    judge = DeltaTable(folder).to_pyarrow_table().sort_by("id")
    found = pb.rows(folder, [("id", ">", 0)], table="delta")
    assert found.sort_by("id").to_pylist() == judge.to_pylist()
    assert found.schema.field("t").type == pa.string()
    assert pb.rows(folder, {"t": "b"}, ["id"], table="delta")["id"].to_pylist() == [2, 2]
    assert pb.rows(folder, {"s.v": "a"}, ["id"], table="delta")["id"].to_pylist() == [1]
    asked = pc.field("t") == "b"
    of_dataset = pb.dataset(folder, {"t": "b"}, table="delta").to_table().filter(asked)
    assert of_dataset["s"].to_pylist() == [{"v": None}, {"v": None}]
    assert pb.polars_source(folder, table="delta").filter(pl.col("t") == "b").collect().height == 2
