"""Filters whose bits are all in one block, as no hash spreads them that the format allows."""

from __future__ import annotations

from math import sqrt

import numpy as np

from parquet_bloom.diagnosis.diagnosis import Diagnosis
from parquet_bloom.diagnosis.evidence import DEVIATIONS, MAX_LOG_LUCK, Trial
from parquet_bloom.diagnosis.layouts import as_bitset
from parquet_bloom.diagnosis.samples import hashes_of_blocks
from parquet_bloom.filters.sizing import WORD_BITS, WORDS_PER_BLOCK
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.parquet.file import ParquetContainer
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk


def one_block(
    file: ParquetContainer, chunk: ColumnChunk, filter: SplitBlockBloomFilter
) -> Diagnosis | None:
    """Whether all bits are in one block, and more than the values of one block set: where only the others were lost,
    it has no more. Raises as chunk_runs."""
    words = as_bitset(filter).words
    is_filled = words.max(axis=1) > 0
    if filter.num_blocks == 1 or np.count_nonzero(is_filled) != 1:
        return None
    block = int(is_filled.argmax())
    own = hashes_of_blocks(file, chunk, is_filled).size
    at_most = own + DEVIATIONS * sqrt(own)
    expected_fill = 1 - (1 - 1 / WORD_BITS) ** at_most
    bits = Trial(
        hits=int(np.bitwise_count(words[block]).sum()),
        tried=WORD_BITS * WORDS_PER_BLOCK,
        # Of values that belong to other blocks only, still one.
        chance=max(expected_fill, 1 / WORD_BITS),
    )
    if bits.log_luck > MAX_LOG_LUCK:
        return None
    why = ": of a hash of 32 bits, it is 0" if block == 0 else ""
    return Diagnosis(
        "one-block",
        f"the writer put the bits of all values into block {block:,} of {filter.num_blocks:,}, and none into the "
        f"others, as if the high half of each hash, which chooses the block, were the same{why}",
        0,
        0,
    )
