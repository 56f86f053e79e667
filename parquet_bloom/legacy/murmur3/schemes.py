"""How split block filters of before parquet-format 2.7.0 were made: by which hash, and how the hash
selects a block.

    hash     | 32 bits: which block | 32 bits: which bits |    as today, and so are the salts
    mask              block = high half & (z - 1)              z blocks, a power of two
    multiply-shift    block = (high half * z) >> 32            as today

If z is 2^b, masking a high half selects the block that multiply-shift selects by
(high half & (z - 1)) << (32 - b). So with hashes changed like this, today's filter sets the same bits.

The oldest filters (`HIVE`) hash the PLAIN bytes with their length prefix, and store the words
big-endian. That Java shifted its 32-bit products arithmetically makes no difference: 1 << x takes the
lower five bits of x.

Source: the history of parquet-java's and parquet-cpp's BloomFilter; docs/dialects.md has the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from parquet_bloom.dataclass import dataclass
from parquet_bloom.filters.hashers import HalfMurmur3, HiveBytes
from parquet_bloom.native import _kernel
from parquet_bloom.native.lazy import NDArray, np
from parquet_bloom.parquet.pages.runs import LENGTH_BYTES

if TYPE_CHECKING:
    from parquet_bloom.filters.hashers import Hasher, Hashes
    from parquet_bloom.parquet.pages.runs import Run

HashName = Literal["MURMUR3", "XXHASH", "HIVE"]
BlockSelection = Literal["mask", "multiply-shift"]

# Of parquet-mr and parquet-cpp from 2018-07 on; it once came from a clock.
PARQUET_SEED = 1361930890
# Of parquet-mr before that, of Hive and of ORC.
HIVE_SEED = _kernel.HIVE_SEED
MAX_SEED = (1 << 32) - 1

_LOW_HALF = (1 << 32) - 1


class PrefixedHive(HiveBytes):
    """Hive's one-lane Murmur3 of PLAIN bytes: values without a fixed width follow their length."""

    def slices(self, data: memoryview, starts: NDArray[np.int64], gap: int) -> Hashes:
        if gap == 0:
            data, starts = _with_lengths(data, starts)
        return super().slices(data, starts - LENGTH_BYTES, 0)


def _with_lengths(
    data: memoryview, starts: NDArray[np.int64]
) -> tuple[memoryview, NDArray[np.int64]]:
    """Consecutive values, each with its length in front, as PLAIN has them."""
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
    selection: BlockSelection
    word_order: Literal["little", "big"] = "little"

    @property
    def name(self) -> str:
        """As reports show it: `MURMUR3 seed 0, mask`"""
        seeded = f"{self.hash} seed {self.seed}" if self.hash != "XXHASH" else self.hash
        return f"{seeded}, {self.selection}"

    @property
    def _hasher(self) -> Hasher:
        return HalfMurmur3(self.seed) if self.hash == "MURMUR3" else PrefixedHive(self.seed)

    def hashes(self, run: Run, num_blocks: int) -> Hashes:
        """The hashes of a run for a SplitBlockBloomFilter of `num_blocks`: shape (n,), uint64. Damage
        is a PageError."""
        return self.aligned(self.raw_hashes(run), num_blocks)

    def raw_hashes(self, run: Run) -> Hashes:
        """The same for a filter of any size, see aligned."""
        return run.hashes() if self.hash == "XXHASH" else run.hashed_by(self._hasher)

    def aligned(self, hashes: Hashes, num_blocks: int) -> Hashes:
        """Hashes by which multiply-shift selects the blocks that this scheme selects."""
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
