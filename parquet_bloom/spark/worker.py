"""What runs on the executors: one outcome for each file, whatever happens to it.

Everything here may run twice, or twice at the same time: a file that has its filters is left as it
is, the same input gives the same bytes, and a new version appears whole or not at all.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from parquet_bloom.verbs import documents
from parquet_bloom.vocabulary import HAS_ONE

if TYPE_CHECKING:
    from parquet_bloom.container import Container
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.verbs.build import BuildReport

Request = Mapping[str, Any]
Options = dict[str, Any]
Verb = Callable[[str, Options], Outcome]

# What a file is not fit for, unlike what is wrong with it.
REFUSALS = (ColumnError, RewriteError, UnsupportedError, ValueTypeError)


def work(request: Request, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of WORK, each a whole file, to rows of OUTCOME."""
    for batch in batches:
        for path in batch.column("path").to_pylist():
            yield row_of(outcome_of(request, path))


def outcome_of(request: Request, path: str) -> Outcome:
    """Do the verb on one file."""
    verb = _VERBS[request["verb"]]

    def done() -> Outcome:
        try:
            return verb(path, dict(request["options"]))
        except RewriteError:
            # If another attempt at the same has changed it meanwhile, nothing is left to do.
            return verb(path, dict(request["options"]))

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


def document_of(report: Any) -> str:
    """What `--json` prints."""
    fields = report if isinstance(report, dict) else asdict(report)
    return json.dumps(fields, ensure_ascii=False, allow_nan=False)


def keys_in(keys_file: str | None) -> Keys | None:
    """Keys do not travel: the executors read the file that is named."""
    if keys_file is None:
        return None
    from parquet_bloom.encryption.keys_file import read_keys

    return read_keys(keys_file)


# ------------------------------------------------------------------------------------------------
# The verbs


def build_outcome(path: str, options: Options) -> Outcome:
    """Filters into one file, in its place."""
    from parquet_bloom.verbs.build import build_file

    keys = keys_in(options["keys_file"])
    if options["only_missing"]:
        with open_file(path, keys) as file:
            if has_been_built(file, options["build"].columns):
                return Outcome(path, "unchanged", message="each column has filters")
    report = build_file(path, options["build"], options["destination"], keys=keys)
    return outcome_of_build(report)


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
        document=document_of(documents.document_of(report)),
    )


def has_been_built(file: Container, columns: Sequence[str]) -> bool:
    """Whether each column has a filter in some part of the file; others may not be fit for one."""
    parts = file.parts(None)
    return bool(parts) and all(
        any(chunk.has_filters for part in parts for chunk in file.chunks(part, (column,)))
        for column in file.select(columns)
    )


def _strip(path: str, options: Options) -> Outcome:
    from parquet_bloom.verbs.strip import strip_file

    keys = keys_in(options["keys_file"])
    report = strip_file(path, options["selection"], options["destination"], keys=keys)
    return Outcome(
        path=path,
        status="removed" if report.removed else "unchanged",
        filters=report.num_filters,
        bytes=report.size_after - report.size_before,
        message=None if report.output else "dry run",
        document=document_of(documents.document_of(report)),
    )


def _inspect(path: str, options: Options) -> Outcome:
    from parquet_bloom.verbs import documents
    from parquet_bloom.verbs.inspect import inspect

    report = inspect(path, keys=keys_in(options.pop("keys_file")), **options)
    document = document_of(documents.document_of(report))
    return Outcome(path, "read", filters=report.num_filters, document=document)


def _validate(path: str, options: Options) -> Outcome:
    from parquet_bloom.verbs import documents
    from parquet_bloom.verbs.validate import validate

    report = validate(path, threads=1, keys=keys_in(options.pop("keys_file")), **options)
    return Outcome(
        path,
        "read",
        filters=report.checked.filters,
        message="; ".join(dict.fromkeys(finding.message for finding in report.findings)) or None,
        document=document_of(documents.document_of(report)),
    )


def _probe(path: str, options: Options) -> Outcome:
    from parquet_bloom.verbs.probe import probe

    report = probe(path, keys=keys_in(options.pop("keys_file")), **options)
    verdicts = [verdict for result in report.results for verdict in result.verdicts]
    return Outcome(
        path,
        "read",
        filters=sum(verdict != "unknown" for verdict in verdicts),
        document=document_of(report),
    )


_VERBS: dict[str, Verb] = {
    "build": build_outcome,
    "inspect": _inspect,
    "probe": _probe,
    "strip": _strip,
    "validate": _validate,
}


def advise(request: Request, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same for advise, which judges the files of a task together."""
    from parquet_bloom.options import AdviseOptions
    from parquet_bloom.verbs import documents
    from parquet_bloom.verbs.advise import Advisor

    options = dict(request["options"])
    keys = keys_in(options.pop("keys_file"))
    advisor = Advisor(AdviseOptions(threads=1, **options), keys)
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
                document=document_of(documents.document_of(report)),
            )
        )


def _surveyed(advisor: Any, path: str) -> Outcome:
    advisor.add(path)
    return Outcome(path, "read")
