"""`pbloom build` against `parquet_bloom.spark.build` on the same files of a lake, in turn.

A program of its own, `python -m benchmarks.lake ROUNDS COLUMNS FOLDER [COLUMNS FOLDER]...`, so that
the memory that Spark takes is not the benchmark's. Prints JSON: for each case the seconds of each
round, of the command, of the job, and of the job's tasks.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.processes import PBLOOM, environment

PROCESSORS = len(os.sched_getaffinity(0))


def commands(files: Sequence[str], columns: str) -> list[list[str]]:
    """One process for each processor, as one does it by hand; a single file has all threads.

    Filters are replaced, so that every round does the same.
    """
    options = ["-c", columns, "--existing", "replace", "--in-place"]
    if len(files) == 1:
        return [[PBLOOM, "build", *files, *options]]
    shares = [files[first::PROCESSORS] for first in range(PROCESSORS)]
    return [[PBLOOM, "build", *share, *options, "--threads", "1"] for share in shares]


def seconds_of_command(files: Sequence[str], columns: str) -> float:
    started = time.perf_counter()
    running = [
        subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment())
        for command in commands(files, columns)
    ]
    if any(process.wait() for process in running):
        raise RuntimeError("pbloom build failed")
    return time.perf_counter() - started


def seconds_of_job(spark: Any, files: Sequence[str], columns: str) -> tuple[float, float]:
    """Of the job, and of its tasks as if they had run without a gap."""
    from parquet_bloom import spark as lake

    started = time.perf_counter()
    folder = str(Path(files[0]).parent)
    report = lake.build(spark, folder, columns=columns.split(","), existing="replace")
    seconds = time.perf_counter() - started
    if report.counts != {"added": len(files)}:
        raise RuntimeError(report.summary())
    slots = min(PROCESSORS, len(files))
    return seconds, sum(outcome.seconds for outcome in report.outcomes) / slots


def rounds_of(spark: Any, rounds: int, columns: str, folder: str) -> Iterator[dict[str, float]]:
    files = [str(file) for file in sorted(Path(folder).glob("*.parquet"))]
    # The first round warms up: Spark compiles, and Python workers are started.
    for number in range(rounds + 1):
        command = seconds_of_command(files, columns)
        job, tasks = seconds_of_job(spark, files, columns)
        if number:
            yield {"command": command, "job": job, "tasks": tasks}


def main(rounds: int, cases: Sequence[str]) -> None:
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    from parquet_bloom.spark.session import session

    with session(None, None, {}) as spark:
        measured = [
            list(rounds_of(spark, rounds, *case))
            for case in zip(cases[::2], cases[1::2], strict=True)
        ]
    print(json.dumps(measured))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
