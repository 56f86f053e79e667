"""Files of a table that were added since a version, a snapshot, or a time."""

import os
from datetime import UTC, datetime

import pytest
from deltalake import DeltaTable
from make import iceberg_tables as iceberg
from make.commands import outcome
from make.delta_tables import (
    build,
    delete_rows,
    inline_vector,
    live,
    make_table,
    newest,
    rows_of,
    with_features,
    write_commit,
)
from pyiceberg.partitioning import PartitionSpec

import parquet_bloom as pb
from parquet_bloom.tables.open import open_table
from parquet_bloom.tables.partitions import files_where

IN_CATALOG = ("--table", "iceberg", "--catalog", iceberg.CATALOG)
ALL_SIZES = {"columns": ["id"], "min_file_size": 0}


def added(table, since, **options):
    return {file.name for file in files_where(open_table(table, **options), {}, since)}


def refused(table, since, **options):
    with pytest.raises(pb.RewriteError) as raised:
        added(table, since, **options)
    return str(raised.value).partition(": ")[2]


@pytest.fixture
def delta(tmp_path):
    """Versions 0, 1 and 2 of one file each, made at second 1000, 1001 and 1002."""
    table = make_table(tmp_path / "table")
    for version in range(3):
        os.utime(table / "_delta_log" / f"{version:020}.json", (1000 + version, 1000 + version))
    return table


def file_of(table, version):
    """The only file of a commit."""
    (name,) = {*DeltaTable(table, version).file_uris()} - (
        {*DeltaTable(table, version - 1).file_uris()} if version else set()
    )
    return os.path.basename(name)


def test_delta_files_since_a_version(delta):
    names = [file_of(delta, version) for version in range(3)]
    assert added(delta, 0) == set(names[1:])
    assert added(delta, 1) == {names[2]}
    assert added(delta, 2) == set()
    assert added(delta, 0, version=1) == {names[1]}


def test_delta_files_since_a_time(delta):
    names = [file_of(delta, version) for version in range(3)]
    for seconds, expected in ((999, names), (1000, names[1:]), (1001.5, names[2:]), (1e9, [])):
        assert added(delta, datetime.fromtimestamp(seconds, UTC)) == set(expected)


def test_what_was_recorded_anew_was_not_added(delta):
    assert build(delta, **ALL_SIZES).committed == 3
    assert added(delta, 2) == set()
    assert added(delta, 1) == {file_of(delta, 2)}


def test_another_deletion_vector_is_no_new_file(tmp_path):
    table = make_table(tmp_path / "table", commits=1)
    with_features(table, reader=["deletionVectors"])
    (name,) = live(table)
    version = newest(table)
    delete_rows(table, name, inline_vector([1, 2]))
    assert added(table, version) == set()


def test_a_file_that_is_gone_again_is_left_out(delta):
    name = file_of(delta, 2)
    write_commit(delta, {"remove": {"path": name, "dataChange": True, "deletionTimestamp": 1}})
    assert added(delta, 0) == {file_of(delta, 1)}


def test_delta_history_that_is_gone(delta):
    DeltaTable(delta).create_checkpoint()
    for version in (0, 1):
        (delta / "_delta_log" / f"{version:020}.json").unlink()
    assert len(added(delta, 1)) == 1
    assert refused(delta, 0) == (
        "_delta_log: commit 1 is gone, so nobody knows what was added since version 0: expected 1 or"
        " later, or none for all files"
    )
    assert refused(delta, 3) == "no version 3, expected 0 to 2"
    early = datetime.fromtimestamp(500, UTC)
    assert refused(delta, early).startswith("no version as of 1970-01-01T00:08:20+00:00, expected ")


def test_a_build_of_what_is_new(delta):
    report = pb.build_table(delta, since=1, **ALL_SIZES)
    assert [file.file for file in report.files] == [file_of(delta, 2)]
    assert report.num_filters > 0
    assert pb.build_table(delta, since=3, **ALL_SIZES).files == ()
    for since, error in ((2.5, TypeError), (-1, ValueError), (True, TypeError)):
        with pytest.raises(error, match="since: "):
            pb.build_table(delta, since=since, **ALL_SIZES)


def test_the_command(delta):
    options = ("--table", "delta", "--json")
    assert len(outcome("inspect", delta, *options, "--since", "0").stdout.splitlines()) == 2
    assert (
        len(outcome("inspect", delta, *options, "--since", "1971-01-01").stdout.splitlines()) == 0
    )
    run = outcome("inspect", delta, *options, "--since", "2")
    assert (run.code, run.complaint) == (0, "nothing to do: no files added since version 2")
    assert outcome("inspect", delta, *options, "--since", "9").code == 2
    run = outcome("build", delta, "--table", "delta", "-c", "id", "--all-sizes", "--since", "1")
    assert run.code == 0, run.output
    assert pb.build_table(delta, since=0, **ALL_SIZES).num_filters > 0
    run = outcome("inspect", delta, "--since", "7")
    assert run.code == 2
    said = "pbloom: --since: 7: expected a time or an age, or with --table a version"
    assert run.stderr.splitlines()[-1] == said
    run = outcome("inspect", delta, *options, "--since", "audit")
    assert run.code == 2
    assert run.complaint == (
        f"{delta}: since 'audit': expected the number of a version, or a time, on the command line also an age, such as"
        " 2d: in Delta Lake, versions have no names"
    )
    run = outcome("inspect", delta, "--since", "audit")
    assert run.code == 2
    assert run.stderr.splitlines()[-1] == (
        "pbloom: --since: 'audit': expected a time such as 2026-11-20, or an age: a number and s, m, h, d or w, such as"
        " 2d; with --table also a version, snapshot, branch or tag"
    )


# ------------------------------------------------------------------------------------------------
# Iceberg


@pytest.fixture
def lake(tmp_path, monkeypatch):
    """Three snapshots, which append a file each; their ids."""
    iceberg.use_catalog(tmp_path, monkeypatch)
    table = iceberg.make_table(commits=3, spec=PartitionSpec())
    return [each.snapshot_id for each in table.metadata.snapshots]


def in_lake(since, **options):
    return added(iceberg.NAME, since, catalog=iceberg.CATALOG, **options)


def test_iceberg_files_since_a_snapshot(lake):
    first, second, third = lake
    every = in_lake(0)
    assert len(every) == 3
    assert len(in_lake(first)) == 2
    assert len(in_lake(second)) == 1
    assert in_lake(second) < in_lake(first) < every
    assert in_lake(third) == set()
    assert in_lake(first, version=second) == in_lake(first) - in_lake(second)


NO_NAME = "pbloom: --since: '': expected a time such as 2026-11-20, or an age: a number and s, m, h, d or w, such as 2d"


def test_iceberg_files_since_a_tag_or_branch(lake):
    iceberg.load().manage_snapshots().create_tag(lake[0], "audit").commit()
    assert in_lake("audit") == in_lake(lake[0])
    assert in_lake("main") == set()
    assert refused(iceberg.NAME, "audti", catalog=iceberg.CATALOG) == (
        "no branch or tag audti, expected main, audit, the number of a snapshot, or a time, on the command line also an"
        " age, such as 2d"
    )
    told = outcome("inspect", iceberg.NAME, *IN_CATALOG, "--json", "--since", "audit")
    assert len(told.stdout.splitlines()) == 2
    # What stands behind a name or an age is no more of it.
    for since in ("audit", "2d", lake[0]):
        told = outcome("inspect", "--since", since, iceberg.NAME, *IN_CATALOG, "--json")
        assert (told.code, len(told.stdout.splitlines())) == (0, 3 if since == "2d" else 2)
    empty = outcome("inspect", iceberg.NAME, *IN_CATALOG, "--since", "")
    assert (empty.code, empty.stderr.splitlines()[-1]) == (2, NO_NAME)
    none = outcome("inspect", iceberg.NAME, *IN_CATALOG, "--since", "main")
    assert (none.code, none.complaint) == (0, "nothing to do: no files added since main")
    options = {"min_file_size": 0, "catalog": iceberg.CATALOG}
    report = pb.build_table(iceberg.NAME, columns="id", since="audit", **options)
    assert len(report.files) == 2
    iceberg.load().maintenance.expire_snapshots().by_ids([lake[1]]).commit()
    assert refused(iceberg.NAME, "audit", catalog=iceberg.CATALOG) == (
        f"the snapshot before {lake[2]} has expired, so nobody knows what was added since audit (snapshot {lake[0]}):"
        f" expected {lake[2]} or later, or none for all files"
    )


def test_iceberg_files_since_a_time(lake):
    snapshots = iceberg.load().metadata.snapshots
    for number, snapshot in enumerate(snapshots):
        moment = datetime.fromtimestamp(snapshot.timestamp_ms / 1000 + 0.0001, UTC)
        assert len(in_lake(moment)) == 2 - number
    assert len(in_lake(datetime.fromtimestamp(0, UTC))) == 3


def test_an_iceberg_commit_from_here_adds_nothing(lake):
    report = iceberg.build(columns=["id"])
    assert report.committed not in (None, lake[-1])
    assert in_lake(lake[-1]) == set()
    assert len(in_lake(lake[0])) == 2
    iceberg.load().append(rows_of(900, 300))
    assert len(in_lake(report.committed)) == 1


def test_snapshots_that_have_expired(lake):
    *expired, last = lake
    iceberg.load().maintenance.expire_snapshots().by_ids(expired).commit()
    assert in_lake(last) == set()
    before = datetime.fromtimestamp(0, UTC)
    for since, named in ((lake[0], f"snapshot {lake[0]}"), (before, before.isoformat())):
        assert refused(iceberg.NAME, since, catalog=iceberg.CATALOG) == (
            f"the snapshot before {last} has expired, so nobody knows what was added since {named}: expected"
            f" {last} or later, or none for all files"
        )


def test_a_snapshot_that_never_was(lake):
    assert refused(iceberg.NAME, 7, catalog=iceberg.CATALOG) == (
        f"no snapshot 7 before snapshot {lake[-1]}"
    )
