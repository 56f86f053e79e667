"""Advice on a whole lake: one report for each table, the same however its files were cut into tasks.

    survey   the sketches of the files of one task, in the run's folder
    merge    so many of these at a time, again and again, until one is left
    judge    the reports

A sketch of a table has a bounded size, see advice.sketch, so that nothing here grows with the lake.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

import pyarrow as pa

from parquet_bloom.advice.sketch import TableSketch
from parquet_bloom.dataclass import dataclass
from parquet_bloom.options import BuildOptions
from parquet_bloom.spark.outcome import Outcome
from parquet_bloom.spark.plan import LakeFile
from parquet_bloom.spark.request import Request, Tasks
from parquet_bloom.spark.rows import RowFields, packed, unpacked
from parquet_bloom.spark.run import Account
from parquet_bloom.spark.schemas import CONTROL, Batches, giving, numbers_in
from parquet_bloom.spark.worker import attempt, text_of
from parquet_bloom.verbs.advise import (
    TableAdvisor,
    advise_sketches,
    merged_sketches,
    options_to_build,
)

# Sketches that one task merges.
MERGED_AT_ONCE: Final = 32

_SKETCHES: Final = pa.schema([("key", pa.string()), ("sketch", pa.binary())])


@dataclass(frozen=True, slots=True)
class MergingSketches:
    """What the tasks of one round of merging are sent; `round`: from 0, the sketches of the tasks, on;
    `at_once`: how many sketches one task merges."""

    tasks: Tasks
    num_sketches: int
    at_once: int
    round: int = 0

    @classmethod
    def of(cls, tasks: Tasks) -> MergingSketches:
        return cls(tasks, tasks.plan.num_sheets, MERGED_AT_ONCE)

    @property
    def num_merged(self) -> int:
        return -(-self.num_sketches // self.at_once)


def name_of(round: int, number: int) -> str:
    """Of a file of sketches in the run's folder."""
    return f"sketches-{round}-{number:06}"


def survey(
    request: Request, files: Sequence[LakeFile], keep: Callable[[bytes], object]
) -> Iterator[Outcome]:
    """The outcomes for the files of a task, whose sketches are kept."""
    advisor = TableAdvisor(request.options, request.keys.read())

    def surveyed(path: str) -> Outcome:
        advisor.add(path)
        return Outcome(path, "read")

    for file in files:
        yield attempt(file, partial(surveyed, file.path))
    keep(_packed(advisor.sketches()))


def _packed(sketches: dict[str, bytes]) -> bytes:
    rows = [{"key": key, "sketch": sketch} for key, sketch in sorted(sketches.items())]
    return packed(rows, _SKETCHES)


@giving(CONTROL)
def merge(merging: MergingSketches, batches: Batches) -> Iterator[RowFields]:
    """Numbers of merged files of sketches to no documents."""
    account = Account(merging.tasks.run)
    for number in numbers_in(batches):
        places = range(merging.num_sketches)[number * merging.at_once :][: merging.at_once]
        merged: dict[str, bytes] = {}
        for place in places:
            for row in unpacked(account.get(name_of(merging.round, place)) or _packed({})):
                key, sketch = row["key"], row["sketch"]
                merged[key] = merged_sketches([merged[key], sketch]) if key in merged else sketch
        account.put(name_of(merging.round + 1, number), _packed(merged))
    return iter(())


@giving(CONTROL)
def judge(merging: MergingSketches, batches: Batches) -> Iterator[RowFields]:
    """The advice on each table, as the fields of TableAdvice."""
    list(batches)
    account = Account(merging.tasks.run)
    rows = unpacked(account.get(name_of(merging.round, 0)) or _packed({}))
    sketches = sorted(
        (TableSketch.from_bytes(row["sketch"]) for row in rows),
        key=lambda sketch: (sketch.path, sketch.key),
    )
    reports = advise_sketches([row["sketch"] for row in rows], merging.tasks.request.options)
    for sketch, report in zip(sketches, reports, strict=True):
        wanted = options_to_build(report, BuildOptions())
        rates = dict(wanted.fpp_of)
        columns = [(name, rates.get(name)) for name in wanted.columns or ()]
        fields = {"key": sketch.key, "columns": columns, "text": text_of(report)}
        yield {"document": json.dumps(fields)}
