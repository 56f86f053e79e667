"""Others write to an Iceberg table between any two of our steps: no row and no file is lost, nothing
comes back, and what is recorded is there.

PBLOOM_RACES: how many random interleavings; `make races` has 200.
"""

import os
import random

import pyarrow as pa
import pytest
from make.delta_tables import rows_of
from make.iceberg_tables import (
    CATALOG,
    NAME,
    QUICKLY,
    build,
    delete_positions,
    live,
    load,
    make_table,
    path_of,
    strip,
    use_catalog,
)
from oracle.iceberg_expiry import by_increments
from oracle.iceberg_readers import by_pyiceberg
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.expressions import EqualTo
from pyiceberg.table import Table

import parquet_bloom as pb
from parquet_bloom.files import open_file
from parquet_bloom.options import BuildOptions, TableOptions
from parquet_bloom.tables.iceberg.table import IcebergTable as OurTable
from parquet_bloom.tables.open import open_table
from parquet_bloom.verbs.build_table import build_in_table
from parquet_bloom.verbs.strip_table import strip_in_table

NUM_RACES = int(os.environ.get("PBLOOM_RACES", "10"))


@pytest.fixture
def rival(tmp_path, monkeypatch):
    use_catalog(tmp_path, monkeypatch)
    make_table(commits=2, rows=40, properties=QUICKLY)
    return Rival(0)


class Rival:
    """Another writer, and what rows there must be after it: `rows` by `n`."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.rows = {n: name for name, n in by_pyiceberg(load())}
        self.next = len(self.rows)
        self.done: list[str] = []

    def move(self, name: str) -> None:
        self.done.append(name)
        getattr(self, name)(load())

    def append(self, table: Table) -> None:
        rows = rows_of(self.next, 10)
        table.append(rows)
        self.rows |= dict(zip(rows["n"].to_pylist(), rows["id"].to_pylist(), strict=True))
        self.next += 10

    def delete(self, table: Table) -> None:
        """Some rows: their files are written anew."""
        gone = self.random.choice(sorted(self.rows) or [0])
        if gone in self.rows:
            table.delete(EqualTo("n", gone))
            del self.rows[gone]

    def delete_all(self, table: Table) -> None:
        if self.rows:
            table.delete()
        self.rows = {}

    def delete_partition(self, table: Table) -> None:
        if any(n % 2 == 0 for n in self.rows):
            table.delete(EqualTo("day", "2026-11-01"))
        self.rows = {n: name for n, name in self.rows.items() if n % 2}

    def overwrite(self, table: Table) -> None:
        rows = rows_of(self.next, 10)
        # PyIceberg warns where there is nothing to overwrite.
        (table.overwrite if self.rows else table.append)(rows)
        self.rows = dict(zip(rows["n"].to_pylist(), rows["id"].to_pylist(), strict=True))
        self.next += 10

    def upsert(self, table: Table) -> None:
        numbers = self.random.sample(range(self.next), 5)
        days = [f"2026-11-{number % 2 + 1:02}" for number in numbers]
        source = {"id": ["merged"] * 5, "n": pa.array(numbers, pa.int64()), "day": days}
        table.upsert(pa.table(source), join_cols=["n"])
        self.rows |= dict.fromkeys(numbers, "merged")

    def evolve(self, table: Table) -> None:
        with table.update_spec() as change:
            change.add_identity("n") if len(table.spec().fields) == 1 else change.remove_field("n")

    def build(self, _: Table) -> None:
        build(columns=["n"])

    def strip(self, _: Table) -> None:
        strip()

    def check(self) -> None:
        """What the table has, that each live file is as long as it says, and that no expiry of
        snapshots would delete one."""
        expected = sorted((name, n) for n, name in self.rows.items())
        assert by_pyiceberg(load()) == expected, self.done
        for path, size in live().items():
            with open_file(path_of(path)) as file:
                assert size in (file.source.size, *file.earlier_ends), self.done
        assert not by_increments(load(), 1) & live().keys(), self.done
        again = build()
        assert {file.action for file in again.files} <= {"appended", "appended before", "unchanged"}
        assert by_pyiceberg(load()) == expected, self.done


MOVES = (
    *("append", "delete", "delete_all", "delete_partition", "overwrite", "upsert", "evolve"),
    *("build", "strip"),
)


class Steps:
    """Lets a rival move between the steps of a run: when the table was read, after each file, right
    before each attempt to commit, and afterwards."""

    def __init__(self, rival: Rival, moves: dict[int, list[str]], monkeypatch) -> None:
        self.rival, self._moves, self._step, self._moving = rival, moves, 0, False
        commit = Table._do_commit

        def commit_later(table: Table, *arguments: object, **named: object) -> None:
            # The rival's own commits are not ours.
            if not self._moving:
                self.step()
            commit(table, *arguments, **named)

        monkeypatch.setattr(Table, "_do_commit", commit_later)

    def step(self, *_: object) -> None:
        self._moving = True
        for move in self._moves.pop(self._step, ()):
            self.rival.move(move)
        self._moving = False
        self._step += 1

    def run(self, verb: str, **options_of_table: int) -> None:
        table = open_table(NAME, catalog=CATALOG)
        self.step()
        options = TableOptions(where={}, **options_of_table)
        if verb == "strip":
            strip_in_table(table, options, progress=self.step)
        else:
            build_in_table(table, BuildOptions(columns=("id",)), options, progress=self.step)
        # Where nothing was committed, there were fewer steps.
        while self._moves:
            self.step()


# When the table was read; after the second file; before the commit.
STEPS = (0, 2, 5)


@pytest.mark.every(3)
@pytest.mark.parametrize("move", MOVES)
def test_one_rival_between_two_commits(rival, monkeypatch, move):
    real, moves = OurTable.refreshed, [move]

    def refreshed(table: OurTable) -> OurTable:
        if moves:
            rival.move(moves.pop())
        return real(table)

    monkeypatch.setattr(OurTable, "refreshed", refreshed)
    build(files_per_commit=1)
    assert rival.done == [move]
    rival.check()


@pytest.mark.every(3)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("move", MOVES)
def test_one_rival(rival, monkeypatch, move, step):
    Steps(rival, {step: [move]}, monkeypatch).run("build")
    rival.check()


@pytest.mark.every(3)
@pytest.mark.parametrize("seed", range(NUM_RACES))
def test_random_rivals(rival, monkeypatch, seed):
    chosen = random.Random(f"races {seed}")
    if chosen.random() < 0.5:
        build(commit=chosen.random() < 0.5)
    moves: dict[int, list[str]] = {}
    for _ in range(chosen.randint(1, 5)):
        moves.setdefault(chosen.randrange(9), []).append(chosen.choice(MOVES))
    verb = chosen.choice(["build", "build", "strip"])
    Steps(rival, moves, monkeypatch).run(verb, files_per_commit=chosen.choice([1, 2, 100]))
    rival.check()


@pytest.mark.every(3)
@pytest.mark.parametrize("move", MOVES[:6])
def test_a_rival_that_has_read_an_older_snapshot(rival, move):
    """It may fail, as it had with any other commit in between; if not, nothing is lost."""
    old, rows = load(), dict(rival.rows)
    build()
    try:
        getattr(rival, move)(old)
    except CommitFailedException:
        rival.rows = rows
    rival.check()


def test_a_rival_that_deletes_by_position(rival, monkeypatch):
    path = min(live())

    def by_position(table: Table) -> None:
        delete_positions(table, path, [0, 1])

    rival.by_position = by_position
    Steps(rival, {5: ["by_position"]}, monkeypatch).run("build")
    assert len(by_pyiceberg(load())) == 78
    assert live()[path] == path_of(path).stat().st_size


def test_the_loser_of_two_commits_tries_again(rival, monkeypatch):
    """And again, until others were first too often."""
    commit, is_moving = Table._do_commit, []

    def commit_later(table: Table, *arguments: object, **named: object) -> None:
        if not is_moving:
            is_moving.append(True)
            rival.move("append")
            is_moving.pop()
        commit(table, *arguments, **named)

    monkeypatch.setattr(Table, "_do_commit", commit_later)
    with load().transaction() as transaction:
        transaction.set_properties({"commit.retry.num-retries": "1"})
    before = len(rival.done)
    with pytest.raises(pb.RewriteError) as raised:
        build()
    assert str(raised.value) == (
        f"{NAME}: other writers kept committing first: nothing was committed; the files are"
        " already appended to, so run it again"
    )
    assert len(rival.done) - before == 8
    monkeypatch.setattr(Table, "_do_commit", commit)
    rival.check()


def test_another_table_of_the_same_name(rival):
    table = open_table(NAME, catalog=CATALOG)
    load().catalog.drop_table(NAME)
    make_table(commits=1, rows=10)
    with pytest.raises(pb.RewriteError) as raised:
        build_in_table(table, BuildOptions(columns=("id",)), TableOptions(where={}))
    assert str(raised.value) == f"{NAME}: is another table by now"


def test_a_file_that_is_replaced_before_the_commit(tmp_path, monkeypatch):
    """By a longer one, which does not end where ours did: a size that is no end is not recorded."""
    use_catalog(tmp_path, monkeypatch)
    make_table(commits=1, rows=40, properties=QUICKLY)
    before = live()
    name = min(before)
    theirs = tmp_path / "theirs.parquet"
    pb.build(path_of(name), theirs, columns=["id", "n"], layout="append")
    commit = OurTable.commit

    def commit_later(*given):
        os.replace(theirs, path_of(name))
        return commit(*given)

    monkeypatch.setattr(OurTable, "commit", commit_later)
    files = {each.file: each for each in build().files}
    file = files.pop(name)
    assert (file.action, file.reason) == ("gone", "was replaced in the meantime: run it again")
    assert {each.action for each in files.values()} == {"appended"}
    assert live()[name] == before[name]
    monkeypatch.setattr(OurTable, "commit", commit)
    build(columns=["id", "n"])
    assert live() == {each: path_of(each).stat().st_size for each in before}
