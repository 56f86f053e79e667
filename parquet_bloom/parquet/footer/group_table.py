"""The numbers that are kept of every row group: there can be a million."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping

from parquet_bloom.native import _kernel
from parquet_bloom.parquet.footer import compact

# Ids, names and compact protocol types.
ROW_GROUP_FIELDS = {
    1: ("columns", compact.TYPE_LIST),
    3: ("num_rows", compact.TYPE_I64),
    7: ("ordinal", compact.TYPE_I16),
}


class GroupTable:
    """By row group: where its list of `columns` begins, its `num_rows`, 0 if that is missing, and its
    `ordinals`; _kernel.ABSENT for what is missing of the others."""

    def __init__(self, raw: bytes, groups: Iterable[Mapping[str, tuple[int, int]]]) -> None:
        """`groups`: for each, the spans of the values of ROW_GROUP_FIELDS in `raw`."""
        self.columns, self.num_rows, self.ordinals = array("q"), array("q"), array("q")
        for spans in groups:
            start, _ = spans.get("columns", (_kernel.ABSENT, 0))
            self.columns.append(start)
            for name, missing, numbers in (
                ("num_rows", 0, self.num_rows),
                ("ordinal", _kernel.ABSENT, self.ordinals),
            ):
                is_there = name in spans
                numbers.append(compact.read_zigzag(raw, spans[name][0]) if is_there else missing)

    def __len__(self) -> int:
        return len(self.columns)
