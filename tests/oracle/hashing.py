"""Hashes and filters of Hive, ORC, Guava and smhasher, as their sources have them.

Source: orc-core, BloomFilter and Murmur3; Guava, BloomFilterStrategies; smhasher, MurmurHash3.cpp.
"""

from collections.abc import Iterable


def signed(number: int, bits: int) -> int:
    """As Java sees the low `bits` of a number."""
    number %= 1 << bits
    return number - (1 << bits) if number >> bits - 1 else number


def wang(value: int) -> int:
    """orc-core, BloomFilter.getLongHash: every step wraps at 64 bits, and >> keeps the sign."""
    key = signed(value, 64)
    key = signed(~key + (key << 21), 64)
    key = signed(key ^ key >> 24, 64)
    key = signed(key + (key << 3) + (key << 8), 64)
    key = signed(key ^ key >> 14, 64)
    key = signed(key + (key << 2) + (key << 4), 64)
    key = signed(key ^ key >> 28, 64)
    return (key + (key << 31)) % 2**64


def wang_logical(value: int) -> int:
    """The same where >> fills with zeros: ORC-1024."""
    key = value % 2**64
    key = (~key + (key << 21)) % 2**64
    key ^= key >> 24
    key = (key + (key << 3) + (key << 8)) % 2**64
    key ^= key >> 14
    key = (key + (key << 2) + (key << 4)) % 2**64
    key ^= key >> 28
    return (key + (key << 31)) % 2**64


def rotate_left(number: int, count: int) -> int:
    number %= 2**64
    return (number << count | number >> 64 - count) % 2**64


def finish(h: int) -> int:
    """fmix64 of all Murmur3."""
    h = (h ^ h >> 33) * 0xFF51AFD7ED558CCD % 2**64
    h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53 % 2**64
    return h ^ h >> 33


def hive64(data: bytes, seed: int = 104729) -> int:
    """orc-core, Murmur3.hash64."""

    def mixed(piece: bytes) -> int:
        number = int.from_bytes(piece, "little") * 0x87C37B91114253D5
        return rotate_left(number, 31) * 0x4CF5AD432745937F % 2**64

    hash = seed
    whole = len(data) // 8 * 8
    for at in range(0, whole, 8):
        hash = (rotate_left(hash ^ mixed(data[at : at + 8]), 27) * 5 + 0x52DCE729) % 2**64
    return finish(hash ^ mixed(data[whole:]) ^ len(data))


def k_hash_bits(hash: int, num_bits: int, num_hashes: int) -> list[int]:
    """orc-core, BloomFilter.addHash; Guava, MURMUR128_MITZ_32."""
    first, second = signed(hash, 32), signed(hash >> 32, 32)
    bits = []
    for i in range(1, num_hashes + 1):
        combined = signed(first + i * second, 32)
        if combined < 0:
            combined = ~combined
        bits.append(combined % num_bits)
    return bits


def wide_bits(low: int, high: int, num_bits: int, num_hashes: int) -> list[int]:
    """Guava, MURMUR128_MITZ_64."""
    combined = low
    bits = []
    for _ in range(num_hashes):
        bits.append((combined & 2**63 - 1) % num_bits)
        combined = (combined + high) % 2**64
    return bits


def long_words(bits: Iterable[int], num_words: int) -> list[int]:
    """A java.util.BitSet's toLongArray, with all of its words."""
    words = [0] * num_words
    for bit in bits:
        words[bit >> 6] |= 1 << (bit & 63)
    return words


def x64_128(data: bytes, seed: int) -> tuple[int, int]:
    """smhasher, MurmurHash3.cpp, as it is written there: blocks of 16 bytes, the rest as a tail."""
    c1, c2 = 0x87C37B91114253D5, 0x4CF5AD432745937F
    h1 = h2 = seed
    blocks = len(data) // 16
    for i in range(blocks):
        k1 = int.from_bytes(data[16 * i : 16 * i + 8], "little")
        k2 = int.from_bytes(data[16 * i + 8 : 16 * i + 16], "little")
        h1 ^= rotate_left(k1 * c1 % 2**64, 31) * c2 % 2**64
        h1 = ((rotate_left(h1, 27) + h2) * 5 + 0x52DCE729) % 2**64
        h2 ^= rotate_left(k2 * c2 % 2**64, 33) * c1 % 2**64
        h2 = ((rotate_left(h2, 31) + h1) * 5 + 0x38495AB5) % 2**64
    tail = data[16 * blocks :]
    k1 = int.from_bytes(tail[:8], "little")
    k2 = int.from_bytes(tail[8:], "little")
    h2 ^= rotate_left(k2 * c2 % 2**64, 33) * c1 % 2**64
    h1 ^= rotate_left(k1 * c1 % 2**64, 31) * c2 % 2**64
    h1, h2 = h1 ^ len(data), h2 ^ len(data)
    h1 = (h1 + h2) % 2**64
    h2 = (h2 + h1) % 2**64
    h1, h2 = finish(h1), finish(h2)
    h1 = (h1 + h2) % 2**64
    return h1, (h2 + h1) % 2**64
