"""Columns whose types a table has widened since some of its files were written. Values are of the table's type: what
the narrower type of an older file does not hold is none of its values."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from make.commands import outcome
from make.delta_tables import build, write_commit
from make.iceberg_tables import CATALOG, NAME, make_table, use_catalog
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.types import DecimalType, DoubleType, FloatType, IntegerType, LongType, NestedField

import parquet_bloom as pb
from parquet_bloom.values.literals import encode_given
from parquet_bloom.values.promotion import promoted
from parquet_bloom.values.types import LeafType, LogicalType
from parquet_bloom.vocabulary import BEYOND_TYPE

LATER, FLOAT = 5_000_000_007, float(np.float32(8.1))
DAY, MOMENT = datetime.datetime(2026, 1, 2), datetime.datetime(2026, 1, 3, 0, 0, 1)
OLD = {
    "n": pa.array([7, 8], pa.int32()),
    "f": pa.array([7.1, 8.1], pa.float32()),
    "d": pa.array([Decimal("0.07"), Decimal("1.00")], pa.decimal128(8, 2)),
    "t": pa.array([DAY.date(), DAY.date()], pa.date32()),
    "s": [{"n": 7}, {"n": 8}],
}
NEW = {
    "n": pa.array([LATER, 9], pa.int64()),
    "f": [7.1, 7.10000001],
    "d": pa.array([Decimal("0.0007"), Decimal("1.0000")], pa.decimal128(12, 4)),
    "t": pa.array([MOMENT, DAY], pa.timestamp("us")),
    "s": [{"n": LATER}, {"n": 9}],
}
ASKED = [
    ("n", 7, 1), ("n", LATER, 1), ("n", 1 << 40, 0),
    ("f", 7.10000001, 1), ("f", 7.1, 1), ("f", 8.1, 0), ("f", FLOAT, 1), ("f", 1e300, 0),
    ("d", Decimal("0.07"), 1), ("d", Decimal("0.0700"), 1), ("d", Decimal("0.0007"), 1), ("d", Decimal(1), 2),
    ("d", Decimal("1000000.0001"), 0),
    ("t", DAY, 3), ("t", MOMENT, 1), ("t", DAY + datetime.timedelta(days=9), 0),
    ("s.n", 7, 1), ("s.n", LATER, 1),
]  # fmt: skip


@pytest.fixture
def delta(tmp_path: Path) -> Path:
    folder = tmp_path / "events"
    write_deltalake(folder, pa.table(NEW))
    old = folder / "old.parquet"
    structs = pa.array(OLD["s"], pa.struct([("n", pa.int32())]))
    pq.write_table(pa.table({**OLD, "s": structs}), old)
    add = {"path": old.name, "partitionValues": {}, "size": old.stat().st_size, "modificationTime": 0, "dataChange": True}  # fmt: skip
    write_commit(folder, {"add": add})
    return folder


@pytest.mark.parametrize("has_filters", [False, True])
@pytest.mark.parametrize(("column", "value", "num_rows"), ASKED)
def test_delta(delta, column, value, num_rows, has_filters):
    if has_filters:
        build(delta, columns=[column])
    for values in ([value], [value] * 300):
        report = pb.find(delta, column, values, table="delta")
        assert (len({(row.path, row.row) for row in report.rows}), report.unknown) == (num_rows, ())


@pytest.mark.parametrize(
    ("column", "values", "by_statistics"),
    [
        ("n", 5, 2), ("n", 100, 1), ("n", [5, LATER + 1], 2), ("n", LATER, 1), ("n", 1 << 40, 2),
        ("f", 7.0, 2), ("f", 7.5, 1), ("f", 7.2, 2), ("d", Decimal("3.5000"), 2), ("d", Decimal("0.5"), 0),
        ("t", DAY + datetime.timedelta(days=9), 2),
    ],
)  # fmt: skip
def test_min_and_max_are_of_the_type_of_the_file(delta, column, values, by_statistics):
    """A value that it does not hold reaches no bounds, and is ruled out there as by these."""
    report = pb.find(delta, column, values, table="delta")
    assert (report.unknown, report.files_by_statistics) == ((), by_statistics)


def test_probe(delta):
    arguments = ("--table", "delta", "-c", "n", "-v")
    result = outcome("probe", delta, *arguments, LATER)
    assert (result.code, result.stderr) == (0, "")
    assert f"{delta / 'old.parquet'}: absent\n" in result.stdout
    assert BEYOND_TYPE in outcome("probe", "--explain", delta, *arguments, LATER).stdout
    wrong = outcome("probe", delta, *arguments, "x")
    assert wrong.code == 2
    assert "parquet: column n: x: cannot be a value of INT64: expected an integer" in wrong.stderr
    assert outcome("find", delta, *arguments, LATER).code == 0
    (old,) = [file for file in pb.open_table(delta).files() if file.name == "old.parquet"]
    with pb.open_table(delta).open(old) as file:
        assert [(each.verdict, each.reason) for each in file.probe("n", LATER)] == [
            ("absent", BEYOND_TYPE)
        ]


@pytest.mark.parametrize(
    ("column", "value", "old", "new"),
    [
        ("n", 7, "maybe", "absent"), ("n", LATER, "absent", "maybe"), ("n", 1 << 40, "absent", "absent"),
        ("t", DAY, "maybe", "maybe"), ("t", MOMENT, "absent", "maybe"), ("s.n", LATER, "absent", "maybe"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("count", [1, 300])
def test_an_index_of_a_table_knows_wider_types(delta, tmp_path, column, value, old, new, count):
    """By those of its other files."""
    with pb.Index.build(tmp_path / "index", delta, column, table="delta") as index:
        for files in (None, delta):
            view = None if files is None else "delta"
            report = index.probe(column, [value] * count, files=files, table=view)
            verdicts = dict.fromkeys(("old", "new"), "absent")
            for file in report.results[count - 1].files:
                verdicts["old" if file.path.endswith("old.parquet") else "new"] = file.verdict
            assert (verdicts["old"], verdicts["new"]) == (old, new)
        found = pb.find(delta, column, value, table="delta", index=tmp_path / "index")
        assert len(found.rows) == len(pb.find(delta, column, value, table="delta").rows)


@pytest.mark.parametrize(
    ("column", "values"),
    [("f", [1e300, 0.5]), ("f", [1e300]), ("t", [MOMENT]), ("d", [Decimal("0.0007")])],
    ids=str,
)
def test_the_table_itself_knows_wider_types_than_the_index_has_seen(
    delta, tmp_path, column, values
):
    """What no file that is left could hold, but the column can."""
    old = delta / "old.parquet"
    gone = [path.name for path in delta.glob("*.parquet") if path != old]
    for name in gone:
        write_commit(delta, {"remove": {"path": name, "dataChange": True}})
    pb.Index.build(tmp_path / "index", delta, column, table="delta").close()
    for files, view in ((delta, "delta"), (None, None)):
        report = pb.find(files, column, values, table=view, index=tmp_path / "index")
        assert (report.rows, report.unknown, report.num_files) == ((), (), 1)
    with pytest.raises(
        pb.ValueTypeError, match=r"old\.parquet: column .: 'x': cannot be a value of "
    ):
        pb.find(delta, column, "x", table="delta", index=tmp_path / "index")


def test_an_index_of_loose_files_knows_only_what_integers_take_more_bits(delta, tmp_path):
    with pb.Index.build(tmp_path / "index", [*delta.glob("*.parquet")], ["n", "t"]) as index:
        (result,) = index.probe("t", MOMENT).results
        assert sorted(file.verdict for file in result.files) == ["maybe", "unknown"]
        (result,) = index.probe("n", LATER).results
        assert [file.verdict for file in result.files] == ["maybe"]


def test_iceberg(tmp_path, monkeypatch):
    use_catalog(tmp_path, monkeypatch)
    columns = ["n", "f", "d"]
    fields = [IntegerType(), FloatType(), DecimalType(8, 2)]
    schema = Schema(
        *(
            NestedField(number, name, kind, required=False)
            for number, (name, kind) in enumerate(zip(columns, fields, strict=True), 1)
        )
    )
    iceberg = make_table(schema=schema, spec=PartitionSpec(), commits=0)
    iceberg.append(pa.table({name: OLD[name] for name in columns}))
    with iceberg.update_schema() as update:
        update.update_column("n", LongType())
        update.update_column("f", DoubleType())
        update.update_column("d", DecimalType(12, 2))
    new = {name: NEW[name] for name in ("n", "f")}
    decimals = pa.array([Decimal("1000000000.01"), None], pa.decimal128(12, 2))
    iceberg.append(pa.table({**new, "d": decimals}))
    asked = [each for each in ASKED if each[0] in "nf"]
    for column, value, num_rows in [*asked, ("d", Decimal("1000000000.01"), 1)]:
        report = pb.find(NAME, column, [value], table=pb.TableView(kind="iceberg", catalog=CATALOG))
        assert (len(report.rows), report.unknown) == (num_rows, ())
    view = pb.TableView(kind="iceberg", catalog=CATALOG)
    found = pb.rows(NAME, [("n", "in", [7, LATER])], table=view).sort_by("n")
    assert found.schema.types == [pa.int64(), pa.float64(), pa.decimal128(12, 2)]
    assert found["d"].to_pylist() == [Decimal("0.07"), Decimal("1000000000.01")]
    source = pb.polars_source(NAME, table=view).filter(pl.col("n").is_in([7, LATER]))
    assert source.sort("n").collect().rows(named=True) == found.to_pylist()


def test_types_that_are_not_wider():
    number, text = LeafType("INT32"), LeafType("BYTE_ARRAY", logical=LogicalType("STRING"))
    for stored, kind in [(number, "integer"), (number, "string"), (text, "long"), (number, "short"),
                         (LeafType("INT64"), "integer"), (LeafType("DOUBLE"), "double")]:  # fmt: skip
        assert promoted(stored, kind) is stored


def test_zeros_and_nan_of_floats():
    leaf = promoted(LeafType("FLOAT"), "double")
    assert len(encode_given(leaf, 0.0).plain) == 2
    assert encode_given(leaf, 5e-324).unknown == BEYOND_TYPE
    assert encode_given(leaf, float("nan")).unknown == "NaN has many encodings"
    assert len(encode_given(leaf, float("inf")).plain) == 1
    assert encode_given(promoted(LeafType("INT32"), "double"), float("inf")).unknown == BEYOND_TYPE


KINDS = [
    pa.int64(), pa.float64(), pa.decimal128(12, 4), pa.timestamp("us"), pa.struct([("n", pa.int64())])
]  # fmt: skip


@pytest.mark.parametrize("value", [7, LATER])
def test_rows_are_of_the_types_of_the_table(delta, value):
    for found in (
        pb.rows(delta, {"n": value}, table="delta"),
        pb.find(delta, "n", value, columns=[*NEW], table="delta").values,
        pb.dataset(delta, {"n": value}, table="delta").to_table(filter=pc.field("n") == value),
    ):
        assert (found.schema.types, found["n"].to_pylist()) == (KINDS, [value])
    source = pb.polars_source(delta, table="delta")
    found = source.filter(pl.col("n") == value).collect()
    assert found["n"].to_list() == [value]
    assert found.schema == source.collect_schema() == pl.DataFrame(pa.table(NEW)).schema


@pytest.mark.parametrize("is_first", [True, False])
def test_rows_of_files_of_both_types(delta, is_first):
    """Whichever file is the first: the table says of which types they are."""
    if is_first:
        (log,) = delta.glob("_delta_log/*1.json")
        log.write_text(log.read_text().replace("old.parquet", "1.parquet"))
        (delta / "old.parquet").rename(delta / "1.parquet")
    found = pb.rows(delta, {"d": Decimal(1)}, ["n", "t"], table="delta").to_pylist()
    assert sorted(found, key=lambda row: row["n"]) == [{"n": 8, "t": DAY}, {"n": 9, "t": DAY}]
    expected = pb.rows(delta, [("n", ">", 0)], table="delta")
    assert sorted(expected["n"].to_pylist()) == [7, 8, 9, LATER]
    assert pb.dataset(delta, {}, table="delta").to_table().equals(expected)
    of_polars = pb.polars_source(delta, table="delta").collect()
    assert of_polars.rows(named=True) == expected.to_pylist()


def test_what_is_in_lists_and_maps(tmp_path):
    folder = tmp_path / "events"
    of_maps = pa.map_(pa.string(), pa.struct([("x", pa.int64())]))
    new = {"id": [3], "l": [[{"x": LATER}]], "m": pa.array([[("k", {"x": LATER})]], of_maps)}
    write_deltalake(folder, pa.table(new))
    numbers = pa.struct([("x", pa.int32())])
    old = {"id": [1, 2], "l": pa.array([[{"x": 7}], None], pa.list_(numbers)),
           "m": pa.array([[("k", {"x": 7})], None], pa.map_(pa.string(), numbers))}  # fmt: skip
    pq.write_table(pa.table(old), folder / "1.parquet")
    add = {"path": "1.parquet", "partitionValues": {}, "size": (folder / "1.parquet").stat().st_size, "modificationTime": 0, "dataChange": True}  # fmt: skip
    write_commit(folder, {"add": add})
    found = pb.rows(folder, [("id", ">", 0)], table="delta")
    assert found["l"].to_pylist() == [[{"x": 7}], None, [{"x": LATER}]]
    assert found["m"].to_pylist() == [[("k", {"x": 7})], None, [("k", {"x": LATER})]]
    assert (
        pb.polars_source(folder, table="delta").collect().to_arrow()["l"].to_pylist()
        == found["l"].to_pylist()
    )


def test_a_double_that_rounds_the_integers_of_a_file_is_no_wider_type():
    assert promoted(LeafType("INT32"), "double").wide == LeafType("DOUBLE")
    assert promoted(LeafType("INT64"), "double").wide is None
