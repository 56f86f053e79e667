"""One run over a lake: planned and done by the executors, whose own account of it is what is reported.

    begin, list      the plan: sheets of files, see planning
    look             for columns that some files may lack, see uniting
    build parts      of huge files, see parts
    work             the sheets, one to a task, see worker
    finish           what attempts have left that died

The driver holds numbers, whatever the size of the lake. Each action is run once: a DataFrame that
changes files would change them again each time it is looked at.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
import uuid
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from datetime import UTC, datetime
from math import ceil
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as f

from parquet_bloom import __version__
from parquet_bloom.arguments import PATH_OR_URL, path_given
from parquet_bloom.container import number_of
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import ColumnError, SparkError
from parquet_bloom.parallel import Progress
from parquet_bloom.spark.advising import MergingSketches
from parquet_bloom.spark.description import described
from parquet_bloom.spark.executors import Executors
from parquet_bloom.spark.failures import failing, in_one_line
from parquet_bloom.spark.index_commit import committed
from parquet_bloom.spark.listing import (
    STANDS_FOR_NOTHING,
    alternatives,
    errors_here,
    names_for_executors,
)
from parquet_bloom.spark.meter import Meter
from parquet_bloom.spark.outcome import Outcome, Report, Status, TableAdvice, Total, Totals
from parquet_bloom.spark.plan import Plan
from parquet_bloom.spark.planning import (
    ACCOUNTS_AT_ONCE,
    COMPARED_AT_ONCE,
    Planning,
    Search,
    outcomes_of_missing,
    without_files,
)
from parquet_bloom.spark.request import Request, Tasks
from parquet_bloom.spark.run import Account, LakeRun
from parquet_bloom.spark.schemas import CONTROL, OUTCOME, SEEN, TOTAL
from parquet_bloom.spark.uniting import check_some_have
from parquet_bloom.spark.versions import session_given
from parquet_bloom.storage.globs import matches
from parquet_bloom.storage.source import is_hidden

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PLANNING = "parquet_bloom.spark.planning"
TASKS = "parquet_bloom.spark.tasks"
PARTS = "parquet_bloom.spark.parts"
ADVISING = "parquet_bloom.spark.advising"
ENDING = "parquet_bloom.spark.ending"

# Where a run keeps its account in a lake that other machines work on, if it is told no place.
TEMPORARY: Final = ".pbloom-run-"

# As an audit may be called in a lake: globs with `**` look into folders that begin with an underscore, too.
_HIDDEN_NAMES: Final = "_pbloom", ".pbloom"

# Bytes of a manifest whose files one task looks up: as text some 100,000, compressed more.
MANIFEST_AT_ONCE: Final = 8 << 20


# Those that DataFrames read, which do not say how long they live: until the process ends.
_read_later: list[Outcomes] = []


@dataclass(frozen=True)
class Outcomes:
    """The account of a run, read by the executors."""

    executors: Executors
    tasks: Tasks

    @property
    def _per_task(self) -> int:
        """So many that a task has some thousand files."""
        plan = self.tasks.plan
        return max(1, 4000 * plan.num_sheets // max(1, plan.num_files))

    def frame(self) -> DataFrame:
        """Rows of OUTCOME."""
        _read_later.append(self)
        return self._rows(None)

    def _rows(self, statuses: frozenset[Status] | None) -> DataFrame:
        sent = self.tasks, self._per_task, statuses
        num_tasks = 1 + ceil(self.tasks.plan.num_sheets / self._per_task)
        return self.executors.frame(ENDING, "read_outcomes", sent, OUTCOME, num_tasks)

    def each(self, statuses: frozenset[Status] | None, ok: bool | None = None) -> Iterator[Outcome]:
        rows = self._rows(statuses)
        wanted = rows if ok is None else rows.where(f.col("ok") == ok)
        with failing("the account of the run is not read"):
            for row in wanted.toLocalIterator():
                yield Outcome(**row.asDict())

    def here(self) -> Iterator[Outcome] | None:
        account = Account(self.tasks.run)
        return self._read(account) if account.outcome_names() else None

    def _read(self, account: Account) -> Iterator[Outcome]:
        for number in range(self.tasks.plan.num_sheets):
            rows = account.outcomes(name := f"task-{number:06}", OUTCOME.names)
            if rows is None:
                raise FileNotFoundError(errno.ENOENT, f"{name} is not there", account.run.audit)
            yield from (Outcome(**row) for row in rows)


def audit_given(audit: object) -> str | None:
    """The folder of an audit, as executors open it. Raises TypeError."""
    if audit is None:
        return None
    ((_, place),) = names_for_executors([path_given("audit", audit, PATH_OR_URL)])
    return place


def run_id_given(run_id: object, audit: str | None) -> str | None:
    """The id of a run. Raises TypeError, ValueError for one that nobody can find again."""
    if run_id is None:
        return None
    if not (isinstance(run_id, str) and run_id):
        raise TypeError(f"run_id: {run_id!r}, expected a name")
    if audit is None:
        raise ValueError(
            "run_id: expected an audit, in which a run with this id can be found again"
        )
    return run_id


@in_one_line("Spark")
def run_job(
    spark: SparkSession,
    request: Request,
    search: Search,
    *,
    audit: str | None = None,
    run_id: str | None = None,
    progress: Progress | None = None,
) -> Report:
    """Do what is requested with every file; see the verbs for the others. Raises SparkError if
    the job fails as a whole, and for a session that was stopped; if files may be changed by then, it says where the
    account is; FileNotFoundError if no name stands for a file or folder."""
    started_at, verb = datetime.now(UTC), request.verb.replace("_", "-")
    executors, run_id = Executors(session_given(spark)), run_id or uuid.uuid4().hex
    if search.is_empty:
        return Report(verb, run_id, started_at, (), 0.0, audit)
    if _is_here(spark) and search.index is None:
        _check_names(search.names)
    if audit is not None:
        _check_apart(audit, search.names)
    place, is_kept = _account_place(spark, search, audit)
    meter = Meter(spark, progress)
    asked = tuple(_asked_parts(request, search))
    run = LakeRun(place, run_id, verb, _digest(asked), started_at, asked)
    with (
        _leaving_account(run, request, is_kept),
        failing("the Spark job failed", FileNotFoundError),
    ):
        with (
            described(spark, f"{verb}: list the files"),
            meter.tasks(),
            _discarding(executors, Tasks(run, Plan(), request), is_kept),
        ):
            run, plan, was_done = _planned(executors, run, search)
            tasks = Tasks(run, plan, request, search.bounds.least_share)
            check_some_have(executors, tasks)
        # A task that writes a huge file copies all of it once more.
        parts = [search.bounds.part] * plan.num_parts if request.verb == "build" else []
        # Folders have no sizes.
        sheets = [1] * plan.num_sheets if search.as_folders else plan.bytes_of_sheets
        meter.expect(sum(parts) + sum(sheets))
        if parts:
            with (
                described(spark, f"{verb}: {number_of(len(parts), 'part')} of huge files"),
                meter.tasks(parts),
            ):
                executors.documents(PARTS, "build_parts", tasks, len(parts))
        with described(spark, f"{verb}: {plan}"), meter.tasks(sheets):
            totals = _worked(executors, tasks)
        with described(spark, f"{verb}: sum up"):
            advice = _judged(executors, tasks) if verb == "advise" else ()
            index = committed(executors, tasks, search, was_done) if verb == "index" else None
            executors.documents(ENDING, "finish", (tasks, is_kept and not search.is_limited))
    seconds = (datetime.now(UTC) - started_at).total_seconds()
    accounts = Outcomes(executors, tasks)
    if not is_kept:
        weakref.finalize(accounts, _discard, executors, tasks)
    return Report(
        verb,
        run.id,
        run.started_at,
        totals,
        seconds,
        audit=audit and place,
        accounts=accounts,
        advice=advice,
        index=index,
        was_done=was_done,
    )


@contextmanager
def _leaving_account(run: LakeRun, request: Request, is_kept: bool) -> Iterator[None]:
    """Name a temporary account in the error of a job that may have changed files, which it alone tells;
    in a note, if the job was interrupted."""
    if is_kept or request.verb not in ("build", "strip") or request.destination.dry_run:
        yield
        return
    told = f"what was done is in {run.audit}: --audit with this folder and --run-id {run.id} go on with it"
    try:
        yield
    except SparkError as error:
        raise SparkError(f"{error}; {told}") from error
    except KeyboardInterrupt as end:
        end.add_note(told)
        raise


def _asked_parts(request: Request, search: Search) -> Iterator[tuple[str, str]]:
    """Digests of what is asked for, each with its name; the same for runs that leave files in the same state."""
    yield "verb", _digest(request.verb)
    # Of a probe, for each column.
    several = request.options if isinstance(request.options, tuple) else (request.options,)
    for options in (several, (request.destination,)):
        for each in fields(options[0]):
            yield each.name, _digest([getattr(one, each.name) for one in options])
    yield "only_missing", _digest(request.only_missing)
    yield "advice", _digest(request.advised)
    yield "keys", _digest(request.keys)
    # Manifests have the same files under other names, or other files under the same.
    yield "names", _digest("manifest" if search.manifest else [place for _, place in search.names])
    # Another version of the package may know better what is complete.
    yield "version of this package", _digest(__version__)


def _digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode(errors="surrogateescape")).hexdigest()[:16]


def _account_place(spark: SparkSession, search: Search, audit: str | None) -> tuple[str, bool]:
    """The folder for the account of a run, and whether it is kept. Raises SparkError if it has no
    place."""
    if audit is not None:
        return audit, True
    if _is_here(spark):
        return tempfile.mkdtemp(prefix="pbloom-run-"), False
    if search.manifest is not None:
        raise SparkError(
            f"{search.manifest.path}: a manifest on a cluster: expected an audit (--audit), the folder in"
            " which executors keep their account"
        )
    if not search.names and not search.files and search.index is not None:
        # Of a table without files.
        return f"{search.index.place}/{TEMPORARY}{uuid.uuid4().hex[:16]}", False
    first = search.names[0][1] if search.names else (search.files or ())[0].path
    fixed = first.partition("*")[0].partition("{")[0].rstrip("/")
    folder = fixed if fixed == first.rstrip("/") else os.path.dirname(fixed)
    if folder.endswith((".parquet", ".parq", ".pq", ".orc")):
        folder = os.path.dirname(folder)
    return f"{folder}/{TEMPORARY}{uuid.uuid4().hex[:16]}", False


def _is_here(spark: SparkSession) -> bool:
    """Whether executors have the files of this machine."""
    return str(spark.conf.get("spark.master", "")).startswith("local")


def _check_names(names: Sequence[tuple[str, str]]) -> None:
    """Raise FileNotFoundError if all names are those of files and folders, and none is there."""
    for error in errors_here([name for name, _ in names]):
        raise error


def _check_apart(audit: str, names: Sequence[tuple[str, str]]) -> None:
    """Raise ValueError for an audit whose files would be some of the lake, to the next run and to all who read it."""
    above = audit.rstrip("/").rpartition("/")[0]
    for name, place in names:
        if _is_read_as(audit, place):
            hidden = [each for each in _HIDDEN_NAMES if not _is_read_as(f"{above}/{each}", place)]
            such = f", or one with a name such as {' or '.join(hidden)}" * bool(hidden)
            raise ValueError(
                f"audit: {audit}: its files would be read as those of {name}: expected a folder elsewhere{such}"
            )


def _is_read_as(audit: str, place: str) -> bool:
    """Whether files of an audit would be found by the name of those of the lake."""
    # As the outcomes of all tasks of all runs are called.
    there = f"{audit.rstrip('/')}/run_id=0/task-000000.parquet".split("/")
    return any(_finds(pattern.rstrip("/").split("/"), there) for pattern in alternatives(place))


def _finds(pattern: Sequence[str], file: Sequence[str]) -> bool:
    """Whether a glob matches a file, or a folder above it that is not hidden from there on."""
    ends = range(1, len(file) + 1)
    return any(matches(file[:end], pattern) and not any(map(is_hidden, file[end:])) for end in ends)


@contextmanager
def _discarding(executors: Executors, tasks: Tasks, is_kept: bool) -> Iterator[None]:
    """Remove the account of a run that has found nothing, unless it is kept."""
    try:
        yield
    except (FileNotFoundError, ColumnError):
        if not is_kept:
            _discard(executors, tasks)
        raise


def _discard(executors: Executors, tasks: Tasks) -> None:
    """Remove the account of a run that nobody can ask for any more."""
    place = tasks.run.audit
    if os.path.basename(place).startswith(TEMPORARY):
        # The session may have ended: then it stays, hidden, for whoever looks.
        with suppress(Exception):
            executors.documents(ENDING, "discard", tasks)
    else:
        shutil.rmtree(place, ignore_errors=True)


# ------------------------------------------------------------------------------------------------
# The plan


def _planned(executors: Executors, run: LakeRun, search: Search) -> tuple[LakeRun, Plan, bool]:
    """The run as it was started, its plan, and whether all of that was done before."""
    (begun,) = executors.documents(PLANNING, "begin", Planning(run, search))
    # They are in sheets now.
    search = replace(search, files=None)
    run = run.since(begun["run"]["started_at"])
    plan = Plan.of(begun["plan"])
    if begun["is_settled"]:
        return run, plan, begun.get("is_done", False)
    plan = _listed(executors, Planning(run, search), plan, begun)
    if begun["earlier"] or search.has_rows or search.index is not None:
        earlier = tuple((name, account) for name, account in begun["earlier"])
        planning = Planning(run, search, plan, earlier=earlier)
        plan = _compared(executors, planning, begun["manifest_bytes"])
    _check_found(search, plan)
    executors.documents(PLANNING, "settle", Planning(run, search, plan))
    return run, plan, False


def _check_found(search: Search, plan: Plan) -> None:
    """Raise FileNotFoundError if no name stands for a file or folder; an index has a word of its own on names that it
    knows."""
    nothing = [(name, said) for name, said in plan.missing if said in STANDS_FOR_NOTHING]
    if nothing and nothing == [*plan.missing] and not plan.num_files and search.index is None:
        (name, said), *_ = nothing
        raise FileNotFoundError(errno.ENOENT, said, name)


def _listed(executors: Executors, planning: Planning, plan: Plan, begun: dict[str, Any]) -> Plan:
    """The plan with what is in the folders that were handed back."""
    left, found = begun["left"], set(begun["found"])
    while left:
        planning = replace(planning, round=planning.round + 1, units=tuple(left))
        left = []
        for listed in executors.documents(PLANNING, "list_folders", planning, len(planning.units)):
            plan += Plan.of(listed["plan"])
            left += listed["left"]
            found |= set(listed["found"])
    return plan + Plan(missing=without_files(begun["folders"], found))


def _compared(executors: Executors, planning: Planning, manifest_bytes: int) -> Plan:
    """The plan with the files of a manifest, and with what is known from earlier runs: files and earlier
    outcomes meet by folder."""
    plan = planning.plan
    num_known = planning.search.num_segments + ceil(len(planning.earlier) / ACCOUNTS_AT_ONCE)
    num_tasks = plan.num_sheets + 1 + num_known
    num_compared = 1 + plan.num_files // COMPARED_AT_ONCE + manifest_bytes // MANIFEST_AT_ONCE
    rows = (
        executors.frame(PLANNING, "listed_files", planning, SEEN, num_tasks)
        .repartition(num_compared, "folder")
        .sortWithinPartitions("folder", "path", f.desc("is_earlier"))
        .mapInArrow(executors.work(PLANNING, "leave_complete", planning), CONTROL)
        .collect()
    )
    compared = Plan(missing=plan.missing)
    for row in rows:
        compared += Plan.of(json.loads(row.document)["plan"])
    return compared


# ------------------------------------------------------------------------------------------------
# The work


def _worked(executors: Executors, tasks: Tasks) -> tuple[Total, ...]:
    totals = Totals()
    for outcome in outcomes_of_missing(tasks.plan):
        totals.add(outcome)
    if not tasks.plan.num_sheets:
        return totals.all()
    frame = executors.frame(TASKS, "work", tasks, TOTAL, tasks.plan.num_sheets)
    sums = [
        f.sum(name).alias(name) for name in ("files", "filters", "bytes", "seconds", "requests")
    ]
    others = f.max("attempt").alias("attempt"), f.min("example").alias("example")
    rows = frame.groupBy("status", "reason").agg(*sums, *others).collect()
    for row in rows:
        totals.add_total(Total(**row.asDict()))
    return totals.all()


def _judged(executors: Executors, tasks: Tasks) -> tuple[TableAdvice, ...]:
    merging = MergingSketches.of(tasks)
    while merging.num_sketches > 1:
        executors.documents(ADVISING, "merge", merging, merging.num_merged)
        merging = replace(merging, round=merging.round + 1, num_sketches=merging.num_merged)
    judged = tasks.request.options.columns
    return tuple(
        TableAdvice(each["key"], tuple(map(tuple, each["columns"])), judged, each["text"])
        for each in executors.documents(ADVISING, "judge", merging)
    )
