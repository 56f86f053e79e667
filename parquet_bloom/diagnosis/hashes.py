"""What the bytes of a value can have been hashed by, other than XXH64 with seed 0.

Sources: xxHash (github.com/Cyan4973/xxHash), MurmurHash3 x64_128 (github.com/aappleby/smhasher),
FNV-1a (www.isthe.com/chongo/tech/comp/fnv), djb2 (www.cse.yorku.ca/~oz/hash.html).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import xxhash

from parquet_bloom.native import _kernel

# What is hashed in Python, byte by byte, must be short.
MAX_LOOP_BYTES = 256

_64_BITS = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Hash:
    """One way from bytes to 64 bits. `function` gives None for bytes that take it too long. `clause`
    ends the sentence "the missing values are found if each is"."""

    name: str
    clause: str
    function: Callable[[bytes], int | None]


XXH64 = Hash("", "", _kernel.xxh64)

# 42: Spark's xxhash64(). 104729: Hive and ORC. 1361930890: parquet-mr and parquet-cpp before XXH64.
# 0x9747b28c: the seed of many Murmur examples. The last ones: -1 as 32 and as 64 bits.
SEEDS = (1, 42, 104729, 1361930890, 0x9747B28C, 0xFFFFFFFF, _64_BITS)
MURMUR3_SEEDS = (0, *SEEDS[:-1])


def _xxh64(seed: int) -> Hash:
    return Hash(
        "xxh64-seed",
        f"hashed by XXH64 with seed {seed} instead of 0",
        lambda value: xxhash.xxh64_intdigest(value, seed),
    )


def _murmur3(seed: int) -> Hash:
    return Hash(
        "murmur3",
        f"hashed by Murmur3 x64_128 with seed {seed}, of which the first 64 bits are used",
        lambda value: _kernel.murmur3(value, seed),
    )


def _murmur3_last(seed: int) -> Hash:
    return Hash(
        "murmur3-last-half",
        f"hashed by Murmur3 x64_128 with seed {seed}, of which the last 64 bits are used",
        lambda value: _kernel.murmur3_128(value, seed)[1],
    )


def _twice(half: int) -> int:
    return half << 32 | half


def _fnv_1a(value: bytes) -> int | None:
    if len(value) > MAX_LOOP_BYTES:
        return None
    hash = 0xCBF29CE484222325
    for byte in value:
        hash = (hash ^ byte) * 0x100000001B3 & _64_BITS
    return hash


def _djb2(value: bytes) -> int | None:
    if len(value) > MAX_LOOP_BYTES:
        return None
    hash = 5381
    for byte in value:
        hash = hash * 33 + byte & _64_BITS
    return hash


OTHER_HASHES = (
    *map(_xxh64, SEEDS),
    *map(_murmur3, MURMUR3_SEEDS),
    *map(_murmur3_last, MURMUR3_SEEDS),
    Hash(
        "xxh32",
        "hashed by XXH32, whose 32 bits are the low half and leave the high half 0",
        xxhash.xxh32_intdigest,
    ),
    Hash(
        "xxh32",
        "hashed by XXH32, whose 32 bits choose both the block and the bits",
        lambda value: _twice(xxhash.xxh32_intdigest(value)),
    ),
    Hash("xxh3", "hashed by XXH3 with 64 bits", xxhash.xxh3_64_intdigest),
    Hash(
        "xxh3-128",
        "hashed by XXH3 with 128 bits, of which the low 64 are used",
        lambda value: xxhash.xxh3_128_intdigest(value) & _64_BITS,
    ),
    Hash("fnv-1a", "hashed by FNV-1a with 64 bits", _fnv_1a),
    Hash("djb2", "hashed by djb2 with 64 bits", _djb2),
)
