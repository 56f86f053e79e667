"""MurmurHash3 x64_128 against published vectors and a plain transliteration."""

import random

import pytest
from oracle import specification as spec

from parquet_bloom.native import _kernel

PARQUET_MR_SEED = 1361930890  # what parquet-mr and parquet-cpp hashed with before XXH64
ORC_SEED = 104729


def rotl(x: int, r: int) -> int:
    return (x << r | x >> 64 - r) % 2**64


def finish(h: int) -> int:
    h = (h ^ h >> 33) * 0xFF51AFD7ED558CCD % 2**64
    h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53 % 2**64
    return h ^ h >> 33


def x64_128(data: bytes, seed: int) -> tuple[int, int]:
    """smhasher, MurmurHash3.cpp, as it is written there: blocks of 16 bytes, the rest as a tail."""
    c1, c2 = 0x87C37B91114253D5, 0x4CF5AD432745937F
    h1 = h2 = seed
    blocks = len(data) // 16
    for i in range(blocks):
        k1 = int.from_bytes(data[16 * i : 16 * i + 8], "little")
        k2 = int.from_bytes(data[16 * i + 8 : 16 * i + 16], "little")
        h1 ^= rotl(k1 * c1 % 2**64, 31) * c2 % 2**64
        h1 = ((rotl(h1, 27) + h2) * 5 + 0x52DCE729) % 2**64
        h2 ^= rotl(k2 * c2 % 2**64, 33) * c1 % 2**64
        h2 = ((rotl(h2, 31) + h1) * 5 + 0x38495AB5) % 2**64
    tail = data[16 * blocks :]
    k1 = int.from_bytes(tail[:8], "little")
    k2 = int.from_bytes(tail[8:], "little")
    h2 ^= rotl(k2 * c2 % 2**64, 33) * c1 % 2**64
    h1 ^= rotl(k1 * c1 % 2**64, 31) * c2 % 2**64
    h1, h2 = h1 ^ len(data), h2 ^ len(data)
    h1 = (h1 + h2) % 2**64
    h2 = (h2 + h1) % 2**64
    h1, h2 = finish(h1), finish(h2)
    h1 = (h1 + h2) % 2**64
    return h1, (h2 + h1) % 2**64


@pytest.mark.parametrize(
    ("data", "seed", "low"),
    [
        (b"", 0, 0),
        (b"", PARQUET_MR_SEED, 0x55FF62D309B7F846),
        (b"a", PARQUET_MR_SEED, 0xD95A7F3C29BDB659),
        (b"hello", PARQUET_MR_SEED, 0x44FAA9DA3B4290E4),
        (b"hello", ORC_SEED, 0x30BFB4F39919E764),
    ],
)
def test_vectors(data: bytes, seed: int, low: int) -> None:
    assert _kernel.murmur3(data, seed) == low


@pytest.mark.parametrize(
    ("text", "seed", "halves"),
    [
        (b"hell", 0, (0x629942693E10F867, 0x92DB0B82BAEB5347)),
        (b"hello", 1, (0xA78DDFF5ADAE8D10, 0x128900EF20900135)),
        (b"hello ", 2, (0x8A486B23F422E826, 0xF962A2C58947765F)),
    ],
)
def test_both_halves(text: bytes, seed: int, halves: tuple[int, int]) -> None:
    """Vectors of Guava's tests of murmur3_128."""
    assert _kernel.murmur3_128(text, seed) == halves


def test_smhashers_verification_value() -> None:
    """The value that smhasher's own check of the function comes to: hashes of 0 to 255 bytes."""
    hashes = b""
    for size in range(256):
        low, high = _kernel.murmur3_128(bytes(range(size)), 256 - size)
        hashes += low.to_bytes(8, "little") + high.to_bytes(8, "little")
    low, _ = _kernel.murmur3_128(hashes, 0)
    assert low % 2**32 == 0x6384BA69


@pytest.mark.parametrize("size", range(41))
def test_every_tail(size: int) -> None:
    memory_end = spec.MemoryEnd(64)
    rng = random.Random(size)
    for seed in (0, 1, 42, ORC_SEED, PARQUET_MR_SEED, 2**32 - 1):
        data = rng.randbytes(size)
        expected = x64_128(data, seed)
        assert _kernel.murmur3_128(memory_end.place(data), seed) == expected
        assert _kernel.murmur3(data, seed) == expected[0]


def test_the_seed_is_zero_unless_said() -> None:
    assert _kernel.murmur3(b"parquet") == x64_128(b"parquet", 0)[0]
    assert _kernel.murmur3_128(b"parquet") == x64_128(b"parquet", 0)


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_has_32_bits(seed: int) -> None:
    with pytest.raises(OverflowError):
        _kernel.murmur3(b"", seed)
