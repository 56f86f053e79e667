"""What speaks against a hypothesis of where the bits are, although the missing values are found that way."""

from __future__ import annotations

from math import log

import numpy as np

from parquet_bloom.diagnosis.evidence import MIN_SHARE, Trial, nothing_else_is_there
from parquet_bloom.diagnosis.layouts import (
    STANDARD,
    BitLayout,
    Bitset,
    BitsetChoice,
    high_half,
    low_half,
)
from parquet_bloom.diagnosis.samples import hashes_of_blocks
from parquet_bloom.filters.sizing import BLOCK_BYTES, WORDS_PER_BLOCK
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.parquet.file import ParquetContainer
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk

# All other values speak for a rotation and a shift alike.
MAX_LOG_LUCK_OF_END = log(1e-4)


def is_refuted(
    file: ParquetContainer,
    chunk: ColumnChunk,
    bitset: Bitset,
    layout: BitLayout,
    choice: BitsetChoice,
) -> bool:
    """Whether something speaks against it. `bitset`: the one that the header describes. Raises as chunk_runs."""
    if layout.places:
        found = _found_when_rotated(file, chunk, bitset, layout.places * BLOCK_BYTES)
        return found.hits < MIN_SHARE * found.tried
    if choice.bitset is None:
        return False
    if choice.bitset.is_cut:
        return _has_other_bits(file, chunk, choice.bitset)
    if not choice.later:
        return False
    # What the shift takes beyond an end is at the other one, and so the bitset is where it should be.
    found = _found_when_rotated(file, chunk, bitset, choice.later)
    return found.share >= MIN_SHARE and found.log_luck <= MAX_LOG_LUCK_OF_END


def _found_when_rotated(
    file: ParquetContainer, chunk: ColumnChunk, bitset: Bitset, later: int
) -> Trial:
    """How many values of the last blocks, or if it is negative, of the first, are found if all bytes are so many
    further on, the last in front."""
    places = -(-abs(later) // BLOCK_BYTES)
    is_meant = np.zeros(bitset.num_blocks, np.bool_)
    is_meant[slice(-places, None) if later > 0 else slice(places)] = True
    rotated = np.roll(bitset.words.reshape(-1).view(np.uint8), -later)
    words = rotated.view("<u4").reshape(bitset.words.shape)
    own = hashes_of_blocks(file, chunk, is_meant)
    return STANDARD.look_up(Bitset(words, bitset.num_blocks), own)


def _has_other_bits(file: ParquetContainer, chunk: ColumnChunk, cut: Bitset) -> bool:
    """Whether bits of the first blocks of a larger filter are of none of the values that belong there: these are the
    missing ones, in a way that is not known."""
    kept = len(cut.words)
    is_meant = np.zeros(cut.num_blocks, np.bool_)
    is_meant[:kept] = True
    hashes = hashes_of_blocks(file, chunk, is_meant)
    # Of these, the block of the smaller filter is the same.
    halves = high_half(hashes) * np.uint64(cut.num_blocks // kept)
    explained = SplitBlockBloomFilter.empty(kept)
    explained.insert_hashes((halves << np.uint64(32)) | low_half(hashes))
    foreign_bits = SplitBlockBloomFilter(np.ascontiguousarray(cut.words.reshape(-1))).bits_outside(
        explained
    )
    return not nothing_else_is_there(foreign_bits, WORDS_PER_BLOCK)
