"""MurmurHash3 x64_128 against published vectors and a plain transliteration."""

import random

import pytest
from make.memory_end import MemoryEnd
from oracle.hashing import x64_128

from parquet_bloom.native import _kernel

PARQUET_MR_SEED = 1361930890  # what parquet-mr and parquet-cpp hashed with before XXH64
ORC_SEED = 104729


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
    memory_end = MemoryEnd(64)
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
