"""Split block Bloom filters after the specification, as slow as that is.

Spec: parquet-format, BloomFilter.md
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

import xxhash

from parquet_bloom.conformance.thrift import Field, i32, within
from parquet_bloom.conformance.thrift import struct as encoded

SALT = (
    *(0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D),
    *(0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31),
)
BLOCK = 32


def _places(value: bytes, blocks: int) -> Iterable[tuple[int, int]]:
    """Of each of the eight bits of a value: the byte, and the bit in it."""
    hashed = xxhash.xxh64_intdigest(value)
    start = ((hashed >> 32) * blocks >> 32) * BLOCK
    for word, salt in enumerate(SALT):
        bit = (hashed & 0xFFFFFFFF) * salt % (1 << 32) >> 27
        yield start + 4 * word + bit // 8, bit % 8


def bitset(values: Iterable[bytes], blocks: int) -> bytes:
    """The filter of stored values: PLAIN bytes, without the length of a BYTE_ARRAY."""
    bits = bytearray(BLOCK * blocks)
    for value in values:
        for at, bit in _places(value, blocks):
            bits[at] |= 1 << bit
    return bytes(bits)


def has(bits: bytes, value: bytes) -> bool:
    """Whether the value may be among those of the filter."""
    return all(bits[at] >> bit & 1 for at, bit in _places(value, len(bits) // BLOCK))


def rate(bits: bytes) -> float:
    """Which share of absent values may be in it, 0 to 1."""
    fills = [int.from_bytes(bits[at : at + 4]).bit_count() / 32 for at in range(0, len(bits), 4)]
    words = BLOCK // 4
    blocks = [fills[at : at + words] for at in range(0, len(fills), words)]
    return sum(map(prod, blocks)) / len(blocks)


def header(
    size: int, *more: Field, algorithm: int = 1, hash: int = 1, compression: int = 1
) -> bytes:
    """A BloomFilterHeader; `algorithm`, `hash`, `compression`: which member of the union, of which only the
    first are defined. `more`: fields that are not."""
    kinds = enumerate((algorithm, hash, compression), 2)
    return encoded(i32(1, size), *(within(id, within(kind)) for id, kind in kinds), *more)
