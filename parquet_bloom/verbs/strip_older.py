"""Remove filters of older dialects, together with those of today: pointers, notes and what lies in
the Statistics always, the bytes where they are the last before the footer."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from parquet_bloom.errors import FilterError
from parquet_bloom.legacy.chunk_filters import noted
from parquet_bloom.legacy.murmur3.pointers import every_note, note_fields, note_of
from parquet_bloom.legacy.new_version import Version, unchecked, write_version
from parquet_bloom.legacy.presence import OlderFilters
from parquet_bloom.legacy.statistics.edits import check_fields, removed
from parquet_bloom.legacy.statistics.stored import read_stored
from parquet_bloom.parquet.file import ParquetFile
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.footer import NO_POINTER
from parquet_bloom.parquet.plaintext_filters import leaks
from parquet_bloom.parquet.sealed.opened_chunks import Fields
from parquet_bloom.parquet.writer import kept_end
from parquet_bloom.storage.new_version import Target


def older_filters(file: ParquetFile, chunks: Collection[ColumnChunk]) -> OlderFilters:
    """What of older dialects `chunks` have; encrypted ones have nothing."""
    plain = [chunk for chunk in chunks if not chunk.has_crypto_metadata]
    noted = {chunk.key: _range(file, chunk) for chunk in plain if _has_note(file, chunk)}
    return OlderFilters(noted, {chunk.key for chunk in plain if _is_in_statistics(file, chunk)})


def _has_note(file: ParquetFile, chunk: ColumnChunk) -> bool:
    try:
        return note_of(file.footer, chunk) is not None
    except FilterError:
        return True


def _range(file: ParquetFile, chunk: ColumnChunk) -> tuple[int, int] | None:
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


def strip_older(
    file: ParquetFile,
    target: Target | None,
    pointing: Mapping[ChunkKey, ColumnChunk],
    found: OlderFilters,
    verify: bool,
) -> int:
    """Write `file` without the filters that the footer points to from `pointing`, and without those
    that were `found`; returns its size. Raises RewriteError, OSError."""
    edits = {key: _edit(file, key, pointing, found) for key in {*pointing, *found.keys}}
    tail = file.footer.protection.tail(file.footer.with_fields(edits))

    def compose(version: Version) -> None:
        version.append(tail)

    def check(new: ParquetFile) -> None:
        check_fields(file, edits, new)

    prefix = _kept_end(file, pointing, found)
    erased = [place for leak in leaks(file, dict.fromkeys(pointing)) for place in leak.erasable]
    return write_version(file, target, prefix, compose, check if verify else unchecked, erased)


def _edit(
    file: ParquetFile,
    key: ChunkKey,
    pointing: Collection[ChunkKey],
    found: OlderFilters,
) -> Fields:
    row_group, column = key
    chunk = file.footer.chunk(row_group, file.footer.leaves[column])
    return {
        **(NO_POINTER if key in pointing else {}),
        **(note_fields(file.footer, chunk, None) if key in found.noted else {}),
        **(removed(file.footer, chunk) if key in found.in_statistics else {}),
    }


def _kept_end(
    file: ParquetFile, pointing: Mapping[ChunkKey, ColumnChunk], found: OlderFilters
) -> int:
    try:
        notes = {chunk.key: note for chunk, note in every_note(file.footer)}
    except FilterError:
        # Somewhere a filter may lie of which nobody knows.
        return file.footer.start
    kept = [note for key, note in notes.items() if key not in found.noted]
    return kept_end(
        file,
        pointing,
        [place for place in found.noted.values() if place is not None],
        max((note.offset + note.length for note in kept), default=0),
    )
