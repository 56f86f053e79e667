"""PB30x, PB31x of ORC files: whether filters are worth their bytes, and meet what was asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from parquet_bloom.filters.k_hash import KHashFilter
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.file import OrcFile
from parquet_bloom.orc.stripe import FILTER_KINDS
from parquet_bloom.rules.catalogue import Finding, finding
from parquet_bloom.rules.orc.view import IndexView, stripe_finding
from parquet_bloom.rules.policy import ColumnPolicy, Policy
from parquet_bloom.rules.quality import HIGH_FPP, LARGE_SHARE, NEGLIGIBLE_SHARE_BYTES, USELESS_FPP

HasValues = Callable[[int, OrcColumn], bool]
"""Whether a stripe can have values of a column that are not null."""


def check_filter(
    view: IndexView, group: int, filter: KHashFilter, policy: ColumnPolicy
) -> Iterator[Finding]:
    """The filter of one index group: is it too full, or above a limit?"""
    fpp = filter.fpp
    if filter.fill == 1:
        yield view.finding("PB303", "every bit is set: the filter excludes nothing", group)
    elif fpp > USELESS_FPP:
        yield _too_full(view, group, filter, "PB301", "the filter is saturated", USELESS_FPP)
    elif fpp > HIGH_FPP:
        what = "the filter is too full to exclude much"
        yield _too_full(view, group, filter, "PB302", what, HIGH_FPP)
    if policy.max_fpp is not None and fpp > policy.max_fpp:
        yield view.finding(
            "PB311", "the FPP is above the limit", group,
            expected=f"at most {policy.max_fpp:g}", found=f"{fpp:.3g}",
        )  # fmt: skip
    if policy.max_bytes is not None and filter.num_bytes > policy.max_bytes:
        yield view.finding(
            "PB312", "the bitset is above the limit", group,
            expected=f"at most {policy.max_bytes} bytes", found=filter.num_bytes,
        )  # fmt: skip


def _too_full(
    view: IndexView, group: int, filter: KHashFilter, rule: str, what: str, limit: float
) -> Finding:
    return view.finding(
        rule, f"{what}: some {filter.ndv_estimate:,.0f} values in {filter.num_bytes} bytes", group,
        expected=f"FPP of at most {limit:g}", found=f"{filter.fpp:.3g}",
    )  # fmt: skip


def check_columns(
    file: OrcFile, columns: Sequence[OrcColumn], has_values: HasValues
) -> Iterator[Finding]:
    """Columns that have filters in some stripes only."""
    for column in columns:
        without = [
            index for index in range(file.num_stripes) if not has_filters(file, index, column)
        ]
        there = file.num_stripes - len(without)
        if not there or not without:
            continue
        wanting = [index for index in without if has_values(index, column)]
        if wanting:
            wanted = there + len(wanting)
            yield finding(
                "PB307", f"no filters in {len(wanting)} of {wanted} stripes that have values, the"
                f" first of them {wanting[0]}", column=column.name, expected=wanted, found=there,
            )  # fmt: skip


def check_required(file: OrcFile, policy: Policy, has_values: HasValues) -> Iterator[Finding]:
    """Columns that must have filters in every stripe with values."""
    names = {column.name: column for column in file.tail.columns[1:]}
    for name in policy.required_columns():
        if name not in names:
            yield finding("PB310", "a filter is required, and there is no such column", column=name)
            continue
        column = names[name]
        for index in range(file.num_stripes):
            if not has_filters(file, index, column) and has_values(index, column):
                yield stripe_finding("PB310", file.stripe(index), column, "a filter is required")


def has_filters(file: OrcFile, stripe: int, column: OrcColumn) -> bool:
    return bool(file.stripe(stripe).streams_of(column.id, FILTER_KINDS))


def check_share(file: OrcFile) -> Iterator[Finding]:
    """All filters together, beside the file."""
    size = sum(
        stream.length
        for index in range(file.num_stripes)
        for stream in file.stripe(index).streams
        if stream.kind in FILTER_KINDS
    )
    if size > max(LARGE_SHARE * file.source.size, NEGLIGIBLE_SHARE_BYTES):
        yield finding(
            "PB309", f"filters take {size / file.source.size:.1%} of the file",
            expected=f"at most {LARGE_SHARE:.0%}", found=f"{size} of {file.source.size} bytes",
        )  # fmt: skip
