"""The wheel of this machine, which Zig compiled, against the package that is compiled here:
`python -m benchmarks.compare_wheel [--write]`, after `make wheel`.

Prints tables; --write replaces those in README.md.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from platform import machine as processor
from types import ModuleType

import numpy as np

from benchmarks import machine
from benchmarks.bench import README, show, write_between_marks
from benchmarks.contenders import Files
from benchmarks.data import SEED
from benchmarks.kernel import NUM_VALUES, WIDTHS, Values, plain_values
from benchmarks.processes import run
from benchmarks.tables import Table, at_most
from parquet_bloom.native import _kernel

MARK = "wheel"
ROOT = Path(__file__).parents[1]
# How much longer it may take.
MOST = 1.05

# Columns of the file with most encodings.
ENCODED = "short,long,int32,delta,lengths,prefixes,streams"
BLOCKS_IN_CACHE, BLOCKS = 8_192, 65_536


def wheel(into: Path) -> Path:
    """The folder that has the wheel's package."""
    found = list((ROOT / "dist").glob(f"*manylinux*_{processor()}.whl"))
    if len(found) != 1:
        sys.exit(f"dist: {len(found)} wheels for this machine, expected 1: make wheel")
    with zipfile.ZipFile(found[0]) as packed:
        packed.extractall(into)
    return into


# --- the kernel -----------------------------------------------------------------------------------


def kernel_in(folder: Path) -> ModuleType:
    path = str(folder / "parquet_bloom" / "native" / Path(_kernel.__file__).name)
    spec = spec_from_file_location(
        _kernel.__name__, loader=ExtensionFileLoader(_kernel.__name__, path)
    )
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def calls(kernel: ModuleType) -> dict[str, Callable[[], object]]:
    """Each over NUM_VALUES values."""
    rng = np.random.default_rng(SEED)
    numbers = rng.integers(0, 1 << 63, NUM_VALUES, np.uint64)
    numbers.sort()
    small, large = kernel.clear_words(BLOCKS_IN_CACHE), kernel.clear_words(BLOCKS)
    found: dict[str, Callable[[], object]] = {}
    kinds: tuple[Values, ...] = ("int32", "int64", "equal strings", "short strings", "long strings")
    for kind in kinds:
        values, width = plain_values(kind).all, WIDTHS.get(kind)
        if width:
            found[f"insert {kind}"] = lambda v=values, w=width: kernel.insert_fixed(small, v, w)
            found[f"insert {kind}, 2 MiB"] = lambda v=values, w=width: kernel.insert_fixed(
                large, v, w
            )
            found[f"check {kind}"] = lambda v=values, w=width: kernel.check_fixed(small, v, w)
            found[f"XXH64 of {kind}"] = lambda v=values, w=width: kernel.xxh64_fixed(v, w)
        else:
            found[f"insert {kind}"] = lambda v=values: kernel.insert_byte_array(small, v)
            found[f"check {kind}"] = lambda v=values: kernel.check_byte_array(small, v)
            found[f"XXH64 of {kind}"] = lambda v=values: kernel.hash_byte_array(v)
    doubles = rng.normal(size=NUM_VALUES).view(np.uint8)
    bits = np.zeros(NUM_VALUES // 6, np.uint64)
    return found | {
        "FPP of a filter": lambda: kernel.fpp(large),
        "bits set in a filter": lambda: kernel.popcount(large),
        "CRC-32": lambda: kernel.crc32(doubles),
        "zeros and NaNs": lambda: kernel.float_specials(doubles, 8),
        "BYTE_STREAM_SPLIT": lambda: kernel.join_streams(doubles, 8),
        "Wang's hash": lambda: kernel.wang(numbers.view(np.int64)),
        "ORC's filter": lambda: kernel.k_hash_insert(bits, bits.size * 64, 7, numbers),
        "SipHash": lambda: kernel.siphash_words(numbers, bytes(16)),
        "keys of an index": lambda: kernel.key_pages(numbers, 65_536),
    }


def compare_kernels(folders: dict[str, Path], rounds: int) -> Table:
    cases = {name: calls(kernel_in(folder)) for name, folder in folders.items()}
    best = {name: dict.fromkeys(each, float("inf")) for name, each in cases.items()}
    for number in range(rounds):
        # Who begins changes from round to round.
        names = list(cases)[:: 1 if number % 2 else -1]
        for case in cases[names[0]]:
            for name in names:
                started = time.thread_time_ns()
                cases[name][case]()
                spent = (time.thread_time_ns() - started) / NUM_VALUES
                best[name][case] = min(best[name][case], spent)
    note = (
        f"A million values; nanoseconds of CPU time per value, the least of {rounds} rounds in one process."
        " Filters have 256 KiB unless it says 2 MiB."
    )
    return _beside("The kernel in the wheel", note, best, "ns")


# --- commands -------------------------------------------------------------------------------------


def compare_commands(folders: dict[str, Path], files: Files, rows: int, rounds: int) -> Table:
    events, orc, others = (files.make(kind, rows) for kind in ("events", "events-orc", "encodings"))
    output = files.folder / "output"
    built = files.folder / "built.parquet"
    commands = {
        "build, strings": ("build", events, "-c", "id", "-o", output, "--overwrite"),
        "build, numbers": ("build", events, "-c", "user_id", "-o", output, "--overwrite"),
        "build, every encoding": ("build", others, "-c", ENCODED, "-o", output, "--overwrite"),
        "build, ORC": ("build", orc, "-c", "id,user_id", "-o", output, "--overwrite"),
        "validate": ("validate", built),
        "find": ("find", built, "-c", "id", "-v", "none"),
        "inspect": ("inspect", built),
    }
    prefix = {
        name: ["env", f"PYTHONPATH={folder}", sys.executable, "-P", "-m", "parquet_bloom"]
        for name, folder in folders.items()
    }
    run(
        [*prefix["here"], "build", str(events), "-c", "id,user_id", "-o", str(built), "--overwrite"]
    )
    best = {name: dict.fromkeys(commands, float("inf")) for name in folders}
    for number in range(rounds):
        for name in list(folders)[:: 1 if number % 2 else -1]:
            for case, command in commands.items():
                cost = run([*prefix[name], *map(str, command)], fine=(0, 1))
                best[name][case] = min(best[name][case], cost.cpu)
    note = f"Files of {rows:,} rows; CPU time of whole processes, the least of {rounds} rounds."
    return _beside("Commands of the wheel", note, best, "s")


def _beside(title: str, note: str, best: dict[str, dict[str, float]], unit: str) -> Table:
    """A row for each case, of what is here and of the wheel."""
    here, there = best.values()
    return Table(
        title,
        note,
        ("", *best, "wheel / here"),
        [
            [
                case,
                f"{here[case]:.2f} {unit}",
                f"{there[case]:.2f} {unit}",
                f"{there[case] / here[case]:.2f}x",
                *at_most(there[case] / here[case], MOST, "x"),
            ]
            for case in here
        ],
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare_wheel", description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--data", type=Path, help="folder to keep the files in")
    parser.add_argument("--write", action="store_true", help="replace the tables of README.md")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as temporary:
        folders = {"here": ROOT, "wheel": wheel(Path(temporary) / "wheel")}
        folder = (options.data or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        tables = [
            show(compare_commands(folders, Files(folder), options.rows, options.rounds)),
            show(compare_kernels(folders, 5 * options.rounds)),
        ]
    command = f"python -m benchmarks.compare_wheel --rows {options.rows} --rounds {options.rounds}"
    about = "\n".join([*machine.description(), f"- `{command}`"])
    show(about)
    if options.write:
        write_between_marks(README, [*tables, about], MARK)


if __name__ == "__main__":
    main()
