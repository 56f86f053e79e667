"""The split block Bloom filter: an array of 256-bit blocks, eight 32-bit words each.

    filter   | block 0 | block 1 | ... | block z-1 |          1 <= z < 2^31
    block    | word 0 | word 1 | ... | word 7 |               one bit of each word per value
    hash     | 32 bits: which block | 32 bits: which bits |   block = (high half * z) >> 32

A filter can tell that a hash was *never* inserted, but not that it was.

Spec: parquet-format, BloomFilter.md.
"""

from __future__ import annotations

import sys
from functools import cached_property
from typing import Final, Self

from parquet_bloom.errors import FilterError
from parquet_bloom.filters.sizing import BLOCK_BITS, BLOCK_BYTES, WORDS_PER_BLOCK, estimate_ndv
from parquet_bloom.native import _kernel
from parquet_bloom.native.lazy import NDArray, np

WORD_FORMAT: Final = "I"


class SplitBlockBloomFilter:
    """A filter in memory; its words are its only state."""

    def __init__(self, words: memoryview | NDArray[np.uint32]) -> None:
        """Wrap `words`, shape (8 * num_blocks,), uint32, without copying them. Raises FilterError
        unless they are whole blocks."""
        view = words if isinstance(words, memoryview) else getattr(words, "data", None)
        if (
            not isinstance(view, memoryview)
            or view.ndim != 1
            or view.format != WORD_FORMAT
            or not view.c_contiguous
        ):
            raise FilterError("words: expected a contiguous, one-dimensional uint32 array")
        _check_blocks(view.nbytes)
        self._words = view

    def __repr__(self) -> str:
        return f"<SplitBlockBloomFilter: {self.num_bytes:,} bytes, {100 * self.fill:.0f} % full>"

    @classmethod
    def empty(cls, num_blocks: int) -> Self:
        """A filter of `num_blocks` blocks (1 <= num_blocks < 2^31) with every bit clear."""
        if not 1 <= num_blocks < 1 << 31:
            raise FilterError(f"number of blocks: {num_blocks}, expected 1 to 2^31 - 1")
        return cls(_kernel.clear_words(num_blocks))

    @classmethod
    def from_bytes(cls, bitset: bytes | bytearray | memoryview) -> Self:
        """Copy a stored bitset. Raises FilterError unless it is whole blocks."""
        _check_blocks(len(bitset))
        words = _kernel.clear_words(len(bitset) // BLOCK_BYTES)
        words.cast("B")[:] = memoryview(bitset).cast("B")
        return cls(words)

    @classmethod
    def over(cls, bitset: bytes) -> Self:
        """Wrap a stored bitset without copying it; nothing can be inserted. Raises FilterError unless it is
        whole blocks."""
        _check_blocks(len(bitset))
        # What __init__ would find out takes longer than to ask a filter of one block.
        filter = cls.__new__(cls)
        filter._words = memoryview(bitset).cast(WORD_FORMAT)
        return filter

    @property
    def words(self) -> NDArray[np.uint32]:
        """The words, shape (8 * num_blocks,), dtype uint32: a view, not a copy."""
        return np.frombuffer(self._words, np.uint32)

    @property
    def bitset(self) -> memoryview:
        """The words as stored bytes: a view, not a copy."""
        return self._words.cast("B")

    def to_bytes(self) -> bytes:
        """The bitset as stored: little-endian words."""
        return self._words.tobytes()

    @property
    def num_blocks(self) -> int:
        return len(self._words) // WORDS_PER_BLOCK

    @property
    def num_bytes(self) -> int:
        return self._words.nbytes

    @property
    def bits_set(self) -> int:
        return _kernel.popcount(self._words)

    @property
    def fill(self) -> float:
        """The fraction of bits that are set, 0 to 1."""
        return self.bits_set / (self.num_blocks * BLOCK_BITS)

    @property
    def fpp(self) -> float:
        """The exact probability that a random hash is found: the mean over all blocks of the product
        of the fills of its eight words."""
        return _kernel.fpp(self._words)

    @property
    def ndv_estimate(self) -> float:
        """The number of distinct values that best explains the bits; inf when all are set."""
        return estimate_ndv(self.bits_set, self.num_blocks)

    def bits_outside(self, other: SplitBlockBloomFilter) -> int:
        """The number of bits set here but clear in `other`, a filter of the same size."""
        return _kernel.outside(self._words, other._words)

    def insert_hashes(self, hashes: NDArray[np.uint64]) -> None:
        """Insert hashes, shape (n,), dtype uint64."""
        _kernel.insert(self._words, hashes)

    def check_hashes(self, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """For each hash, shape (n,), dtype uint64: False if it was certainly never inserted."""
        return _kernel.check(self._words, hashes)

    def insert_value(self, plain: bytes) -> None:
        """Insert a value by its stored bytes."""
        _kernel.insert_value(self._words, plain)

    def check_value(self, plain: bytes) -> bool:
        """False if the value with these stored bytes was certainly never inserted."""
        return _kernel.check_value(self._words, plain)

    def insert_fixed(self, values: memoryview, width: int) -> int:
        """Insert PLAIN values of `width` bytes each; returns their number."""
        return _kernel.insert_fixed(self._words, values, width)

    def insert_byte_array(self, values: memoryview, most: int = sys.maxsize) -> int:
        """Insert length-prefixed PLAIN values, no more than `most`; returns their number. Raises
        ValueError if one runs past the end."""
        return _kernel.insert_byte_array(self._words, values, most)

    def check_fixed(self, values: memoryview, width: int) -> NDArray[np.bool_]:
        """As check_hashes, for PLAIN values of `width` bytes each."""
        return _kernel.check_fixed(self._words, values, width)

    def check_slices(self, values: memoryview, offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
        """As check_hashes, for the values values[offsets[i]:offsets[i + 1]], int64."""
        return _kernel.check_slices(self._words, values, offsets)

    def check_byte_array(self, values: memoryview, most: int = sys.maxsize) -> NDArray[np.bool_]:
        """As check_hashes, for length-prefixed PLAIN values, no more than `most`. Raises ValueError if
        one runs past the end."""
        return _kernel.check_byte_array(self._words, values, most)

    def insert_whole_pages(
        self,
        pages: _kernel.WholePages,
        data: memoryview,
        room: memoryview,
        wanted: int,
        turns: _kernel.Turns,
    ) -> None:
        """Insert the values of whole pages, see _kernel."""
        pages.insert(self._words, data, room, wanted, turns)

    def unite(self, other: SplitBlockBloomFilter) -> None:
        """Insert whatever was inserted into `other`, a filter of the same size."""
        _kernel.unite(self._words, other._words)

    def fold(self, factor: int = 2) -> Self:
        """OR every `factor` adjacent blocks into one. Raises FilterError if some are left over.

        The block index is a multiply-shift, so this is bit for bit the filter that would have been
        built with num_blocks / factor blocks.
        """
        if factor < 1 or self.num_blocks % factor:
            raise FilterError(f"fold by {factor}: expected a divisor of {self.num_blocks} blocks")
        folded = self.empty(self.num_blocks // factor)
        _kernel.fold(self._words, factor, folded._words)
        return folded

    def fold_to_fpp(self, fpp: float, min_blocks: int) -> Self:
        """Halve the filter as long as the FPP computed from its bits stays within `fpp`."""
        smallest = self
        while (
            smallest.num_blocks % 2 == 0
            and smallest.num_blocks // 2 >= min_blocks
            and _kernel.halved_fpp(smallest._words, fpp) <= fpp
        ):
            smallest = smallest.fold()
        return smallest

    def settled(self) -> SettledFilter:
        """The same bits, into which nothing more will be inserted."""
        return SettledFilter(self._words)


class SettledFilter(SplitBlockBloomFilter):
    """A filter whose bits no longer change: what they say is computed once."""

    @cached_property
    def bits_set(self) -> int:
        return super().bits_set

    @cached_property
    def fpp(self) -> float:
        return super().fpp

    def fold_to_fpp(self, fpp: float, min_blocks: int) -> Self:
        key = fpp, min_blocks
        if key not in self._folded:
            folded = super().fold_to_fpp(fpp, min_blocks)
            # A filter that refers to itself would be kept until somebody collects such.
            self._folded[key] = None if folded is self else folded
        return self._folded[key] or self

    @cached_property
    def _folded(self) -> dict[tuple[float, int], Self | None]:
        return {}


def _check_blocks(num_bytes: int) -> None:
    if num_bytes == 0 or num_bytes % BLOCK_BYTES:
        raise FilterError(
            f"bitset: {num_bytes} bytes, expected a positive multiple of {BLOCK_BYTES}"
        )
