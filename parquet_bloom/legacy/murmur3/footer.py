"""The footer of a file with new murmur3 filters, and the proof that everything else is as it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import RewriteError
from parquet_bloom.legacy.murmur3.dialect import Murmur3
from parquet_bloom.legacy.murmur3.places import Added, offset_indexes
from parquet_bloom.legacy.murmur3.pointers import Note, every_note, note_fields, note_of
from parquet_bloom.legacy.presence import KEY_VALUE_METADATA
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.footer import NO_POINTER, Footer
from parquet_bloom.parquet.footer.moved import moved_footer, moved_offset_index
from parquet_bloom.parquet.open_file import OpenFile
from parquet_bloom.parquet.sealed.opened_chunks import Fields
from parquet_bloom.storage.local_output import COPY_CHUNK

_OFFSET = 14

_MOVING = (
    "data_page_offset",
    "dictionary_page_offset",
    "offset_index_offset",
    "column_index_offset",
)


@dataclass(frozen=True, slots=True)
class FooterEdit:
    """What changes in the footer: pointers to the filters that were `added`, and those to the filters
    that are `replaced` and had a note."""

    file: OpenFile
    dialect: Murmur3
    added: Added
    replaced: Mapping[ChunkKey, Note]

    @property
    def notes(self) -> dict[ChunkKey, Note]:
        """Of the filters that were added; their chunks may have moved since."""
        moves = self.added.moves
        return {
            key: replace(note, pages=moves(note.pages)) for key, note in self.added.notes.items()
        }

    @property
    def keys(self) -> set[ChunkKey]:
        """The chunks whose pointers change."""
        return {*self.added.notes, *self.replaced}


def new_footer(edit: FooterEdit, start: int) -> Footer:
    """The footer with the pointers to what was added, at `start`."""
    old, added, moves = edit.file.footer, edit.added, edit.added.moves
    moved = Footer(moved_footer(old.raw, moves, added.lengths), start, old.where, old.protection)
    notes: dict[ChunkKey, Note | None] = {
        chunk.key: replace(note, offset=moves(note.offset), pages=moves(note.pages))
        for chunk, note in (every_note(old) if moves.places else ())
    }
    notes |= dict.fromkeys(edit.replaced) | edit.notes
    fields = {
        key: {**note_fields(moved, _chunk(moved, key), note), **_pointer(edit, key)}
        for key, note in notes.items()
    }
    return Footer(moved.with_fields(fields), start, old.where, old.protection)


def _pointer(edit: FooterEdit, key: ChunkKey) -> Fields:
    """The edit of bloom_filter_offset, which old writers set without a length."""
    note = edit.added.notes.get(key)
    if note is not None and edit.dialect.publish_offset:
        return {**NO_POINTER, _OFFSET: (compact.TYPE_I64, compact.zigzag(note.offset))}
    replaced = edit.replaced.get(key)
    offset = _chunk(edit.file.footer, key).bloom_filter_offset
    return NO_POINTER if replaced is not None and offset == replaced.offset else {}


def _chunk(footer: Footer, key: ChunkKey) -> ColumnChunk:
    row_group, column = key
    return footer.chunk(row_group, footer.leaves[column])


def check_version(edit: FooterEdit, new: OpenFile) -> None:
    """Raise RewriteError unless the new file is the old one with only the filters added."""
    old, added = edit.file, edit.added
    for name in _MOVING:
        places = new.footer.chunks.every(name)
        if list(places) != list(map(added.moves, old.footer.chunks.every(name))):
            raise RewriteError(f"{name} is not where it was moved to")
    if _restored(edit, new.footer) != old.footer.raw:
        raise RewriteError("the footer differs in more than the filters")
    for key, note in edit.notes.items():
        chunk = _chunk(new.footer, key)
        if note_of(new.footer, chunk) != note:
            raise RewriteError(f"{chunk.where}: the note differs from what was written")
        stored = new.source.read_at(note.offset, note.length)
        if _kernel.xxh64(stored) != added.digests[key]:
            raise RewriteError(f"{chunk.where}: the filter differs from what was built")
    for start, end, place in added.copied:
        for at in range(start, end, COPY_CHUNK):
            length = min(COPY_CHUNK, end - at)
            if old.source.read_at(at, length) != new.source.read_at(place + at - start, length):
                raise RewriteError(f"bytes {start} to {end} are not as they were")
    moves = added.moves
    for start, length in added.lengths.items():
        index = moved_offset_index(new.source.read_at(moves(start), length), moves.back)
        if old.source.read_at(start, len(index)) != index:
            raise RewriteError(f"the offset index at {start} differs in more than its offsets")


def _restored(edit: FooterEdit, new: Footer) -> bytes:
    """The new FileMetaData with every change undone."""
    old, moves = edit.file.footer, edit.added.moves
    noted = {chunk.key for chunk, _ in every_note(new)} | edit.keys
    without_new = {key: dict(old.fields(_chunk(old, key), (KEY_VALUE_METADATA,))) for key in noted}
    for key in edit.keys:
        without_new[key] |= NO_POINTER
    lengths = {
        moves(start): end - start
        for start, end in offset_indexes(old)
        if start in edit.added.lengths
    }
    raw = moved_footer(new.with_fields(without_new), moves.back, lengths)
    moved_back = Footer(raw, old.start, old.where, old.protection)
    return moved_back.with_fields(
        {key: old.fields(_chunk(old, key), NO_POINTER) for key in edit.keys}
    )
