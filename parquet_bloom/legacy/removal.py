"""What of legacy dialects goes when filters are removed: notes and what lies in the Statistics
always, the bytes where they are the last before the footer."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from parquet_bloom.errors import FilterError
from parquet_bloom.legacy.chunk_filters import noted
from parquet_bloom.legacy.murmur3.pointers import every_note, note_fields, note_of
from parquet_bloom.legacy.statistics.edits import removed
from parquet_bloom.legacy.statistics.stored import read_stored
from parquet_bloom.parquet.file import ParquetFile
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.layout import Range
from parquet_bloom.parquet.sealed.opened_chunks import Fields
from parquet_bloom.parquet.strip_change import LegacyRemoval


def removal_of(file: ParquetFile, chunks: Collection[ColumnChunk]) -> LegacyRemoval:
    """What of legacy dialects `chunks` have; encrypted ones have nothing."""
    edits: dict[ChunkKey, Fields] = {}
    offsets: dict[ChunkKey, tuple[int | None, ...]] = {}
    ranges: dict[ChunkKey, Range | None] = {}
    for chunk in chunks:
        if chunk.has_crypto_metadata:
            continue
        if _has_note(file, chunk):
            place = ranges[chunk.key] = _range(file, chunk)
            edits[chunk.key] = note_fields(file.footer, chunk, None)
            offsets[chunk.key] = (place and place[0],)
        if _is_in_statistics(file, chunk):
            edits[chunk.key] = {**edits.get(chunk.key, {}), **removed(file.footer, chunk)}
            offsets[chunk.key] = (*offsets.get(chunk.key, ()), None)
    if not edits:
        return LegacyRemoval()
    certain = [place for place in ranges.values() if place is not None]
    return LegacyRemoval(edits, offsets, certain, _kept_end(file, ranges))


def _has_note(file: ParquetFile, chunk: ColumnChunk) -> bool:
    try:
        return note_of(file.footer, chunk) is not None
    except FilterError:
        return True


def _range(file: ParquetFile, chunk: ColumnChunk) -> Range | None:
    try:
        filter = noted(file, chunk)
    except FilterError:
        return None
    return None if filter is None else (filter.offset, filter.offset + filter.stored_bytes)


def _is_in_statistics(file: ParquetFile, chunk: ColumnChunk) -> bool:
    try:
        return read_stored(file.footer, chunk) is not None
    except FilterError:
        return True


def _kept_end(file: ParquetFile, gone: Mapping[ChunkKey, Range | None]) -> int:
    """Where the last filter ends that has a note, and stays."""
    try:
        notes = {chunk.key: note for chunk, note in every_note(file.footer)}
    except FilterError:
        # Somewhere a filter may lie of which nobody knows.
        return file.footer.start
    kept = [note for key, note in notes.items() if key not in gone]
    return max((note.offset + note.length for note in kept), default=0)
