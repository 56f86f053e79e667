"""Many small files: filters for them, against writing them again, and what they say."""

from __future__ import annotations

from pathlib import Path

from benchmarks.contenders import Command, Files, costs, rewrite_command, typical
from benchmarks.processes import PBLOOM, module
from benchmarks.tables import NO_GOAL, Row, Table, at_most, megabytes

BUILT = 1_000
ASKED = 10_000
VALUE = "user-000000001"

# CPU time, relative to that of whoever comes first.
OF_REWRITE, OF_DUCKDB = 0.4, 1.5


def compare_small_files(files: Files, rounds: int) -> Table:
    """CPU time of whole processes that go through many files."""
    made = files.make_folder("tiny-files", BUILT)
    filtered = files.make_folder("tiny-files-with-filters", ASKED)
    groups = (
        (f"{BUILT:,} files", _builds(made), OF_REWRITE),
        (f"{ASKED:,} files with filters", _looks(filtered), OF_DUCKDB),
        (f"{ASKED:,} files with filters", _probes(filtered), OF_DUCKDB),
    )
    rows = [row for group in groups for row in _rows(files, rounds, *group)]
    return Table(
        "Many small files",
        "Files of 1,000 rows in three columns, 12 KB each; a filter for one column, of strings. Whole"
        f" processes, {rounds} rounds. `/ theirs`: CPU time, relative to the line above that is not pbloom's.",
        ("", "wall", "CPU", "peak memory", "/ theirs"),
        rows,
    )


def _rows(
    files: Files, rounds: int, about: str, commands: dict[str, Command], goal: float
) -> list[Row]:
    spent = {name: typical(each) for name, each in costs(commands, files, rounds).items()}
    first, *_ = spent.values()
    rows: list[Row] = []
    for name, cost in spent.items():
        times = cost.cpu / first.cpu
        is_ours = cost is not first
        rows.append(
            [
                f"{about}: {name}",
                f"{cost.wall:.2f} s",
                f"{cost.cpu:.2f} s",
                megabytes(cost.peak),
                f"{times:.2f}x" if is_ours else "",
                *(at_most(times, goal, "x") if is_ours else NO_GOAL),
            ]
        )
    return rows


def _builds(folder: Path) -> dict[str, Command]:
    return {
        "rewritten by pyarrow": rewrite_command("pyarrow", folder),
        "pbloom build": lambda output: [
            *(PBLOOM, "build", str(folder), "-c", "id", "--output-dir", str(output))
        ],
    }


def _looks(folder: Path) -> dict[str, Command]:
    return {
        "DuckDB, parquet_metadata": lambda output: module("duckdb_footers", folder),
        "pbloom inspect": lambda output: [PBLOOM, "inspect", str(folder)],
        "pbloom inspect --json": lambda output: [PBLOOM, "inspect", "--json", str(folder)],
    }


def _probes(folder: Path) -> dict[str, Command]:
    asked = ("-c", "id", "-v", VALUE)
    return {
        "DuckDB, parquet_bloom_probe": lambda output: module("duckdb_footers", folder, "id", VALUE),
        "pbloom probe": lambda output: [PBLOOM, "probe", str(folder), *asked],
        "pbloom probe --json": lambda output: [PBLOOM, "probe", "--json", str(folder), *asked],
    }
