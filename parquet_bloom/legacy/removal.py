"""What to remove of legacy filters: notes and structs in Statistics always, the bytes of a filter if
they are the last before the footer."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial

from parquet_bloom.errors import FilterError
from parquet_bloom.legacy.chunk_filters import noted
from parquet_bloom.legacy.murmur3.pointers import Note, every_note, note_fields, note_of
from parquet_bloom.legacy.statistics.edits import removed
from parquet_bloom.legacy.statistics.stored import has_filter
from parquet_bloom.parquet.edit.strip import LegacyRemoval
from parquet_bloom.parquet.file import ParquetContainer
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.layout import Range
from parquet_bloom.parquet.footer.moved import Moves
from parquet_bloom.parquet.sealed.opened_chunks import Fields


def removal_of(file: ParquetContainer, chunks: Collection[ColumnChunk]) -> LegacyRemoval:
    """The legacy filters of `chunks`; encrypted ones have none."""
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
        if has_filter(file.footer, chunk):
            edits[chunk.key] = {**edits.get(chunk.key, {}), **removed(file.footer, chunk)}
            offsets[chunk.key] = (*offsets.get(chunk.key, ()), None)
    certain = [place for place in ranges.values() if place is not None]
    notes = _staying(file, ranges)
    staying = None if notes is None else [(note.offset, note.end) for note in notes.values()]
    return LegacyRemoval(edits, offsets, certain, staying, partial(_moved, file, notes or {}))


def _has_note(file: ParquetContainer, chunk: ColumnChunk) -> bool:
    """Whether there is a note, even a damaged one."""
    try:
        return note_of(file.footer, chunk) is not None
    except FilterError:
        return True


def _range(file: ParquetContainer, chunk: ColumnChunk) -> Range | None:
    """Where the note's filter is; None if the note leads nowhere."""
    try:
        filter = noted(file, chunk)
    except FilterError:
        return None
    return None if filter is None else (filter.offset, filter.offset + filter.stored_bytes)


def _staying(file: ParquetContainer, gone: Collection[ChunkKey]) -> dict[ChunkKey, Note] | None:
    """The notes that stay; None if one of them is damaged, so that its filter may be anywhere."""
    try:
        return {chunk.key: note for chunk, note in every_note(file.footer) if chunk.key not in gone}
    except FilterError:
        return None


def _moved(
    file: ParquetContainer, notes: Mapping[ChunkKey, Note], moves: Moves
) -> dict[ChunkKey, Fields]:
    """The edits for notes about filters that move."""
    return {
        key: note_fields(file.footer, file.chunk_at(key), replace(note, offset=moves(note.offset)))
        for key, note in notes.items()
        if moves(note.offset) != note.offset
    }
