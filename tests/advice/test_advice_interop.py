"""Advice, judged by other implementations: which filters they use, and what the settings make them
write."""

import shlex
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES, missing
from oracle.arrow import describe, leaves_of
from oracle.engines import DataFusion, DuckDB, spark_count
from oracle.stored import Leaf

import parquet_bloom as pb
from parquet_bloom.engines.reading import engine_uses
from parquet_bloom.files import open_file
from parquet_bloom.parquet.footer.column_kind import column_kind
from parquet_bloom.parquet.footer.schema import LeafColumn
from parquet_bloom.verbs.advise import advise
from parquet_bloom.verbs.diff import diff

pytestmark = pytest.mark.interop


# ------------------------------------------------------------------------------------------------
# Measured: a query that reads fewer row groups once there are filters


@dataclass(frozen=True)
class Asked:
    """A column of a file, with and without filters, and literals that are stored in it."""

    source: Path
    built: Path
    leaf: Leaf
    column: LeafColumn
    literals: list


def asked(source, folder):
    """Every column that can have filters."""
    built = folder / source.name
    described = describe(source)["columns"]
    leaves = leaves_of(source, described)
    with open_file(source) as file:
        columns = {each.name: each for each in file.footer.leaves}
    eligible = [name for name, each in columns.items() if each.type.physical != "BOOLEAN"]
    pb.build(source, built, columns=eligible)
    return [
        Asked(
            source,
            built,
            leaves[entry["column"]],
            columns[entry["column"]],
            [group["present"][0] for group in entry["row_groups"] if group["present"]],
        )
        for entry in described
        if entry["column"] in eligible
    ]


def disagreements(engine, questions, count):
    """Columns of which `count` (row groups read, of a file and a literal) tells what the table does
    not; columns with a caveat may go either way."""
    wrong = []
    for each in questions:
        said = next(use for use in engine_uses(column_kind(each.column)) if use.engine == engine)
        if said.uses and said.reason:
            continue
        measured = any(
            count(each.built, each.leaf, literal) < count(each.source, each.leaf, literal)
            for literal in each.literals
        )
        if measured != said.uses:
            wrong.append((each.source.stem, each.column.name, measured))
    return wrong


@pytest.mark.parametrize("stem", ["duckdb_types", "pyarrow_types", "duckdb_nested"])
def test_duckdb_agrees(stem, tmp_path):
    if not DuckDB.is_here():
        missing(DuckDB.needs)
    duckdb = DuckDB()
    questions = [q for q in asked(FIXTURES / f"{stem}.parquet", tmp_path) if duckdb.asks(q.leaf)]
    assert len(questions) > 1
    assert disagreements("DuckDB", questions, lambda *ask: duckdb.count(*ask)[1]) == []


@pytest.mark.parametrize(
    "stem", ["datafusion_types", "pyarrow_types", "pyarrow_decimals_integer", "pyarrow_nested"]
)
def test_datafusion_agrees(stem, tmp_path):
    if not DataFusion.is_here():
        missing(DataFusion.needs)
    datafusion = DataFusion()
    questions = [
        q for q in asked(FIXTURES / f"{stem}.parquet", tmp_path) if datafusion.asks(q.leaf)
    ]
    assert len(questions) > 1
    assert disagreements("DataFusion", questions, lambda *ask: datafusion.count(*ask)[1]) == []


@pytest.mark.parametrize("stem", ["spark_types", "spark_nested"])
def test_spark_agrees(spark, stem, tmp_path):
    asks = asked(FIXTURES / f"{stem}.parquet", tmp_path)
    # A query takes a second.
    questions = [replace(q, literals=q.literals[:1]) for q in asks if not q.leaf.repeated]
    assert len(questions) > 1

    def count(path, leaf, literal):
        return spark_count(spark, path, leaf, literal)[1]

    assert disagreements("Spark", questions, count) == []


def test_spark_does_not_push_down_what_it_has_no_type_for(spark, tmp_path):
    """Unsigned integers and local timestamps, beside a column that it does."""
    source = tmp_path / "in.parquet"
    numbers = np.random.default_rng(3).permutation(3_000)
    table = pa.table(
        {
            "int64": numbers,
            "uint32": numbers.astype("u4"),
            "uint64": numbers.astype("u8"),
            "local": pa.array(numbers, pa.timestamp("us")),
        }
    )
    pq.write_table(table, source, row_group_size=1_000)
    built = tmp_path / "out.parquet"
    pb.build(source, built, columns=table.column_names)
    queries = {
        "int64": "int64 = 5",
        "uint32": "uint32 = 5",
        "uint64": "uint64 = 5",
        "local": "local = TIMESTAMP_NTZ'1970-01-01 00:00:00.000005'",
    }
    skips = {}
    for column, query in queries.items():
        frame = spark.read.option("parquet.filter.stats.enabled", "false").parquet(str(built))
        frame = frame.where(query)
        assert len(frame.collect()) == 1
        scan = frame._jdf.queryExecution().executedPlan().collectLeaves().apply(0)
        skips[column] = scan.metrics().get("numOutputRows").get().value() < len(numbers)
    with open_file(source) as file:
        said = {leaf.name: engine_uses(column_kind(leaf))[0].uses for leaf in file.footer.leaves}
    assert skips == said == {"int64": True, "uint32": False, "uint64": False, "local": False}


# ------------------------------------------------------------------------------------------------
# Settings, pasted


ROWS = 20_000


@dataclass(frozen=True)
class Advised:
    """A file of one row group, what is advised for its column, and the settings by writer."""

    path: Path
    column: str
    num_bytes: int
    settings: dict


ODD_NAMES = ("User ID", 'a,"b" \U0001f600', "dot.ted", "it's #1::$x", "Gr\u00f6\u00dfe")


@pytest.fixture(params=["number", "text", "member.id", "repeated", *ODD_NAMES])
def advised(request, tmp_path, monkeypatch):
    """In an empty working folder, where the settings write `out.parquet`."""
    rng = np.random.default_rng(9)
    numbers = rng.permutation(1 << 20)[:ROWS]
    table = pa.table(
        {
            "number": numbers,
            "text": [f"user-{number:x}" for number in numbers],
            "member": pa.array([{"id": int(number)} for number in numbers]),
            "repeated": rng.integers(0, 3_000, ROWS),
        }
        | dict.fromkeys(ODD_NAMES, numbers)
    )
    path = tmp_path / "it's one.parquet"
    pq.write_table(table, path)
    (advice,) = advise(path, columns=[request.param]).columns
    settings = {each.writer: each.text for each in advice.settings}
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return Advised(path, request.param, advice.filter_bytes, settings)


def filter_bytes(path, column):
    return [
        group.columns[0].filter_bytes for group in pb.inspect(path, columns=[column]).row_groups
    ]


@pytest.mark.every(3)
def test_pbloom_writes_it(advised):
    command = [sys.executable, "-m", "parquet_bloom", *shlex.split(advised.settings["pbloom"])[1:]]
    subprocess.run(command, check=True, capture_output=True)
    assert filter_bytes("out.parquet", advised.column) == [advised.num_bytes]


def test_pyarrow_writes_it(advised):
    table = pq.read_table(advised.path)
    eval(advised.settings["pyarrow"], {"pq": pq, "table": table})
    assert filter_bytes("out.parquet", advised.column) == [advised.num_bytes]


@pytest.mark.every(2)
def test_duckdb_writes_it(advised):
    if not DuckDB.is_here():
        missing(DuckDB.needs)
    import duckdb

    duckdb.connect().execute(advised.settings["DuckDB"])
    assert filter_bytes("out.parquet", advised.column) == [advised.num_bytes]


def test_duckdb_writes_values_of_a_fixed_length(tmp_path, monkeypatch):
    """As others, whose dictionary takes more."""
    if not DuckDB.is_here():
        missing(DuckDB.needs)
    import duckdb

    monkeypatch.chdir(tmp_path)
    values = pa.array([b"%010d" % number for number in range(4096)], pa.binary(10))
    pq.write_table(pa.table({"code": values}), "t.parquet", use_dictionary=False)
    (advice,) = advise("t.parquet").columns
    duckdb.connect().execute({each.writer: each.text for each in advice.settings}["DuckDB"])
    assert filter_bytes("out.parquet", "code") == [advice.filter_bytes]


def test_datafusion_writes_it(advised):
    if not DataFusion.is_here():
        missing(DataFusion.needs)
    from datafusion import SessionConfig, SessionContext

    options = {"datafusion.execution.target_partitions": "1"}
    context = SessionContext(SessionConfig(options))
    context.register_parquet("t", str(advised.path))
    context.sql(advised.settings["DataFusion"]).collect()
    assert filter_bytes("out.parquet", advised.column) == [advised.num_bytes]


@pytest.mark.every(3)
def test_spark_writes_it(spark, advised):
    if advised.column == "dot.ted":
        assert "Spark" not in advised.settings
        return
    frame = spark.read.parquet(str(advised.path)).coalesce(1)
    writer = eval(f"(writer{advised.settings['Spark']})", {"writer": frame.write})
    # Java keeps the working folder that it was started in.
    folder = Path("written").resolve()
    writer.parquet(str(folder))
    (path,) = folder.glob("*.parquet")
    assert filter_bytes(path, advised.column) == [advised.num_bytes]


@pytest.fixture
def many_groups(tmp_path, monkeypatch):
    """A file of ten row groups, as `t.parquet` of the working folder, and the settings by writer."""
    numbers = np.random.default_rng(4).permutation(1 << 20)[:40_000]
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"id": numbers}), "t.parquet", row_group_size=4_000)
    (advice,) = advise("t.parquet", fpp=0.001).columns
    return {each.writer: each.text for each in advice.settings}


def assert_as_good_as_asked(path):
    """Other writers size filters a little too small."""
    groups = pb.inspect(path).row_groups
    assert len(groups) > 1
    assert all(each.columns[0].filter.fpp < 0.0015 for each in groups)


def test_pyarrow_writes_row_groups_that_fit(many_groups):
    eval(many_groups["pyarrow"], {"pq": pq, "table": pq.read_table("t.parquet")})
    assert_as_good_as_asked("out.parquet")


@pytest.mark.parametrize("source", ["t.parquet", "one.parquet"])
def test_duckdb_writes_row_groups_that_fit(many_groups, source):
    """However the rows come that it is given."""
    if not DuckDB.is_here():
        missing(DuckDB.needs)
    import duckdb

    pq.write_table(pq.read_table("t.parquet"), "one.parquet")
    duckdb.connect().execute(many_groups["DuckDB"].replace("t.parquet'", f"{source}'", 1))
    assert_as_good_as_asked("out.parquet")


def test_datafusion_writes_row_groups_that_fit(many_groups):
    if not DataFusion.is_here():
        missing(DataFusion.needs)
    from datafusion import SessionContext

    context = SessionContext()
    context.register_parquet("t", "t.parquet")
    context.sql(many_groups["DataFusion"]).collect()
    assert_as_good_as_asked("out.parquet")


def test_spark_writes_row_groups_that_fit(spark, many_groups):
    frame = spark.read.parquet(str(Path("t.parquet").resolve())).coalesce(1)
    writer = eval(f"(writer{many_groups['Spark']})", {"writer": frame.write})
    folder = Path("written").resolve()
    writer.parquet(str(folder))
    (path,) = folder.glob("*.parquet")
    assert_as_good_as_asked(path)


@pytest.mark.parametrize("column", ["id", "user.name"])
def test_spark_writes_orc_with_it(spark, tmp_path, column):
    """The same bits as `build`."""
    rows = 3000
    ids = np.random.default_rng(3).permutation(rows).tolist()
    users = [{"name": f"n{id}", "age": id % 90} for id in ids]
    pq.write_table(pa.table({"id": ids, "user": users}), tmp_path / "a.parquet")

    def written(name, *settings):
        writer = spark.read.parquet(str(tmp_path / "a.parquet")).coalesce(1).write
        writer = writer.option("orc.row.index.stride", "1000")
        for setting in settings:
            writer = eval(f"writer{setting}", {"writer": writer})
        writer.orc(str(tmp_path / name))
        (path,) = (tmp_path / name).glob("*.orc")
        return path

    plain = written("plain")
    (advice,) = advise(plain, columns=[column]).columns
    assert advice.verdict == "build"
    texts = {each.writer: each.text for each in advice.settings}
    native = written("native", *texts["Spark"].split("\n"))
    pb.build(plain, tmp_path / "built.orc", columns=[column])
    report = diff(native, tmp_path / "built.orc")
    assert report.same
    assert {each.column for each in report.filters} == {column}
