"""CRC-32C as Google writes it: base64 of four bytes, the highest first."""

from __future__ import annotations

import base64
from typing import Final

# Castagnoli's polynomial, its bits reversed.
_POLYNOMIAL: Final = 0x82F63B78
# The polynomial 1.
_ONE: Final = 1 << 31


def joined(first: str, second: str, size: int) -> str:
    """Of two contents one after the other, from those of each; the second has `size` bytes.

    Source: zlib's crc32_combine: the first one times x to the number of bits that follow, plus the
    second."""
    power, square, bits = _ONE, _ONE >> 1, 8 * size
    while bits:
        if bits & 1:
            power = _times(power, square)
        square = _times(square, square)
        bits >>= 1
    whole = _times(_number(first), power) ^ _number(second)
    return base64.b64encode(whole.to_bytes(4, "big")).decode()


def _number(text: str) -> int:
    return int.from_bytes(base64.b64decode(text), "big")


def _times(first: int, second: int) -> int:
    """Of two polynomials over two elements, modulo Castagnoli's."""
    product = 0
    for bit in range(31, -1, -1):
        if first >> bit & 1:
            product ^= second
        second = second >> 1 ^ (_POLYNOMIAL if second & 1 else 0)
    return product
