"""What `pbloom diff` prints of two ORC files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from parquet_bloom.render.terminal import Row, percent, size, write_line, write_table

if TYPE_CHECKING:
    from parquet_bloom.verbs.orc.diff import OrcFileDiff, OrcFilterDiff, OrcFilterSide

BITS_PER_BYTE = 8


def write_differences(report: OrcFileDiff) -> None:
    """What differs; nothing if nothing does."""
    _write(report, [item for item in report.filters if item.status != "same"])


def write_filters(report: OrcFileDiff) -> None:
    """The same, and the filters that do not."""
    _write(report, report.filters)


def _write(report: OrcFileDiff, filters: Sequence[OrcFilterDiff]) -> None:
    for what, a, b in (
        ("stripes", report.num_stripes_a, report.num_stripes_b),
        ("row index stride", report.row_index_stride_a, report.row_index_stride_b),
    ):
        if a != b:
            write_line(f"{what}: {a} in a, {b} in b")
    for side, columns in (("a", report.columns_only_a), ("b", report.columns_only_b)):
        for column in columns:
            write_line(f"column {column}: only in {side}")
    if filters:
        write_table(
            ("stripe", "groups", "column", "filter", "size a", "size b", "FPP a", "FPP b",
             "bits only a", "bits only b", "difference"),
            [_row(list(alike)) for _, alike in groupby(filters, _kind)],
        )  # fmt: skip


def _kind(item: OrcFilterDiff) -> tuple[object, ...]:
    """What is told in one row: index groups that differ have one each."""
    group = item.index_group if item.status == "different" else None
    return item.stripe, item.column, item.status, item.reason, group


def _row(alike: Sequence[OrcFilterDiff]) -> Row:
    """Some index groups of a column in a stripe: their sizes together, the mean of their FPPs."""
    first, last = alike[0], alike[-1]
    groups = (
        f"{first.index_group}" if len(alike) == 1 else f"{first.index_group}-{last.index_group}"
    )
    sides = [[item.a for item in alike if item.a], [item.b for item in alike if item.b]]
    only_a = [item.bits_only_a for item in alike if item.bits_only_a is not None]
    only_b = [item.bits_only_b for item in alike if item.bits_only_b is not None]
    return (
        str(first.stripe),
        groups,
        first.column,
        first.status,
        *map(_size, sides),
        *map(_fpp, sides),
        *(str(sum(bits)) if bits else "" for bits in (only_a, only_b)),
        first.reason,
    )


def _size(filters: Iterable[OrcFilterSide]) -> str:
    num_bits = sum(filter.num_bits for filter in filters)
    return size(num_bits // BITS_PER_BYTE) if num_bits else ""


def _fpp(filters: Sequence[OrcFilterSide]) -> str:
    return percent(sum(filter.fpp for filter in filters) / len(filters)) if filters else ""
