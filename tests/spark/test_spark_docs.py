"""docs/spark.md: its scripts and commands are run, and print what it shows."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from datetime import UTC, date, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES, IS_LONG, ROOT, missing
from make.commands import outcome
from make.documents import blocks, comparable
from make.notebooks import code_cells, executed
from make.reading_lake import ROWS, make_lake
from make.recipes import recipes
from make.spark_session import scanned
from oracle.parquet_java import QUICK

import parquet_bloom as pb
from parquet_bloom.commands.pbloom import cli
from parquet_bloom.spark.job import Outcomes
from parquet_bloom.spark.outcome import Outcome, rows_of
from parquet_bloom.spark.run import Account, LakeRun
from parquet_bloom.spark.schemas import ACCOUNT, OUTCOME
from parquet_bloom.spark.versions import arrow_schema

TEXT = (ROOT / "docs" / "spark.md").read_text()


def without_seconds(text):
    text = re.sub(r"; [\d.]+ s$", "", text, flags=re.MULTILINE)
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "#", text)


@pytest.mark.long
def test_the_notebook_shows_what_is_stored(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((ROOT / "docs" / "examples" / "spark.ipynb").read_text())
    assert executed(notebook) == [cell["outputs"] for cell in code_cells(notebook)]


def run_as_script(code):
    """What it prints: in a process of its own, with a session of its own."""
    return subprocess.run(
        [sys.executable, "-c", code],
        # A port that nobody else has.
        env=os.environ | {"SPARK_TESTING": "1", "JDK_JAVA_OPTIONS": " ".join(QUICK)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def looked_up(spark, lake):
    """What lookup.py prints, by what the session that is there counts."""
    user, printed = spark.read.parquet(lake).first().user_id, ""
    for enabled in ("true", "false"):
        events = spark.read.option("parquet.filter.bloom.enabled", enabled).parquet(lake)
        rows, read = scanned(events.where(f"user_id = {user}"))
        printed += f"filters {enabled}: {len(rows)} found, {read:,} rows read\n"
    return printed


def test_ten_minutes(spark, tmp_path, monkeypatch):
    def there(text):
        """With the lake in a folder of the test: Spark has a working directory of its own."""
        return re.sub("lake/(?=events|orc|users)", f"{tmp_path}/lake/", text)

    make_lake, lookup, make_orc, from_python, answers, ask_index = map(
        there, blocks(TEXT, "python")
    )
    exec(compile(make_lake, "lake.py", "exec"), {})  # noqa: S102
    exec(compile(make_orc, "orc.py", "exec"), {})  # noqa: S102
    for block in blocks(TEXT, "console"):
        command, _, expected = block.partition("\n")
        program, *arguments = there(command).removeprefix("$ ").split()
        if program == "pbloom":
            printed = outcome(*arguments).stdout
        else:
            assert arguments == ["lookup.py"]
            printed = (
                run_as_script(lookup) if IS_LONG else looked_up(spark, f"{tmp_path}/lake/events")
            )
        shown = without_seconds(there(expected))
        assert comparable(without_seconds(printed)) == comparable(shown)
    names = {}
    exec(compile(from_python, "api.py", "exec"), names)  # noqa: S102
    reads, read = [], Outcomes.each
    monkeypatch.setattr(Outcomes, "each", lambda *given: reads.append(given) or read(*given))
    exec(compile(answers, "answers.py", "exec"), names)  # noqa: S102
    # As many jobs, however many values are asked for.
    assert len(reads) == 2
    assert [len(found) > 0 for found in names["files_of"].values()] == [True] * 3
    days = spark.read.parquet(f"{tmp_path}/lake/events")
    assert len(days.where("day = 1").inputFiles()) == len(days.inputFiles()) > 1
    exec(compile(ask_index, "ask.py", "exec"), {})  # noqa: S102
    assert "A look-up then reads 10,000 of 400,000 rows" in TEXT
    events = spark.read.orc(f"{tmp_path}/lake/orc")
    rows, read = scanned(events.where(f"user_id = {events.first().user_id}"))
    assert (len(rows), read, events.count()) == (1, 10_000, 400_000)


@pytest.mark.parametrize(
    ("value", "code", "found", "end"),
    [(7, 0, "1 row in 1 file: ", 0), (1_000_000, 1, "", 0)],
    ids=["there", "in no file"],
)
def test_the_recipe_of_find(spark, tmp_path, value, code, found, end):
    """What probe does not rule out, find reads: nothing, if that is no file."""
    if shutil.which("jq") is None:
        missing("jq")
    (tmp_path / "lake").mkdir()
    for name, first in {"a": 1000, "b": 0}.items():
        table = pa.table({"user_id": range(first, first + 100)})
        pq.write_table(table, tmp_path / "lake" / f"{name}.parquet")
        pb.build(tmp_path / "lake" / f"{name}.parquet", in_place=True, columns=["user_id"])
    pbloom = tmp_path / "pbloom"
    pbloom.write_text(f'#!/bin/sh\nexec {sys.executable} -m parquet_bloom "$@"\n')
    pbloom.chmod(0o700)
    (recipe,) = re.findall(r"^pbloom spark probe .*\njq .*\nxargs .*\n", TEXT, re.MULTILINE)
    there = recipe.replace("/lake/events", f"{tmp_path}/lake").replace("-v 42", f"-v {value}")
    probe, rest = there.split("\n", 1)
    (_, *arguments), (file,) = map(shlex.split, probe.split(" > "))
    probed = outcome(*arguments)
    assert (probed.code, probed.stderr) == (code, "")
    (tmp_path / file).write_text(probed.stdout)
    done = subprocess.run(
        ["/bin/sh", "-c", rest],
        cwd=tmp_path,
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (end, "")
    assert found in done.stdout if found else not done.stdout


def test_the_recipe_of_reads(spark, tmp_path, monkeypatch, capsys):
    """docs/reading.md's, with the session that is there."""
    make_lake(tmp_path)
    monkeypatch.chdir(tmp_path)
    (recipe,) = (each.code for each in recipes() if each.module == "pyspark")
    there = re.sub('"(?=lake/|users)', f'"{tmp_path}/', recipe)
    exec(compile(there, "recipe.py", "exec"), {})  # noqa: S102
    assert capsys.readouterr().out == f"{ROWS}\n"


def test_the_query_over_an_audit(spark, tmp_path):
    noon = datetime(2026, 11, 20, 12, tzinfo=UTC)
    run = LakeRun(str(tmp_path / "audit"), "run", "build", "asked", noon)
    outcomes = (Outcome("a", "added", 2, 100), Outcome("b", "added", 3, 10), Outcome("c", "error"))
    Account(run).put_outcomes("task-000000", rows_of(run, outcomes), arrow_schema(ACCOUNT))
    Account(run).put("plan.json", b"{}")
    (query,) = blocks(TEXT, "sql")
    rows = spark.sql(query.replace("/lake/_pbloom", str(tmp_path / "audit"))).collect()
    assert [tuple(row) for row in rows] == [
        (date(2026, 11, 20), "added", 2, 5, 110),
        (date(2026, 11, 20), "error", 1, 0, 0),
    ]


TABLE = (ROOT / "docs" / "filters_table.md").read_text()


def test_queries_for_the_filters_as_a_table(spark, tmp_path):
    """They run, and find what they say in a lake with one file that lacks a filter, and one of ORC,
    where one column's filters are of no use."""
    pq.write_table(pa.table({"user_id": range(1000)}), tmp_path / "a.parquet")
    pb.build(tmp_path / "a.parquet", tmp_path / "b.parquet", columns=["user_id"], fpp=0.04)
    (tmp_path / "c.parquet").write_bytes(b"PAR1")
    shutil.copy(FIXTURES / "java_original.orc", tmp_path / "d.orc")
    view, *queries = re.findall(r"^```sql\n(.*?)^```", TABLE, re.MULTILINE | re.DOTALL)
    spark.sql(view.replace("/data/lake/*/*.parquet", f"{tmp_path}/*.*"))
    lacking, leaky, sizes, broken, ignored = (
        [tuple(row) for row in spark.sql(q).collect()] for q in queries
    )
    spark.catalog.dropTempView("filters")
    assert lacking == [(f"{tmp_path}/a.parquet", 1, 0, ["no filter"])]
    assert {(row[0], *row[1:3], row[4]) for row in leaky} == {
        (f"{tmp_path}/b.parquet", 0, "user_id", 1024),
        (f"{tmp_path}/d.orc", 0, "moment", 1568),
        (f"{tmp_path}/d.orc", 0, "number", 1568),
    }
    assert {row[:2] for row in sizes} == {
        ("user_id", 1), ("number", 2), ("moment", 2), ("flag", 2),
    }  # fmt: skip
    assert [row[:4] for row in ignored] == [
        (
            f"{tmp_path}/d.orc",
            "flag",
            "ignored by ORC Java and C++: no predicate on BOOLEAN uses a filter",
            2,
        )
    ]
    assert [row[0] for row in broken] == [f"{tmp_path}/c.parquet"]


def test_python_for_the_filters_as_a_table(spark, tmp_path):
    folder = tmp_path / "lake" / "d=1"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"user_id": range(1000)}), folder / "a.parquet")
    for example in re.findall(r"^```python\n(.*?)^```", TABLE, re.MULTILINE | re.DOTALL):
        there = example.replace("/data/lake", str(tmp_path / "lake"))
        names = {"spark": spark}
        exec(compile(there, "example.py", "exec"), names)  # noqa: S102
        assert names["filters"].count() == 1
    spark.conf.unset("spark.sql.python.filterPushdown.enabled")


def test_every_field_of_an_outcome_is_described():
    text = TEXT.split("An outcome is ")[1].split("\n\n")[0]
    assert re.findall(r"`(\w+)`", text) == OUTCOME.names


def test_options_that_are_named_are_there():
    lines = (line for line in TEXT.splitlines() if "spark-submit" not in line)
    # Of other programs and verbs, and one that Spark's verbs do without.
    others = {"--py-files", "--target", "--storage-option", "--in-place"}
    for name in set(re.findall(r"(--[a-z][a-z-]+)", "\n".join(lines))) - others:
        assert any(
            name in option.opts
            for command in cli.commands["spark"].commands.values()
            for option in command.params
        ), name
