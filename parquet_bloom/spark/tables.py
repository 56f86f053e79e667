"""Filters in a table: executors append to its files, and the driver commits.

    driver      reads the table, says what is in the way, plans the batches of its live files
    executors   append filters to each file of a batch, and verify it at both lengths: one job
    driver      records the new sizes of the batch in one commit, and goes on with the next

A table is right at every moment in between, see verbs.build_table. If a job fails, what is committed stays
so; the next run, on Spark or not, recognizes what has been appended.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from functools import partial

from pyspark.sql import SparkSession

from parquet_bloom.encryption.keys_file import KeyReferences
from parquet_bloom.options import BuildOptions, TableOptions
from parquet_bloom.parallel import Progress
from parquet_bloom.spark.job import run_job
from parquet_bloom.spark.listing import opened_by_executors
from parquet_bloom.spark.outcome import Outcome
from parquet_bloom.spark.plan import LakeFile
from parquet_bloom.spark.planning import Search
from parquet_bloom.spark.request import Request
from parquet_bloom.spark.worker import attempt, once_more, text_of
from parquet_bloom.storage.source import is_url
from parquet_bloom.storage.traffic import Requests
from parquet_bloom.tables.open import open_table
from parquet_bloom.tables.table import TableFile
from parquet_bloom.verbs.build_table import TableBuildReport, build_in_table
from parquet_bloom.verbs.table_step import (
    ChangedFile,
    FileResult,
    LeftColumn,
    RepairedColumn,
    SkippedColumn,
    TableStep,
    failed,
)


def build_on_spark(
    spark: SparkSession,
    place: str,
    options: BuildOptions,
    of_table: TableOptions,
    *,
    keys: KeyReferences,
    progress: Progress | None = None,
) -> TableBuildReport:
    """As verbs.build_table. `place`: of the table."""
    if of_table.catalog is None:
        place = opened_everywhere(place)
    table = open_table(place, of_table.kind, catalog=of_table.catalog)

    def change(files: Sequence[TableFile], step: TableStep) -> list[FileResult]:
        search = Search(files=tuple(LakeFile(str(file.path), file.size) for file in files))
        report = run_job(spark, Request("change_in_table", step, keys), search, progress=progress)
        by_path = {file.path: file for file in files}
        return [_result(by_path[outcome.path], outcome) for outcome in report.each_here()]

    return build_in_table(table, options, of_table, elsewhere=change)


def opened_everywhere(place: str) -> str:
    """The folder of a table as all processes open it."""
    place = opened_by_executors(place)
    return place if is_url(place) else os.path.join(os.getcwd(), place)


def _result(file: TableFile, outcome: Outcome) -> FileResult:
    if outcome.document is None:
        return failed(file, outcome.message or outcome.status)
    found = json.loads(outcome.document)
    asked = found["requests"]
    return FileResult(
        ChangedFile(**{**found["changed"], "file": file.name, "num_deleted": file.num_deleted}),
        tuple(SkippedColumn(**each) for each in found["skipped"]),
        tuple(RepairedColumn(**each) for each in found["repaired"]),
        tuple(LeftColumn(**each) for each in found["left"]),
        None if asked is None else Requests(**asked),
        tuple((column, num_chunks) for column, num_chunks in found["returning"]),
        tuple((column, fpp, target) for column, fpp, target in found["missed"]),
        lost=tuple((column, statement) for column, statement in found["lost"]),
    )


# ------------------------------------------------------------------------------------------------
# On the executors


def change_in_table(request: Request, files: Sequence[LakeFile], *_: object) -> Iterator[Outcome]:
    """The outcomes for files of a table, whose document is a FileResult."""
    for each in files:
        # As the table records it.
        file = TableFile(each.path, each.path, each.size or 0)
        yield attempt(each, partial(_changed, file, request))


def _changed(file: TableFile, request: Request) -> Outcome:
    step: TableStep = request.options
    result = once_more(partial(step.change, file, request.keys.read()))
    changed = result.changed
    return Outcome(
        path=file.path,
        status="added" if changed.action == "appended" else "unchanged",
        filters=changed.num_filters,
        bytes=changed.size - changed.recorded,
        message=changed.reason,
        document=text_of(result),
    )
