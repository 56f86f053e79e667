"""A filter for a large file, against rewrites; and the ways to add one to a larger file in its place:
`python -m benchmarks.compare_in_place [--write]`.

Prints tables; --write replaces those in README.md. Takes twice the size of the larger file on the disk, for
some minutes.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from benchmarks import machine
from benchmarks.bench import README, show, write_between_marks
from benchmarks.compare_building import compare_rewrites_of
from benchmarks.contenders import Files, typical
from benchmarks.processes import PBLOOM, Cost, run
from benchmarks.tables import NO_GOAL, Table, at_most, megabytes

MARK = "large file"
COLUMN = "user_id"
ROWS_OF_A_GIGABYTE = 20_000_000

# More than the footer of any file here.
END_BYTES = 64 << 20

REPLACE, APPEND, IN_PLACE = "--in-place", "--in-place --layout append", "--append-in-place"
DRY_RUN = "--dry-run"
WAYS = (DRY_RUN, REPLACE, APPEND, IN_PLACE)

# Than a rewrite of a quarter of the file.
TIMES_FASTER = 25

# Bytes written to append in place, in those of the filters and the footer; time, in that of a dry run
# and of writing these bytes, as fast as the old way writes all.
MOST_BYTES, MOST_TIME = 1.05, 1.5


def measure_in_place(files: Files, rows: int, rounds: int) -> Table:
    """Bytes written and time of each way; the file is what it was before each of them."""
    (file,) = files.make_folder("huge", rows).iterdir()
    size = file.stat().st_size
    spent: dict[str, list[Cost]] = {way: [] for way in WAYS}
    added = 0
    for _ in range(rounds):
        for way in WAYS:
            _settle(file)
            end = _end(file, size)
            spent[way].append(run([PBLOOM, "build", str(file), "-c", COLUMN, *way.split()]))
            added = max(added, file.stat().st_size - size)
            _restore(file, size, end)
    costs = {way: typical(each) for way, each in spent.items()}
    return _table(costs, size, added, rounds)


def _settle(file: Path) -> None:
    """Nothing is left to be written, and the file is in the page cache as far as it fits."""
    os.sync()
    with file.open("rb") as opened:
        while opened.read(16 << 20):
            pass


def _end(file: Path, size: int) -> bytes:
    with file.open("rb") as opened:
        opened.seek(max(0, size - END_BYTES))
        return opened.read()


def _restore(file: Path, size: int, end: bytes) -> None:
    """Give the file its old end again: no way changes what is before it."""
    with file.open("r+b") as opened:
        opened.truncate(size)
        opened.seek(size - len(end))
        opened.write(end)


def _table(costs: dict[str, Cost], size: int, added: int, rounds: int) -> Table:
    rate = costs[REPLACE].written / costs[REPLACE].wall
    floor = costs[DRY_RUN].wall + added / rate
    return Table(
        "A large file in place",
        f"A filter for `{COLUMN}` of a file of {size / 1e9:.1f} GB; filters and footer take"
        f" {megabytes(added)}. *written* is what the process wrote to the disk. The goals: hardly more"
        " bytes than these, and hardly more time than a dry run and writing them at the rate of"
        f" `{REPLACE}`. Whole processes of `pbloom build`; rounds: {rounds}.",
        ("", "wall", "CPU", "written", "written / added", "wall / floor"),
        [
            [
                way,
                f"{cost.wall:.1f} s",
                f"{cost.cpu:.1f} s",
                megabytes(cost.written),
                f"{cost.written / added:.2f}x",
                f"{cost.wall / floor:.2f}x",
                *(_goal(cost, added, floor) if way == IN_PLACE else NO_GOAL),
            ]
            for way, cost in costs.items()
        ],
    )


def _goal(cost: Cost, added: int, floor: float) -> tuple[str, str]:
    of_bytes, met = at_most(cost.written / added, MOST_BYTES, "x")
    of_time, also_met = at_most(cost.wall / floor, MOST_TIME, "x")
    return f"{of_bytes}, {of_time}", met if met == also_met else "missed"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.compare_in_place", description=__doc__
    )
    parser.add_argument("--gigabytes", type=int, default=10, help="about how large the file is")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--data", type=Path, help="folder to keep the file in")
    parser.add_argument("--write", action="store_true", help="replace the table of README.md")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.data or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        files, rows = Files(folder), options.gigabytes * ROWS_OF_A_GIGABYTE
        (quarter,) = files.make_folder("huge", rows // 4).iterdir()
        tables = [
            show(compare_rewrites_of(quarter, rows // 4, files, options.rounds, TIMES_FASTER)),
            show(measure_in_place(files, rows, options.rounds)),
        ]
    options_given = f"--gigabytes {options.gigabytes} --rounds {options.rounds}"
    command = f"- `python -m benchmarks.compare_in_place {options_given}`"
    about = "\n".join([*machine.description(), command])
    show(about)
    if options.write:
        write_between_marks(README, [*tables, about], MARK)


if __name__ == "__main__":
    main()
