"""A source of polars has the rows that a scan of all files has."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES
from polars.testing import assert_frame_equal

import parquet_bloom as pb
from parquet_bloom.reads.polars_predicates import pushed_by_polars

FILES, ROWS = 6, 160
SCHEMA = {"a": pl.Int64, "b": pl.Int16, "u": pl.UInt64, "s": pl.String, "f": pl.Float64}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lake")
    chance = random.Random(3)
    for number in range(FILES):
        table = pa.table(
            {
                "a": [chance.choice((None, chance.randrange(400))) for _ in range(ROWS)],
                "b": pa.array([chance.randrange(300) for _ in range(ROWS)], pa.int16()),
                "u": pa.array([2**63 + chance.randrange(300) for _ in range(ROWS)], pa.uint64()),
                "s": [f"key {chance.randrange(300)}" for _ in range(ROWS)],
                "f": [float(chance.randrange(40)) for _ in range(ROWS)],
            }
        )
        path = folder / f"{number}.parquet"
        pq.write_table(table, path, row_group_size=20)
        if number != 2:
            pb.build(path, columns=["a", "b", "u", "s"], in_place=True, fpp=0.001)
    return folder


def comparison(chance: random.Random) -> pl.Expr:
    """One that may be read, or may not."""
    number, column = chance.randrange(400), pl.col(chance.choice("ab"))
    return chance.choice(
        [
            column == number,
            column == number,
            pl.lit(number) == column,
            pl.col("s") == f"key {number}",
            pl.col("u") == 2**63 + number,
            column > number,
            column != number,
            ~(column == number),
            column.is_in([number, number + 1]),
            column.cast(pl.Float64) == float(number),
            column == float(number),
            column + 1 == number,
            pl.col("f") == number % 40,
            column.is_null(),
            column.eq_missing(number),
            pl.col("a") == pl.col("b"),
            pl.col("s").str.to_uppercase() == f"KEY {number}",
            pl.lit(True),
        ]
    )


def predicate(chance: random.Random) -> pl.Expr:
    found = comparison(chance)
    for _ in range(chance.choice((0, 0, 1, 2))):
        other = comparison(chance)
        found = chance.choice((found & other, found | other, other & found, found ^ other))
    return found


@pytest.mark.every(4)
@pytest.mark.parametrize("seed", range(200))
def test_the_rows_are_those_of_a_scan(lake: Path, seed: int) -> None:
    chance = random.Random(seed)
    wanted = predicate(chance)
    columns = chance.choice((["a", "s"], ["f"], ["s", "b", "a", "u", "f"]))

    def asked(rows: pl.LazyFrame) -> pl.DataFrame:
        return rows.filter(wanted).select(columns).collect()

    assert_frame_equal(asked(pb.polars_source(lake)), asked(pl.scan_parquet(lake / "*.parquet")))


def chain(chance: random.Random, rows: pl.LazyFrame) -> pl.LazyFrame:
    """Steps that count rows, and others that leave them out."""
    for _ in range(chance.randrange(1, 6)):
        number = chance.choice((0, 1, 5, 20, 150, 170, 400, FILES * ROWS, 2000))
        step = chance.randrange(8)
        if step < 3:
            rows = rows.filter(predicate(chance))
        elif step == 3:
            rows = rows.head(number)
        elif step == 4:
            rows = rows.slice(chance.choice((0, 3, 130, -200)), number)
        elif step == 5:
            rows = rows.tail(number)
        elif step == 6:
            rows = rows.select("a", *chance.sample(["b", "u", "s", "f"], 4))
        elif "row" not in rows.collect_schema():
            rows = rows.with_row_index("row")
    return rows


@pytest.mark.every(8)
@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
@pytest.mark.parametrize("seed", range(200))
def test_rows_are_counted_as_in_a_scan(lake: Path, seed: int, engine: Any) -> None:
    """Whatever comes first, rows being counted or left out, and also by `filters`, if the query begins with them."""

    def asked(rows: pl.LazyFrame) -> pl.DataFrame:
        return chain(random.Random(seed), rows).collect(engine=engine)

    scan = pl.scan_parquet(lake / "*.parquet")
    assert_frame_equal(asked(pb.polars_source(lake)), asked(scan))
    number = seed % 400
    wanted = pl.col("a").is_in([number])
    filtered = pb.polars_source(lake, {"a": number}).filter(wanted)
    assert_frame_equal(asked(filtered), asked(scan.filter(wanted)))


@pytest.mark.parametrize("rows", [7, 30, 500])
def test_a_limit_before_a_predicate_counts_all_rows(lake: Path, tmp_path: Path, rows: int) -> None:
    scan, to = pl.scan_parquet(lake / "*.parquet"), tmp_path / "a.parquet"
    for key in [each for each in scan.collect()["a"][:40] if each is not None]:
        wanted = pl.col("a") == key
        expected = scan.head(rows).filter(wanted).collect()
        for source in (pb.polars_source(lake), pb.polars_source(lake, {"a": key})):
            source.head(rows).filter(wanted).sink_parquet(to)
            assert_frame_equal(pl.read_parquet(to), expected)


READ: list[tuple[pl.Expr, str, bool]] = [
    (pl.col("a") == 1, "In('a', [1])", True),
    (pl.lit(1) == pl.col("a"), "In('a', [1])", True),
    ((pl.col("a") == 1) & (pl.col("s") == "x"), "And([In('a', [1]), In('s', ['x'])])", True),
    ((pl.col("a") == 1) | (pl.col("s") == "x"), "Or([In('a', [1]), In('s', ['x'])])", True),
    ((pl.col("a") == 1) & (pl.col("b") > 3), "In('a', [1])", False),
    ((pl.col("a") == 1) | (pl.col("b") > 3), "ANYTHING", False),
    (pl.col("a") == 1.5, "ANYTHING", False),
    (pl.col("a") == True, "ANYTHING", False),
    (pl.col("a").is_in([1]), "ANYTHING", False),
    (~(pl.col("a") == 1), "ANYTHING", False),
    (pl.col("a").eq_missing(1), "ANYTHING", False),
    (pl.col("a").cast(pl.Int8) == 1, "ANYTHING", False),
]


@pytest.mark.parametrize(("expression", "tree", "is_all"), READ, ids=[str(e) for e, *_ in READ])
def test_what_is_read_of_a_predicate(expression: pl.Expr, tree: str, is_all: bool) -> None:
    pushed = pushed_by_polars(expression)
    assert (repr(pushed.tree), pushed.is_all) == (tree, is_all)


def test_nothing_is_read_of_a_newer_polars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pl, "__version__", "3.0.0")
    assert repr(pushed_by_polars(pl.col("a") == 1).tree) == "ANYTHING"


def test_a_query_reads_only_what_is_left(lake: Path, tmp_path: Path) -> None:
    """Files that filters exclude may have lost their pages."""
    folder = tmp_path / "lake"
    folder.mkdir()
    one = pl.read_parquet(lake / "0.parquet")["a"].drop_nulls()[0]
    kept = 0
    for path in sorted(lake.glob("*.parquet")):
        data = bytearray(path.read_bytes())
        rows = pq.read_table(path)["a"].to_pylist()
        if one not in rows and not pb.probe(path, "a", one).is_absent:
            continue
        if one not in rows:
            start = pq.read_metadata(path).row_group(0).column(0).dictionary_page_offset or 4
            data[start : start + 40] = bytes(40)
        kept += one in rows
        (folder / path.name).write_bytes(data)
    found = pb.polars_source(folder).filter(pl.col("a") == one).collect()
    assert set(found["a"]) == {one}
    assert kept < len(list(folder.iterdir()))


def test_a_limit_ends_the_reading(lake: Path) -> None:
    source, scan = pb.polars_source(lake), pl.scan_parquet(lake / "*.parquet")
    assert_frame_equal(source.head(7).collect(), scan.head(7).collect())
    wanted = pl.col("b") > 100
    assert source.filter(wanted).head(300).collect().height == 300
    assert source.select(pl.len()).collect().item() == FILES * ROWS
    assert source.collect_schema() == pl.Schema(SCHEMA)
    assert source.filter(pl.col("a") == -1).collect().schema == pl.Schema(SCHEMA)


def test_filters_prune_what_nobody_can_look_into(lake: Path, tmp_path: Path) -> None:
    index = tmp_path / "a.index"
    pb.Index.build(index, lake, "a").close()
    wanted = pl.col("a").is_in([3, 5])
    expected = pl.scan_parquet(lake / "*.parquet").filter(wanted).collect()
    assert_frame_equal(pb.polars_source(lake, {"a": [3, 5]}).filter(wanted).collect(), expected)
    found = pb.polars_source(lake, {"a": [3, 5]}, index=index).filter(wanted).collect()
    assert_frame_equal(found, expected)


def test_partitions_are_columns(tmp_path: Path) -> None:
    for number in range(3):
        path = tmp_path / f"day={number}" / "0.parquet"
        path.parent.mkdir()
        pq.write_table(pa.table({"id": [number, 9]}), path)
    found = pb.polars_source(tmp_path).filter((pl.col("id") == 9) & (pl.col("day") == 2)).collect()
    assert found.to_dicts() == [{"id": 9, "day": 2}]


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_file_that_polars_cannot_read_is_named(
    lake: Path, tmp_path: Path, is_whole: bool
) -> None:
    """Be it one of many in a scan, or in slices."""
    for number in range(FILES):
        data = bytearray((lake / f"{number}.parquet").read_bytes())
        if number == 3:
            chunk = pq.read_metadata(lake / "3.parquet").row_group(4).column(3)
            start = chunk.dictionary_page_offset
            data[start : start + chunk.total_compressed_size] = (
                b"\xff" * chunk.total_compressed_size
            )
        (tmp_path / f"{number}.parquet").write_bytes(data)
    key = pq.read_table(lake / "3.parquet")["a"].slice(80, 20).drop_null()[0].as_py()
    wanted = pl.col("f") >= 0 if is_whole else pl.col("a") == key
    source = pb.polars_source(tmp_path)
    with pytest.raises(pb.FormatError, match=r"^\S*/3\.parquet: polars: [^\n]+$"):
        source.filter(wanted).collect()
    # Nobody reads the column that is damaged.
    assert source.filter(wanted).select("a", "f").collect().height > 0


def test_a_first_file_that_polars_cannot_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["a"]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"text", b"t\xffxt"))
    with pytest.raises(pb.FormatError, match=r"/a\.parquet: polars: [^\n]+$"):
        pb.polars_source(path)
    # It panics at an INTERVAL, which is no Exception.
    path = FIXTURES / "duckdb_types.parquet"
    with pytest.raises(pb.ParquetBloomError, match=r"/duckdb_types\.parquet: polars[^\n]+$"):
        pb.polars_source(path)


def test_what_is_wrong_with_a_query_is_about_no_file(lake: Path) -> None:
    wanted = pl.col("s").str.to_integer() > 3
    with pytest.raises(pl.exceptions.PolarsError) as said:
        pb.polars_source(lake).filter(wanted).collect()
    assert "parquet: polars" not in str(said.value)


def test_polars_may_not_be_installed(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "polars.io.plugins", None)
    with pytest.raises(pb.UnsupportedError) as caught:
        pb.polars_source(lake)
    assert str(caught.value) == (
        "polars_source: needs polars, which is not installed: pip install 'parquet-bloom[polars]'"
    )


def test_files_in_a_store(lake: Path, s3: Any) -> None:
    for path in lake.glob("*.parquet"):
        s3.put(f"lake/{path.name}", path.read_bytes())
    wanted = pl.col("a") == 3
    found = pb.polars_source("s3://lake/", storage_options=s3.options).filter(wanted).collect()
    assert_frame_equal(found, pl.scan_parquet(lake / "*.parquet").filter(wanted).collect())


def test_a_field_that_a_struct_got_later(tmp_path: Path) -> None:
    old = pa.array([{"ip": 1, "at": {"city": "A"}}, None])
    new = pa.array([{"ip": 2, "asn": 7, "at": {"zip": "8000"}}, None])
    for name, geo in (("a", old), ("b", new)):
        pq.write_table(pa.table({"id": [1, 2], "geo": geo}), tmp_path / f"{name}.parquet")
    geo = pl.col("geo").struct
    for filters, condition in (
        ({"geo.asn": 7}, geo.field("asn") == 7),
        ({"geo.at.zip": "8000"}, geo.field("at").struct.field("zip") == "8000"),
    ):
        rows = pb.polars_source(tmp_path, filters).filter(condition).collect()
        expected = {"ip": 2, "at": {"city": None, "zip": "8000"}, "asn": 7}
        assert rows.to_dicts() == [{"id": 1, "geo": expected}]
        nothing = pb.polars_source(tmp_path, {"geo.asn": 8}).filter(geo.field("asn") == 8).collect()
        assert (nothing.height, nothing.schema) == (0, rows.schema)
