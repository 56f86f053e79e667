"""Decompression of LZ4 blocks into memory that is already there, for both formats.

A block does not say how much it expands to. cramjam writes that in front of its own blocks, and guesses
whether others have it: a short block whose first bytes could be a size lost what they stand for, and no
longer expanded to all of its values. Told how much there is room for, it takes a block as it is.
"""

from __future__ import annotations

from typing import Any

import cramjam


def decompress_into(data: memoryview | bytes, out: Any) -> int:
    """Decompress a block into the start of `out`; the number of bytes. Raises cramjam.DecompressionError
    for damage, and if there is more than has room.

    Spec: lz4, doc/lz4_Block_format.md.
    """
    return cramjam.lz4.decompress_block_into(data, out, len(out))
