"""Filters in which no bit is set: of chunks without values, or lost.

Bits have no checksum. Where a disk, a copy or a writer left zeros in place of a whole filter, every value seems
absent; only of a chunk without values that is true.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from parquet_bloom.parquet.sealed.modules import ReadBits

# Why such a filter does not make a value absent.
NO_BIT_SET: Final = "no bit is set, although the column chunk may have values"

# What is read at first: of a filter of 1 MiB with 200 values, the bits of three.
FIRST_BYTES: Final = 16 << 10
_MOST_BYTES: Final = 8 << 20


def are_clear(bits: bytes | memoryview) -> bool:
    # The zeros take no time: mostly, the first bytes differ.
    return bits == bytes(len(bits))


def is_clear_from(read: ReadBits, start: int, num_bytes: int) -> bool:
    """Whether no bit is set in a bitset of `num_bytes` from byte `start` on; reads on until one is.
    Raises what `read` raises."""
    size = FIRST_BYTES
    while start < num_bytes:
        if not are_clear(read(start, min(size, num_bytes - start))):
            return False
        start, size = start + size, min(2 * size, _MOST_BYTES)
    return True
