"""Measure the memory of every verb on hostile files, within two budgets.

    python tests/fuzz/memory.py [--write] [parts of names of files]

Each command runs in a child of its own, so that what it takes counts for nothing else: a process that
has imported the command forks, and asks the system for the child's peak. Commands answer, or refuse
in one line, and take no more than the budget and 200 MB. --write puts the table into
docs/reliability.md.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"
CORPUS = Path(__file__).parent / "corpus" / "file"
DOCS = ROOT / "docs" / "reliability.md"
MARKS = "<!-- make memory -->", "<!-- end -->"

BUDGETS = {"256MiB": 256 << 20, "1GiB": 1 << 30}
MOST_BESIDE = 200 * 10**6
PATIENCE_SECONDS = 300

# The columns that are named on the command line: the first few.
_COLUMNS = 3


@dataclass(frozen=True)
class Cost:
    """Of one command: its exit code, what it complained about, its peak in bytes, its seconds."""

    code: int
    complaint: str
    peak: int
    seconds: float


def commands(path: Path, folder: Path) -> Iterator[tuple[str, Callable[[], list[str]]]]:
    """Each verb, and its arguments, which are found out in the child."""
    out, source = str(folder / "out"), str(path)

    def columns() -> str:
        import parquet_bloom as pb

        try:
            with pb.open(source) as file:
                names = [leaf.name for leaf in file.select(None)[:_COLUMNS]]
        except (pb.ParquetBloomError, OSError):
            names = []
        return ",".join(names) if names and max(map(len, names)) < 1000 else "a"

    def copy() -> str:
        shutil.copyfile(source, folder / "copy")
        return str(folder / "copy")

    to = ("-o", out, "--overwrite")
    yield "inspect", lambda: ["inspect", source]
    yield "inspect --json", lambda: ["inspect", source, "--json"]
    yield "probe", lambda: ["probe", source, "-c", columns().split(",")[0], "-v", "7"]
    yield "validate", lambda: ["validate", source, "--no-config"]
    yield "validate --no-deep", lambda: ["validate", source, "--no-deep", "--no-config"]
    yield "advise", lambda: ["advise", source]
    yield "report", lambda: ["report", source, *to]
    yield "diff", lambda: ["diff", source, source]
    yield "dump", lambda: ["dump", source, "-c", columns().split(",")[0], "-g", "0"]
    yield "build", lambda: ["build", source, "-c", columns(), *to]
    yield "build --in-place", lambda: ["build", copy(), "-c", columns(), "--in-place"]
    yield "strip", lambda: ["strip", source, *to]
    yield "repair", lambda: ["repair", source, *to]
    yield "repair --rebuild", lambda: ["repair", source, "--rebuild", *to]


def measured(arguments: Callable[[], list[str]], budget: str, scratch: Path) -> Cost:
    """Run a command in a child. Its output is thrown away."""
    complaints = scratch / "stderr"
    started = time.perf_counter()
    child = os.fork()
    if child == 0:
        _become(arguments, budget, complaints)
    _, status, usage = os.wait4(child, 0)
    said = complaints.read_text(errors="replace")
    code = os.waitstatus_to_exitcode(status)
    return Cost(code, said, usage.ru_maxrss << 10, time.perf_counter() - started)


def _become(arguments: Callable[[], list[str]], budget: str, complaints: Path) -> None:
    from parquet_bloom import set_memory
    from parquet_bloom.cli import main

    code = 99
    try:
        signal.alarm(PATIENCE_SECONDS)
        # The machine has other work, too.
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(os.open(complaints, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        # So that what the names of columns take is within the budget, too.
        set_memory(BUDGETS[budget])
        sys.argv = ["pbloom", *arguments(), "--memory", budget]
        main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0
    finally:
        sys.stdout.flush()
        os._exit(code)


def files(folder: Path, words: list[str]) -> Iterator[Path]:
    """Those whose names have one of the words, if there are any; made when their turn comes."""
    from make.runaway_files import RUNAWAYS

    stored = [
        path
        for path in sorted([*CORPUS.iterdir(), *DATA.glob("*/*")])
        if path.suffix not in (".bin", ".gz", ".md")
    ]
    for path in [*(folder / name for name in RUNAWAYS), *stored]:
        if words and not any(word in path.name for word in words):
            continue
        if path.parent != folder:
            yield path
            continue
        # In a process of its own: it may take much memory, which children would be born with.
        command = [sys.executable, "-m", "make.runaway_files", path.name, str(path)]
        subprocess.run(command, check=True, cwd=ROOT / "tests", env=_environment())
        yield path
        path.unlink()


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests")))}


def wrong(found: Cost, limit: int) -> str:
    """What a command must not do, if it does; else empty."""
    if found.code not in (0, 1, 2):
        return f"exit code {found.code}"
    if found.peak > limit + MOST_BESIDE:
        return "too much memory"
    return "internal error" if "internal error" in found.complaint else ""


def table(worst: dict[tuple[str, str], tuple[int, str]]) -> Iterator[str]:
    """For each verb, the most that it took within each budget, and for which file."""
    yield "| verb | " + " | ".join(f"{budget}, of | MB" for budget in BUDGETS) + " |"
    yield "|---|" + "---|---:|" * len(BUDGETS)
    for verb in dict.fromkeys(verb for verb, _ in worst):
        cells = (worst[verb, budget] for budget in BUDGETS)
        shown = " | ".join(f"`{name}` | {peak / 1e6:,.0f}" for peak, name in cells)
        yield f"| `{verb}` | {shown} |"


def main(arguments: list[str]) -> int:
    """Print each command that is wrong, and the table; the number of wrong ones, at most 1."""
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
    words = [each for each in arguments if each != "--write"]
    worst: dict[tuple[str, str], tuple[int, str]] = {}
    runs = num_files = failures = 0
    with TemporaryDirectory(prefix="pbloom-memory-") as scratch:
        folder = Path(scratch)
        for path in files(folder, words):
            num_files += 1
            for verb, given in commands(path, folder):
                for budget, limit in BUDGETS.items():
                    found = measured(given, budget, folder)
                    runs += 1
                    before = worst.get((verb, budget), (0, ""))
                    worst[verb, budget] = max(before, (found.peak, path.name))
                    if problem := wrong(found, limit):
                        failures += 1
                        sys.stdout.write(
                            f"{path.name}: {verb} --memory {budget}: {problem}:"
                            f" {found.peak / 1e6:,.0f} MB, {found.seconds:.0f} s\n{found.complaint}"
                        )
                        sys.stdout.flush()
    lines = [*table(worst), "", f"{runs:,} commands on {num_files:,} files"]
    sys.stdout.write("\n".join([*lines, ""]))
    if "--write" in arguments:
        before, _, rest = DOCS.read_text().partition(MARKS[0])
        _, _, after = rest.partition(MARKS[1])
        DOCS.write_text("\n".join([before + MARKS[0], "", *lines, "", MARKS[1] + after]))
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
