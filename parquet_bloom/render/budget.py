"""What is built within a budget, and what is left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from parquet_bloom.filters.rates import exact_percent
from parquet_bloom.render.wording import in_one, shortened, size, without_numbers

if TYPE_CHECKING:
    from parquet_bloom.verbs.advise import BudgetedColumn, BudgetPlan


def budget_lines(plan: BudgetPlan, group: str, in_full: bool) -> Iterator[str]:
    """A line about the budget, one for each column that it is spent on, and one for each left out; `group`: what
    readers skip. Unless `in_full`, one for all columns of the same rate, or left out for the same reason."""
    yield f"{size(plan.used)} of the budget of {size(plan.bytes)} are used, over all files, without headers"
    said = [(each.column, _spent(each, group), exact_percent(each.fpp)) for each in plan.columns]
    said += [(each.column, f"left out: {each.reason}", "") for each in plan.left_out]
    alike: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for column, text, rate in said:
        likeness = (column,) if in_full else (rate, without_numbers(text))
        alike.setdefault(likeness, []).append((column, text))
    for those in alike.values():
        each = "each: " if len(those) > 1 else ""
        yield f"{shortened([column for column, _ in those])}: {each}{in_one(text for _, text in those)}"


def _spent(each: BudgetedColumn, group: str) -> str:
    return (
        f"filters at an FPP of {exact_percent(each.fpp)} or less take {size(each.filter_bytes)};"
        f" a look-up reads {each.groups_filter:,.2f} {group}s, {each.groups_saved:,.2f} fewer than by"
        " min/max"
    )
