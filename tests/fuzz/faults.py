"""End or fail each verb that writes a file at every system call from the opening of its source on.

    python tests/fuzz/faults.py

Needs strace, and leave to trace. Runs without faults tell which calls there are, each counted in its
thread; then each is the last of a run of its own, or fails. What is left must be the old file or the
new one, whole; a failure leaves nothing else behind, says so in one line, and after a kill the same
command does its work. What a kill leaves of a file that is appended to must become the old one by recovery.
Writes faults.json, and its table into docs/reliability.md.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from fuzz import page
from fuzz.tracing import ENVIRONMENT, KILLED, Done, Fault, Traced
from make.delta_tables import table_of
from make.orc_defects import one_bit_cleared

import parquet_bloom as pb
from parquet_bloom.storage import journal

CORPUS = Path(__file__).parent / "corpus" / "file"
PBLOOM = (sys.executable, "-m", "parquet_bloom")

# Which calls can fail for want of memory, and of space on a disk.
MEMORY = {"brk", "clone", "clone3", "mmap", "mprotect", "mremap"}
SPACE = {
    *("close", "copy_file_range", "fallocate", "fdatasync", "fsetxattr", "fsync", "ftruncate"),
    *("link", "linkat", "openat", "pwrite64", "pwritev", "rename", "renameat2", "write", "writev"),
}
KINDS = (KILLED, "EIO", "ENOSPC", "ENOMEM")

# Threads share the work, so that not every run has every call of every thread.
RECORDS = TRIES = 5
AT_ONCE = 2

# When the source was modified.
MODIFIED_NS = 1_700_000_000_000_000_007

# Of a cold command, so many faults.
DRAWN = 100

# What Thread.start waits for never comes if a new thread has no memory for its first call.
PYTHON_HANGS = "Exception ignored in thread started by: <bound method Thread._bootstrap"

_TEMPORARY = re.compile(r"\.(in|out)\.[0-9a-f]{16}(\.crc)?\.pbloom-tmp")
_SECONDS = re.compile(r"[\d.,]+ s\b")


@dataclass
class Case:
    """A command on a copy of `source`; `target`: in place, new, overwritten, appended in place, or account: of
    what was found.
    `folder`: its own.
    `is_cold`: what it imports after the opening of the source is not there yet."""

    verb: str
    options: tuple[str, ...]
    source: Path
    target: str
    folder: Path
    is_cold: bool = False
    new: bytes = b""
    stdout: str = ""
    _repeated: set[tuple[object, ...]] = field(default_factory=set)

    @property
    def kind(self) -> str:
        return self.source.suffix.removeprefix(".")

    @property
    def name(self) -> str:
        return f"{self.verb} {self.kind} {self.target}{', importing' * self.is_cold}"

    @property
    def arguments(self) -> tuple[str, ...]:
        to = {
            "in place": ("--in-place",),
            "new": ("-o", "out"),
            "overwritten": ("-o", "out", "--overwrite"),
            "account": ("--report", "out"),
            "appended in place": ("--append-in-place",),
        }
        return (self.verb, "in", *self.options, *to[self.target])

    @property
    def output(self) -> Path:
        return self.folder / ("in" if self.is_in_place else "out")

    @property
    def is_in_place(self) -> bool:
        return self.target in ("in place", "appended in place")

    @property
    def old(self) -> bytes | None:
        """What is at the output before."""
        if self.is_in_place:
            return self.source.read_bytes()
        return b"what was there" if self.target == "overwritten" else None

    def prepare(self) -> None:
        """Make the folder, which stays, what it is before the command."""
        self.folder.mkdir(exist_ok=True)
        for path in self.folder.iterdir():
            path.unlink()
        shutil.copy(self.source, self.folder / "in")
        os.utime(self.folder / "in", ns=(MODIFIED_NS, MODIFIED_NS))
        if self.target == "overwritten":
            self.output.write_bytes(b"what was there")

    def read_output(self) -> bytes:
        """What is there, whenever it was made."""
        found = self.output.read_bytes()
        return _what_it_says(found) if self.target == "account" else found

    def record(self, traced: Traced) -> list[Fault]:
        """Every fault there is, from runs without one; and what comes of them."""
        calls: set[tuple[str, int]] = set()
        for _ in range(RECORDS):
            self.prepare()
            done = traced.run()
            assert done.code == 0, done.stderr
            calls |= done.calls
        self.new, self.stdout = self.read_output(), done.stdout
        assert self.new not in (self.old, self.source.read_bytes()), f"{self.name}: changes nothing"
        return [
            Fault(kind, *call)
            for kind in KINDS
            for call in sorted(calls)
            if can_fail(kind, call[0])
        ]

    def outcome(self, traced: Traced, fault: Fault) -> str:
        """What came of a run with `fault`: `old` or `new`, where it is what is left after a kill, or
        `recovered`, where recovery makes it the old file;
        `refused`, with the old file; `done`, all the same; `told`, the new file and a line that says
        what failed after it was there; `unknown`, an answer that says so; `hangs`, where Python does; `not met`.
        Raises AssertionError for anything else."""
        for _ in range(TRIES):
            self.prepare()
            done = traced.run(fault)
            if done.is_met:
                try:
                    return self.judge(done, is_killed=fault.kind == KILLED)
                except AssertionError as error:
                    raise AssertionError(f"{self.name}, {fault}: {error}: {done.stderr}") from None
        return "not met"

    def judge(self, done: Done, is_killed: bool) -> str:
        """The same of a run in which the fault was met."""
        found = self.read_output() if self.output.exists() else None
        is_recovered = (is_killed or done.code is None) and self._is_recovered(found)
        assert is_recovered or found in (self.old, self.new), "neither the old file nor the new one"
        if not self.is_in_place:
            assert (self.folder / "in").read_bytes() == self.source.read_bytes(), "source changed"
        left = sorted(path.name for path in self.folder.iterdir() if path.name not in ("in", "out"))
        if is_killed:
            self._check_killed(found, left)
            return "recovered" if is_recovered else "new" if found == self.new else "old"
        if done.code is None:
            assert PYTHON_HANGS in done.stderr, "no end"
            self._check_killed(found, left)
            return "hangs"
        assert not left or "could not be removed" in done.stderr, f"left {left}"
        if done.code == 0:
            assert found == self.new, "exit code 0, and nothing done"
            assert done.stderr == "", "exit code 0, and a complaint"
            assert _SECONDS.sub("", done.stdout) == _SECONDS.sub("", self.stdout), done.stdout
            return "done"
        assert done.code == 2, f"exit code {done.code}"
        assert done.stderr.count("\n") == 1, "not one line"
        assert done.stderr.startswith("pbloom: "), "not a complaint"
        assert "internal error" not in done.stderr, "an internal error"
        if found == self.old:
            return "refused"
        assert re.search(r": was written, but |^pbloom: standard output: ", done.stderr), (
            done.stderr
        )
        return "told"

    def _is_recovered(self, found: bytes | None) -> bool:
        """Whether what was left has a journal, by which it becomes the old file; tried with a copy."""
        place = journal.journal_of(self.output)
        if not place.exists():
            return False
        with TemporaryDirectory(dir=self.folder.parent) as folder:
            copy = shutil.copy2(self.output, folder)
            shutil.copy2(place, folder)
            pb.recover(copy)
            assert Path(copy).read_bytes() == self.old, "recovery makes it another file"
            assert Path(copy).stat().st_mtime_ns == MODIFIED_NS, "recovery leaves another time"
            assert len(list(Path(folder).iterdir())) == 1, "recovery leaves something"
        return found != self.old

    def _check_killed(self, found: bytes | None, left: list[str]) -> None:
        """Nothing but temporary files and a journal is left, and with them the same command does its work: tried
        once for each sort of them."""
        if self.target == "appended in place":
            left = [name for name in left if name != journal.journal_of("in").name]
        assert all(map(_TEMPORARY.fullmatch, left)), f"left {left}"
        sort = (found, *(re.sub("[0-9a-f]{16}", "", name) for name in left))
        if sort in self._repeated:
            return
        self._repeated.add(sort)
        again = self._again()
        # A new output that is there already is not written over.
        is_there = self.target in ("new", "account") and found == self.new
        assert again.returncode == (2 if is_there else 0), again.stderr
        assert self.read_output() == self.new, "the next run makes another file"

    def _again(self) -> subprocess.CompletedProcess[str]:
        """The same command."""
        return subprocess.run(
            [*PBLOOM, *self.arguments],
            cwd=self.folder,
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            check=False,
        )


def _what_it_says(account: bytes) -> bytes:
    """All of an account but when it was made, and which copy of the source was asked; of what is none, the bytes."""
    try:
        table = pq.read_table(pa.BufferReader(account))
    except pa.ArrowInvalid:
        return account
    told = json.loads(table.schema.metadata[b"parquet_bloom"])
    rows = table.drop_columns("version").to_pylist()
    return repr((rows, told | {"time": None})).encode()


@dataclass
class TableCase(Case):
    """A command on a Delta table of one file, a copy of `source`."""

    @property
    def kind(self) -> str:
        return "Delta Lake"

    @property
    def arguments(self) -> tuple[str, ...]:
        return (self.verb, "in", *self.options)

    @property
    def output(self) -> Path:
        return self.folder / "in" / "part-0.parquet"

    def prepare(self) -> None:
        self.folder.mkdir(exist_ok=True)
        shutil.rmtree(self.folder / "in", ignore_errors=True)
        table_of(self.folder / "in", Path(shutil.copy(self.source, self.folder)), l="long")

    def judge(self, done: Done, is_killed: bool) -> str:
        """As of a file. A table is `new` when its log has the new size; before, it may have the new end."""
        is_new = self._is_recorded()
        left = {path.name for path in self.folder.rglob("*") if path.is_file()}
        left -= {self.output.name, *(f"{version:020}.json" for version in range(1 + is_new))}
        if is_killed:
            self._check_killed_table(is_new, left)
            return "new" if is_new else "old"
        if done.code is None:
            assert PYTHON_HANGS in done.stderr, "no end"
            self._check_killed_table(is_new, left)
            return "hangs"
        assert not left or "could not be removed" in done.stderr + done.stdout, f"left {left}"
        if done.code == 0:
            assert is_new, "exit code 0, and nothing done"
            assert done.stderr == "", "exit code 0, and a complaint"
            assert _SECONDS.sub("", done.stdout) == _SECONDS.sub("", self.stdout), done.stdout
            return "done"
        assert done.code == 2, f"exit code {done.code}"
        complaint = r"pbloom: .*\n" if done.stderr else r".*\npart-0\.parquet: failed: .*\n"
        assert re.fullmatch(complaint, done.stderr or done.stdout), f"not a line: {done.stdout}"
        assert "internal error" not in done.stderr, "an internal error"
        if not is_new:
            return "refused"
        assert re.search(r"written, but |^pbloom: standard output: ", done.stderr), done.stderr
        return "told"

    def _is_recorded(self) -> bool:
        """Whether the log has the size of the new file; it must be one of the two, and the file."""
        (file,) = pb.open_table(self.folder / "in").files()
        found = self.output.read_bytes()
        assert found in (self.old, self.new), "neither the old file nor the new one"
        assert file.size in (len(self.old or b""), len(found)), "recorded with another size"
        return file.size == len(self.new)

    def _check_killed_table(self, is_new: bool, left: set[str]) -> None:
        """As _check_killed."""
        temporary = re.compile(r"\..*\.[0-9a-f]{16}(\.crc)?\.pbloom-tmp")
        assert all(map(temporary.fullmatch, left)), f"left {left}"
        sort = (is_new, len(left), self.output.stat().st_size)
        if sort in self._repeated:
            return
        self._repeated.add(sort)
        again = self._again()
        assert again.returncode == 0, again.stderr
        assert self._is_recorded(), "the next run records nothing"


class AnswerCase(Case):
    """A command that writes what it has found, and goes on where it cannot look."""

    def judge(self, done: Done, is_killed: bool) -> str:
        """As of a file; or `unknown`: it says that nothing is known of the source, and so does what it writes."""
        if is_killed or not re.fullmatch(r"pbloom: in: unknown: .*\n", done.stderr):
            return super().judge(done, is_killed)
        assert done.code == 2, f"exit code {done.code}"
        found = pq.read_table(self.output)
        if self.target == "account":
            assert set(found["state"].to_pylist()) == {"unknown"}, "an account of what was not seen"
        else:
            assert found.num_rows == 0, "rows that were not seen"
        return "unknown"


def can_fail(kind: str, call: str) -> bool:
    """Whether a call can end in this fault."""
    if kind == "ENOMEM":
        return call in MEMORY
    return kind == KILLED or (call in SPACE if kind == "ENOSPC" else call not in MEMORY)


def cases(scratch: Path) -> Iterator[Case]:
    """Every verb that writes, both formats, every target."""
    broken = scratch / "broken.orc"
    broken.write_bytes(one_bit_cleared())
    for kind, plain, repaired, how in (
        ("parquet", "none.parquet", CORPUS / "filters.parquet", ("--rebuild", "--fpp", "0.001")),
        ("orc", "snappy.orc", broken, ("--rebuild",)),
    ):
        filtered = scratch / f"filtered.{kind}"
        build = (*PBLOOM, "build", CORPUS / plain, "-c", "l", "-o", filtered)
        subprocess.run(build, check=True, capture_output=True, env=ENVIRONMENT)
        for verb, options, source in (
            ("build", ("-c", "l"), CORPUS / plain),
            ("strip", (), filtered),
            ("repair", how, repaired),
        ):
            appended = ("appended in place",) if (verb, kind) == ("build", "parquet") else ()
            for target in ("in place", "new", "overwritten", *appended):
                folder = scratch / f"{verb}-{kind}-{target.replace(' ', '-')}"
                yield Case(verb, options, source, target, folder)
            yield Case(verb, options, source, "new", scratch / f"{verb}-{kind}-cold", is_cold=True)
        for target in ("new", "overwritten", "account"):
            asked = ("-c", "l", "-v", "7")
            folder = scratch / f"find-{kind}-{target}"
            yield AnswerCase("find", asked, CORPUS / plain, target, folder)
    of_table = ("--table", "delta", "-c", "l", "--all-sizes", "--threads", "1")
    yield TableCase("build", of_table, CORPUS / "none.parquet", "in place", scratch / "build-delta")


def outcomes(case: Case) -> dict[str, Any]:
    """The line of the table for a case."""
    case.prepare()
    with Traced(case.arguments, case.folder, case.is_cold) as traced:
        faults = case.record(traced)
        calls = sum(fault.kind == KILLED for fault in faults)
        if case.is_cold:
            # Where memory ends in the middle of an import, Python loses some of the errors.
            others = [fault for fault in faults if fault.kind != "ENOMEM"]
            faults = Random(case.name).sample(others, DRAWN)
        found = {kind: Counter[str]() for kind in KINDS}
        for fault in faults:
            try:
                found[fault.kind][case.outcome(traced, fault)] += 1
            except AssertionError as error:
                sys.stderr.write(f"{error}\n")
                found[fault.kind]["broken"] += 1
    counts = {kind: dict(sorted(each.items())) for kind, each in found.items()}
    target = case.target + ", importing" * case.is_cold
    return {"verb": case.verb, "format": case.kind, "target": target, "calls": calls, **counts}


def table(lines: page.Lines) -> str:
    """The lines, and how many runs they are, in Markdown."""
    runs = 0
    shown = [
        f"| verb | format | target | calls | {' | '.join(KINDS)} |",
        f"|-|-|-|-:|{'-|' * len(KINDS)}",
    ]
    for line in lines:
        runs += sum(sum(line[kind].values()) for kind in KINDS)
        cells = (", ".join(f"{n} {what}" for what, n in line[kind].items()) for kind in KINDS)
        names = f"`{line['verb']}` | {line['format']} | {line['target']} | {line['calls']:,}"
        shown.append(f"| {names} | {' | '.join(cells)} |")
    return "\n".join(shown) + f"\n\n{runs:,} runs with a fault.\n"


def main() -> None:
    lines = []
    with (
        TemporaryDirectory(prefix="pbloom-faults-") as scratch,
        ThreadPoolExecutor(AT_ONCE) as pool,
    ):
        for line in pool.map(outcomes, cases(Path(scratch))):
            sys.stdout.write(table([line]).splitlines()[2] + "\n")
            sys.stdout.flush()
            lines.append(line)
    if any("broken" in line[kind] for line in lines for kind in KINDS):
        sys.exit("a promise is broken; nothing was written")
    page.write("faults", lines, table)


if __name__ == "__main__":
    main()
