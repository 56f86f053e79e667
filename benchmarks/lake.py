"""A filter for one column of a lake: `pbloom build`, `parquet_bloom.spark.build`, and Spark's own rewrite of the
same files, in turn.

A program of its own, `python -m benchmarks.lake ROUNDS COLUMN DISTINCT FOLDER [DISTINCT FOLDER]...`; DISTINCT:
values of the column in a row group, which Spark is told. Prints JSON: for each folder and contender what each round
takes; the first of all jobs is the first of its session.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.processes import PBLOOM, run
from benchmarks.spark import Session, Spent, local_session

COMMAND, JOB, REWRITE = "pbloom build", "pbloom spark build", "Spark, read and write"
FIRST = "first job"

FPP = 0.01


def spent_by_command(folder: Path, column: str) -> Spent:
    # Filters are replaced, so that every round does the same.
    options = ["-c", column, "--existing", "replace", "--in-place"]
    cost = run([PBLOOM, "build", str(folder), *options])
    return Spent(wall=cost.wall, driver=cost.cpu, jvm=0.0, workers=0.0)


def spent_by(session: Session, work: Callable[[], None]) -> Spent:
    before = session.spent()
    work()
    return session.spent() - before


def build(spark: Any, folder: Path, column: str) -> None:
    from parquet_bloom import spark as lake

    report = lake.build(spark, str(folder), columns=[column], fpp=FPP, existing="replace")
    if set(report.counts) != {"added"}:
        raise RuntimeError(report.summary())


def rewrite(spark: Any, folder: Path, column: str, distinct: int) -> None:
    output = folder.with_name("rewritten")
    writer = spark.read.parquet(str(folder)).write.option("compression", "zstd")
    for name, value in {"enabled": "true", "expected.ndv": distinct, "fpp": FPP}.items():
        writer = writer.option(f"parquet.bloom.filter.{name}#{column}", value)
    writer.parquet(str(output))
    shutil.rmtree(output)


def rounds_of(
    session: Session, rounds: int, column: str, distinct: int, folder: Path
) -> dict[str, list[Spent]]:
    """By contender. The rewrites come last: while the JVM does one, Spark ends the Python workers."""

    def job() -> Spent:
        return spent_by(session, lambda: build(session.spark, folder, column))

    # Starts the workers.
    spent: dict[str, list[Spent]] = {FIRST: [job()], COMMAND: [], JOB: [], REWRITE: []}
    for _ in range(rounds):
        spent[COMMAND].append(spent_by_command(folder, column))
        spent[JOB].append(job())
    for _ in range(rounds):
        spent[REWRITE].append(
            spent_by(session, lambda: rewrite(session.spark, folder, column, distinct))
        )
    return spent


def main(rounds: int, column: str, lakes: Sequence[str]) -> None:
    cases = [
        (int(distinct), Path(folder))
        for distinct, folder in zip(lakes[::2], lakes[1::2], strict=True)
    ]
    with local_session() as session:
        measured = [rounds_of(session, rounds, column, *case) for case in cases]
    print(json.dumps(measured, default=asdict))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
