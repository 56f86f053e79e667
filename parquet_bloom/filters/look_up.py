"""How one hash meets a filter: the bits that it selects, and which of them are clear."""

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
    """`hash` in hexadecimal. Of a split block filter, `bits` has for each of the eight words of the
    block the bit (0 to 31) that the hash selects, and `clear` the words where it is clear; of a
    k-hash filter they are positions. A single clear bit proves that the hash was never inserted."""

    hash: str
    bits: tuple[int, ...]
    clear: tuple[int, ...] = ()
    block: int | None = None
    num_blocks: int | None = None
    num_hashes: int | None = None
    num_bits: int | None = None


def unasked(hash: int) -> LookUp:
    """In a split block filter that is not there, or cannot be asked."""
    return LookUp(f"{hash:016x}", word_bits(hash))


def in_block(hash: int, index: int, block: SplitBlockBloomFilter, num_blocks: int) -> LookUp:
    """In the block `index` of a split block filter of `num_blocks`; `block` is a filter of its own."""
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
    """In a k-hash filter; `hash` is one as the filter takes them, shape (1,) or (1, 2)."""
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
    """The bits that are set, counted from the lowest of the first word."""
    import numpy as np

    unpacked = np.unpackbits(np.frombuffer(filter.bitset, np.uint8), bitorder="little")
    return tuple(np.flatnonzero(unpacked).tolist())
