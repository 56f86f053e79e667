"""From the values of one column chunk to its filter.

Build big, then fold: the filter starts at the size for the most distinct values that there can be
(the dictionary's entries if nothing else comes, the non-null values otherwise) and is halved while
the FPP computed from its bits stays within the target. Nobody has to know the NDV, and the result
is bit for bit the filter that would have been built at its final size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from math import ceil

from parquet_bloom.filters.sizing import (
    BLOCK_BYTES,
    MIN_BYTES,
    Size,
    largest_power_of_two,
)
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.pages.pages import ChunkRun
from parquet_bloom.parquet.pages.runs import FixedRun, Run, run_of
from parquet_bloom.values.types import LeafType, canonical_nan, zeros

# More values than any chunk has.
UNCOUNTED = 1 << 62

# What a filter that missed its size by the luck of the hashes grows by, when any size will do.
GROWTH = 1.02


Runs = Callable[[], Iterable[ChunkRun]]


def build_filter(
    runs: Runs, leaf: LeafType, max_values: int, size: Size
) -> SplitBlockBloomFilter | None:
    """The filter of the values that `runs()` yields, None if there are none.

    `runs` is called again if a pass shows that another size is needed. `max_values` is the most
    that there can be. The filter misses the target FPP only if `size` does not allow for it.
    """
    if has_other_forms(leaf):
        max_values *= 2
    if size.ndv is not None:
        return _collect(runs(), leaf, partial(_fixed, size.blocks_for(size.ndv)))
    if size.exact_blocks:
        return _build_exact(runs, leaf, max_values, size)
    return _build_folded(runs, leaf, max_values, size)


def _fixed(num_blocks: int, ndv: int) -> int:
    return num_blocks


def _at_least(least: int, size: Size, max_values: int, ndv: int) -> int:
    return max(least, size.blocks_for(min(ndv, max_values)))


def _build_folded(
    runs: Runs, leaf: LeafType, max_values: int, size: Size
) -> SplitBlockBloomFilter | None:
    least = 0
    while True:
        filter = _collect(runs(), leaf, partial(_at_least, least, size, max_values))
        if filter is None:
            return None
        if filter.fpp <= size.fpp:
            return filter.fold_to_fpp(size.fpp, MIN_BYTES // BLOCK_BYTES)
        if filter.num_blocks >= size.max_blocks:
            return filter
        # The expected FPP was within the target and the hashes of this chunk are not: one size up.
        least = 2 * filter.num_blocks


def _build_exact(
    runs: Runs, leaf: LeafType, max_values: int, size: Size
) -> SplitBlockBloomFilter | None:
    """One pass to count distinct values by the bits that they set, another at the right size."""
    powers = Size(size.fpp, largest_power_of_two(size.max_bytes))
    counted = _build_folded(runs, leaf, max_values, powers)
    if counted is None:
        return None
    estimate = min(counted.ndv_estimate, max_values)
    num_blocks = size.blocks_for(ceil(estimate))
    while True:
        filter = _collect(runs(), leaf, partial(_fixed, num_blocks))
        if filter is None or filter.fpp <= size.fpp or num_blocks >= size.max_blocks:
            return filter
        num_blocks = min(size.max_blocks, ceil(num_blocks * GROWTH))


def _collect(
    runs: Iterable[ChunkRun], leaf: LeafType, blocks_for: Callable[[int], int]
) -> SplitBlockBloomFilter | None:
    """Insert every value; `blocks_for` gives the number of blocks for a number of values.

    A dictionary waits until it is known whether anything comes after it.
    """
    collector = _Collector(leaf, blocks_for)
    for part in runs:
        collector.add(part)
    return collector.finish()


def other_forms(run: Run, leaf: LeafType) -> Iterator[Run]:
    """The values in forms that they are not stored in, but that readers look for.

    DuckDB (2.0) hashes a FLOAT16 literal as FLOAT, and in files with its key for that an INTERVAL
    of 60 days as one of 2 months. It loses the rows of a filter without them.
    """
    if leaf.logical_name == "FLOAT16" and isinstance(run, FixedRun):
        yield run.widened_halves()
    if leaf.logical_name == "INTERVAL" and isinstance(run, FixedRun):
        yield run.normalized_intervals()


def reason_for_none(leaf: LeafType) -> str | None:
    """Why a column of this type should have no filter; None if it may."""
    return "BOOLEAN: two values need no filter" if leaf.physical == "BOOLEAN" else None


def has_other_forms(leaf: LeafType) -> bool:
    """Whether other_forms yields any."""
    return leaf.logical_name in ("FLOAT16", "INTERVAL")


def special_values(specials: int, leaf: LeafType) -> Iterator[bytes]:
    """Values that equal, or stand for, one that is there although their bytes differ.

    `specials`: HAS_ZERO | HAS_NAN. Engines compare -0.0 = 0.0 but hash one of them;
    parquet-format issue 407.
    """
    width = leaf.width or 0
    if specials & _kernel.HAS_ZERO:
        yield from zeros(width)
    if specials & _kernel.HAS_NAN:
        yield canonical_nan(width)


def with_specials(runs: Iterable[ChunkRun], leaf: LeafType) -> Iterator[Run]:
    """The values of `runs`, and the special ones that stand for them."""
    specials = 0
    for part in runs:
        if leaf.is_float:
            specials |= part.run.float_specials()
        yield part.run
    if specials:
        yield run_of(list(special_values(specials, leaf)), leaf.width)


class _Collector:
    def __init__(self, leaf: LeafType, blocks_for: Callable[[int], int]) -> None:
        self._leaf = leaf
        self._blocks_for = blocks_for
        self._dictionary: list[Run] = []
        self._filter: SplitBlockBloomFilter | None = None
        self._specials = 0
        self._count = 0

    def add(self, part: ChunkRun) -> None:
        if self._leaf.is_float:
            self._specials |= part.run.float_specials()
        for run in (part.run, *other_forms(part.run, self._leaf)):
            if part.is_dictionary:
                self._dictionary.append(run)
                self._count += len(run)
            else:
                self._count += run.insert_into(self._grown_filter())

    def _grown_filter(self) -> SplitBlockBloomFilter:
        """The filter, made when the first value comes that is in no dictionary."""
        if self._filter is None:
            self._filter = SplitBlockBloomFilter.empty(self._blocks_for(UNCOUNTED))
        return self._filter

    def finish(self) -> SplitBlockBloomFilter | None:
        if self._count == 0:
            return None
        filter = self._filter or SplitBlockBloomFilter.empty(self._blocks_for(self._count))
        for run in self._dictionary:
            run.insert_into(filter)
        for plain in special_values(self._specials, self._leaf):
            filter.insert_value(plain)
        return filter
