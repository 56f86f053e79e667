"""The verbs on a real standalone cluster on which things go wrong.

Whatever happens to executors and workers: each file has one outcome, each has every byte that the
local command writes, and what killed attempts have left can be swept.

`make cluster` runs all of it (PBLOOM_CLUSTER=full); `make test` a part.
"""

import os
import shutil
import signal
import stat
import subprocess
import sys
import zipfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ROOT, missing
from make import delta_tables, spark_cluster
from make.delta_tables import live, make_table, newest
from make.spark_cluster import Cluster, Conductor, driver, run_verb
from oracle.delta_readers import rows_at

import parquet_bloom as pb
from parquet_bloom.errors import SparkError
from parquet_bloom.spark.outcome import BY_ANOTHER

pytestmark = [pytest.mark.cluster, pytest.mark.interop]

IS_FULL = os.environ.get("PBLOOM_CLUSTER") == "full"
SESSIONS = ["classic", "connect"] if IS_FULL else ["classic"]

# Where an attempt is killed: nothing is copied, all but the last bytes, before it takes the name,
# the checksum file is put aside, it has the name and nobody knows.
PLACES = ["copy_prefix", "flush", "commit", "_take_name", "__exit__"]


def full(test):
    """Only there for `make cluster`."""
    return test if IS_FULL else None


# Beside the standard library.
WORKERS_NEED = ("numpy", "pandas", "pyarrow", "pyspark", "py4j", "dateutil", "pytz", "six")
DEPENDENCIES = ("cramjam", "orjson", "thrift", "xxhash")
TOP_MODULES = [path.name for path in ROOT.glob("*.py")]

NAMES = [f"f{number}.parquet" for number in range(4)]
STOPPED = "f1.parquet"
COLUMNS = ["id", "s"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture(scope="module", params=SESSIONS)
def submit(cluster, request):
    """Has a verb done by the driver: a Future of its report."""
    with driver(cluster.folder, getattr(spark_cluster, request.param), cluster.url) as submit:
        yield submit


@pytest.fixture(scope="module")
def wanted(tmp_path_factory):
    """Each file without filters, and as the local command makes it: bytes by name."""
    return files_built(tmp_path_factory.mktemp("wanted"), "replace")


@pytest.fixture(scope="module")
def appended(tmp_path_factory):
    """The same files, with filters that follow all of the old file."""
    return files_built(tmp_path_factory.mktemp("appended"), "append")


def files_built(folder, layout):
    files = {}
    for number, name in enumerate(NAMES):
        ids = np.random.default_rng(number).integers(0, 1 << 60, 20_000)
        table = pa.table({"id": ids, "s": [f"{each:x}" for each in ids]})
        pq.write_table(table, folder / name, row_group_size=5_000, use_dictionary=False)
        plain = (folder / name).read_bytes()
        pb.build(folder / name, in_place=True, columns=COLUMNS, layout=layout)
        files[name] = (plain, (folder / name).read_bytes())
    return files


@pytest.fixture
def lake(tmp_path, wanted):
    """A folder with the files, without filters, with checksums that Spark might have written."""
    folder = tmp_path / "lake"
    folder.mkdir()
    for name, (plain, _) in wanted.items():
        (folder / name).write_bytes(plain)
        (folder / f".{name}.crc").write_bytes(b"crc\0")
    return folder


def build(submit, folder, layout=None, **arguments):
    options = {"columns": COLUMNS, "layout": layout}
    return submit(run_verb, "build", str(folder), options, **arguments)


def statuses(report):
    """Status by name, of one outcome for each file."""
    names = [Path(outcome.path).name for outcome in report.outcomes]
    assert len(set(names)) == len(names)
    return {name: outcome.status for name, outcome in zip(names, report.outcomes, strict=True)}


def check_files(folder, wanted):
    """Every file is what the local command makes of it, and no value is missing in a filter."""
    for name, (_, built) in wanted.items():
        assert (folder / name).read_bytes() == built, name
        report = pb.validate(folder / name, deep=True)
        assert report.ok, report.findings
        assert report.checked.filters == 8


def leftovers(folder):
    return {path.name for path in folder.iterdir()} - set(NAMES) - {f".{x}.crc" for x in NAMES}


def check_sweeping(submit, folder, expected):
    """What is left are `expected` temporary files, and clean_temp removes just them."""
    left = leftovers(folder)
    assert len(left) == expected
    swept = submit(run_verb, "clean_temp", str(folder), {"older_than": 0}).result()
    assert set(statuses(swept)) == left
    assert leftovers(folder) == set()


@full
@pytest.mark.parametrize("least_huge", [None, 1], ids=str)
@pytest.mark.parametrize("place", PLACES)
def test_a_killed_executor(submit, lake, wanted, place, least_huge):
    check_a_killed_executor(submit, lake, wanted, place, least_huge=least_huge)


@full
@pytest.mark.parametrize("place", PLACES)
def test_a_killed_executor_that_appends(submit, lake, appended, place):
    check_a_killed_executor(submit, lake, appended, place, layout="append")


def check_a_killed_executor(submit, lake, wanted, place, **options):
    with Conductor() as conductor:
        stop = {"port": conductor.port, "name": STOPPED, "places": [place]}
        job = build(submit, lake, stop=stop, **options)
        is_written = place == "__exit__"
        kill_at(conductor, place, lake / STOPPED, wanted[STOPPED][is_written])
        report = job.result()
    # Whichever attempt wrote it: the run did, as the account says.
    assert statuses(report) == dict.fromkeys(NAMES, "added")
    messages = {Path(each.path).name: each.message for each in report.outcomes}
    assert messages[STOPPED] == (f"added {BY_ANOTHER}" if is_written else None)
    assert [each.filters for each in report.outcomes] == [8] * len(NAMES)
    check_files(lake, wanted)
    check_sweeping(submit, lake, num_left(place))


def kill_at(conductor, place, file, content):
    """Kill the executor that stops at a place, at which the file has that content; the next one goes on."""
    first = conductor.next()
    assert file.read_bytes() == content
    os.kill(first.about["executor"], signal.SIGKILL)
    assert first.is_gone()
    if place != "__exit__":
        second = conductor.next()
        assert second.about["executor"] != first.about["executor"]
        second.go_on()


def num_left(place):
    """The end of a run removes what its killed attempts have made, but not what was there before: a checksum
    file that was put aside, the old file until the folder is synced."""
    return int(place in ("_take_name", "__exit__"))


@full
@pytest.mark.parametrize("place", PLACES)
def test_a_killed_executor_of_a_table(submit, tmp_path, place):
    """The report says what was appended, the one commit records it, and readers find the same rows."""
    table = make_table(tmp_path / "events", commits=2, partition_by=["day"])
    rows, plain, before = rows_at(table), contents(table), newest(table)
    local = shutil.copytree(table, tmp_path / "local")
    delta_tables.build(local)
    built = contents(local)
    stopped = min(live(table))
    (table / stopped).with_name(f".{Path(stopped).name}.crc").write_bytes(b"crc\0")
    with Conductor() as conductor:
        stop = {"port": conductor.port, "name": Path(stopped).name, "places": [place]}
        options = {"columns": ["id"], "min_file_size": 0}
        job = submit(run_verb, "build_table", str(table), options, stop=stop)
        content = built if place == "__exit__" else plain
        kill_at(conductor, place, table / stopped, content[stopped])
        report = job.result()
    assert {file.file for file in report.files} == set(plain)
    found = {file.file: file.action for file in report.files}
    assert found.pop(stopped) == ("appended before" if place == "__exit__" else "appended")
    assert set(found.values()) <= {"appended", "appended before"}
    assert (report.committed, newest(table)) == (before + 1, before + 1)
    assert contents(table) == built
    assert live(table) == {name: len(content) for name, content in built.items()}
    assert {file.file: file.size for file in report.files} == live(table)
    assert rows_at(table) == rows
    swept = submit(run_verb, "clean_temp", str(table), {"older_than": 0}).result()
    assert swept.counts == ({"removed": 1} if num_left(place) else {})
    assert not list(table.rglob(".*.pbloom-tmp"))


def contents(table):
    """The bytes of the live files of a table, by their paths in it."""
    return {name: (table / name).read_bytes() for name in live(table)}


@full
def test_a_killed_worker(cluster, submit, lake, wanted):
    with Conductor() as conductor:
        stop = {"port": conductor.port, "name": STOPPED, "places": ["commit"]}
        job = build(submit, lake, stop=stop)
        first = conductor.next()
        host = cluster.host_of(first.about["worker"])
        cluster.kill(host)
        assert first.is_gone()
        second = conductor.next()
        assert cluster.host_of(second.about["worker"]) != host
        second.go_on()
        report = job.result()
    cluster.start_worker(host)
    cluster.wait_for_workers()
    found = statuses(report)
    assert found[STOPPED] == "added"
    assert list(found) == NAMES
    assert set(found.values()) <= {"added", "unchanged"}
    check_files(lake, wanted)
    check_sweeping(submit, lake, 0)


@full
def test_a_speculative_copy_of_a_slow_task(submit, lake, wanted):
    with Conductor() as conductor:
        stop = {"port": conductor.port, "name": STOPPED, "places": ["commit"]}
        job = build(submit, lake, stop=stop)
        slow, copy = conductor.next(), conductor.next()
        assert copy.about["attempt"] > slow.about["attempt"]
        assert copy.about["worker"] != slow.about["worker"]
        copy.go_on()
        report = job.result()
        # Spark kills what it has no use for.
        assert slow.is_gone()
    assert statuses(report) == dict.fromkeys(NAMES, "added")
    assert [each.attempt for each in report.outcomes if each.path.endswith(STOPPED)] == [1]
    check_files(lake, wanted)
    check_sweeping(submit, lake, 0)


@full
def test_a_copy_that_comes_too_late(submit, lake, wanted):
    """The slow one goes on when the other has written the file, and is the one that is heard."""
    with Conductor() as conductor:
        stop = {"port": conductor.port, "name": STOPPED, "places": ["flush", "__exit__"]}
        job = build(submit, lake, stop=stop)
        slow, copy = conductor.next(), conductor.next()
        copy.go_on()
        written = conductor.next()
        assert written.about["place"] == "__exit__"
        assert (lake / STOPPED).read_bytes() == wanted[STOPPED][1]
        slow.go_on()
        conductor.next().go_on()
        report = job.result()
        assert written.is_gone()
    assert statuses(report) == dict.fromkeys(NAMES, "added")
    (message,) = [each.message for each in report.outcomes if each.path.endswith(STOPPED)]
    assert message == f"added {BY_ANOTHER}"
    check_files(lake, wanted)
    # The old file: the copy was ended before it removed it.
    check_sweeping(submit, lake, 1)


def test_bad_files_among_good_ones(submit, lake, wanted):
    (lake / "bad.parquet").write_bytes(b"PAR1 nothing PAR1")
    (lake / "none").mkdir()
    locked = lake / "locked"
    locked.mkdir()
    (locked / "locked.parquet").write_bytes(wanted[STOPPED][0])
    with unwritable(locked):
        report = build(submit, lake).result()
        assert (locked / "locked.parquet").read_bytes() == wanted[STOPPED][0]
    assert statuses(report) == dict.fromkeys(NAMES, "added") | {
        "bad.parquet": "error", "locked.parquet": "error",
    }  # fmt: skip
    messages = {Path(each.path).name: each.message for each in report.troubles}
    assert messages["bad.parquet"].startswith(f"{lake}/bad.parquet: ")
    assert messages["locked.parquet"].startswith(f"{locked}/locked.parquet: ")
    assert "ermitted" in messages["locked.parquet"] or "denied" in messages["locked.parquet"]
    check_files(lake, wanted)
    assert [path.name for path in locked.iterdir()] == ["locked.parquet"]


@contextmanager
def unwritable(folder):
    """A folder in which nobody can make files, not even root."""
    mode = stat.S_IMODE(folder.stat().st_mode)
    folder.chmod(0o555)
    is_root = os.access(folder, os.W_OK)
    try:
        if is_root and subprocess.run(["chattr", "+i", folder], check=False).returncode:
            missing("a file system whose folders can be locked for root")
        yield
    finally:
        if is_root:
            subprocess.run(["chattr", "-i", folder], check=False)
        folder.chmod(mode)


@full
def test_executors_without_the_package(submit, lake, wanted, tmp_path):
    submit(spark_cluster.new_session, str(python_without(tmp_path))).result()
    with pytest.raises(
        SparkError, match=r"^executors: no package parquet_bloom: send it with --ship"
    ):
        build(submit, lake).result()
    first, second = submit(spark_cluster.ship_twice).result()
    assert first == second
    assert statuses(build(submit, lake).result()) == dict.fromkeys(NAMES, "added")
    check_files(lake, wanted)


@full
def test_executors_with_an_older_version(submit, lake, wanted, tmp_path):
    python = python_without(tmp_path)
    older = tmp_path / "site" / "parquet_bloom"
    older.mkdir()
    (older / "__init__.py").write_text('__version__ = "0.0.1"\n')
    submit(spark_cluster.new_session, str(python)).result()
    submit(spark_cluster.ship_twice).result()
    assert statuses(build(submit, lake).result()) == dict.fromkeys(NAMES, "added")
    check_files(lake, wanted)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel that an installer would get, built out of a copy: the build leaves things behind."""
    folder = tmp_path_factory.mktemp("wheel")
    kept = shutil.ignore_patterns("*.so", "*.pyc", "_kernel.c")
    for name in ("parquet_bloom", "share"):
        shutil.copytree(ROOT / name, folder / "source" / name, ignore=kept)
    for name in ("pyproject.toml", "README.md", "LICENSE", *TOP_MODULES):
        shutil.copy(ROOT / name, folder / "source")
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", folder)
    command = [sys.executable, "-m", "pip", "wheel", *options, folder / "source"]
    subprocess.run(command, check=True)
    return next(folder.glob("*.whl"))


@full
def test_the_wheel_installed_on_the_cluster(submit, lake, wanted, wheel, tmp_path):
    python = python_without(tmp_path, *DEPENDENCIES)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    submit(spark_cluster.new_session, str(python)).result()
    assert statuses(build(submit, lake).result()) == dict.fromkeys(NAMES, "added")
    check_files(lake, wanted)


@full
def test_the_wheel_as_an_archive(submit, lake, wanted, wheel, tmp_path):
    """As docs/spark.md has it: renamed, as Spark unpacks nothing that is called .whl."""
    renamed = shutil.copy(wheel, tmp_path / "pbloom.zip")
    python = python_without(tmp_path, *DEPENDENCIES)
    submit(spark_cluster.new_session, str(python)).result()
    submit(spark_cluster.add_archive, str(renamed), "pbloom").result()
    assert statuses(build(submit, lake).result()) == dict.fromkeys(NAMES, "added")
    check_files(lake, wanted)


def python_without(folder, *more):
    """A Python with what Spark's workers need and `more`, without our package."""
    site = folder / "site"
    site.mkdir()
    for name in (*WORKERS_NEED, *more):
        for path in Path(np.__file__).parents[1].glob(f"{name}*"):
            (site / path.name).symlink_to(path)
    python = folder / "python"
    python.write_text(
        f'#!/bin/sh\nPYTHONPATH="{site}" exec {os.path.realpath(sys.executable)} -S "$@"\n'
    )
    python.chmod(0o755)
    return python
