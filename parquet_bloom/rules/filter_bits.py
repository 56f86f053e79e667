"""PB3xx, PB4xx: whether a filter is worth its bytes, meets the user's requirements, and tells the truth
about the stored values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import sqrt
from operator import itemgetter
from typing import Final

from parquet_bloom.container import Place
from parquet_bloom.container.missing_rows import FEW_MISSING
from parquet_bloom.container.protocols import Column, Overview
from parquet_bloom.diagnosis.diagnosis import VALUES_MAY_HAVE_CHANGED
from parquet_bloom.errors import IS_PARTITION, did_you_mean
from parquet_bloom.filters.look_up import Membership
from parquet_bloom.filters.rates import exact_percent, percent, percent_beyond
from parquet_bloom.filters.sizing import (
    BLOCK_BYTES,
    HIGH_FPP,
    LARGE_SHARE,
    MIN_BYTES,
    NEGLIGIBLE_BYTES,
    USELESS_FPP,
    dominates,
    outweighs,
)
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.rules.finding import OF_ANOTHER_NAME, OF_NO_COLUMN, Finding, diagnosed, finding
from parquet_bloom.rules.policy import ColumnPolicy
from parquet_bloom.rules.view import AnyExamination, FilterView, Twin

# The FPP that a filter is folded to unless the policy has another.
USUAL_FPP = 0.01
# A power of two for 0.001 % can be eight times as large as one for 1 %; beyond that, somebody made
# a mistake.
LEAST_FOLDS = 3

# One in two million sound filters is further off.
SIGMAS = 5


def is_unremarkable(size: int, fpp: float, policy: ColumnPolicy) -> bool:
    """Whether check_filter surely has nothing to say about a filter of this many bytes, of a chunk that
    has values and no dictionary that is smaller."""
    return (
        size <= NEGLIGIBLE_BYTES
        and fpp <= HIGH_FPP
        and (policy.max_fpp is None or fpp <= policy.max_fpp)
        # Another filter of the same values, in the same bytes, has the same rate.
        and (policy.max_bytes is None or (size <= policy.max_bytes and fpp <= USUAL_FPP))
    )


# A file does not say who chose its rates, and no budget chooses higher ones.
_UNLESS_CHOSEN: Final = f", unless a budget chose it (--max-fpp {USELESS_FPP:g} accepts it)"


def check_filter(view: FilterView) -> Iterator[Finding]:
    """Whether one filter is too full or too large."""
    fpp = view.bits.fpp
    if view.bits.fill == 1:
        yield view.finding(
            "PB303", f"every bit is set: the filter excludes nothing{_more_than_values(view)}"
        )
    elif fpp > USELESS_FPP:
        yield _too_full(view, "PB301", "the filter is saturated", USELESS_FPP)
    # A higher rate than the usual limit can be what somebody wants.
    elif fpp > (limit := max(HIGH_FPP, view.policy.max_fpp or 0.0)):
        what = "the filter is too full to exclude much"
        yield _too_full(
            view, "PB302", f"{what}{_UNLESS_CHOSEN * (view.policy.max_fpp is None)}", limit
        )
    if isinstance(view.bits, SplitBlockBloomFilter):
        yield from _check_weight(view, view.bits)
    yield from _check_limits(view)


def _more_than_values(view: FilterView) -> str:
    """That its values cannot have set all of its bits, if that is known."""
    most, bits = view.max_bits(), 8 * view.bits.num_bytes
    if most is None or most >= bits:
        return ""
    return (
        f"; the values can set at most {most:,} of its {bits:,} bits, so it was overwritten, or has values from"
        " elsewhere"
    )


def _too_full(view: FilterView, rule: str, what: str, limit: float) -> Finding:
    return view.finding(
        rule,
        f"{what}: about {view.bits.ndv_estimate:,.0f} values in {view.bits.num_bytes} bytes",
        expected=f"FPP of at most {exact_percent(limit)}",
        found=percent_beyond(limit, view.bits.fpp),
    )


def _check_weight(view: FilterView, bits: SplitBlockBloomFilter) -> Iterator[Finding]:
    size, chunk_bytes = bits.num_bytes, view.chunk.stored_bytes
    if view.num_values == 0:
        yield view.finding("PB308", "the chunk has no values, so it needs no filter", found=size)
        return
    target = view.policy.max_fpp or USUAL_FPP
    # Bits of other values, or of too few, tell nothing of the size that these need.
    lacks_values = view.membership is not None and view.membership.missing > 0
    is_worth_a_look = size > NEGLIGIBLE_BYTES and not lacks_values
    if is_worth_a_look and (folds := _folds(bits, target)) >= LEAST_FOLDS:
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
            " where readers can look instead",
            expected=f"less than {view.dictionary_bytes} bytes",
            found=size,
        )
    elif view.dictionary_bytes is not None and view.dictionary_bytes <= MIN_BYTES:
        yield view.finding(
            "PB305",
            f"every page is dictionary-encoded, and a filter of {MIN_BYTES} bytes, which all readers take, is no "
            "smaller than the dictionary, where readers can look instead",
            expected=f"a dictionary of more than {MIN_BYTES} bytes",
            found=f"{view.dictionary_bytes} bytes",
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
            f"the FPP is above the limit{_if_none_keeps(view)}",
            expected=f"at most {exact_percent(max_fpp)}",
            found=percent_beyond(max_fpp, view.bits.fpp, 3),
        )
    if max_bytes is not None and view.bits.num_bytes > max_bytes:
        yield view.finding(
            "PB312",
            f"the bitset is larger than the limit{_if_none_keeps(view)}",
            expected=f"at most {max_bytes} bytes",
            found=view.bits.num_bytes,
        )


def _if_none_keeps(view: FilterView) -> str:
    """What follows in a message if none of these values is within the limits, or of use."""
    policy, fpp = view.policy, view.fpp_within_limit
    if fpp <= policy.highest_fpp:
        return ""
    within = f": within {policy.max_bytes} bytes, these values have an FPP of {percent(fpp)}"
    if policy.max_fpp is None:
        return f"{within}, so raise max-bytes"
    return f"{within}, not {exact_percent(policy.max_fpp)}, so raise max-bytes or max-fpp"


def check_columns(examination: AnyExamination) -> Iterator[Finding]:
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
                f"no filter in {len(wanting)} of {wanted} {file.units.part}s that have values; the"
                f" first is {wanting[0]}",
                column=column.name,
                expected=wanted,
                found=there,
            )


def check_required(examination: AnyExamination) -> Iterator[Finding]:
    """Columns that must have a filter in every part with values."""
    for name in examination.policy.required_columns():
        columns = examination.columns_called(name)
        # Null in all rows, if it is another file's column.
        if not columns and not examination.file.lacks(name):
            yield finding("PB310", _no_column_of(examination.file, name), column=name)
        for column in columns:
            yield from _check_required(examination, column)


def _no_column_of(file: Overview, name: str) -> str:
    if file.is_of_partition(name):
        return f"{OF_ANOTHER_NAME}{IS_PARTITION} the table, not in the files"
    hint = did_you_mean(name, file.columns, file.path)
    return f"{OF_NO_COLUMN if file.is_without(name) else OF_ANOTHER_NAME}{hint}"


def _check_required(examination: AnyExamination, column: Column) -> Iterator[Finding]:
    message = "a filter is required"
    if reason := examination.reason_for_none(column):
        message += f" of a column that gets none, so require it no longer: {reason}"
    elif reason := examination.why_not_asked(column):
        message += f" that only pbloom asks, as in find, and no engine: {reason}"
    for part in examination.parts_without(column):
        place = Place(part, units=examination.file.units)
        if examination.is_hidden(part, column):
            hidden = "a filter is required, but whether there is one cannot be seen without the column's key"
            yield finding("PB313", hidden, place=place, column=column.name)
        elif examination.has_values(part, column):
            yield finding("PB310", message, place=place, column=column.name)


def check_share(examination: AnyExamination) -> Iterator[Finding]:
    """The size of all filters, compared with the file."""
    size, file_size = examination.filter_bytes(), examination.file.source.size
    if dominates(size, file_size):
        yield finding(
            "PB309",
            f"filters take up {percent_beyond(LARGE_SHARE, size / file_size)} of the file",
            expected=f"at most {exact_percent(LARGE_SHARE)}",
            found=f"{size} of {file_size} bytes",
        )


# ------------------------------------------------------------------------------------------------
# The truth


def check_clear(view: FilterView) -> Iterator[Finding]:
    """An empty filter although there are values."""
    if view.bits.bits_set == 0 and view.num_values:
        yield view.finding(
            "PB402",
            "no bit is set: every value seems absent",
            expected=f"bits of {view.num_values} values",
            found="none",
        )


def check_count(view: FilterView) -> Iterator[Finding]:
    """More bits than there are values for, of which the values tell more, if they were looked up."""
    if view.membership is not None or view.bits.fill == 1:
        return
    most, found = view.max_bits(), view.bits.bits_set
    if most is not None and found > most:
        yield view.finding(
            "PB409",
            "more bits are set than the values can set: the filter is damaged, or has values from elsewhere",
            expected=f"at most {most:,} bits",
            found=f"{found:,}",
        )


def check_values(view: FilterView) -> Iterator[Finding]:
    """What the values say, if they were looked up; of an empty filter, check_clear says it all."""
    membership = view.membership
    if membership is None or (membership.missing and not view.bits.bits_set):
        return
    if membership.missing:
        yield view.finding(
            "PB401",
            f"{membership.missing:,} of {membership.num_values:,} stored values"
            f" {'is' if membership.missing == 1 else 'are'} not in the"
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
            f"{found} is in the filter but {other} is not: readers that hash the zero in a query as"
            f" written lose rows where x = {other}",
            expected="0.0 and -0.0",
            found=found,
        )
    if membership.lacks_nan:
        yield view.finding(
            "PB404",
            "NaN is stored but the canonical NaN is not in the filter: readers that hash it find no"
            " rows",
        )


def _ways_to_excess(place: Place, share: float) -> str:
    """Where a `share` of the bits that are set may come from. In a format without checksums, nothing but few bits of
    the values that were there before may tell that some have changed."""
    if place.units.has_groups and share < FEW_MISSING:
        return f"the filter was not cleared first, has values from elsewhere, {VALUES_MAY_HAVE_CHANGED}"
    return "the filter was not cleared first, or has values from elsewhere"


def _check_excess(view: FilterView, membership: Membership) -> Iterator[Finding]:
    # A filter whose bits all come from values finds no more than these explain.
    if not membership.foreign_bits:
        return
    foreign, in_all = membership.foreign_bits, view.bits.bits_set
    cause = view.foreign_from() or _ways_to_excess(view.place, foreign / in_all)
    yield view.finding(
        "PB405",
        f"{foreign:,} of {in_all:,} bits come from no stored value: {cause}",
        expected=0,
        found=membership.foreign_bits,
    )
    bits, explained = view.bits, membership.explained_fpp
    if explained is None or not isinstance(bits, SplitBlockBloomFilter):
        return
    # What needs numpy takes longer to import than many a file to check.
    from parquet_bloom.filters.occupancy import FPP_PROBES, measured_fpp

    measured = measured_fpp(bits)
    sigma = sqrt(explained * (1 - explained) / FPP_PROBES)
    # Where hardly any are expected, a few more mean nothing.
    if measured > explained + SIGMAS * sigma + 4 / FPP_PROBES:
        yield view.finding(
            "PB406",
            f"of {FPP_PROBES:,} values that are not stored, more pass the filter than the stored"
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
            f"the filter is the same as in {model.place}, bit for bit: correct only if both have"
            " the same values"
        )
        for twin in twins:
            if twin is not model and not twin.is_right:
                yield finding("PB407", message, place=twin.place, column=twin.column)
