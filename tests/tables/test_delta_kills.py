"""A run in a Delta table that is killed at any step: the table is right, the next run does what is left,
and the one after it nothing."""

import shutil

import pytest
from conftest import IS_LONG
from make.delta_tables import build, live, make_table, newest
from make.dying import builds
from oracle.delta_readers import by_dataset, by_query_builder

MOST_STEPS = 500
# Odd: a process dies before some calls and after others.
STRIDE = 1 if IS_LONG else 11


@pytest.mark.parametrize(
    ("way", "options", "last"), [("table", {}, 2), ("batches", {"files_per_commit": 1}, 3)]
)
def test_killed_at_every_step(tmp_path, way, options, last):
    table, original = tmp_path / "events", tmp_path / "original"
    make_table(original, commits=2, rows=100)
    expected = by_query_builder(original)
    shutil.copytree(original, table)
    versions = set()
    with builds(table, way=way) as dies_at:
        for step in range(0, MOST_STEPS, STRIDE):
            is_done = dies_at(step)
            versions.add(newest(table))
            assert by_query_builder(table) == by_dataset(table) == expected
            again = build(table, **options)
            assert {file.action for file in again.files} <= {
                "appended",
                "appended before",
                "unchanged",
            }
            assert newest(table) == last
            assert build(table).committed is None
            assert by_query_builder(table) == by_dataset(table) == expected
            assert all((table / path).stat().st_size == size for path, size in live(table).items())
            if is_done:
                break
            shutil.rmtree(table)
            shutil.copytree(original, table)
    assert step > 40
    assert versions == {*range(1, last + 1)}
