"""Others write to a Delta table between any two of our steps: no row and no file is lost, nothing comes
back, and what is recorded is there.

PBLOOM_RACES: how many random interleavings; `make races` has 200.
"""

import os
import random
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable as Judge
from deltalake import write_deltalake
from deltalake.exceptions import DeltaError
from make.delta_tables import (
    build,
    current_adds,
    delete_rows,
    inline_vector,
    live,
    make_table,
    newest,
    rows_of,
    with_features,
)
from oracle.delta_readers import by_query_builder, rows_at

import parquet_bloom as pb
from parquet_bloom.files import open_file
from parquet_bloom.options import BuildOptions, TableOptions
from parquet_bloom.storage import local_output, rename
from parquet_bloom.storage.folder import LocalFolder
from parquet_bloom.tables.delta.table import DeltaTable as OurTable
from parquet_bloom.tables.open import open_table
from parquet_bloom.verbs.build_table import build_in_table
from parquet_bloom.verbs.strip_table import strip_in_table

NUM_RACES = int(os.environ.get("PBLOOM_RACES", "10"))


class Rival:
    """Another writer, and what rows there must be after it: `rows` by `n`."""

    def __init__(self, table: Path, seed: int) -> None:
        self.table, self.random = table, random.Random(seed)
        self.rows = {n: name for name, n in by_query_builder(table)}
        self.next = len(self.rows)
        self.done: list[str] = []

    def move(self, name: str) -> None:
        self.done.append(name)
        getattr(self, name)()

    def append(self) -> None:
        rows = rows_of(self.next, 50)
        write_deltalake(self.table, rows, mode="append")
        self.rows |= dict(zip(rows["n"].to_pylist(), rows["id"].to_pylist(), strict=True))
        self.next += 50

    def delete(self) -> None:
        left = self.random.randrange(7)
        Judge(self.table).delete(f"n % 7 = {left}")
        self.rows = {n: name for n, name in self.rows.items() if n % 7 != left}

    def delete_all(self) -> None:
        Judge(self.table).delete()
        self.rows = {}

    def update(self) -> None:
        left = self.random.randrange(5)
        Judge(self.table).update(predicate=f"n % 5 = {left}", updates={"id": "'changed'"})
        self.rows = {n: "changed" if n % 5 == left else name for n, name in self.rows.items()}

    def merge(self) -> None:
        numbers = self.random.sample(range(self.next), 20)
        source = pa.table(
            {"id": ["merged"] * 20, "n": pa.array(numbers, pa.int64()), "day": ["2026-11-01"] * 20}
        )
        merge = Judge(self.table).merge(source, "s.n = t.n", source_alias="s", target_alias="t")
        merge.when_matched_update_all().when_not_matched_insert_all().execute()
        self.rows |= dict.fromkeys(numbers, "merged")

    def optimize(self) -> None:
        Judge(self.table).optimize.compact()

    def checkpoint(self) -> None:
        Judge(self.table).create_checkpoint()

    def vacuum(self) -> None:
        Judge(self.table).vacuum(0, dry_run=False, enforce_retention_duration=False)

    def build(self) -> None:
        build(self.table, columns=["n"])

    def strip(self) -> None:
        pb.strip_table(self.table)

    def check(self) -> None:
        """What the table has, and that each live file is as long as it says."""
        assert rows_at(self.table) == sorted((name, n) for n, name in self.rows.items()), self.done
        for path, size in live(self.table).items():
            with open_file(self.table / path) as file:
                assert size in (file.source.size, *file.earlier_ends), self.done
        again = build(self.table)
        assert {file.action for file in again.files} <= {"appended", "appended before", "unchanged"}
        assert rows_at(self.table) == sorted((name, n) for n, name in self.rows.items()), self.done


MOVES = (
    *("append", "delete", "delete_all", "update", "merge", "optimize", "checkpoint", "vacuum"),
    *("build", "strip"),
)


class Steps:
    """Lets a rival move between the steps of a run: when the table was read, after each file, right
    before a commit, and afterwards."""

    def __init__(self, rival: Rival, moves: dict[int, list[str]], monkeypatch) -> None:
        self.rival, self._moves, self._step, self._moving = rival, moves, 0, False
        put = LocalFolder.put_if_absent

        def put_later(folder: LocalFolder, name: str, data: bytes) -> bool:
            # The rival's own commits are not ours.
            if not self._moving:
                self.step()
            return put(folder, name, data)

        monkeypatch.setattr(LocalFolder, "put_if_absent", put_later)

    def step(self, *_: object) -> None:
        self._moving = True
        for move in self._moves.pop(self._step, ()):
            self.rival.move(move)
        self._moving = False
        self._step += 1

    def run(self, verb: str, **options_of_table: int) -> None:
        table = open_table(self.rival.table)
        self.step()
        options = TableOptions(where={}, **options_of_table)
        if verb == "strip":
            strip_in_table(table, options, progress=self.step)
        else:
            build_in_table(table, BuildOptions(columns=("id",)), options, progress=self.step)
        # Where nothing was committed, there were fewer steps.
        while self._moves:
            self.step()


# When the table was read; after the first and the last file; before the commit; after it.
STEPS = (0, 1, 3, 4, 5)


@pytest.mark.every(6)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("move", MOVES)
def test_one_rival(tmp_path, monkeypatch, move, step):
    rival = Rival(make_table(tmp_path / "events", rows=100), step)
    Steps(rival, {step: [move]}, monkeypatch).run("build")
    rival.check()


@pytest.mark.every(3)
@pytest.mark.parametrize("move", MOVES)
def test_one_rival_between_two_commits(tmp_path, monkeypatch, move):
    rival = Rival(make_table(tmp_path / "events", rows=100), 0)
    real, moves = OurTable.refreshed, [move]

    def refreshed(table: OurTable) -> OurTable:
        if moves:
            rival.move(moves.pop())
        return real(table)

    monkeypatch.setattr(OurTable, "refreshed", refreshed)
    build(rival.table, files_per_commit=1)
    assert rival.done == [move]
    rival.check()


@pytest.mark.every(3)
@pytest.mark.parametrize("seed", range(NUM_RACES))
def test_random_rivals(tmp_path, monkeypatch, seed):
    chosen = random.Random(f"races {seed}")
    rival = Rival(make_table(tmp_path / "events", rows=100), seed)
    if chosen.random() < 0.5:
        build(rival.table, commit=chosen.random() < 0.5)
    moves: dict[int, list[str]] = {}
    for _ in range(chosen.randint(1, 5)):
        moves.setdefault(chosen.randrange(7), []).append(chosen.choice(MOVES))
    verb = chosen.choice(["build", "build", "strip"])
    Steps(rival, moves, monkeypatch).run(verb, files_per_commit=chosen.choice([1, 2, 100]))
    rival.check()


@pytest.mark.parametrize("move", ["append", "delete", "update", "optimize"])
def test_a_rival_that_has_read_an_older_version(tmp_path, move):
    """It may fail, as it had with any other commit in between; if not, nothing is lost."""
    table = make_table(tmp_path / "events", rows=100)
    before, old = rows_at(table), Judge(table)
    build(table)
    work = {
        "append": lambda: write_deltalake(old, rows_of(1000, 1), mode="append"),
        "delete": lambda: old.delete("n = 5"),
        "update": lambda: old.update(predicate="n = 5", updates={"id": "'changed'"}),
        "optimize": old.optimize.compact,
    }
    (lost,) = [row for row in before if row[1] == 5]
    (added,) = [(row["id"], row["n"]) for row in rows_of(1000, 1).select(["id", "n"]).to_pylist()]
    expected = {
        "append": [*before, added],
        "delete": [row for row in before if row != lost],
        "update": [("changed", 5) if row == lost else row for row in before],
        "optimize": before,
    }
    try:
        work[move]()
    except DeltaError:
        assert rows_at(table) == before
    else:
        assert rows_at(table) == sorted(expected[move])


@pytest.mark.parametrize("step", STEPS)
def test_a_rival_deletion_vector(tmp_path, monkeypatch, step):
    table = make_table(tmp_path / "events", rows=100)
    with_features(
        table, reader=["deletionVectors"], configuration={"delta.enableDeletionVectors": "true"}
    )
    path = min(live(table))

    class Deleting(Rival):
        def vector(self) -> None:
            delete_rows(self.table, path, inline_vector(range(10)))

    rival = Deleting(table, 0)
    Steps(rival, {step: ["vector"]}, monkeypatch).run("build")
    assert current_adds(table)[path]["deletionVector"] == inline_vector(range(10))
    assert len(by_query_builder(table)) == 290
    assert build(table).committed in (None, newest(table))
    assert len(by_query_builder(table)) == 290


def test_what_a_rival_has_recorded_stays(tmp_path, monkeypatch):
    """It has appended a third end to the files, which ours knows nothing of."""
    rival = Rival(make_table(tmp_path / "events", rows=100), 0)
    Steps(rival, {3: ["build"]}, monkeypatch).run("build")
    assert newest(rival.table) == 3
    for path, size in live(rival.table).items():
        assert (rival.table / path).stat().st_size == size


def test_the_loser_of_two_commits_tries_again(tmp_path, monkeypatch):
    """And again, until others were first too often."""
    table = make_table(tmp_path / "events", commits=1)
    rival = Rival(table, 0)
    put = LocalFolder.put_if_absent

    def put_later(folder: LocalFolder, name: str, data: bytes) -> bool:
        rival.move("append")
        return put(folder, name, data)

    monkeypatch.setattr(LocalFolder, "put_if_absent", put_later)
    with pytest.raises(pb.RewriteError) as raised:
        build(table)
    assert str(raised.value) == (
        f"{table}: other writers committed first 16 times: nothing was committed; the files are"
        " already appended to, so run it again"
    )
    assert len(rival.done) == 16
    monkeypatch.undo()
    rival.check()


# ------------------------------------------------------------------------------------------------
# Two of us


def slowly(monkeypatch, act):
    """An exchange of names before which something happens, once."""
    real, done = rename.exchange, []

    def exchange(one: str, other: str) -> bool:
        if not done:
            done.append(True)
            act()
        return real(one, other)

    monkeypatch.setattr(local_output, "exchange", exchange)


@pytest.mark.parametrize("can_exchange", [True, False])
def test_another_build_between_the_last_look_and_the_new_name(tmp_path, monkeypatch, can_exchange):
    """It leaves that file alone; else its commit would record a size that is no end any more."""
    table = make_table(tmp_path / "events", rows=100)
    rival = Rival(table, 0)
    reports = []
    slowly(monkeypatch, lambda: reports.append(build(table, columns=["n"])))
    if not can_exchange:
        monkeypatch.setattr(rename, "_call", lambda: None)
    build(table, threads=1)
    assert [file.action for file in reports[0].files] == ["failed", "appended", "appended"]
    assert reports[0].files[0].reason == (
        "another build is changing it or holds its lock: wait until it is done"
    )
    monkeypatch.undo()
    rival.check()


def test_another_build_that_is_killed_when_it_has_replaced_what_is_not_committed(
    tmp_path, monkeypatch
):
    """Where there are no locks, the commit looks whether its files still end as it says."""
    table = make_table(tmp_path / "events", rows=100, commits=1)
    (path,) = live(table)
    with open_file(table / path) as file:
        size = file.source.size
    pb.build(table / path, tmp_path / "theirs.parquet", columns=["id", "n"], layout="append")
    commit = OurTable.commit

    def commit_later(self, sizes, operation):
        os.replace(tmp_path / "theirs.parquet", table / path)
        return commit(self, sizes, operation)

    monkeypatch.setattr(OurTable, "commit", commit_later)
    report = build(table)
    assert report.committed is None
    (file,) = report.files
    assert (file.action, file.reason) == ("gone", "was replaced in the meantime: run it again")
    assert (file.num_filters, report.num_filters, report.bytes_added) == (0, 0, 0)
    assert live(table) == {path: size}
    monkeypatch.undo()
    assert build(table, columns=["id", "n"]).committed == 1


def test_a_table_that_becomes_unwritable_before_the_commit(tmp_path, monkeypatch):
    table = make_table(tmp_path / "events", rows=100, commits=1)
    before = live(table)
    commit = OurTable.commit

    def commit_later(self, sizes, operation):
        with_features(table, ["new-feature"])
        return commit(self, sizes, operation)

    monkeypatch.setattr(OurTable, "commit", commit_later)
    with pytest.raises(pb.RewriteError) as raised:
        build(table)
    assert str(raised.value) == (
        f"{table}: changed in the meantime: its writers need the feature new-feature, which"
        " pbloom does not know"
    )
    assert (newest(table), live(table)) == (0, before)


def test_a_file_that_is_gone_before_the_commit(tmp_path, monkeypatch):
    table = make_table(tmp_path / "events", rows=100, commits=1)
    (path,) = live(table)
    real = LocalFolder.sizes_of

    def sizes_of(folder, names):
        found = real(folder, names)
        (table / path).unlink()
        return found

    monkeypatch.setattr(LocalFolder, "sizes_of", sizes_of)
    report = build(table)
    assert report.committed is None
    assert report.files[0].reason == "was replaced in the meantime: run it again"
