"""Many values asked of a file at once, against its filters alone, in one process.

Run as a program, `python -m benchmarks.probing FILE COLUMN ROUNDS`; prints JSON: for each contender the
CPU seconds of each round.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

import numpy as np

import parquet_bloom as pb

NUM_VALUES = 10_000

Work = Callable[[], object]


def contenders(path: str, column: str) -> dict[str, Work]:
    """`check_many` asks filters that are in memory; all others start with the path of a file."""
    array = np.random.default_rng(1).integers(0, 1 << 60, NUM_VALUES)
    numbers = array.tolist()
    literals = [pb.literal(str(number)) for number in numbers]
    filters = read_filters(path, column)
    return {
        "check_many": lambda: [each.check_many(array) for each in filters],
        "filters": lambda: read_filters(path, column),
        "array": lambda: pb.probe(path, column, array),
        "array, read": lambda: pb.probe(path, column, array).to_read,
        "array, results": lambda: list(pb.probe(path, column, array).results),
        "list": lambda: pb.probe(path, column, numbers),
        "literals": lambda: pb.probe(path, column, literals),
    }


def read_filters(path: str, column: str) -> list[pb.ColumnFilter]:
    with pb.open(path) as file:
        return [file.bloom_filter(number, column) for number in range(len(file.row_groups))]


def timed(work: Work) -> float:
    cpu = time.process_time()
    work()
    return time.process_time() - cpu


def measure(path: str, column: str, rounds: int) -> dict[str, list[float]]:
    """The first round warms up and is dropped."""
    works = contenders(path, column)
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(1 + rounds):
        for name, work in works.items():
            seconds[name].append(timed(work))
    return {name: each[1:] for name, each in seconds.items()}


if __name__ == "__main__":
    path, column, rounds = sys.argv[1:]
    print(json.dumps(measure(path, column, int(rounds))))
