"""Look up one hash in a filter: the bits that it selects, and which of them are clear."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from parquet_bloom.filters.sizing import WORDS_PER_BLOCK
from parquet_bloom.filters.split_block import WORD_FORMAT, SplitBlockBloomFilter
from parquet_bloom.native import _kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

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


def unasked(hash: int) -> LookUp:
    """The look-up for a split block filter that is missing or unusable."""
    return LookUp(f"{hash:016x}", word_bits(hash))


def in_block(hash: int, index: int, block: SplitBlockBloomFilter, num_blocks: int) -> LookUp:
    """Look up a hash in block `index` of `num_blocks`; `block` is that block as a filter of its own."""
    bits = word_bits(hash)
    words = block.bitset.cast(WORD_FORMAT)
    clear = tuple(word for word, bit in enumerate(bits) if not words[word] >> bit & 1)
    return LookUp(f"{hash:016x}", bits, clear, block=index, num_blocks=num_blocks)


def word_bits(hash: int) -> tuple[int, ...]:
    """The bit that `hash` selects in each of the eight words of its block."""
    words = memoryview(bytearray(4 * WORDS_PER_BLOCK)).cast(WORD_FORMAT)
    _kernel.insert(words, array("Q", [hash]))
    return tuple(word.bit_length() - 1 for word in words)


def in_k_hash(filter: KHashFilter, hash: NDArray[Any]) -> LookUp:
    """Look up a hash in a k-hash filter; `hash` has shape (1,) or (1, 2), as the filter takes it."""
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
    import numpy as np

    unpacked = np.unpackbits(np.frombuffer(filter.bitset, np.uint8), bitorder="little")
    return tuple(np.flatnonzero(unpacked).tolist())
