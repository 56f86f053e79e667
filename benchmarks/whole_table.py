"""Filters for all columns of a file against pyarrow's read of it, each with the threads that it wants.

Run as a program, `python -m benchmarks.whole_table FILE ROUNDS`; prints JSON: for each contender the
seconds of each round, [wall, CPU].
"""

from __future__ import annotations

import json
import sys

import pyarrow.parquet as pq

import parquet_bloom as pb
from benchmarks.decoding import Seconds, timed


def read(file: str, columns: list[str]) -> None:
    pq.read_table(file, columns=columns)


def build(file: str, columns: list[str]) -> None:
    pb.build(file, columns=columns, dry_run=True)


def measure(file: str, rounds: int) -> dict[str, list[Seconds]]:
    """The first round warms up and is dropped."""
    columns = pq.read_schema(file).names
    works = {"pyarrow": read, "pbloom": build}
    seconds: dict[str, list[Seconds]] = {name: [] for name in works}
    for _ in range(1 + rounds):
        for name, work in works.items():
            seconds[name].append(timed(work, file, columns))
    return {name: each[1:] for name, each in seconds.items()}


if __name__ == "__main__":
    file, rounds = sys.argv[1:]
    print(json.dumps(measure(file, int(rounds))))
