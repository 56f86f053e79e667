"""Hash and insert, hash and check, against Arrow C++."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any

from benchmarks.processes import ask, module
from benchmarks.tables import NO_GOAL, Table, at_most

SHARE_OF_ARROW_INSERT = 0.5


def compare_kernels(rounds: int) -> Table:
    return Table(
        "Hash and insert, hash and check",
        f"A million values, nanoseconds per value. Half of the checks find theirs. {rounds} rounds.",
        ("", "filter", "Arrow C++", "pbloom", "without AVX2", "pbloom / Arrow"),
        [kernel_row(case) for case in ask(module("kernel", rounds))],
    )


def kernel_row(case: Mapping[str, Any]) -> list[str]:
    medians = {name: median(each) for name, each in case["nanoseconds"].items()}
    share = medians["pbloom"] / medians["Arrow C++"]
    has_goal = case["values"] == "int64" and case["verb"] == "insert"
    return [
        f"{case['verb']} {case['values']}",
        f"{case['num_bytes'] >> 10:,} KiB",
        *(f"{medians[name]:.1f} ns" for name in ("Arrow C++", "pbloom", "pbloom without AVX2")),
        f"{share:.2f}x",
        *(at_most(share, SHARE_OF_ARROW_INSERT, "x") if has_goal else NO_GOAL),
    ]
