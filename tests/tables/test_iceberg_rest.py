"""Iceberg tables in a REST catalog: commits, rivals that it prefers, answers that are lost, and credentials
that it hands out for its store."""

from functools import partial

import pytest
from make.commands import outcome
from make.delta_tables import rows_of
from make.iceberg_rest import Failure, Fault, rest_catalog
from make.iceberg_tables import (
    CATALOG,
    NAME,
    QUICKLY,
    build,
    entries,
    live,
    load,
    make_table,
    path_of,
    strip,
    use_catalog,
)
from oracle.iceberg_expiry import by_increments
from oracle.iceberg_readers import by_pyiceberg, rows_at

import parquet_bloom as pb


@pytest.fixture
def catalog(tmp_path, monkeypatch):
    with rest_catalog(tmp_path).running() as running:
        settings = {"type": "rest", "uri": running.uri}
        use_catalog(tmp_path, monkeypatch, settings=settings)
        yield running


def check_sizes():
    """What is recorded is there."""
    assert live() == {name: path_of(name).stat().st_size for name in live()}


def test_build_strip_and_build(catalog):
    table = make_table(properties=QUICKLY)
    expected, before = rows_at(table), entries(table)
    report = build()
    assert report.committed == load().current_snapshot().snapshot_id
    assert {file.action for file in report.files} == {"appended"}
    check_sizes()
    assert build().committed is None
    assert strip().committed is not None
    assert live() == {name: entry.data_file.file_size_in_bytes for name, entry in before.items()}
    assert {file.action for file in build().files} == {"appended before"}
    for snapshot in load().snapshots()[2:]:
        assert rows_at(load(), snapshot.snapshot_id) == expected
    assert by_increments(load(), 1) == set()


def rival_append(catalog):
    """By another process, which has read the table itself."""
    return lambda: catalog.catalog.load_table(NAME).append(rows_of(900, 50))


def test_a_rival_that_commits_first(catalog):
    make_table(properties=QUICKLY)
    catalog.faults.append(Fault(200, is_made=True, before=rival_append(catalog)))
    report = build()
    assert catalog.conflicts == 1
    assert report.committed == load().current_snapshot().snapshot_id
    assert len(by_pyiceberg(load())) == 950
    check_sizes()
    grown = {file.file for file in report.files}
    assert len(grown) == 6
    assert all(live()[file.file] == file.size for file in report.files)


def test_rivals_that_always_commit_first(catalog):
    make_table(commits=1, properties=QUICKLY | {"commit.retry.num-retries": "0"})
    before = live()
    catalog.faults += [Fault(200, True, before=rival_append(catalog)) for _ in range(4)]
    with pytest.raises(pb.RewriteError) as raised:
        build()
    assert str(raised.value) == (
        f"{NAME}: other writers kept committing first: nothing was committed; the files are"
        " already appended to, so run it again"
    )
    assert before.items() <= live().items()
    report = build()
    assert report.committed is not None
    assert {file.action for file in report.files} == {"appended", "appended before"}
    check_sizes()


@pytest.mark.every(4)
@pytest.mark.parametrize("status", [400, 408, 425, 429, 500, 502, 503, 504, 520, None])
@pytest.mark.parametrize("is_made", [True, False])
def test_an_answer_that_is_lost(catalog, status, is_made):
    """PyIceberg must not take back what may have been committed, and the next run finds out."""
    table = make_table(commits=1, properties=QUICKLY)
    expected = rows_at(table)
    catalog.faults.append(Fault(status, is_made))
    result = outcome(
        "build", NAME, "--table", "iceberg", "--catalog", CATALOG, "-c", "id", "--all-sizes"
    )
    assert result.code == 2
    problem = f"{NAME}: it is unknown whether the catalog accepted the commit: "
    assert result.complaint.startswith(problem)
    assert result.complaint.endswith(": run it again to find out")
    assert rows_at(load()) == expected
    report = build()
    assert (report.committed is None) == is_made
    assert rows_at(load()) == expected
    check_sizes()


def test_an_answer_that_nobody_understands(catalog, monkeypatch):
    table = make_table(commits=1, properties=QUICKLY)
    expected, commit = rows_at(table), catalog.commit
    monkeypatch.setattr(catalog, "commit", lambda *asked: {"welcome": bool(commit(*asked))})
    with pytest.raises(
        pb.RewriteError, match=rf"^{NAME}: it is unknown whether the catalog accepted"
    ):
        build()
    monkeypatch.setattr(catalog, "commit", commit)
    assert build().committed is None
    assert rows_at(load()) == expected


@pytest.mark.parametrize("status", [401, 403])
def test_a_commit_that_is_forbidden(catalog, status):
    """Nobody need wonder whether it was made."""
    make_table(commits=1, properties=QUICKLY)
    catalog.faults += [Fault(status)] * 2
    with pytest.raises(pb.RewriteError) as raised:
        build()
    assert str(raised.value) == f"{NAME}: PyIceberg: Fault: as it was told"
    catalog.faults.clear()
    assert build().committed is not None


@pytest.mark.parametrize("num_retries", ["0", "1", "4"])
def test_a_conflict_with_itself(catalog, num_retries):
    """A gateway sends a commit again that was made, and hands on the answer to that."""
    table = make_table(commits=1, properties=QUICKLY | {"commit.retry.num-retries": num_retries})
    expected = rows_at(table)
    catalog.faults.append(Fault(409, is_made=True))
    report = build()
    snapshot = load().current_snapshot()
    assert report.committed == snapshot.snapshot_id
    assert len(load().snapshots()) == 2
    assert {file.action for file in report.files} == {"appended"}
    assert rows_at(load()) == expected
    assert by_pyiceberg(load()) == expected
    check_sizes()
    check_nothing_left_behind()


def check_nothing_left_behind():
    """Every manifest and list of manifests is one of a snapshot."""
    table = load()
    used = {each.manifest_list for each in table.snapshots()}
    for snapshot in table.snapshots():
        used |= {each.manifest_path for each in snapshot.manifests(table.io)}
    folder = path_of(table.location()) / "metadata"
    assert {path.name for path in folder.glob("*.avro")} == {path_of(name).name for name in used}


def test_a_conflict_that_was_none_after_all(catalog, monkeypatch):
    """The commit lands after PyIceberg has looked, and begun another."""
    table = make_table(commits=1, properties=QUICKLY)
    expected, commit, asked = rows_at(table), catalog.commit, []

    def late(*request):
        asked.append(request)
        if len(asked) == 1:
            raise Failure(409)
        commit(*asked[0])
        return commit(*request)

    monkeypatch.setattr(catalog, "commit", late)
    report = build()
    assert len(asked) == 2
    assert report.committed == load().current_snapshot().snapshot_id
    assert rows_at(load()) == expected
    check_sizes()
    check_nothing_left_behind()


def test_a_conflict_of_which_nobody_knows_what_became(catalog, monkeypatch):
    """Neither can the table be read afterwards, nor is anything deleted."""
    table = make_table(commits=1, properties=QUICKLY | {"commit.retry.num-retries": "0"})
    expected, answer, is_out = rows_at(table), catalog.answer, []

    def out(method, path, body):
        if is_out and method == "GET":
            raise Failure(503)
        return answer(method, path, body)

    monkeypatch.setattr(catalog, "answer", out)
    fault = Fault(409, is_made=True, before=lambda: is_out.append(True))
    catalog.faults.append(fault)
    with pytest.raises(pb.RewriteError) as raised:
        build()
    assert str(raised.value) == (
        f"{NAME}: it is unknown whether the catalog accepted the commit: Fault: as it was told: run"
        " it again to"
        " find out"
    )
    is_out.clear()
    assert rows_at(load()) == expected
    assert build().committed is None
    check_nothing_left_behind()


def test_what_a_lost_race_has_written_is_taken_back(catalog):
    make_table(commits=1, properties=QUICKLY)
    catalog.faults += [Fault(200, True, before=rival_append(catalog)) for _ in range(2)]
    assert build().committed is not None
    assert catalog.conflicts == 2
    check_nothing_left_behind()


def test_a_table_that_is_gone(catalog):
    make_table(commits=1)
    drop = partial(catalog.catalog.drop_table, NAME)
    catalog.faults.append(Fault(200, is_made=True, before=drop))
    with pytest.raises(pb.RewriteError):
        build()
    with pytest.raises(pb.RewriteError) as raised:
        build()
    assert str(raised.value) == f"{NAME}: no such table in the catalog {CATALOG}"


def test_no_entrance(catalog):
    make_table(commits=1)
    catalog.token = "secret"
    result = outcome("probe", NAME, "--table", "auto", "--catalog", CATALOG, "-c", "id", "-v", "x")
    assert result.code == 2
    assert result.complaint == f"{NAME}: catalog {CATALOG}: PyIceberg: Fault: as it was told"
