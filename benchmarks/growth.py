"""How what each verb takes grows with each thing that a file can have many of: `python -m benchmarks.growth
[--write]`.

Prints tables; --write replaces those in README.md. Takes some 70 GB of disk, 24 GB of which are read again
and again, and half an hour; --data keeps the files.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log2
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import machine
from benchmarks.bench import README, show, write_between_marks
from benchmarks.contenders import Command, Files
from benchmarks.processes import PBLOOM, Cost, run
from benchmarks.tables import NO_GOAL, Table, at_most, megabytes

MARK = "growth"

# Less than that above what a verb takes for hardly anything says nothing about growth.
LEAST_SECONDS = 0.1

MOST_EXPONENT = 1.15

# Commands of fewer seconds of CPU are repeated until they have taken so many, or run so often.
LONG, MOST_ROUNDS = 12, 5


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
    Growing("values in one column chunk", "one-chunk", 100_000_000),
    Growing("entries in one dictionary", "dictionary", 10_000_000),
    Growing(
        *("rows in a file of up to 10 GB", "huge", 200_000_000, "user_id"),
        is_folder=True,
        is_copied_by_system=True,
    ),
]
HARDLY_ANYTHING = Growing("row group", "filters", 1, has_filters=True)

# More than any of these takes; by default they refuse a million row groups.
MEMORY = ("--memory", "8GiB")

# By verb; None for what a verb refuses, as it does not fit the memory budget.
Spent = dict[str, Cost | None]


def measure(files: Files, growing: Growing, start: Spent) -> Table:
    """`start`: what each verb takes for hardly anything."""
    sizes = [growing.most // share for share in (4, 2, 1)]
    spent = [dict(_spent(files, growing, size)) for size in sizes]
    return Table(
        f"{growing.most:,} {growing.title}",
        f"A quarter, a half and all of them. {growing.about} and peak memory of whole processes, the least"
        f" of up to {MOST_ROUNDS} rounds.",
        ("", *(f"{size:,}" for size in sizes), "exponent", "memory", "of the most"),
        [_row(growing, verb, start[verb], [each[verb] for each in spent]) for verb in start],
    )


def _row(
    growing: Growing, verb: str, start: Cost | None, costs: Sequence[Cost | None]
) -> list[str]:
    exponent = _exponent(growing, start, costs)
    return [
        verb,
        *("refused" if cost is None else f"{growing.seconds(cost):.2f} s" for cost in costs),
        "-" if exponent is None else f"{exponent:.2f}",
        *("-" if cost is None else megabytes(cost.peak) for cost in (costs[0], costs[-1])),
        *(NO_GOAL if exponent is None else at_most(exponent, MOST_EXPONENT, "")),
    ]


def _exponent(growing: Growing, start: Cost | None, costs: Sequence[Cost | None]) -> float | None:
    """The power of their number that the CPU time grows with; None if it hardly grows. `costs`: of twice as
    many each."""
    if start is None or None in costs:
        return None
    least = growing.seconds(start)
    spent = [growing.seconds(cost) - least for cost in costs if cost is not None]
    enough = [index for index, seconds in enumerate(spent) if seconds >= LEAST_SECONDS]
    first, last = min(enough, default=0), len(spent) - 1
    if first == last or last not in enough:
        return None
    return log2(spent[last] / spent[first]) / (last - first)


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
    """That of the run that took least of the processor: whatever else runs takes more of a short one."""
    costs: list[Cost] = []
    while len(costs) < MOST_ROUNDS and sum(map(growing.seconds, costs)) < LONG:
        output.unlink(missing_ok=True)
        try:
            costs.append(run([*command, *MEMORY], fine=(0, 1)))
        except RuntimeError:
            return None
    return min(costs, key=growing.seconds)


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
        "dump": reading("dump", "-c", column, "-g", "0"),
        "dump --footer": reading("dump", "--footer"),
        "validate --no-deep": reading("validate", "--no-deep"),
        "validate": reading("validate"),
        "repair --dry-run": reading("repair", "--dry-run"),
        "diff": lambda output: [PBLOOM, "diff", str(file), str(file)],
        "advise": reading("advise", "-c", column),
        "report": writing("report"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder to keep the files in")
    parser.add_argument(
        "--only", choices=[each.kind for each in GROWING], action="append", help="of these"
    )
    parser.add_argument("--write", action="store_true", help="replace the tables of README.md")
    options = parser.parse_args()

    with TemporaryDirectory() as temporary:
        folder = (options.data or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        files = Files(folder)
        # The first commands fill caches.
        dict(_spent(files, HARDLY_ANYTHING, 1))
        start = dict(_spent(files, HARDLY_ANYTHING, 1))
        chosen = [each for each in GROWING if each.kind in (options.only or [each.kind])]
        tables = [show(measure(files, growing, start)) for growing in chosen]
    about = "\n".join([*machine.description(), "- `python -m benchmarks.growth`"])
    show(about)
    if options.write:
        write_between_marks(README, [*tables, about], MARK)


if __name__ == "__main__":
    main()
