"""End or fail each verb that writes at every system call by which it could harm a file.

    python tests/fuzz/faults.py

Needs strace. A run without faults tells which calls there are from the opening of the source on, each
counted in its thread; then each call is killed or fails, in a run of its own. What is left must be the
old file or the new one, whole; a failure leaves nothing else behind, says so in one line, and after a
kill the same command does its work. Prints a table, a line as soon as it is known.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

CORPUS = Path(__file__).parent / "corpus" / "file"
PBLOOM = (sys.executable, "-m", "parquet_bloom")

CALLS = (
    *("openat", "pread64", "pwrite64", "write", "copy_file_range", "ftruncate", "fsync"),
    *("fdatasync", "fchmod", "fchown", "rename", "renameat2", "link", "linkat", "unlink", "close"),
)
FAULTS = {"killed": "signal=KILL", "EIO": "error=EIO", "ENOSPC": "error=ENOSPC"}

_CALL = re.compile(r"^(\d+) +(\w+)\((.*)")
_KILLED = -9


@dataclass(frozen=True)
class Case:
    """A command on a copy of `source`; `target`: in place, new, or overwritten."""

    verb: str
    options: tuple[str, ...]
    source: Path
    target: str

    def run(self, folder: Path, inject: str = "") -> subprocess.CompletedProcess[str]:
        """The command in `folder`, where its calls are logged."""
        to = ("--in-place",) if self.target == "in place" else ("-o", "out", "--overwrite")
        if self.target == "new":
            to = ("-o", "out")
        strace = [
            "strace",
            "-f",
            "-o",
            str(folder.parent / "log"),
            "-e",
            f"trace={','.join(CALLS)}",
        ]
        return subprocess.run(
            [*strace, *(("-e", inject) if inject else ()), *PBLOOM, self.verb, "in",
             *self.options, *to],
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip

    def prepare(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        shutil.copy(self.source, folder / "in")
        if self.target == "overwritten":
            (folder / "out").write_bytes(b"what was there")

    @property
    def name(self) -> str:
        return "in" if self.target == "in place" else "out"


def cases(scratch: Path) -> Iterator[Case]:
    for kind, plain, column in (("parquet", "none.parquet", "l"), ("orc", "snappy.orc", "l")):
        source = CORPUS / plain
        filtered, broken = scratch / f"filtered.{kind}", scratch / f"broken.{kind}"
        build = [*PBLOOM, "build", str(source), "-c", column, "-o", str(filtered)]
        subprocess.run(build, check=True, capture_output=True)
        shutil.copy(CORPUS / ("filters.parquet" if kind == "parquet" else "zlib.orc"), broken)
        for target in ("in place", "new", "overwritten"):
            yield Case("build", ("-c", column), source, target)
            yield Case("strip", (), filtered, target)
            yield Case("repair", ("--rebuild", "--fpp", "0.001"), broken, target)


def calls(case: Case, folder: Path) -> Iterator[tuple[str, int]]:
    """Every call from the opening of the source on: its name, and its number in its thread."""
    case.prepare(folder)
    done = case.run(folder)
    assert done.returncode == 0, done.stderr
    counts: Counter[tuple[str, str]] = Counter()
    begun = False
    found = set()
    for line in (folder.parent / "log").read_text().splitlines():
        match = _CALL.match(line)
        if match is None:
            continue
        thread, call, rest = match.groups()
        counts[thread, call] += 1
        begun = begun or (call == "openat" and '"in"' in rest)
        if begun:
            found.add((call, counts[thread, call]))
    yield from sorted(found)


def outcome(case: Case, folder: Path, fault: str, call: str, number: int, new: bytes) -> str:
    """What became of the target; raises AssertionError for what must not be."""
    case.prepare(folder)
    target = folder / case.name
    old = target.read_bytes() if target.exists() else None
    done = case.run(folder, f"inject={call}:{FAULTS[fault]}:when={number}")
    where = f"{case.verb} {case.source.suffix} {case.target}, {fault} at {call} {number}"
    found = target.read_bytes() if target.exists() else None
    assert found in (old, new), f"{where}: neither the old file nor the new one\n{done.stderr}"
    left = sorted(path.name for path in folder.iterdir() if path.name not in ("in", "out"))
    if case.target != "in place":
        assert (folder / "in").read_bytes() == case.source.read_bytes(), f"{where}: source changed"
    if done.returncode == _KILLED:
        again = case.run(folder)
        # A new output that is there already is not written over.
        assert again.returncode == 0 or (case.target == "new" and found == new), again.stderr
        assert target.read_bytes() == new, f"{where}: the next run makes another file"
    else:
        assert "Traceback" not in done.stderr, f"{where}: {done.stderr}"
        assert not left or call == "unlink", f"{where}: left {left}"
        assert done.returncode in (0, 2), f"{where}: exit code {done.returncode}"
        assert done.returncode == 0 or done.stderr.count("\n") >= 1, f"{where}: not a word"
    return "new" if found == new else "old"


def main() -> None:
    """Print the table, and how many runs it took."""
    sys.stdout.write("| verb | format | target | calls | killed | EIO | ENOSPC |\n")
    sys.stdout.write("|-|-|-|-:|-|-|-|\n")
    runs = 0
    with TemporaryDirectory(prefix="pbloom-faults-") as scratch:
        folder = Path(scratch) / "work"
        for case in cases(Path(scratch)):
            found = list(calls(case, folder))
            new = (folder / case.name).read_bytes()
            cells = []
            for fault in FAULTS:
                left = Counter(
                    outcome(case, folder, fault, call, number, new) for call, number in found
                )
                runs += left.total()
                cells.append(", ".join(f"{count} {what}" for what, count in sorted(left.items())))
            kind = case.source.suffix.removeprefix(".")
            sys.stdout.write(
                f"| `{case.verb}` | {kind} | {case.target} | {len(found)} | {' | '.join(cells)} |\n"
            )
            sys.stdout.flush()
    sys.stdout.write(f"{runs:,} runs\n")


if __name__ == "__main__":
    main()
