"""What runs on the executors: one outcome for each file, whatever happens to it.

Everything here may run twice, or twice at the same time: a file that has its filters is left as it
is, the same input gives the same bytes, and a new version appears whole or not at all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from parquet_bloom.errors import (
    ColumnError,
    ParquetBloomError,
    RewriteError,
    UnsupportedError,
    ValueTypeError,
    complaint_about,
)
from parquet_bloom.files import open as open_file
from parquet_bloom.spark.outcome import Outcome, Status
from parquet_bloom.spark.request import Request
from parquet_bloom.verbs.documents import as_json, document_of
from parquet_bloom.vocabulary import HAS_ONE

if TYPE_CHECKING:
    from parquet_bloom.container import Container
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.verbs.build import BuildReport

Verb = Callable[[str, Request], Outcome]

# What a file is not fit for, unlike what is wrong with it.
REFUSALS = (ColumnError, RewriteError, UnsupportedError, ValueTypeError)


def work(request: Request, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of WORK, each a whole file, to rows of OUTCOME."""
    for batch in batches:
        for path in batch.column("path").to_pylist():
            yield row_of(outcome_of(request, path))


def outcome_of(request: Request, path: str) -> Outcome:
    """Do the verb on one file."""
    verb = _VERBS[request.verb]

    def done() -> Outcome:
        try:
            return verb(path, request)
        except RewriteError:
            # If another attempt at the same has changed it meanwhile, nothing is left to do.
            return verb(path, request)

    return attempt(path, done)


def attempt(path: str, done: Callable[[], Outcome]) -> Outcome:
    """What `done` says of a file, or what went wrong; with its time."""
    from pyspark import TaskContext

    started = time.perf_counter()
    try:
        outcome = done()
    except REFUSALS as error:
        outcome = Outcome(path, "refused", message=complaint_about(path, error))
    except (ParquetBloomError, OSError, ValueError, MemoryError) as error:
        outcome = Outcome(path, "error", message=complaint_about(path, error))
    context = TaskContext.get()
    return replace(
        outcome,
        seconds=time.perf_counter() - started,
        attempt=0 if context is None else context.attemptNumber(),
    )


def row_of(outcome: Outcome) -> pa.RecordBatch:
    """One row of OUTCOME."""
    return pa.RecordBatch.from_pylist([asdict(outcome)], schema=_outcome_schema())


@cache
def _outcome_schema() -> pa.Schema:
    from pyspark.sql.pandas.types import to_arrow_schema

    from parquet_bloom.spark.schemas import OUTCOME

    return to_arrow_schema(OUTCOME)


def text_of(report: Any) -> str:
    """What `--json` prints."""
    return as_json(document_of(report))


def keys_in(keys_file: str | None) -> Keys | None:
    """Keys do not travel: the executors read the file that is named."""
    if keys_file is None:
        return None
    from parquet_bloom.encryption.keys_file import read_keys

    return read_keys(keys_file)


# ------------------------------------------------------------------------------------------------
# The verbs


def build_outcome(path: str, request: Request) -> Outcome:
    """Filters into one file, in its place."""
    from parquet_bloom.verbs.build import build_file

    keys = keys_in(request.keys_file)
    if request.only_missing:
        with open_file(path, keys) as file:
            if has_been_built(file, request.options.columns):
                return Outcome(path, "unchanged", message="each column has filters")
    return outcome_of_build(build_file(path, request.options, request.destination, keys=keys))


def outcome_of_build(report: BuildReport) -> Outcome:
    """What the report of a build says."""
    reasons = list(dict.fromkeys(skip.reason for skip in report.skipped))
    status: Status = "skipped"
    if report.filters:
        status = "added"
    elif report.bytes_added:
        # Those that were to be replaced are gone, and no other is allowed.
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
    """Whether each column has a filter in some part of the file; others may not be fit for one."""
    parts = file.parts(None)
    return bool(parts) and all(
        any(chunk.has_filters for part in parts for chunk in file.chunks(part, (column,)))
        for column in file.select(columns)
    )


def _strip(path: str, request: Request) -> Outcome:
    from parquet_bloom.verbs.strip import strip_file

    keys = keys_in(request.keys_file)
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

    with open_file(path, keys_in(request.keys_file)) as file:
        report = inspect_file(file, request.options)
    return Outcome(path, "read", filters=report.num_filters, document=text_of(report))


def _validate(path: str, request: Request) -> Outcome:
    from parquet_bloom.verbs.validate import validate_file

    with open_file(path, keys_in(request.keys_file)) as file:
        report = validate_file(file, request.options)
    messages = dict.fromkeys(finding.message for finding in report.findings)
    return Outcome(
        path,
        "read",
        filters=report.checked.filters,
        message="; ".join(messages) or None,
        document=text_of(report),
    )


def _probe(path: str, request: Request) -> Outcome:
    from parquet_bloom.verbs.probe import probe_file

    with open_file(path, keys_in(request.keys_file)) as file:
        report = probe_file(file, request.options)
    verdicts = [verdict for result in report.results for verdict in result.verdicts]
    filters = sum(verdict != "unknown" for verdict in verdicts)
    return Outcome(path, "read", filters=filters, document=text_of(report))


_VERBS: dict[str, Verb] = {
    "build": build_outcome,
    "inspect": _inspect,
    "probe": _probe,
    "strip": _strip,
    "validate": _validate,
}


def advise(request: Request, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same for advise, which judges the files of a task together."""
    from parquet_bloom.verbs.advise import Advisor

    advisor = Advisor(request.options, keys_in(request.keys_file))
    read: list[Outcome] = []
    for batch in batches:
        for path in batch.column("path").to_pylist():
            outcome = attempt(path, partial(_surveyed, advisor, path))
            if outcome.status == "read":
                read.append(outcome)
            else:
                yield row_of(outcome)
    for outcome, report in zip(read, advisor.reports(), strict=True):
        already = sum(column.already for column in report.columns)
        yield row_of(
            replace(
                outcome,
                filters=already,
                message=", ".join(report.recommended) or None,
                document=text_of(report),
            )
        )


def _surveyed(advisor: Any, path: str) -> Outcome:
    advisor.add(path)
    return Outcome(path, "read")
