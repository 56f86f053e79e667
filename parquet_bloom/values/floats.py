"""Floating-point values that are equal although their bytes differ: signed zeros and NaNs.

Engines treat -0.0 and 0.0 as equal but hash only one of them (parquet-format issue 407); a NaN can
have any payload.
"""

from __future__ import annotations

import struct

FLOAT_FORMAT = {2: "<e", 4: "<f", 8: "<d"}


def zeros(width: int) -> tuple[bytes, bytes]:
    """Positive and negative zero as an IEEE float of `width` bytes (2, 4 or 8)."""
    return struct.pack(FLOAT_FORMAT[width], 0.0), struct.pack(FLOAT_FORMAT[width], -0.0)


def canonical_nan(width: int) -> bytes:
    """The quiet NaN without sign or payload, which Java and most arithmetic produce."""
    quiet = {2: 0x7E00, 4: 0x7FC00000, 8: 0x7FF8000000000000}[width]
    return quiet.to_bytes(width, "little")
