"""PB40x of ORC files: whether filters say the truth about the values of their index groups."""

from __future__ import annotations

from collections.abc import Iterator

from parquet_bloom.filters.k_hash import KHashFilter
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.shown_values import literals, selected
from parquet_bloom.rules.catalogue import Diagnosis, Finding
from parquet_bloom.rules.orc.membership import GroupMembership
from parquet_bloom.rules.orc.view import IndexView
from parquet_bloom.values.show import LONGEST

MAX_EXAMPLES = 5


def check_clear(
    view: IndexView, group: int, filter: KHashFilter, num_values: int | None
) -> Iterator[Finding]:
    """A filter of nothing beside values that there are; None: nobody knows how many."""
    if filter.bits_set == 0 and num_values:
        yield view.finding(
            "PB402", "no bit is set: every value seems absent", group,
            expected=f"bits of {num_values} values", found="none",
        )  # fmt: skip


def check_values(
    view: IndexView,
    group: int,
    filter: KHashFilter,
    membership: GroupMembership,
    diagnosis: Diagnosis | None,
) -> Iterator[Finding]:
    """What the values say; `diagnosis` is for those that are missing."""
    if not filter.bits_set:
        return
    if membership.num_missing:
        yield view.finding(
            "PB401",
            f"{membership.num_missing:,} of {membership.num_values:,} stored values are not in the"
            " filter: readers lose their rows", group,
            expected=0, found=membership.num_missing, diagnosis=diagnosis,
            examples=_examples(view.column, membership),
        )  # fmt: skip
        return
    if membership.has_lone_zero:
        yield view.finding(
            "PB403", "a zero is in the filter and the zero of the other sign is not: readers hash"
            " the zero of the query, and lose rows that hold the other", group,
            expected="0.0 and -0.0",
        )  # fmt: skip
    if membership.foreign_bits and filter.fill < 1:
        yield view.finding(
            "PB405", f"{membership.foreign_bits:,} of {filter.bits_set:,} bits come from no value"
            " of the index group", group, expected=0, found=membership.foreign_bits,
        )  # fmt: skip


def _examples(column: OrcColumn, membership: GroupMembership) -> tuple[str, ...]:
    texts = literals(column, selected(membership.values, membership.missing, MAX_EXAMPLES))
    return tuple(text if len(text) <= LONGEST else f"{text[:LONGEST]}…" for text in texts)
