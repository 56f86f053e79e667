"""An adapter: a program beside an engine that answers questions, a JSON line each.

    it begins with   {"engine": "DuckDB", "version": "2.0.0", "dialect": "duckdb"}
    a question       {"id": "legal/last-group", "path": "…", "sql": "…", "op": "=", "column": "v", "stored": ["…"], …}
    an answer        {"id": …, "rows": [2002]}, {"id": …, "error": "…"} or {"id": …, "skip": "…"}

Rows are integers; any other value is an error. One that dies, or says anything else, has failed at that question,
and is started again for the next one; unless nothing that it says is an answer.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from queue import Empty, Queue
from threading import Thread
from types import TracebackType
from typing import IO, Any, Self

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import AdapterError

# Of a line that an adapter says, so much is shown.
MOST_SHOWN = 200
# Of its errors, and of the end of what it writes to standard error, so much is in a report, and shown to people.
MOST_KEPT = 2000
MOST_READ = 400
# An adapter of which so many lines are no answers, and none is one, says something of its own each time.
MOST_STRAY = 5

# Of its `rows`, each is an int.
Answer = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Greeting:
    """`dialect`: whose SQL it wants, `*` for that of the standard; `inside`: what the engine reads or writes
    Parquet with, if that is another library."""

    engine: str
    version: str
    dialect: str = "*"
    inside: str = ""


class Session:
    """A running adapter. `patience`: how long it may take to start, or to answer, in seconds. Raises AdapterError
    if it does not start, now or again."""

    def __init__(self, command: Sequence[str], patience: float) -> None:
        self._command, self._patience = command, patience
        self._num_answers = self._num_stray = 0
        self.greeting = self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def _start(self) -> Greeting:
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 -- open as long as the process
        try:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr
            )
        except OSError as error:
            self._stderr.close()
            raise AdapterError(_not_started(self._command[0], error)) from None
        self._lines: Queue[bytes] = Queue()
        Thread(target=_listen, args=(self._process.stdout, self._lines), daemon=True).start()
        line, why = self._next()
        try:
            told = {} if line is None else json.loads(line)
            words = {name: told[name] for name in Greeting.__slots__ if name in told}
            if not all(isinstance(word, str) for word in words.values()):
                raise ValueError
            return Greeting(**words)
        except (ValueError, TypeError, KeyError):
            self._end()
            found = abridged(why) or _shown(line)
            wanted = 'expected a first line such as {"engine": "DuckDB", "version": "2.0.0"}'
            raise AdapterError(f"{' '.join(self._command)}: {wanted}, found: {found}") from None

    def ask(self, question: Mapping[str, Any]) -> Answer:
        """What it says, or `{"error": …}` of what keeps it from that."""
        assert self._process.stdin
        # If it is gone, what follows says so.
        with suppress(OSError):
            self._process.stdin.write(json.dumps(question).encode() + b"\n")
            self._process.stdin.flush()
        line, why = self._next()
        if line is not None:
            why = _stray(line, str(question["id"]))
            if not why:
                self._num_answers += 1
                return _answer(line)
            self._num_stray += 1
        # What it says from now on may be about this question.
        self._end()
        if not self._num_answers and self._num_stray == MOST_STRAY:
            raise AdapterError(
                f"nothing was judged: none of the first {MOST_STRAY} lines is an answer: {why}"
            )
        self._start()
        return {"error": why}

    def _next(self) -> tuple[bytes | None, str]:
        """A line, or why there is none."""
        try:
            line = self._lines.get(timeout=self._patience)
        except Empty:
            return None, f"no answer within {self._patience:g} s: does it flush each line?"
        if line:
            return line, ""
        code = self._process.wait()
        how = f"exit code {code}" if code >= 0 else f"signal {-code}"
        return None, f"the adapter ended, {how}{self._last_words()}"

    def _last_words(self) -> str:
        size = self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, size - MOST_KEPT))
        words = on_one_line(self._stderr.read().decode(errors="replace"))
        return f": {words}" if words else ""

    def _end(self) -> None:
        self._process.kill()
        assert self._process.stdin
        # What was not yet sent to one that has died.
        with suppress(OSError):
            self._process.stdin.close()
        self._process.wait()
        self._stderr.close()


def said(answer: Answer) -> str:
    """Why there is no other answer, on one line."""
    reason = answer.get("skip", answer.get("error", answer))
    text = "" if reason is None else on_one_line(str(reason))[:MOST_KEPT]
    return text or f"{'skip' if 'skip' in answer else 'error'}, without a reason"


def on_one_line(text: str) -> str:
    return " ".join(text.split())


def abridged(text: str) -> str:
    """What is long without its middle: a panic begins with its reason, and a traceback ends with it."""
    half = MOST_READ // 2
    return text if len(text) <= MOST_READ else f"{text[:half].rstrip()} … {text[-half:].lstrip()}"


def _not_started(program: str, error: OSError) -> str:
    """With the command that would start it, if it is a file."""
    why = f"{program}: {error.strerror or error}"
    if not os.path.isfile(program):
        return why
    if program.endswith(".py"):
        return f"{why}: expected a program, such as --adapter {shlex.quote(f'python {program}')}"
    here = program if os.path.dirname(program) else f"./{program}"
    return f"{why}: expected a program, which `chmod +x {shlex.quote(here)}` makes of it: --adapter {here}"


def _listen(stdout: IO[bytes], lines: Queue[bytes]) -> None:
    """Until there is nothing more, which is said by an empty line."""
    with stdout:
        for line in stdout:
            lines.put(line)
    lines.put(b"")


_KINDS = ("rows", "written", "error", "skip")


def _stray(line: bytes, id: str) -> str:
    """Why it is no answer to that question, empty if it is one."""
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        return f"expected one line with an answer in JSON, found: {_shown(line)}"
    if found.get("id") != id:
        return f"id: expected that of the question, found: {_shown(line)}"
    if len(found.keys() & {*_KINDS}) != 1:
        return f"expected one of {', '.join(_KINDS)}, found: {_shown(line)}"
    return ""


def _answer(line: bytes) -> Answer:
    """What a line says that is not stray."""
    found: Answer = json.loads(line)
    return _with_row_numbers(found) if "rows" in found else found


def _with_row_numbers(answer: Answer) -> Answer:
    """Its rows as int: `1.0` is the integer 1 in JSON, but text and truth values are none,
    however equal they look."""
    rows = answer["rows"]
    if not isinstance(rows, list):
        return {"error": f"rows: expected a list of integers, found {_as_json(rows)}"}
    for row in rows:
        if not _is_integer(row):
            return {"error": f"rows: expected integers, found {_as_json(row)}"}
    return {**answer, "rows": [int(row) for row in rows]}


def _is_integer(row: Any) -> bool:
    return not isinstance(row, bool) and (
        isinstance(row, int) or (isinstance(row, float) and row.is_integer())
    )


def _as_json(value: Any) -> str:
    """With its type, if it is another one than a number's: `"1", a string`."""
    names = {str: "a string", bool: "a boolean", list: "a list", dict: "an object"}
    return ", ".join(filter(None, (json.dumps(value)[:MOST_SHOWN], names.get(type(value)))))


def _shown(line: bytes | None) -> str:
    text = (line or b"").decode(errors="replace").strip()
    return text[:MOST_SHOWN] or "nothing"
