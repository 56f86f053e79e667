"""The split block Bloom filter: an array of 256-bit blocks, eight 32-bit words each.

    filter   | block 0 | block 1 | ... | block z-1 |          1 <= z < 2^31
    block    | word 0 | word 1 | ... | word 7 |               one bit of each word per value
    hash     | 32 bits: which block | 32 bits: which bits |   block = (high half * z) >> 32

A filter answers whether a hash was *never* inserted; it cannot say which were.

Spec: parquet-format, BloomFilter.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_bloom.errors import FilterError
from parquet_bloom.filters.sizing import BLOCK_BITS, BLOCK_BYTES, WORDS_PER_BLOCK, estimate_ndv
from parquet_bloom.native import _kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray


class SplitBlockBloomFilter:
    """A filter in memory. `words` has shape (8 * num_blocks,), dtype uint32, and is its only state."""

    def __init__(self, words: NDArray[np.uint32]) -> None:
        """Wrap `words`; they are not copied. Raises FilterError unless they are whole blocks."""
        if words.ndim != 1 or words.size == 0 or words.size % WORDS_PER_BLOCK:
            raise FilterError(
                f"bitset: {4 * words.size} bytes, expected a positive multiple of {BLOCK_BYTES}"
            )
        self.words = words

    @classmethod
    def empty(cls, num_blocks: int) -> SplitBlockBloomFilter:
        """A filter of `num_blocks` blocks (1 <= num_blocks < 2^31) with every bit clear."""
        if not 1 <= num_blocks < 1 << 31:
            raise FilterError(f"number of blocks: {num_blocks}, expected 1 to 2^31 - 1")
        return cls(np.zeros(num_blocks * WORDS_PER_BLOCK, np.uint32))

    @classmethod
    def from_bytes(cls, bitset: bytes | bytearray | memoryview) -> SplitBlockBloomFilter:
        """A copy of a stored bitset. Raises FilterError unless it is whole blocks."""
        stored = np.frombuffer(bitset, np.uint8)
        if stored.size == 0 or stored.size % BLOCK_BYTES:
            raise FilterError(
                f"bitset: {stored.size} bytes, expected a positive multiple of {BLOCK_BYTES}"
            )
        return cls(stored.copy().view(np.uint32))

    def to_bytes(self) -> bytes:
        """The bitset as it is stored: words little-endian, in order."""
        return self.words.tobytes()

    @property
    def bitset(self) -> memoryview:
        """The same without a copy, for as long as nothing is inserted."""
        return self.words.view(np.uint8).data

    @property
    def num_blocks(self) -> int:
        return self.words.size // WORDS_PER_BLOCK

    @property
    def num_bytes(self) -> int:
        return self.words.size * 4

    @property
    def bits_set(self) -> int:
        return _kernel.popcount(self.words)

    @property
    def fill(self) -> float:
        """The fraction of bits that are set, 0 to 1."""
        return self.bits_set / (self.num_blocks * BLOCK_BITS)

    @property
    def fpp(self) -> float:
        """The exact probability that a random hash is found: the mean over the blocks of the
        product of the fills of their eight words."""
        return _kernel.fpp(self.words)

    @property
    def ndv_estimate(self) -> float:
        """The number of distinct values that best explains the bits; inf when all are set."""
        return estimate_ndv(self.bits_set, self.num_blocks)

    def insert_hashes(self, hashes: NDArray[np.uint64]) -> None:
        """Insert hashes, shape (n,), dtype uint64."""
        _kernel.insert(self.words, hashes)

    def check_hashes(self, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """For each hash of shape (n,), dtype uint64: False if it was certainly never inserted."""
        return _kernel.check(self.words, hashes)

    def fold(self, factor: int = 2) -> SplitBlockBloomFilter:
        """OR every `factor` neighbouring blocks into one.

        The block index is a multiply-shift, so the folded filter is bit for bit the one that would
        have been built with num_blocks / factor blocks. Raises FilterError unless `factor` divides
        the number of blocks.
        """
        if factor < 1 or self.num_blocks % factor:
            raise FilterError(f"fold by {factor}: expected a divisor of {self.num_blocks} blocks")
        return SplitBlockBloomFilter(_kernel.fold(self.words, factor))

    def fold_to_fpp(self, fpp: float, min_blocks: int) -> SplitBlockBloomFilter:
        """Halve as often as the FPP computed from the bits stays within `fpp`."""
        smallest = self
        while smallest.num_blocks % 2 == 0 and smallest.num_blocks // 2 >= min_blocks:
            folded = smallest.fold()
            if folded.fpp > fpp:
                break
            smallest = folded
        return smallest
