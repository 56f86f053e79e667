"""A filter that can be asked about values of its column's type."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.native import _kernel
from parquet_bloom.values.arrays import from_arrow
from parquet_bloom.values.encode import Encodings, encode, integer_range
from parquet_bloom.values.types import LeafType, zeros


class ColumnFilter(SplitBlockBloomFilter):
    """The filter of one column chunk."""

    def __init__(self, words: NDArray[np.uint32], leaf: LeafType) -> None:
        super().__init__(words)
        self.type = leaf

    def check(self, value: Any) -> bool:
        """False if `value` is certainly not in the chunk.

        True for NaN and None, which no filter can exclude. Raises ValueTypeError if the column
        cannot hold the value.
        """
        return self.check_encodings(encode(self.type, value))

    def check_encodings(self, encodings: Encodings) -> bool:
        """False if no encoding of a value was inserted; True if they cannot be listed."""
        return bool(encodings.unknown) or any(map(self.check_value, encodings.plain))

    def check_many(self, values: Iterable[Any]) -> NDArray[np.bool_]:
        """`check` for each value of a sequence, numpy or pyarrow array: shape (n,), dtype bool.

        numpy integers and floats, and lists of text or bytes, are hashed all at once.
        """
        items = from_arrow(values) if hasattr(values, "to_pylist") else values
        if isinstance(items, np.ndarray) and items.ndim == 1:
            if self._takes_integers(items):
                signed = self.type.logical is None or self.type.logical.signed
                stored = items.astype(f"<{'i' if signed else 'u'}{self.type.width}")
                return self._check_fixed(stored)
            if self._takes_floats(items):
                return self._check_floats(items.astype(f"<f{self.type.width}"))
        items = list(items)
        if self.type.physical == "BYTE_ARRAY" and self.type.logical_name != "DECIMAL":
            encoded = _encoded(items)
            if encoded is not None:
                return self._check_slices(encoded)
        return np.fromiter((self.check(item) for item in items), np.bool_, len(items))

    def _takes_integers(self, values: NDArray[Any]) -> bool:
        if values.dtype.kind not in "iu" or self.type.logical_name not in ("", "INTEGER"):
            return False
        if self.type.physical not in ("INT32", "INT64"):
            return False
        low, high = integer_range(self.type)
        return values.size == 0 or low <= int(values.min()) <= int(values.max()) <= high

    def _takes_floats(self, values: NDArray[Any]) -> bool:
        if values.dtype.kind != "f" or self.type.physical not in ("FLOAT", "DOUBLE"):
            return False
        limit = np.finfo(f"f{self.type.width}").max
        return bool((np.abs(values[np.isfinite(values)]) <= limit).all())

    def _check_fixed(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        stored = np.ascontiguousarray(values).view(np.uint8)
        return self.check_hashes(_kernel.xxh64_fixed(stored, values.itemsize))

    def _check_floats(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Both zeros count as one value, and NaN is never excluded."""
        zero = any(map(self.check_value, zeros(values.itemsize)))
        found = np.where(values == 0, zero, self._check_fixed(values))
        return np.asarray(found | np.isnan(values), np.bool_)

    def _check_slices(self, values: Sequence[bytes]) -> NDArray[np.bool_]:
        offsets = np.zeros(len(values) + 1, np.int64)
        np.cumsum([len(value) for value in values], out=offsets[1:])
        return self.check_hashes(_kernel.xxh64_slices(b"".join(values), offsets))


def _encoded(items: list[Any]) -> list[bytes] | None:
    """Text as UTF-8 and bytes as they are; None if there is anything else."""
    try:
        return [item if isinstance(item, bytes) else str.encode(item) for item in items]
    except (TypeError, UnicodeEncodeError):
        return None
