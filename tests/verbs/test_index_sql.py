"""Engines answer the printed query as the index does."""

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import pbloom

import parquet_bloom as pb
from parquet_bloom.errors import ColumnError, UnsupportedError, ValueTypeError
from parquet_bloom.render.hints import not_listed


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    folder = tmp_path / "it's a lake"
    folder.mkdir()
    for number in range(6):
        ids = [number * 100 + at % 150 for at in range(600)]
        table = pa.table({"id": ids, "name": [f"it's {id}" for id in ids]})
        pq.write_table(table, folder / f"{number}.parquet", row_group_size=200, data_page_size=300)
    pq.write_table(pa.table({"other": [1]}), folder / "8.parquet")
    return folder


def duckdb(query: str) -> list[dict]:
    module = pytest.importorskip("duckdb")
    return module.sql(query).to_arrow_table().to_pylist()


def polars(query: str) -> list[dict]:
    module = pytest.importorskip("polars")
    return module.SQLContext().execute(query, eager=True).to_dicts()


def datafusion(query: str) -> list[dict]:
    module = pytest.importorskip("datafusion")
    context = module.SessionContext().enable_url_table()
    return pa.Table.from_batches(context.sql(query).collect()).to_pylist()


ENGINES = {"duckdb": duckdb, "polars": polars, "datafusion": datafusion}


def places_of(report: pb.IndexReport, kind: str) -> set[tuple]:
    found = set()
    for result in report.results:
        value = str(result.value)
        for file in result.files:
            if file.verdict == "unknown" or kind == "file":
                found.add((value, file.verdict, file.path, None, None))
            elif kind == "page":
                found |= {(value, "maybe", file.path, *page) for page in file.pages}
            else:
                found |= {(value, "maybe", file.path, group, None) for group in file.row_groups}
    return found


@pytest.mark.parametrize("places", ["file", "row-group", "page"])
@pytest.mark.parametrize("engine", ENGINES)
def test_engines_answer_as_probe_does(lake, tmp_path, engine, places):
    with pb.Index.build(tmp_path / "index", lake, ["id", "name"], places=places) as index:
        shutil.copy(lake / "2.parquet", lake / "3.parquet")
        (lake / "4.parquet").unlink()
        pq.write_table(pa.table({"other": [1, 2]}), lake / "8.parquet")
        index.add()
        for column, values in (("id", [5, 149, 210, 10**6]), ("name", ["it's 5", "it's 149", "?"])):
            rows = ENGINES[engine](index.sql(column, values, engine=engine))
            found = {
                tuple(row[key] for key in ("value", "verdict", "path", "row_group", "page"))
                for row in rows
            }
            assert found == places_of(index.probe(column, values), places)
            assert len(found) == len(rows)


@pytest.mark.parametrize("form", ["map", "slices"])
def test_a_query_is_run_from_anywhere(lake, tmp_path, monkeypatch, form):
    pb.build(lake / "1.parquet", in_place=True, columns="id")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with pb.Index.build("index", lake / "1.parquet", "id", form=form) as index:
        query = index.sql("id", 100)
    monkeypatch.chdir("elsewhere")
    assert {row["path"] for row in duckdb(query)} == {str(lake / "1.parquet")}


@pytest.mark.parametrize("places", ["file", "row-group", "page"])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_value_of_several_hashes_is_in_a_place_once(tmp_path, engine, places):
    zeros = pa.table({"x": [0.0, -0.0, 1.0, -0.0] * 9})
    for name in ("a.parquet", "b.parquet"):
        (tmp_path / "lake").mkdir(exist_ok=True)
        pq.write_table(zeros, tmp_path / "lake" / name, row_group_size=4)
    with pb.Index.build(tmp_path / "index", tmp_path / "lake", "x", places=places) as index:
        rows = ENGINES[engine](index.sql("x", 0.0, engine=engine))
        assert {tuple(row.values()) for row in rows} == places_of(index.probe("x", 0.0), places)
    assert len(rows) == (2 if places == "file" else 18)


@pytest.mark.parametrize(
    ("engine", "form"),
    # Slices are asked by DuckDB alone.
    [*((engine, "map") for engine in ENGINES), ("duckdb", "slices")],
)
def test_what_cannot_hold_a_value_is_unknown_once_while_it_is_there(tmp_path, engine, form):
    lake = tmp_path / "lake"
    lake.mkdir()
    pq.write_table(pa.table({"n": range(9)}), lake / "number.parquet")
    texts = pa.table({"n": [str(at) for at in range(60)]})
    pq.write_table(texts, lake / "text.parquet", row_group_size=20)
    for name in ("empty.parquet", "gone.parquet"):
        pq.ParquetWriter(lake / name, texts.schema).close()
    if form == "slices":
        for name in ("text.parquet", "number.parquet"):
            pb.build(lake / name, in_place=True, columns=["n"])
    places = "page" if form == "map" else "row-group"
    with pb.Index.build(tmp_path / "index", lake, "n", places=places, form=form) as index:
        (lake / "gone.parquet").unlink()
        index.add()
        rows = ENGINES[engine](index.sql("n", 5, engine=engine))
        expected = [("maybe", "number"), ("unknown", "empty"), ("unknown", "text")]
        assert sorted((row["verdict"], Path(row["path"]).stem) for row in rows) == expected


@pytest.mark.parametrize("engine", ENGINES)
def test_each_value_is_asked_of_files_that_can_hold_it(tmp_path, engine):
    lake = tmp_path / "lake"
    lake.mkdir()
    for name, values in {"text": ["a", "b"], "numbers": [1, 2], "nulls": [None, None]}.items():
        pq.write_table(pa.table({"n": values}), lake / f"{name}.parquet")
    with pb.Index.build(tmp_path / "index", lake, "n") as index:
        rows = ENGINES[engine](index.sql("n", ["a", 2], engine=engine))
        said = sorted((row["value"], row["verdict"], Path(row["path"]).stem) for row in rows)
        assert said == [
            ("2", "maybe", "numbers"),
            ("2", "unknown", "text"),
            ("a", "maybe", "text"),
            ("a", "unknown", "numbers"),
        ]


def test_many_segments_are_better_merged_first(lake, tmp_path):
    index = tmp_path / "an index"
    ask = ["index", "sql", "--index", index, "-c", "id", "-v", "5"]
    pb.Index.build(index, lake, "id").close()
    for number in range(9, 19):
        assert pbloom(*ask).stderr == ""
        pq.write_table(pa.table({"id": [number]}), lake / f"{number}.parquet")
        with pb.Index(index) as opened:
            opened.add()
    said = pbloom(*ask)
    assert said.stderr == (
        "pbloom: id: 12 segments are asked one by one: fewer after"
        f" pbloom index compact --index '{index}'\n"
    )
    assert said.stdout.count("maybe") == 11
    with pb.Index(index) as opened:
        opened.compact()
    assert pbloom(*ask).stderr == ""


def test_what_is_no_query_is_one_line(lake, tmp_path):
    with pb.Index.build(tmp_path / "index", lake, "id") as index:
        with pytest.raises(UnsupportedError, match="21 values: expected 20 or fewer"):
            index.sql("id", list(range(21)))
        with pytest.raises(ValueTypeError, match="cannot be looked up"):
            index.sql("id", [None])
        with pytest.raises(ValueError, match="engine: oracle"):
            index.sql("id", [1], engine="oracle")
        with pytest.raises(ColumnError, match="no column ID; did you mean id"):
            index.sql("ID", [1])
        pq.write_table(pa.table({"id": pa.array([1], pa.int32())}), lake / "9.parquet")
        index.add()
        with pytest.raises(ValueTypeError, match="'x': cannot be a value of INT32: expected an"):
            index.sql("id", "x")
        index.remove(lake)
        with pytest.raises(FileNotFoundError, match="the index has no files with id, expected"):
            index.sql("id", 1)


def test_of_more_values_a_command_says_what_a_command_does(lake, tmp_path):
    pb.Index.build(tmp_path / "index", lake, "id").close()
    values = [f"-v{value}" for value in range(21)]
    told = pbloom("index", "sql", "--index", tmp_path / "index", "-c", "id", *values)
    assert told.complaint == (
        "21 values: expected 20 or fewer in a query; `pbloom index probe -o FILE.parquet` writes an answer about more,"
        " to be joined"
    )


def test_an_answer_as_a_file_that_engines_join(lake, tmp_path):
    pb.Index.build(tmp_path / "index", lake, "id").close()
    asked, answer = tmp_path / "asked.txt", tmp_path / "where.parquet"
    asked.write_text("".join(f"{value}\n" for value in range(140, 400)))
    words = ["index", "probe", "--index", tmp_path / "index", "-c", "id", "--values-from", asked]
    # One of the files has no such column.
    assert pbloom(*words, "-o", answer).code == 2
    rows = duckdb(
        f"SELECT value, path, unnest(row_groups) AS part FROM '{answer}' WHERE verdict = 'maybe'"
    )
    with pb.Index(tmp_path / "index") as index:
        expected = {
            (str(result.value), file.path, part)
            for result in index.probe("id", range(140, 400)).results
            for file in result.files
            for part in file.row_groups
        }
    assert {tuple(row.values()) for row in rows} == expected
    assert "exists" in pbloom(*words, "-o", answer).complaint
    add = f"pbloom index add --index {tmp_path / 'index'}"
    assert pbloom(*words, "-o", answer, "--overwrite").complaint == not_listed(add)


def test_what_the_command_prints_can_be_run(lake, tmp_path):
    index = tmp_path / "an index"
    pb.Index.build(index, lake, "name").close()
    printed = pbloom("index", "sql", "--index", index, "-c", "name", "-v", "it's 5").stdout
    assert [line for line in printed.splitlines() if "\\n" in line] == []
    assert {row["path"] for row in duckdb(printed) if row["verdict"] == "maybe"} == {
        str(lake / "0.parquet")
    }
