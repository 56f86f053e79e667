"""`pbloom build` against `parquet_bloom.spark.build` on the same files of a lake, in turn.

A program of its own, `python -m benchmarks.lake ROUNDS COLUMN FOLDER...`, so that the memory that
Spark takes is not the benchmark's. Prints JSON: for each folder the seconds of each round.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from benchmarks.processes import PBLOOM, run

# Filters are replaced in every round, so that every round does the same.
OPTIONS = ("--existing", "replace", "--in-place")


def main(rounds: int, column: str, folders: list[str]) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    from parquet_bloom import spark as lake
    from parquet_bloom.spark.session import LOCAL

    builder = SparkSession.builder.master("local[*]")
    for name, value in LOCAL.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    measured: dict[str, dict[str, list[float]]] = {}
    for folder in folders:
        files = [str(file) for file in sorted(Path(folder).glob("*.parquet"))]
        times: dict[str, list[float]] = {"local": [], "one thread": [], "spark": [], "tasks": []}
        # The first round warms up: Spark compiles, and Python workers are started.
        for number in range(rounds + 1):
            local = run([PBLOOM, "build", *files, "-c", column, *OPTIONS]).wall
            single = run([PBLOOM, "build", *files, "-c", column, *OPTIONS, "--threads", "1"]).wall
            started = time.perf_counter()
            report = lake.build(spark, folder, columns=[column], existing="replace")
            seconds = time.perf_counter() - started
            assert report.counts == {"added": len(files)}, report.summary()
            if number:
                times["local"].append(local)
                times["one thread"].append(single)
                times["spark"].append(seconds)
                times["tasks"].append(sum(outcome.seconds for outcome in report.outcomes))
        measured[folder] = times
    spark.stop()
    print(json.dumps(measured))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
