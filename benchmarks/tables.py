"""Tables of figures with a goal each, as Markdown that also reads well on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Row = Sequence[str]
NO_GOAL = ("-", "")


@dataclass(frozen=True, slots=True)
class Table:
    """`note` says what was measured. The last two columns of every table are the goal and whether
    it was met."""

    title: str
    note: str
    header: Row
    rows: Sequence[Row]

    def __str__(self) -> str:
        lines = [(*self.header, "goal", ""), *self.rows]
        widths = [max(len(row[at]) for row in lines) for at in range(len(lines[0]))]
        header, *rows = (_line(row, widths) for row in lines)
        rule = "|".join(
            f":{'-' * (width + 1)}" if at == 0 else f"{'-' * (width + 1)}:"
            for at, width in enumerate(widths)
        )
        return "\n".join([f"### {self.title}", "", self.note, "", header, f"|{rule}|", *rows])


def _line(row: Row, widths: Sequence[int]) -> str:
    first, *others = row
    cells = [first.ljust(widths[0])]
    cells += [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
    return f"| {' | '.join(cells)} |"


def at_most(figure: float, limit: float, unit: str) -> tuple[str, str]:
    """The goal and whether `figure` meets it."""
    return f"≤ {limit:g}{unit}", _met(figure <= limit)


def at_least(figure: float, limit: float, unit: str) -> tuple[str, str]:
    return f"≥ {limit:g}{unit}", _met(figure >= limit)


def _met(is_met: bool) -> str:
    return "met" if is_met else "missed"


def megabytes(num_bytes: float) -> str:
    return f"{num_bytes / 1e6:,.0f} MB"
