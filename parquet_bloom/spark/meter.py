"""How far a run is, by the bytes of its files. Spark says how many tasks are done, the plan how many bytes each
of them has: nothing is sent for it, and it is the same in classic sessions and over Connect.

Spark begins with the first tasks, so that those that are done are taken for the first: what is told of a run
under way is off by the tasks that run, and right in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Final, cast

from pyspark.sql import SparkSession

from parquet_bloom.parallel import Progress
from parquet_bloom.spark.description import group_of
from parquet_bloom.spark.versions import is_connect, reports_progress

if TYPE_CHECKING:
    from pyspark import StatusTracker
    from pyspark.sql.connect.shell.progress import ProgressHandler, StageInfo

# How often a classic session is asked, in seconds; a Connect session reports by itself.
INTERVAL: Final = 0.5

# Of stages: how many tasks are done, and how many there are.
_Stages = Iterable[tuple[int, int]]


class Meter:
    """Calls `progress` with the bytes done and the bytes in all, from several threads but never at the same
    time, and never with less than before; with (0, 0) while nothing is known yet."""

    def __init__(self, spark: SparkSession, progress: Progress | None) -> None:
        self._spark, self._progress = spark, progress
        self._telling = Lock()
        self._sizes: Sequence[int] = ()
        # Before the tasks that run now.
        self._before = self._done = self._total = 0

    def expect(self, total: int) -> None:
        """There will be tasks with so many bytes together."""
        self._total = total

    @contextmanager
    def tasks(self, sizes: Sequence[int] = ()) -> Iterator[None]:
        """Tell how far it is while one job runs, whose tasks have so many bytes; without sizes, only that it
        runs."""
        if self._progress is None:
            yield
            return
        self._sizes = sizes
        self._tell(0)
        with _told(self._spark, self._learn):
            yield
        self._tell(len(sizes))
        self._before = self._done

    def _learn(self, stages: _Stages) -> None:
        """Stages of other jobs have other numbers of tasks, or come later, as those do that sum up."""
        num_tasks = len(self._sizes)
        self._tell(max((done for done, total in stages if total == num_tasks), default=0))

    def _tell(self, num_done: int) -> None:
        with self._telling:
            self._done = max(self._done, self._before + sum(self._sizes[:num_done]))
            if self._progress is not None:
                self._progress(self._done, self._total)


def _told(spark: SparkSession, learn: Callable[[_Stages], None]) -> AbstractContextManager[None]:
    """Let `learn` know of the stages that this thread starts meanwhile; never if Spark does not tell."""
    if not is_connect(spark):
        return _asked(spark, learn)
    return _reported_by_connect(spark, learn) if reports_progress(spark) else nullcontext()


@contextmanager
def _reported_by_connect(spark: SparkSession, learn: Callable[[_Stages], None]) -> Iterator[None]:
    def handle(stages: Iterable[StageInfo] | None, **_: object) -> None:
        learn([(stage.num_completed_tasks, stage.num_tasks) for stage in stages or ()])

    handler = cast("ProgressHandler", handle)
    spark.registerProgressHandler(handler)
    try:
        yield
    finally:
        spark.removeProgressHandler(handler)


@contextmanager
def _asked(spark: SparkSession, learn: Callable[[_Stages], None]) -> Iterator[None]:
    tracker, group = spark.sparkContext.statusTracker(), group_of(spark)
    earlier = set(tracker.getJobIdsForGroup(group))
    is_over = Event()

    def watch() -> None:
        while not is_over.wait(INTERVAL):
            # If Java has ended, whoever waits for the job says so.
            with suppress(Exception):
                jobs = set(tracker.getJobIdsForGroup(group)) - earlier
                learn(list(_stages_of(tracker, jobs)))

    watcher = Thread(target=watch, name="pbloom-progress", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        is_over.set()
        watcher.join()


def _stages_of(tracker: StatusTracker, jobs: Iterable[int]) -> Iterator[tuple[int, int]]:
    for job in jobs:
        known = tracker.getJobInfo(job)
        for number in known.stageIds if known is not None else ():
            stage = tracker.getStageInfo(number)
            if stage is not None:
                yield stage.numCompletedTasks, stage.numTasks
