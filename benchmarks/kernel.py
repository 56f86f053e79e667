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

from benchmarks.data import ID_BYTES, SEED
from parquet_bloom.native import _kernel

NUM_VALUES = 1_000_000
SOURCE = Path(__file__).with_name("arrow_filter.cc")
Bytes = np.ndarray


Values = Literal["int32", "int64", "equal strings", "short strings", "long strings"]

# The bytes of a value; 0 for strings.
WIDTHS: dict[Values, int] = {"int32": 4, "int64": 8}
# The shortest and the longest string.
LENGTHS: dict[Values, tuple[int, int]] = {
    "equal strings": (ID_BYTES, ID_BYTES),
    "short strings": (6, 30),
    "long strings": (20, 200),
}


@dataclass(frozen=True, slots=True)
class Case:
    """`nanoseconds` per value: those of each round, by contender."""

    values: Values
    verb: Literal["insert", "check"]
    num_bytes: int
    nanoseconds: dict[str, list[float]] = field(default_factory=dict)


CASES = [
    Case("int64", "insert", 32 << 10),
    Case("int64", "insert", 256 << 10),
    Case("int64", "insert", 1 << 20),
    Case("int64", "insert", 2 << 20),
    Case("int64", "insert", 8 << 20),
    Case("int32", "insert", 2 << 20),
    Case("equal strings", "insert", 2 << 20),
    Case("short strings", "insert", 2 << 20),
    Case("long strings", "insert", 2 << 20),
    Case("int64", "check", 2 << 20),
    Case("equal strings", "check", 2 << 20),
    Case("short strings", "check", 2 << 20),
    Case("long strings", "check", 2 << 20),
]


@dataclass(frozen=True, slots=True)
class Plain:
    """NUM_VALUES as PLAIN encodes them, and every second one of them."""

    all: Bytes
    half: Bytes


def plain_values(values: Values) -> Plain:
    rng = np.random.default_rng(SEED)
    if values in WIDTHS:
        rows = rng.integers(0, 256, (NUM_VALUES, WIDTHS[values]), np.uint8)
        return Plain(rows.ravel(), rows[::2].ravel())
    shortest, longest = LENGTHS[values]
    lengths = rng.integers(shortest, longest + 1, NUM_VALUES)
    return Plain(byte_arrays(rng, lengths), byte_arrays(rng, lengths[::2]))


def byte_arrays(rng: np.random.Generator, lengths: np.ndarray) -> Bytes:
    """Random strings of these lengths, each after its length."""
    ends = np.cumsum(lengths + 4)
    data = rng.integers(0, 256, ends[-1], np.uint8)
    for place in range(4):
        data[ends - lengths - 4 + place] = lengths >> 8 * place & 0xFF
    return data


def insert(words: np.ndarray, values: Values, plain: Bytes) -> None:
    if values in WIDTHS:
        _kernel.insert_fixed(words, plain, WIDTHS[values])
    else:
        _kernel.insert_byte_array(words, plain)


def check(words: np.ndarray, values: Values, plain: Bytes) -> None:
    if values in WIDTHS:
        _kernel.check_fixed(words, plain, WIDTHS[values])
    else:
        _kernel.check_byte_array(words, plain)


def time_pbloom(case: Case, plain: Plain) -> float:
    words = np.frombuffer(_kernel.clear_words(case.num_bytes // 32), np.uint32)
    if case.verb == "insert":
        return nanoseconds(lambda: insert(words, case.values, plain.all))
    insert(words, case.values, plain.half)
    return nanoseconds(lambda: check(words, case.values, plain.all))


def nanoseconds(work: Callable[[], None]) -> float:
    started = time.perf_counter_ns()
    work()
    return (time.perf_counter_ns() - started) / NUM_VALUES


def timed_paths(case: Case, plain: Plain) -> dict[str, float]:
    """pbloom on the code path of this processor, and on each of those before it."""
    used = _kernel.code_path()
    paths = _kernel.CODE_PATHS[: 1 + _kernel.CODE_PATHS.index(used)]
    try:
        return {path: time_on(path, case, plain) for path in paths}
    finally:
        _kernel.choose_code_path(used)


def time_on(path: str, case: Case, plain: Plain) -> float:
    _kernel.choose_code_path(path)
    return time_pbloom(case, plain)


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
def arrow(
    program: str, folder: str, values: Values, plain: Plain
) -> Iterator[Callable[[Case], float]]:
    """Asks a running arrow_filter."""
    file = f"{folder}/{values}"
    plain.all.tofile(file)
    command = [program, file, str(WIDTHS.get(values, 0))]
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
        plain = {case.values: plain_values(case.values) for case in CASES}
        ask = {
            values: stack.enter_context(arrow(program, folder, values, each))
            for values, each in plain.items()
        }
        for _ in range(rounds):
            for case in CASES:
                times = timed_paths(case, plain[case.values])
                times["Arrow C++"] = ask[case.values](case)
                for name, spent in times.items():
                    case.nanoseconds.setdefault(name, []).append(spent)
    return CASES


if __name__ == "__main__":
    print(json.dumps([asdict(case) for case in measure(int(sys.argv[1]))]))
