"""Blocks and bits that the filter lost, or that changed: what happens to the bytes of a file rather than to a
writer."""

from __future__ import annotations

from collections.abc import Sequence
from math import lgamma, log, log1p

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.container import number_of
from parquet_bloom.diagnosis.diagnosis import PAGES_MAY_HAVE_CHANGED, Diagnosis
from parquet_bloom.diagnosis.evidence import MAX_CHANCE, MAX_LOG_LUCK, MIN_TRIED, Trial
from parquet_bloom.diagnosis.hashes import XXH64, hashed
from parquet_bloom.diagnosis.layouts import (
    STANDARD,
    Bitset,
    as_bitset,
    bits_set_of,
    high_half,
    mean_fpp,
)
from parquet_bloom.diagnosis.ranges import longest_run, ranges, some_of
from parquet_bloom.diagnosis.samples import StoredValue, hashes_of_blocks
from parquet_bloom.filters.hashers import Hashes
from parquet_bloom.filters.sizing import BLOCK_BITS
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.parquet.file import ParquetContainer
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk


def blocks_lost(
    file: ParquetContainer,
    chunk: ColumnChunk,
    filter: SplitBlockBloomFilter,
    missing: Sequence[StoredValue],
) -> Diagnosis | None:
    """Whether all missing values belong to empty blocks in a row, or to the one before or after them, of
    which a part can be lost as well. Raises as chunk_runs."""
    first, count = longest_run(as_bitset(filter).words.max(axis=1) == 0)
    blocks = _blocks(filter, missing)
    hits = int(np.count_nonzero((blocks + np.uint64(1) >= first) & (blocks <= first + count)))
    if not 0 < count < filter.num_blocks or hits < blocks.size:
        return None
    edges = {"before": first - 1, "after": first + count}
    sides = [side for side, block in edges.items() if (blocks == block).any()]
    trial = Trial(hits, blocks.size, min(1.0, (count + 2) / filter.num_blocks))
    if trial.log_luck > MAX_LOG_LUCK:
        is_right = np.ones(filter.num_blocks, np.bool_)
        is_right[[*range(first, first + count), *(edges[side] for side in sides)]] = False
        if hits < MIN_TRIED or not _only_others_are_right(file, chunk, filter, count, is_right):
            return None
    is_, them = ("is", "it") if count == 1 else ("are", "them")
    beside = f" or to the block {' or '.join(sides)} {them}" if sides else ""
    return Diagnosis(
        "blocks-lost",
        f"{number_of(count, 'block')} in a row, from block {first:,} of {filter.num_blocks:,} on,"
        f" {is_} empty: overwritten or never written; the missing values belong there{beside}",
        0,
        0,
    )


def _only_others_are_right(
    file: ParquetContainer,
    chunk: ColumnChunk,
    filter: SplitBlockBloomFilter,
    num_empty: int,
    is_right: NDArray[np.bool_],
) -> bool:
    """Whether these blocks find the values that belong to them, which are so many that luck leaves no such number of
    others in a row empty: of nearly all blocks, or of few missing values, it proves little where these belong."""
    own = hashes_of_blocks(file, chunk, is_right)
    luck_of_run = log(is_right.size) + own.size * log1p(-num_empty / is_right.size)
    return luck_of_run <= MAX_LOG_LUCK and STANDARD.look_up(as_bitset(filter), own).is_convincing


# More of the blocks are not a few: a wrong way of choosing them does the same to many.
MAX_SHARE_CHANGED = 0.25


def blocks_changed(
    filter: SplitBlockBloomFilter, missing: Sequence[StoredValue]
) -> Diagnosis | None:
    """Whether all missing values belong to a few blocks, and the others find none by luck: what happens to pages
    happens to values of any block."""
    blocks, among = _blocks(filter, missing), filter.num_blocks
    if not blocks.size:
        return None
    few = {int(block) for block in blocks}
    run = range(min(few), max(few) + 1)
    luck_of_run = _luck_of_few(log(among - len(run) + 1), len(run) / among, blocks.size)
    luck_of_few = _luck_of_few(_log_comb(among, len(few)), len(few) / among, blocks.size)
    others = np.delete(as_bitset(filter).words, sorted(few), axis=0)
    if min(luck_of_run, luck_of_few) > MAX_LOG_LUCK or mean_fpp(others) > MAX_CHANCE:
        return None
    found = ranges(few if luck_of_few < luck_of_run else run)
    return Diagnosis(
        "blocks-changed",
        f"all missing values belong to block{'s' if len(few) > 1 else ''} {some_of(found)} of {among:,}: bytes of "
        "the filter changed there, or values for these blocks were never inserted",
        0,
        0,
    )


def _luck_of_few(log_ways: float, share: float, num_values: int) -> float:
    """The logarithm of how likely all values belong to this share of the blocks, whichever of so many ways these are
    chosen in; 0 if these are not few."""
    return log_ways + num_values * log(share) if share <= MAX_SHARE_CHANGED else 0.0


def _log_comb(among: int, chosen: int) -> float:
    """The logarithm of how many ways there are to choose so many."""
    return lgamma(among + 1) - lgamma(chosen + 1) - lgamma(among - chosen + 1)


def _blocks(filter: SplitBlockBloomFilter, values: Sequence[StoredValue]) -> Hashes:
    """To which block each distinct value belongs."""
    hashes = np.unique(hashed([value.plain for value in values], XXH64))
    return (high_half(hashes) * np.uint64(filter.num_blocks)) >> np.uint64(32)


def blocks_filled(filter: SplitBlockBloomFilter, foreign_bits: int) -> str | None:
    """That the bits of no stored value, so many, are in blocks in a row that have all of theirs, or in the one before
    or after them, of which a part can be overwritten as well. None if they are not, or values may have set them."""
    fills = np.bitwise_count(as_bitset(filter).words).sum(axis=1) / BLOCK_BITS
    first, count = longest_run(fills == 1)
    others = np.delete(fills, slice(max(0, first - 1), first + count + 1))
    if not count or not others.size or foreign_bits > (count + 2) * BLOCK_BITS:
        return None
    # As if values had filled them like the fullest of the others.
    fill = max(1 / BLOCK_BITS, float(others.max()))
    if log(filter.num_blocks) + count * BLOCK_BITS * log(fill) > MAX_LOG_LUCK:
        return None
    return (
        f"{number_of(count, 'block')} in a row, from block {first:,} of {filter.num_blocks:,} on,"
        f" {'has' if count == 1 else 'have'} all bits set: overwritten"
    )


# ------------------------------------------------------------------------------------------------
# Few values that are missing: of a filter that lost single bits, they still have most of theirs; of one that lost
# blocks, none


# How likely values that were never inserted have as many bits by luck.
MAX_LOG_LUCK_OF_BITS = log(0.05)


def changed_bytes(bitset: Bitset, missing: Sequence[StoredValue]) -> str:
    """Whose bytes may have changed, by what is left of the bits of the missing values."""
    bits = bits_set_of(bitset, hashed([value.plain for value in missing], XXH64))
    return whose_bytes(bits, len(missing), PAGES_MAY_HAVE_CHANGED)


def whose_bytes(bits: Trial, num_missing: int, otherwise: str) -> str:
    """Whether the filter has lost bits of so many values that are missing, or else, what may have changed as well."""
    if not bits.tried:
        return ""
    clear = Trial(bits.tried - bits.hits, bits.tried, 1 - bits.chance)
    whose, values = (
        ("its", "a value that was") if num_missing == 1 else ("their", "values that were")
    )
    found = (
        f"; {bits.hits:,} of {whose} {bits.tried:,} bits are set, where about {bits.tried * bits.chance:,.0f} would "
        f"be of {values} never inserted"
    )
    # Rather few are those that a writer left out.
    luck = min(bits.log_luck, 0.0 if bits.hits else clear.log_luck)
    if luck <= MAX_LOG_LUCK_OF_BITS:
        return f"{found}: bits of the filter may have been lost"
    return f"{found}{otherwise}"
