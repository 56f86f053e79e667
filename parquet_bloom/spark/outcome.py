"""What became of the files of a lake."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, field
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Protocol, get_args

import pyarrow as pa

from parquet_bloom.container import number_of
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import UnsupportedError, quoted_name
from parquet_bloom.index.manifest import changes_in_words, unknown_in_words
from parquet_bloom.spark.rows import RowFields
from parquet_bloom.spark.schemas import OUTCOME
from parquet_bloom.spark.versions import arrow_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from parquet_bloom.spark.run import LakeRun

Status = Literal["added", "removed", "read", "unchanged", "skipped", "refused", "error"]

# What was asked for was not done.
TROUBLE: frozenset[Status] = frozenset({"refused", "error"})

# How the message of an outcome begins if nothing was written.
DRY_RUN = "dry run"

# Why nothing is built in a file that is none of those that the advice is about.
NOT_JUDGED = "the advice did not judge files with these columns"

# Who has changed a file since the run listed it, if nothing is left to do in it. Also the reason of files whose
# filters nobody has counted.
BY_ANOTHER = "by an attempt of this run that left no account"

# The class of the error of a file whose name Spark cannot pass on.
NOT_PASSED_ON = UnsupportedError.__name__

# The reason of files whose outcome is not `ok`.
NOT_OK = "no"

# What validate calls files in which nothing is wrong, and those in which something is.
OK_STATE, NOT_OK_STATE = "ok", "not ok"

# Verbs that only say what there is.
READING = frozenset({"advise", "inspect", "probe", "validate"})


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one file.

    `status`: filters were `added` or `removed` (also if they were to be replaced, and no new one is
    allowed); the file was `read` by a verb that writes nothing; it is `unchanged`, as there was
    nothing to do; it was `skipped`, as nothing in it can have a filter, or `refused`, as it should
    not be changed; or there was an `error`. `message` says why, and `error_class` of the latter two, which error of
    Python it was: it is the same for many files, as no message is. `filters`: how many were added, removed or found,
    or asked by a probe, in ORC files those of all index groups, None if nobody knows; `bytes`: how much the file has
    grown since the run listed it. `seconds` on the executor, in attempt `attempt` (from 0) at the task, which Spark
    calls `task_attempt`. `document`: what the same verb on one file prints with `--json`, a line for each column of
    a probe, without most of many values, which are alike; None for an error, and for a file that was not opened.
    `size_before`, `size` and `version_before`, `version` (the ETag, or else the time of the last change): when it
    was listed, and afterwards; None where nobody tells. `requests`: sent to the object store that has it. `ok`:
    whether findings are below the limit, or any of the values may be there; None for other verbs. `dry_run`: nothing
    was written, `status` and numbers say what would be done. `state`: what validate calls the file, see
    ValidationReport; None for other verbs.
    """

    path: str
    status: Status
    filters: int | None = 0
    bytes: int = 0
    seconds: float = 0.0
    attempt: int = 0
    message: str | None = None
    error_class: str | None = None
    document: str | None = None
    size_before: int | None = None
    size: int | None = None
    version_before: str | None = None
    version: str | None = None
    task_attempt: int | None = None
    requests: int | None = None
    ok: bool | None = None
    dry_run: bool = False
    state: str | None = None


@dataclass(frozen=True, slots=True)
class Total:
    """Files with the same status and, where nothing was done, the same reason: of trouble, the class of the error, of
    validate, the state, if that is not `ok`, and of those whose filters nobody has counted, why;
    `seconds` of all executors, `attempt`: the highest; `example`: of trouble, one of the files, and what is said of
    it."""

    status: Status
    reason: str
    files: int = 0
    filters: int = 0
    bytes: int = 0
    seconds: float = 0.0
    requests: int = 0
    attempt: int = 0
    example: str | None = None

    @property
    def state(self) -> str:
        """The status as people read it: of a dry run, what would be done."""
        is_dry = self.reason == DRY_RUN and self.status in ("added", "removed")
        return f"would be {self.status}" if is_dry else self.status

    @property
    def is_counted(self) -> bool:
        """Whether `filters` has those of all files."""
        return self.reason != BY_ANOTHER


# What nothing was done to, for all kinds of reasons.
_UNTOUCHED: frozenset[Status] = frozenset({"unchanged", "skipped"})

# Columns that are named in one line.
MOST_NAMED = 10

# Reasons of trouble that are told in one line; a last one takes no more room than that there is another.
MOST_TROUBLES = 3

# Reasons that are told apart in the totals of a task.
MOST_REASONS = 100


class Totals:
    """Adds outcomes up."""

    def __init__(self) -> None:
        self._sums: dict[tuple[Status, str], Total] = {}

    def add(self, outcome: Outcome) -> None:
        self.add_total(
            Total(
                outcome.status,
                _reason(outcome),
                1,
                outcome.filters or 0,
                outcome.bytes,
                outcome.seconds,
                outcome.requests or 0,
                outcome.attempt,
                _example(outcome),
            )
        )

    def add_total(self, total: Total) -> None:
        key = total.status, total.reason
        is_one_more = key not in self._sums and total.status in _UNTOUCHED
        if is_one_more and len(self._sums) >= MOST_REASONS:
            key = total.status, "other reasons"
        so_far = self._sums.get(key) or Total(*key)
        self._sums[key] = Total(
            *key,
            files=so_far.files + total.files,
            filters=so_far.filters + total.filters,
            bytes=so_far.bytes + total.bytes,
            seconds=so_far.seconds + total.seconds,
            requests=so_far.requests + total.requests,
            attempt=max(so_far.attempt, total.attempt),
            example=so_far.example or total.example,
        )

    def all(self) -> tuple[Total, ...]:
        return tuple([self._sums[key] for key in sorted(self._sums)])


def _reason(outcome: Outcome) -> str:
    message = outcome.message or ""
    if outcome.status in _UNTOUCHED:
        return message
    if outcome.status in TROUBLE:
        return outcome.error_class or ""
    if outcome.ok is False:
        return NOT_OK
    if outcome.filters is None:
        return BY_ANOTHER
    if outcome.state not in (None, OK_STATE):
        return outcome.state
    return DRY_RUN if outcome.dry_run else ""


def _example(outcome: Outcome) -> str | None:
    if outcome.status not in TROUBLE or outcome.message is None:
        return None
    return f"{outcome.path}: {outcome.message.removeprefix(f'{outcome.path}: ')}"


def _trouble_in_words(total: Total) -> str:
    """`3 error: FooterError, such as a.parquet: 1 bytes`: another file may have another reason."""
    what = ": ".join(filter(None, (f"{total.files:,} {total.state}", total.reason)))
    if total.example is None:
        return what
    return f"{what}{', such as' if total.files > 1 else ':'} {total.example}"


def rows_of(run: LakeRun, outcomes: Iterable[Outcome]) -> Iterator[RowFields]:
    """Rows of ACCOUNT."""
    about = {"verb": run.verb, "started_at": run.started_at}
    for outcome in outcomes:
        # For each file: asdict would take ten times as long.
        yield about | {name: getattr(outcome, name) for name in OUTCOME.names}


@dataclass(frozen=True, slots=True)
class TableAdvice:
    """The advice on files with the same columns, told by `key`: the columns that deserve a filter, each
    with the rate that a budget allows, None for the usual one; `judged`: of which columns, None for all;
    `text`: what `pbloom advise --json` prints of the table."""

    key: str
    columns: tuple[tuple[str, float | None], ...]
    judged: tuple[str, ...] | None
    text: str


@dataclass(frozen=True, slots=True)
class LakeIndex:
    """An index in a folder, of so many `files`, as a run has left it. `generation`: of its manifest; `unknown`: how
    many of the files are unknown in every answer, about any column, also if an earlier run has read them; `failed`:
    how many of these cannot be read in full; `added`, `changed`, `removed`: how many are new in it by this run, are
    in another state than before, or are gone, None if the run had done all files before and nothing is to be changed,
    as it may have changed the index then; `keys`, `filters`, `bytes_written`: of the `new` segments."""

    index: str
    generation: int
    files: int
    unknown: int
    failed: int
    added: int | None
    changed: int | None
    removed: int | None
    segments: int
    new: int
    keys: int
    filters: int
    bytes_written: int

    @property
    def unknown_in_words(self) -> str:
        return unknown_in_words(self.unknown, self.failed)

    @property
    def changes_in_words(self) -> str:
        if self.added is None or self.changed is None or self.removed is None:
            return "not known what was added, changed or removed"
        return changes_in_words(self.added, self.changed, self.removed)


class Accounts(Protocol):
    """What the tasks of a run have said of its files, wherever that is."""

    def each(self, statuses: frozenset[Status] | None, ok: bool | None = None) -> Iterator[Outcome]:
        """The outcomes of some statuses, None for all, and with that `ok`, None for any. Raises SparkError."""

    def here(self) -> Iterator[Outcome] | None:
        """All of them, read by this process; None if it does not have the account. Raises OSError."""

    def frame(self) -> DataFrame:
        """All of them, as rows of OUTCOME."""


@dataclass(frozen=True)
class Report:
    """What became of all files; the run `run_id` began at `started_at`, and this call took `seconds`: of a run that
    was killed and has gone on, its last part alone. `totals` is small whatever the lake; whoever asks for single
    files reads the run's own account of them, which is in the folder `audit`: kept if the run was given one, else as
    long as this report. `advice`: of advise, what build takes of it, for each table; `documents` says it in full.
    `index`: of index, as it is by then; None if there were no files to make one of. `asked`: of probe, the values, as
    documents have them. `was_done`: whether a run of that id had done all files before: then this is its account."""

    verb: str
    run_id: str
    started_at: datetime
    totals: tuple[Total, ...]
    seconds: float
    audit: str | None = None
    accounts: Accounts | None = field(default=None, repr=False, compare=False)
    advice: tuple[TableAdvice, ...] = ()
    index: LakeIndex | None = None
    asked: tuple[str, ...] = field(default=(), repr=False)
    was_done: bool = False

    @property
    def counts(self) -> dict[Status, int]:
        """How many files have each status, if any has."""
        counted = dict.fromkeys(get_args(Status), 0)
        for total in self.totals:
            counted[total.status] += total.files
        return {status: count for status, count in counted.items() if count}

    @property
    def num_not_ok(self) -> int:
        """Files whose outcome is not `ok`: of validate, with findings that fail them; of probe, in which every value
        is absent."""
        return sum(total.files for total in self.totals if total.reason == NOT_OK)

    @property
    def states(self) -> dict[str, int]:
        """Of validate: how many files it calls `ok`, `not ok`, or `unknown` and the like, see ValidationReport."""
        counted: Counter[str] = Counter()
        for total in self.totals:
            if total.status == "read":
                reason = NOT_OK_STATE if total.reason == NOT_OK else total.reason
                counted[reason or OK_STATE] += total.files
        return dict(sorted(counted.items()))

    @property
    def ok(self) -> bool:
        """Whether no file was refused or failed, nor validate says of any that it is not right, nor an index knows of
        any that cannot be read in full."""
        is_right = self.verb != "validate" or not self.num_not_ok
        is_right &= self.index is None or not self.index.failed
        return is_right and TROUBLE.isdisjoint(self.counts)

    @property
    def is_absent(self) -> bool:
        """Of probe: whether no value can be in any of the files; not if one was refused or failed."""
        return self.ok and self.num_not_ok == self.files

    @property
    def counts_in_words(self) -> str:
        """`2 would be added, 1 error`, and what the verb answers: `10 read, 3 not ok`, `10 read, 7 may have a value`,
        `10 refused, none read`; empty if there are no files."""
        states = {total.status: total.state for total in self.totals}
        counted = [f"{count:,} {states[status]}" for status, count in self.counts.items()]
        return ", ".join([*counted, *self._answer_in_words()])

    @property
    def run_in_words(self) -> str:
        """`; by run nightly of 2026-11-20 06:00:00 UTC, which had done all files before`, empty of any other run."""
        began = f"{self.started_at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
        return f"; by run {self.run_id} of {began}, which had done all files before" * self.was_done

    def _answer_in_words(self) -> Iterator[str]:
        num_read = self.counts.get("read", 0)
        if self.verb in READING and self.counts and not num_read:
            yield "none read"
        elif self.verb == "validate":
            told = sorted(self.states.items(), key=lambda each: each[0] != NOT_OK_STATE)
            yield from (f"{count:,} {state}" for state, count in told if state != OK_STATE)
        elif self.verb == "probe" and num_read:
            yield f"{num_read - self.num_not_ok:,} may have a value"

    @property
    def files(self) -> int:
        return sum(total.files for total in self.totals)

    @property
    def filters(self) -> int:
        return sum(total.filters for total in self.totals)

    @property
    def num_uncounted(self) -> int:
        """Files whose filters are not in `filters`: an attempt of the run has removed them that left no account."""
        return sum(total.files for total in self.totals if not total.is_counted)

    @property
    def bytes(self) -> int:
        return sum(total.bytes for total in self.totals)

    @property
    def requests(self) -> int:
        return sum(total.requests for total in self.totals)

    @property
    def core_hours(self) -> float:
        """Of executors, at work on files."""
        return sum(total.seconds for total in self.totals) / 3600

    def each(
        self, statuses: Iterable[Status] | None = None, *, ok: bool | None = None
    ) -> Iterator[Outcome]:
        """The outcomes one by one, those of neighbours together; of some statuses, or of all. ok: only those that
        are, or are not, `ok`, as validate and probe say. A job reads the account, whenever it is called.
        Raises SparkError."""
        wanted = None if statuses is None else frozenset(statuses)
        if self.accounts is not None and (wanted is None or wanted & self.counts.keys()):
            yield from self.accounts.each(wanted, ok)

    def each_here(self) -> Iterator[Outcome]:
        """All outcomes, read by this process if it has the account: then Spark's limit of what a job
        returns to the driver does not limit their number. Raises SparkError, OSError."""
        found = None if self.accounts is None else self.accounts.here()
        return self.each() if found is None else found

    @cached_property
    def outcomes(self) -> tuple[Outcome, ...]:
        """All of them, sorted by path: for a lake whose outcomes fit into memory."""
        return tuple(sorted(self.each(), key=lambda outcome: outcome.path))

    @cached_property
    def troubles(self) -> tuple[Outcome, ...]:
        """The files that were refused or failed, sorted by path: of which nothing is known. A file that was read and
        is not right is none of them: see `each` and `documents` with ok=False."""
        return tuple(sorted(self.each(TROUBLE), key=lambda outcome: outcome.path))

    def documents(self, *, ok: bool | None = None) -> Iterator[RowFields]:
        """What the same verb on one file prints with `--json`, for each file that has it; of advise, for
        each table. A probe of many values leaves out those that are like most, see there. ok: as for each."""
        yield from map(json.loads, self.lines(ok=ok))

    def lines(self, *, ok: bool | None = None) -> Iterator[str]:
        """The same as text; of a probe, one for each file and column."""
        yield from (each.text for each in self.advice)
        for outcome in self.each(ok=ok):
            if outcome.document is not None:
                yield from outcome.document.split("\n")

    def summary(self) -> str:
        """One line; of trouble, with the reasons that most files have, and one of the files of each."""
        return (
            f"{self.verb}: {number_of(self.files, 'file')} in {self.seconds:.1f} s:"
            f" {self.counts_in_words or 'none'}; {number_of(self.filters, 'filter')}{self._besides()},"
            f" {number_of(self.bytes, 'byte')}{self.run_in_words}{self._result()}{self._not_judged()}"
            f"{self._most_troubles()}"
        )

    def __repr__(self) -> str:
        return f"<{self.summary()}>"

    def _besides(self) -> str:
        return f" besides those of {number_of(self.num_uncounted, 'file')}" * bool(
            self.num_uncounted
        )

    def _result(self) -> str:
        """What came of all files together."""
        if (index := self.index) is not None:
            new = f"{number_of(index.keys, 'key')} in {number_of(index.new, 'new segment')}"
            files = f"{number_of(index.files, 'file')}{index.unknown_in_words}"
            return f"; index of {files}: {index.changes_in_words}; {new}"
        if not self.advice:
            return ""
        names = [*dict.fromkeys(name for table in self.advice for name, _ in table.columns)]
        more = f", … ({len(names):,} in all)" if len(names) > MOST_NAMED else ""
        return (
            f"; recommended: {', '.join(map(quoted_name, names[:MOST_NAMED])) or 'no filter'}{more}"
        )

    def _not_judged(self) -> str:
        """That some files may need filters, which is no trouble."""
        files = sum(total.files for total in self.totals if total.reason == NOT_JUDGED)
        return f"; {files:,} skipped: {NOT_JUDGED}" * bool(files)

    def _most_troubles(self) -> str:
        trouble = [total for total in self.totals if total.status in TROUBLE]
        trouble.sort(key=lambda total: -total.files)
        most = len(trouble) if len(trouble) <= MOST_TROUBLES + 1 else MOST_TROUBLES
        told = [f"; {_trouble_in_words(each)}" for each in trouble[:most]]
        others = sum(total.files for total in trouble[most:])
        return "".join(told) + f"; {others:,} more, for other reasons" * bool(others)

    def to_dict(self) -> dict[str, object]:
        """What the command prints with --totals."""
        return {
            "verb": self.verb,
            "run_id": self.run_id,
            "started_at": self.started_at.isoformat(),
            "seconds": self.seconds,
            "files": self.files,
            "counts": self.counts,
            "ok": self.ok,
            "not_ok": self.num_not_ok,
            "filters": self.filters,
            "uncounted": self.num_uncounted,
            "bytes": self.bytes,
            "requests": self.requests,
            "core_hours": self.core_hours,
            "audit": self.audit,
            "was_done": self.was_done,
            **({"states": self.states} if self.verb == "validate" else {}),
            **({} if self.index is None else {"index": asdict(self.index)}),
        }

    def to_arrow(self) -> pa.Table:
        """One row for each file, as parquet_bloom.spark.OUTCOME has it, sorted by path."""
        rows = [asdict(outcome) for outcome in self.outcomes]
        return pa.Table.from_pylist(rows, schema=arrow_schema(OUTCOME))

    def to_df(self, spark: SparkSession) -> DataFrame:
        """The same as a DataFrame, not sorted. It reads the account: using it does not repeat the
        job."""
        if self.accounts is None:
            return spark.createDataFrame([], OUTCOME)
        return self.accounts.frame()
