"""How far a run is: by bytes, in both kinds of sessions, and never backwards."""

import os
import time
from pathlib import Path

import pytest
from test_spark_job import write

from parquet_bloom import spark as lake
from parquet_bloom.spark import meter, verbs
from parquet_bloom.spark.description import described
from parquet_bloom.spark.meter import Meter
from parquet_bloom.spark.plan import Bounds

# For a machine on which much else is going on.
DEADLINE = 300


class Told(list):
    """What a run said of how far it is."""

    def __call__(self, done, total):
        self.append((done, total))


@pytest.fixture
def many_tasks(tmp_path, monkeypatch):
    """A lake whose files are in tasks of their own, and its bytes."""
    monkeypatch.setattr(verbs, "BOUNDS", Bounds(files=1, first_files=1))
    files = [write(tmp_path / "lake" / f"{place}.parquet", 10 * place) for place in range(5)]
    return tmp_path / "lake", sum(file.stat().st_size for file in files)


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("verb", "arguments"), [("build", {"columns": ["id"]}), ("validate", {}), ("advise", {})]
)
def test_all_bytes_are_done_in_the_end(spark, many_tasks, verb, arguments):
    folder, size = many_tasks
    told = Told()
    getattr(lake, verb)(spark, folder, **arguments, progress=told)
    assert (told[0], told[-1]) == ((0, 0), (size, size))
    assert told == sorted(told)


def test_parts_of_huge_files_count_too(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(verbs, "BOUNDS", Bounds(huge=2000, part=2000, least_share=0))
    size = write(tmp_path / "huge.parquet").stat().st_size
    told, parts = Told(), -(-size // 2000) * 2000
    lake.build(spark, tmp_path, columns=["id"], progress=told)
    assert told[-1] == (parts + size, parts + size)
    assert (parts, parts + size) in told


def test_folders_count_as_tasks(spark, tmp_path):
    (tmp_path / "empty").mkdir()
    told = Told()
    lake.clean_temp(spark, tmp_path / "empty", progress=told)
    assert (told[0], told[-1]) == ((0, 0), (1, 1))


def test_nobody_who_asks_costs_nothing(monkeypatch, spark, tmp_path):
    monkeypatch.setattr(meter, "_told", None)
    write(tmp_path / "a.parquet")
    assert lake.inspect(spark, tmp_path).files == 1


def test_a_task_that_is_done_is_told_while_another_runs(spark, tmp_path):
    """The second task ends once somebody has been told of the first."""
    told_of_one, deadline = str(tmp_path / "told"), DEADLINE

    def work(batches):
        for batch in batches:
            until = time.monotonic() + deadline
            while batch.column(0).to_pylist() == [1] and not os.path.exists(told_of_one):
                assert time.monotonic() < until
                time.sleep(0.01)
            yield batch

    told = Told()

    def show(done, total):
        told(done, total)
        if done == 70:
            Path(told_of_one).touch()

    measured = Meter(spark, show)
    measured.expect(100)
    with described(spark, "wait"), measured.tasks([70, 30]):
        spark.range(0, 2, 1, 2).mapInArrow(work, "id long").collect()
    assert (0, 100) in told
    assert (70, 100) in told
    assert told[-1] == (100, 100)


def told_of(monkeypatch, stages, sizes):
    """What is told when Spark says this of its stages, one time after another."""

    class Reported:
        def __init__(self, spark, learn):
            self._learn = learn

        def __enter__(self):
            for each in stages:
                self._learn(each)

        def __exit__(self, *_):
            pass

    monkeypatch.setattr(meter, "_told", Reported)
    told = Told()
    measured = Meter(None, told)
    measured.expect(1000 + sum(sizes))
    with measured.tasks(sizes):
        pass
    return [done for done, _ in told]


def test_it_never_goes_back(monkeypatch):
    """When stages end, Spark may say nothing of them any more."""
    stages = [[(0, 3)], [(2, 3)], [], [(1, 3)], [(3, 3)]]
    assert told_of(monkeypatch, stages, [5, 10, 20]) == [0, 0, 15, 15, 15, 35, 35]


def test_stages_with_other_numbers_of_tasks_are_of_other_jobs(monkeypatch):
    assert told_of(monkeypatch, [[(2, 2)], [(200, 200), (1, 3)]], [5, 10, 20]) == [0, 0, 5, 35]
