"""Nanoseconds to hash a value and insert or check it: pbloom's kernel against Arrow C++'s.

Run as a program, `python -m benchmarks.kernel ROUNDS`; prints JSON, one element per case. Arrow's
side is arrow_filter.cc, compiled with g++ against the headers and libraries of the pyarrow wheel;
both sides get the same values, in turn, round by round.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa

from benchmarks.data import SEED, unique_ids
from parquet_bloom.native import _kernel

NUM_VALUES = 1_000_000
SOURCE = Path(__file__).with_name("arrow_filter.cc")
Bytes = np.ndarray


@dataclass(frozen=True, slots=True)
class Case:
    """`nanoseconds` per value: those of each round, by contender."""

    values: Literal["int64", "string"]
    verb: Literal["insert", "check"]
    num_bytes: int
    nanoseconds: dict[str, list[float]] = field(default_factory=dict)


CASES = [
    Case("int64", "insert", 32 << 10),
    Case("int64", "insert", 256 << 10),
    Case("int64", "insert", 1 << 20),
    Case("int64", "insert", 2 << 20),
    Case("int64", "insert", 8 << 20),
    Case("string", "insert", 2 << 20),
    Case("int64", "check", 2 << 20),
    Case("string", "check", 2 << 20),
]


def plain_values(values: str) -> Bytes:
    """NUM_VALUES as PLAIN encodes them, one row each; strings have 25 bytes after their length."""
    rng = np.random.default_rng(SEED)
    if values == "int64":
        return rng.integers(0, 1 << 60, NUM_VALUES).view(np.uint8).reshape(NUM_VALUES, 8)
    text = np.frombuffer(unique_ids(rng, NUM_VALUES).buffers()[2], np.uint8)
    rows = text.reshape(NUM_VALUES, -1)
    lengths = np.full(NUM_VALUES, rows.shape[1], np.uint32).view(np.uint8)
    return np.hstack([lengths.reshape(NUM_VALUES, 4), rows])


def insert(words: np.ndarray, values: str, plain: Bytes) -> None:
    if values == "int64":
        _kernel.insert_fixed(words, plain, 8)
    else:
        _kernel.insert_byte_array(words, plain)


def check(words: np.ndarray, values: str, plain: Bytes) -> None:
    hashes = _kernel.xxh64_fixed(plain, 8) if values == "int64" else _kernel.hash_byte_array(plain)
    _kernel.check(words, hashes)


def time_pbloom(case: Case, rows: Bytes) -> float:
    words = np.zeros(case.num_bytes // 4, np.uint32)
    words.fill(0)  # so that no page of it is touched for the first time while the clock runs
    plain = rows.ravel()
    if case.verb == "insert":
        return nanoseconds(lambda: insert(words, case.values, plain))
    insert(words, case.values, rows[::2].ravel())
    return nanoseconds(lambda: check(words, case.values, plain))


def nanoseconds(work: Callable[[], None]) -> float:
    started = time.perf_counter_ns()
    work()
    return (time.perf_counter_ns() - started) / NUM_VALUES


def time_baseline(case: Case, rows: Bytes) -> float:
    """pbloom on a processor without AVX2."""
    used = _kernel.uses_avx2()
    _kernel.use_avx2(False)
    try:
        return time_pbloom(case, rows)
    finally:
        _kernel.use_avx2(used)


def compile_arrow(folder: str) -> str:
    """The path of the compiled program."""
    program = f"{folder}/arrow_filter"
    libraries = Path(pa.get_library_dirs()[0])
    linked = [f"-l:{next(libraries.glob(f'lib{name}.so.*')).name}" for name in ("parquet", "arrow")]
    search = [f"-I{pa.get_include()}", f"-L{libraries}", f"-Wl,-rpath,{libraries}"]
    subprocess.run(
        ["g++", "-std=c++20", "-O3", *search, str(SOURCE), "-o", program, *linked], check=True
    )
    return program


@contextmanager
def arrow(program: str, folder: str, values: str, rows: Bytes) -> Iterator[Callable[[Case], float]]:
    """Asks a running arrow_filter."""
    file = f"{folder}/{values}"
    rows.tofile(file)
    command = [program, file, "8" if values == "int64" else "0"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        stdin, stdout = process.stdin, process.stdout

        def ask(case: Case) -> float:
            stdin.write(f"{case.verb} {case.num_bytes}\n")
            return float(stdout.readline())

        yield ask
        stdin.close()


def measure(rounds: int) -> list[Case]:
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        program = compile_arrow(folder)
        rows = {values: plain_values(values) for values in ("int64", "string")}
        ask = {
            values: stack.enter_context(arrow(program, folder, values, plain))
            for values, plain in rows.items()
        }
        for _ in range(rounds):
            for case in CASES:
                times = {
                    "Arrow C++": ask[case.values](case),
                    "pbloom": time_pbloom(case, rows[case.values]),
                    "pbloom without AVX2": time_baseline(case, rows[case.values]),
                }
                for name, spent in times.items():
                    case.nanoseconds.setdefault(name, []).append(spent)
    return CASES


if __name__ == "__main__":
    print(json.dumps([asdict(case) for case in measure(int(sys.argv[1]))]))
