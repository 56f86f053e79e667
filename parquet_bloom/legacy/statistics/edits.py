"""Put a filter into the Statistics of a column chunk, or take it out; nothing else changes.

The field of Statistics that has the historic id today, max_value or is_max_value_exact, moves into
the struct, and back when the filter goes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from parquet_bloom.errors import FilterError
from parquet_bloom.legacy.presence import FIELD_IDS, STATISTICS
from parquet_bloom.legacy.statistics.filter_struct import (
    StatisticsStruct,
    decode,
    encode,
    fields_of,
)
from parquet_bloom.parquet.footer import compact

if TYPE_CHECKING:
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
    from parquet_bloom.parquet.footer.footer import Footer
    from parquet_bloom.parquet.sealed.opened_chunks import Fields

_EMPTY = b"\0"


def added(footer: Footer, chunk: ColumnChunk, field_id: int, struct: StatisticsStruct) -> Fields:
    """The edit of the chunk's ColumnMetaData that gives it this filter, and only this one."""
    bare = _without_filters(footer, chunk)
    encoded = encode(replace(struct, displaced=fields_of(bare).get(field_id)))
    with_filter = compact.splice(bare, 0, {field_id: (compact.TYPE_STRUCT, encoded)})
    return {STATISTICS: (compact.TYPE_STRUCT, with_filter)}


def removed(footer: Footer, chunk: ColumnChunk) -> Fields:
    """The edit that drops every filter, and Statistics that held nothing else."""
    bare = _without_filters(footer, chunk)
    return {STATISTICS: None if bare == _EMPTY else (compact.TYPE_STRUCT, bare)}


def _without_filters(footer: Footer, chunk: ColumnChunk) -> bytes:
    """The chunk's Statistics; empty if there are none."""
    found = footer.fields(chunk, (STATISTICS,))[STATISTICS]
    if found is None or found[0] != compact.TYPE_STRUCT:
        return _EMPTY
    filters = {
        number: _displaced(value)
        for number, (kind, value) in fields_of(found[1]).items()
        if number in FIELD_IDS and kind == compact.TYPE_STRUCT
    }
    return compact.splice(found[1], 0, filters)


def _displaced(struct: bytes) -> tuple[int, bytes] | None:
    """The field that was there before the filter; an invalid filter does not tell."""
    try:
        return decode(struct).displaced
    except FilterError:
        return None
