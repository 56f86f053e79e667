"""What the branch `main` of an Iceberg table keeps through a commit: its retention, whoever set it, and
whenever. Other branches and tags stay as they are."""

import json
from functools import partial
from unittest.mock import patch

import pytest
from make.iceberg_rest import Fault, rest_catalog
from make.iceberg_tables import (
    NAME,
    QUICKLY,
    build,
    load,
    make_table,
    path_of,
    strip,
    use_catalog,
)
from oracle.iceberg_readers import by_pyiceberg
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table
from pyiceberg.table.update import SetSnapshotRefUpdate

import parquet_bloom as pb

# min-snapshots-to-keep, max-snapshot-age-ms, max-ref-age-ms: Spark's RETAIN 400 DAYS WITH SNAPSHOT RETENTION
# 77 SNAPSHOTS 10 DAYS.
KEPT = (77, 10 * 86_400_000, 400 * 86_400_000)
OTHER = (5, None, None)


@pytest.fixture(params=["sql", "rest"])
def catalog(request, tmp_path, monkeypatch):
    """A catalog, and a table in it; gives the catalog that writes the metadata."""
    if request.param == "sql":
        use_catalog(tmp_path, monkeypatch)
        make_table(properties=QUICKLY)
        yield load().catalog
        return
    with rest_catalog(tmp_path).running() as running:
        use_catalog(tmp_path, monkeypatch, settings={"type": "rest", "uri": running.uri})
        make_table(properties=QUICKLY)
        yield running.catalog


@pytest.fixture
def rest(tmp_path, monkeypatch):
    with rest_catalog(tmp_path).running() as running:
        use_catalog(tmp_path, monkeypatch, settings={"type": "rest", "uri": running.uri})
        make_table(properties=QUICKLY)
        yield running


def set_retention(catalog: Catalog, wanted: tuple[int | None, ...], at: int = -1) -> None:
    """Of main, which is at one of the snapshots then, as Java's ManageSnapshots does."""
    table = catalog.load_table(NAME)
    fewest, oldest, age = wanted
    update = SetSnapshotRefUpdate(
        ref_name="main",
        type="branch",
        snapshot_id=table.snapshots()[at].snapshot_id,
        min_snapshots_to_keep=fewest,
        max_snapshot_age_ms=oldest,
        max_ref_age_ms=age,
    )
    catalog.commit_table(table, (), (update,))


def retention() -> tuple[int | None, ...]:
    main = load().metadata.refs["main"]
    return main.min_snapshots_to_keep, main.max_snapshot_age_ms, main.max_ref_age_ms


def test_it_stays(catalog):
    set_retention(catalog, KEPT)
    first = load().snapshots()[0].snapshot_id
    with load().manage_snapshots() as change:
        change.create_tag(first, "v1", max_ref_age_ms=9).create_branch(
            first, "audit", min_snapshots_to_keep=7
        )
    others = {name: ref for name, ref in load().metadata.refs.items() if name != "main"}
    assert len(others) == 2
    for change in (build, partial(build, columns=["n"]), strip, build):
        assert change().committed == load().metadata.refs["main"].snapshot_id
        assert retention() == KEPT
    assert {name: ref for name, ref in load().metadata.refs.items() if name != "main"} == others


@pytest.mark.every(3)
@pytest.mark.parametrize("wanted", [(1, None, None), (None, 1, None), (None, None, 1), (None,) * 3])
def test_any_part_of_it_stays(catalog, wanted):
    set_retention(catalog, wanted)
    build()
    assert retention() == wanted


def test_it_stays_where_others_commit_first(catalog):
    """A commit that is tried again starts from the retention of then."""
    set_retention(catalog, OTHER)
    commit, done = Table._do_commit, []

    def commit_later(table, *arguments, **named):
        if not done:
            done.append(True)
            catalog.load_table(NAME).delete("n = 5")
            set_retention(catalog, KEPT)
        commit(table, *arguments, **named)

    with patch.object(Table, "_do_commit", commit_later):
        report = build()
    assert report.committed == load().current_snapshot().snapshot_id
    assert len(by_pyiceberg(load())) == 899
    assert retention() == KEPT


def test_it_stays_where_others_change_nothing_else_meanwhile(catalog):
    """The snapshot that a catalog is asked for is still the newest."""
    set_retention(catalog, OTHER)
    commit, done = Table._do_commit, []

    def commit_later(table, *arguments, **named):
        if not done:
            done.append(True)
            set_retention(catalog, KEPT)
        commit(table, *arguments, **named)

    with patch.object(Table, "_do_commit", commit_later):
        report = build()
    assert report.committed == load().current_snapshot().snapshot_id
    assert retention() == KEPT


def test_it_is_put_back_at_the_last_moment(rest):
    """Nobody but the server of a REST catalog could hold the commit."""
    set_retention(rest.catalog, OTHER)
    rest.faults.append(Fault(200, True, before=partial(set_retention, rest.catalog, KEPT)))
    # Others roll back while it is put back.
    rest.faults.append(Fault(200, True, before=partial(set_retention, rest.catalog, OTHER, 0)))
    report = build()
    assert retention() == KEPT
    assert report.committed == load().snapshots()[3].snapshot_id
    assert load().current_snapshot() == load().snapshots()[0]


def test_what_others_say_afterwards_counts(rest):
    set_retention(rest.catalog, OTHER)
    rest.faults.append(Fault(200, True, before=partial(set_retention, rest.catalog, (9, 9, 9))))
    rest.faults.append(Fault(200, True, before=partial(set_retention, rest.catalog, KEPT, 0)))
    build()
    assert rest.conflicts == 1
    assert retention() == KEPT


def test_it_is_said_if_it_cannot_be_put_back(rest):
    set_retention(rest.catalog, OTHER)
    rest.faults.append(Fault(200, True, before=partial(set_retention, rest.catalog, KEPT)))
    rest.faults += [Fault(409) for _ in range(4)]
    with pytest.raises(pb.RewriteError) as raised:
        build()
    assert str(raised.value) == (
        f"{NAME}: committed, but a concurrent change to the retention of main was undone: set it"
        " again"
    )
    assert retention() == OTHER
    assert build().committed is None


def test_the_replaced_metadata_need_not_be_there(rest):
    """Then nobody can know."""
    set_retention(rest.catalog, KEPT)
    answer = rest.answer

    def without_old_metadata(method, path, body):
        old = path_of(rest.catalog.load_table(NAME).metadata_location)
        found = answer(method, path, body)
        if method == "POST":
            old.unlink()
        return found

    rest.answer = without_old_metadata
    assert build().committed is not None
    assert retention() == KEPT


def test_requirements_are_sent_as_any_catalog_takes_them(rest):
    """Which refuse what they do not know."""
    sent = []
    answer = rest.answer

    def look(method, path, body):
        if method == "POST":
            sent.append(body)
        return answer(method, path, body)

    rest.answer = look
    set_retention(rest.catalog, KEPT)
    before = load().current_snapshot().snapshot_id
    build()
    (body,) = sent
    document = json.loads(body)
    assert {each["type"]: each for each in document["requirements"]} == {
        "assert-ref-snapshot-id": {
            "type": "assert-ref-snapshot-id",
            "ref": "main",
            "snapshot-id": before,
        },
        "assert-table-uuid": {
            "type": "assert-table-uuid",
            "uuid": str(load().metadata.table_uuid),
        },
    }
    assert [each["action"] for each in document["updates"]] == ["add-snapshot", "set-snapshot-ref"]
