"""What `pbloom inspect` prints of an ORC file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloom.render.terminal import Row, number_of, percent, size, write_line, write_table

if TYPE_CHECKING:
    from parquet_bloom.orc.row_index import GroupStatistics
    from parquet_bloom.verbs.orc.inspect import (
        IndexGroupInspection,
        OrcColumnInspection,
        OrcInspection,
    )

ALL_SET = "all bits set"


def write_orc_inspection(report: OrcInspection) -> None:
    """One line about the file, then one row per column and stripe; behind these, if they were asked
    for, one row per index group."""
    write_line(
        f"{report.path}: {number_of(report.num_rows, 'row')} in"
        f" {number_of(report.num_stripes, 'stripe')},"
        f" {size(report.size)}, {report.compression}, written by {report.created_by};"
        f" filters take {size(report.filter_bytes)} ({percent(report.filter_share)})"
    )
    write_table(
        ("stripe", "column", "type", "encoding", "data", "stream", "filters", "bits", "k", "fill",
         "FPP", "worst FPP", "NDV", "note"),
        [
            (str(stripe.stripe), *_column_row(column))
            for stripe in report.stripes
            for column in stripe.columns
        ],
    )  # fmt: skip
    groups = [
        (str(stripe.stripe), column.column, *_group_row(group))
        for stripe in report.stripes
        for column in stripe.columns
        for group in column.index_groups or ()
    ]
    if groups:
        write_table(
            ("stripe", "column", "index group", "first row", "rows", "values", "nulls", "min",
             "max", "sum", "positions", "bits", "k", "fill", "FPP", "NDV"),
            groups,
        )  # fmt: skip


def _column_row(column: OrcColumnInspection) -> Row:
    found = column.filter
    about = (column.column, column.type, column.encoding, size(column.data_bytes))
    if found is None:
        kinds = ", ".join(stream.kind for stream in column.streams)
        return (*about, kinds, "", "", "", "", "", "", "", column.reason or "")
    return (
        *about,
        f"{found.kind}, {size(found.length)}",
        str(found.num_filters),
        _number(found.num_bits),
        _number(found.num_hashes),
        percent(found.fill),
        percent(found.fpp),
        percent(found.worst_fpp),
        _ndv(found.ndv_estimate),
        "; ".join(column.notes),
    )


def _group_row(group: IndexGroupInspection) -> Row:
    positions = "" if group.positions is None else " ".join(map(str, group.positions))
    rows = str(group.index_group), str(group.first_row), str(group.num_rows)
    statistics = _statistics(group.statistics)
    found = group.filter
    if found is None:
        return (*rows, *statistics, positions, "", "", "", "", "")
    return (
        *rows,
        *statistics,
        positions,
        str(found.num_bits),
        str(found.num_hashes),
        percent(found.fill),
        percent(found.fpp),
        _ndv(found.ndv_estimate),
    )


def _statistics(found: GroupStatistics | None) -> Row:
    if found is None:
        return ("", "", "", "", "")
    nulls = {None: "", False: "no", True: "yes"}[found.has_null]
    shown = (found.num_values, found.min, found.max, found.sum)
    values, low, high, total = ("" if each is None else str(each) for each in shown)
    return values, nulls, low, high, total


def _number(number: int | None) -> str:
    return "varies" if number is None else str(number)


def _ndv(estimate: float | None) -> str:
    return ALL_SET if estimate is None else f"{estimate:,.0f}"
