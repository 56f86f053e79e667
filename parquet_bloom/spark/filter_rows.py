"""Rows of FILTER from what inspect says: one for each column chunk or, of an ORC file, for each
column of a stripe, whose index groups have a filter each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from parquet_bloom.spark.schemas import FILTER
from parquet_bloom.verbs.inspect import ColumnInspection, FileInspection, FilterInspection

if TYPE_CHECKING:
    from parquet_bloom.verbs.orc.inspect import (
        OrcColumnInspection,
        OrcFilterInspection,
        OrcInspection,
    )

Row = dict[str, Any]

_OF_COLUMN = tuple(set(FILTER.names) & set(ColumnInspection.__dataclass_fields__))
_OF_FILTER = tuple(set(FILTER.names) & set(FilterInspection.__dataclass_fields__))


def error_row(path: str, said: str) -> Row:
    """The one of a file that cannot be read."""
    return {"path": as_text(path), "error": as_text(said)}


def rows_of(report: FileInspection | OrcInspection) -> Iterator[Row]:
    """Those of one file, without what is NULL or what is not inspected."""
    about = {"path": report.path, "format": report.format}
    rows = _of_parquet(report) if report.format == "parquet" else _of_orc(report)
    for row in rows:
        yield {name: _shown(value) for name, value in (about | row).items()}


def _of_parquet(report: FileInspection) -> Iterator[Row]:
    for group in report.row_groups:
        for column in group.columns:
            about = {"row_group": group.row_group, "num_rows": group.num_rows}
            yield about | _of_chunk(column)


def _of_chunk(column: ColumnInspection) -> Row:
    row = {name: getattr(column, name) for name in _OF_COLUMN}
    if column.filter is not None:
        row |= {name: getattr(column.filter, name) for name in _OF_FILTER}
        row |= {"num_filters": 1, "worst_fpp": column.filter.fpp}
    return row


def _of_orc(report: OrcInspection) -> Iterator[Row]:
    for stripe in report.stripes:
        for column in stripe.columns:
            about = {"stripe": stripe.stripe, "num_rows": stripe.num_rows}
            yield about | _of_stripe_column(column)


def _of_stripe_column(column: OrcColumnInspection) -> Row:
    row = {
        "column": column.column,
        "physical_type": column.type,
        "num_values": column.num_values,
        "chunk_bytes": column.data_bytes,
        "reason": column.reason,
    }
    if column.filter is not None:
        row |= _of_streams(column, column.filter)
    return row


def _of_streams(column: OrcColumnInspection, filter: OrcFilterInspection) -> Row:
    """What is known of the filters; all their streams take room, also one that nobody asks."""
    return {
        "offset": filter.offset,
        "length": filter.length,
        "num_bytes": filter.num_bytes,
        "fill": filter.fill,
        "fpp": filter.fpp,
        "ndv_estimate": filter.ndv_estimate,
        "dialect": filter.dialect,
        "stored_bytes": sum(stream.length for stream in column.streams),
        "encrypted": False,
        "num_filters": filter.num_filters,
        "worst_fpp": filter.worst_fpp,
        "stream": filter.kind,
        "num_hashes": filter.num_hashes,
        "num_bits": filter.num_bits,
        "notes": "; ".join(column.notes) or None,
    }


def _shown(value: Any) -> Any:
    return as_text(value) if isinstance(value, str) else value


def as_text(text: str) -> str:
    """What of `text` is no Unicode, as in names of files, becomes question marks."""
    return text.encode(errors="replace").decode()
