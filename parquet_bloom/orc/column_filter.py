"""A filter that knows the type of its column, so that it can be asked about values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.filters.k_hash import WORD_FORMAT, KHashFilter
from parquet_bloom.orc.probe import StripeProber, asked_value
from parquet_bloom.values.arrays import from_arrow

if TYPE_CHECKING:
    from parquet_bloom.orc.columns import OrcColumn


class OrcColumnFilter(KHashFilter):
    """The filter of one index group, which takes values of the column's type."""

    def __init__(
        self, bits: KHashFilter, column: OrcColumn, prober: StripeProber, index_group: int
    ) -> None:
        super().__init__(bits.bitset.cast(WORD_FORMAT), bits.num_hashes, bits.num_bits)
        self.column = column
        self._prober = prober
        self._index_group = index_group

    def check(self, value: Any) -> bool:
        """False if `value` is certainly not in the index group.

        True for what a filter cannot exclude (NaN, None), and where its writer leaves a doubt.
        Raises ValueTypeError if the column cannot hold the value.
        """
        asked = asked_value(self.column, value)
        return self._prober.answer(asked, self._index_group).verdict != "absent"

    def check_many(self, values: Iterable[Any]) -> NDArray[np.bool_]:
        """`check` for each value of a sequence, numpy or pyarrow array: shape (n,), dtype bool."""
        items = list(from_arrow(values) if hasattr(values, "to_pylist") else values)
        return np.fromiter((self.check(item) for item in items), np.bool_, len(items))
