"""PB4xx: whether a filter says the truth about the values that are stored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

from parquet_bloom.filters.occupancy import FPP_PROBES, measured_fpp
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.membership import Membership
from parquet_bloom.rules.catalogue import Diagnosis, Finding
from parquet_bloom.rules.view import FilterView, chunk_finding
from parquet_bloom.values.floats import canonical_nan, zeros
from parquet_bloom.values.show import shown

# One in two million sound filters is farther off.
SIGMAS = 5


def check_clear(view: FilterView) -> Iterator[Finding]:
    """A filter of nothing beside values that there are."""
    if view.bits.bits_set == 0 and view.num_values:
        yield view.finding(
            "PB402", "no bit is set: every value seems absent",
            expected=f"bits of {view.num_values} values", found="none",
        )  # fmt: skip


def check_values(
    view: FilterView, membership: Membership, diagnosis: Diagnosis | None
) -> Iterator[Finding]:
    """What the values say; `diagnosis` is for those that are missing."""
    if membership.missing == 0:
        yield from _check_floats(view, membership)
        yield from _check_excess(view, membership)
    elif view.bits.bits_set:
        yield view.finding(
            "PB401",
            f"{membership.missing:,} of {membership.num_values:,} stored values are not in the"
            " filter: readers lose their rows",
            expected=0, found=membership.missing, diagnosis=diagnosis,
            examples=_examples(view.chunk, membership),
        )  # fmt: skip


def _examples(chunk: ColumnChunk, membership: Membership) -> tuple[str, ...]:
    """What is encrypted is not for logs."""
    if chunk.has_crypto_metadata:
        return ()
    return tuple(shown(chunk.leaf.type, plain) for plain in membership.examples)


def _check_floats(view: FilterView, membership: Membership) -> Iterator[Finding]:
    width = view.chunk.leaf.type.width or 0
    if membership.specials & _kernel.HAS_ZERO:
        has_plus, has_minus = map(view.bits.check_value, zeros(width))
        if has_plus != has_minus:
            found, other = ("0.0", "-0.0") if has_plus else ("-0.0", "0.0")
            yield view.finding(
                "PB403", f"{found} is in the filter and {other} is not: Spark and DataFusion hash"
                f" the zero of the query, and lose rows where x = {other}",
                expected="0.0 and -0.0", found=found,
            )  # fmt: skip
    if membership.specials & _kernel.HAS_NAN and not view.bits.check_value(canonical_nan(width)):
        yield view.finding(
            "PB404", "NaN is stored and the canonical NaN is not in the filter: readers that hash"
            " it find no row"
        )  # fmt: skip


def _check_excess(view: FilterView, membership: Membership) -> Iterator[Finding]:
    if view.bits.fill == 1:
        return
    if membership.foreign_bits:
        yield view.finding(
            "PB405", f"{membership.foreign_bits:,} of {view.bits.bits_set:,} bits come from no value"
            " of the chunk: the filter was not cleared before, or has values of other chunks",
            expected=0, found=membership.foreign_bits,
        )  # fmt: skip
    measured, explained = measured_fpp(view.bits), membership.explained_fpp
    sigma = sqrt(explained * (1 - explained) / FPP_PROBES)
    # Where hardly any is expected, a few more are no news.
    if measured > explained + SIGMAS * sigma + 4 / FPP_PROBES:
        yield view.finding(
            "PB406", f"of {FPP_PROBES:,} values that are not stored the filter finds more than the"
            " stored ones explain",
            expected=f"at most {explained:.3g}", found=f"{measured:.3g}",
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Twin:
    """A filter that may be that of another row group, too; `is_right`: all values were found."""

    chunk: ColumnChunk
    digest: bytes
    is_right: bool


def check_twins(filters: Sequence[Twin]) -> Iterator[Finding]:
    """Filters of a column that are the same in several row groups, and not known to be right."""
    groups: defaultdict[tuple[int, bytes], list[Twin]] = defaultdict(list)
    for twin in filters:
        groups[twin.chunk.leaf.index, twin.digest].append(twin)
    for twins in groups.values():
        model = next((twin for twin in twins if twin.is_right), twins[0])
        for twin in twins:
            if twin is not model and not twin.is_right:
                yield chunk_finding(
                    "PB407", twin.chunk, f"the filter is that of row group {model.chunk.row_group},"
                    " bit for bit: right only if both have the same values"
                )  # fmt: skip
