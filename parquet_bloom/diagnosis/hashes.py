"""Hash functions that a writer can have used instead of XXH64 with seed 0.

Sources: xxHash (github.com/Cyan4973/xxHash), MurmurHash3 x64_128 (github.com/aappleby/smhasher),
FNV-1a (www.isthe.com/chongo/tech/comp/fnv), djb2 (www.cse.yorku.ca/~oz/hash.html).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Literal

import numpy as np
import xxhash

from parquet_bloom.dataclass import dataclass
from parquet_bloom.diagnosis.diagnosis import Deviation
from parquet_bloom.filters.hashers import Hashes
from parquet_bloom.native import _kernel

# Longer values take too long to hash in Python, byte by byte.
MAX_LOOP_BYTES = 256

_64_BITS = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Hash(Deviation):
    """One way from bytes to 64 bits. `function` returns None for bytes that would take too long."""

    function: Callable[[bytes], int | None] = _kernel.xxh64


XXH64 = Hash()

# Seeds of other systems. 42: Spark's xxhash64(). 104729: Hive and ORC. 1361930890: parquet-mr and parquet-cpp before
# XXH64. 1575457558: Doris and StarRocks, in files of their own. 0x9747b28c: many Murmur examples. Then -1 as 32 bits.
MURMUR3_SEEDS = (0, 1, 42, 104729, 1361930890, 1575457558, 0x9747B28C, 0xFFFFFFFF)

# And what people type who need a number, the golden ratio, and -1 as 64 bits.
SEEDS = (
    *range(1, 16), 17, 31, 104, 123, 1234, 12345, *MURMUR3_SEEDS[2:],
    0x9E3779B9, 0xCAFEBABE, 0xDEADBEEF, 0x9E3779B97F4A7C15, _64_BITS,
)  # fmt: skip


def _xxh64(seed: int) -> Hash:
    clause = f"using XXH64 with seed {seed} instead of 0"
    return Hash("xxh64-seed", clause, lambda value: xxhash.xxh64_intdigest(value, seed))


def _murmur3(name: str, words: str, half: int, seed: int) -> Hash:
    clause = f"using the {words} 64 bits of Murmur3 x64_128 with seed {seed}"
    return Hash(name, clause, lambda value: _kernel.murmur3_128(value, seed)[half])


def _twice(half: int) -> int:
    return half << 32 | half


def _of_digest(order: Literal["little", "big"]) -> Hash:
    clause = f"using XXH64 of the 8 {order}-endian bytes of its XXH64"
    return Hash(
        "xxh64-twice", clause, lambda value: _kernel.xxh64(_kernel.xxh64(value).to_bytes(8, order))
    )


def _loop(start: int, step: Callable[[int, int], int]) -> Callable[[bytes], int | None]:
    """A hash that takes `step`, modulo 2^64, for each byte."""

    def function(value: bytes) -> int | None:
        if len(value) > MAX_LOOP_BYTES:
            return None
        return reduce(lambda hash, byte: step(hash, byte) & _64_BITS, value, start)

    return function


OTHER_HASHES = (
    *map(_xxh64, SEEDS),
    _of_digest("little"),
    _of_digest("big"),
    *(_murmur3("murmur3", "first", 0, seed) for seed in MURMUR3_SEEDS),
    *(_murmur3("murmur3-last-half", "last", 1, seed) for seed in MURMUR3_SEEDS),
    Hash(
        "xxh32",
        "using XXH32 as the low half of the hash, with a high half of 0",
        xxhash.xxh32_intdigest,
    ),
    Hash(
        "xxh32",
        "using XXH32 to choose both the block and the bits",
        lambda value: _twice(xxhash.xxh32_intdigest(value)),
    ),
    Hash("xxh3", "using 64-bit XXH3", xxhash.xxh3_64_intdigest),
    Hash(
        "xxh3-128",
        "using the low 64 bits of 128-bit XXH3",
        lambda value: xxhash.xxh3_128_intdigest(value) & _64_BITS,
    ),
    Hash(
        "fnv-1a",
        "using 64-bit FNV-1a",
        _loop(0xCBF29CE484222325, lambda hash, byte: (hash ^ byte) * 0x100000001B3),
    ),
    Hash("djb2", "using 64-bit djb2", _loop(5381, lambda hash, byte: hash * 33 + byte)),
)


def hashed(plain: Sequence[bytes], hash: Hash) -> Hashes:
    """The hash of each that has one, shape (n,)."""
    hashes = [number for each in plain if (number := hash.function(each)) is not None]
    return np.array(hashes, np.uint64)
