"""Many values asked of all row groups of a file, against its filters alone."""

from __future__ import annotations

from statistics import median

from benchmarks.contenders import Files
from benchmarks.processes import ask, module
from benchmarks.tables import NO_GOAL, Table, at_most

ROW_GROUPS = 20
TIMES_CHECK_MANY = 2

CONTENDERS = {
    "check_many": "check_many, a numpy array, filters in memory",
    "filters": "open and read the filters",
    "array": "probe, a numpy array",
    "array, read": "probe, a numpy array, to_read",
    "array, results": "probe, a numpy array, and every result",
    "list": "probe, a list",
    "literals": "probe, literals",
}


def compare_probing(files: Files, rounds: int) -> Table:
    source = files.make("lookups", ROW_GROUPS)
    seconds = ask(module("probing", source, "user_id", rounds))
    typical = {name: median(each) for name, each in seconds.items()}
    check, opening = typical["check_many"], typical["filters"]

    def row(name: str) -> list[str]:
        times = (typical[name] - opening) / check
        is_judged = name in ("array", "array, read", "list")
        return [
            CONTENDERS[name],
            f"{1000 * typical[name]:.1f} ms",
            "" if name in ("check_many", "filters") else f"{times:.1f}x",
            *(at_most(times, TIMES_CHECK_MANY, "x") if is_judged else NO_GOAL),
        ]

    return Table(
        "Many values at once",
        f"10,000 int64 values asked of {ROW_GROUPS} filters of 64 KiB. One process, CPU time,"
        f" {rounds} rounds; the ratio is without what it takes to open the file and read its"
        " filters.",
        ("", "CPU", "without opening / check_many"),
        [row(name) for name in CONTENDERS],
    )
