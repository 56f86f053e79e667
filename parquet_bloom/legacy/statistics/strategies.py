"""How values of filters inside Statistics were hashed, and the filters sized.

| strategy | number | hash of a value                                            | positions       |
|----------|--------|------------------------------------------------------------|-----------------|
| hive     | 0      | numbers: Thomas Wang's, of 64 bits; bytes: one-lane Murmur3 | 32 bits, 1..k   |
| guava-32 | 0      | Murmur3 x64_128 of the PLAIN bytes, seed 0, first 64 bits  | 32 bits, 1..k   |
| guava-64 | 1      | the same, all 128 bits                                     | 64 bits, 0..k-1 |

By its numbers, the format meant Guava's two strategies, MURMUR128_32 and MURMUR128_64. The only known
writer, parquet-java pull request 215, wrote 0 and hashed as Hive does.

Sources: parquet-format pull request 28; Guava, BloomFilterStrategies; hive-storage-api,
org.apache.hive.common.util.BloomFilter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from parquet_bloom.dataclass import dataclass
from parquet_bloom.filters.hashers import (
    HalfMurmur3,
    Hasher,
    Hashes,
    HiveBytes,
    HiveNumbers,
    WideMurmur3,
)
from parquet_bloom.filters.k_hash import KHashFilter, WideKHashFilter, guava_size, hive_size
from parquet_bloom.parquet.pages.runs import Run
from parquet_bloom.values.types import LeafType
from parquet_bloom.vocabulary import StrategyName

NUMBERS: Final = ("INT32", "INT64", "FLOAT", "DOUBLE")


@dataclass(frozen=True, slots=True)
class Strategy:
    """`number`: in field 4 of the struct; `size`: num_bits and num_hashes for expected entries and a
    target FPP; `hasher`: for the values of a leaf column."""

    name: StrategyName
    number: int
    size: Callable[[int, float], tuple[int, int]]
    filter_class: type[KHashFilter]
    hasher: Callable[[LeafType], Hasher]

    def hashes(self, leaf: LeafType, run: Run) -> Hashes:
        """The hashes of a run, in order. Damage is a PageError."""
        return run.hashed_by(self.hasher(leaf))


STRATEGIES: Final[Mapping[str, Strategy]] = {
    strategy.name: strategy
    for strategy in (
        Strategy(
            "hive",
            0,
            hive_size,
            KHashFilter,
            lambda leaf: HiveNumbers() if leaf.physical in NUMBERS else HiveBytes(),
        ),
        Strategy("guava-32", 0, guava_size, KHashFilter, lambda leaf: HalfMurmur3(0)),
        Strategy("guava-64", 1, guava_size, WideKHashFilter, lambda leaf: WideMurmur3(0)),
    )
}
