"""Numbers of Arrow arrays as numpy arrays; Arrow's own conversion would import pandas."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

DECIMAL_BYTES = 16


def integers(values: Any) -> NDArray[Any]:
    """A view of integers, dates or timestamps without nulls: shape (n,), int8 to int64."""
    return _numbers(values, f"<i{values.type.bit_width // 8}")


def floats(values: Any) -> NDArray[Any]:
    """A view of floating-point numbers without nulls: shape (n,), float32 or float64."""
    return _numbers(values, f"<f{values.type.bit_width // 8}")


def decimals(values: Any) -> memoryview:
    """The unscaled values of a decimal128 array without nulls: 16 bytes each, little-endian."""
    start = DECIMAL_BYTES * values.offset
    return _data(values)[start : start + DECIMAL_BYTES * len(values)]


def _numbers(values: Any, dtype: str) -> NDArray[Any]:
    width = np.dtype(dtype).itemsize
    return np.frombuffer(_data(values), dtype, len(values), width * values.offset)


def _data(values: Any) -> memoryview:
    return memoryview(values.buffers()[1] or b"").cast("B")
