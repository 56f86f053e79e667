"""Which bytes of the file can be the bitset instead of those that the header describes.

    | header | bitset: numBytes |          what the header says
             | shift | bitset |            padding, a second header, a length; or a shift back
    | header | bitset | ...                numBytes counts bits, words or blocks instead of bytes

Only bytes in front of the footer are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from parquet_bloom.container import number_of
from parquet_bloom.diagnosis.diagnosis import Deviation
from parquet_bloom.diagnosis.layouts import Bitset
from parquet_bloom.filters.sizing import BLOCK_BYTES, MAX_BYTES, WORDS_PER_BLOCK
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.parquet.file import ParquetFile
from parquet_bloom.parquet.filters.bloom import StoredFilter

# Two blocks: beyond any header and any alignment.
MAX_SHIFT = 64
WORD_BYTES = 4


@dataclass(frozen=True, slots=True)
class BitsetChoice(Deviation):
    """One choice of bytes; None: those of the header."""

    bitset: Bitset | None = None


AS_DESCRIBED = BitsetChoice()


def as_bitset(filter: SplitBlockBloomFilter) -> Bitset:
    """The blocks of a filter, not copied."""
    return Bitset(filter.words.reshape(-1, WORDS_PER_BLOCK))


def _bitset_at(data: bytes, start: int, size: int, first: int = 0) -> Bitset:
    """The whole blocks in `size` bytes from `start`, which need not be a multiple of 4."""
    words = np.frombuffer(data, "<u4", count=size // WORD_BYTES, offset=start)
    return Bitset(words.reshape(-1, WORDS_PER_BLOCK), first)


def bitset_choices(file: ParquetFile, stored: StoredFilter) -> Iterator[BitsetChoice]:
    """The other choices; none for an encrypted bitset."""
    if stored.is_encrypted:
        return
    yield from _shifted(file, stored)
    for name, unit, numerator, denominator in (
        ("size-in-bits", "bits", 1, 8),
        ("size-in-words", "words of 4 bytes", 4, 1),
        ("size-in-blocks", "blocks of 32 bytes", 32, 1),
    ):
        blocks, rest = divmod(stored.num_bytes * numerator, denominator * BLOCK_BYTES)
        start, size = stored.offset + stored.header_bytes, blocks * BLOCK_BYTES
        if rest == 0 and 0 < size <= MAX_BYTES and start + size <= file.footer.start:
            yield BitsetChoice(
                name,
                f"counted {unit} in the header's numBytes: the bitset has {size:,} bytes",
                _bitset_at(file.source.read_at(start, size), 0, size),
            )


def _shifted(file: ParquetFile, stored: StoredFilter) -> Iterator[BitsetChoice]:
    """A bitset may begin at the header at the earliest; the bits under the header are not known."""
    start = stored.offset + stored.header_bytes
    end = min(start + stored.num_bytes + MAX_SHIFT, file.footer.start)
    data = bytes(MAX_SHIFT) + file.source.read_at(start, end - start)
    earliest = -min(MAX_SHIFT, stored.header_bytes)
    for shift in sorted(range(earliest, MAX_SHIFT + 1), key=abs):
        if shift == 0 or start + shift + stored.num_bytes > end:
            continue
        direction = "earlier" if shift < 0 else "later"
        yield BitsetChoice(
            "bitset-shifted",
            f"began the bitset {number_of(abs(shift), 'byte')} {direction} than where the header of"
            f" {stored.header_bytes} bytes ends",
            _bitset_at(
                data, MAX_SHIFT + shift, stored.num_bytes, first=-(min(0, shift) // BLOCK_BYTES)
            ),
        )
