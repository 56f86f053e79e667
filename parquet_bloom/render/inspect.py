"""What `pbloom inspect` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloom.render.terminal import Row, number_of, percent, size, write_line, write_table

if TYPE_CHECKING:
    from parquet_bloom.verbs.inspect import (
        ColumnInspection,
        FileInspection,
        FilterInspection,
        OtherInspection,
    )


def write_inspection(report: FileInspection) -> None:
    """One line about the file, then one row per column chunk."""
    write_line(
        f"{report.path}: {number_of(report.num_rows, 'row')} in"
        f" {number_of(report.num_row_groups, 'row group')},"
        f" {size(report.size)}, written by {report.created_by or 'an unnamed writer'};"
        f" filters take {size(report.filter_bytes)} ({percent(report.filter_share)})"
    )
    write_table(
        ("group", "column", "type", "chunk", "filter", "offset", "fill", "FPP", "NDV", "note"),
        [
            (str(group.row_group), *row)
            for group in report.row_groups
            for column in group.columns
            for row in _rows(column)
        ],
    )


def _rows(column: ColumnInspection) -> list[Row]:
    others = [(column.column, *_other_row(found)) for found in column.other_filters]
    return [_inspection_row(column), *others]


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
        _ndv(found.ndv_estimate),
        _note(found),
    )


def _note(found: FilterInspection) -> str:
    if found.dialect != "xxhash":
        return f"{found.dialect}: {found.hash}"
    return "" if found.length is not None else "bloom_filter_length is missing"


def _ndv(estimate: float | None) -> str:
    return "all bits set" if estimate is None else f"{estimate:,.0f}"


def _other_row(found: OtherInspection) -> Row:
    """A filter to which bloom_filter_offset does not lead, below its column's row."""
    about = f"{found.dialect}, by {found.pointer}"
    if found.reason is not None:
        return ("", "", "", "", "", "", "", f"{about}: {found.reason}")
    return (
        "",
        "",
        size(found.num_bytes or 0),
        "in the footer" if found.offset is None else str(found.offset),
        percent(found.fill or 0),
        percent(found.fpp or 0),
        _ndv(found.ndv_estimate),
        f"{about}: {found.hash}",
    )
