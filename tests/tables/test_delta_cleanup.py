"""What Delta Lake cleans up after our commits: no file that is live, and no version that counts."""

import time
from urllib.parse import quote

import pytest
from deltalake import DeltaTable as Judge
from make.delta_features import FEATURES, inline_vectors, make_partitioned, stored_vectors
from make.delta_tables import (
    build,
    current_adds,
    delete_rows,
    inline_vector,
    make_table,
    newest,
    write_commit,
)
from oracle.delta_cleanup import LOG, log_expired, state_of, vacuumed, vacuumed_lite
from oracle.delta_readers import by_query_builder

import parquet_bloom as pb

# All that is there is older.
LATER = time.time() + 100_000
LONG_AGO = 1.0

STEPS = (
    lambda table: build(table, commit=False),
    build,
    lambda table: build(table, columns=["n"]),
    pb.strip_table,
)


def make_with(feature):
    def make(folder):
        table = make_table(folder, partition_by=["day"])
        feature(table)
        return table

    make.__name__ = feature.__name__
    return make


def partitions_of_text(folder):
    return make_partitioned(folder, "text")


TABLES = [*map(make_with, FEATURES), partitions_of_text]


def clean_up(table, before=LATER):
    """Delete what Delta Lake deletes; the names below the table."""
    assert vacuumed_lite(table, before) <= vacuumed(table, before)
    names = vacuumed(table, before) | {f"{LOG}/{name}" for name in log_expired(table, before)}
    for name in names:
        (table / name).unlink()
    return names


@pytest.mark.every(2)
@pytest.mark.parametrize("make", TABLES, ids=lambda make: make.__name__)
def test_nothing_is_cleaned_up_after_ours(tmp_path, make):
    table = make(tmp_path / "events")
    rows = by_query_builder(table)
    for step in STEPS:
        step(table)
        assert clean_up(table) == set()
    assert by_query_builder(table) == rows
    Judge(table).create_checkpoint()
    before = newest(table)
    assert clean_up(table) == {f"{LOG}/{version:020}.json" for version in range(before)}
    assert by_query_builder(table) == rows
    # In-commit timestamps go on from the last one, which is still there.
    assert build(table).committed == before + 1
    assert by_query_builder(table) == rows
    assert clean_up(table) == set()


@pytest.mark.parametrize("rival_is_first", [True, False])
@pytest.mark.parametrize("rival", ["delete", "optimize", "update", "vector"])
def test_what_others_have_removed_is_cleaned_up(tmp_path, rival, rival_is_first):
    """And nothing else."""
    table = make_table(tmp_path / "events")
    if rival == "vector":
        stored_vectors(table)
    old = set(current_adds(table))
    vectors = {path.name for path in table.glob("*.bin")}

    def change():
        if rival == "delete":
            Judge(table).delete("n < 300")
        elif rival == "optimize":
            Judge(table).optimize.compact()
        elif rival == "update":
            Judge(table).update(predicate="n = 5", updates={"id": "'changed'"})
        else:
            delete_rows(table, min(old), inline_vector(range(20)))

    steps = [change, lambda: build(table)]
    for step in steps if rival_is_first else reversed(steps):
        step()
    rows, live = by_query_builder(table), current_adds(table).keys()
    gone = old - live
    if rival == "vector":
        assert len(vectors - {path.name for path in table.glob("*.bin")}) == 0
        (vector,) = clean_up(table)
        assert vector in vectors
    else:
        assert gone
        assert vacuumed_lite(table, LATER) == vacuumed(table, LATER) == gone
        assert clean_up(table, LONG_AGO) == set()
        assert clean_up(table) == gone
    assert by_query_builder(table) == rows


def test_temporary_files_of_a_killed_run_are_hidden(tmp_path):
    table = make_table(tmp_path / "events", commits=1)
    (path,) = current_adds(table)
    (table / f".{path}.x.pbloom-tmp").write_bytes(b"half")
    (table / f"{path}.copy").write_bytes(b"nobody's")
    assert clean_up(table) == {f"{path}.copy"}


def test_the_judge_sees_a_path_that_was_encoded_again(tmp_path):
    """As deltalake's own AddAction does it: the file that is there belongs to nobody."""
    table = make_partitioned(tmp_path / "events", "text")
    path, add = next(item for item in current_adds(table).items() if "%" in item[0])
    write_commit(
        table,
        {"remove": {"path": path, "deletionTimestamp": 1}},
        {"add": {**add, "path": quote(path)}},
    )
    assert len(vacuumed(table, LATER)) == 1


def test_the_judge_replays_checkpoints(tmp_path):
    table = make_table(tmp_path / "events")
    inline_vectors(table)
    known = state_of(table).adds.keys()
    Judge(table).create_checkpoint()
    for commit in (table / LOG).glob("*.json"):
        commit.unlink()
    assert {path for path, _ in state_of(table).adds} == {path for path, _ in known}
