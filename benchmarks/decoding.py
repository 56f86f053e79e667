"""pbloom's build of one column against pyarrow's decode of it, in one process, on one thread.

Run as a program, `python -m benchmarks.decoding FILE ROUNDS COLUMN...`; prints JSON: for each
column and contender the seconds of each round, [wall, CPU].
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

import pyarrow.parquet as pq

import parquet_bloom as pb

Seconds = tuple[float, float]
Work = Callable[[str, str], None]

# The columns of data.py whose chunks are dictionary-encoded strings from end to end.
DICTIONARY_COLUMNS = ("country", "city")


def decode(file: str, column: str) -> None:
    pq.ParquetFile(file).read(columns=[column], use_threads=False)


def decode_dictionary(file: str, column: str) -> None:
    """Leaves the values in dictionary form, which pyarrow can do for strings."""
    pq.ParquetFile(file, read_dictionary=[column]).read(columns=[column], use_threads=False)


def build(file: str, column: str) -> None:
    pb.build(file, columns=[column], dry_run=True, threads=1)


def contenders(column: str) -> dict[str, Work]:
    works: dict[str, Work] = {"pyarrow": decode, "pbloom": build}
    if column in DICTIONARY_COLUMNS:
        works["pyarrow, dictionary"] = decode_dictionary
    return works


def timed(work: Work, file: str, column: str) -> Seconds:
    wall, cpu = time.perf_counter(), time.process_time()
    work(file, column)
    return time.perf_counter() - wall, time.process_time() - cpu


def measure(file: str, column: str, rounds: int) -> dict[str, list[Seconds]]:
    """The first round warms up and is dropped."""
    works = contenders(column)
    seconds: dict[str, list[Seconds]] = {name: [] for name in works}
    for _ in range(1 + rounds):
        for name, work in works.items():
            seconds[name].append(timed(work, file, column))
    return {name: each[1:] for name, each in seconds.items()}


if __name__ == "__main__":
    file, rounds, *columns = sys.argv[1:]
    print(json.dumps({column: measure(file, column, int(rounds)) for column in columns}))
