"""PB4xx: whether a filter tells the truth about the stored values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import sqrt
from operator import itemgetter
from typing import Any

from parquet_bloom.filters.look_up import Membership
from parquet_bloom.filters.rates import percent
from parquet_bloom.rules.finding import Finding, diagnosed, finding
from parquet_bloom.rules.view import FilterView, Twin

# One in two million sound filters is further off.
SIGMAS = 5


def check_clear(view: FilterView) -> Iterator[Finding]:
    """An empty filter although there are values."""
    if view.bits.bits_set == 0 and view.num_values:
        yield view.finding(
            "PB402",
            "no bit is set: every value seems absent",
            expected=f"bits of {view.num_values} values",
            found="none",
        )


def check_values(view: FilterView) -> Iterator[Finding]:
    """What the values say, if they were looked up; of an empty filter, check_clear says it all."""
    membership = view.membership
    if membership is None or (membership.missing and not view.bits.bits_set):
        return
    if membership.missing:
        yield view.finding(
            "PB401",
            f"{membership.missing:,} of {membership.num_values:,} stored values are not in the"
            " filter: readers lose their rows",
            expected=0,
            found=membership.missing,
            rows=view.missing_rows(),
            examples=view.examples(),
            **diagnosed(view.diagnose()),
        )
        return
    yield from _check_floats(view, membership)
    if view.bits.fill < 1:
        yield from _check_excess(view, membership)


def _check_floats(view: FilterView, membership: Membership) -> Iterator[Finding]:
    if membership.lone_zero is not None:
        found, other = membership.lone_zero, "0.0" if membership.lone_zero == "-0.0" else "-0.0"
        yield view.finding(
            "PB403",
            f"{found} is in the filter but {other} is not: readers that hash the zero of a query as"
            f" it is lose rows where x = {other}",
            expected="0.0 and -0.0",
            found=found,
        )
    if membership.lacks_nan:
        yield view.finding(
            "PB404",
            "NaN is stored but the canonical NaN is not in the filter: readers that hash it find no"
            " rows",
        )


def _check_excess(view: FilterView, membership: Membership) -> Iterator[Finding]:
    # A filter whose bits all come from values finds no more than these explain.
    if not membership.foreign_bits:
        return
    yield view.finding(
        "PB405",
        f"{membership.foreign_bits:,} of {view.bits.bits_set:,} bits come from no stored value:"
        " the filter was not cleared first, or has values from elsewhere",
        expected=0,
        found=membership.foreign_bits,
    )
    if membership.explained_fpp is None:
        return
    # What needs numpy takes longer to import than many a file to check.
    from parquet_bloom.filters.occupancy import FPP_PROBES, measured_fpp

    bits: Any = view.bits
    measured, explained = measured_fpp(bits), membership.explained_fpp
    sigma = sqrt(explained * (1 - explained) / FPP_PROBES)
    # Where hardly any are expected, a few more mean nothing.
    if measured > explained + SIGMAS * sigma + 4 / FPP_PROBES:
        yield view.finding(
            "PB406",
            f"of {FPP_PROBES:,} values that are not stored, the filter finds more than the stored"
            " ones explain",
            expected=f"at most {percent(explained)}",
            found=percent(measured),
        )


def check_twins(filters: Iterable[Twin]) -> Iterator[Finding]:
    """Filters of a column that are the same in several parts, and not known to be right."""
    first: dict[tuple[int, bytes], Twin] = {}
    groups: dict[tuple[int, bytes], list[Twin]] = {}
    for twin in sorted(filters, key=itemgetter(0)):
        alike = twin.key[1], twin.digest
        before = first.setdefault(alike, twin)
        if before is not twin:
            groups.setdefault(alike, [before]).append(twin)
    for _, twins in sorted(groups.items(), key=lambda found: found[1][0].key):
        model = next((twin for twin in twins if twin.is_right), twins[0])
        message = (
            f"the filter is the same as in {model.place}, bit for bit: right only if both have"
            " the same values"
        )
        for twin in twins:
            if twin is not model and not twin.is_right:
                yield finding("PB407", message, place=twin.place, column=twin.column)
