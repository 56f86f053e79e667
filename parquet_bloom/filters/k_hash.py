"""The Bloom filter of Hive and ORC: num_bits bits, of which each value sets up to k.

    filter   | word 0 | word 1 | ...                          64 bits each, bit 0 the lowest
    hash     | 32 bits: step | 32 bits: start |               position i = start + i * step, i = 1..k
    bit      position mod num_bits; a negative position is replaced by its complement

Sources: orc-core, org.apache.orc.util.BloomFilter; Guava, BloomFilterStrategies.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import exp, floor, inf, log, log1p, log2
from typing import TYPE_CHECKING, Final, Self, TypeAlias

from parquet_bloom.errors import FilterError
from parquet_bloom.filters.rates import exact_percent
from parquet_bloom.native import _kernel
from parquet_bloom.native.lazy import NDArray, np

if TYPE_CHECKING:
    from array import array

    Counts: TypeAlias = array[int]

WORD_BITS: Final = 64
WORD_FORMAT: Final = "Q"

# Positions are 31-bit: 32-bit numbers without the sign.
MAX_BITS: Final = (1 << 31) - 1

# More than any target FPP leads to: the smallest normal double is 2^-1022.
MAX_HASHES: Final = 1100

_LN2 = log(2)


class KHashFilter:
    """A filter in memory: its words, the number of bits in use, and k."""

    def __init__(self, words: memoryview, num_hashes: int, num_bits: int) -> None:
        """Wrap `words`, one-dimensional uint64, without copying them. Raises FilterError unless
        num_bits is 1 to MAX_BITS and fits the words, and num_hashes is 1 to MAX_HASHES."""
        room = WORD_BITS * len(words)
        if not 1 <= num_bits <= min(room, MAX_BITS):
            raise FilterError(f"filter: {num_bits} bits, expected 1 to {min(room, MAX_BITS)}")
        if not 1 <= num_hashes <= MAX_HASHES:
            raise FilterError(f"filter: {num_hashes} hashes, expected 1 to {MAX_HASHES}")
        self._words = words
        self.num_bits = num_bits
        self.num_hashes = num_hashes

    @classmethod
    def empty(cls, num_bits: int, num_hashes: int) -> Self:
        """A filter with every bit clear, in as few words as possible."""
        return cls(_clear_words(_num_words(num_bits)), num_hashes, num_bits)

    @classmethod
    def from_bytes(
        cls, bitset: bytes | bytearray | memoryview, num_hashes: int, num_bits: int | None = None
    ) -> Self:
        """Copy stored words, little-endian; num_bits defaults to all bits. Raises FilterError."""
        if len(bitset) == 0 or len(bitset) % 8:
            raise FilterError(f"bitset: {len(bitset)} bytes, expected a positive multiple of 8")
        words = memoryview(bytearray(bitset)).cast(WORD_FORMAT)
        return cls(words, num_hashes, WORD_BITS * len(words) if num_bits is None else num_bits)

    @property
    def words(self) -> NDArray[np.uint64]:
        """The words, shape (n,), dtype uint64: a view, not a copy."""
        return np.frombuffer(self._words, np.uint64)

    @property
    def bitset(self) -> memoryview:
        """The words as bytes, little-endian: a view, not a copy."""
        return self._words.cast("B")

    @property
    def num_bytes(self) -> int:
        return self._words.nbytes

    @property
    def bits_set(self) -> int:
        return _kernel.k_hash_bits_set(self._words)

    @property
    def fill(self) -> float:
        """The fraction of bits that are set, 0 to 1."""
        return min(1.0, self.bits_set / self.num_bits)

    @property
    def fpp(self) -> float:
        """The probability that k random positions are all set."""
        return self.fill**self.num_hashes

    @property
    def ndv_estimate(self) -> float:
        """The number of distinct values that best explains the bits; inf when all are set."""
        fill = self.fill
        return inf if fill >= 1 else -self.num_bits / self.num_hashes * log1p(-fill)

    def bits_outside(self, other: KHashFilter) -> int:
        """The number of bits set here but clear in `other`, a filter of the same size."""
        return int(np.bitwise_count(self.words & ~other.words).sum(dtype=np.int64))

    def insert_hashes(self, hashes: NDArray[np.uint64]) -> None:
        """Insert hashes, shape (n,), dtype uint64."""
        _kernel.k_hash_insert(self._words, self.num_bits, self.num_hashes, hashes)

    def check_hashes(self, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """For each hash of shape (n,), dtype uint64: False if it was certainly never inserted."""
        return _kernel.k_hash_check(self._words, self.num_bits, self.num_hashes, hashes)


def _num_words(num_bits: int) -> int:
    return -(-min(num_bits, MAX_BITS + 1) // WORD_BITS)


def _clear_words(count: int) -> memoryview:
    return memoryview(bytearray(8 * count)).cast(WORD_FORMAT)


class KHashFilters:
    """`count` empty filters of one size side by side, as a column of ORC has one for each index group.

    Values are inserted as ORC hashes them, without an array of hashes: those of filter `first`, then
    those of the one after it, and so on, as many as `counts` says, int64, shape (number of filters,).
    """

    def __init__(self, count: int, num_bits: int, num_hashes: int) -> None:
        """Raises FilterError as KHashFilter."""
        self._each = _num_words(num_bits)
        self._words = _clear_words(self._each * count)
        self._size = num_bits, num_hashes
        self.filters: Final = [
            KHashFilter(self._of(index, 1), num_hashes, num_bits) for index in range(count)
        ]

    def _of(self, first: int, count: int) -> memoryview:
        return self._words[first * self._each : (first + count) * self._each]

    def insert(
        self, insert: Callable[..., None], first: int, counts: Counts, *values: object
    ) -> None:
        """Insert by one of the kernel's functions k_hash_insert_numbers, _floats, _texts and _decimals, which say
        what `values` are. Raises ValueError as it."""
        insert(self._of(first, len(counts)), *self._size, *values, counts)


class WideKHashFilter(KHashFilter):
    """Guava's, with 64-bit positions and hashes of shape (n, 2), the first 64 bits first.

    Position i is the first half plus i times the second, i = 0..k-1, without the sign bit.
    Source: Guava, BloomFilterStrategies.MURMUR128_MITZ_64.
    """

    def insert_hashes(self, hashes: NDArray[np.uint64]) -> None:
        """Insert hashes, shape (n, 2), dtype uint64."""
        _kernel.k_hash_insert_wide(self._words, self.num_bits, self.num_hashes, hashes)

    def check_hashes(self, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """For each hash of shape (n, 2), dtype uint64: False if it was certainly never inserted."""
        return _kernel.k_hash_check_wide(self._words, self.num_bits, self.num_hashes, hashes)


@lru_cache(maxsize=16)
def hive_size(entries: int, fpp: float) -> tuple[int, int]:
    """The num_bits and num_hashes of Hive and ORC for `entries` distinct values.

    num_bits is the next multiple of 64 above what is needed, even if that is one itself.
    Source: orc-core, org.apache.orc.util.BloomFilter.
    """
    needed = _needed_bits(entries, fpp)
    num_bits = needed + WORD_BITS - needed % WORD_BITS
    return _checked(num_bits, entries, fpp), max(1, floor(num_bits / entries * _LN2 + 0.5))


def hive_target(num_bits: int, num_hashes: int) -> tuple[int, float] | None:
    """Entries and an FPP for which hive_size is this one: so many that half of the bits are set. None if there are
    none."""
    entries = max(1, floor(num_bits * _LN2 / num_hashes + 0.5))
    # In the middle of what is rounded up to whole words.
    fpp = exp(-(num_bits - WORD_BITS / 2) * _LN2 * _LN2 / entries)
    is_it = 0 < fpp < 1 and hive_size(entries, fpp) == (num_bits, num_hashes)
    return (entries, fpp) if is_it else None


def fpp_in(num_bytes: int, entries: float) -> float:
    """The lowest FPP for `entries` distinct values with which hive_size keeps to so many bytes; 1 if none does."""
    return exp(-_most_needed(num_bytes) * _LN2 * _LN2 / entries) if entries else 0.0


def entries_in(num_bytes: int, fpp: float) -> int:
    """For how many distinct values hive_size keeps to so many bytes."""
    return int(_most_needed(num_bytes) * _LN2 * _LN2 / -log(fpp))


def _most_needed(num_bytes: int) -> int:
    """The most bits that may be needed for hive_size to be of so many bytes, which has more than that."""
    return max(0, min(num_bytes * 8 // WORD_BITS * WORD_BITS, MAX_BITS) - 1)


def guava_size(entries: int, fpp: float) -> tuple[int, int]:
    """The num_bits and num_hashes of Guava (33) for `entries` distinct values.
    Source: Guava, BloomFilter.optimalNumOfBits, optimalNumOfHashFunctions."""
    num_bits = max(1, -(-_needed_bits(entries, fpp) // WORD_BITS)) * WORD_BITS
    return _checked(num_bits, entries, fpp), max(1, floor(-log2(fpp) + 0.5))


def _needed_bits(entries: int, fpp: float) -> int:
    """The bits that `entries` values need for `fpp` at the optimal k. Raises ValueError."""
    if entries < 1:
        raise ValueError(f"entries: {entries}, expected 1 or more")
    if not 0 < fpp < 1:
        raise ValueError(f"fpp: {fpp}, expected more than 0 and less than 1")
    return int(-entries * log(fpp) / (_LN2 * _LN2))


def _checked(num_bits: int, entries: int, fpp: float) -> int:
    if num_bits > MAX_BITS:
        raise ValueError(
            f"{entries} entries at FPP {exact_percent(fpp)}: {num_bits} bits, expected at most {MAX_BITS}"
        )
    return num_bits
