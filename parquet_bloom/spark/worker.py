"""What runs on the executors: one outcome for each file, whatever happens to it.

Everything here may run twice, or twice at the same time: a file that has its filters is left as it
is, the same input gives the same bytes, and a new version appears whole or not at all.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
from pyspark import TaskContext

from parquet_bloom.advice.table import table_key
from parquet_bloom.container.shown_names import units_of
from parquet_bloom.errors import (
    ColumnError,
    ParquetBloomError,
    RewriteError,
    UnsupportedError,
    ValueTypeError,
    complaint_about,
)
from parquet_bloom.files import open_file
from parquet_bloom.options import BuildOptions, InspectOptions
from parquet_bloom.spark.failures import for_executors
from parquet_bloom.spark.outcome import (
    BY_ANOTHER,
    DRY_RUN,
    NOT_JUDGED,
    NOT_PASSED_ON,
    Outcome,
    Status,
)
from parquet_bloom.spark.plan import LakeFile
from parquet_bloom.spark.request import Request
from parquet_bloom.verbs.build import BuildReport, TakeFilters, build_opened
from parquet_bloom.verbs.documents import as_json, plain
from parquet_bloom.verbs.file_runner import lacking, take_by_name
from parquet_bloom.verbs.several import message_of
from parquet_bloom.vocabulary import HAS_ONE

if TYPE_CHECKING:
    from parquet_bloom.container.protocols import Container
    from parquet_bloom.storage.source import Source
    from parquet_bloom.verbs.probe import ProbeReport

Done = TypeVar("Done")

# The file is not suited to what is asked, but nothing is wrong with it.
REFUSALS = (ColumnError, RewriteError, UnsupportedError, ValueTypeError)

# What can go wrong with one file and must not stop the others.
FAILURES = (ParquetBloomError, OSError, ValueError, MemoryError)

# So many values are written out for each file. The answers about one take some 230 bytes: about 5,000 in
# 2,000 files, 2 GB, of which all but a few say `absent` where there are filters, and the same where there are none.
MOST_WRITTEN_OUT: Final = 100


def alone() -> bool:
    """Of a run that had and has no other attempt at what it does."""
    return False


def work_on_file(
    request: Request, file: LakeFile, has_others: Callable[[], bool] = alone
) -> Outcome:
    """Do the verb on one file. `has_others`: whether another attempt of the run may have changed it."""
    reading = _READING.get(request.verb)
    if reading is not None:
        return attempt(file, partial(reading, file, request))
    done = partial(_CHANGING[request.verb], file, request, has_others)
    return attempt(file, partial(once_more, done))


def once_more(done: Callable[[], Done]) -> Done:
    """What `done` gives, tried twice if a file must not be changed: if another attempt at the same has
    changed it meanwhile, nothing is left to do."""
    try:
        return done()
    except RewriteError:
        return done()


def attempt(file: LakeFile, done: Callable[[], Outcome]) -> Outcome:
    """The outcome that `done` gives for a file, or what went wrong; with the time it took."""
    started = time.perf_counter()
    try:
        outcome = done()
    except FAILURES as error:
        status: Status = "refused" if isinstance(error, REFUSALS) else "error"
        # Of refusals as Python's callers say it; the command says it in its own words.
        told = message_of if status == "refused" else complaint_about
        message = for_executors(told(file.path, error))
        outcome = Outcome(file.path, status, message=message, error_class=type(error).__name__)
    return replace(
        outcome,
        seconds=time.perf_counter() - started,
        attempt=attempt_number(),
        task_attempt=task_attempt(),
        size_before=file.size,
        version_before=file.version,
    )


def as_listed(file: LakeFile, status: Status, message: str | None) -> Outcome:
    """The outcome of a file that is not opened."""
    return Outcome(
        file.path,
        status,
        message=message,
        error_class=NOT_PASSED_ON if status == "error" else None,
        size_before=file.size,
        size=file.size,
        version_before=file.version,
        version=file.version,
        task_attempt=task_attempt(),
    )


def attempt_number() -> int:
    context = TaskContext.get()
    return 0 if context is None else context.attemptNumber()


def task_attempt() -> int:
    """What Spark calls this attempt at this task, unlike any other of the application."""
    context = TaskContext.get()
    return 0 if context is None else context.taskAttemptId()


def text_of(report: object) -> str:
    """What `--json` prints."""
    return as_json(report).decode()


# ------------------------------------------------------------------------------------------------
# The verbs

# In place of the notes of such an attempt.
UNKNOWN_NOTES = "what it noted is not known"


def build_outcome(
    planned: LakeFile,
    request: Request,
    has_others: Callable[[], bool],
    filters: TakeFilters | None = None,
) -> Outcome:
    """Add filters to one file, in place. `has_others`: as for work_on_file; `filters`: as for build_file."""
    with open_file(planned.path, request.keys.read()) as file:
        options = options_for(file, request)
        take_by_name(file, options)
        if not options.columns:
            is_judged = _advised_on(file, request) is not None
            message = "no column deserves a filter" if is_judged else NOT_JUDGED
            outcome = Outcome(planned.path, "skipped", message=message)
        elif request.only_missing and has_been_built(file, options.columns):
            outcome = Outcome(planned.path, "unchanged", message="each column has filters")
        else:
            report = build_opened(file, options, request.destination, filters)
            outcome = outcome_of_build(report, lacking(file, options))
        return _of_run(planned, file, outcome, request, has_others)


def options_for(file: Container, request: Request) -> BuildOptions:
    """What is to be built in a file; no columns if nothing in its table deserves a filter."""
    options: BuildOptions = request.options
    if request.advised is None:
        return options
    columns = _advised_on(file, request) or ()
    rates = tuple((name, rate) for name, rate in columns if rate is not None)
    return replace(options, columns=tuple(name for name, _ in columns), fpp_of=rates)


def _advised_on(file: Container, request: Request) -> tuple[tuple[str, float | None], ...] | None:
    """What is advised for files with its columns; None if none of these was judged."""
    advised = request.advised or {}
    return advised.get(table_key(file, file.select(request.advised_of)))


def outcome_of_build(report: BuildReport, lacked: Iterable[str]) -> Outcome:
    """The outcome of a build that gave this report. `lacked`: what is said of columns that the file has not got."""
    reasons = list(dict.fromkeys([*(skip.reason for skip in report.skipped), *lacked]))
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
        message="; ".join([DRY_RUN, *reasons] if report.dry_run else reasons) or None,
        document=text_of(report),
    )


def _of_run(
    planned: LakeFile,
    file: Container,
    outcome: Outcome,
    request: Request,
    has_others: Callable[[], bool],
) -> Outcome:
    """An outcome as part of the run: what an attempt has changed that died, the run has changed; of a task that no
    other has begun, somebody else has."""
    if request.destination.dry_run:
        return outcome
    source = file.source
    is_changed = outcome.bytes != 0 or outcome.status in ("added", "removed")
    outcome = replace(
        outcome,
        size=source.size + outcome.bytes,
        version=source.successor if is_changed else source.version,
        requests=_requests(source),
    )
    if planned.size is None or planned.version in (None, source.version):
        return outcome
    grown = source.size + outcome.bytes - planned.size
    if outcome.status == "unchanged" and grown and has_others():
        done: Status = "added" if request.verb == "build" else "removed"
        # How many there were before nobody knows.
        had = _num_filters(file, request) if done == "added" else None
        document = outcome.document and _as_changed(outcome.document, planned, done, grown)
        outcome = replace(
            outcome, status=done, filters=had, message=f"{done} {BY_ANOTHER}", document=document
        )
    return replace(outcome, bytes=grown)


def _as_changed(document: str, planned: LakeFile, done: Status, grown: int) -> str:
    """What `--json` prints of a file with nothing left to do, as that of one that was changed since it was listed.
    Its own notes are about what the other attempt has left."""
    changed = json.loads(document)
    is_build = "bytes_added" in changed
    changed |= {
        "output": planned.path,
        "size_before": planned.size,
        **({"bytes_added": grown} if is_build else {"bytes_removed": -grown}),
        "notes": [f"{done} {BY_ANOTHER}: {UNKNOWN_NOTES}"],
    }
    return as_json(changed).decode()


def _num_filters(file: Container, request: Request) -> int:
    """Of the columns that are built, those of each index group."""
    from parquet_bloom.verbs.inspect import inspect_file

    options = options_for(file, request)
    seen = InspectOptions(columns=options.columns, parts=options.parts)
    return inspect_file(file, seen).num_filters


def _requests(source: Source) -> int | None:
    return None if source.requests is None else source.requests.num_requests


def has_been_built(file: Container, columns: Sequence[str]) -> bool:
    """Whether each column has a filter in some part of the file; other parts may not be fit for one."""
    parts, selected = file.select_parts(None), file.select(columns)
    return bool(parts and selected) and all(
        any(chunk.has_filters for part in parts for chunk in file.chunks(part, (column,)))
        for column in selected
    )


def _strip(planned: LakeFile, request: Request, has_others: Callable[[], bool]) -> Outcome:
    from parquet_bloom.verbs.strip import strip_opened

    with open_file(planned.path, request.keys.read()) as file:
        report = strip_opened(file, request.options, request.destination)
        reasons = [DRY_RUN] * report.dry_run + [*lacking(file, request.options)]
        outcome = Outcome(
            path=planned.path,
            status="removed" if report.removed else "unchanged",
            filters=report.num_filters,
            bytes=report.size_after - report.size_before,
            message="; ".join(reasons) or None,
            document=text_of(report),
        )
        return _of_run(planned, file, outcome, request, has_others)


def _read(file: Container, **given: Any) -> Outcome:
    """The outcome of a verb that only reads an open file."""
    return Outcome(
        file.path,
        "read",
        size=file.source.size,
        version=file.source.version,
        requests=_requests(file.source),
        **given,
    )


def _inspect(planned: LakeFile, request: Request) -> Outcome:
    from parquet_bloom.verbs.inspect import inspect_file

    with open_file(planned.path, request.keys.read()) as file:
        report = inspect_file(file, request.options)
        return _read(file, filters=report.num_filters, document=text_of(report))


def _validate(planned: LakeFile, request: Request) -> Outcome:
    from parquet_bloom.verbs.validate import validate_file

    with open_file(planned.path, request.keys.read()) as file:
        report = validate_file(file, request.options)
        message = "; ".join(dict.fromkeys(finding.message for finding in report.findings)) or None
        filters = report.checked.filters
        document = text_of(report)
        return _read(
            file,
            filters=filters,
            message=message,
            document=document,
            ok=report.ok,
            state=report.state,
        )


def _probe(planned: LakeFile, request: Request) -> Outcome:
    from parquet_bloom.verbs.probe import probe_file

    keys, reports = request.keys.read(), []
    for options in request.options:
        # Opened again, so that each says what it reads by itself.
        with open_file(planned.path, keys) as file:
            reports.append(probe_file(file, options))
            last = _read(file)
    groups = [group for report in reports for group in report.results.groups]
    # However many values are asked for.
    filters = sum(group.was_asked for group in groups)
    is_maybe = not all(report.is_absent for report in reports)
    return replace(
        last, filters=filters, document="\n".join(map(_document_of_probe, reports)), ok=is_maybe
    )


def _document_of_probe(report: ProbeReport) -> str:
    """What `--json` prints. Of many values, `results` lacks those that are like most: they are absent, and
    `num_absent` is their number, or `others` has that with the answers about each of them."""
    results = report.results
    if len(results) <= MOST_WRITTEN_OUT:
        return text_of(report)
    alike = np.flatnonzero(results.alike)
    others = np.delete(np.arange(len(results)), alike)
    document = replace(report, results=results.those_at(others)).to_dict()
    document |= {"num_absent": len(alike), "others": None}
    for one in results.those_at(alike[:1]):
        if one.verdict == "unknown":
            answers = plain(one, units_of(report))
            del answers["value"]
            document |= {"num_absent": 0, "others": {"num_values": len(alike), **answers}}
    return as_json(document).decode()


_READING: dict[str, Callable[[LakeFile, Request], Outcome]] = {
    "inspect": _inspect,
    "probe": _probe,
    "validate": _validate,
}
_CHANGING: dict[str, Callable[[LakeFile, Request, Callable[[], bool]], Outcome]] = {
    "build": build_outcome,
    "strip": _strip,
}
