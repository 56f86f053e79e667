"""A command under strace, from the opening of its source on: which system calls it makes, and what it
does when one of them is its last or fails."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

ROOT = Path(__file__).parents[2]
FORKING = Path(__file__).with_name("forking.py")

# What no fault of a disk or of memory ends: locks, signals, who and where a thread is, giving back.
NOT_TRACED = (
    *("futex", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigtimedwait"),
    *("gettid", "getpid", "sched_getaffinity", "sched_yield", "rseq", "set_robust_list"),
    *("restart_syscall", "munmap", "madvise", "exit", "exit_group", "clock_gettime"),
)
KILLED = "killed"
_INJECTIONS = {
    KILLED: "signal=KILL",
    "EIO": "error=EIO",
    "ENOSPC": "error=ENOSPC",
    "ENOMEM": "error=ENOMEM",
}

_LINE = re.compile(r"(\d+) +(\w+)\(")
PATIENCE_SECONDS = 10

# The package of this checkout, wherever the command runs. OpenBLAS and Arrow's allocator would start threads when
# they are imported, which do not survive a fork.
ENVIRONMENT = os.environ | {
    "PYTHONPATH": str(ROOT),
    "OPENBLAS_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}


class CannotTraceError(Exception):
    """There is no strace, or it may not trace."""


@dataclass(frozen=True)
class Fault:
    """At the call of some name with this number, counted from 1 in each thread."""

    kind: str
    call: str
    number: int

    @property
    def injection(self) -> str:
        """What strace is told."""
        if (self.kind, self.call) == ("ENOMEM", "brk"):
            # It never returns an error, but where the memory ends: the C library goes on by that.
            return "retval=0"
        if (self.kind, self.call) == ("EIO", "getrandom"):
            # It reads no device: all that a system may refuse is the call itself.
            return "error=ENOSYS"
        return _INJECTIONS[self.kind]

    def __str__(self) -> str:
        return f"{self.kind} at {self.call} {self.number}"


@dataclass(frozen=True)
class Done:
    """How a command ended, with the code None if it had to be ended; `is_met`: whether it came to the
    call of the fault."""

    code: int | None
    stdout: str
    stderr: str
    is_met: bool
    calls: frozenset[tuple[str, int]]


class Traced:
    """A command in `folder`, where it reads the file `in`. Runs share the state up to the opening of
    `in`, and unless `cold` what is imported later; each takes a few hundredths of a second. Logs go
    into the folder above."""

    def __init__(self, arguments: tuple[str, ...], folder: Path, cold: bool = False) -> None:
        self._log, self._stdout, self._stderr = (
            folder.with_name(f"{folder.name}.{name}") for name in ("log", "stdout", "stderr")
        )
        answers, far_end = os.pipe()
        start = "cold" if cold else "warm"
        self._answers = os.fdopen(answers)
        with self._stdout.open("ab") as stdout, self._stderr.open("ab") as stderr:
            self._forking = subprocess.Popen(
                [sys.executable, str(FORKING), start, str(far_end), *arguments],
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=stdout,
                stderr=stderr,
                bufsize=0,
                pass_fds=[far_end],
                env=ENVIRONMENT,
            )
        os.close(far_end)
        assert self._answers.readline() == "ready\n", self._stderr.read_text()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._forking.stdin is not None
        self._forking.stdin.close()
        self._forking.wait(PATIENCE_SECONDS)
        self._answers.close()

    def run(self, fault: Fault | None = None) -> Done:
        """Once, from the opening of `in` on. Raises CannotTraceError."""
        for path in (self._stdout, self._stderr):
            path.write_bytes(b"")
        assert self._forking.stdin is not None
        self._forking.stdin.write(b".")
        child = int(self._answers.readline())
        try:
            strace = self._strace(child, fault)
        except FileNotFoundError:
            os.kill(child, signal.SIGKILL)
            raise CannotTraceError("no strace") from None
        with strace:
            assert strace.stderr is not None
            said = strace.stderr.readline()
            if "attached" not in said:
                os.kill(child, signal.SIGKILL)
                raise CannotTraceError(said.strip())
            os.kill(child, signal.SIGUSR1)
            has_ended = True
            try:
                strace.communicate(timeout=PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                os.kill(child, signal.SIGKILL)
                has_ended = False
        code = int(self._answers.readline())
        log = self._log.read_text(errors="replace")
        is_met = "(INJECTED)" in log or code == -signal.SIGKILL
        texts = (path.read_text(errors="replace") for path in (self._stdout, self._stderr))
        calls = frozenset(_numbered(log))
        return Done(code if has_ended else None, *texts, is_met, calls)

    def _strace(self, child: int, fault: Fault | None) -> subprocess.Popen[str]:
        traced = f"trace=!{','.join(NOT_TRACED)}"
        command = ["strace", "-f", "-p", str(child), "-o", str(self._log), "-e", traced]
        if fault is not None:
            command += ["-e", f"inject={fault.call}:{fault.injection}:when={fault.number}"]
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def _numbered(log: str) -> set[tuple[str, int]]:
    """The calls of a log, each with its number among those of its name in its thread."""
    counts: dict[tuple[str, str], int] = {}
    for line in log.splitlines():
        if match := _LINE.match(line):
            key = match[1], match[2]
            counts[key] = counts.get(key, 0) + 1
    return {(call, number) for (_, call), most in counts.items() for number in range(1, most + 1)}
