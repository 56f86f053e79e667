"""A filter that can be asked about values of its column."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from parquet_bloom.filters.rates import percent
from parquet_bloom.native.lazy import Array, NDArray, np
from parquet_bloom.values.given import list_values

if TYPE_CHECKING:
    from parquet_bloom.container import Place
    from parquet_bloom.filters.k_hash import KHashFilter
    from parquet_bloom.filters.split_block import SplitBlockBloomFilter

# Whether each of these values may be there: shape (n,).
Checks = Callable[[Any], "NDArray[np.bool_]"]


class ColumnFilter:
    """The filter of one column in one row group, or in one index group of an ORC file.

    `bits`: the filter itself, which takes hashes. `dialect`: xxhash, murmur3, statistics or orc.
    """

    def __init__(
        self,
        place: Place,
        column: str,
        dialect: str,
        bits: SplitBlockBloomFilter | KHashFilter,
        ask: Checks,
    ) -> None:
        self.place = place
        self.column = column
        self.dialect = dialect
        self.bits = bits
        self._ask = ask

    def __repr__(self) -> str:
        return (
            f"<{self.dialect} filter of column {self.column} in {self.place}:"
            f" {self.num_bytes:,} bytes, {100 * self.fill:.0f} % full, FPP {percent(self.fpp)}>"
        )

    def check(self, value: Any) -> bool:
        """False if `value` is certainly not there.

        `value` is a Python, numpy, pandas or pyarrow value of the column's type, or a literal. True
        for NaN and None, which no filter can exclude, and where the writer of the filter leaves a
        doubt. Raises ValueTypeError if the column cannot hold the value.
        """
        return bool(self._ask([value])[0])

    def check_many(self, values: Any) -> NDArray[np.bool_]:
        """`check` for each value of a list or another iterable, of a numpy or pyarrow array, of a
        pandas or polars Series: shape (n,), dtype bool. A single value is one of n = 1."""
        return self._ask(list_values(values))

    @property
    def bitset(self) -> memoryview:
        """The words as stored bytes: a view, not a copy."""
        return self.bits.bitset

    @property
    def words(self) -> Array:
        """The words, one-dimensional, uint32 in a split block filter, else uint64: a view."""
        return self.bits.words

    @property
    def num_bytes(self) -> int:
        return self.bits.num_bytes

    @property
    def bits_set(self) -> int:
        return self.bits.bits_set

    @property
    def fill(self) -> float:
        """The fraction of bits that are set, 0 to 1."""
        return self.bits.fill

    @property
    def fpp(self) -> float:
        """The false positive probability, computed from the bits."""
        return self.bits.fpp

    @property
    def ndv_estimate(self) -> float:
        """The number of distinct values that best explains the bits; inf when all are set."""
        return self.bits.ndv_estimate
