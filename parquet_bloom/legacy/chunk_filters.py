"""The legacy filters that one column chunk has.

published  bloom_filter_offset      → murmur3, where today's readers look for today's filters
private    a note in its metadata   → murmur3, by pbloom
private    its Statistics           the filter of the dialect statistics itself
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from parquet_bloom.errors import FilterError, FormatError, UnsupportedError
from parquet_bloom.legacy.murmur3 import block_filter, headers
from parquet_bloom.legacy.murmur3.block_filter import (
    FIELD_POINTER,
    NOTE_POINTER,
    BlockFilter,
    Place,
)
from parquet_bloom.legacy.murmur3.headers import OldHeader
from parquet_bloom.legacy.murmur3.pointers import note_of
from parquet_bloom.legacy.statistics import stored as statistics
from parquet_bloom.parquet.legacy_kind import UnusableLegacy
from parquet_bloom.parquet.pages.pages import located

if TYPE_CHECKING:
    from parquet_bloom.parquet.file import ParquetFile
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
    from parquet_bloom.parquet.legacy_kind import LegacyFilter
    from parquet_bloom.vocabulary import LegacyDialect


def headers_at(file: ParquetFile, chunk: ColumnChunk) -> tuple[OldHeader, ...]:
    """What the legacy header at bloom_filter_offset may be, whatever is behind it; none if there is
    no such header, or the column is encrypted."""
    offset, end = chunk.bloom_filter_offset, file.footer.start
    if offset is None or chunk.has_crypto_metadata or not 4 <= offset < end:
        return ()
    return headers.read(file.source.read_at(offset, min(headers.MAX_HEADER_BYTES, end - offset)))


def published(file: ParquetFile, chunk: ColumnChunk, seed: int | None = None) -> BlockFilter | None:
    """The legacy filter that bloom_filter_offset leads to; None if it leads to no such filter.

    seed: of its hash; otherwise a note, or the chunk's values, tell it. Raises FilterError for a
    filter that cannot be trusted to find every value, PageError and UnsupportedError if values
    cannot be read.
    """
    offset = chunk.bloom_filter_offset
    if offset is None or not headers_at(file, chunk):
        return None
    found = block_filter.find(file, chunk, FIELD_POINTER, offset)
    if seed is None:
        note = note_of(file.footer, chunk)
        if note is not None and note.offset == offset:
            place = block_filter.noted_place(file, chunk, note, found)
            return block_filter.read(file, place, chunk.leaf.type)
    return _chosen(file, chunk, list(block_filter.places(FIELD_POINTER, offset, found, seed)))


def _chosen(file: ParquetFile, chunk: ColumnChunk, candidates: list[Place]) -> BlockFilter:
    """The right one of several places, by the values: a header is too little to be trusted."""
    where = f"{file.path}: {chunk.where}"
    if not candidates:
        raise FilterError(f"{where}: the hash of this old filter takes no seed")
    with located(file.footer, chunk):
        recognised = block_filter.fitting(file, chunk, candidates)
    if not recognised.is_complete:
        raise FilterError(f"{where}: {block_filter.INCOMPLETE}")
    return recognised.reading


def noted(file: ParquetFile, chunk: ColumnChunk) -> BlockFilter | None:
    """The filter that our own note leads to. Raises FilterError for a note that leads nowhere."""
    note = note_of(file.footer, chunk)
    if note is None:
        return None
    found = block_filter.find(file, chunk, NOTE_POINTER, note.offset)
    place = block_filter.noted_place(file, chunk, note, found)
    return block_filter.read(file, place, chunk.leaf.type)


def in_statistics(file: ParquetFile, chunk: ColumnChunk) -> LegacyFilter | None:
    """The filter inside the chunk's Statistics. Raises as `published`."""
    stored = statistics.read_stored(file.footer, chunk)
    return None if stored is None else statistics.usable(file, chunk, stored)


def of_dialect(
    file: ParquetFile, chunk: ColumnChunk, dialect: LegacyDialect, seed: int | None = None
) -> LegacyFilter | None:
    """The chunk's filter of this dialect, one with a note before one that is published."""
    if dialect == "statistics":
        return in_statistics(file, chunk)
    return (noted(file, chunk) if seed is None else None) or published(file, chunk, seed)


def private(file: ParquetFile, chunk: ColumnChunk) -> Iterator[LegacyFilter | UnusableLegacy]:
    """The filters to which bloom_filter_offset does not lead."""
    yield from _private_block_filter(file, chunk)
    yield from _statistics_filter(file, chunk)


def _private_block_filter(
    file: ParquetFile, chunk: ColumnChunk
) -> Iterator[LegacyFilter | UnusableLegacy]:
    try:
        filter = noted(file, chunk)
    except FilterError as error:
        yield UnusableLegacy("murmur3", NOTE_POINTER, str(error))
        return
    if filter is not None and filter.offset != chunk.bloom_filter_offset:
        yield filter


def _statistics_filter(
    file: ParquetFile, chunk: ColumnChunk
) -> Iterator[LegacyFilter | UnusableLegacy]:
    try:
        filter = in_statistics(file, chunk)
    except (FormatError, UnsupportedError) as error:
        yield UnusableLegacy("statistics", "Statistics", str(error))
        return
    if filter is not None:
        yield filter
