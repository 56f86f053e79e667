"""What is built within a budget, and what is left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from parquet_bloom.filters.rates import exact_percent
from parquet_bloom.render.wording import size

if TYPE_CHECKING:
    from parquet_bloom.verbs.advise import BudgetPlan


def budget_lines(plan: BudgetPlan, group: str) -> Iterator[str]:
    """A line about the budget, one for each column that it is spent on, and one for each left out; `group`: what
    readers skip."""
    yield f"{size(plan.used)} of the budget of {size(plan.bytes)} are used, over all files"
    for each in plan.columns:
        yield (
            f"{each.column}: filters at an FPP of {exact_percent(each.fpp)} take {size(each.filter_bytes)};"
            f" a look-up reads {each.groups_filter:,.2f} {group}s, {each.groups_saved:,.2f} fewer than by"
            " min/max"
        )
    for left in plan.left_out:
        yield f"{left.column}: left out: {left.reason}"
