"""A job on Spark, against the command on the same files, and against Spark's own rewrite of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from benchmarks.contenders import Files
from benchmarks.lake import COMMAND, FIRST, JOB, REWRITE
from benchmarks.processes import ask, module
from benchmarks.spark import Spent
from benchmarks.tables import NO_GOAL, Row, Table, at_least, megabytes

# CPU time of the command, relative to that of Python on Spark.
OF_COMMAND = 0.9

SMALL_FILES, LARGE_FILES = 2_000, 20
# Of the column, in a row group that Spark writes: its tasks put small files together.
OF_SMALL, OF_LARGE = 32_000, 2_000_000

# By contender, one for each round.
Rounds = Mapping[str, Sequence[Mapping[str, float]]]


def compare_lake(files: Files, rounds: int) -> Table:
    """CPU time of each way to get filters into the files of a lake."""
    small = files.make_folder("tiny-files", SMALL_FILES)
    large = files.make_folder("large-files", LARGE_FILES)
    names = [
        f"{number:,} files, {megabytes(size)}"
        for number, size in map(_number_and_bytes, (small, large))
    ]
    measured = ask(module("lake", rounds, "id", OF_SMALL, small, OF_LARGE, large))
    rows = [
        row
        for name, rounds_of_it in zip(names, measured, strict=True)
        for row in _rows(name, rounds_of_it)
    ]
    first = _typical(measured[0][FIRST])
    return Table(
        "A lake on Spark",
        "A filter for one column, in place by pbloom, in a new folder by Spark, which reads and writes"
        " everything with `parquet.bloom.filter.enabled#id`. CPU time of the command with its start; of Spark in"
        " a warm local session, as one has started many jobs: the JVM's, and that of Python, which are the workers"
        f" and the driver. `/ job`: all CPU time, relative to pbloom on Spark; `/ Python`: relative to its Python alone."
        f" The first job of a session, on the {SMALL_FILES:,} files, took {first.python:.1f} s of Python and"
        f" {first.jvm:.1f} s of the JVM. {rounds} rounds.",
        ("", "wall", "CPU", "JVM", "Python", "/ job", "/ Python"),
        rows,
    )


def _rows(name: str, rounds: Rounds) -> list[Row]:
    spent = {contender: _typical(rounds[contender]) for contender in (JOB, COMMAND, REWRITE)}
    job = spent[JOB]
    return [
        [
            f"{name}: {contender}",
            f"{each.wall:.1f} s",
            f"{each.cpu:.1f} s",
            *(f"{part:.1f} s" if part >= 0.05 else "" for part in (each.jvm, each.python)),
            *(("", "") if each is job else _times(each.cpu, job)),
            *(
                at_least(each.cpu / job.python, OF_COMMAND, "x")
                if contender == COMMAND
                else NO_GOAL
            ),
        ]
        for contender, each in spent.items()
    ]


def _times(cpu: float, job: Spent) -> tuple[str, str]:
    return f"{cpu / job.cpu:.2f}x", f"{cpu / job.python:.2f}x"


def _typical(rounds: Sequence[Mapping[str, float]]) -> Spent:
    return Spent(**{part: median(each[part] for each in rounds) for part in rounds[0]})


def _number_and_bytes(folder: Path) -> tuple[int, int]:
    sizes = [file.stat().st_size for file in folder.iterdir()]
    return len(sizes), sum(sizes)
