"""Measure the memory of every verb on hostile files, within two budgets.

    PYTHONPATH=tests python tests/fuzz/memory.py [parts of names of files]

Commands answer, or refuse in one line, and take no more than the budget and 200 MB. Those on files
that are made to take much run in a child of their own each, so that what one takes counts for nothing
else. Those on the many small files share a child for each verb and budget, which takes no less: what
one leaves behind counts for the next. Where that is more than the verb took at most, they get a child
of their own, too. Writes memory.json and its table into docs/reliability.md, unless files were named.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

from fuzz import page

from parquet_bloom.files import open_file

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"
CORPUS = Path(__file__).parent / "corpus" / "file"

BUDGETS = {"256MiB": 256 << 20, "1GiB": 1 << 30}
MOST_BESIDE = 200 * 10**6
# A file of a million row groups, each of which find looks into, takes six minutes.
PATIENCE_SECONDS = 900
AT_ONCE = 2

# The columns that are named on the command line: the first few.
_COLUMNS = 3

VERBS = (
    "inspect",
    "inspect --json",
    "probe",
    "find",
    "validate",
    "validate --no-deep",
    "validate --pages",
    "advise",
    "report",
    "diff",
    "dump",
    "dump --footer",
    "dump --footer --json",
    "build",
    "build --in-place",
    "strip",
    "repair",
    "repair --rebuild",
)


@dataclass(frozen=True)
class Command:
    """A verb on a file, and the columns that are named."""

    verb: str
    budget: str
    path: Path
    columns: str

    def arguments(self, folder: Path) -> list[str]:
        """`folder`: for what it writes."""
        source, columns = str(self.path), self.columns
        verb, *options = self.verb.split()
        to = ["-o", str(folder / "out"), "--overwrite"]
        if "--in-place" in options:
            source = str(folder / "copy")
            shutil.copyfile(self.path, source)
            to = []
        more = {
            "probe": ["-c", columns.split(",")[0], "-v", "7"],
            "find": ["-c", columns.split(",")[0], "-v", "7", "--columns", columns, *to],
            "validate": ["--no-config"],
            "report": to,
            "diff": [source],
            "dump": [] if "--footer" in options else ["-c", columns.split(",")[0], "-g", "0"],
            "build": ["-c", columns, *to],
            "strip": to,
            "repair": to,
        }
        return [verb, source, *more.get(verb, []), *options, "--memory", self.budget]


@dataclass(frozen=True)
class Cost:
    """Of a command: its exit code, what it complained about, its peak in bytes, its seconds."""

    command: Command
    code: int
    complaint: str
    peak: int
    seconds: float

    @property
    def problem(self) -> str:
        """What a command must not do, if it did; else empty."""
        if self.code not in (0, 1, 2):
            return f"exit code {self.code}"
        if self.peak > BUDGETS[self.command.budget] + MOST_BESIDE:
            return "too much memory"
        return "internal error" if "internal error" in self.complaint else ""

    def __str__(self) -> str:
        command = f"{self.command.path.name}: {self.command.verb} --memory {self.command.budget}"
        figures = f"{self.peak / 1e6:,.0f} MB, {self.seconds:.0f} s"
        return f"{command}: {self.problem}: {figures}\n{self.complaint}"


# ------------------------------------------------------------------------------------------------
# Children


def measured(commands: Sequence[Command], scratch: Path) -> Iterator[Cost]:
    """Run commands in one child, or in another one where one has died. Their output is thrown away."""
    complaints, ahead = scratch / "stderr", list(commands)
    while ahead:
        answers, ours = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(answers)
            _become(ahead, ours, complaints)
        os.close(ours)
        with open(answers, "rb") as lines:
            for line in lines:
                yield Cost(ahead.pop(0), **json.loads(line))
        _, status, usage = os.wait4(child, 0)
        if ahead:
            code = os.waitstatus_to_exitcode(status)
            complaint = complaints.read_text(errors="replace")
            yield Cost(ahead.pop(0), code, complaint, usage.ru_maxrss << 10, 0)


def _become(commands: Sequence[Command], answers: int, complaints: Path) -> None:
    os._exit = _come_back
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(os.open(complaints, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND), 2)
    # What calls this may have replaced them.
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    try:
        for each in commands:
            os.write(answers, json.dumps(_run(each, complaints)).encode() + b"\n")
    finally:
        if error := sys.exception():
            traceback.print_exception(error)
        _exit(99)


# The command leaves by it, too; but in the children here, it is to come back.
_exit = os._exit


def _come_back(code: int) -> NoReturn:
    raise SystemExit(code)


def _run(command: Command, complaints: Path) -> dict[str, Any]:
    """Its Cost."""
    os.ftruncate(2, 0)
    sys.argv = ["pbloom", *command.arguments(complaints.parent)]
    # From here on, the peak counts anew (man 5 proc).
    Path("/proc/self/clear_refs").write_text("5")
    started, code = time.perf_counter(), 99
    signal.alarm(PATIENCE_SECONDS)
    # The machine has other work, too.
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    try:
        from parquet_bloom.cli import main

        main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0
    signal.alarm(0)
    sys.stdout.flush()
    sys.stderr.flush()
    status = Path("/proc/self/status").read_text().splitlines()
    (peak,) = (each.split()[1] for each in status if each.startswith("VmHWM:"))
    return {
        "code": code,
        "complaint": complaints.read_text(errors="replace"),
        "peak": int(peak) << 10,
        "seconds": time.perf_counter() - started,
    }


def with_columns(paths: Sequence[Path]) -> dict[Path, str]:
    """Files, and what to name on the command line: found in a child, as it may take much memory."""
    answers, ours = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with open(ours, "w") as to:
                json.dump([*map(_columns_of, paths)], to)
        finally:
            _exit(0)
    os.close(ours)
    with open(answers) as found:
        columns = json.load(found)
    os.waitpid(child, 0)
    return dict(zip(paths, columns, strict=True))


def _columns_of(path: Path) -> str:
    import parquet_bloom as pb

    try:
        with open_file(path) as file:
            names = [leaf.name for leaf in file.select(None)[:_COLUMNS]]
    except (pb.ParquetBloomError, OSError):
        names = []
    return ",".join(names) if names and max(map(len, names)) < 1000 else "a"


# ------------------------------------------------------------------------------------------------
# Files


def small_files(words: Sequence[str] = ()) -> list[Path]:
    """Those of the corpus and of the shared folder, without what is no Parquet or ORC file."""
    found = sorted([*CORPUS.iterdir(), *DATA.glob("*/*")])
    stored = [path for path in found if path.suffix not in (".bin", ".gz", ".md")]
    return [path for path in stored if _is_named(path.name, words)]


def runaways(words: Sequence[str] = ()) -> list[str]:
    """The names of the files that are made to take much."""
    from make.runaway_files import RUNAWAYS

    return [name for name in RUNAWAYS if _is_named(name, words)]


def _is_named(name: str, words: Sequence[str]) -> bool:
    return not words or any(word in name for word in words)


def make(name: str, folder: Path) -> Path:
    """In a process of its own: it may take much memory, which children would be born with."""
    path = folder / name
    command = [sys.executable, "-m", "make.runaway_files", name, str(path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests")))}
    subprocess.run(command, check=True, cwd=ROOT / "tests", env=environment)
    return path


def on_runaway(name: str, verbs: Sequence[str]) -> list[Cost]:
    """What each verb takes within each budget, in a child of its own."""
    with TemporaryDirectory(prefix="pbloom-memory-") as scratch:
        folder = Path(scratch)
        path = make(name, folder)
        columns = with_columns([path])[path]
        commands = [Command(verb, budget, path, columns) for verb in verbs for budget in BUDGETS]
        return alone(commands, folder)


def alone(commands: Sequence[Command], folder: Path) -> list[Cost]:
    return [cost for each in commands for cost in measured([each], folder)]


def on_small_files(commands: Sequence[Command], most: int) -> list[Cost]:
    """What one verb takes within one budget; where that is no more than `most`, at least that."""
    with TemporaryDirectory(prefix="pbloom-memory-") as scratch:
        folder = Path(scratch)
        costs = []
        for cost in sorted(measured(commands, folder), key=lambda cost: -cost.peak):
            exact = alone([cost.command], folder)[0] if cost.peak > most else cost
            most = max(most, exact.peak)
            costs.append(exact)
        return costs


# ------------------------------------------------------------------------------------------------
# The table


def table(lines: page.Lines) -> str:
    """How many files each verb had, the most that it took within each budget, and for which file."""
    shown = ["| verb | files | " + " | ".join(f"{budget}, of | MB" for budget in BUDGETS) + " |"]
    shown.append("|-|-:|" + "-|-:|" * len(BUDGETS))
    for line in lines:
        cells = (line["most"][budget] for budget in BUDGETS)
        text = " | ".join(f"`{each['file']}` | {each['peak'] / 1e6:,.0f}" for each in cells)
        files = line["commands"] // len(BUDGETS)
        shown.append(f"| `{line['verb']}` | {files:,} | {text} |")
    commands = sum(line["commands"] for line in lines)
    return "\n".join(shown) + f"\n\n{commands:,} commands.\n"


def lines_of(costs: Iterable[Cost]) -> list[dict[str, Any]]:
    lines = []
    for verb in VERBS:
        most: dict[str, dict[str, Any]] = {}
        of_verb = [each for each in costs if each.command.verb == verb]
        for each in sorted(of_verb, key=lambda cost: cost.peak):
            most[each.command.budget] = {"file": each.command.path.name, "peak": each.peak}
        if of_verb:
            lines.append({"verb": verb, "commands": len(of_verb), "most": most})
    return lines


def costs_of(words: Sequence[str] = (), verbs: Sequence[str] = VERBS) -> list[Cost]:
    """Of every command on the files whose names have one of the words, or on all."""
    costs: list[Cost] = []
    most: Counter[tuple[str, str]] = Counter()
    # Not from a process that has made files.
    with ProcessPoolExecutor(AT_ONCE, mp_context=get_context("spawn")) as pool:
        small = pool.submit(with_columns, small_files(words))
        for found in pool.map(partial(on_runaway, verbs=verbs), runaways(words)):
            costs += _told(found)
        for each in costs:
            key = each.command.verb, each.command.budget
            most[key] = max(most[key], each.peak)
        waiting = [
            pool.submit(
                on_small_files,
                [Command(*key, path, columns) for path, columns in small.result().items()],
                most[key],
            )
            for key in product(verbs, BUDGETS)
        ]
        for done in waiting:
            costs += _told(done.result())
    return costs


def _told(costs: list[Cost]) -> list[Cost]:
    for each in costs:
        if each.problem:
            sys.stderr.write(f"{each}\n")
    return costs


def main(words: Sequence[str]) -> None:
    costs = costs_of(words)
    lines = lines_of(costs)
    sys.stdout.write(table(lines))
    if any(each.problem for each in costs):
        sys.exit("a promise is broken; nothing was written")
    if not words:
        page.write("memory", lines, table)


if __name__ == "__main__":
    main(sys.argv[1:])
