"""Child processes and what they cost.

Linux hands a child the peak memory of its parent, so whoever calls this must stay small: what
imports numpy or pyarrow runs in a child, too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PBLOOM = str(Path(sys.executable).with_name("pbloom"))


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one whole process: seconds on the clock, on all processors, and of these in its own code, without
    the system's; peak resident bytes, and the bytes that it wrote to disks, as far as these are local."""

    wall: float
    cpu: float
    own: float
    peak: int
    written: int


def module(name: str, *arguments: object) -> list[str]:
    """The command that runs a module of this folder, from the repository's own folder."""
    return [sys.executable, "-m", f"benchmarks.{name}", *map(str, arguments)]


def environment() -> dict[str, str]:
    """Ours, without what would keep Python from caching compiled modules and slow every import."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}


def run(command: list[str], fine: Container[int] = (0,)) -> Cost:
    """Run a command, its output thrown away. Raises RuntimeError unless its exit code is `fine`."""
    silence = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
    started = time.perf_counter()
    pid = os.posix_spawnp(command[0], command, environment(), file_actions=[silence])
    _, status, usage = os.wait4(pid, 0)
    wall = time.perf_counter() - started
    code = os.waitstatus_to_exitcode(status)
    if code not in fine:
        raise RuntimeError(f"{' '.join(command)}: exit code {code}")
    own, peak, written = usage.ru_utime, usage.ru_maxrss << 10, usage.ru_oublock << 9
    return Cost(wall, own + usage.ru_stime, own, peak, written)


def ask(command: list[str]) -> Any:
    """Run a command and decode the JSON that it prints."""
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment())
    return json.loads(done.stdout)
