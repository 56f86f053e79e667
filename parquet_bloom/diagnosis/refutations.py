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
from parquet_bloom.diagnosis.moved import rotation
from parquet_bloom.diagnosis.samples import hashes_of_blocks
from parquet_bloom.filters.hashers import Hashes
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
        return not _are_found(_at_other_end(file, chunk, bitset, layout.places))
    if choice.bitset is None:
        return False
    if choice.bitset.is_cut:
        return _has_other_bits(file, chunk, choice.bitset)
    return _is_no_shift(file, chunk, bitset, choice.bitset, choice.later)


def _are_found(trial: Trial) -> bool:
    """Whether all are, or nearly all; also if there are none."""
    return trial.hits >= MIN_SHARE * trial.tried


def _is_no_shift(
    file: ParquetContainer, chunk: ColumnChunk, described: Bitset, shifted: Bitset, later: int
) -> bool:
    """Whether the last blocks are not behind what the header describes: their values are not found there, or they are
    in the first blocks, as all others are some places further on."""
    places, rest = divmod(later, BLOCK_BYTES)
    if later > 0:
        behind = _of_end(file, chunk, described.num_blocks, places + (rest > 0))
        if not _are_found(STANDARD.look_up(shifted, behind)):
            return True
    if rest or not places:
        return False
    found = _at_other_end(file, chunk, described, places)
    return found.share >= MIN_SHARE and found.log_luck <= MAX_LOG_LUCK_OF_END


def _at_other_end(file: ParquetContainer, chunk: ColumnChunk, bitset: Bitset, places: int) -> Trial:
    """How many values of the last blocks are found in the first, or the other way round, by a rotation."""
    own = _of_end(file, chunk, bitset.num_blocks, places)
    return rotation(places).look_up(bitset, own)


def _of_end(file: ParquetContainer, chunk: ColumnChunk, num_blocks: int, places: int) -> Hashes:
    """The distinct hashes of the values of so many last blocks; if negative, of the first."""
    is_meant = np.zeros(num_blocks, np.bool_)
    is_meant[slice(-places, None) if places > 0 else slice(-places)] = True
    return hashes_of_blocks(file, chunk, is_meant)


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
