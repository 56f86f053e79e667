"""What a command takes before it has anything to do: the CPU time of whole processes on a tiny file."""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.processes import PBLOOM, module, run
from benchmarks.tables import NO_GOAL, Row, Table, at_most

HELP_SECONDS = 0.3
# The commands are click's, so none can start faster than it is imported.
OF_CLICK = 1.3
CLICK = "python -c 'import click'"


def measure_start(rounds: int) -> Table:
    with TemporaryDirectory() as folder:
        commands = _commands(Path(folder))
        for command in commands.values():
            run(command)
        taken = [{name: run(each) for name, each in commands.items()} for _ in range(rounds)]
    of_click = median(costs[CLICK].cpu for costs in taken)
    rows: list[Row] = []
    for name in commands:
        wall = median(costs[name].wall for costs in taken)
        cpu = median(costs[name].cpu for costs in taken)
        goal = NO_GOAL if name == CLICK else at_most(cpu / of_click, OF_CLICK, "x")
        if name == "pbloom --help":
            goal = at_most(wall, HELP_SECONDS, " s")
        times = f"{cpu / of_click:.2f}x"
        rows.append([name, f"{wall:.3f} s", f"{1000 * cpu:.1f} ms", times, *goal])
    return Table(
        "Start",
        "A file of three rows, with and without a filter. `/ click`: CPU time, relative to the first"
        f" line. Whole processes, {rounds} rounds.",
        ("", "wall", "CPU", "/ click"),
        rows,
    )


def _commands(folder: Path) -> dict[str, list[str]]:
    plain, filtered, output = (str(folder / f"{name}.parquet") for name in ("a", "b", "c"))
    run(module("tiny_file", plain))
    column = ("-c", "id")
    run([PBLOOM, "build", plain, *column, "-o", filtered])
    return {
        CLICK: [sys.executable, "-c", "import click"],
        "pbloom --help": [PBLOOM, "--help"],
        "pbloom build": [PBLOOM, "build", plain, *column, "-o", output, "--overwrite"],
        "pbloom probe": [PBLOOM, "probe", filtered, *column, "-v", "a"],
        "pbloom inspect": [PBLOOM, "inspect", filtered],
    }
