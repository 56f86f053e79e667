"""A filter for one column chunk by one thread and by two, and a look at all of its values.

Run as a program, `python -m benchmarks.threads FILE WITH_FILTERS ROUNDS COLUMN...`; prints JSON: for
each column, verb and number of threads the seconds of each round, [wall, CPU].
"""

from __future__ import annotations

import json
import sys

import parquet_bloom as pb
from benchmarks.decoding import Seconds, timed

THREADS = (1, 2)


def measure(file: str, checked: str, column: str, rounds: int) -> dict[str, list[Seconds]]:
    """The first round warms up and is dropped."""
    seconds: dict[str, list[Seconds]] = {}
    for _ in range(1 + rounds):
        for threads in THREADS:

            def build(path: str, column: str, threads: int = threads) -> None:
                pb.build(path, columns=[column], dry_run=True, threads=threads)

            def validate(path: str, column: str, threads: int = threads) -> None:
                pb.validate(path, columns=[column], threads=threads)

            for verb, path in ((build, file), (validate, checked)):
                name = f"{verb.__name__} {threads}"
                seconds.setdefault(name, []).append(timed(verb, path, column))
    return {name: each[1:] for name, each in seconds.items()}


if __name__ == "__main__":
    file, checked, rounds, *columns = sys.argv[1:]
    print(json.dumps({column: measure(file, checked, column, int(rounds)) for column in columns}))
