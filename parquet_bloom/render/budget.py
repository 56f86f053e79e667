"""What is built within a budget, and what is left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from parquet_bloom.container import without_numbers
from parquet_bloom.errors import quoted_name
from parquet_bloom.filters.rates import exact_percent, percent
from parquet_bloom.render.wording import in_one, shortened, size

if TYPE_CHECKING:
    from parquet_bloom.verbs.advise import BudgetedColumn, BudgetPlan, KeptFilters


def budget_lines(plan: BudgetPlan, group: str, in_full: bool) -> Iterator[str]:
    """A line about the budget, one for each column that it is spent on, one for each left out, and one for each with
    filters that stay; `group`: what readers skip. Unless `in_full`, one for all columns of the same rate, or left out
    for the same reason. If any is left out, one that says what would be enough for all, and one that says how a
    single one gets its share."""
    yield _used(plan)
    said = [(each.column, _spent(each, group), exact_percent(each.fpp)) for each in plan.columns]
    said += [(each.column, f"left out: {each.reason}", "") for each in plan.left_out]
    said += [(each.column, _kept(each), "") for each in plan.kept]
    alike: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for column, text, rate in said:
        likeness = (column if in_full else rate, without_numbers(text))
        alike.setdefault(likeness, []).append((column, text))
    for those in alike.values():
        each = "each: " if len(those) > 1 else ""
        yield f"{shortened([quoted_name(column) for column, _ in those])}: {each}{in_one(text for _, text in those)}"
    needs = [each.needs for each in plan.left_out if each.needs is not None]
    if needs and plan.for_all is not None and plan.for_all_fpp is not None:
        whom = "all of them" if len(needs) == len(plan.left_out) else "all that save enough"
        rate = percent(plan.for_all_fpp)
        # Another budget does not change those.
        kept = "; filters that are there stay as they are" * bool(plan.kept)
        yield f"--budget {plan.for_all} has room for {whom}, with a mean FPP of at most {rate} in any column{kept}"
    # Filters of columns that are not named stay.
    if plan.alone:
        share = (
            "what the filters that stay leave of the budget" if plan.there else "the whole budget"
        )
        # A share would be one of the files that have the column.
        budget = f" --budget {plan.bytes}" * bool(plan.share)
        names = [quoted_name(each) for each in plan.alone]
        are_all, is_one = len(names) == len(needs), len(names) == 1
        column = names[0] if is_one and not are_all else "COLUMN"
        which = "that column alone" if are_all or is_one else f"each of {shortened(names)}, alone,"
        by_name = " --union-by-name" * plan.is_shared
        yield f"with -c {column}{budget}{by_name}, {which} gets {share}"


def _used(plan: BudgetPlan) -> str:
    share = f" ({plan.share} of the files)" if plan.share else ""
    used, budget = size(plan.used), f"{size(plan.bytes)} budget{share}"
    if plan.used > plan.bytes:
        return (
            f"{used} used, across all files: more than the {budget}; strip removes filters that are"
            " there, build does not"
        )
    return f"{used} of the {budget} used, across all files"


def _kept(each: KeptFilters) -> str:
    return f"filters that are there stay, and take {size(each.filter_bytes)}"


def _spent(each: BudgetedColumn, group: str) -> str:
    return (
        f"filters for {exact_percent(each.fpp)}, with an FPP of {percent(each.fpp_expected)}, take"
        f" {size(each.filter_bytes)};"
        f" a look-up reads {each.groups_filter:,.2f} {group}s, {each.groups_saved:,.2f} fewer than by"
        " min/max"
    )
