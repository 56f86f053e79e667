"""How what each verb takes grows with each thing that a file can have many of: `python -m benchmarks.growth
[--write]`.

Prints tables; --write replaces those in README.md. Takes some 70 GB of disk, 24 GB of which are read again
and again, and half an hour; --data keeps the files.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import machine
from benchmarks.bench import README, show, write_between_marks
from benchmarks.compare_lake_growth import LONG, LONG_VERBS, measure_lake_growth
from benchmarks.contenders import Command, Files
from benchmarks.exponents import Spent, growth_table, least_cost, sizes_up_to
from benchmarks.growth_in_columns import measure_in_columns
from benchmarks.growth_in_files import measure_in_files
from benchmarks.processes import PBLOOM, Cost
from benchmarks.tables import Table

MARK = "growth"


@dataclass(frozen=True, slots=True)
class Growing:
    """What there is n, 2 n and 4 n of, in files of a `kind`; verbs look at one `column`."""

    title: str
    kind: str
    most: int
    column: str = "id"
    is_folder: bool = False
    has_filters: bool = False
    # What the system takes to copy gigabytes depends on how much memory is free.
    is_copied_by_system: bool = False

    @property
    def about(self) -> str:
        """Which seconds count."""
        if self.is_copied_by_system:
            return "CPU time in their own code, without that of the system, which copies,"
        return "CPU time"

    def seconds(self, cost: Cost) -> float:
        return cost.own if self.is_copied_by_system else cost.cpu

    def file(self, files: Files, size: int) -> Path:
        if self.is_folder:
            (file,) = files.make_folder(self.kind, size).iterdir()
            return file
        return files.make(self.kind, size)


GROWING = [
    Growing("column chunks, each with a filter", "chunks", 100_000, "column-0", has_filters=True),
    Growing("row groups, each with a filter of 2 KiB", "filters", 10_000, has_filters=True),
    Growing("row groups of three rows", "row-groups", 1_000_000),
    Growing("row groups, all but the first with nothing but null", "nulls", 100_000),
    Growing("values in one column chunk", "one-chunk", 100_000_000),
    Growing("entries in one dictionary", "dictionary", 10_000_000),
    Growing(
        *("rows in a file of up to 10 GB", "huge", 200_000_000, "user_id"),
        is_folder=True,
        is_copied_by_system=True,
    ),
]
HARDLY_ANYTHING = Growing("row group", "filters", 1, has_filters=True)

# What grows is the number of columns, and of files, on this machine and on Spark.
COLUMNS, FILES, LAKE = "columns", "files", "lake"

# More than any of these takes; by default they refuse a million row groups.
MEMORY = ("--memory", "8GiB")


def measure(files: Files, growing: Growing, start: Spent) -> Table:
    """`start`: what each verb takes for hardly anything."""
    spent = {size: dict(_spent(files, growing, size)) for size in sizes_up_to(growing.most)}
    title = f"{growing.most:,} {growing.title}"
    return growth_table(title, growing.about, start, spent, growing.seconds)


def _spent(files: Files, growing: Growing, size: int) -> Iterator[tuple[str, Cost | None]]:
    file = growing.file(files, size)
    ways = ("--existing", "replace") if growing.has_filters else ()
    with TemporaryDirectory(dir=files.folder) as folder:
        checked = Path(folder, "checked.parquet")
        yield (
            "build",
            _cost(
                growing,
                [PBLOOM, "build", str(file), "-c", growing.column, *ways, "-o", str(checked)],
                checked,
            ),
        )
        for verb, command in _commands(checked, growing.column).items():
            with files.output() as output:
                yield verb, _cost(growing, command(output), output)


def _cost(growing: Growing, command: list[str], output: Path) -> Cost | None:
    def clear() -> None:
        if output.is_dir():
            shutil.rmtree(output)
        else:
            output.unlink(missing_ok=True)

    try:
        return least_cost([*command, *MEMORY], clear, growing.seconds)
    except RuntimeError:
        return None


def _commands(file: Path, column: str) -> dict[str, Command]:
    def reading(*arguments: str) -> Command:
        return lambda output: [PBLOOM, *arguments[:1], str(file), *arguments[1:]]

    def writing(*arguments: str) -> Command:
        command = reading(*arguments)
        return lambda output: [*command(output), "-o", str(output)]

    return {
        "strip": writing("strip"),
        "inspect": reading("inspect", "--json"),
        "probe": reading("probe", "-c", column, "-v", "7", "--json"),
        "find": reading("find", "-c", column, "-v", "7"),
        "index build": lambda output: [
            *(PBLOOM, "index", "build", str(file), "-c", column, "--index", str(output))
        ],
        "dump": reading("dump", "-c", column, "-g", "0"),
        "dump --footer": reading("dump", "--footer"),
        "validate --no-deep": reading("validate", "--no-deep"),
        "validate": reading("validate"),
        "validate --pages": reading("validate", "--pages"),
        "repair --dry-run": reading("repair", "--dry-run"),
        "diff": lambda output: [PBLOOM, "diff", str(file), str(file)],
        "advise": reading("advise", "-c", column),
        "advise --budget": reading("advise", "-c", column, "--budget", "1MiB"),
        "report": reading("report", "-o", "-"),
    }


def _tables(files: Files, kinds: Container[str]) -> Iterator[Table]:
    chosen = [each for each in GROWING if each.kind in kinds]
    if chosen:
        # The first commands fill caches.
        dict(_spent(files, HARDLY_ANYTHING, 1))
        start = dict(_spent(files, HARDLY_ANYTHING, 1))
        yield from (measure(files, growing, start) for growing in chosen)
    if COLUMNS in kinds:
        yield measure_in_columns(files)
    if FILES in kinds:
        yield measure_in_files(files)
    if LAKE in kinds:
        yield from measure_lake_growth(files, LONG, LONG_VERBS)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder to keep the files in")
    kinds = [*(each.kind for each in GROWING), COLUMNS, FILES, LAKE]
    parser.add_argument("--only", choices=kinds, action="append", help="of these")
    parser.add_argument("--write", action="store_true", help="replace the tables of README.md")
    options = parser.parse_args()

    with TemporaryDirectory() as temporary:
        folder = (options.data or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        files = Files(folder)
        measured = _tables(files, options.only or kinds)
        tables = [show(table) for table in measured]
    about = "\n".join([*machine.description(), "- `python -m benchmarks.growth`"])
    show(about)
    if options.write:
        write_between_marks(README, [*tables, about], MARK)


if __name__ == "__main__":
    main()
