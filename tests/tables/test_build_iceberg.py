"""Filters in Iceberg tables: what is appended, what is committed, what a second run finds, and how it is
undone; whoever reads the table meanwhile finds the same rows."""

import json
from datetime import UTC, datetime

import pytest
from make.commands import files_in, outcome
from make.delta_tables import rows_of
from make.iceberg_tables import (
    CATALOG,
    NAME,
    build,
    entries,
    live,
    load,
    make_table,
    path_of,
    strip,
    use_catalog,
)
from oracle.iceberg_expiry import by_increments, by_reach
from oracle.iceberg_readers import rows_at
from pyiceberg.manifest import ManifestEntryStatus

import parquet_bloom as pb
from parquet_bloom.tables.open import open_table
from parquet_bloom.verbs.table_runner import NOT_COMMITTED, NOT_IN_CATALOG


@pytest.fixture
def table(tmp_path, monkeypatch):
    use_catalog(tmp_path, monkeypatch)
    return make_table()


@pytest.fixture
def folder(table):
    return path_of(table.location())


def all_rows(count=900):
    found = rows_of(0, count)
    return sorted(zip(found["id"].to_pylist(), found["n"].to_pylist(), strict=True))


def snapshots():
    return [each.snapshot_id for each in load().snapshots()]


def test_build_appends_and_commits(table, folder):
    before, sizes = files_in(folder), live()
    report = build()
    assert (report.path, report.table, report.version) == (NAME, "iceberg", snapshots()[2])
    assert report.committed == snapshots()[3]
    assert {file.action for file in report.files} == {"appended"}
    assert {file.file: file.size for file in report.files} == live()
    for name, size in sizes.items():
        # Cut to its old size, each file is what it was.
        data = path_of(name).read_bytes()
        assert data[:size] == before[str(path_of(name).relative_to(folder))]
        assert len(data) == live()[name] > size
    after = files_in(folder)
    new = after.keys() - before.keys()
    assert all(name.startswith("metadata/") for name in new)
    assert all(after[name] == data for name, data in before.items() if name.startswith("metadata/"))


def test_entries_exist_and_only_their_sizes_differ(table):
    old = entries(table)
    build()
    new = entries(load())
    assert new.keys() == old.keys()
    for path, entry in new.items():
        assert entry.status == ManifestEntryStatus.EXISTING
        before = old[path]
        assert entry.snapshot_id == before.snapshot_id
        assert entry.sequence_number == before.sequence_number
        assert entry.file_sequence_number == before.file_sequence_number
        values = list(entry.data_file._data)
        assert values[5] == path_of(path).stat().st_size
        values[5] = before.data_file.file_size_in_bytes
        assert values == before.data_file._data


def test_the_snapshot_says_what_it_is(table):
    before = table.current_snapshot().summary.additional_properties
    report = build()
    snapshot = load().current_snapshot()
    assert snapshot.parent_snapshot_id == table.current_snapshot().snapshot_id
    assert snapshot.summary.operation.value == "replace"
    after = dict(snapshot.summary.additional_properties)
    size = int(before["total-files-size"]) + report.bytes_added
    assert after.pop("total-files-size") == str(size) == str(sum(live().values()))
    assert after == {
        **{
            name: before[name]
            for name in before
            if name.startswith("total-") and "size" not in name
        },
        "manifests-created": "3",
        "manifests-kept": "0",
        "manifests-replaced": "3",
        "entries-processed": "6",
        "engine-name": "parquet-bloom",
        "parquet-bloom.operation": "ADD BLOOM FILTERS",
    }


def test_every_snapshot_has_its_rows(table):
    build(commit=False)
    assert rows_at(load()) == all_rows()
    build()
    build(columns=["n"])
    strip()
    found = snapshots()
    assert len(found) == 6
    for number, snapshot in enumerate(found):
        assert rows_at(load(), snapshot) == all_rows(min(900, 300 * (number + 1)))


def test_a_second_run_commits_and_a_third_does_nothing(table, folder):
    first = build(commit=False)
    assert first.committed is None
    assert NOT_COMMITTED in first.notes
    appended = files_in(folder)
    second = build()
    assert second.committed == snapshots()[-1]
    assert second.num_filters == 0
    assert {file.action for file in second.files} == {"appended before"}
    committed = files_in(folder)
    assert {name: data for name, data in committed.items() if name in appended} == appended
    third = build()
    assert third.committed is None
    assert {file.action for file in third.files} == {"unchanged"}
    assert files_in(folder) == committed


def test_dry_run_writes_nothing(table, folder):
    before = files_in(folder)
    report = build(dry_run=True)
    assert files_in(folder) == before
    assert (report.committed, report.num_filters) == (None, 12)
    assert [note.partition(" ")[0] for note in report.notes] == [
        "Sail",
        "PyIceberg,",
        "DuckDB,",
        "Trino",
    ]


def test_strip_commits_the_old_sizes_and_leaves_the_bytes(table, folder):
    sizes = live()
    build()
    build(columns=["n"])
    before = files_in(folder)
    report = strip()
    assert {file.action for file in report.files} == {"taken back"}
    assert report.committed == snapshots()[-1]
    assert live() == sizes
    after = files_in(folder)
    assert all(after[name] == data for name, data in before.items())
    assert int(load().current_snapshot().summary["total-files-size"]) == sum(sizes.values())
    again = strip()
    assert (again.committed, {file.action for file in again.files}) == (None, {"unchanged"})
    assert build().num_filters == 0


def test_expiry_deletes_no_live_file(table):
    build()
    build(columns=["n"])
    strip()
    build()
    load().append(rows_of(900, 10))
    load().delete("n = 5")
    build()
    now = load()
    for num_kept in range(1, len(snapshots())):
        for expired in (by_increments(now, num_kept), by_reach(now, num_kept)):
            assert not expired & live().keys()


def test_nothing_is_left_behind_by_a_commit_of_nothing(table, folder):
    names = open_table(NAME, catalog=CATALOG)
    load().delete()
    before = files_in(folder)
    from parquet_bloom.tables.table import GONE, NewSize

    sizes = {file.name: NewSize(file.size, file.size + 1) for file in names.files()}
    done = names.commit(sizes, "TEST")
    assert done.version is None
    assert set(done.left.values()) == {GONE}
    assert files_in(folder) == before


def test_where(table):
    report = build(where={"day": "2026-11-01"})
    assert len(report.files) == 3
    assert all("/day=2026-11-01/" in file.file for file in report.files)
    with pytest.raises(pb.RewriteError) as raised:
        build(where={"day": None})
    assert str(raised.value) == (
        f"{NAME}: day=__HIVE_DEFAULT_PARTITION__: no live file, expected 2026-11-01, 2026-11-02"
    )


def test_properties_name_the_columns(tmp_path, monkeypatch):
    use_catalog(tmp_path, monkeypatch)
    properties = {
        "write.parquet.bloom-filter-enabled.column.id": "true",
        "write.parquet.bloom-filter-fpp.column.id": "0.2",
        "write.parquet.bloom-filter-enabled.column.n": "true",
        "write.parquet.bloom-filter-enabled.column.day": "false",
    }
    table = make_table(commits=1)
    with table.transaction() as transaction:
        # PyIceberg's writer would only warn of them.
        transaction.set_properties(properties)
    report = build(columns=None)
    assert report.columns == ("id", "n")
    with pb.open(path_of(report.files[0].file)) as file:
        sizes = {name: file.bloom_filter(0, name).num_bytes for name in ("id", "n")}
    assert sizes == {"id": 64, "n": 128}
    with table.transaction() as transaction:
        transaction.remove_properties(*properties)
    with pytest.raises(pb.UnsupportedError) as raised:
        build(columns=None)
    assert str(raised.value) == (
        f"{NAME}: no column to build: its properties name none, as"
        " write.parquet.bloom-filter-enabled.column.NAME=true would: expected columns="
    )


def test_versions(table):
    build()
    first, _, third, _ = snapshots()
    assert len(open_table(NAME, catalog=CATALOG, version=first).files()) == 2
    made = load().snapshot_by_id(third).timestamp_ms / 1000
    found = open_table(NAME, catalog=CATALOG, as_of=datetime.fromtimestamp(made, UTC))
    assert (found.version, len(found.files())) == (third, 6)
    with pytest.raises(pb.RewriteError) as raised:
        open_table(NAME, catalog=CATALOG, version=4)
    newest_first = ", ".join(map(str, reversed(snapshots())))
    assert str(raised.value) == f"{NAME}: no snapshot 4, expected {newest_first}"
    with pytest.raises(pb.RewriteError, match=r"no version as of 2020-01-01T00:00:00\+00:00, exp"):
        open_table(NAME, catalog=CATALOG, as_of=datetime(2020, 1, 1))


def test_a_table_without_snapshots(tmp_path, monkeypatch):
    use_catalog(tmp_path, monkeypatch)
    make_table(commits=0)
    report = build()
    assert (report.version, report.committed, report.files) == (0, None, ())
    assert strip().files == ()


# ------------------------------------------------------------------------------------------------
# Without a catalog


def test_without_a_catalog_nothing_is_committed(table, folder):
    before = files_in(folder)
    assert pb.build_table(folder, columns="id", min_file_size=0, dry_run=True).num_filters == 12
    assert files_in(folder) == before
    for change in (pb.build_table, pb.strip_table):
        options = {"columns": "id"} if change is pb.build_table else {}
        with pytest.raises(pb.RewriteError) as raised:
            change(folder, kind="iceberg", **options)
        assert str(raised.value) == (
            f"{folder}: not changed: only its catalog knows which of its metadata counts: give the"
            " catalog, and in place of the folder the table's identifier in it, as in lake.events; or let build_table"
            " and repair_table append without a commit (commit=False), and a later run with the catalog commit"
        )
    told = "; or let build and repair append without a commit (--no-commit), and a later run with the catalog commit"
    assert outcome("strip", folder, "--table", "iceberg").complaint.endswith(told)
    assert files_in(folder) == before
    report = pb.build_table(folder, columns="id", min_file_size=0, commit=False)
    assert {file.action for file in report.files} == {"appended"}
    assert report.path == str(folder)
    assert report.notes[-1] == NOT_IN_CATALOG
    assert rows_at(load()) == all_rows()
    again = outcome("build", folder, "--table", "auto", "-c", "id", "--all-sizes", "--no-commit")
    assert again.stdout.splitlines()[-1] == (
        "note: the new sizes are not committed, which takes the table's catalog: the same again with its identifier"
        " there in place of the folder, as in lake.events, with --catalog NAME, and without --no-commit (in Python,"
        " catalog=NAME, commit=False) commits them"
    )
    report = build()
    assert {file.action for file in report.files} == {"appended before"}
    assert report.committed == snapshots()[-1]


# ------------------------------------------------------------------------------------------------
# The command


def test_command(table):
    catalog = ("--table", "iceberg", "--catalog", CATALOG)
    result = outcome("build", NAME, *catalog, "-c", "id", "--all-sizes")
    assert result.code == 0, result
    line, note = result.stdout.splitlines()
    assert line.startswith(f"{NAME}: 6 files: 6 appended; 12 filters, ")
    assert f"; version {snapshots()[3]} records it, " in line
    assert note.startswith("note: Trino fails on files of up to 3 MB")
    result = outcome("build", NAME, *catalog, "-c", "id", "--all-sizes", "--json")
    document = json.loads(result.stdout)
    assert (document["table"], document["committed"]) == ("iceberg", None)
    result = outcome("inspect", NAME, *catalog, "--summary")
    assert result.stdout.splitlines()[-1].startswith("6 files, 900 rows: 12 filters take ")
    result = outcome("inspect", NAME, *catalog, "--version", snapshots()[2], "--summary")
    assert result.stdout.splitlines()[-1].startswith("6 files, 900 rows: 0 filters take ")
    result = outcome(
        "probe", NAME, *catalog, "-c", "id", "-v", "nobody", "--where", "day=2026-11-01"
    )
    assert result.code == 1
    assert result.stdout.splitlines()[-1].startswith("3 files: 3 absent; ")
    result = outcome("strip", NAME, "--table", "auto", "--catalog", CATALOG)
    assert result.code == 0
    assert result.stdout.startswith(f"{NAME}: 6 files: 6 taken back; ")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (
            (NAME, "--catalog", CATALOG, "--in-place"),
            "--catalog: expected with --table only, such as --table auto",
        ),
        (
            ("lake.nothing", "--table", "auto", "--catalog", CATALOG),
            "lake.nothing: no such table in the catalog test",
        ),
        (
            ("events", "--table", "auto", "--catalog", CATALOG),
            (
                "events: expected the name of a table in a namespace of the catalog test, such as"
                " lake.events"
            ),
        ),
        (
            (NAME, "--table", "auto", "--catalog", "other"),
            (
                "catalog other: PyIceberg: no URI: expected in .pyiceberg.yaml, or in the environment as"
                " PYICEBERG_CATALOG__OTHER__URI"
            ),
        ),
        (
            (NAME, "--table", "delta", "--catalog", CATALOG),
            "catalog: expected with an Iceberg table only",
        ),
    ],
)
def test_command_says_what_is_wrong(table, arguments, problem):
    result = outcome("build", *arguments, "-c", "id")
    assert result.code == 2
    assert result.stderr.rstrip().endswith(problem)
