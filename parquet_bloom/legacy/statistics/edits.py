"""A filter put into the Statistics of a column chunk, or taken out of them; nothing else changes.

The field of Statistics that has the historic id today, max_value or is_max_value_exact, moves into
the struct and comes back when the filter goes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from parquet_bloom.errors import FilterError
from parquet_bloom.legacy.presence import FIELD_IDS, STATISTICS
from parquet_bloom.legacy.statistics.filter_struct import StatisticsStruct, decode, encode
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.footer import compact

if TYPE_CHECKING:
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
    from parquet_bloom.parquet.footer.footer import Footer
    from parquet_bloom.parquet.sealed.opened_chunks import Fields

_EMPTY = b"\0"


def added(footer: Footer, chunk: ColumnChunk, field_id: int, struct: StatisticsStruct) -> Fields:
    """The edit of the chunk's ColumnMetaData that gives it this filter, and only this one."""
    bare = _without_filters(_statistics(footer, chunk) or _EMPTY)
    there = {
        number: (kind, bare[value:end]) for number, kind, _, value, end in _kernel.fields(bare)
    }
    encoded = encode(replace(struct, displaced=there.get(field_id)))
    with_filter = compact.splice(bare, 0, {field_id: (compact.TYPE_STRUCT, encoded)})
    return {STATISTICS: (compact.TYPE_STRUCT, with_filter)}


def removed(footer: Footer, chunk: ColumnChunk) -> Fields:
    """The edit that takes away every filter, and Statistics that had nothing else."""
    statistics = _statistics(footer, chunk)
    bare = _EMPTY if statistics is None else _without_filters(statistics)
    return {STATISTICS: None if bare == _EMPTY else (compact.TYPE_STRUCT, bare)}


def _statistics(footer: Footer, chunk: ColumnChunk) -> bytes | None:
    found = footer.fields(chunk, (STATISTICS,))[STATISTICS]
    return found[1] if found is not None and found[0] == compact.TYPE_STRUCT else None


def _without_filters(statistics: bytes) -> bytes:
    filters = {
        number: _displaced(statistics[value:end])
        for number, kind, _, value, end in _kernel.fields(statistics)
        if number in FIELD_IDS and kind == compact.TYPE_STRUCT
    }
    return compact.splice(statistics, 0, filters)


def _displaced(struct: bytes) -> tuple[int, bytes] | None:
    """What was there before the filter; of one that is none, nobody knows."""
    try:
        return decode(struct).displaced
    except FilterError:
        return None
