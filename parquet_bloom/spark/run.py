"""A run, and where its executors keep what they are about to do and what they did.

    AUDIT/run_id=ID/task-000017.parquet     what became of the files of one task: rows of OUTCOME
    AUDIT/_runs/ID/sheet-0-51-000017        the files of that task, as they were when they were listed
    AUDIT/_runs/ID/began-000017-0           the first attempt at the task, which may have died
    AUDIT/_runs/ID/plan.json                how many sheets there are, once everything is listed
    AUDIT/_runs/started.TIME.ASKED.ID       the runs by time and by what was asked for
    AUDIT/_runs/finished.TIME.ASKED.ID

A file appears whole or not at all, and the first one stays. So each task has one account, however often
it is attempted, nothing that grows with the lake goes through the driver, and a run that died goes on
under the same id. Readers of folders leave out `_runs`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from urllib.parse import quote

import pyarrow as pa

from parquet_bloom.dataclass import dataclass
from parquet_bloom.spark.rows import RowFields, packed, unpacked
from parquet_bloom.storage import writable_folder
from parquet_bloom.storage.source import is_url

_TIME = "%Y%m%dT%H%M%S.%fZ"


@dataclass(frozen=True, slots=True)
class LakeRun:
    """One run. `audit`: a folder, as executors open it; `asked`: a digest of what was asked for, the
    same for runs that leave files in the same state; `asked_parts`: those of each option and the like, by name."""

    audit: str
    id: str
    verb: str
    asked: str
    started_at: datetime
    asked_parts: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """Of its files below the audit."""
        return quote(self.id, safe="")

    def since(self, started_at: str) -> LakeRun:
        """The same, which somebody started at that time."""
        return replace(self, started_at=datetime.fromisoformat(started_at))

    @property
    def marker(self) -> str:
        return f"{self.started_at.astimezone(UTC):{_TIME}}.{self.asked}.{self.name}"


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """A run as its marker tells."""

    started_at: datetime
    asked: str
    name: str
    is_finished: bool


class Account:
    """The files of a run below its audit, as executors read and write them. Methods raise OSError."""

    def __init__(self, run: LakeRun) -> None:
        self.run = run
        self._folder = writable_folder(run.audit)
        self._own = f"_runs/{run.name}"
        self._outcomes = f"run_id={run.name}"

    def put(self, name: str, data: bytes) -> bool:
        """Keep what the run needs by itself; False if it has it already."""
        return self._put(f"{self._own}/{name}", data)

    def get(self, name: str) -> bytes | None:
        try:
            return self._folder.read(f"{self._own}/{name}")
        except FileNotFoundError:
            return None

    def names(self) -> list[str]:
        """Of what the run has put, sorted."""
        return [entry.name for entry in self._folder.entries(self._own)]

    def put_outcomes(self, name: str, rows: Iterable[RowFields], schema: pa.Schema) -> bool:
        """Keep the account of a task; False if there is one."""
        return self._put(self._file_of(name), packed(rows, schema))

    def outcomes(self, name: str, columns: Sequence[str] | None = None) -> list[RowFields] | None:
        """The account of a task; None if there is none yet."""
        try:
            data = self._folder.read(self._file_of(name))
        except FileNotFoundError:
            return None
        return unpacked(data, columns)

    def outcome_names(self, of: str | None = None, since: float | None = None) -> list[str]:
        """Of the accounts of this run, or of the run of that name, sorted; those written since then, in
        seconds since 1970."""
        entries = self._folder.entries(self._outcomes if of is None else f"run_id={of}")
        return [
            entry.name.removesuffix(".parquet")
            for entry in entries
            if since is None or entry.modified >= since * 1000
        ]

    def outcomes_of(self, run: str, name: str, columns: Sequence[str]) -> list[RowFields]:
        """The account of a task of another run; nothing if somebody has removed it."""
        try:
            data = self._folder.read(f"run_id={run}/{name}.parquet")
        except FileNotFoundError:
            return []
        return unpacked(data, columns)

    def mark(self, what: str) -> None:
        """Say that the run has `started` or `finished`."""
        self._put(f"_runs/{what}.{self.run.marker}", b"")

    def runs(self) -> list[EarlierRun]:
        """The runs that this audit knows, the latest first."""
        found: dict[str, EarlierRun] = {}
        for entry in self._folder.entries("_runs"):
            what, _, rest = entry.name.partition(".")
            day, fraction, asked, name = (*rest.split(".", 3), "", "", "")[:4]
            if what in ("started", "finished") and name:
                began = datetime.strptime(f"{day}.{fraction}", _TIME).replace(tzinfo=UTC)
                is_finished = what == "finished" or (rest in found and found[rest].is_finished)
                found[rest] = EarlierRun(began, asked, name, is_finished)
        return sorted(found.values(), key=lambda run: run.started_at, reverse=True)

    def _file_of(self, name: str) -> str:
        return f"{self._outcomes}/{name}.parquet"

    def _put(self, name: str, data: bytes) -> bool:
        if not is_url(self.run.audit):
            os.makedirs(os.path.dirname(os.path.join(self.run.audit, name)), exist_ok=True)
        return self._folder.put_if_absent(name, data)


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt at a task, which is marked before it changes anything; `number`: from 0 on, whatever the
    application."""

    account: Account
    task: int
    number: int

    @classmethod
    def begun(cls, account: Account, task: int, about: RowFields) -> Attempt:
        number = 0
        while not account.put(_mark(task, number), as_document(about)):
            number += 1
        return cls(account, task, number)

    def has_others(self) -> bool:
        """Whether there are others by now, which may have changed files of the task."""
        return self.number > 0 or self.account.get(_mark(self.task, 1)) is not None


def _mark(task: int, number: int) -> str:
    return f"began-{task:06}-{number}"


def as_document(value: object) -> bytes:
    return json.dumps(value, sort_keys=True).encode()
