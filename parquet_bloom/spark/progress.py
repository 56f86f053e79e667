"""How far a job is, for a progress bar."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from pyspark.sql import SparkSession

from parquet_bloom.parallel import Progress

# How often a classic session is asked, in seconds; a Connect session reports by itself.
INTERVAL = 0.5


@contextmanager
def shown(spark: SparkSession, show: Progress) -> Iterator[None]:
    """Call `show` with the number of tasks done, and of all, of whatever runs in the session
    meanwhile."""
    is_connect = type(spark).__module__.startswith("pyspark.sql.connect")
    with _told_by_connect(spark, show) if is_connect else _asked(spark, show):
        yield


@contextmanager
def _told_by_connect(spark: Any, show: Progress) -> Iterator[None]:
    def handle(stages: Iterable[Any] | None, **_: Any) -> None:
        stages = list(stages or ())
        total = sum(stage.num_tasks for stage in stages)
        if total:
            show(sum(stage.num_completed_tasks for stage in stages), total)

    spark.registerProgressHandler(handle)
    try:
        yield
    finally:
        spark.removeProgressHandler(handle)


@contextmanager
def _asked(spark: SparkSession, show: Progress) -> Iterator[None]:
    tracker = spark.sparkContext.statusTracker()
    is_over = Event()

    def watch() -> None:
        while not is_over.wait(INTERVAL):
            known = map(tracker.getStageInfo, tracker.getActiveStageIds())
            stages = [stage for stage in known if stage is not None]
            if stages:
                show(
                    sum(stage.numCompletedTasks for stage in stages),
                    sum(stage.numTasks for stage in stages),
                )

    watcher = Thread(target=watch, name="pbloom-progress", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        is_over.set()
        watcher.join()
