"""What `pbloom inspect` prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from parquet_bloom.container import UNITS, number_of
from parquet_bloom.render.terminal import write_line, write_table
from parquet_bloom.render.wording import percent, size

if TYPE_CHECKING:
    from parquet_bloom.container import FilterDescription
    from parquet_bloom.container.descriptions import (
        ChunkDescription,
        GroupDescription,
        LegacyDescription,
    )
    from parquet_bloom.verbs.inspect import FileInspection

ALL_SET = "all bits set"

_OF_COLUMN = ("type", "encoding", "data", "stream", "filter", "offset", "filters", "bits", "k",
              "fill", "FPP", "worst FPP", "NDV", "note")  # fmt: skip
_OF_GROUP = ("first row", "rows", "values", "nulls", "min", "max", "sum", "positions", "bits", "k",
             "fill", "FPP", "NDV")  # fmt: skip

# A row by the headings of its cells; "" is an empty cell of a column that the table shall have.
_Cells = dict[str, str | None]


def write_inspection(report: FileInspection) -> None:
    """One line about the file, then one row per column in each part; after these, if they were asked
    for, one row per group."""
    units = UNITS[report.format]
    codec = "" if report.compression is None else f" {report.compression},"
    write_line(
        f"{report.path}: {number_of(report.num_rows, 'row')} in"
        f" {number_of(report.num_parts, units.part)}, {size(report.size)},{codec}"
        f" written by {report.created_by or 'an unnamed writer'};"
        f" filters take {size(report.filter_bytes)} ({percent(report.filter_share)})"
    )
    rows = [
        (str(part.place.part), column.column, *map(cells.get, _OF_COLUMN))
        for part in report.parts
        for column in part.columns
        for cells in _column_rows(column)
    ]
    write_table((units.part, "column", *_OF_COLUMN), rows)
    groups = [
        (str(part.place.part), column.column, str(group.place.group), *_group_row(group))
        for part in report.parts
        for column in part.columns
        for group in column.groups or ()
    ]
    if groups:
        write_table((units.part, "column", units.group, *_OF_GROUP), groups)


def _column_rows(column: ChunkDescription) -> Iterator[_Cells]:
    """One for the column, and one for each legacy filter that bloom_filter_offset does not lead to."""
    cells = _filter_cells(column) if column.streams is None else _stream_cells(column)
    yield {
        "type": column.logical_type or column.physical_type,
        "encoding": column.encoding,
        "data": size(column.chunk_bytes or 0),
        **cells,
    }
    for legacy in column.legacy_filters:
        yield _legacy_cells(legacy)


def _filter_cells(column: ChunkDescription) -> _Cells:
    """Of one filter."""
    found = column.filter
    if found is None:
        return _empty("filter", "offset", "fill", "FPP", "NDV") | {"note": column.reason}
    return {
        "filter": size(found.num_bytes),
        "offset": str(found.offset),
        "fill": percent(found.fill),
        "FPP": percent(found.fpp),
        "NDV": _ndv(found.ndv_estimate),
        "note": "; ".join([*_remarks(found), *column.notes]),
    }


def _remarks(found: FilterDescription) -> list[str]:
    if found.dialect != "xxhash":
        return [f"{found.dialect}: {found.hash}"]
    return [] if found.length is not None else ["bloom_filter_length is missing"]


def _stream_cells(column: ChunkDescription) -> _Cells:
    """Of a stream with a filter for each group."""
    found = column.filter
    if found is None:
        streams = ", ".join(each.stream for each in column.streams or ())
        empty = _empty("filters", "bits", "k", "fill", "FPP", "worst FPP", "NDV")
        return empty | {"stream": streams, "note": column.reason}
    return {
        "stream": f"{found.stream}, {size(found.length or 0)}",
        "filters": str(found.num_filters),
        "bits": "varies" if found.num_bits is None else str(found.num_bits),
        "k": "varies" if found.num_hashes is None else str(found.num_hashes),
        "fill": percent(found.fill),
        "FPP": percent(found.fpp),
        "worst FPP": percent(found.worst_fpp),
        "NDV": _ndv(found.ndv_estimate),
        "note": "; ".join(column.notes),
    }


def _legacy_cells(found: LegacyDescription) -> _Cells:
    about = f"{found.dialect}, by {found.pointer}"
    if found.reason is not None:
        return _empty("filter", "offset", "fill", "FPP", "NDV") | {
            "note": f"{about}: {found.reason}"
        }
    return {
        "filter": size(found.num_bytes or 0),
        "offset": "in the footer" if found.offset is None else str(found.offset),
        "fill": percent(found.fill or 0),
        "FPP": percent(found.fpp or 0),
        "NDV": _ndv(found.ndv_estimate),
        "note": f"{about}: {found.hash}",
    }


def _empty(*heads: str) -> _Cells:
    return dict.fromkeys(heads, "")


def _group_row(group: GroupDescription) -> Iterator[str]:
    statistics, found = group.statistics, group.filter
    cells: dict[str, object] = {"first row": group.first_row, "rows": group.num_rows}
    if group.positions is not None:
        cells["positions"] = " ".join(map(str, group.positions))
    if statistics is not None:
        cells |= {"values": statistics.num_values, "min": statistics.min, "max": statistics.max}
        cells |= {
            "sum": statistics.sum,
            "nulls": {False: "no", True: "yes"}.get(statistics.has_null),
        }
    if found is not None:
        cells |= {"bits": found.num_bits, "k": found.num_hashes, "NDV": _ndv(found.ndv_estimate)}
        cells |= {"fill": percent(found.fill), "FPP": percent(found.fpp)}
    values = map(cells.get, _OF_GROUP)
    return ("" if value is None else str(value) for value in values)


def _ndv(estimate: float | None) -> str:
    """The number of values that explain the bits of a filter."""
    return ALL_SET if estimate is None else f"{estimate:,.0f}"
