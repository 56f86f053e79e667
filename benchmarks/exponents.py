"""The power of its size that what a command costs grows with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import log2

from benchmarks.processes import Cost, run
from benchmarks.tables import NO_GOAL, Table, at_most, megabytes

# Less than that above what a verb takes for hardly anything says nothing about growth.
LEAST_SECONDS = 0.1

MOST_EXPONENT = 1.15

# Commands of fewer seconds of CPU are repeated until they have taken so many, or run so often.
LONG, MOST_ROUNDS = 12, 5

# By verb; None for what a verb refuses, as it does not fit the memory budget.
Spent = Mapping[str, Cost | None]
# Which seconds of a command count.
Seconds = Callable[[Cost], float]


def cpu(cost: Cost) -> float:
    return cost.cpu


def least_cost(command: list[str], clear: Callable[[], None], seconds: Seconds = cpu) -> Cost:
    """That of the run that took least of the processor: whatever else runs takes more of a short one. `clear`
    removes what the run before has written. Raises RuntimeError if the command fails."""
    costs: list[Cost] = []
    while len(costs) < MOST_ROUNDS and sum(map(seconds, costs)) < LONG:
        clear()
        costs.append(run(command, fine=(0, 1)))
    return min(costs, key=seconds)


def sizes_up_to(most: int) -> list[int]:
    return [most // share for share in (4, 2, 1)]


def growth_table(
    title: str, note: str, start: Spent, spent: Mapping[int, Spent], seconds: Seconds = cpu
) -> Table:
    """`start`: what each verb takes for hardly anything. `spent`: by size, each twice the one before."""
    return Table(
        title,
        f"A quarter, a half and all of them. {note} and peak memory of whole processes, the least"
        f" of up to {MOST_ROUNDS} rounds.",
        ("", *(f"{size:,}" for size in spent), "exponent", "memory", "of the most"),
        [
            _row(verb, start[verb], [each[verb] for each in spent.values()], seconds)
            for verb in start
        ],
    )


def _row(
    verb: str, start: Cost | None, costs: Sequence[Cost | None], seconds: Seconds
) -> list[str]:
    exponent = _exponent(start, costs, seconds)
    return [
        verb,
        *("refused" if cost is None else f"{seconds(cost):.2f} s" for cost in costs),
        "-" if exponent is None else f"{exponent:.2f}",
        *("-" if cost is None else megabytes(cost.peak) for cost in (costs[0], costs[-1])),
        *(NO_GOAL if exponent is None else at_most(exponent, MOST_EXPONENT, "")),
    ]


def _exponent(start: Cost | None, costs: Sequence[Cost | None], seconds: Seconds) -> float | None:
    """None if the CPU time hardly grows. `costs`: of twice as many each."""
    if start is None or None in costs:
        return None
    spent = [seconds(cost) - seconds(start) for cost in costs if cost is not None]
    enough = [index for index, each in enumerate(spent) if each >= LEAST_SECONDS]
    first, last = min(enough, default=0), len(spent) - 1
    if first == last or last not in enough:
        return None
    return log2(spent[last] / spent[first]) / (last - first)
