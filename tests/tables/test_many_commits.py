"""Tables of more files than one commit records: what each commit has, what others do between two of them,
and what is said if one of them fails."""

import json
import shutil
from collections import Counter

import pytest
from make import iceberg_tables
from make.commands import files_in, outcome
from make.delta_tables import (
    adds,
    build,
    current_adds,
    delete_rows,
    inline_vector,
    live,
    make_table,
    newest,
    rows_of,
    with_features,
    write_commit,
)
from make.iceberg_tables import CATALOG, NAME
from oracle.delta_readers import rows_at
from oracle.iceberg_readers import by_pyiceberg

import parquet_bloom as pb
from parquet_bloom.storage.folder import LocalFolder
from parquet_bloom.tables.delta.log import Log
from parquet_bloom.tables.delta.table import DeltaTable
from parquet_bloom.tables.iceberg import live_files
from parquet_bloom.tables.open import open_table
from parquet_bloom.verbs.table_runner import TableCommit


@pytest.fixture
def table(tmp_path):
    """Of two partitions with three files each."""
    return make_table(tmp_path / "events", partition_by=["day"])


@pytest.fixture
def lake(tmp_path, monkeypatch):
    """Of three manifests with a file for each of two partitions."""
    iceberg_tables.use_catalog(tmp_path, monkeypatch)
    return iceberg_tables.make_table()


def actions_of(report):
    return Counter(file.action for file in report.files)


def between_batches(monkeypatch, act):
    """Something happens once, before the second batch begins."""
    real, done = DeltaTable.refreshed, []

    def refreshed(self):
        if not done:
            done.append(True)
            act()
        return real(self)

    monkeypatch.setattr(DeltaTable, "refreshed", refreshed)


# ------------------------------------------------------------------------------------------------
# Delta Lake


def test_each_commit_has_a_partition(table):
    rows = rows_at(table)
    report = build(table, files_per_commit=5)
    assert (report.version, report.committed) == (2, 4)
    assert report.commits == (TableCommit(3, 3), TableCommit(4, 3))
    days = [{path.partition("/")[0] for path in adds(table, version)} for version in (3, 4)]
    assert days == [{"day=2026-11-01"}, {"day=2026-11-02"}]
    assert {file.file: file.size for file in report.files} == live(table)
    assert [file.file for file in report.files] == sorted(live(table))
    assert actions_of(report) == {"appended": 6}
    assert report.num_filters == 12
    assert report.bytes_added == sum(file.size - file.recorded for file in report.files) > 0
    assert [rows_at(table, version) for version in (2, 3, 4)] == [rows] * 3


def test_files_of_a_larger_partition_are_in_several(table):
    report = build(table, files_per_commit=2)
    assert report.commits == tuple(TableCommit(3 + n, size) for n, size in enumerate((2, 1, 2, 1)))
    again = build(table, files_per_commit=2)
    assert (again.committed, again.commits) == (None, ())
    assert actions_of(again) == {"unchanged": 6}
    assert newest(table) == 6


def test_files_and_sizes_are_those_of_one_commit(table, tmp_path):
    other = shutil.copytree(table, tmp_path / "other")
    build(table)
    report = build(other, files_per_commit=2)
    assert live(other) == live(table)
    one, several = (
        {name: data for name, data in files_in(at).items() if "_log" not in name}
        for at in (table, other)
    )
    assert one == several
    (skipped,) = build(other, files_per_commit=2).skipped
    assert (skipped.reason, skipped.num_chunks) == ("has a filter already", 12)
    assert report.skipped == ()


def test_strip_and_repair(table):
    sizes = live(table)
    build(table)
    stripped = pb.strip_table(table, files_per_commit=3)
    assert stripped.commits == (TableCommit(4, 3), TableCommit(5, 3))
    assert (live(table), stripped.committed) == (sizes, 5)
    build(table, commit=False)
    before = newest(table)
    repaired = pb.repair_table(table, min_file_size=0, files_per_commit=3)
    assert (repaired.commits, repaired.committed, newest(table)) == ((), None, before)


def test_nothing_is_committed_that_is_not_to_be(table):
    before = files_in(table)
    tried = build(table, files_per_commit=2, dry_run=True)
    assert (tried.commits, tried.num_filters) == ((), 12)
    assert files_in(table) == before
    first = build(table, files_per_commit=2, commit=False)
    assert (first.commits, actions_of(first), newest(table)) == ((), {"appended": 6}, 2)
    second = build(table, files_per_commit=3)
    assert (len(second.commits), actions_of(second)) == (2, {"appended before": 6})


def test_progress_is_that_of_all(table):
    seen = []
    build(table, files_per_commit=2, progress=lambda done, all: seen.append((done, all)))
    assert seen == [(done, 6) for done in range(1, 7)]


def test_too_small_files_are_in_no_batch(table):
    least = min(live(table).values())
    make_table(table, commits=1, rows=4, partition_by=["day"])
    report = build(table, files_per_commit=1, min_file_size=least)
    assert actions_of(report) == {"too small": 2, "appended": 6}
    assert len(report.commits) == 6


@pytest.mark.parametrize(
    ("number", "error", "problem"),
    [
        (0, ValueError, "0, expected 1 or more"),
        (True, TypeError, "True, expected a whole number"),
    ],
)
def test_impossible_numbers(table, number, error, problem):
    with pytest.raises(error) as raised:
        build(table, files_per_commit=number)
    assert str(raised.value) == f"files_per_commit: {problem}"


def test_the_command(table):
    options = ("--table", "delta", "-c", "id", "--all-sizes", "--files-per-commit", 3)
    result = outcome("build", table, *options)
    assert (
        result.stdout.splitlines()[0]
        .partition(" added")[2]
        .startswith("; 2 commits up to version 4 record it, ")
    )
    document = json.loads(
        outcome("strip", table, "--table", "delta", "--files-per-commit", 3, "--json").stdout
    )
    assert document["committed"] == 6
    assert document["commits"] == [
        {"version": 5, "num_files": 3},
        {"version": 6, "num_files": 3},
    ]
    assert outcome("build", table, *options[:-1], 0).code == 2


# ------------------------------------------------------------------------------------------------
# Others, between two batches


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_what_another_run_commits_first_is_left_as_it_is(kind, request, monkeypatch):
    """Of two runs at once, the later one finds in the files what the earlier one commits before it."""
    if kind == "delta":
        named, view = str(request.getfixturevalue("table")), {}
        words = (named, "--table", "delta")
    else:
        request.getfixturevalue("lake")
        named, view = NAME, {"catalog": CATALOG}
        words = (NAME, "--table", "iceberg", "--catalog", CATALOG)
    pb.build_table(named, columns="id", min_file_size=0, commit=False, **view)
    commit_first = type(open_table(named, **view)).commit
    first = []

    def commit(table, sizes, operation):
        first.append(commit_first(open_table(named, **view), sizes, operation))
        return commit_first(table, sizes, operation)

    monkeypatch.setattr(type(open_table(named, **view)), "commit", commit)
    result = outcome("build", *words, "-c", "id", "--all-sizes", "--verbose")
    assert first[0].version is not None
    assert result.code == 0
    head, *lines = result.stdout.splitlines()
    assert head.startswith(f"{named}: 6 files: 6 unchanged; 0 filters, 0 B added; version ")
    assert "6 files: unchanged: another run has committed it meanwhile" in lines
    (skipped,) = (line for line in lines if line.startswith("skipped"))
    assert skipped.startswith("skipped id, 12 column chunks: has a filter already")
    assert "a commit " not in result.stdout
    assert current(named, view) == {"unchanged"}


def current(named, view):
    """What is left to do for the next run."""
    report = pb.build_table(named, columns="id", min_file_size=0, **view)
    return {file.action for file in report.files}


def test_a_file_that_is_removed_is_left_alone(table, monkeypatch):
    gone = max(live(table))
    before = (table / gone).read_bytes()
    remove = {"remove": {"path": gone, "deletionTimestamp": 1, "dataChange": True}}
    between_batches(monkeypatch, lambda: write_commit(table, remove))
    report = build(table, files_per_commit=3)
    assert report.commits == (TableCommit(3, 3), TableCommit(5, 2))
    left = report.files[-1]
    assert (left.file, left.action, left.reason) == (
        gone,
        "gone",
        "was removed from the table meanwhile",
    )
    assert (table / gone).read_bytes() == before
    assert gone not in live(table)


def test_a_file_that_is_added_is_left_to_the_next_run(table, monkeypatch):
    between_batches(monkeypatch, lambda: make_table(table, commits=1, partition_by=["day"]))
    report = build(table, files_per_commit=3)
    assert (len(report.files), [each.num_files for each in report.commits]) == (6, [3, 3])
    assert actions_of(build(table)) == {"unchanged": 6, "appended": 2}


def test_a_newer_deletion_vector_is_taken(table, monkeypatch):
    with_features(
        table, reader=["deletionVectors"], configuration={"delta.enableDeletionVectors": "true"}
    )
    last = max(live(table))
    between_batches(monkeypatch, lambda: delete_rows(table, last, inline_vector(range(10))))
    report = build(table, files_per_commit=3)
    assert current_adds(table)[last]["deletionVector"] == inline_vector(range(10))
    assert current_adds(table)[last]["size"] == (table / last).stat().st_size
    assert report.files[-1].num_deleted == 10


def test_a_table_that_becomes_unwritable_keeps_what_is_committed(table, monkeypatch):
    sizes = live(table)
    between_batches(monkeypatch, lambda: with_features(table, ["new-feature"]))
    report = build(table, files_per_commit=3)
    assert report.commits == (TableCommit(3, 3),)
    assert actions_of(report) == {"appended": 3, "failed": 3}
    (reason,) = {file.reason for file in report.files[3:]}
    assert reason == (
        "changed in the meantime: its writers need the feature new-feature, which pbloom does not"
        " know"
    )
    first, second = report.files[:3], report.files[3:]
    expected = {file.file: file.size for file in first} | {
        file.file: sizes[file.file] for file in second
    }
    assert live(table) == expected
    assert report.bytes_added == sum(file.size - file.recorded for file in first)


def test_a_commit_that_fails_ends_the_run(table, monkeypatch):
    """What was not begun is not begun any more; the next run does the rest."""
    put, left = LocalFolder.put_if_absent, [1]

    def full(folder, name, data):
        if not left:
            raise OSError(28, "No space left on device", name)
        left.pop()
        return put(folder, name, data)

    before = files_in(table)
    monkeypatch.setattr(LocalFolder, "put_if_absent", full)
    options = ("--table", "delta", "-c", "id", "--all-sizes", "--files-per-commit", 2)
    result = outcome("build", table, *options, "--json")
    assert result.code == 2
    document = json.loads(result.stdout)
    assert document["commits"] == [{"version": 3, "num_files": 2}]
    assert [file["action"] for file in document["files"]] == ["appended"] * 2 + ["failed"] * 4
    assert {"No space left on device" in file["reason"] for file in document["files"][2:]} == {True}
    for file in document["files"][3:]:
        assert (table / file["file"]).read_bytes() == before[file["file"]]
    # Nothing has been committed: there is nothing to report.
    with pytest.raises(OSError, match="No space left on device"):
        build(table)
    monkeypatch.undo()
    again = build(table, files_per_commit=2)
    assert actions_of(again) == {"unchanged": 2, "appended before": 4}
    assert [each.num_files for each in again.commits] == [1, 2, 1]


# ------------------------------------------------------------------------------------------------
# What is read of the log


def read_in(monkeypatch):
    """The names of the files that are read of logs from now on."""
    real, names = LocalFolder.read, []

    def read(folder, name):
        names.append(name)
        return real(folder, name)

    monkeypatch.setattr(LocalFolder, "read", read)
    return names


def test_no_old_commit_is_read_again(table, monkeypatch):
    names = read_in(monkeypatch)
    build(table, files_per_commit=1)
    counts = Counter(int(name.rpartition("/")[2][:20]) for name in names)
    # The newest one also for its time.
    assert (counts[0], counts[1]) == (1, 1)
    assert max(counts.values()) <= 2 + 2 * 2


def test_a_log_that_was_cleaned_up_is_read_from_its_checkpoint(table, monkeypatch):
    from deltalake import DeltaTable as Judge

    def clean_up():
        write_commit(table, {"commitInfo": {}})
        Judge(table).create_checkpoint()
        for version in range(newest(table)):
            (table / "_delta_log" / f"{version:020}.json").unlink()

    between_batches(monkeypatch, clean_up)
    report = build(table, files_per_commit=3)
    assert report.commits == (TableCommit(3, 3), TableCommit(5, 3))
    sizes = {file.name: file.size for file in open_table(table).files()}
    assert sizes == {file.file: file.size for file in report.files}


def test_another_table_in_its_place_is_another_table(table, tmp_path, monkeypatch):
    """Of as many versions, with none of its files."""
    other = make_table(tmp_path / "other", commits=5, partition_by=["day"])

    def replace():
        shutil.rmtree(table / "_delta_log")
        shutil.copytree(other / "_delta_log", table / "_delta_log")

    between_batches(monkeypatch, replace)
    report = build(table, files_per_commit=3)
    assert report.commits == (TableCommit(3, 3),)
    assert actions_of(report) == {"appended": 3, "gone": 3}
    assert newest(table) == 4


def test_a_refreshed_snapshot_is_that_of_the_whole_log(table):
    first = open_table(table)
    make_table(table, commits=1, partition_by=["day"])
    build(table)
    delete = {"remove": {"path": min(live(table)), "deletionTimestamp": 1, "dataChange": True}}
    write_commit(table, delete)
    log = Log(LocalFolder(str(table)))
    whole, refreshed = log.snapshot(), log.snapshot(known=first._snapshot)
    assert refreshed == whole
    assert first.version == 2
    assert len(first.files()) == 6
    for key, add in whole.adds.items():
        assert [*refreshed.adds[key].items()] == [*add.items()]


def test_equal_values_of_two_snapshots_are_the_same(table):
    first = open_table(table)
    build(table)
    for key, add in first.refreshed()._snapshot.adds.items():
        assert add["stats"] is first._snapshot.adds[key]["stats"]
        assert add["size"] > first._snapshot.adds[key]["size"]


# ------------------------------------------------------------------------------------------------
# Iceberg


def manifests(snapshot, io):
    return {each.manifest_path for each in snapshot.manifests(io)}


def test_each_snapshot_has_a_manifest(lake):
    rows = by_pyiceberg(lake)
    report = iceberg_tables.build(files_per_commit=3)
    now = iceberg_tables.load()
    (*_, before, first, second, third) = now.snapshots()
    assert [each.version for each in report.commits] == [
        each.snapshot_id for each in (first, second, third)
    ]
    assert [each.num_files for each in report.commits] == [2, 2, 2]
    assert report.committed == now.current_snapshot().snapshot_id
    assert {file.file: file.size for file in report.files} == iceberg_tables.live()
    for old, new in ((before, first), (first, second), (second, third)):
        assert len(manifests(old, now.io) - manifests(new, now.io)) == 1
    assert by_pyiceberg(now) == rows
    assert iceberg_tables.build(files_per_commit=3).commits == ()


def test_snapshots_of_single_files(lake):
    report = iceberg_tables.build(files_per_commit=1)
    assert [each.num_files for each in report.commits] == [1] * 6
    assert {file.file: file.size for file in report.files} == iceberg_tables.live()
    stripped = iceberg_tables.strip(files_per_commit=4)
    assert [each.num_files for each in stripped.commits] == [4, 2]


def test_a_manifest_is_read_once_to_plan_and_once_to_be_written(lake, monkeypatch):
    from pyiceberg.manifest import ManifestFile

    real, read = ManifestFile.fetch_manifest_entry, Counter()

    def fetch(self, *arguments, **named):
        read[self.manifest_path] += 1
        return real(self, *arguments, **named)

    monkeypatch.setattr(ManifestFile, "fetch_manifest_entry", fetch)
    old = manifests(lake.current_snapshot(), lake.io)
    iceberg_tables.build(files_per_commit=2)
    assert {read[path] for path in old} == {2}
    assert max(read.values()) == 2


def test_a_snapshot_of_others_between_two_batches(lake, monkeypatch):
    real, done = live_files.files_by_manifest, []

    def later(*arguments):
        if len(done) == 1:
            iceberg_tables.load().append(rows_of(900, 10))
            iceberg_tables.load().delete("day = '2026-11-02' and n < 300")
        done.append(True)
        return real(*arguments)

    monkeypatch.setattr("parquet_bloom.tables.iceberg.table.files_by_manifest", later)
    table = open_table(NAME, catalog=CATALOG)
    assert len(table.files()) == 6
    rows = len(by_pyiceberg(iceberg_tables.load()))
    done.clear()
    report = iceberg_tables.build(files_per_commit=2)
    assert actions_of(report)["appended"] >= 4
    now = iceberg_tables.load()
    assert len(by_pyiceberg(now)) == rows + 10 - 150
    sizes = iceberg_tables.live(now)
    assert {f.file: f.size for f in report.files if f.action == "appended"}.items() <= sizes.items()
    assert set(actions_of(iceberg_tables.build())) <= {"appended", "appended before", "unchanged"}
