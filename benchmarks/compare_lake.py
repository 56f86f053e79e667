"""A job on Spark, against the command on the same files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from benchmarks.contenders import Files
from benchmarks.processes import ask, module
from benchmarks.tables import Table, at_least, megabytes

SHARE_OF_COMMAND = 0.8

SMALL_FILES = 2000
HUGE_ROWS = 45_000_000


def compare_lake(files: Files, rounds: int) -> Table:
    """A job on Spark against the command on the same files."""
    small = files.make_folder("small-files", SMALL_FILES)
    huge = files.make_folder("huge", HUGE_ROWS)
    cases = {
        f"{SMALL_FILES:,} files, {megabytes(folder_size(small))}": small,
        f"one file, {megabytes(folder_size(huge))}": huge,
    }
    arguments = [text for folder in cases.values() for text in ("id", folder)]
    measured = ask(module("lake", rounds, *arguments))

    def row(name: str, seconds: Sequence[Mapping[str, float]]) -> list[str]:
        command, job, tasks = (
            median(each[kind] for each in seconds) for kind in ("command", "job", "tasks")
        )
        return [
            name,
            f"{command:.1f} s",
            f"{job:.1f} s",
            f"{tasks:.1f} s",
            f"{command / tasks:.2f}x",
            *at_least(command / tasks, SHARE_OF_COMMAND, "x"),
        ]

    return Table(
        "A lake on Spark",
        f"A filter for one column of ten. The command runs once for each processor, on its share of"
        f" the files, or with all its threads on one; Spark has as many tasks at a time in a warm"
        f" local session. `tasks`: their time without what is before and between them."
        f" {rounds} rounds.",
        ("", "pbloom build", "Spark job", "tasks", "command / tasks"),
        [row(name, seconds) for name, seconds in zip(cases, measured, strict=True)],
    )


def folder_size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())
