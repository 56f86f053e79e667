"""The filters of older dialects that one column chunk has.

bloom_filter_offset          → murmur3, where today's readers look for today's filters
a note in its metadata       → murmur3, by pbloom
its Statistics               the filter of the statistics dialect itself
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, get_args

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
from parquet_bloom.legacy.murmur3.schemes import MAX_SEED
from parquet_bloom.legacy.statistics import stored as statistics
from parquet_bloom.parquet.pages.pages import located

if TYPE_CHECKING:
    from parquet_bloom.legacy.other_filter import OtherFilter
    from parquet_bloom.parquet.file import ParquetFile
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk

OlderDialect = Literal["murmur3", "statistics"]

# Of the filters that a Parquet file may have.
Dialect = Literal["xxhash", "murmur3", "statistics"]

OLDER_DIALECTS: Final[tuple[OlderDialect, ...]] = ("murmur3", "statistics")

NO_FILTER = "no filter of this dialect"


def check_asked(dialect: Dialect | None, seed: int | None) -> None:
    """Raise ValueError for a dialect that there is not, and for a seed that has no use, or cannot be
    one."""
    if dialect not in (None, *get_args(Dialect)):
        raise ValueError(f"dialect: {dialect}, expected {', '.join(get_args(Dialect))}")
    if seed is not None and (dialect != "murmur3" or not 0 <= seed <= MAX_SEED):
        raise ValueError(f"seed: {seed}, expected 0 to {MAX_SEED}, with the dialect murmur3")


@dataclass(frozen=True, slots=True)
class Unusable:
    """A filter that cannot be asked, for this reason; `pointer`: what leads to it."""

    dialect: OlderDialect
    pointer: str
    reason: str


def leads_to_older(file: ParquetFile, chunk: ColumnChunk) -> bool:
    """Whether there is a header of an older dialect at bloom_filter_offset."""
    return bool(headers_at(file, chunk))


def headers_at(file: ParquetFile, chunk: ColumnChunk) -> tuple[OldHeader, ...]:
    """What it may be, whatever is behind it; none for an encrypted column."""
    offset, end = chunk.bloom_filter_offset, file.footer.start
    if offset is None or chunk.has_crypto_metadata or not 4 <= offset < end:
        return ()
    return headers.read(file.source.read_at(offset, min(headers.MAX_HEADER_BYTES, end - offset)))


def published(file: ParquetFile, chunk: ColumnChunk, seed: int | None = None) -> BlockFilter | None:
    """The older filter that bloom_filter_offset leads to; None if what it leads to is another one.

    seed: of its hash; otherwise a note, or the chunk's values, tell it. Raises FilterError for a
    filter that cannot be trusted to find every value, PageError and UnsupportedError if values
    cannot be read.
    """
    offset = chunk.bloom_filter_offset
    if offset is None or not leads_to_older(file, chunk):
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


def in_statistics(file: ParquetFile, chunk: ColumnChunk) -> OtherFilter | None:
    """The filter inside the chunk's Statistics. Raises as `published`."""
    stored = statistics.read_stored(file.footer, chunk)
    return None if stored is None else statistics.usable(file, chunk, stored)


def of_dialect(
    file: ParquetFile, chunk: ColumnChunk, dialect: OlderDialect, seed: int | None = None
) -> OtherFilter | None:
    """The chunk's filter of this dialect, one with a note before one that is published."""
    if dialect == "statistics":
        return in_statistics(file, chunk)
    return (noted(file, chunk) if seed is None else None) or published(file, chunk, seed)


def hidden(file: ParquetFile, chunk: ColumnChunk) -> Iterator[OtherFilter | Unusable]:
    """The filters to which bloom_filter_offset does not lead."""
    yield from _hidden_block_filter(file, chunk)
    yield from _statistics_filter(file, chunk)


def _hidden_block_filter(file: ParquetFile, chunk: ColumnChunk) -> Iterator[OtherFilter | Unusable]:
    try:
        filter = noted(file, chunk)
    except FilterError as error:
        yield Unusable("murmur3", NOTE_POINTER, str(error))
        return
    if filter is not None and filter.offset != chunk.bloom_filter_offset:
        yield filter


def _statistics_filter(file: ParquetFile, chunk: ColumnChunk) -> Iterator[OtherFilter | Unusable]:
    try:
        filter = in_statistics(file, chunk)
    except (FormatError, UnsupportedError) as error:
        yield Unusable("statistics", "Statistics", str(error))
        return
    if filter is not None:
        yield filter
