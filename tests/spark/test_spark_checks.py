"""What a session lacks is said in one line before its first job. Workers of Spark are Python programs of
their own here, which lack something or are other than they should be."""

import re
import socket
import stat
import sys
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ROOT
from make.commands import outcome
from make.spark_session import IS_CONNECT

from parquet_bloom import spark as lake
from parquet_bloom.commands import spark as command
from parquet_bloom.errors import SparkError
from parquet_bloom.spark import checks
from parquet_bloom.spark.checks import check_executors
from parquet_bloom.spark.description import described
from parquet_bloom.spark.session import session

HERE = f"{sys.executable} (Python {sys.version.split()[0]})"
SHIP = "send it with --ship (parquet_bloom.spark.ship), or install it there"

BLOCKED = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            raise {error}
sys.meta_path.insert(0, Blocked())
"""


def lacking(name):
    error = f'ModuleNotFoundError("No module named {name!r}", name={name!r})'
    return BLOCKED.format(name=name, error=error)


classic_only = pytest.mark.skipif(IS_CONNECT, reason="Connect's workers are the server's")


@pytest.fixture
def worker(spark, tmp_path, monkeypatch):
    """Gives what makes the session's Python worker another: one that runs `first` before all else, in a
    folder with `files`."""

    def become(first="", **files):
        for name, text in {"sitecustomize.py": first, **files}.items():
            path = tmp_path / "front" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        program = tmp_path / "python"
        front = f"{tmp_path / 'front'}:$PYTHONPATH"
        program.write_text(
            f'#!/bin/sh\ncd {tmp_path / "front"}; PYTHONPATH="{front}" exec {sys.executable} "$@"\n'
        )
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setattr(spark.sparkContext, "pythonExec", str(program))
        return spark

    return become


# How messages begin, as docs/spark.md has them.
PAGE = (ROOT / "docs" / "spark.md").read_text().split("## When it does not start")[1]
BEGINNINGS = [
    re.escape(text).replace("…", ".*")
    for text in re.findall(r"`((?:executors|no Spark session|No module|PySpark) ?[^`]*)`", PAGE)
]


def check_documented(line):
    assert any(re.match(beginning, line) for beginning in BEGINNINGS), line


def problem(spark):
    """The line, which must come soon."""
    started = time.monotonic()
    with pytest.raises(SparkError) as raised:
        check_executors(spark)
    assert time.monotonic() - started < 60
    assert "\n" not in str(raised.value)
    check_documented(str(raised.value))
    return str(raised.value)


def test_nothing_is_wrong_with_these_executors(spark):
    check_executors(spark)


@classic_only
def test_no_package(worker):
    line = problem(worker(lacking("parquet_bloom")))
    assert line == f"executors: no package parquet_bloom in {HERE}: {SHIP}"


@classic_only
@pytest.mark.parametrize("name", ["pyarrow", "numpy"])
def test_what_must_be_installed(worker, name):
    assert problem(worker(lacking(name))).startswith(f"executors: no package {name}")


@classic_only
def test_a_kernel_that_does_not_load(worker):
    name, error = "parquet_bloom.native._kernel", 'ImportError("libc.so: version not found")'
    assert problem(worker(BLOCKED.format(name=name, error=error))) == (
        f"executors: parquet_bloom cannot be loaded in {HERE}: ImportError: libc.so: version not found"
    )


@pytest.mark.long
@classic_only
def test_a_folder_that_shadows_it(worker, tmp_path):
    assert problem(worker(**{"parquet_bloom/__init__.py": ""})) == (
        f"executors: {tmp_path}/front/parquet_bloom/__init__.py is imported as parquet_bloom, and is another"
        f" package: {SHIP}; if it is in the folder where Spark was started, start it elsewhere"
    )


@classic_only
def test_another_version(worker, tmp_path, monkeypatch):
    monkeypatch.setattr(checks, "__version__", "9.9")
    assert problem(worker(**{"parquet_bloom/__init__.py": "__version__ = '0.0.9'"})) == (
        f"executors: parquet_bloom 0.0.9 in {tmp_path}/front/parquet_bloom/__init__.py, expected 9.9 as"
        f" here: {SHIP}"
    )


@pytest.mark.long
@classic_only
def test_another_python(worker):
    there = f"{sys.version_info[0]}.{sys.version_info[1] - 1}"
    here = "{}.{}".format(*sys.version_info)
    first = (
        "import sys\n"
        "class Other(tuple):\n"
        "    major, minor, micro, releaselevel, serial = 3, sys.version_info.minor - 1, 0, 'final', 0\n"
        "sys.version_info = Other((3, Other.minor, 0, 'final', 0))\n"
    )
    assert problem(worker(first)) == (
        f"executors: Python {there}, expected {here} as here: set PYSPARK_PYTHON, or send an environment by"
        " spark.archives"
    )


@classic_only
def test_no_python_at_all(spark, monkeypatch):
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/nowhere/python3")
    assert problem(spark).startswith(
        "executors: no program /nowhere/python3: set PYSPARK_PYTHON to Python"
    )


@classic_only
def test_the_command_says_so(worker, tmp_path):
    worker(lacking("parquet_bloom"))
    result = outcome("spark", "inspect", tmp_path)
    assert (result.code, result.complaint) == (
        2,
        f"executors: no package parquet_bloom in {HERE}: {SHIP}",
    )


@classic_only
def test_the_command_looks_before_all_else(worker, tmp_path):
    """No job of the run has been started, and nothing was planned."""
    spark = worker(lacking("parquet_bloom"))
    before = descriptions(spark)
    assert outcome("spark", "build", tmp_path, "-c", "id", "--audit", tmp_path / "audit").code == 2
    assert not any("list the files" in each for each in descriptions(spark) - before)
    assert not (tmp_path / "audit").exists()


@classic_only
def test_the_python_of_queries(spark):
    """Which only they run: another one that is not there."""
    spark.conf.set("spark.sql.execution.pyspark.python", "/nowhere/python3")
    try:
        assert problem(spark).startswith(
            "executors: no program /nowhere/python3: set PYSPARK_PYTHON"
        )
    finally:
        spark.conf.unset("spark.sql.execution.pyspark.python")


FOUND = {
    "python": "3.11", "executable": "python", "numpy": {"version": "2"}, "pyarrow": {"version": "26"},
}  # fmt: skip


def test_a_folder_without_code_that_shadows_it():
    """Which Python imports as a namespace, if the package is nowhere."""
    shadow = {"version": None, "place": "/job/parquet_bloom"}
    line = checks._problem(FOUND | {"package": shadow, "work": {"lacks": "parquet_bloom.spark"}})
    assert line.startswith(
        "/job/parquet_bloom is imported as parquet_bloom, and is another package: "
    )


def test_what_the_package_needs():
    ours = {"version": checks.__version__, "place": "/site/parquet_bloom/__init__.py"}
    line = checks._problem(FOUND | {"package": ours, "work": {"lacks": "thrift", "failed": None}})
    assert line == f"no package thrift in python (Python 3.11), which parquet_bloom needs: {SHIP}"


# ------------------------------------------------------------------------------------------------
# Before there is a session


def test_no_java_where_it_should_be(monkeypatch):
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(SparkError) as raised:
        checks.check_java()
    assert str(raised.value) == (
        "no Spark session: JAVA_HOME is /nowhere, expected a folder with bin/java: install Java 17 or later,"
        " and set JAVA_HOME"
    )


def test_no_java(monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(
        SparkError, match=r"^no Spark session: no java on PATH: install Java"
    ) as raised:
        checks.check_java()
    check_documented(str(raised.value))


@pytest.mark.parametrize(
    ("setting", "is_query"),
    [
        (None, False),
        ("spark.parquet_bloom.archive", True),
        ("spark.sql.execution.pyspark.python", True),
    ],
)
def test_only_queries_find_what_belongs_to_a_session(setting, is_query):
    class Session:
        class conf:
            get = staticmethod(lambda name, default: "x" if name == setting else default)

    assert checks._needs_query(Session) is is_query


def nobody():
    """A port at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


def test_a_master_that_nobody_runs():
    url = f"spark://127.0.0.1:{nobody()}"
    with pytest.raises(SparkError) as raised, session(url, None, {}):
        pass
    assert str(raised.value) == f"no Spark session: {url}: Connection refused"
    check_documented(str(raised.value))


def test_one_of_several_masters_is_enough():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        checks.check_master(f"spark://127.0.0.1:{nobody()},127.0.0.1:{port}")
        checks.check_master(f"k8s://https://127.0.0.1:{port}")
    checks.check_master("local[*]")
    checks.check_master("yarn")


def test_pyspark_that_is_too_old(monkeypatch):
    monkeypatch.setattr(command, "version", lambda name: "3.4.4")
    with pytest.raises(SparkError) as raised:
        command._check_pyspark()
    expected = "PySpark 3.4.4: expected PySpark 3.5 or later: pip install 'parquet-bloom[spark]'"
    assert str(raised.value) == expected
    check_documented(expected)


def test_no_pyspark(monkeypatch):
    monkeypatch.setattr(command, "find_spec", lambda name: None)
    with pytest.raises(
        SparkError, match=r"^No module named 'pyspark': expected PySpark 3.5 or later"
    ):
        command._check_pyspark()


# ------------------------------------------------------------------------------------------------
# What jobs are called


def descriptions(spark):
    """What the jobs of the application are called, so far."""
    jobs = spark._jsparkSession.sparkContext().statusStore().jobsList(None)
    said = [jobs.apply(at).description() for at in range(jobs.size())]
    return {each.get() for each in said if each.isDefined()}


@classic_only
def test_a_run_says_what_its_jobs_do(spark, tmp_path):
    pq.write_table(pa.table({"id": range(9)}), tmp_path / "a.parquet")
    before = descriptions(spark)
    lake.strip(spark, tmp_path, dry_run=True)
    assert descriptions(spark) - before <= {
        "strip: list the files", "strip: 1 file, 0.0 GiB", "strip: sum up",
    }  # fmt: skip
    assert "strip: 1 file, 0.0 GiB" in descriptions(spark)


@classic_only
def test_jobs_are_described(spark):
    context = spark.sparkContext
    with described(spark, "add filters: 120 files, 3.1 GiB"):
        spark.range(5).collect()
        assert context.statusTracker().getJobIdsForGroup("pbloom")
    assert "add filters: 120 files, 3.1 GiB" in descriptions(spark)
    assert context.getLocalProperty("spark.job.description") is None
    assert context.getLocalProperty("spark.jobGroup.id") is None


@classic_only
def test_what_jobs_were_called_before(spark):
    context = spark.sparkContext
    context.setJobGroup("nightly", "the nightly run")
    try:
        with described(spark, "list files"):
            assert context.getLocalProperty("spark.jobGroup.id") == "nightly"
            assert context.getLocalProperty("spark.job.description") == "list files"
        assert context.getLocalProperty("spark.job.description") == "the nightly run"
    finally:
        for name in ("spark.jobGroup.id", "spark.job.description"):
            context.setLocalProperty(name, None)


class Connect:
    """What is used of a Connect session."""

    __module__ = "pyspark.sql.connect.session"

    def __init__(self):
        self.tags = {"mine"}

    def getTags(self):
        return set(self.tags)

    def addTag(self, tag):
        assert "," not in tag
        self.tags.add(tag)

    def removeTag(self, tag):
        self.tags.remove(tag)


@pytest.mark.parametrize(("text", "tag"), [("a, b", "a; b"), ("mine", "mine")])
def test_over_connect_jobs_have_a_tag(text, tag):
    session = Connect()
    with described(session, text):
        assert session.tags == {"mine", tag}
    assert session.tags == {"mine"}
