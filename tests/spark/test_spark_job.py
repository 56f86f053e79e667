"""Which files a job is about, and how it is done: every file once, huge ones in parts, and what
cannot be is said before anything starts. Runs on classic, and once more on Connect."""

import os
import re
import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from make.commands import outcome
from make.lake_files import GROUPS, contents, everything_is_huge, snapshot, write, write_table

import parquet_bloom as pb
from parquet_bloom import spark as lake
from parquet_bloom.errors import SparkError
from parquet_bloom.spark import executors, job, verbs
from parquet_bloom.spark.outcome import Outcome
from parquet_bloom.spark.plan import Bounds
from parquet_bloom.spark.planning import LEFT_SO
from parquet_bloom.spark.rows import unpacked
from parquet_bloom.spark.run import Account, LakeRun
from parquet_bloom.storage.left_out import LeftOut
from parquet_bloom.storage.paths import expand

pytestmark = pytest.mark.interop

# Names that mean something else in a URI, in a glob or in a partition.
NAMES = [
    "day=2026-11-20/a b.parquet",
    "day=2026-11-20/100%.parquet",
    "day=2026-11-20/a%20b.parquet",
    "city=São Paulo%2F東京/ü=1.parquet",
    "x[1]{2,3}.parquet",
    "why?*.parquet",
    "a+b#c&d;e,f'g.parquet",
    "back\\slash.pq",
]


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """A lake of files with odd names."""
    folder = tmp_path_factory.mktemp("odd lake")
    for name in NAMES:
        write(folder / name)
    write(folder / "sub" / "no suffix")
    (folder / "none").mkdir()
    return folder


def listed(spark, *names):
    """The files that a job is about, and the names that stand for none."""
    outcomes = lake.inspect(spark, [str(name) for name in names]).outcomes
    for each in outcomes:
        assert each.document or each.message == f"{each.path}: no Parquet or ORC files"
    found = [each.path for each in outcomes if each.document]
    return found, [each.path for each in outcomes if not each.document]


def all_of(folder):
    return sorted(str(folder / name) for name in NAMES)


def test_a_folder(spark, odd):
    assert listed(spark, odd) == (all_of(odd), [])
    assert listed(spark, f"{odd}/") == (all_of(odd), [])
    assert listed(spark, odd.as_uri()) == (all_of(odd), [])
    assert listed(spark, f"file:{odd}") == (all_of(odd), [])


def test_files_of_a_frame(spark, odd, tmp_path):
    """inputFiles() gives URIs."""
    folder = shutil.copytree(odd, tmp_path / "a lake")
    uris = spark.read.option("recursiveFileLookup", "true").parquet(str(folder)).inputFiles()
    uris = [uri for uri in uris if "suffix" not in uri]
    assert any("%2520" in uri for uri in uris)
    report = lake.build(spark, uris, columns=["id"])
    assert [each.path for each in report.outcomes] == all_of(folder)
    assert report.counts == {"added": len(NAMES)}


def test_globs(spark, odd):
    found, nothing = listed(spark, f"{odd}/day=*/*.parquet", f"{odd}/city=*", f"{odd}/none/*")
    assert found == sorted(str(odd / name) for name in NAMES[:4])
    assert nothing == [f"{odd}/none/*"]
    assert listed(spark, f"{odd}/{{x,why}}*") == (
        sorted(str(odd / each) for each in NAMES[4:6]),
        [],
    )


@pytest.mark.long
def test_a_file_that_is_named_need_not_be_called_so(spark, odd):
    path = str(odd / "sub" / "no suffix")
    assert listed(spark, path) == ([path], [])
    assert listed(spark, Path(path).as_uri()) == ([path], [])
    assert listed(spark, path, odd / "sub") == ([path], [str(odd / "sub")])
    assert listed(spark, path, odd / "sub" / "*") == ([path], [str(odd / "sub" / "*")])
    for name in (f"/{path}", os.path.relpath(path), f"{odd}/sub/no*", f"{odd}/sub/./no suffix"):
        assert listed(spark, name) == ([path], [])


def test_each_file_once(spark, odd):
    names = [odd, odd / NAMES[0], odd / "day=2026-11-20", f"{odd}/*/*.parquet", odd.as_uri()]
    assert listed(spark, *names) == (all_of(odd), [])


def test_what_is_not_there_is_in_the_report(spark, odd, tmp_path):
    (tmp_path / "empty.parquet").touch()
    names = [odd / "z", odd / NAMES[0], tmp_path / "empty.parquet", odd / "a", ""]
    report = lake.inspect(spark, names)
    found = [(each.path, each.status, each.message) for each in report.outcomes]
    assert found == sorted(
        [(str(odd / NAMES[0]), "read", None)]
        + [
            (str(name), "error", f"{name}: {problem}")
            for name, problem in [
                (odd / "z", "no such file or folder"),
                (tmp_path / "empty.parquet", "not a Parquet file: 0 bytes, expected 12 or more"),
                (odd / "a", "no such file or folder"),
                ("", "no Parquet or ORC files"),
            ]
        ]
    )
    assert report.counts == {"read": 1, "error": 4}
    with pytest.raises(FileNotFoundError, match="paths: none, expected at least one"):
        lake.inspect(spark, [])


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("gone", "No such file or directory"),
        ("gone/", "no such folder"),
        ("gone*", "no Parquet or ORC files"),
        ("empty", "no Parquet or ORC files"),
    ],
)
def test_if_there_is_nothing_nothing_is_done(spark, odd, tmp_path, monkeypatch, name, problem):
    """As parquet_bloom.build raises it; the same id may look again."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "empty").mkdir()
    place = f"{tmp_path}/{name}"
    told = re.escape(f"[Errno 2] {problem}: '{place}'")
    for verb in (partial(lake.build, columns="id"), lake.validate):
        with pytest.raises(FileNotFoundError, match=f"^{told}$"):
            verb(spark, place)
    assert not list(tmp_path.glob("pbloom-run-*"))
    run = {"audit": str(tmp_path / "audit"), "run_id": "today"}
    with pytest.raises(FileNotFoundError, match=f"^{told}$"):
        lake.inspect(spark, place, **run)
    there = Path(place.rstrip("/*"))
    there.mkdir(exist_ok=True)
    shutil.copy(odd / NAMES[0], there / "a.parquet")
    assert lake.inspect(spark, place, **run).summary().startswith("inspect: 1 file in ")


# ------------------------------------------------------------------------------------------------
# Huge files


def test_huge_files_are_built_in_parts(spark, tmp_path, monkeypatch):
    """Beside small ones, and with the bytes of the local build."""
    folder = tmp_path / "lake"
    write(folder / "huge.parquet", rows=20_000)
    write(folder / "part=1" / "also huge.parquet", rows=24_000)
    for place in range(3):
        write(folder / f"small {place}.parquet", 7 * place, rows=40)
    damaged = bytearray(write(folder / "damaged.parquet", rows=20_000).read_bytes())
    damaged[4:24] = b"\xff" * 20
    (folder / "damaged.parquet").write_bytes(damaged)
    local = shutil.copytree(folder, tmp_path / "local")
    in_parts = Bounds(huge=100_000, part=100_000, least_share=0)
    monkeypatch.setattr(verbs, "BOUNDS", in_parts)
    audit = tmp_path / "audit"
    report = lake.build(spark, folder, columns=["id", "name"], audit=str(audit), run_id="first")
    kept = Account(LakeRun(str(audit), "first", "build", "", report.started_at))
    parts = {row["path"] for name in kept.names() if name.startswith("part-")
             for row in unpacked(kept.get(name))}  # fmt: skip
    assert sorted(os.path.basename(path) for path in parts) == [
        "also huge.parquet", "damaged.parquet", "huge.parquet",
    ]  # fmt: skip
    # The columns of the damaged file are not read to the end.
    bits = {name.rpartition("-")[0] for name in kept.names() if name.startswith("bits-")}
    assert len(bits) in (2, 3)
    assert [(os.path.basename(each.path), each.status, each.filters) for each in report.outcomes] == [
        ("damaged.parquet", "error", 0), ("huge.parquet", "added", 2 * GROUPS),
        ("also huge.parquet", "added", 2 * GROUPS), ("small 0.parquet", "added", 2 * GROUPS),
        ("small 1.parquet", "added", 2 * GROUPS), ("small 2.parquet", "added", 2 * GROUPS),
    ]  # fmt: skip
    outcome("build", local, "--in-place", "-c", "id,name")
    assert contents(folder) == contents(local)
    before = snapshot(folder)
    again = lake.build(spark, folder, columns=["id", "name"])
    assert again.counts == {"unchanged": 5, "error": 1}
    assert snapshot(folder) == before
    assert lake.build(spark, folder, columns=["id"], existing="replace", fpp=0.1).counts == {
        "added": 5, "error": 1,
    }  # fmt: skip
    outcome("build", local, "--in-place", "-c", "id", "--existing", "replace", "--fpp", "0.1")
    assert contents(folder) == contents(local)


# ------------------------------------------------------------------------------------------------
# One job


def counting(on_executor, folder):
    """`on_executor`, but each run on an executor leaves a file that says how many rows it got."""

    def counted(module, function, request, archive):
        mapped = on_executor(module, function, request, archive)

        def with_count(batches):
            import os
            import uuid

            batches = list(batches)
            rows = sum(batch.num_rows for batch in batches)
            with open(os.path.join(folder, f"{function} {rows} {uuid.uuid4()}"), "w"):
                yield from mapped(iter(batches))

        return with_count

    return counted


def counts_in(folder, function):
    """How many rows the function got, in all: tasks, as each has one."""
    names = [path.name.split() for path in folder.iterdir()]
    return sum(int(rows) for name, rows, _ in names if name == function)


def test_everything_is_done_once(spark, tmp_path, monkeypatch):
    """Not by a second action of the library, nor by whoever looks at the report."""
    counts = tmp_path / "counts"
    counts.mkdir()
    monkeypatch.setattr(executors, "on_executor", counting(executors.on_executor, str(counts)))
    table = write_table(tmp_path / "table")
    report = lake.build(spark, table, columns=["id"])
    frame = report.to_df(spark)
    assert frame.orderBy("path").count() == len(frame.join(frame, "path").collect()) == 3
    assert len(report.outcomes) == 3
    done = [counts_in(counts, name) for name in ("begin", "list_folders", "work", "finish")]
    assert done == [1, 0, 1, 1]
    lake.clean_temp(spark, table)
    assert counts_in(counts, "work") == 2
    everything_is_huge(monkeypatch)
    path = table / "part=0" / "0.parquet"
    size = path.stat().st_size
    lake.build(spark, path, columns=["name"])
    assert counts_in(counts, "work") == 3
    assert counts_in(counts, "build_parts") == -(-size // 2000)


def test_each_file_is_done_once_in_many_tasks(spark, tmp_path, monkeypatch):
    """As many sheets as files, found by several listings."""
    monkeypatch.setattr(verbs, "BOUNDS", Bounds(files=2, first_files=1, before_double=1))
    for place in range(7):
        write(tmp_path / "lake" / f"d={place % 3}" / f"{place}.parquet", 10 * place, rows=40)
    report = lake.build(spark, tmp_path / "lake", columns=["id"])
    assert (report.counts, report.files) == ({"added": 7}, 7)
    assert [each.path for each in report.outcomes] == sorted(
        map(str, (tmp_path / "lake").rglob("*.parquet"))
    )
    assert report.filters == sum(each.filters for each in report.outcomes) == 7 * GROUPS
    assert report.bytes == sum(each.bytes for each in report.outcomes)


def test_many_folders_are_listed_by_many_tasks(spark, tmp_path, monkeypatch):
    counts = tmp_path / "counts"
    counts.mkdir()
    monkeypatch.setattr(executors, "on_executor", counting(executors.on_executor, str(counts)))
    first = write(tmp_path / "lake" / "d=00" / "a.parquet", rows=40)
    for day in range(1, 66):
        (tmp_path / "lake" / f"d={day:02}").mkdir()
        shutil.copy(first, tmp_path / "lake" / f"d={day:02}" / "a.parquet")
    (tmp_path / "none").mkdir()
    report = lake.inspect(spark, [tmp_path / "lake", tmp_path / "none"])
    assert (report.counts, len({each.path for each in report.outcomes})) == (
        {"read": 66, "error": 1},
        67,
    )
    assert report.troubles[0].message == f"{tmp_path}/none: no Parquet or ORC files"
    assert counts_in(counts, "list_folders") == 9


# ------------------------------------------------------------------------------------------------
# The audit


def opened_by(report):
    """The names of files that the run has opened."""
    return sorted(os.path.basename(each.path) for each in report.outcomes if each.document)


def test_what_is_in_an_audit(spark, tmp_path):
    """A row for each file and run, which Spark finds without what the run needed itself."""
    table, audit = write_table(tmp_path / "table"), tmp_path / "audit"
    report = lake.build(
        spark, [table, tmp_path / "gone"], columns=["id"], audit=audit, run_id="a/b"
    )
    assert (report.run_id, report.audit) == ("a/b", str(audit))
    lake.validate(spark, table, audit=audit, run_id="later")
    rows = spark.read.parquet(str(audit))
    assert {"run_id", "verb", "started_at", *lake.OUTCOME.names} == {*rows.columns}
    assert sorted((row.run_id, row.verb, row.status) for row in rows.collect()) == [
        ("a/b", "build", "added"), ("a/b", "build", "added"), ("a/b", "build", "error"),
        ("a/b", "build", "error"), ("later", "validate", "error"), ("later", "validate", "read"),
        ("later", "validate", "read"),
    ]  # fmt: skip
    ours = rows.where("run_id = 'a/b'").select(*lake.OUTCOME.names).collect()
    outcomes = [Outcome(**row.asDict()) for row in ours]
    assert tuple(sorted(outcomes, key=lambda each: each.path)) == report.outcomes
    for each in outcomes:
        if each.status == "added":
            path = Path(each.path)
            status = path.stat()
            assert (each.size_before + each.bytes, each.size) == (status.st_size, status.st_size)
            assert each.version == f"{status.st_size}:{status.st_mtime_ns}:{status.st_ino}"
            assert each.version != each.version_before


def test_only_what_was_begun_is_taken_for_the_work_of_the_run(spark, tmp_path, monkeypatch):
    """Somebody else has done what is left of a run that died: of one task, the run had begun it."""
    lake_of_3, audit = tmp_path / "lake", tmp_path / "audit"
    monkeypatch.setattr(verbs, "BOUNDS", Bounds(files=1, first_files=1))
    for place in range(3):
        write(lake_of_3 / f"{place}.parquet", 10 * place, rows=40)
    asked = {"columns": ["id"], "audit": audit}
    for verb, run_id, done in ((lake.build, "8", "added"), (lake.strip, "9", "removed")):
        verb(spark, lake_of_3, run_id=run_id, **asked)
        for number in (1, 2):
            (audit / f"run_id={run_id}" / f"task-{number:06}.parquet").unlink()
        (audit / "_runs" / run_id / "began-000002-0").unlink()
        report = verb(spark, lake_of_3, run_id=run_id, **asked)
        assert [each.status for each in report.outcomes] == [done, done, "unchanged"]
        first, begun, other = report.outcomes
        assert begun.message == f"{done} by an attempt of this run that left no account"
        assert "attempt" not in (other.message or "")
        assert other.bytes == other.size - other.size_before == first.bytes
        # Which filters there were, nobody knows any more.
        filters = GROUPS if done == "added" else None
        assert (first.filters, begun.filters, other.filters) == (GROUPS, filters, 0)
        assert report.filters == GROUPS + (filters or 0)
        assert report.num_uncounted == report.to_dict()["uncounted"] == (filters is None)
        rows = report.to_df(spark).select("filters").collect()
        assert {row.filters for row in rows} == {GROUPS, filters, 0}


def test_a_run_goes_on_under_its_id(spark, tmp_path, monkeypatch):
    """What was done is not done again, and the report is that of the whole run."""
    audit = tmp_path / "audit"
    monkeypatch.setattr(verbs, "BOUNDS", Bounds(files=1, first_files=1))
    for place in range(3):
        write(tmp_path / "lake" / f"{place}.parquet", 10 * place, rows=40)
    first = lake.build(spark, tmp_path / "lake", columns=["id"], audit=audit, run_id="7")
    kept = {path.name: path.read_bytes() for path in (audit / "run_id=7").iterdir()}
    assert len(kept) == 3
    (audit / "run_id=7" / "task-000001.parquet").unlink()
    write(tmp_path / "lake" / "new.parquet", rows=40)
    before = snapshot(tmp_path / "lake")
    again = lake.build(spark, tmp_path / "lake", columns=["id"], audit=audit, run_id="7")
    assert snapshot(tmp_path / "lake") == before
    assert (again.counts, again.files, again.filters) == ({"added": 3}, 3, 3 * GROUPS)
    assert (again.started_at, again.bytes) == (first.started_at, first.bytes)
    messages = [each.message for each in again.outcomes]
    assert messages == [None, "added by an attempt of this run that left no account", None]
    for name in ("task-000000.parquet", "task-000002.parquet"):
        assert (audit / "run_id=7" / name).read_bytes() == kept[name]
    done = lake.build(spark, tmp_path / "lake", columns=["id"], audit=audit, run_id="7")
    assert [each.was_done for each in (first, again, done)] == [False, False, True]
    began = first.started_at.strftime("%Y-%m-%d %H:%M:%S UTC")
    assert f"; by run 7 of {began}, which had done all files before" in done.summary()
    assert "before" not in again.summary()
    # Whoever asks a lake that has the account is not told of it.
    hidden, left_out = audit.rename(tmp_path / "lake" / "_pbloom"), LeftOut()
    expand([str(tmp_path / "lake")], None, left_out)
    assert {f"{hidden}/_runs/7/plan.json", f"{hidden}/run_id=7/{name}"} < set(left_out.paths)
    assert left_out.besides([]) == ()


@pytest.mark.parametrize("place", ["", "audit", "part=9/audit", "part=9/_a=1"])
def test_an_audit_is_no_data_of_the_lake(spark, tmp_path, place):
    """Later runs, and all who read the lake, would take its files for some of it."""
    table = write_table(tmp_path / "table")
    elsewhere = "expected a folder elsewhere, or one with a name such as"
    for name in (f"{table}", f"{tmp_path}/t*", f"{table}/**/*.parquet", f"{tmp_path}/{{t*,x}}"):
        # In folders of the table that begin with an underscore, `**` finds files.
        such = ".pbloom" if place and "**" in name else "_pbloom or .pbloom"
        told = f"audit: {table / place}: its files would be read as those of {name}: {elsewhere} {such}"
        with pytest.raises(ValueError, match=f"^{re.escape(told)}$"):
            lake.inspect(spark, name, audit=table / place)
    hidden = lake.inspect(spark, table, audit=table / "_pbloom" / "audit")
    assert hidden.files == lake.inspect(spark, table).files


def test_an_audit_is_not_found_by_globs_of_the_lake(spark, tmp_path):
    """Which look into folders that begin with an underscore, as Python's do."""
    table = write_table(tmp_path / "table")
    found = f"{table}/**/*.parquet"
    expected = lake.inspect(spark, found).files
    for _ in range(2):
        assert lake.inspect(spark, found, audit=table / ".pbloom" / "audit").files == expected
    with pytest.raises(ValueError, match="would be read as those of"):
        lake.inspect(spark, found, audit=table / "_pbloom" / "audit")
    # Not so deep.
    lake.inspect(spark, f"{table}/*/*.parquet", audit=table / "audit")


def test_an_id_stands_for_one_request(spark, tmp_path):
    table, audit = write_table(tmp_path / "table"), tmp_path / "audit"
    lake.inspect(spark, table, audit=audit, run_id="7")
    (manifest := tmp_path / "files.txt").write_text(f"{table}/part=0/0.parquet\n")
    before = snapshot(table)
    (tmp_path / "other").mkdir()
    other = write_table(tmp_path / "other" / "table")
    for verb, where, options, said in (
        (lake.inspect, table, {"columns": ["id"]}, ", which differs in columns"),
        (lake.inspect, table, {"keys": {"footer": "env:KEY"}}, ", which differs in keys"),
        (lake.inspect, other, {}, ", which differs in names"),
        (lake.inspect, None, {"manifest": manifest}, ", of another manifest"),
        (lake.strip, table, {}, ""),
    ):
        with pytest.raises(SparkError) as raised:
            verb(spark, where, audit=audit, run_id="7", **options)
        # Nothing has failed.
        told = re.sub(r"began at [\d:.T+-]+(?=[,:])", "began at #", str(raised.value))
        assert told == (
            f"{audit}: run 7 was asked for something else, inspect that began at #{said}: expected the same verb,"
            " options and names, or another run id"
        )
    assert snapshot(table) == before


def test_files_that_an_earlier_run_left_so_are_not_opened_again(spark, tmp_path):
    table, audit = write_table(tmp_path / "table"), tmp_path / "audit"
    options = {"columns": ["id"], "audit": audit}
    lake.build(spark, table, **options)
    again = lake.build(spark, table, **options)
    assert (again.counts, opened_by(again)) == ({"unchanged": 2, "error": 1}, [])
    assert {each.message for each in again.outcomes if each.status == "unchanged"} == {LEFT_SO}
    # Those that are new or have changed are, and those of another request.
    write(table / "part=0" / "0.parquet", 5)
    write(table / "part=0" / "new.parquet", 6)
    third = lake.build(spark, table, **options)
    assert third.counts == {"added": 2, "unchanged": 1, "error": 1}
    assert opened_by(third) == ["0.parquet", "new.parquet"]
    other = lake.build(spark, table, columns=["name"], audit=audit)
    assert other.counts == {"added": 3, "error": 1}
    # What was changed meanwhile by another request is looked at.
    fourth = lake.build(spark, table, **options)
    assert (fourth.counts, len(opened_by(fourth))) == ({"unchanged": 3, "error": 1}, 3)
    # Replacing replaces.
    for _ in range(2):
        replaced = lake.build(spark, table, **options, existing="replace")
        assert replaced.counts == {"added": 3, "error": 1}


@pytest.mark.long
def test_audits_older_than_the_newest_whole_run_can_be_removed(spark, tmp_path):
    table, audit = write_table(tmp_path / "table"), tmp_path / "audit"
    for run in ("1", "2"):
        lake.build(spark, table, columns=["id"], audit=audit, run_id=run)
    shutil.rmtree(audit / "run_id=1")
    shutil.rmtree(audit / "_runs" / "1")
    assert opened_by(lake.build(spark, table, columns=["id"], audit=audit)) == []


@pytest.mark.long
def test_accounts_from_before_what_is_looked_at_was_changed_are_not_read(spark, tmp_path):
    """However many runs with --since there have been."""
    table, audit = write_table(tmp_path / "table"), tmp_path / "audit"
    yesterday = datetime.now(UTC) - timedelta(days=1)
    options = {"columns": ["id"], "audit": audit, "since": yesterday}
    lake.build(spark, table, **options, run_id="1")
    assert opened_by(lake.build(spark, table, **options, run_id="2")) == []
    for path in audit.glob("run_id=*/*"):
        os.utime(path, times=(0, yesterday.timestamp() - 1))
    assert len(opened_by(lake.build(spark, table, **options, run_id="3"))) == 2


def test_the_account_of_a_run_without_an_audit_is_gone_with_its_report(
    spark, tmp_path, monkeypatch
):
    places, account_place = [], job._account_place

    def seen(*arguments):
        places.append(account_place(*arguments)[0])
        return places[-1], False

    monkeypatch.setattr(job, "_account_place", seen)
    report = lake.inspect(spark, write_table(tmp_path / "table"))
    assert os.path.isdir(places[0])
    assert report.audit is None
    assert len(report.outcomes) == 3
    del report
    assert not os.path.exists(places[0])


# ------------------------------------------------------------------------------------------------
# Trials, and what cannot be


def test_only_the_first_files(spark, tmp_path):
    for place in range(5):
        write(tmp_path / "lake" / f"{place}.parquet", rows=40)
    size = (tmp_path / "lake" / "0.parquet").stat().st_size
    for limits, number in (
        ({"max_files": 2}, 2), ({"max_input": 3 * size}, 3), ({"max_input": size - 1}, 0),
    ):  # fmt: skip
        report = lake.inspect(spark, tmp_path / "lake", **limits)
        assert [os.path.basename(each.path) for each in report.outcomes] == [
            f"{place}.parquet" for place in range(number)
        ]


@pytest.mark.long
def test_a_trial_does_not_stand_for_a_whole_run(spark, tmp_path):
    """What it has done is not opened again, but the others are."""
    table, audit = write_table(tmp_path / "table"), tmp_path / "audit"
    assert lake.build(spark, table, columns=["id"], audit=audit, max_files=2).counts == {
        "added": 1, "error": 1,
    }  # fmt: skip
    whole = lake.build(spark, table, columns=["id"], audit=audit)
    assert whole.counts == {"added": 1, "unchanged": 1, "error": 1}
    assert len(opened_by(whole)) == 1


def test_a_job_that_fails_as_a_whole(spark, tmp_path, monkeypatch):
    def nothing(module, function, request, archive):
        def fail(batches):
            raise RuntimeError("no such module")
            yield

        return fail

    monkeypatch.setattr(executors, "on_executor", nothing)
    table = write_table(tmp_path / "table")
    before = snapshot(table)
    with pytest.raises(SparkError, match=r"^the Spark job failed: ") as raised:
        lake.build(spark, table, columns=["id"])
    assert "\n" not in str(raised.value)
    assert snapshot(table) == before


def test_a_build_that_fails_says_where_its_account_is(spark, tmp_path, monkeypatch):
    """With which it goes on, and does nothing twice."""
    table, on_executor = write_table(tmp_path / "table"), executors.on_executor

    def ending(module, function, request, archive):
        def fail(batches):
            raise RuntimeError("no more")
            yield

        return fail if function == "finish" else on_executor(module, function, request, archive)

    with monkeypatch.context() as patched:
        patched.setattr(executors, "on_executor", ending)
        with pytest.raises(SparkError, match=r"^the Spark job failed: .*no more") as raised:
            lake.build(spark, table, columns=["id"])
        with pytest.raises(SparkError, match=r"no more$"):
            lake.inspect(spark, table)
    told = re.search(
        r"what was done is in (\S+): --audit with .* --run-id (\w+) go", str(raised.value)
    )
    assert told is not None
    before = snapshot(table)
    report = lake.build(spark, table, columns=["id"], audit=told[1], run_id=told[2])
    assert (report.counts, report.filters) == ({"added": 2, "error": 1}, 2 * GROUPS)
    assert snapshot(table) == before


@pytest.mark.parametrize(
    ("verb", "options", "is_told"),
    [
        ("build", {"columns": ["id"]}, True),
        ("build", {"columns": ["id"], "dry_run": True}, False),
        ("strip", {}, True),
        ("inspect", {}, False),
    ],
)
def test_a_run_that_is_interrupted_says_where_its_account_is(
    spark, tmp_path, monkeypatch, verb, options, is_told
):
    table = write_table(tmp_path / "table")

    def interrupted(_, tasks):
        raise KeyboardInterrupt

    monkeypatch.setattr(job, "_worked", interrupted)
    with pytest.raises(KeyboardInterrupt) as raised:
        getattr(lake, verb)(spark, table, **options)
    notes = "\n".join(getattr(raised.value, "__notes__", ()))
    assert (
        bool(re.fullmatch(r"what was done is in \S+: --audit with .* --run-id \w+ go .*", notes))
        == is_told
    )
    with pytest.raises(KeyboardInterrupt) as raised:
        getattr(lake, verb)(spark, table, **options, audit=str(tmp_path / "audit"))
    assert not hasattr(raised.value, "__notes__")


@pytest.mark.long
def test_another_version_of_the_package_looks_again(spark, tmp_path, monkeypatch):
    table, audit = write_table(tmp_path / "table"), tmp_path / "audit"
    lake.build(spark, table, columns=["id"], audit=audit)
    known = lake.build(spark, table, columns=["id"], audit=audit)
    assert {each.document for each in known.each(["unchanged"])} == {None}
    monkeypatch.setattr(job, "__version__", "another")
    opened = lake.build(spark, table, columns=["id"], audit=audit)
    assert None not in {each.document for each in opened.each(["unchanged"])}


class NoSpark:
    """Whoever asks it for anything has not checked first."""

    def __getattr__(self, name):
        raise AssertionError(f"asked for {name}")


@pytest.mark.parametrize(
    ("verb", "options", "message"),
    [
        (lake.build, {"columns": []}, "columns: none, expected at least one"),
        (
            lake.build,
            {"columns": {"id": 0.1}},
            r"columns: \{'id': 0.1\}, expected a name or a list",
        ),
        (lake.build, {"columns": ["id"], "existing": "no"}, "existing: no, expected keep, replace"),
        (lake.build, {"columns": [1]}, "columns: 1, expected a name or a list of names"),
        (lake.build, {"columns": ["id"], "fpp": "0.01"}, "fpp: '0.01', expected a number"),
        (lake.build, {"columns": ["id"], "ndv": 1e6}, "ndv: 1000000.0, expected a whole number"),
        (
            lake.build,
            {"columns": ["id"], "keys": pb.Keys(footer=bytes(16))},
            "keys: a Keys, expected references such as env:VAR by name",
        ),
        (lake.inspect, {"keys_file": 5}, "keys_file: 5, expected one path, as str or os.PathLike"),
        (lake.validate, {"policy": "pbloom.toml"}, "policy: 'pbloom.toml', expected a pb.Policy;"),
        (lake.advise, {"policy": "pbloom.toml"}, "policy: 'pbloom.toml', expected a pb.Policy;"),
        (lake.build, {"columns": ["id"], "max_files": 1.5}, "max_files: 1.5, expected a whole"),
        (lake.build, {"columns": ["id"], "since": "2d"}, "since: '2d', expected a datetime"),
        (lake.probe, {"columns": [], "values": 42}, "columns: none, expected at least one"),
        (lake.probe, {"columns": [1], "values": 42}, "columns: 1, expected a name or a list of"),
        (lake.probe, {"columns": "id", "values": {"id": 42}}, "values: a dict, expected one value"),
        (lake.probe, {"columns": "id", "values": []}, "values: none, expected at least one"),
        (lake.build, {"columns": ["id"], "fpp": 0}, "fpp: 0, expected more than 0"),
        (lake.build, {"columns": ["id"], "fpp": 1.0}, "fpp: 1.0, expected more than 0"),
        (lake.build, {"columns": ["id"], "ndv": 0}, "ndv: 0, expected 1 or more"),
        (lake.build, {"columns": ["id"], "max_bytes": 63}, "max_bytes: 63, expected 64 to"),
        (lake.build, {"columns": ["id"], "max_files": 0}, "max_files: 0, expected 1 or more"),
        (lake.strip, {"max_input": 0}, "max_input: 0, expected 1 or more"),
        (lake.strip, {"audit": 5}, "audit: 5, expected one path"),
        (lake.strip, {"audit": "/audit", "run_id": 5}, "run_id: 5, expected a name"),
        (lake.strip, {"audit": "/audit", "run_id": ""}, "run_id: '', expected a name"),
        (lake.strip, {"run_id": "7"}, "run_id: expected an audit, in which a run with this id can"),
        (lake.build, {"columns": ["id"], "dry_run": "no"}, "dry_run: 'no', expected True or False"),
        (lake.build, {"columns": ["id"], "only_missing": 1}, "only_missing: 1, expected True or"),
        (lake.validate, {"columns": []}, "columns: none, expected at least one"),
        (lake.build_table, {"columns": []}, "columns: none, expected at least one"),
        (lake.validate, {"deep": "no"}, "deep: 'no', expected True or False"),
        (lake.advise, {"fpp": 2}, "fpp: 2, expected more than 0"),
        (lake.advise, {"max_bytes": 1 << 40}, "max_bytes: 1099511627776, expected 64 to"),
        (lake.inspect, {"max_input": -1}, "max_input: -1, expected 1 or more"),
        (lake.clean_temp, {"audit": 5}, "audit: 5, expected one path"),
        (lake.clean_temp, {"older_than": -1}, "older_than: -1, expected 0 or more seconds"),
        (lake.clean_temp, {"older_than": float("nan")}, "older_than: nan, expected 0 or more"),
        (lake.clean_temp, {"older_than": "1h"}, "older_than: '1h', expected a number of seconds"),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_what_cannot_be_is_said_before_anything_starts(verb, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        verb(NoSpark(), "/lake", **options)


def test_the_session_is_as_it_was(spark, tmp_path):
    """Nothing is set in it, and nothing is left behind in its catalogue."""
    table = write_table(tmp_path / "table")
    before = spark.conf.getAll, spark.catalog.listTables()
    lake.build(spark, table, columns=["id"])
    pb.validate(table / "part=0/0.parquet")
    assert (spark.conf.getAll, spark.catalog.listTables()) == before
