"""PB4xx: whether a filter says the truth about the values that are stored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

from parquet_bloom.floats import canonical_nan, zeros
from parquet_bloom.membership import FPP_PROBES, Membership, measured_fpp
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.footer import ColumnChunk
from parquet_bloom.rules.catalogue import Diagnosis, Finding
from parquet_bloom.rules.view import FilterView, chunk_finding

# One in two million sound filters is farther off.
SIGMAS = 5

LONGEST_EXAMPLE = 40


def check_clear(view: FilterView) -> Iterator[Finding]:
    """What can be said without a look at the values."""
    if view.bits.bits_set == 0 and view.num_non_null > 0:
        yield view.finding(
            "PB402", "no bit is set: every value seems absent", expected="bits of"
            f" {view.num_non_null} values", found="none",
        )  # fmt: skip


def check_values(
    view: FilterView, membership: Membership, diagnosis: Diagnosis | None
) -> Iterator[Finding]:
    """What the values say; `diagnosis` is for those that are missing."""
    if membership.missing and view.bits.bits_set:
        yield view.finding(
            "PB401",
            f"{membership.missing:,} of {membership.num_values:,} stored values are not in the"
            f" filter: readers lose their rows{_examples(view.chunk, membership)}",
            expected=0, found=membership.missing, diagnosis=diagnosis,
        )  # fmt: skip
    if membership.missing == 0:
        yield from _check_floats(view, membership)
        yield from _check_excess(view, membership)


def _examples(chunk: ColumnChunk, membership: Membership) -> str:
    """Stored bytes, as hex; text as itself. What is encrypted is not for logs."""
    if chunk.has_crypto_metadata:
        return ""
    return f"; for example {', '.join(_shown(plain) for plain in membership.examples)}"


def _shown(plain: bytes) -> str:
    try:
        text = plain.decode()
        shown = repr(text) if text.isprintable() and text else f"0x{plain.hex()}"
    except UnicodeDecodeError:
        shown = f"0x{plain.hex()}"
    return shown if len(shown) <= LONGEST_EXAMPLE else f"{shown[:LONGEST_EXAMPLE]}…"


def _check_floats(view: FilterView, membership: Membership) -> Iterator[Finding]:
    width = view.chunk.leaf.type.width or 0
    if membership.specials & _kernel.HAS_ZERO:
        found = [view.bits.check_value(plain) for plain in zeros(width)]
        if not all(found):
            yield view.finding(
                "PB403", "one zero is in the filter and the other is not: Spark and DataFusion"
                " hash the zero of the query, and lose rows where x = 0.0",
                expected="0.0 and -0.0", found="one of them",
            )  # fmt: skip
    if membership.specials & _kernel.HAS_NAN and not view.bits.check_value(canonical_nan(width)):
        yield view.finding(
            "PB404", "NaN is stored and the canonical NaN is not in the filter: readers that hash"
            " it find no row"
        )  # fmt: skip


def _check_excess(view: FilterView, membership: Membership) -> Iterator[Finding]:
    if membership.foreign_bits:
        share = membership.foreign_bits / view.bits.bits_set
        yield view.finding(
            "PB405", f"{share:.2%} of the bits come from no value of the chunk: the filter was not"
            " cleared before, or has values of other chunks",
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


def not_checked(chunk: ColumnChunk, reason: str) -> Finding:
    """The values could not be read, for a reason that is not damage."""
    return chunk_finding("PB408", chunk, f"the values were not looked up: {reason}")


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
