"""Filters whose bits are all in one block, or the first and the last, as no hash of the format spreads them."""

from __future__ import annotations

from math import sqrt

import numpy as np

from parquet_bloom.diagnosis.diagnosis import Diagnosis
from parquet_bloom.diagnosis.evidence import DEVIATIONS, MAX_LOG_LUCK, Trial
from parquet_bloom.diagnosis.layouts import as_bitset
from parquet_bloom.diagnosis.samples import hashes_of_blocks
from parquet_bloom.filters.sizing import WORD_BITS
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.parquet.file import ParquetContainer
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk


def one_block(
    file: ParquetContainer, chunk: ColumnChunk, filter: SplitBlockBloomFilter
) -> Diagnosis | None:
    """Whether all bits are in one block, or the first and the last, and more than their values set: where only the
    others were lost, they have no more. Raises as chunk_runs."""
    words = as_bitset(filter).words
    is_filled = words.max(axis=1) > 0
    said = _said_of(np.flatnonzero(is_filled).tolist(), filter.num_blocks)
    if said is None:
        return None
    filled = words[is_filled]
    own = hashes_of_blocks(file, chunk, is_filled).size
    at_most = (own + DEVIATIONS * sqrt(own)) / len(filled)
    expected_fill = 1 - (1 - 1 / WORD_BITS) ** at_most
    bits = Trial(
        hits=int(np.bitwise_count(filled).sum()),
        tried=WORD_BITS * filled.size,
        # Of values that belong to other blocks only, still one.
        chance=max(expected_fill, 1 / WORD_BITS),
    )
    return Diagnosis(*said, 0, 0) if bits.log_luck <= MAX_LOG_LUCK else None


def _said_of(filled: list[int], among: int) -> tuple[str, str] | None:
    """The name and the explanation, if the bits are in these blocks only; None where a sound filter has them so."""
    done = "the writer put the bits of all values into"
    if len(filled) == 1 < among:
        why = ": of a hash of 32 bits, it is 0" if filled == [0] else ""
        return "one-block", (
            f"{done} block {filled[0]:,} of {among:,}, and none into the others, as if the high half of each hash,"
            f" which chooses the block, were the same{why}"
        )
    if filled == [0, among - 1] and among > len(filled):
        return "first-and-last-block", (
            f"{done} the first and the last of {among:,} blocks, and none into the others, as if all bits of the high"
            " half of each hash, which chooses the block, were the same: those of a hash of 32 bits that is taken as"
            " signed are"
        )
    return None
