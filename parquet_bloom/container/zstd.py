"""Decompression of Zstandard into memory that is already there, for both formats.

zstandard decompresses straight into it, where cramjam copies from a window: that takes a fifth longer,
and several times as long for what hardly compresses. Whatever is unusual, as where zstandard is missing,
is left to cramjam, which also says what is wrong.
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


def decompress_into(data: memoryview, out: Any) -> int:
    """Decompress one or more frames into the start of `out`; the number of bytes. Raises
    cramjam.DecompressionError for damage, and if there is more than has room."""
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
