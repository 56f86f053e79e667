"""What `pbloom inspect` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloom.container import UNITS, number_of
from parquet_bloom.render.terminal import Row, write_line, write_table
from parquet_bloom.render.wording import percent, size

if TYPE_CHECKING:
    from parquet_bloom.container import FilterDescription
    from parquet_bloom.container.descriptions import (
        ChunkDescription,
        GroupDescription,
        GroupFilter,
        LegacyDescription,
    )
    from parquet_bloom.verbs.inspect import FileInspection

ALL_SET = "all bits set"

_OF_COLUMN = ("type", "encoding", "data", "stream", "filter", "offset", "filters", "bits", "k",
              "fill", "FPP", "worst FPP", "NDV", "note")  # fmt: skip
_OF_GROUP = ("first row", "rows", "values", "nulls", "min", "max", "sum", "positions", "bits", "k",
             "fill", "FPP", "NDV")  # fmt: skip


def write_inspection(report: FileInspection) -> None:
    """One line about the file, then one row per column in each part; behind these, if they were
    asked for, one row per group."""
    units = UNITS[report.format]
    codec = "" if report.compression is None else f" {report.compression},"
    write_line(
        f"{report.path}: {number_of(report.num_rows, 'row')} in"
        f" {number_of(report.num_parts, units.part)}, {size(report.size)},{codec}"
        f" written by {report.created_by or 'an unnamed writer'};"
        f" filters take {size(report.filter_bytes)} ({percent(report.filter_share)})"
    )
    rows = [
        (str(part.place.part), column.column, *row)
        for part in report.parts
        for column in part.columns
        for row in (_column_row(column), *map(_legacy_row, column.legacy_filters))
    ]
    write_table((units.part, "column", *_OF_COLUMN), rows)
    groups = [
        (str(part.place.part), column.column, *_group_row(group))
        for part in report.parts
        for column in part.columns
        for group in column.groups or ()
    ]
    if groups:
        write_table((units.part, "column", units.group, *_OF_GROUP), groups)


def _column_row(column: ChunkDescription) -> Row:
    about = (
        column.logical_type or column.physical_type,
        column.encoding,
        size(column.chunk_bytes or 0),
    )
    if column.streams is None:
        return (*about, *_filter_cells(column))
    return (*about, *_stream_cells(column))


def _filter_cells(column: ChunkDescription) -> Row:
    """Of one filter."""
    found = column.filter
    if found is None:
        return (None, "", "", None, None, None, "", "", None, "", column.reason)
    return (
        None,
        size(found.num_bytes),
        str(found.offset),
        *(None, None, None),
        percent(found.fill),
        percent(found.fpp),
        None,
        _ndv(found.ndv_estimate),
        "; ".join([*_remarks(found), *column.notes]),
    )


def _remarks(found: FilterDescription) -> list[str]:
    if found.dialect != "xxhash":
        return [f"{found.dialect}: {found.hash}"]
    return [] if found.length is not None else ["bloom_filter_length is missing"]


def _stream_cells(column: ChunkDescription) -> Row:
    """Of a stream with a filter for each group."""
    found = column.filter
    if found is None:
        streams = ", ".join(each.stream for each in column.streams or ())
        return (streams, None, None, *("",) * 7, column.reason)
    return (
        f"{found.stream}, {size(found.length or 0)}",
        *(None, None),
        str(found.num_filters),
        _number(found.num_bits),
        _number(found.num_hashes),
        percent(found.fill),
        percent(found.fpp),
        percent(found.worst_fpp),
        _ndv(found.ndv_estimate),
        "; ".join(column.notes),
    )


def _legacy_row(found: LegacyDescription) -> Row:
    """A filter to which bloom_filter_offset does not lead, below its column's row."""
    about = f"{found.dialect}, by {found.pointer}"
    if found.reason is not None:
        return ("", None, "", None, "", "", None, None, None, "", "", None, "",
                f"{about}: {found.reason}")  # fmt: skip
    return (
        *("", None, "", None),
        size(found.num_bytes or 0),
        "in the footer" if found.offset is None else str(found.offset),
        *(None, None, None),
        percent(found.fill or 0),
        percent(found.fpp or 0),
        None,
        _ndv(found.ndv_estimate),
        f"{about}: {found.hash}",
    )


def _group_row(group: GroupDescription) -> Row:
    positions = "" if group.positions is None else " ".join(map(str, group.positions))
    rows = str(group.place.group), str(group.first_row), str(group.num_rows)
    return (*rows, *_statistics(group), positions, *_group_filter(group.filter))


def _statistics(group: GroupDescription) -> Row:
    found = group.statistics
    if found is None:
        return ("",) * 5
    nulls = {None: "", False: "no", True: "yes"}[found.has_null]
    shown = (found.num_values, found.min, found.max, found.sum)
    values, low, high, total = ("" if each is None else str(each) for each in shown)
    return values, nulls, low, high, total


def _group_filter(found: GroupFilter | None) -> Row:
    if found is None:
        return ("",) * 5
    numbers = str(found.num_bits), str(found.num_hashes)
    return (*numbers, percent(found.fill), percent(found.fpp), _ndv(found.ndv_estimate))


def _number(number: int | None) -> str:
    return "varies" if number is None else str(number)


def _ndv(estimate: float | None) -> str:
    """The number of values that explain the bits of a filter."""
    return ALL_SET if estimate is None else f"{estimate:,.0f}"
