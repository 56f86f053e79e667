"""Values of ORC columns as the package has them in memory, from Arrow arrays without nulls."""

from typing import Any

import numpy as np
import pyarrow as pa

from parquet_bloom.orc.arrays import Decimals, Numbers, Texts, Times, Values

NANOS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def values_of(array: Any) -> Values:
    kind = array.type
    if pa.types.is_timestamp(kind):
        return Times.of([each * NANOS[kind.unit] for each in array.cast(pa.int64()).to_pylist()])
    if pa.types.is_decimal(kind):
        scaled = [
            int(each.scaleb(kind.scale))
            for each in array.cast(pa.decimal256(76, kind.scale)).to_pylist()
        ]
        return Decimals.of(scaled, kind.scale)
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return Texts.of(
            [each.encode() if isinstance(each, str) else each for each in array.to_pylist()]
        )
    if pa.types.is_list(kind) or pa.types.is_map(kind):
        return Numbers(np.array([len(each) for each in array.to_pylist()], np.int64))
    if pa.types.is_date(kind):
        return Numbers(array.cast(pa.int32()).to_numpy())
    return Numbers(array.to_numpy(zero_copy_only=False))
