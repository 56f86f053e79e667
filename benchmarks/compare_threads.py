"""What several threads are worth: for a single column chunk, and for all columns of a table."""

from __future__ import annotations

from statistics import median

from benchmarks.compare_building import COLUMNS
from benchmarks.contenders import Files
from benchmarks.processes import PBLOOM, ask, module, run
from benchmarks.tables import NO_GOAL, Table, at_least, at_most

TIMES_FASTER_BY_TWO = 1.8
SHARE_OF_READING = 1.2

OF_ONE_GROUP = {"id": COLUMNS["id"], "user_id": COLUMNS["user_id"]}


def compare_threads(files: Files, rows: int, rounds: int) -> Table:
    source = files.make("one-group", rows)
    with files.output() as checked:
        run([PBLOOM, "build", str(source), "-c", ",".join(OF_ONE_GROUP), "-o", str(checked)])
        seconds = ask(module("threads", source, checked, rounds, *OF_ONE_GROUP))

    def row(column: str, verb: str) -> list[str]:
        one, two = (seconds[column][f"{verb} {threads}"] for threads in (1, 2))
        faster = min(wall for wall, _ in one) / min(wall for wall, _ in two)
        more = min(cpu for _, cpu in two) / min(cpu for _, cpu in one)
        return [
            f"{verb} {column}: {OF_ONE_GROUP[column]}",
            *(f"{1000 * min(wall for wall, _ in each):.1f} ms" for each in (one, two)),
            f"{more:.2f}x",
            f"{faster:.2f}x",
            *at_least(faster, TIMES_FASTER_BY_TWO, "x"),
        ]

    return Table(
        "Two threads for one column chunk",
        f"{rows / 1e6:g} M rows in a single row group, zstd. `build(dry_run=True)` and `validate` by one"
        f" thread and by two, which share its pages; the fastest of {rounds} rounds in one process, as"
        f" others on the machine count against two.",
        ("", "one", "two", "CPU of two / one", "one / two"),
        [row(column, verb) for verb in ("build", "validate") for column in OF_ONE_GROUP],
    )


def compare_all_columns(files: Files, rows: int, rounds: int) -> Table:
    seconds = ask(module("whole_table", files.make("events", rows), rounds))
    wall = {name: median(wall for wall, _ in each) for name, each in seconds.items()}
    cpu = {name: median(cpu for _, cpu in each) for name, each in seconds.items()}

    def row(name: str) -> list[str]:
        share = wall[name] / wall["pyarrow"]
        is_ours = name != "pyarrow"
        return [
            name,
            f"{wall[name]:.2f} s",
            f"{cpu[name]:.2f} s",
            f"{share:.2f}x" if is_ours else "",
            f"{cpu[name] / cpu['pyarrow']:.2f}x" if is_ours else "",
            *(at_most(share, SHARE_OF_READING, "x") if is_ours else NO_GOAL),
        ]

    return Table(
        "All columns of a table",
        f"Filters for all ten columns of the file of {rows / 1e6:g} M rows, by `build(dry_run=True)`,"
        f" against `pyarrow.parquet.read_table`. One process, {rounds} rounds.",
        ("", "wall", "CPU", "wall / pyarrow", "in CPU time"),
        [row(name) for name in seconds],
    )
