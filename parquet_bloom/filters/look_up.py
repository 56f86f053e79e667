"""Look up one hash in a filter, or every stored value: what was found."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from parquet_bloom.dataclass import dataclass
from parquet_bloom.filters.sizing import WORDS_PER_BLOCK
from parquet_bloom.filters.split_block import WORD_FORMAT, SplitBlockBloomFilter
from parquet_bloom.native import _kernel
from parquet_bloom.native.lazy import Array, np

if TYPE_CHECKING:
    from parquet_bloom.filters.k_hash import KHashFilter


@dataclass(frozen=True, slots=True)
class LookUp:
    """`hash` in hexadecimal. For a split block filter, `bits` are the bits (0 to 31) that the hash
    selects in the eight words of its block, and `clear` the words in which that bit is clear; for a
    k-hash filter, both are positions. One clear bit proves that the hash was never inserted."""

    hash: str
    bits: tuple[int, ...]
    clear: tuple[int, ...] = ()
    block: int | None = None
    num_blocks: int | None = None
    num_hashes: int | None = None
    num_bits: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """The result of looking up every stored value.

    `num_values`: how many; `missing`: false negatives; `foreign_bits`: set, but by no value in any
    form; `lone_zero`: a zero that is found although the one of the other sign is not; `lacks_nan`:
    NaN is stored, and the canonical one is not found; `explained_fpp`: the FPP of a filter of this
    size with just the values, None where it is not computed.
    """

    num_values: int
    missing: int
    foreign_bits: int
    lone_zero: str | None = None
    lacks_nan: bool = False
    explained_fpp: float | None = None


def unasked(hash: int) -> LookUp:
    """The look-up for a split block filter that is missing or unusable."""
    # A filter of one block is the block of any hash.
    words = memoryview(bytearray(4 * WORDS_PER_BLOCK)).cast(WORD_FORMAT)
    _kernel.insert(words, array("Q", [hash]))
    return LookUp(f"{hash:016x}", tuple(word.bit_length() - 1 for word in words))


def in_block(hash: int, index: int, block: SplitBlockBloomFilter, num_blocks: int) -> LookUp:
    """Look up a hash in block `index` of `num_blocks`; `block`: that block alone, as a filter."""
    asked = unasked(hash)
    words = block.bitset.cast(WORD_FORMAT)
    clear = tuple(word for word, bit in enumerate(asked.bits) if not words[word] >> bit & 1)
    return LookUp(asked.hash, asked.bits, clear, index, num_blocks)


def in_k_hash(filter: KHashFilter, hash: Array) -> LookUp:
    """Look up a hash, shape (1,) or (1, 2), as the filter takes it."""
    alone = filter.empty(filter.num_bits, filter.num_hashes)
    alone.insert_hashes(hash)
    bits = _positions(alone)
    stored = set(_positions(filter))
    return LookUp(
        hash="".join(f"{half:016x}" for half in hash.ravel().tolist()),
        bits=bits,
        clear=tuple(bit for bit in bits if bit not in stored),
        num_hashes=filter.num_hashes,
        num_bits=filter.num_bits,
    )


def _positions(filter: KHashFilter) -> tuple[int, ...]:
    """The positions of all bits set, counted from the lowest bit of the first word."""
    unpacked = np.unpackbits(np.frombuffer(filter.bitset, np.uint8), bitorder="little")
    return tuple(np.flatnonzero(unpacked).tolist())
