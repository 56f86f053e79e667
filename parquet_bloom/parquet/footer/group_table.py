"""The numbers that are kept of every row group: there can be a million."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate

from parquet_bloom.native import _kernel
from parquet_bloom.parallel import read_once


class GroupTable:
    """By row group: where its list of `columns` begins, its `num_rows`, 0 if that is missing, and its
    `ordinals`; _kernel.ABSENT for what is missing of the others."""

    def __init__(self, raw: bytes, starts: array[int]) -> None:
        """`starts`: where each RowGroup begins in `raw`. Raises _kernel.ScanError."""
        self.columns, self.num_rows, self.ordinals = _kernel.row_groups(raw, starts)

    @read_once
    def first_rows(self) -> Sequence[int]:
        """How many rows are in those before each."""
        try:
            return array("q", accumulate(self.num_rows, initial=0))
        except OverflowError:
            # No file has so many, but a footer can say so.
            return list(accumulate(self.num_rows, initial=0))
