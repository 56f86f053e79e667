"""The text of a DECIMAL whose bytes are hashed: no exponent, no zeros behind the last digit.

    unscaled, scale   -5, 2     -0.05
                     150, 2     1.5
                     100, 0     100
                       0, 9     0

Source: HiveDecimal.toString of Hive's storage-api, which ORC Java hashes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

MOST_DIGITS = 38


def decimal_text(values: Any) -> Any:
    """The text of each value of a decimal Arrow array without nulls: an Arrow array of strings."""
    scale = values.type.scale
    # As a number without a scale it is written without an exponent, however small it is.
    unscaled = _integer_text(values.cast(pa.decimal128(MOST_DIGITS, scale)))
    if scale == 0:
        return unscaled
    digits = pc.ascii_lpad(pc.ascii_ltrim(unscaled, "-"), scale + 1, "0")
    pointed = pc.binary_replace_slice(digits, -scale, -scale, ".")
    text = pc.ascii_rtrim(pc.ascii_rtrim(pointed, "0"), ".")
    is_negative = pc.starts_with(unscaled, "-")
    if not pc.any(is_negative).as_py():
        return text
    return pc.binary_join_element_wise(pc.if_else(is_negative, "-", ""), text, "")


def _integer_text(values: Any) -> Any:
    """The unscaled numbers of a decimal128 array. Arrow writes 64 bits four times as fast."""
    words = np.frombuffer(values.buffers()[1], np.int64).reshape(-1, 2)
    low, high = words[values.offset : values.offset + len(values)].T
    if np.array_equal(high, low >> 63):
        return pa.array(np.ascontiguousarray(low)).cast(pa.string())
    return pa.Array.from_buffers(
        pa.decimal128(MOST_DIGITS, 0), len(values), values.buffers(), offset=values.offset
    ).cast(pa.string())
