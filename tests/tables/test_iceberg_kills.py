"""A commit to an Iceberg table that is killed at any step: the table is right, and the next run commits, if
that is left to do. What appends to files is the same for tables of every kind: see test_delta_kills."""

import shutil

import pytest
from conftest import IS_LONG
from make.dying import builds
from make.iceberg_tables import build, live, load, make_table, path_of, use_catalog
from oracle.iceberg_readers import by_pyiceberg

MOST_STEPS = 100
# Odd: a process dies before some calls and after others.
STRIDE = 1 if IS_LONG else 11


@pytest.fixture
def folder(tmp_path, monkeypatch):
    folder = tmp_path / "here"
    folder.mkdir()
    use_catalog(folder, monkeypatch)
    make_table(commits=1, rows=20)
    return folder


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("way", "options", "commits"),
    [("iceberg", {}, 1), ("iceberg-batches", {"files_per_commit": 1}, 2)],
)
def test_killed_at_every_step(folder, tmp_path, way, options, commits):
    build(commit=False)
    expected, snapshots = by_pyiceberg(load()), len(load().snapshots())
    shutil.copytree(folder, tmp_path / "original")
    states = set()
    with builds(folder, way=way) as dies_at:
        for step in range(0, MOST_STEPS, STRIDE):
            is_done = dies_at(step)
            killed = load()
            states.add(len(killed.snapshots()))
            assert by_pyiceberg(killed) == expected
            again = build(**options)
            assert {file.action for file in again.files} <= {"appended before", "unchanged"}
            resumed = load()
            assert len(resumed.snapshots()) == snapshots + commits
            assert by_pyiceberg(resumed) == expected
            sizes = live(resumed)
            assert all(path_of(path).stat().st_size == size for path, size in sizes.items())
            if is_done:
                break
            shutil.rmtree(folder)
            shutil.copytree(tmp_path / "original", folder)
    assert step >= 10
    assert states == {*range(snapshots, snapshots + commits + 1)}
