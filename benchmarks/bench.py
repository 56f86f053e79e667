"""pbloom against what one would use without it: `python -m benchmarks.bench [--write]`.

Prints tables. Each figure is the median of several rounds; within a round the contenders take
turns. README.md says what is measured; --write replaces its tables.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import machine
from benchmarks.compare_building import (
    compare_decoding,
    compare_rewrites,
    compare_unpacking,
    measure_memory,
)
from benchmarks.compare_encrypted import measure_encryption
from benchmarks.compare_growth import measure_growth
from benchmarks.compare_kernels import compare_kernels
from benchmarks.compare_lake import compare_lake
from benchmarks.compare_lake_growth import measure_lake_growth
from benchmarks.compare_orc import compare_orc
from benchmarks.compare_probing import compare_probing
from benchmarks.compare_small_files import compare_small_files
from benchmarks.compare_start import measure_start
from benchmarks.compare_threads import compare_all_columns, compare_threads
from benchmarks.compare_validation import measure_validation
from benchmarks.contenders import Files
from benchmarks.tables import Table

README = Path(__file__).with_name("README.md")


def tables(files: Files, rows: int, rounds: int) -> Iterator[Table]:
    yield compare_rewrites(files, rows, rounds)
    yield compare_decoding(files, rows, 2 * rounds + 1)
    yield compare_unpacking(2 * rounds + 1)
    yield compare_threads(files, rows, 2 * rounds + 1)
    yield compare_all_columns(files, rows, rounds)
    if shutil.which("g++"):
        yield compare_kernels(2 * rounds + 1)
    else:
        print("no g++: the kernels are not compared\n")
    yield compare_probing(files, 2 * rounds + 1)
    yield measure_memory(files, rows, min(rounds, 3))
    yield measure_validation(files, rows, rounds)
    yield measure_encryption(files, rows, rounds)
    yield measure_growth(files, min(rounds, 3))
    yield compare_orc(files, rows, rounds)
    yield compare_small_files(files, min(rounds, 3))
    yield compare_lake(files, min(rounds, 3))
    yield from measure_lake_growth(files)
    yield measure_start(2 * rounds + 1)


def show(text: object) -> str:
    print(text, end="\n\n", flush=True)
    return str(text)


def write_between_marks(readme: Path, blocks: Sequence[str], mark: str = "results") -> None:
    begin, end = f"<!-- {mark} -->\n", f"<!-- /{mark} -->\n"
    before, _, rest = readme.read_text().partition(begin)
    _, _, after = rest.partition(end)
    readme.write_text(before + begin + "\n" + "\n\n".join(blocks) + "\n\n" + end + after)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench", description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000, help="rows of the main file")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--data", type=Path, help="folder to keep the files in")
    parser.add_argument("--write", action="store_true", help="replace the tables of README.md")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.data or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        command = f"python -m benchmarks.bench --rows {options.rows} --rounds {options.rounds}"
        before = machine.load()
        blocks = [show(table) for table in tables(Files(folder), options.rows, options.rounds)]
        about = [
            *machine.description(),
            f"- Load average before and after: {before}; {machine.load()}",
            f"- `{command}`",
        ]
    show("\n".join(about))
    if options.write:
        write_between_marks(README, ["\n".join(about), *blocks])


if __name__ == "__main__":
    main()
