"""Hash and insert, hash and check, against Arrow C++."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from benchmarks.processes import ask, module
from benchmarks.tables import NO_GOAL, Table, at_most

SHARE_OF_ARROW = {"insert": 0.17, "check": 0.3}
SHARE_OF_ARROW_STRINGS = 0.25
# Goals are for processors with these instructions.
PATH_OF_GOALS = "AVX-512"


def compare_kernels(rounds: int) -> Table:
    cases = ask(module("kernel", rounds))
    ours = [name for name in cases[0]["nanoseconds"] if name != "Arrow C++"][::-1]
    return Table(
        "Hash and insert, hash and check",
        "A million values, nanoseconds per value. Strings have 25 bytes, 6 to 30 (short) or 20 to 200"
        f" (long). Half of the checks find theirs. pbloom with the instructions that this processor"
        f" has, and with fewer: AVX-512 hashes eight values at a time, one to a lane, strings of up to"
        f" 255 bytes among them; AVX2 sets and checks the eight words of a block at a time, and hashes"
        f" values one by one, as any processor does. {rounds} rounds.",
        ("", "filter", "Arrow C++", *(f"pbloom, {name}" for name in ours), "pbloom / Arrow"),
        [kernel_row(case, ours) for case in cases],
    )


def kernel_row(case: Mapping[str, Any], ours: Sequence[str]) -> list[str]:
    medians = {name: median(each) for name, each in case["nanoseconds"].items()}
    share = medians[ours[0]] / medians["Arrow C++"]
    is_text = "strings" in case["values"]
    limit = SHARE_OF_ARROW_STRINGS if is_text else SHARE_OF_ARROW[case["verb"]]
    return [
        f"{case['verb']} {case['values']}",
        f"{case['num_bytes'] >> 10:,} KiB",
        *(f"{medians[name]:.1f} ns" for name in ("Arrow C++", *ours)),
        f"{share:.2f}x",
        *(at_most(share, limit, "x") if ours[0] == PATH_OF_GOALS else NO_GOAL),
    ]
