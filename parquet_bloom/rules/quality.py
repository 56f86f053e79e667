"""PB3xx: whether a filter is worth its bytes, and meets the user's requirements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from parquet_bloom.container import Place
from parquet_bloom.filters.rates import exact_percent, percent
from parquet_bloom.filters.sizing import BLOCK_BYTES, MIN_BYTES, NEGLIGIBLE_BYTES, outweighs
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.rules.finding import Finding, finding
from parquet_bloom.rules.policy import ColumnPolicy
from parquet_bloom.rules.view import Examination, FilterView

HIGH_FPP = 0.1
USELESS_FPP = 0.5
# The FPP that a filter is folded to unless the policy has another.
USUAL_FPP = 0.01
# A power of two for 0.001 % can be eight times as large as one for 1 %; beyond that, somebody made
# a mistake.
LEAST_FOLDS = 3
LARGE_SHARE = 0.25
# Readers fetch this much together with the footer.
NEGLIGIBLE_SHARE_BYTES = 64 << 10


def is_unremarkable(size: int, fpp: float, policy: ColumnPolicy) -> bool:
    """Whether check_filter surely has nothing to say about a filter of this many bytes, of a chunk that
    has values and no dictionary that is smaller."""
    return (
        size <= NEGLIGIBLE_BYTES
        and fpp <= HIGH_FPP
        and (policy.max_fpp is None or fpp <= policy.max_fpp)
        and (policy.max_bytes is None or size <= policy.max_bytes)
    )


def check_filter(view: FilterView) -> Iterator[Finding]:
    """Whether one filter is too full or too large."""
    fpp = view.bits.fpp
    if view.bits.fill == 1:
        yield view.finding("PB303", "every bit is set: the filter excludes nothing")
    elif fpp > USELESS_FPP:
        yield _too_full(view, "PB301", "the filter is saturated", USELESS_FPP)
    elif fpp > HIGH_FPP:
        yield _too_full(view, "PB302", "the filter is too full to exclude much", HIGH_FPP)
    if isinstance(view.bits, SplitBlockBloomFilter):
        yield from _check_weight(view, view.bits)
    yield from _check_limits(view)


def _too_full(view: FilterView, rule: str, what: str, limit: float) -> Finding:
    return view.finding(
        rule,
        f"{what}: some {view.bits.ndv_estimate:,.0f} values in {view.bits.num_bytes} bytes",
        expected=f"FPP of at most {exact_percent(limit)}",
        found=percent(view.bits.fpp),
    )


def _check_weight(view: FilterView, bits: SplitBlockBloomFilter) -> Iterator[Finding]:
    size, chunk_bytes = bits.num_bytes, view.chunk.stored_bytes
    if view.num_values == 0:
        yield view.finding("PB308", "the chunk has no values, and needs no filter", found=size)
        return
    target = view.policy.max_fpp or USUAL_FPP
    if size > NEGLIGIBLE_BYTES and (folds := _folds(bits, target)) >= LEAST_FOLDS:
        yield view.finding(
            "PB304",
            f"the filter could be folded {folds} times and stay within an FPP of"
            f" {exact_percent(target)}",
            expected=f"{size >> folds} bytes",
            found=size,
        )
    if view.dictionary_bytes is not None and size >= view.dictionary_bytes:
        yield view.finding(
            "PB305",
            "every page is dictionary-encoded, and the filter is no smaller than the dictionary,"
            " which readers can look into",
            expected=f"less than {view.dictionary_bytes} bytes",
            found=size,
        )
    if outweighs(size, chunk_bytes):
        yield view.finding(
            "PB306",
            "the filter is larger than the column chunk that it could save readers from reading",
            expected=f"at most {chunk_bytes} bytes",
            found=size,
        )


def _folds(bits: SplitBlockBloomFilter, target: float) -> int:
    """How often the filter can be halved within the target FPP; an empty one is PB402."""
    if bits.bits_set == 0 or bits.fpp > target:
        return 0
    smallest = bits.fold_to_fpp(target, MIN_BYTES // BLOCK_BYTES)
    return (bits.num_blocks // smallest.num_blocks).bit_length() - 1


def _check_limits(view: FilterView) -> Iterator[Finding]:
    max_fpp, max_bytes = view.policy.max_fpp, view.policy.max_bytes
    if max_fpp is not None and view.bits.fpp > max_fpp:
        yield view.finding(
            "PB311",
            "the FPP is above the limit",
            expected=f"at most {exact_percent(max_fpp)}",
            found=percent(view.bits.fpp, 3),
        )
    if max_bytes is not None and view.bits.num_bytes > max_bytes:
        yield view.finding(
            "PB312",
            "the bitset is above the limit",
            expected=f"at most {max_bytes} bytes",
            found=view.bits.num_bytes,
        )


def check_columns(examination: Examination) -> Iterator[Finding]:
    """Columns that have filters in some parts only."""
    file = examination.file
    for column in examination.columns:
        without = examination.parts_without(column)
        there = len(examination.parts) - len(without)
        if not there or not without:
            continue
        wanting = [part for part in without if examination.deserves_filters(part, column)]
        if wanting:
            wanted = there + len(wanting)
            yield finding(
                "PB307",
                f"no filter in {len(wanting)} of {wanted} {file.units.part}s that have values, the"
                f" first of them {wanting[0]}",
                column=column.name,
                expected=wanted,
                found=there,
            )


def check_required(examination: Examination) -> Iterator[Finding]:
    """Columns that must have a filter in every part with values."""
    for name in examination.policy.required_columns():
        columns = examination.columns_called(name)
        # Null in all rows, if it is another file's column.
        if not columns and not examination.file.lacks(name):
            message = "a filter is required but there is no such column"
            yield finding("PB310", message, column=name)
        for column in columns:
            yield from _check_required(examination, column)


def _check_required(examination: Examination, column: Any) -> Iterator[Finding]:
    for part in examination.parts_without(column):
        place = Place(part, units=examination.file.units)
        if examination.is_hidden(part, column):
            message = "a filter is required, and encryption hides whether there is one"
            yield finding("PB310", message, place=place, column=column.name)
        elif examination.has_values(part, column):
            yield finding("PB310", "a filter is required", place=place, column=column.name)


def check_share(examination: Examination) -> Iterator[Finding]:
    """The size of all filters, compared with the file."""
    size, file_size = examination.filter_bytes(), examination.file.source.size
    if size > max(LARGE_SHARE * file_size, NEGLIGIBLE_SHARE_BYTES):
        yield finding(
            "PB309",
            f"filters take {percent(size / file_size)} of the file",
            expected=f"at most {exact_percent(LARGE_SHARE)}",
            found=f"{size} of {file_size} bytes",
        )
