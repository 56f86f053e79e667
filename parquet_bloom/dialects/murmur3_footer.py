"""The footer of a file that has got old split block filters, and the proof that the rest is as it was."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from parquet_bloom.dialects.murmur3 import Murmur3
from parquet_bloom.dialects.murmur3_places import Added
from parquet_bloom.dialects.new_version import pieces
from parquet_bloom.dialects.pointers import (
    KEY_VALUE_METADATA,
    Note,
    every_note,
    note_fields,
    note_of,
)
from parquet_bloom.errors import RewriteError
from parquet_bloom.files import ParquetFile
from parquet_bloom.native import _kernel
from parquet_bloom.parquet import compact
from parquet_bloom.parquet.chunk_table import ChunkKey
from parquet_bloom.parquet.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer import Footer
from parquet_bloom.parquet.moved import Moves, moved_footer, moved_offset_index
from parquet_bloom.parquet.opened_chunks import Fields

_OFFSET, _LENGTH = 14, 15


def new_footer(file: ParquetFile, start: int, added: Added, dialect: Murmur3) -> Footer:
    """The footer with the pointers to what was added, at `start`."""
    old = file.footer
    moved = Footer(
        moved_footer(old.raw, added.moves, added.lengths), start, old.where, old.protection
    )
    notes = _moved_notes(file, added.moves) | added.notes
    fields: dict[ChunkKey, Fields] = {}
    for key, note in notes.items():
        chunk = _chunk(moved, key)
        fields[key] = note_fields(moved, chunk, note)
        if dialect.publish_offset and key in added.notes:
            fields[key] = {**fields[key], **_published(note)}
    return Footer(moved.with_fields(fields), start, old.where, old.protection)


def _published(note: Note) -> Fields:
    """As old writers had it: without a length."""
    offset = (compact.TYPE_I64, compact.zigzag(note.offset))
    return {_OFFSET: offset, _LENGTH: None}


def _moved_notes(file: ParquetFile, moves: Moves) -> dict[ChunkKey, Note]:
    """The notes of filters that stay, where those have moved."""
    if not moves.places:
        return {}
    return {
        chunk.key: replace(note, offset=moves(note.offset))
        for chunk, note in every_note(file.footer)
    }


def _chunk(footer: Footer, key: ChunkKey) -> ColumnChunk:
    row_group, column = key
    return footer.chunk(row_group, footer.leaves[column])


def check_version(
    old: ParquetFile, new: ParquetFile, size: int, added: Added, dialect: Murmur3
) -> None:
    """Raise RewriteError unless the new file is the old one but for what was added."""
    if new.source.size != size:
        raise RewriteError(f"{new.source.size} bytes, expected {size}")
    if _restored(old, new.footer, added, dialect) != old.footer.raw:
        raise RewriteError("the footer differs in more than the filters")
    for key, note in added.notes.items():
        chunk = _chunk(new.footer, key)
        if note_of(new.footer, chunk) != note:
            raise RewriteError(f"{chunk.where}: the note differs from what was written")
        stored = new.source.read_at(note.offset, note.length)
        if _kernel.xxh64(stored) != added.digests[key]:
            raise RewriteError(f"{chunk.where}: the filter differs from what was built")
    for start, end, place in added.copied:
        for at, length in pieces(start, end):
            if old.source.read_at(at, length) != new.source.read_at(place + at - start, length):
                raise RewriteError(f"bytes {start} to {end} are not what they were")
    moves = added.moves
    for start, length in added.lengths.items():
        index = moved_offset_index(new.source.read_at(moves(start), length), moves.back)
        if old.source.read_at(start, len(index)) != index:
            raise RewriteError(f"the offset index at {start} differs in more than its offsets")


def _restored(old: ParquetFile, new: Footer, added: Added, dialect: Murmur3) -> bytes:
    """The new FileMetaData with every change undone."""
    published = added.notes if dialect.publish_offset else {}
    changed = {chunk.key for chunk, _ in every_note(new)}
    without_new = {
        key: _fields(old.footer, key, (KEY_VALUE_METADATA,))
        | ({_OFFSET: None} if key in published else {})
        for key in changed
    }
    lengths = {added.moves(start): _old_length(old.footer, start) for start in added.lengths}
    raw = moved_footer(new.with_fields(without_new), added.moves.back, lengths)
    moved_back = Footer(raw, old.footer.start, old.path, old.footer.protection)
    pointers = {key: _fields(old.footer, key, (_OFFSET, _LENGTH)) for key in published}
    return moved_back.with_fields(pointers)


def _old_length(footer: Footer, start: int) -> int:
    starts = footer.chunks.every("offset_index_offset")
    return footer.chunks.every("offset_index_length")[starts.index(start)]


def _fields(
    footer: Footer, key: ChunkKey, numbers: Iterable[int]
) -> dict[int, tuple[int, bytes] | None]:
    """Fields of a ColumnMetaData as they are; None for what it has not."""
    text, start = footer.meta_data(_chunk(footer, key))
    there = {
        number: (kind, text[value:end])
        for number, kind, _, value, end in _kernel.fields(text, start)
    }
    return {number: there.get(number) for number in numbers}
