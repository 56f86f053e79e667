"""The numbers of Arrow arrays as numpy has them, without pandas, which Arrow's own way imports."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# What Decimal128 takes.
DECIMAL_BYTES = 16


def integers(values: Any) -> NDArray[Any]:
    """Of an array without nulls of integers, dates or timestamps: shape (n,), int8 to int64; a view."""
    return _numbers(values, f"<i{values.type.bit_width // 8}")


def floats(values: Any) -> NDArray[Any]:
    """Of an array without nulls of floating point numbers: shape (n,), float32 or float64; a view."""
    return _numbers(values, f"<f{values.type.bit_width // 8}")


def decimals(values: Any) -> memoryview:
    """The unscaled numbers of a decimal128 array without nulls: 16 bytes each, little-endian."""
    start = DECIMAL_BYTES * values.offset
    return _data(values)[start : start + DECIMAL_BYTES * len(values)]


def _numbers(values: Any, dtype: str) -> NDArray[Any]:
    width = np.dtype(dtype).itemsize
    return np.frombuffer(_data(values), dtype, len(values), width * values.offset)


def _data(values: Any) -> memoryview:
    return memoryview(values.buffers()[1] or b"").cast("B")
