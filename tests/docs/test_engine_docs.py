"""docs/why-not-skipped.md: its commands and scripts print what it shows."""

import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ROOT
from make.documents import blocks, figures
from make.shown import make_files, rewritten

import parquet_bloom as pb
from parquet_bloom.engines.catalogue import engines

TEXT = (ROOT / "docs" / "why-not-skipped.md").read_text()
SECTIONS = {
    section.partition("\n")[0]: section for section in re.split(r"^## ", TEXT, flags=re.MULTILINE)
}


def test_the_page_is_what_make_docs_writes():
    script = str(ROOT / "docs" / "why_not_skipped.py")
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert run.stdout == TEXT
    wanted = "\t$(BIN)/python docs/why_not_skipped.py > docs/why-not-skipped.md\n"
    assert wanted in (ROOT / "Makefile").read_text()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """With the files of the tutorial."""
    folder = tmp_path_factory.mktemp("engines")
    make_files(folder)
    return folder


def test_the_file_answers_as_shown(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert figures(rewritten(TEXT)) == figures(TEXT)


@pytest.mark.interop
@pytest.mark.parametrize("engine", ["DuckDB", "DataFusion", "pyarrow", "Polars"])
def test_the_engine_skips_as_shown(engine, folder):
    pytest.importorskip(engine.lower())
    (script,), (expected,) = (blocks(SECTIONS[engine], each) for each in ("python", "text"))
    run = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (run.stdout, run.stderr) == (expected, "")


@pytest.mark.interop
@pytest.mark.parametrize(
    ("engine", "expected"),
    [
        ("pyarrow", "row groups: 8 rows: 0\nrow groups: 0 rows: 0\n"),
        ("Polars", "rows: 0 of row groups []\n"),
    ],
)
def test_scripts_with_our_reads_take_an_absent_value(engine, expected, folder):
    pytest.importorskip(engine.lower())
    (script,) = blocks(SECTIONS[engine], "python")
    assert "361045656987" in script
    absent = script.replace("361045656987", "361045656988")
    run = subprocess.run(
        [sys.executable, "-c", absent], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (run.stdout, run.stderr) == (expected, "")


# What DuckDB 1.5 answers, as far as the scripts look.
OLD_DUCKDB = """
class connect:
    @staticmethod
    def execute(query):
        seen = "EMPTY_RESULT" if "-1" in query else "TABLE_SCAN   Total Files Read: 1"
        connect.fetchall = lambda: [("analyzed_plan", seen)] if "EXPLAIN" in query else []
        return connect

sql = connect.execute
"""


@pytest.mark.interop
@pytest.mark.parametrize("page", ["why-not-skipped", "tutorial"])
@pytest.mark.parametrize(
    ("user", "expected", "of_old"),
    [
        ("361045656987", "Row Groups Scanned: 1 / 8", "this DuckDB does not say (2.0 does)"),
        ("-1", "Empty Result", "EMPTY_RESULT"),
    ],
)
def test_scripts_for_duckdb_say_what_they_cannot_see(
    page, user, expected, of_old, folder, tmp_path
):
    pytest.importorskip("duckdb")
    (tmp_path / "duckdb.py").write_text(OLD_DUCKDB)
    scripts = blocks((ROOT / "docs" / f"{page}.md").read_text(), "python")
    (script,) = (each for each in scripts if "import duckdb" in each)
    script = script.replace("361045656987", user)
    for first, seen in ((tmp_path / "none", expected), (tmp_path, of_old)):
        program = f"import sys; sys.path.insert(0, {str(first)!r})\n{script}"
        command = [sys.executable, "-c", program, "filtered.parquet"]
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        assert seen in run.stdout


def test_no_other_script_is_left_out():
    assert len(blocks(TEXT, "python")) == len(blocks(TEXT, "text")) == 4


def test_engines_that_advise_knows_have_a_section():
    of_page = {name.lower() for name in SECTIONS}
    assert {each.name.lower() for each in engines() if each.parquet} - of_page == {
        "iceberg",
        "impala",
    }


@pytest.fixture(scope="module")
def two_columns(tmp_path_factory):
    """8 row groups with filters on three columns, and a row of two of them."""
    path = tmp_path_factory.mktemp("two") / "a.parquet"
    numbers = np.random.default_rng(7).integers(0, 10**9, (2, 8000))
    prices = [Decimal(int(each)).scaleb(-2) for each in numbers[0]]
    prices[1500] = Decimal("4085674.30")
    table = pa.table(
        {"a": numbers[0], "b": numbers[1], "price": pa.array(prices, pa.decimal128(9, 2))}
    )
    pq.write_table(table, path, row_group_size=1000, use_dictionary=False)
    pb.build(path, columns=["a", "b", "price"], in_place=True)
    return path, {"a": numbers[0][1500], "b": numbers[1][5500]}


@pytest.mark.interop
def test_an_or_over_two_columns_asks_no_filter(two_columns):
    datafusion = pytest.importorskip("datafusion")
    duckdb = pytest.importorskip("duckdb")
    path, row = two_columns
    context = datafusion.SessionContext()
    context.register_parquet("t", str(path))
    for word, num_read in (("OR", 8), ("AND NOT", 1)):
        where = f"WHERE a = {row['a']} {word} b = {row['b']}"
        ((_, plan),) = duckdb.sql(f"EXPLAIN ANALYZE FROM '{path}' {where}").fetchall()
        assert f"Row Groups Scanned: {num_read} / 8" in plan
        plan = str(context.sql(f"EXPLAIN ANALYZE SELECT * FROM t {where}").to_pylist())
        assert f"row_groups_pruned_bloom_filter=8 total → {num_read} matched" in plan


# As a double, it is 4085674.29999999981.
@pytest.mark.interop
@pytest.mark.parametrize(
    ("literal", "settings", "num_read"),
    [
        ("4085674.30", {}, 8),
        ("'4085674.30'", {}, 1),
        ("CAST('4085674.30' AS DECIMAL(9,2))", {}, 1),
        ("4085674.30", {"datafusion.sql_parser.parse_float_as_decimal": "true"}, 1),
    ],
)
def test_a_decimal_for_datafusion(two_columns, literal, settings, num_read):
    datafusion = pytest.importorskip("datafusion")
    path, _ = two_columns
    config = datafusion.SessionConfig()
    for name, value in settings.items():
        config = config.set(name, value)
    context = datafusion.SessionContext(config)
    context.register_parquet("t", str(path))
    where = f"WHERE price = {literal}"
    plan = str(context.sql(f"EXPLAIN ANALYZE SELECT * FROM t {where}").to_pylist())
    assert f"row_groups_pruned_bloom_filter=8 total → {num_read} matched" in plan
    found = context.sql(f"SELECT count(*) AS found FROM t {where}").to_pylist()
    assert found == [{"found": num_read == 1}]


@pytest.fixture(scope="module")
def of_types(tmp_path_factory):
    """8 row groups with filters on columns of types that queries turn into others;
    `price` is written in both ways."""
    folder = tmp_path_factory.mktemp("types")
    numbers = np.random.default_rng(5).permutation(8 * 2048)
    prices = pa.array([Decimal(int(each)) / 4 for each in numbers], pa.decimal128(12, 2))
    at = pa.array(numbers * 1_000_000_000, pa.timestamp("us"))
    columns = {
        "ratio": pa.array(numbers / 4, pa.float32()), "price": prices,
        "number": pa.array(numbers), "local": at, "utc": at.cast(pa.timestamp("us", "UTC")),
    }  # fmt: skip
    for name in ("bytes", "integers"):
        path = folder / f"{name}.parquet"
        as_integer = name == "integers"
        table = pa.table(columns)
        pq.write_table(table, path, row_group_size=2048, store_decimal_as_integer=as_integer)
        pb.build(path, columns=list(columns), in_place=True, fpp=1e-6)
    return folder


# A number that is in a row group, but is neither the least nor the greatest, and its moment.
NUMBER = 2048.5
NAIVE = datetime(1970, 1, 1) + timedelta(seconds=int(4 * NUMBER) * 1000)
AWARE = NAIVE.replace(tzinfo=UTC)


@pytest.mark.interop
@pytest.mark.parametrize(
    ("where", "value", "file", "scanned"),
    [
        ("ratio = ?", NUMBER, "integers", 8),
        ("ratio = 2048.5e0", None, "integers", 8),
        ("ratio = ?::FLOAT", NUMBER, "integers", 1),
        ("ratio = 2048.5", None, "integers", 1),
        ("price = ?", NUMBER, "integers", 8),
        ("price = 2048.5e0", None, "integers", 8),
        ("price = ?", Decimal("2048.5"), "integers", 1),
        ("price = ?", "2048.5", "integers", 1),
        ("price = ?", 2048, "integers", 1),
        ("price = ?", Decimal("2048.5"), "bytes", 8),
        ("number = ?", 4 * NUMBER, "integers", 8),
        ("number = ?", Decimal(4 * NUMBER), "integers", 8),
        ("number = ?", int(4 * NUMBER), "integers", 1),
        ("number = ?", str(int(4 * NUMBER)), "integers", 1),
        ("local = ?", AWARE, "integers", 8),
        ("local = ?::TIMESTAMPTZ", NAIVE, "integers", 8),
        ("local = ?", NAIVE, "integers", 1),
        ("utc = ?", AWARE, "integers", 1),
        ("utc = ?", NAIVE, "integers", 1),
    ],
)
def test_what_queries_turn_into_another_type(where, value, file, scanned, of_types):
    """In DuckDB, as its section says."""
    duckdb = pytest.importorskip("duckdb", "2.0")
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    values = [] if value is None else [value]
    query = f"FROM '{of_types / file}.parquet' WHERE {where}"
    assert len(connection.execute(f"SELECT 1 {query}", values).fetchall()) == 1
    plan = connection.execute(f"EXPLAIN ANALYZE {query}", values).fetchall()[0][1]
    assert f"Row Groups Scanned: {scanned} / 8" in plan
