"""Decompression into memory that is already there, for both formats, where cramjam alone is not enough.

Zstandard: zstandard decompresses straight into it, where cramjam copies from a window: that takes a fifth
longer, and several times as long for what hardly compresses. Whatever is unusual, as where zstandard is
missing, is left to cramjam, which also says what is wrong.

LZ4: a block does not say how much it expands to. cramjam writes that in front of its own blocks, and
guesses whether others have it: a short block whose first bytes could be a size lost what they stand for,
and no longer expanded to all of its values. Told how much there is room for, it takes a block as it is.

Spec: RFC 8878; lz4, doc/lz4_Block_format.md.
"""

from __future__ import annotations

from contextlib import suppress
from threading import local
from typing import Any

import cramjam

# Whose contexts are used again: a new one takes as long as a small page.
_contexts = local()

# What a frame that does not say its size may have decompressed into memory that is kept; cramjam takes
# those that want more.
_WINDOW_BYTES = 1 << 23


def lz4_into(data: memoryview | bytes, out: memoryview) -> int:
    """Decompress a block into the start of `out`; the number of bytes. Raises cramjam.DecompressionError
    for damage, and if there is more than has room."""
    return cramjam.lz4.decompress_block_into(data, out, len(out))


def zstd_into(data: memoryview, out: memoryview) -> int:
    """The same for one or more frames of Zstandard."""
    if not hasattr(_contexts, "zstd"):
        _contexts.zstd = _context()
    zstandard, decompressor = _contexts.zstd
    if zstandard is None or not data:
        return cramjam.zstd.decompress_into(data, out)
    with suppress(zstandard.ZstdError):
        frame = zstandard.get_frame_parameters(data)
        is_stated = frame.content_size != zstandard.CONTENTSIZE_UNKNOWN
        size = frame.content_size if is_stated else len(out)
        # Nobody would notice here that a checksum is missing, or what follows an empty frame.
        if 0 < size <= len(out) and not frame.has_checksum:
            reader = decompressor.stream_reader(data, read_across_frames=True)
            if reader.readinto(out[:size]) == size and not reader.read(1):
                return size
    return cramjam.zstd.decompress_into(data, out)


def _context() -> tuple[Any, Any]:
    try:
        import zstandard
    except ImportError:
        # Spark's workers have what was shipped to them.
        return None, None
    return zstandard, zstandard.ZstdDecompressor(max_window_size=_WINDOW_BYTES)
