"""Every value looked up, against building the same filters."""

from __future__ import annotations

from benchmarks.contenders import Files, costs, typical
from benchmarks.processes import PBLOOM, run
from benchmarks.tables import NO_GOAL, Table, at_most, megabytes

TIMES_SLOWER_THAN_BUILD = 2
WIDE_SECONDS = 2


def measure_validation(files: Files, rows: int, rounds: int) -> Table:
    """Every value looked up, against building the same filters; and a file of many columns."""
    columns = "id,user_id,country,amount"
    source, wide = files.make("events", rows), files.make("wide", 1000)
    filtered = files.folder / f"events-{rows}-with-filters.parquet"
    build = [PBLOOM, "build", str(source), "-c", columns, "--overwrite", "-o"]
    run([*build, str(filtered)])
    spent = costs(
        {
            "pbloom build, 4 columns": lambda output: [*build, str(output)],
            "pbloom validate": lambda output: [PBLOOM, "validate", str(filtered)],
            "pbloom validate --no-deep": lambda output: [
                *(PBLOOM, "validate", "--no-deep"),
                str(filtered),
            ],
            "the same, 100,000 column chunks": lambda output: [
                *(PBLOOM, "validate", "--no-deep"),
                str(wide),
            ],
        },
        files,
        rounds,
    )
    wall = {name: typical(each).wall for name, each in spent.items()}
    built = wall["pbloom build, 4 columns"]
    goals = {
        "pbloom validate": at_most(
            wall["pbloom validate"] / built, TIMES_SLOWER_THAN_BUILD, "x build"
        ),
        "the same, 100,000 column chunks": at_most(
            wall["the same, 100,000 column chunks"], WIDE_SECONDS, " s"
        ),
    }
    return Table(
        "Validation",
        f"The file of {rows / 1e6:g} M rows with filters for `{columns}`, and one of 100 row groups"
        f" of 1,000 columns, 10 of which have filters. Whole processes, {rounds} rounds.",
        ("", "wall", "peak memory", "wall / build"),
        [
            [
                name,
                f"{wall[name]:.2f} s",
                megabytes(typical(each).peak),
                f"{wall[name] / built:.2f}x" if "chunks" not in name else "",
                *goals.get(name, NO_GOAL),
            ]
            for name, each in spent.items()
        ],
    )
