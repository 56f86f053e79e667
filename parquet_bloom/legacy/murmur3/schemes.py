"""How a split block filter of before parquet-format 2.7.0 was made: its hash, and how that selects a
block.

    hash     | 32 bits: which block | 32 bits: which bits |    as today, and so are the salts
    mask              block = high half & (z - 1)              z blocks, a power of two
    multiply-shift    block = (high half * z) >> 32            as today

Where z is 2^b, masking is the multiply-shift of a high half of (high half & (z - 1)) << (32 - b):
with hashes that are changed in this way, today's filter has the old one's bits.

The oldest form (`hive`) hashes the PLAIN bytes with their length prefix, and stores the words
big-endian. That Java shifted its 32-bit products arithmetically changes no bit: 1 << x takes the
lower five bits of x.

Source: the history of parquet-java's and parquet-cpp's BloomFilter; docs/dialects.md has the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.filters.hashers import Hasher, Hashes, HiveBytes, Murmur3
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.pages.runs import LENGTH_BYTES, Run
from parquet_bloom.values.types import LeafType

HashName = Literal["MURMUR3", "XXHASH", "HIVE"]
Selection = Literal["mask", "multiply-shift"]

# What parquet-mr and parquet-cpp began Murmur3 with from 2018-07 on; it once came from a clock.
PARQUET_SEED = 1361930890
# Guava's caller in parquet-mr before that, and Hive's and ORC's.
HIVE_SEED = _kernel.HIVE_SEED
MAX_SEED = (1 << 32) - 1

_LOW_HALF = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class PrefixedHive:
    """Hive's one-lane Murmur3 of PLAIN bytes: what has no fixed width has its length before it."""

    seed: int = HIVE_SEED

    def fixed(self, values: memoryview, width: int) -> Hashes:
        return HiveBytes(self.seed).fixed(values, width)

    def slices(self, data: memoryview, starts: NDArray[np.int64], gap: int) -> Hashes:
        if gap == 0:
            data, starts = _with_lengths(data, starts)
        return HiveBytes(self.seed).slices(data, starts - LENGTH_BYTES, 0)


def _with_lengths(
    data: memoryview, starts: NDArray[np.int64]
) -> tuple[memoryview, NDArray[np.int64]]:
    """Values that lie one after the other with their lengths between them, as PLAIN has them."""
    lengths = np.diff(starts)
    behind = starts - starts[0] + LENGTH_BYTES * np.arange(1, starts.size + 1)
    prefixed = np.empty(int(behind[-1]) - LENGTH_BYTES, np.uint8)
    is_value = np.ones(prefixed.size, np.bool_)
    places = (behind[:-1, None] + np.arange(-LENGTH_BYTES, 0)).ravel()
    is_value[places] = False
    prefixed[places] = lengths.astype("<u4").view(np.uint8)
    prefixed[is_value] = np.frombuffer(data, np.uint8)[starts[0] : starts[-1]]
    return prefixed.data, behind


@dataclass(frozen=True, slots=True)
class Scheme:
    """Which bits of which block a value sets. `seed` is 0 where the hash has none."""

    hash: HashName
    seed: int
    selection: Selection
    word_order: Literal["little", "big"] = "little"

    @property
    def name(self) -> str:
        """In words, as reports have it."""
        seeded = f"{self.hash} seed {self.seed}" if self.hash != "XXHASH" else self.hash
        return f"{seeded}, {self.selection}"

    @property
    def _hasher(self) -> Hasher:
        return Murmur3(self.seed) if self.hash == "MURMUR3" else PrefixedHive(self.seed)

    def hashes(self, run: Run, num_blocks: int) -> Hashes:
        """What to insert into, or look up in, a SplitBlockBloomFilter of `num_blocks`: shape (n,),
        uint64. Damage is a PageError."""
        return self.aligned(self.raw_hashes(run), num_blocks)

    def raw_hashes(self, run: Run) -> Hashes:
        """The hashes of a run: shape (n,), uint64. Damage is a PageError."""
        return run.hashes() if self.hash == "XXHASH" else run.hashed_by(self._hasher)

    def hash_value(self, leaf: LeafType, plain: bytes, num_blocks: int) -> Hashes:
        """The same of one value, by its stored bytes: shape (1,)."""
        return self.aligned(np.array([self.raw_hash(leaf, plain)], np.uint64), num_blocks)

    def raw_hash(self, leaf: LeafType, plain: bytes) -> int:
        """The hash of one value."""
        if self.hash == "MURMUR3":
            return _kernel.murmur3(plain, self.seed)
        if self.hash == "XXHASH":
            return _kernel.xxh64(plain)
        if leaf.physical == "BYTE_ARRAY":
            plain = len(plain).to_bytes(LENGTH_BYTES, "little") + plain
        return _kernel.hive64(plain, self.seed)

    def aligned(self, hashes: Hashes, num_blocks: int) -> Hashes:
        """Hashes of which a multiply-shift selects the block that this scheme does."""
        if self.selection == "multiply-shift":
            return hashes
        shift = np.uint64(32 - (num_blocks - 1).bit_length())
        block = (hashes >> np.uint64(32)) & np.uint64(num_blocks - 1)
        return (block << shift << np.uint64(32)) | (hashes & np.uint64(_LOW_HALF))

    def words(self, bitset: bytes) -> bytes:
        """The bitset with little-endian words, or back."""
        if self.word_order == "little":
            return bitset
        return np.frombuffer(bitset, ">u4").astype("<u4").tobytes()
