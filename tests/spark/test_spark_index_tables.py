"""An index over the live files of a table that executors make is the one that `pbloom index` makes of them, whatever
the table has removed, lost or renamed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from conftest import IS_LONG
from deltalake import DeltaTable, write_deltalake
from make import iceberg_tables
from make.commands import outcome
from make.delta_tables import (
    build,
    last_action,
    live,
    make_table,
    newest,
    rows_of,
    swapped,
    write_commit,
)
from make.dying import builds
from make.executors_here import IndexingHere

import parquet_bloom as pb
from parquet_bloom import spark as lake
from parquet_bloom.errors import ColumnError, RewriteError
from parquet_bloom.spark.index_request import KnownIndex
from parquet_bloom.spark.job import _account_place
from parquet_bloom.spark.planning import Search

pytestmark = pytest.mark.interop

MOST_STEPS = 400
# Odd: a process dies before some calls and after others.
STRIDE = 1 if IS_LONG else 13


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Six files in two partitions."""
    return make_table(tmp_path / "events", partition_by=["day"])


class Runs:
    """Each with an account of its own."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.here = IndexingHere(monkeypatch)
        self.index, self._folder, self._done = folder / "index", folder, 0

    def __call__(self, *paths: Any, **given: Any) -> Any:
        self._done += 1
        account = {"audit": str(self._folder / "audit"), "run_id": f"{self._done}"}
        return lake.index(None, paths, index=self.index, **account, **given)

    def opened(self) -> pb.Index:
        return pb.Index(self.index)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runs:
    return Runs(tmp_path, monkeypatch)


def user(n: int) -> str:
    return str(rows_of(n, 1)["id"][0])


def said(index: pb.Index, values: list[str]) -> list[Any]:
    return [(each.value, each.verdict, each.files) for each in index.probe("id", values).results]


def test_killed_at_every_step(table, tmp_path, run):
    """The driver, and executors with it: there is the old index or the new one,
    and the next run makes the new one."""
    original, place, states = tmp_path / "original", run.index, set()
    run(table, table="auto", columns="id")
    shutil.copytree(place, original)
    write_deltalake(table, rows_of(900, 300), mode="append", partition_by=["day"])
    DeltaTable(table).delete("day = '2026-11-01'")
    with builds(place, way="index-spark") as dies_at:
        for step in range(0, MOST_STEPS, STRIDE):
            is_done = dies_at(step)
            with run.opened() as found:
                problems = tuple(each.problem for each in found.check(deep=True).findings)
                states.add((found.generation, problems))
                # Of a file that is new, or was there: whatever is known by now.
                for n in (901, 1):
                    asked = found.probe("id", user(n), files=table, table="auto").results[0]
                    assert asked.verdict != "absent"
            run()
            with run.opened() as found:
                found.compact(older_than=0)
                report = found.check(deep=True)
                assert (report.findings, report.unneeded) == ((), 0)
                assert found.probe("id", user(901)).num_files == 4
            if is_done:
                break
            shutil.rmtree(place)
            shutil.copytree(original, place)
    assert is_done
    assert step > 30
    assert states == {(1, ("new", "gone", "gone", "gone")), (2, ())}


def test_columns_that_are_younger_than_files(table, tmp_path, run):
    """They are null in these files, as the schema of the table says, which executors have from the driver."""
    more = rows_of(900, 300).append_column("late", pa.array(["x"] * 300))
    write_deltalake(table, more, mode="append", schema_mode="merge", partition_by=["day"])
    local = pb.Index.build(tmp_path / "local", table, "late", table="auto")
    run(table, table="auto", columns="late")
    with run.opened() as found:
        for index in (found, local):
            some, none = index.probe("late", ["x", "nobody"]).results
            assert ([each.verdict for each in some.files], none.verdict) == (
                ["maybe"] * 2,
                "absent",
            )
            assert index.check(deep=True).findings == ()
    local.close()


def test_it_says_what_the_index_of_one_machine_says(table, tmp_path, run):
    local = pb.Index.build(tmp_path / "local", table, "id", table="auto")
    assert run(table, table="auto", columns="id").files == 6
    values = [user(n) for n in range(0, 1300, 37)]

    def check() -> None:
        with run.opened() as found:
            assert said(found, values) == said(local, values)
            assert found.probe("id", "x").tables == local.probe("id", "x").tables
            assert found.check(deep=True).findings == ()

    check()
    again = run()
    assert (again.generation, again.new, again.added, again.removed) == (1, 0, 0, 0)
    write_deltalake(table, rows_of(900, 300), mode="append", partition_by=["day"])
    (table / "day=2026-11-01" / "stray.parquet").write_bytes(b"PAR1 or not")
    more = run()
    assert (more.files, more.added, more.changed, more.removed) == (8, 2, 0, 0)
    local.add()
    check()
    # They are on disk until somebody vacuums the table.
    DeltaTable(table).delete("day = '2026-11-01'")
    less = run(table, table="delta")
    assert (less.files, less.new, less.removed) == (4, 0, 4)
    local.add()
    check()
    # Either goes on with what the other has made.
    write_deltalake(table, rows_of(1200, 100), mode="append", partition_by=["day"])
    with run.opened() as found:
        assert found.add().added == 2
    assert run().new == 0
    local.add()
    check()
    local.close()


def test_files_that_got_filters_are_read_again(table, run):
    run(table, table="auto", columns="id")
    build(table)
    assert [(each.added, each.changed, each.removed) for each in (run(), run())] == [
        (0, 6, 0),
        (0, 0, 0),
    ]
    with run.opened() as found:
        assert found.check(deep=True).findings == ()
        assert found.probe("id", "x").tables[0].version == newest(table)


def test_a_file_that_is_gone_is_unknown(table, run):
    run(table, table="auto", columns="id")
    (name, *_) = sorted(live(table))
    (table / name).unlink()
    for _ in range(2):
        assert run().files == 6
        with run.opened() as found:
            (result,) = found.probe("id", "nobody").results
            assert [(file.path, file.verdict) for file in result.files] == [
                (str(table / name), "unknown")
            ]


def test_a_table_without_files_has_none(table, run):
    run(table, table="auto", columns="id")
    DeltaTable(table).delete()
    report = run()
    assert (report.files, report.removed) == (0, 6)


def test_columns_that_are_called_otherwise(tmp_path, run):
    table = swapped(tmp_path / "events", a="x", b="y")
    run(table, table="auto", columns=["a", "b"])
    with run.opened() as found:
        assert found.probe("a", "in x").results[0].verdict == "maybe"
        assert found.probe("a", "in y").is_absent
    schema = json.loads(last_action(table, "metaData")["schemaString"])
    for field in schema["fields"]:
        field["name"] = {"a": "b", "b": "a"}[field["name"]]
    write_commit(
        table, {"metaData": last_action(table, "metaData") | {"schemaString": json.dumps(schema)}}
    )
    assert run().new == 2
    with run.opened() as found:
        assert found.probe("a", "in y").results[0].verdict == "maybe"
        assert found.probe("a", "in x").is_absent
        assert found.check(deep=True).findings == ()
    assert run().new == 0


def test_iceberg(tmp_path, monkeypatch, run):
    iceberg_tables.use_catalog(tmp_path, monkeypatch)
    made = iceberg_tables.make_table()
    view = pb.TableView(kind="iceberg", catalog=iceberg_tables.CATALOG)
    files = run(iceberg_tables.NAME, table=view, columns="id").files
    made.append(rows_of(900, 50))
    assert run().files > files
    with run.opened() as found:
        assert found.check(deep=True).findings == ()
        assert found.probe("id", user(905)).results[0].verdict == "maybe"
    made.delete()
    assert run().files == 0


def test_files_of_a_store_are_known_by_their_sizes(table, run, monkeypatch):
    """Nobody asks a store for the versions of all files that a table records."""
    run(table, table="auto", columns="id")
    real = lake.lake_index.recorded_state

    def unseen(file: Any) -> Any:
        found = real(file)
        return type(found)(found.path, found.size, None, None)

    monkeypatch.setattr(lake.lake_index, "recorded_state", unseen)
    write_deltalake(table, rows_of(900, 300), mode="append", partition_by=["day"])
    report = run()
    assert (report.files, report.removed) == (8, 0)
    with run.opened() as found:
        assert found.check(deep=True).findings == ()


def test_who_is_not_alone_makes_no_index(table, run):
    """Of two versions of a table, nobody knows which is the later one."""
    run(table, table="auto", columns="id")
    write_deltalake(table, rows_of(900, 300), mode="append", partition_by=["day"])

    def rival() -> None:
        with run.opened() as found:
            found.add()

    run.here.before_commit = rival
    with pytest.raises(RewriteError, match="somebody else has changed the index meanwhile"):
        run()
    run.here.before_commit = lambda: None
    assert run().new == 0
    with run.opened() as found:
        assert found.check(deep=True).findings == ()


def test_what_is_refused(table, tmp_path, run):
    (tmp_path / "plain").mkdir()
    other, one = (
        make_table(tmp_path / "other"),
        "an index on Spark is about files, or about one table",
    )
    for paths, given, error, message in [
        ([tmp_path / "plain"], {}, RewriteError, "neither _delta_log nor metadata"),
        ([table], {"columns": "idd"}, ColumnError, "idd"),
        ([table], {"columns": "day"}, ColumnError, "is a partition column"),
        (
            [table],
            {"table": pb.TableView(version=1)},
            ValueError,
            "all files of the newest version",
        ),
        ([table, other], {}, RewriteError, one),
    ]:
        with pytest.raises(error, match=message):
            run(*paths, **{"columns": "id", "table": "auto", **given})
    assert not run.index.exists()
    run(table, table="auto", columns="id")
    for paths, kind in ([other], "auto"), ([tmp_path / "plain"], None), ([table], None):
        with pytest.raises(RewriteError, match=one):
            run(*paths, table=kind)
    pb.Index.build(tmp_path / "files", next(table.rglob("*.parquet")), "id").close()
    run.index = tmp_path / "files"
    with pytest.raises(RewriteError, match=one):
        run(table, table="auto")


def test_the_command(spark, table, tmp_path):
    asked = ("spark", "index", "--index", tmp_path / "index")
    result = outcome(*asked, "--table", "auto", table, "-c", "id")
    assert (result.code, result.stderr) == (0, "")
    assert result.stdout.splitlines()[-1].startswith(
        f"{tmp_path}/index: 6 files: 6 added, 0 changed, 0 removed; "
    )
    DeltaTable(table).delete("day = '2026-11-01'")
    result = outcome(*asked)
    assert result.stdout.splitlines()[-1].startswith(
        f"{tmp_path}/index: 3 files: 0 added, 0 changed, 3 removed; "
    )
    with pb.Index(tmp_path / "index") as found:
        assert found.check(deep=True).findings == ()
    DeltaTable(table).delete()
    result = outcome(*asked, "--conf", "spark.sql.shuffle.partitions=2")
    assert (result.code, result.stderr) == (0, "")
    assert result.stdout.splitlines()[-1].startswith(
        f"{tmp_path}/index: 0 files: 0 added, 0 changed, 3 removed; "
    )


def test_the_account_of_a_table_without_files_is_in_the_index():
    spark = SimpleNamespace(conf=SimpleNamespace(get=lambda *_: "spark://host:7077"))
    search = Search(files=(), index=KnownIndex("/lake/index", 1, 1, {"id": ""}, True))
    place, is_kept = _account_place(spark, search, None)
    assert (place.startswith("/lake/index/.pbloom-run-"), is_kept) == (True, False)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("lake",), "index: no index yet, and a new one is of some columns: name them with -c"),
        (("lake", "-c", "id", "--hash-key", "hex:00"), "hash key: would be part of the job, which others can see:"),
        (("lake", "-c", "id", "--catalog", "x"), "--catalog: expected with --table only, such as --table auto"),
        (("lake", "-c", "id", "--table", "auto"), "lake: neither _delta_log nor metadata"),
    ],
)  # fmt: skip
def test_what_is_refused_is_refused_before_java_starts(tmp_path, monkeypatch, arguments, problem):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lake").mkdir()

    def session(*_: object) -> None:
        raise AssertionError("a session was started")

    monkeypatch.setattr("parquet_bloom.spark.session.session", session)
    result = outcome("spark", "index", "--index", "index", *arguments)
    assert result.code == 2
    assert problem in result.stderr
