"""The legacy filters of one column chunk.

published  bloom_filter_offset      → murmur3, where today's readers look for today's filters
private    a note in its metadata   → murmur3, by pbloom
private    its Statistics           the filter of the dialect statistics itself
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from parquet_bloom.errors import FilterError, FormatError, UnsupportedError, without_place
from parquet_bloom.legacy.murmur3 import block_filter, headers
from parquet_bloom.legacy.murmur3.block_filter import FIELD_POINTER, NOTE_POINTER, BlockFilter
from parquet_bloom.legacy.murmur3.headers import LegacyHeader
from parquet_bloom.legacy.murmur3.pointers import Note, note_of
from parquet_bloom.legacy.statistics import stored as statistics
from parquet_bloom.parquet.filters.legacy_kind import UnusableLegacy

if TYPE_CHECKING:
    from parquet_bloom.parquet.file import ParquetContainer
    from parquet_bloom.parquet.filters.legacy_kind import LegacyFilter
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
    from parquet_bloom.vocabulary import LegacyDialect


def headers_at(file: ParquetContainer, chunk: ColumnChunk) -> tuple[LegacyHeader, ...]:
    """The readings of the legacy header at bloom_filter_offset, whatever follows it; none if there is
    no such header, or the column is encrypted."""
    offset, end = chunk.bloom_filter_offset, file.footer.start
    if offset is None or chunk.has_crypto_metadata or not 4 <= offset < end:
        return ()
    return headers.read(file.source.read_at(offset, min(headers.MAX_HEADER_BYTES, end - offset)))


def published(
    file: ParquetContainer, chunk: ColumnChunk, seed: int | None = None
) -> BlockFilter | None:
    """The legacy filter at bloom_filter_offset, if there is one.

    seed: of its hash; without it, a note or the chunk's values tell. Raises FilterError for a filter
    that cannot be trusted to find every value, or has another seed by its note, PageError and
    UnsupportedError if values cannot be read.
    """
    offset = chunk.bloom_filter_offset
    if offset is None or not headers_at(file, chunk):
        return None
    note = _note(file, chunk, seed)
    if note is not None and note.offset == offset:
        return noted(file, chunk, seed)
    found = block_filter.headers_in_place(file, chunk, FIELD_POINTER, offset)
    readings = block_filter.places(FIELD_POINTER, offset, found, seed)
    if not readings:
        where = f"{file.path}: {chunk.where}"
        raise FilterError(f"{where}: the hash of this legacy filter takes no seed")
    # A header is too short to be trusted.
    return block_filter.fitting(file, chunk, readings).checked()


def noted(
    file: ParquetContainer, chunk: ColumnChunk, seed: int | None = None
) -> BlockFilter | None:
    """The filter that our own note leads to. Raises FilterError for a note that leads nowhere, or has
    another seed than the one that was given."""
    note = _note(file, chunk, seed)
    if note is None:
        return None
    if seed not in (None, note.seed):
        where = f"{file.path}: {chunk.where}"
        raise FilterError(f"{where}: legacy filter: expected seed {seed}, found {note.seed}")
    found = block_filter.headers_in_place(file, chunk, NOTE_POINTER, note.offset)
    return block_filter.read(file, chunk, block_filter.noted_place(file, chunk, note, found))


def _note(file: ParquetContainer, chunk: ColumnChunk, seed: int | None) -> Note | None:
    """The chunk's note. Who gives a seed needs none, so that a damaged one does not matter."""
    try:
        return note_of(file.footer, chunk)
    except FilterError:
        if seed is None:
            raise
        return None


def statistics_filter(file: ParquetContainer, chunk: ColumnChunk) -> LegacyFilter | None:
    """The filter inside the chunk's Statistics. Raises as `published`."""
    stored = statistics.read_stored(file.footer, chunk)
    return None if stored is None else statistics.usable(file, chunk, stored)


def find(
    file: ParquetContainer, chunk: ColumnChunk, dialect: LegacyDialect, seed: int | None = None
) -> LegacyFilter | None:
    """The chunk's filter of this dialect; one with a note rather than a published one."""
    if dialect == "statistics":
        return statistics_filter(file, chunk)
    return noted(file, chunk, seed) or published(file, chunk, seed)


def private(file: ParquetContainer, chunk: ColumnChunk) -> Iterator[LegacyFilter | UnusableLegacy]:
    """The filters that bloom_filter_offset does not lead to."""
    for dialect, pointer, read in _PRIVATE:
        try:
            filter = read(file, chunk)
        except (FormatError, UnsupportedError) as error:
            reason = without_place(error, file.path, chunk.where)
            yield UnusableLegacy(dialect, pointer, reason)
            continue
        if filter is not None and (filter.offset or 0) != chunk.bloom_filter_offset:
            yield filter


_PRIVATE: tuple[
    tuple[LegacyDialect, str, Callable[[ParquetContainer, ColumnChunk], LegacyFilter | None]], ...
] = (("murmur3", NOTE_POINTER, noted), ("statistics", "Statistics", statistics_filter))
