"""From the values of one column chunk to its filter.

Build big, then fold: the filter starts at the size for the most distinct values that there can be
(the dictionary's entries if there are no other values, otherwise the non-null values) and is halved
while the FPP computed from its bits stays within the target. Nobody has to know the NDV, and the
result is bit for bit the filter that would have been built at its final size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from math import ceil
from typing import Any

from parquet_bloom.filters.sizing import BLOCK_BYTES, MIN_BYTES, Size, largest_power_of_two
from parquet_bloom.filters.split_block import SettledFilter, SplitBlockBloomFilter
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.pages.pages import ChunkRun
from parquet_bloom.parquet.pages.runs import FixedRun, Run, run_of
from parquet_bloom.parquet.pages.whole_pages import WholePages
from parquet_bloom.values.encode import longest_decimal, signed_bytes
from parquet_bloom.values.types import PHYSICAL_WIDTH, LeafType, LogicalType, canonical_nan, zeros

# More values than any chunk has.
UNCOUNTED = 1 << 62

# How much a filter of any size grows, again and again, as long as its hashes are unlucky and miss the target FPP.
GROWTH = 1.02

Runs = Callable[[], Iterable[ChunkRun | WholePages]]


def build_filter(runs: Runs, leaf: LeafType, max_values: int, size: Size) -> SettledFilter | None:
    """The filter of the values that `runs()` yields, None if there are none.

    `runs` is called again if a pass shows that another size is needed; each run but a dictionary's is
    used up before the next is asked for. `max_values` is the most
    that there can be. The filter misses the target FPP only if `size` does not allow for it.
    """
    if has_other_forms(leaf):
        max_values *= 2
    if size.ndv is not None:
        ndv_blocks = size.blocks_for(size.ndv)
        return _collect(runs(), leaf, lambda _: ndv_blocks)
    if size.exact_blocks:
        return _build_exact(runs, leaf, max_values, size)
    return _build_folded(runs, leaf, max_values, size)


def _build_folded(runs: Runs, leaf: LeafType, max_values: int, size: Size) -> SettledFilter | None:
    least = 0

    def blocks_for(ndv: int) -> int:
        return max(least, size.blocks_for(min(ndv, max_values)))

    while True:
        filter = _collect(runs(), leaf, blocks_for)
        if filter is None:
            return None
        if filter.fpp <= size.fpp:
            return filter.fold_to_fpp(size.fpp, MIN_BYTES // BLOCK_BYTES)
        if filter.num_blocks >= size.max_blocks:
            return filter
        # The expected FPP was within the target, but that of these hashes is not: one size up.
        least = 2 * filter.num_blocks


def _build_exact(runs: Runs, leaf: LeafType, max_values: int, size: Size) -> SettledFilter | None:
    """One pass to count distinct values by the bits that they set, others at the right size, as long as
    that is smaller than what the first has led to."""
    powers = Size(size.fpp, largest_power_of_two(size.max_bytes))
    counted = _build_folded(runs, leaf, max_values, powers)
    if counted is None:
        return None
    estimate = min(counted.ndv_estimate, max_values)
    num_blocks = size.blocks_for(ceil(estimate))

    def blocks_for(ndv: int) -> int:
        return num_blocks

    while num_blocks < counted.num_blocks or counted.fpp > size.fpp:
        filter = _collect(runs(), leaf, blocks_for)
        if filter is None or filter.fpp <= size.fpp or num_blocks >= size.max_blocks:
            return filter
        num_blocks = min(size.max_blocks, ceil(num_blocks * GROWTH))
    return counted


def _collect(
    runs: Iterable[ChunkRun | WholePages], leaf: LeafType, blocks_for: Callable[[int], int]
) -> SettledFilter | None:
    """Insert every value; `blocks_for` gives the number of blocks for a number of values. A
    dictionary comes last, when it is known whether there are values outside it."""
    dictionary: list[Run] = []
    filter: SplitBlockBloomFilter | None = None
    specials = count = 0
    for part in runs:
        if isinstance(part, WholePages):
            filter = filter or SplitBlockBloomFilter.empty(blocks_for(UNCOUNTED))
            count += part.insert_into(filter)
            specials |= part.float_specials
            continue
        if leaf.is_float:
            specials |= part.run.float_specials()
        for run in (part.run, *other_forms(part.run, leaf)):
            if part.is_dictionary:
                dictionary.append(run)
                count += len(run)
            else:
                filter = filter or SplitBlockBloomFilter.empty(blocks_for(UNCOUNTED))
                count += run.insert_into(filter)
    if count == 0:
        return None
    filter = filter or SplitBlockBloomFilter.empty(blocks_for(count))
    for run in dictionary:
        run.insert_into(filter)
    for plain in (*special_values(specials, leaf), *special_forms(specials, leaf)):
        filter.insert_value(plain)
    return filter.settled()


def other_forms(run: Run, leaf: LeafType) -> Iterator[Run]:
    """The values in forms that are not stored, but that readers look for.

    DuckDB (2.0) hashes a FLOAT16 literal as FLOAT and, in files with its key for that, an INTERVAL
    of 60 days as one of 2 months. Without these in the filter, it loses rows. A timestamp is looked
    up as an INT96 with nanoseconds within the day, a DECIMAL in few bytes, and an INTEGER(8) or
    INTEGER(16) as the INT32 of that number; values that are stored in another form than that, which
    is rare, are inserted in both.
    """
    form = _form_of(leaf)
    if form is not None:
        yield form(run)


def _form_of(leaf: LeafType) -> Callable[[Any], Run] | None:
    """What makes the other form of a run's values."""
    match leaf.physical, leaf.logical:
        case "INT96", _:
            return FixedRun.carried_int96
        case "INT32", LogicalType(name="INTEGER", bit_width=8 | 16 as bits) as logical:
            return partial(FixedRun.narrowed, bit_width=bits, signed=logical.signed)
        case "BYTE_ARRAY", LogicalType(name="DECIMAL") as logical:
            return partial(_shortened_decimals, longest_decimal(logical))
        case "FIXED_LEN_BYTE_ARRAY", LogicalType(name="FLOAT16"):
            return FixedRun.widened_halves
        case "FIXED_LEN_BYTE_ARRAY", LogicalType(name="INTERVAL"):
            return FixedRun.normalized_intervals
    return None


def _shortened_decimals(longest: int, run: Run) -> Run:
    """The DECIMAL values of more than `longest` bytes in as few as they take."""
    too_long = (run.lengths() > longest).nonzero()[0].tolist()
    numbers = [int.from_bytes(plain, "big", signed=True) for plain in run.take(too_long)]
    return run_of(
        [number.to_bytes(signed_bytes(number), "big", signed=True) for number in numbers], None
    )


def reason_for_none(leaf: LeafType) -> str | None:
    """Why a column of this type should have no filter; None if it may."""
    return "BOOLEAN: two values need no filter" if leaf.physical == "BOOLEAN" else None


def has_other_forms(leaf: LeafType) -> bool:
    """Whether other_forms yields any."""
    return _form_of(leaf) is not None


def most_hashes(leaf: LeafType, num_values: int) -> int:
    """How many hashes so many values lead to at the most, with those of other forms and special values."""
    forms = 2 if has_other_forms(leaf) else 1
    # The other zero, and the canonical NaN.
    return forms * (num_values + 2 * leaf.is_float)


def is_stored_unusually(leaf: LeafType) -> bool:
    """Whether only unusual values have another form: one that any reader may look for."""
    return has_other_forms(leaf) and leaf.physical != "FIXED_LEN_BYTE_ARRAY"


def special_values(specials: int, leaf: LeafType) -> Iterator[bytes]:
    """Values that readers may look up instead of a stored one, although their bytes differ.

    `specials`: HAS_ZERO | HAS_NAN. Engines compare -0.0 = 0.0 but hash one of them;
    parquet-format issue 407.
    """
    return _specials_of(specials, leaf.width or 0)


def special_forms(specials: int, leaf: LeafType) -> Iterator[bytes]:
    """The same in the form of other_forms that is a float, too: a FLOAT16 as FLOAT."""
    if leaf.logical_name == "FLOAT16":
        yield from _specials_of(specials, PHYSICAL_WIDTH["FLOAT"])


def _specials_of(specials: int, width: int) -> Iterator[bytes]:
    if specials & _kernel.HAS_ZERO:
        yield from zeros(width)
    if specials & _kernel.HAS_NAN:
        yield canonical_nan(width)


def with_specials(runs: Iterable[ChunkRun], leaf: LeafType) -> Iterator[Run]:
    """The values of `runs`, those that are stored unusually also as usual, and the special ones."""
    specials = 0
    for part in runs:
        if leaf.is_float:
            specials |= part.run.float_specials()
        yield part.run
        if is_stored_unusually(leaf):
            yield from other_forms(part.run, leaf)
    if specials:
        yield run_of(list(special_values(specials, leaf)), leaf.width)
