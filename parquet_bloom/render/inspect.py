"""What `pbloom inspect` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloom.render.terminal import Row, percent, size, write_line, write_table

if TYPE_CHECKING:
    from parquet_bloom.verbs.inspect import ColumnInspection, FileInspection


def write_inspection(report: FileInspection) -> None:
    """One line about the file, then one row per column chunk."""
    write_line(
        f"{report.path}: {report.num_rows:,} rows in {report.num_row_groups} row groups,"
        f" {size(report.size)}, written by {report.created_by or 'an unnamed writer'};"
        f" filters take {size(report.filter_bytes)} ({percent(report.filter_share)})"
    )
    write_table(
        ("group", "column", "type", "chunk", "filter", "offset", "fill", "FPP", "NDV", "note"),
        [
            (str(group.row_group), *_inspection_row(column))
            for group in report.row_groups
            for column in group.columns
        ],
    )


def _inspection_row(column: ColumnInspection) -> Row:
    found = column.filter
    about = (
        column.column,
        column.logical_type or column.physical_type,
        size(column.chunk_bytes or 0),
    )
    if found is None:
        return (*about, "", "", "", "", "", column.reason or "")
    return (
        *about,
        size(found.num_bytes),
        str(found.offset),
        percent(found.fill),
        percent(found.fpp),
        "all bits set" if found.ndv_estimate is None else f"{found.ndv_estimate:,.0f}",
        "" if found.length is not None else "bloom_filter_length is missing",
    )
