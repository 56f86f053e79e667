"""Others change an index, and the files that it is about, between any two of our steps: nothing is lost.

PBLOOM_RACES: how many random interleavings.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pytest
from make.index_lakes import write_file, write_filtered

import parquet_bloom as pb
from parquet_bloom.storage.folder import LocalFolder

NUM_RACES = int(os.environ.get("PBLOOM_RACES", "12"))
STEPS = ("entries", "file_names", "read", "put_if_absent", "making", "remove", "sizes_of")


class Rival:
    """Changes files, and then the index."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.source = random.Random(seed)
        self.lake, self.index = folder / "lake", folder / "index"
        self.lake.mkdir()
        self.next = 0
        self.left = 0
        self.done: list[str] = []
        for _ in range(4):
            self.create()

    def create(self) -> None:
        write_file(self.lake / f"{self.next}.parquet", self.source)
        self.next += 1

    def change(self) -> None:
        write_file(self.source.choice(sorted(self.lake.iterdir())), self.source)

    def delete(self) -> None:
        files = sorted(self.lake.iterdir())
        if len(files) > 1:
            self.source.choice(files).unlink()

    def move(self) -> None:
        """At a step of ours."""
        if not self.left or self.source.random() < 0.7:
            return
        left, self.left = self.left, 0
        name = self.source.choice(["create", "change", "delete", "compact", "remove"])
        self.done.append(name)
        with pb.Index(self.index) as index:
            if name == "compact":
                index.compact(everything=True)
            elif name == "remove":
                index.remove(self.source.choice(sorted(index._asked.units("n")))[0].path)
                index.add()
            else:
                getattr(self, name)()
                index.add()
        self.left = left - 1


@pytest.fixture
def stepping(monkeypatch: pytest.MonkeyPatch) -> Callable[[Rival], None]:
    """Lets a rival move before each step in the folder of an index."""

    def let(rival: Rival) -> None:
        def before(real: Callable[..., Any]) -> Callable[..., Any]:
            def call(*arguments: Any) -> Any:
                rival.move()
                return real(*arguments)

            return call

        for name in STEPS:
            monkeypatch.setattr(LocalFolder, name, before(getattr(LocalFolder, name)))

    return let


@pytest.mark.every(3)
@pytest.mark.parametrize("seed", range(NUM_RACES))
def test_nothing_is_lost_to_a_rival(tmp_path, stepping, seed):
    rival = Rival(tmp_path, seed)
    pb.Index.build(rival.index, rival.lake, ["n", "s"], places="page").close()
    stepping(rival)
    for name in ("add", "compact", "add"):
        rival.create()
        rival.change()
        rival.left = 3
        with pb.Index(rival.index) as index:
            if name == "add":
                index.add()
            else:
                index.compact(everything=True)
                rival.left = 0
                index.add()
            rival.left = 0
            # Whatever anybody changed has been added since, by one or the other.
            assert index.check(deep=True).findings == (), rival.done


@pytest.mark.parametrize("form", ["map", "slices"])
def test_writers_at_once(tmp_path, form):
    rival, columns = Rival(tmp_path, 1), ["n", "s"]
    if form == "slices":
        columns = ["id", "name"]
        write_filtered(rival.lake / "0.parquet", random.Random(1), 300)
    pb.Index.build(rival.index, rival.lake / "0.parquet", columns, form=form).close()
    writers, are_done = 8, threading.Event()

    def work(number: int) -> None:
        source = random.Random(number)
        with pb.Index(rival.index) as index:
            for at in range(3):
                path = rival.lake / f"of-{number}-{at}.parquet"
                if form == "map":
                    write_file(path, source)
                else:
                    write_filtered(path, source, 150, source.choice([0.5, 1]))
                index.add(path)

    def compact() -> None:
        with pb.Index(rival.index) as index:
            while not are_done.is_set():
                index.compact(everything=True)

    with ThreadPoolExecutor(writers + 1) as pool:
        compacting = pool.submit(compact)
        writing = [pool.submit(work, number) for number in range(writers)]
        wait(writing)
        are_done.set()
        for each in (compacting, *writing):
            each.result()
    with pb.Index(rival.index) as index:
        assert index.check(deep=True).findings == ()
        assert index.check().files == 1 + 3 * writers
        assert len(index._asked.manifest.sources) == 1 + 3 * writers


@pytest.fixture
def once_before_commit(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], None]:
    """Lets somebody else do something just before our next manifest is put."""

    def let(move: Callable[[], Any]) -> None:
        moves, put = [move], LocalFolder.put_if_absent

        def put_after(*arguments: Any) -> Any:
            if moves:
                moves.pop()()
            return put(*arguments)

        monkeypatch.setattr(LocalFolder, "put_if_absent", put_after)

    return let


def counts(change: pb.IndexChange) -> tuple[int, ...]:
    return change.files, change.added, change.changed, change.removed, change.unknown


def test_the_loser_of_a_race_tells_of_the_index_that_it_has_made(tmp_path, once_before_commit):
    rival, other = Rival(tmp_path, 1), tmp_path / "other"
    other.mkdir()
    for name in ("a", "b"):
        write_file(other / f"{name}.parquet", random.Random(name))
    (other / "c.parquet").write_bytes(b"no file")
    pb.Index.build(rival.index, rival.lake, "n").close()
    mine = tmp_path / "mine.parquet"
    write_file(mine, random.Random(7))
    with pb.Index(rival.index) as ours, pb.Index(rival.index) as theirs:
        once_before_commit(lambda: theirs.add(other))
        found = ours.add(mine)
        assert (found.generation, *counts(found)[:4]) == (3, 8, 1, 0, 0)
        assert found.unknown == ours.add().unknown >= 1
        assert ours.check().files == 8


def test_an_index_is_as_old_as_what_was_looked_at_first(tmp_path, once_before_commit):
    rival = Rival(tmp_path, 1)
    pb.Index.build(rival.index, rival.lake, "n").close()
    write_file(tmp_path / "mine.parquet", random.Random(7))

    def made(index: pb.Index) -> float:
        return index.check().made

    with pb.Index(rival.index) as ours, pb.Index(rival.index) as theirs:
        # Who was first, and had looked later.
        seen: list[float] = []

        def add() -> None:
            rival.create()
            theirs.add()
            seen.append(made(theirs))

        once_before_commit(add)
        ours.add(tmp_path / "mine.parquet")
        assert made(ours) < seen[0]
        # Who was first, and has looked at nothing.
        before = made(ours)
        rival.create()
        once_before_commit(lambda: theirs.compact(everything=True))
        ours.add()
        assert made(ours) > before


@pytest.mark.parametrize("form", ["map", "auto"])
def test_what_both_have_done_is_counted_once(tmp_path, once_before_commit, form):
    rival = Rival(tmp_path, 1)
    pb.Index.build(rival.index, rival.lake, "n", form=form).close()
    for _ in range(3):
        rival.create()
    write_file(rival.lake / "0.parquet", random.Random(9))
    (rival.lake / "1.parquet").unlink()
    with pb.Index(rival.index) as ours, pb.Index(rival.index) as theirs:
        once_before_commit(theirs.add)
        found = ours.add()
        assert (found.generation, *counts(found)[:4]) == (3, 6, 0, 0, 0)
        # What was written all the same is what is in the place of theirs.
        assert found.keys > 0
        assert ours.check(deep=True).ok


def test_what_only_we_have_done_is_counted_though_others_were_faster(tmp_path, once_before_commit):
    rival = Rival(tmp_path, 1)
    pb.Index.build(rival.index, rival.lake, "n").close()
    new = [rival.lake / "new-0.parquet", rival.lake / "new-1.parquet"]
    for path in new:
        write_file(path, random.Random(path.name))
    write_file(rival.lake / "0.parquet", random.Random(9))
    (rival.lake / "1.parquet").unlink()
    with pb.Index(rival.index) as ours, pb.Index(rival.index) as theirs:
        once_before_commit(lambda: theirs.compact(everything=True))
        assert (counts(ours.add())[:4]) == (5, 2, 1, 1)
        write_file(rival.lake / "2.parquet", random.Random(8))
        (rival.lake / "3.parquet").unlink()
        new[0].unlink()
        once_before_commit(lambda: theirs.remove(rival.lake / "3.parquet"))
        assert (counts(ours.add())[:4]) == (3, 0, 1, 1)
