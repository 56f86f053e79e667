"""How what a budget costs grows with the number of columns that it is shared among."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.contenders import Files
from benchmarks.exponents import growth_table, least_cost, sizes_up_to
from benchmarks.processes import PBLOOM, Cost
from benchmarks.tables import Table

MOST = 2_000

# For most columns of the most, there is only room for filters of a high rate.
BUDGET = ("--budget", "4MiB")


def measure_in_columns(files: Files) -> Table:
    # The first commands fill caches.
    dict(_spent(files, 1))
    return growth_table(
        f"{MOST:,} columns, each worth a filter, and a budget for all of them",
        "Four row groups of a thousand distinct values. CPU time",
        dict(_spent(files, 1)),
        {size: dict(_spent(files, size)) for size in sizes_up_to(MOST)},
    )


def _spent(files: Files, count: int) -> Iterator[tuple[str, Cost]]:
    file = files.make("columns", count)
    for verb, arguments in _commands(file).items():
        with files.output() as output:
            written = ["-o", str(output)] if verb.startswith("build") else []
            yield (
                verb,
                least_cost([PBLOOM, *arguments, *written], lambda: output.unlink(missing_ok=True)),
            )


def _commands(file: Path) -> dict[str, list[str]]:
    return {
        "advise": ["advise", str(file)],
        "advise --budget": ["advise", str(file), *BUDGET],
        "advise --budget --json": ["advise", str(file), *BUDGET, "--json"],
        "build --auto": ["build", str(file), "--auto"],
        "build --auto --budget": ["build", str(file), "--auto", *BUDGET],
    }
