"""What runs on the executors: the tasks of a run, each of which has one account of its files, however often
it is attempted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from functools import partial
from importlib import import_module

from parquet_bloom.spark.outcome import Outcome, Totals, rows_of
from parquet_bloom.spark.parts import written_in_parts
from parquet_bloom.spark.plan import planned
from parquet_bloom.spark.request import Request, Tasks
from parquet_bloom.spark.rows import RowFields
from parquet_bloom.spark.run import Account, Attempt
from parquet_bloom.spark.schemas import (
    ACCOUNT,
    OUTCOME,
    TOTAL,
    Batches,
    giving,
    numbers_in,
)
from parquet_bloom.spark.versions import arrow_schema
from parquet_bloom.spark.worker import (
    as_listed,
    attempt,
    attempt_number,
    task_attempt,
    work_on_file,
)
from parquet_bloom.storage.table_formats import asking_once

# The functions of verbs that do not take files one by one, and what the names of what they keep begin with.
TOGETHER = {
    "advise": ("parquet_bloom.spark.advising", "survey", "sketches-0"),
    "change_in_table": ("parquet_bloom.spark.tables", "change_in_table", "nothing"),
    "index": ("parquet_bloom.spark.indexing", "index_files", "segments"),
    "clean_temp": ("parquet_bloom.spark.cleaning", "sweep", "nothing"),
}


@giving(TOTAL)
def work(tasks: Tasks, batches: Batches) -> Iterator[RowFields]:
    """Numbers of sheets to rows of TOTAL. What an earlier attempt has done is taken from its account."""
    account = Account(tasks.run)
    for number in numbers_in(batches):
        totals = Totals()
        name = f"task-{number:06}"
        known = account.outcomes(name, OUTCOME.names)
        if known is None:
            began = {"task": number, "attempt": attempt_number(), "task_attempt": task_attempt()}
            has_others = Attempt.begun(account, number, began).has_others
            outcomes = _as_asked(_outcomes(account, tasks, number, has_others), tasks.request)
            done = rows_of(tasks.run, _added_up(outcomes, totals))
            with asking_once():
                is_first = account.put_outcomes(name, done, arrow_schema(ACCOUNT))
            if not is_first:
                known, totals = account.outcomes(name, OUTCOME.names), Totals()
        for row in known or ():
            totals.add(Outcome(**row))
        yield from map(asdict, totals.all())


def _as_asked(outcomes: Iterable[Outcome], request: Request) -> Iterable[Outcome]:
    """Those of a dry run say so, also where nothing could be done."""
    if not request.destination.dry_run:
        return outcomes
    return (replace(outcome, dry_run=True) for outcome in outcomes)


def _added_up(outcomes: Iterable[Outcome], totals: Totals) -> Iterator[Outcome]:
    for outcome in outcomes:
        totals.add(outcome)
        yield outcome


def _outcomes(
    account: Account, tasks: Tasks, number: int, has_others: Callable[[], bool]
) -> Iterator[Outcome]:
    """Those of all files of a sheet. `has_others`: as for work_on_file."""
    request, sheet = tasks.request, tasks.plan.sheet(number)
    together = TOGETHER.get(request.verb)
    if together is not None:
        module, name, kept = together
        rows = list(planned(account, sheet))
        for each in rows:
            if each.status is not None:
                yield as_listed(each.file, each.status, each.message)
        files = [each.file for each in rows if each.status is None]
        keep = partial(account.put, f"{kept}-{number:06}")
        yield from getattr(import_module(module), name)(request, files, keep)
        return
    for each in planned(account, sheet):
        if each.status is not None:
            yield as_listed(each.file, each.status, each.message)
        elif each.parts > 1:
            yield attempt(each.file, partial(written_in_parts, account, each, request, has_others))
        else:
            yield work_on_file(request, each.file, has_others)
