"""The numbers that are kept of every row group: there can be a million."""

from __future__ import annotations

from array import array

from parquet_bloom.native import _kernel


class GroupTable:
    """By row group: where its list of `columns` begins, its `num_rows`, 0 if that is missing, and its
    `ordinals`; _kernel.ABSENT for what is missing of the others."""

    def __init__(self, raw: bytes, starts: array[int]) -> None:
        """`starts`: where each RowGroup begins in `raw`. Raises _kernel.ScanError."""
        self.columns, self.num_rows, self.ordinals = _kernel.row_groups(raw, starts)
