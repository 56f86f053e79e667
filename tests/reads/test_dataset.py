"""A dataset of what may match has the rows that one of everything has."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from make import iceberg_tables
from make.delta_tables import delete_rows, inline_vector, make_table
from oracle.delta_readers import by_query_builder
from pyarrow import orc

import parquet_bloom as pb

FILES, GROUPS, ROWS = 4, 5, 100


def table_of(number: int) -> pa.Table:
    start = GROUPS * ROWS * number
    ids = np.random.default_rng(7).permutation(FILES * GROUPS * ROWS)
    numbers = range(start, start + GROUPS * ROWS)
    part = ids[start : start + GROUPS * ROWS]
    return pa.table({"id": part, "text": [f"key {id}" for id in part], "row": numbers})


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    folder = tmp_path / "lake"
    folder.mkdir()
    for number in range(FILES):
        path = folder / f"{number}.parquet"
        pq.write_table(table_of(number), path, row_group_size=ROWS)
        pb.build(path, columns=["id", "text"], in_place=True, fpp=0.0001)
    return folder


def groups_of(dataset: pads.FileSystemDataset) -> list[tuple[str, list[int]]]:
    return [
        (Path(each.path).stem, [group.id for group in each.row_groups])
        for each in dataset.get_fragments()
    ]


FILTERS: list[tuple[Any, pc.Expression]] = [
    ({"id": 42}, pc.field("id") == 42),
    ({"id": [42, 43]}, pc.field("id").isin([42, 43])),
    ([("text", "==", "key 42"), ("row", "<", 1500)], (pc.field("text") == "key 42") & (pc.field("row") < 1500)),
    ([[("id", "==", 42)], [("row", ">=", 1990)]], (pc.field("id") == 42) | (pc.field("row") >= 1990)),
    ({"id": -1}, pc.field("id") == -1),
    ({}, pc.field("id") >= 0),
]  # fmt: skip


@pytest.mark.parametrize(("filters", "wanted"), FILTERS, ids=[str(each) for each, _ in FILTERS])
@pytest.mark.parametrize("with_index", [False, True])
def test_the_rows_are_those_of_all_files(
    lake: Path, tmp_path: Path, filters: Any, wanted: pc.Expression, with_index: bool
) -> None:
    index = tmp_path / "ids.index" if with_index else None
    if index is not None:
        pb.Index.build(index, lake, "id").close()
    dataset = pb.dataset(lake, filters, index=index)
    assert dataset.to_table(filter=wanted) == pads.dataset(lake).to_table(filter=wanted)
    assert dataset.schema == pads.dataset(lake).schema


def test_only_row_groups_that_are_left_are_in_it(lake: Path) -> None:
    table = pa.concat_tables(map(table_of, range(FILES)))
    row = table["id"].to_pylist().index(42)
    file, group = divmod(row // ROWS, GROUPS)
    assert groups_of(pb.dataset(lake, {"id": 42})) == [(str(file), [group])]
    assert groups_of(pb.dataset(lake, {"id": -1})) == []


def test_others_read_it(lake: Path) -> None:
    dataset = pb.dataset(lake, {"id": [42, 43]})
    rows = {42, 43}
    assert (
        set(
            duckdb.sql("select id from dataset where id in (42, 43)")
            .to_arrow_table()["id"]
            .to_pylist()
        )
        == rows
    )
    frame = pl.scan_pyarrow_dataset(dataset).filter(pl.col("id").is_in([42, 43])).collect()
    assert set(frame["id"]) == rows
    pandas = dataset.to_table(filter=pc.field("id").isin([42, 43])).to_pandas()
    assert set(pandas["id"]) == rows
    again = pickle.loads(pickle.dumps(dataset))
    assert again.to_table() == dataset.to_table()


def test_partitions_are_columns(tmp_path: Path) -> None:
    folder = tmp_path / "lake=1"
    for number in range(3):
        path = folder / f"day={number}" / "land=a%20b" / "0.parquet"
        path.parent.mkdir(parents=True)
        pq.write_table(pa.table({"id": [number, 9]}), path)
    everything = pads.dataset(folder, partitioning="hive")
    for filters, wanted in (
        ({"id": 9, "day": 2}, (pc.field("id") == 9) & (pc.field("day") == 2)),
        ({"id": 1, "land": "a b"}, (pc.field("id") == 1) & (pc.field("land") == "a b")),
    ):
        found = pb.dataset(folder, filters)
        assert found.to_table(filter=wanted) == everything.to_table(filter=wanted)
        assert found.to_table(filter=wanted).num_rows == 1


def test_a_schema_can_be_given(lake: Path) -> None:
    schema = pa.schema({"id": pa.int32(), "more": pa.string()})
    found = pb.dataset(lake, {"id": 42}, schema=schema).to_table(filter=pc.field("id") == 42)
    assert found.to_pylist() == [{"id": 42, "more": None}]
    with pytest.raises(TypeError, match=r"^schema: 'id', expected a pyarrow\.Schema$"):
        pb.dataset(lake, {"id": 42}, schema="id")


def test_files_in_a_store_are_read_in_few_requests(lake: Path, s3: Any) -> None:
    for path in sorted(lake.glob("*.parquet")):
        s3.put(f"lake/{path.name}", path.read_bytes())
    s3.forget()
    dataset = pb.dataset("s3://lake/", {"id": 42}, storage_options=s3.options)
    # A listing, the end of each file, and of the first one for pyarrow.
    assert sorted(s3.kinds()) == ["GET"] * (FILES + 1) + ["LIST"]
    s3.forget()
    assert dataset.to_table(filter=pc.field("id") == 42)["id"].to_pylist() == [42]
    assert len(s3.kinds()) <= 3
    again = pickle.loads(pickle.dumps(dataset))
    assert again.to_table(filter=pc.field("id") == 42)["id"].to_pylist() == [42]


def test_one_key_opens_encrypted_files(tmp_path: Path) -> None:
    encryption = pytest.importorskip("pyarrow.parquet.encryption")
    if not hasattr(encryption, "create_encryption_properties"):
        pytest.skip("this pyarrow encrypts only with a KMS")
    key = b"0123456789abcdef"
    path = tmp_path / "a.parquet"
    properties = encryption.create_encryption_properties(key)
    with pq.ParquetWriter(path, table_of(0).schema, encryption_properties=properties) as writer:
        writer.write_table(table_of(0), row_group_size=ROWS)
    row = table_of(0)["row"][GROUPS * ROWS - 1].as_py()
    dataset = pb.dataset(path, {"row": row}, keys=pb.Keys(footer=key))
    assert groups_of(dataset) == [("a", [GROUPS - 1])]
    assert dataset.to_table(filter=pc.field("row") == row).num_rows == 1
    # No key goes to other processes.
    sent = pickle.dumps(dataset)
    assert key not in sent
    with pytest.raises(OSError, match="no decryption found in reader's properties"):
        pickle.loads(sent).to_table()
    with pytest.raises(pb.UnsupportedError) as caught:
        pb.dataset(path, {"row": row}, keys=pb.Keys(footer=key, columns={"id": key}))
    expected = (
        "expected one for the footer and all columns, or only a KMS client and master keys, as pyarrow"
        " takes no others"
    )
    assert str(caught.value) == f"keys: several, {expected}"


@pytest.mark.parametrize(
    "settings",
    [{}, {"plaintext_footer": True}, {"double_wrapping": False}],
    ids=lambda settings: "".join(settings) or "-",
)
def test_what_unwraps_keys_opens_files_of_many_keys(
    tmp_path: Path, settings: dict[str, bool]
) -> None:
    kms_lab = pytest.importorskip("make.kms_lab")
    kms, masters = kms_lab.LabKms(None), kms_lab.MASTER_KEYS
    for keys in (
        pb.Keys(kms_client=kms),
        pb.Keys(master_keys=masters),
        pb.Keys(kms_client=kms, master_keys={"m1": masters["m1"]}),
    ):
        path = kms_lab.write(tmp_path / "sealed.parquet", **settings)
        pb.build(path, columns=["a", "b"], in_place=True, keys=keys)
        pq.write_table(kms_lab.TABLE, tmp_path / "plain.parquet")
        dataset = pb.dataset(tmp_path, {"b": "b7"}, keys=keys)
        rows = dataset.to_table(filter=pc.field("b") == "b7")
        assert rows.to_pydict() == {"a": [7, 7], "b": ["b7", "b7"], "c": [7, 7]}
        assert not groups_of(pb.dataset(path, {"b": "none"}, keys=keys))
    without_b = pb.Keys(master_keys={name: masters[name] for name in ("mf", "m1")})
    dataset = pb.dataset(path, {"a": 7}, keys=without_b)
    assert dataset.to_table(columns=["a"], filter=pc.field("a") == 7).to_pydict() == {"a": [7]}
    with pytest.raises(pb.MissingKeyError, match="no master key 'm2'"):
        dataset.to_table(columns=["b"])
    with pytest.raises(OSError, match="decrypt"):
        pickle.loads(pickle.dumps(dataset)).to_table(columns=["a"])


def test_a_table_is_read_as_its_files(tmp_path: Path) -> None:
    table = make_table(tmp_path / "table")
    wanted = pc.field("n") == 3
    found = pb.dataset(table, {"n": 3}, table="delta").to_table(filter=wanted)
    live = [str(file.path) for file in pb.open_table(table).files()]
    assert found.num_rows == pads.dataset(live).to_table(filter=wanted).num_rows == 1


def test_deleted_rows_are_not_read_as_if_they_were_there(tmp_path: Path) -> None:
    table = make_table(tmp_path / "table")
    file = pb.open_table(table).files()[0]
    delete_rows(table, file.name, inline_vector({3}))
    with pytest.raises(pb.UnsupportedError) as caught:
        pb.dataset(table, {}, table="delta")
    assert str(caught.value) == (
        f"{file.path}: {table} says more about it than is in it: deleted rows;"
        " expected pb.rows or pb.polars_source, or an engine that reads the table"
    )
    num_left = len(by_query_builder(table))
    assert pb.rows(table, {}, table="delta").num_rows == num_left
    assert pb.polars_source(table, table="delta").collect().height == num_left


def test_rows_that_nobody_finds_here_are_for_other_engines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    iceberg_tables.use_catalog(tmp_path, monkeypatch)
    table = iceberg_tables.make_table(commits=1)
    iceberg_tables.delete_equal(table, min(iceberg_tables.live()), [5])
    view = pb.TableView(kind="iceberg", catalog=iceberg_tables.CATALOG)
    with pytest.raises(pb.UnsupportedError) as caught:
        pb.dataset(iceberg_tables.NAME, {}, table=view)
    assert str(caught.value).endswith(
        ": an equality delete file may delete rows of it: expected an engine that reads the table"
    )


def test_a_table_without_files(tmp_path: Path) -> None:
    DeltaTable.create(tmp_path / "table", pa.schema([("id", pa.int64())]))
    with pytest.raises(FileNotFoundError, match="no files"):
        pb.dataset(tmp_path / "table", {"id": 1}, table="delta")


def test_orc_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.orc"
    orc.write_table(table_of(0), path)
    with pytest.raises(pb.UnsupportedError) as caught:
        pb.dataset(path, {"id": 1})
    assert str(caught.value) == f"{path}: ORC, expected Parquet; pb.row_groups and pb.rows take it"


@pytest.mark.parametrize("kinds", ["view view", "text view", "view text"])
def test_text_in_views_is_compared(tmp_path: Path, kinds: str) -> None:
    """As DataFusion and delta-rs write it: pyarrow compares views with nothing, and other columns not beside them."""
    made = {"text": (pa.string(), pa.binary()), "view": (pa.string_view(), pa.binary_view())}
    for number, kind in enumerate(kinds.split()):
        text, binary = made[kind]
        columns = {
            "id": [1, 2],
            "name": pa.array(["a", "b"], text),
            "key": pa.array([b"a", b"b"], binary),
            "in": pa.array([{"m": [("k", "v")]}, None], pa.struct([("m", pa.map_(text, text))])),
        }
        pq.write_table(pa.table(columns), tmp_path / f"{number}.parquet")
    wanted = [{"id": 2, "name": "b", "key": b"b", "in": None}] * 2
    for asked in ({"name": "b"}, {"key": b"b"}, {"id": 2}, {"name": ["b", "c"]}):
        dataset = pb.dataset(tmp_path, asked)
        assert [str(dataset.schema.field(name).type) for name in ("name", "key")] == [
            "string", "binary",
        ]  # fmt: skip
        ((column, values),) = asked.items()
        condition = pc.field(column).isin(values if isinstance(values, list) else [values])
        assert dataset.to_table(filter=condition).to_pylist() == wanted
        assert pb.rows(tmp_path, asked).to_pylist() == wanted
    assert pb.dataset(tmp_path, {}).to_table().num_rows == 4


@pytest.mark.skipif(pa.__version__.startswith("18."), reason="refuses files without a field")
def test_a_field_that_a_struct_got_later(tmp_path: Path) -> None:
    """Whichever files are left, as with a whole column; null where a file lacks it, whatever its writer says."""
    later = pa.struct(
        [
            pa.field("ip", pa.int32()),
            pa.field("asn", pa.int64(), nullable=False),
            pa.field("at", pa.struct([("zip", pa.string())])),
        ]
    )
    old = pa.array([{"ip": 1}, None], pa.struct([("ip", pa.int64())]))
    new = pa.array([{"ip": 2, "asn": 7, "at": {"zip": "8000"}}, None], later)
    for name, geo in (("a", old), ("b", new)):
        pq.write_table(pa.table({"id": [1, 2], "geo": geo}), tmp_path / f"{name}.parquet")
    for filters, condition in (
        ({"geo.asn": 7}, pc.field("geo", "asn") == 7),
        ({"geo.at.zip": "8000"}, pc.field("geo", "at", "zip") == "8000"),
        ({"geo.asn": 8}, pc.field("geo", "asn") == 8),
    ):
        dataset = pb.dataset(tmp_path, filters)
        assert [field.name for field in dataset.schema.field("geo").type] == ["ip", "asn", "at"]
        assert dataset.schema.field("geo").type.field("ip").type == pa.int64()
        found = dataset.to_table(filter=condition).to_pylist()
        expected = {"id": 1, "geo": {"ip": 2, "asn": 7, "at": {"zip": "8000"}}}
        assert found == ([] if filters == {"geo.asn": 8} else [expected])
    # Of what the first file has, no other file is asked.
    assert len(pb.dataset(tmp_path, {"geo.ip": 1}).schema.field("geo").type) == 1
