"""What runs on the executors: one outcome for each file, whatever happens to it.

Everything here may run twice, or twice at the same time: a file that has its filters is left as it
is, the same input gives the same bytes, and a new version appears whole or not at all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from pyspark import TaskContext

from parquet_bloom.errors import (
    ColumnError,
    ParquetBloomError,
    RewriteError,
    UnsupportedError,
    ValueTypeError,
    complaint_about,
)
from parquet_bloom.files import open_file
from parquet_bloom.spark.outcome import Outcome, Status
from parquet_bloom.spark.request import Request
from parquet_bloom.spark.schemas import OUTCOME, Batches, RowFields, giving, paths_in
from parquet_bloom.verbs.build import build_file
from parquet_bloom.verbs.documents import as_json
from parquet_bloom.vocabulary import HAS_ONE

if TYPE_CHECKING:
    from parquet_bloom.container.protocols import Container
    from parquet_bloom.verbs.build import BuildReport

Done = TypeVar("Done")

# The file is not suited to what is asked, but nothing is wrong with it.
REFUSALS = (ColumnError, RewriteError, UnsupportedError, ValueTypeError)

# What can go wrong with one file and must not stop the others.
FAILURES = (ParquetBloomError, OSError, ValueError, MemoryError)


@giving(OUTCOME)
def work(request: Request, batches: Batches) -> Iterator[RowFields]:
    """Rows of WORK, each a whole file, to rows of OUTCOME."""
    for path in paths_in(batches):
        yield asdict(work_on_file(request, path))


def work_on_file(request: Request, path: str) -> Outcome:
    """Do the verb on one file."""
    done = partial(_VERBS[request.verb], path, request)
    return attempt(path, partial(once_more, done))


def once_more(done: Callable[[], Done]) -> Done:
    """What `done` gives, tried twice if a file must not be changed: if another attempt at the same has
    changed it meanwhile, nothing is left to do."""
    try:
        return done()
    except RewriteError:
        return done()


def attempt(path: str, done: Callable[[], Outcome]) -> Outcome:
    """The outcome that `done` gives for a file, or what went wrong; with the time it took."""
    started = time.perf_counter()
    try:
        outcome = done()
    except FAILURES as error:
        status: Status = "refused" if isinstance(error, REFUSALS) else "error"
        outcome = Outcome(path, status, message=complaint_about(path, error))
    context = TaskContext.get()
    return replace(
        outcome,
        seconds=time.perf_counter() - started,
        attempt=0 if context is None else context.attemptNumber(),
    )


def text_of(report: object) -> str:
    """What `--json` prints."""
    return as_json(report).decode()


# ------------------------------------------------------------------------------------------------
# The verbs


def build_outcome(path: str, request: Request) -> Outcome:
    """Add filters to one file, in place."""
    keys = request.keys.read()
    if request.only_missing:
        with open_file(path, keys) as file:
            if has_been_built(file, request.options.columns):
                return Outcome(path, "unchanged", message="each column has filters")
    return outcome_of_build(build_file(path, request.options, request.destination, keys=keys))


def outcome_of_build(report: BuildReport) -> Outcome:
    """The outcome of a build that gave this report."""
    reasons = list(dict.fromkeys(skip.reason for skip in report.skipped))
    status: Status = "skipped"
    if report.filters:
        status = "added"
    elif report.bytes_added:
        # The old filters had to go, and no new one is allowed.
        status = "removed"
    elif HAS_ONE in reasons or not reasons:
        status = "unchanged"
    return Outcome(
        path=report.path,
        status=status,
        filters=report.num_filters,
        bytes=report.bytes_added,
        message="; ".join(reasons if report.output else ["dry run", *reasons]) or None,
        document=text_of(report),
    )


def has_been_built(file: Container, columns: Sequence[str]) -> bool:
    """Whether each column has a filter in some part of the file; other parts may not be fit for one."""
    parts = file.select_parts(None)
    return bool(parts) and all(
        any(chunk.has_filters for part in parts for chunk in file.chunks(part, (column,)))
        for column in file.select(columns)
    )


def _strip(path: str, request: Request) -> Outcome:
    from parquet_bloom.verbs.strip import strip_file

    keys = request.keys.read()
    report = strip_file(path, request.options, request.destination, keys=keys)
    return Outcome(
        path=path,
        status="removed" if report.removed else "unchanged",
        filters=report.num_filters,
        bytes=report.size_after - report.size_before,
        message=None if report.output else "dry run",
        document=text_of(report),
    )


def _inspect(path: str, request: Request) -> Outcome:
    from parquet_bloom.verbs.inspect import inspect_file

    with open_file(path, request.keys.read()) as file:
        report = inspect_file(file, request.options)
    return Outcome(path, "read", filters=report.num_filters, document=text_of(report))


def _validate(path: str, request: Request) -> Outcome:
    from parquet_bloom.verbs.validate import validate_file

    with open_file(path, request.keys.read()) as file:
        report = validate_file(file, request.options)
    message = "; ".join(dict.fromkeys(finding.message for finding in report.findings)) or None
    filters = report.checked.filters
    return Outcome(path, "read", filters=filters, message=message, document=text_of(report))


def _probe(path: str, request: Request) -> Outcome:
    from parquet_bloom.verbs.probe import probe_file

    keys, reports = request.keys.read(), []
    for options in request.options:
        # Opened again, so that each says what it reads by itself.
        with open_file(path, keys) as file:
            reports.append(probe_file(file, options))
    verdicts = [each for report in reports for result in report.results for each in result.verdicts]
    filters = sum(verdict != "unknown" for verdict in verdicts)
    return Outcome(path, "read", filters=filters, document="\n".join(map(text_of, reports)))


_VERBS: dict[str, Callable[[str, Request], Outcome]] = {
    "build": build_outcome,
    "inspect": _inspect,
    "probe": _probe,
    "strip": _strip,
    "validate": _validate,
}


@giving(OUTCOME)
def advise(request: Request, batches: Batches) -> Iterator[RowFields]:
    """Like `work`, for advise, which judges the files of a task together."""
    from parquet_bloom.verbs.advise import Advisor

    advisor = Advisor(request.options, request.keys.read())

    def surveyed(path: str) -> Outcome:
        advisor.add(path)
        return Outcome(path, "read")

    read: list[Outcome] = []
    for path in paths_in(batches):
        outcome = attempt(path, partial(surveyed, path))
        if outcome.status == "read":
            read.append(outcome)
        else:
            yield asdict(outcome)
    for outcome, report in zip(read, advisor.reports(), strict=True):
        yield asdict(outcome) | {
            "filters": sum(column.already for column in report.columns),
            "message": ", ".join(report.recommended) or None,
            "document": text_of(report),
        }
