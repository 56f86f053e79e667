"""Rows of FILTER from what inspect says: one for each column chunk or, of an ORC file, for each
column of a stripe, whose index groups have a filter each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from parquet_bloom.container import FilterDescription
from parquet_bloom.container.descriptions import ChunkDescription
from parquet_bloom.spark.schemas import FILTER

if TYPE_CHECKING:
    from parquet_bloom.verbs.inspect import FileInspection

Row = dict[str, Any]

_OF_FILE = ("path", "format")
_OF_PART = ("row_group", "stripe", "num_rows")
_OF_CHUNK = sorted(set(FILTER.names) & set(ChunkDescription.__dataclass_fields__) - {"notes"})
_OF_FILTER = sorted(set(FILTER.names) & set(FilterDescription.__dataclass_fields__))


def error_row(path: str, said: str) -> Row:
    """The one of a file that cannot be read."""
    return {"path": as_text(path), "error": as_text(said)}


def rows_of(report: FileInspection) -> Iterator[Row]:
    """Those of one file, without what is not inspected."""
    of_file = {name: getattr(report, name) for name in _OF_FILE}
    for part in report.parts:
        of_part = of_file | {name: getattr(part, name) for name in _OF_PART}
        for column in part.columns:
            row = of_part | _of_chunk(column)
            yield {name: _shown(value) for name, value in row.items()}


def _of_chunk(column: ChunkDescription) -> Row:
    row: Row = {name: getattr(column, name) for name in _OF_CHUNK}
    if column.filter is not None:
        row |= {name: getattr(column.filter, name) for name in _OF_FILTER}
        row["notes"] = "; ".join(column.notes) or None
    return row


def _shown(value: Any) -> Any:
    return as_text(value) if isinstance(value, str) else value


def as_text(text: str) -> str:
    """What of `text` is no Unicode, as in names of files, becomes question marks."""
    return text.encode(errors="replace").decode()
