"""What `pbloom diff` prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from parquet_bloom.render.terminal import Row, percent, size, write_line, write_table

if TYPE_CHECKING:
    from parquet_bloom.verbs.diff import FileDiff, FilterDiff, FilterSide


def write_differences(report: FileDiff) -> None:
    """What differs, and what is not compared; nothing if there is neither."""
    _write(report, [item for item in report.filters if item.status != "same"])


def write_filters(report: FileDiff) -> None:
    """The same, and the filters that do not."""
    _write(report, report.filters)


def _write(report: FileDiff, filters: Sequence[FilterDiff]) -> None:
    if report.num_row_groups_a != report.num_row_groups_b:
        write_line(f"row groups: {report.num_row_groups_a} in a, {report.num_row_groups_b} in b")
    for side, columns in (("a", report.columns_only_a), ("b", report.columns_only_b)):
        for column in columns:
            write_line(f"column {column}: only in {side}")
    if filters:
        write_table(
            ("group", "column", "filter", "size a", "size b", "FPP a", "FPP b", "bits only a",
             "bits only b", "difference"),
            [_row(item) for item in filters],
        )  # fmt: skip
    for note in report.notes:
        write_line(f"note: {note}")


def _row(item: FilterDiff) -> Row:
    sizes = [_size(side) for side in (item.a, item.b)]
    rates = ["" if side is None else percent(side.fpp) for side in (item.a, item.b)]
    bits = ["" if count is None else str(count) for count in (item.bits_only_a, item.bits_only_b)]
    return str(item.row_group), item.column, item.status, *sizes, *rates, *bits, item.reason


def _size(side: FilterSide | None) -> str:
    return "" if side is None else size(side.num_bytes)
