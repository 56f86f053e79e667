"""A filter put into the Statistics of a column chunk, or taken out of them; nothing else changes.

The field of Statistics that has the historic id today, max_value or is_max_value_exact, moves into
the struct and comes back when the filter goes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from parquet_bloom.errors import FilterError, RewriteError
from parquet_bloom.legacy.new_version import Version, unchecked, write_version
from parquet_bloom.legacy.presence import FIELD_IDS, STATISTICS
from parquet_bloom.legacy.statistics.filter_struct import StatisticsStruct, decode, encode
from parquet_bloom.legacy.statistics.stored import read_stored
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.footer.footer import NO_POINTER

if TYPE_CHECKING:
    from parquet_bloom.parquet.file import ParquetFile
    from parquet_bloom.parquet.footer.chunk_table import ChunkKey
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
    from parquet_bloom.parquet.footer.footer import Footer
    from parquet_bloom.parquet.sealed.opened_chunks import Fields
    from parquet_bloom.storage.new_version import Target

_EMPTY = b"\0"

# The length of a footer is a 32-bit number, signed in most readers.
MAX_FOOTER_BYTES = (1 << 31) - 1


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


def write_edits(
    file: ParquetFile, target: Target | None, edits: Mapping[ChunkKey, Fields], verify: bool
) -> int:
    """Write the file with `edits` to `target`, or without one only imagine it; returns its size.

    Raises RewriteError, OSError.
    """
    tail = edited(file, edits)

    def compose(version: Version) -> None:
        version.append(tail)

    check = partial(check_edited, file, edits) if verify else unchecked
    return write_version(file, target, file.footer.start, compose, check)


def edited(file: ParquetFile, edits: Mapping[ChunkKey, Fields]) -> bytes:
    """The end of the file with `edits`: its footer, and what follows it. Raises RewriteError."""
    raw = file.footer.with_fields(edits)
    if len(raw) > MAX_FOOTER_BYTES:
        raise RewriteError(
            f"{file.path}: a footer of {len(raw)} bytes, expected at most {MAX_FOOTER_BYTES}:"
            " filters inside Statistics are a part of it"
        )
    return file.footer.protection.tail(raw)


def check_edited(old: ParquetFile, edits: Mapping[ChunkKey, Fields], new: ParquetFile) -> None:
    """Raise RewriteError unless the new footer is the old one but for `edits`, and its filters can
    be read."""
    check_fields(old, edits, new)
    for key in edits:
        read_stored(new.footer, _chunk(new, key))


def check_fields(old: ParquetFile, edits: Mapping[ChunkKey, Fields], new: ParquetFile) -> None:
    """Raise RewriteError unless the new footer is the old one but for the fields in `edits`."""
    before = {key: _compared(old.footer, _chunk(old, key), of) for key, of in edits.items()}
    if new.footer.with_opened_fields(before) != old.footer.with_opened_fields(before):
        raise RewriteError("the footer differs in more than the filters")


def _compared(footer: Footer, chunk: ColumnChunk, edit: Fields) -> Fields:
    """What both footers are given to be compared: what was there before the edit, but no pointer,
    which a redacted copy does not take back."""
    return {
        **footer.fields(chunk, edit),
        **{number: None for number in NO_POINTER if number in edit},
    }


def _chunk(file: ParquetFile, key: ChunkKey) -> ColumnChunk:
    row_group, column = key
    return file.footer.chunk(row_group, file.footer.leaves[column])
