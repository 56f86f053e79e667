"""What Spark does for a run, done in this process: so that a test decides which attempt dies,
is late or comes twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from parquet_bloom.spark import job, lake_index
from parquet_bloom.spark.index_commit import committed
from parquet_bloom.spark.outcome import LakeIndex
from parquet_bloom.spark.request import Request, Tasks, on_executor
from parquet_bloom.spark.run import LakeRun
from parquet_bloom.spark.tasks import work

Rows = list[dict[str, Any]]
Batches = Iterable[pa.RecordBatch]


class Frame:
    """Of partitions of rows."""

    def __init__(self, partitions: Sequence[Rows]) -> None:
        self._partitions = partitions

    def repartition(self, number: int, column: str) -> Frame:
        parts: list[Rows] = [[] for _ in range(number)]
        for row in self._rows():
            parts[hash(row[column]) % number].append(row)
        return Frame(parts)

    def sortWithinPartitions(self, *columns: Any) -> Frame:
        def key(row: dict[str, Any]) -> list[Any]:
            return [-row[each[1]] if isinstance(each, tuple) else row[each] for each in columns]

        return Frame([sorted(rows, key=key) for rows in self._partitions])

    def mapInArrow(self, work: Callable[[Batches], Batches], _: object) -> Frame:
        given = ([pa.RecordBatch.from_pylist(rows)] for rows in self._partitions if rows)
        return Frame([rows_of(work(batches)) for batches in given])

    def collect(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(**row) for row in self._rows()]

    def _rows(self) -> Iterator[dict[str, Any]]:
        return (row for rows in self._partitions for row in rows)


def rows_of(batches: Batches) -> Rows:
    return [row for batch in batches for row in batch.to_pylist()]


def numbered(number: int) -> list[pa.RecordBatch]:
    """The task of that number."""
    return [pa.RecordBatch.from_pydict({"id": pa.array([number], pa.int64())})]


class Executors:
    """As executors.Executors has it."""

    def work(self, module: str, function: str, sent: Any) -> Callable[[Batches], Batches]:
        return on_executor(module, function, sent, None)

    def frame(self, module: str, function: str, sent: Any, _: object, num_tasks: int) -> Frame:
        work = getattr(import_module(module), function)
        return Frame([rows_of(work(sent, numbered(each))) for each in range(num_tasks)])

    def documents(self, module: str, function: str, sent: Any, num_tasks: int = 1) -> list[Any]:
        rows = self.frame(module, function, sent, None, num_tasks).collect()
        return [json.loads(row.document) for row in rows]


def _attempted(tasks: Tasks, number: int) -> Rows:
    return rows_of(work(tasks, numbered(number)))


class IndexingHere:
    """Makes indexes as executors do. `attempts`: does a task, given what an attempt at it does;
    `before_commit`: whatever others do then."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(lake_index, "run_job", self._run)
        monkeypatch.setattr(job, "f", SimpleNamespace(desc=lambda name: ("desc", name)))
        self.attempts: Callable[[Callable[[], Any]], Any] = lambda attempt: attempt()
        self.before_commit: Callable[[], Any] = lambda: None
        self.tasks: Tasks | None = None

    def _run(self, _: Any, request: Request, search: Any, **given: Any) -> LakeIndex | None:
        executors: Any = Executors()
        run = LakeRun(given["audit"], given["run_id"], "index", "asked", datetime.now(UTC))
        run, plan, was_done = job._planned(executors, run, search)
        self.tasks = tasks = Tasks(run, plan, request)
        for number in range(plan.num_sheets):
            self.attempts(partial(_attempted, tasks, number))
        self.before_commit()
        return committed(executors, tasks, search, was_done)
