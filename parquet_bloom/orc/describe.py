"""What an ORC file says of its filters, by stripe, column and index group, or why there are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from parquet_bloom.container import STRIPES, FilterDescription, Place
from parquet_bloom.container.descriptions import (
    ChunkDescription,
    FilterStream,
    GroupDescription,
    GroupFilter,
    Look,
    StoredFilter,
    finite,
)
from parquet_bloom.errors import ColumnError, FilterError, ParquetBloomError
from parquet_bloom.orc import writers
from parquet_bloom.orc.bloom import StoredIndex, stored_messages
from parquet_bloom.orc.chunk import OrcChunk
from parquet_bloom.orc.row_index import NAN, IndexEntry
from parquet_bloom.orc.stripe import OrcStream, Stripe, read_stream
from parquet_bloom.vocabulary import NO_FILTER

if TYPE_CHECKING:
    from parquet_bloom.filters.k_hash import KHashFilter
    from parquet_bloom.orc.columns import OrcColumn
    from parquet_bloom.orc.tail import Tail
    from parquet_bloom.orc.writers import Generation
    from parquet_bloom.storage.source import Source

DIALECT = "orc"

Entries = tuple[IndexEntry, ...]


class OpenFile(Protocol):
    """What an OrcFile is to this module."""

    @property
    def path(self) -> str: ...
    @property
    def source(self) -> Source: ...
    @property
    def tail(self) -> Tail: ...
    @property
    def generation(self) -> Generation: ...

    def filters(self, stripe: int, column: OrcColumn) -> StoredIndex | None: ...
    def usable_filters(self, stripe: int, column: OrcColumn) -> tuple[StoredIndex | None, str]: ...
    def row_index(self, stripe: int, column: OrcColumn) -> Entries | None: ...


def describe(file: OpenFile, chunk: OrcChunk, groups: bool, look: Look | None) -> ChunkDescription:
    """One column in one stripe."""
    stripe, column = chunk.stripe, chunk.column
    stored, reason = file.usable_filters(stripe.index, column)
    entries = _row_index(file, stripe, column)
    streams = chunk.filter_streams
    if look is not None and stored is not None:
        for filter in stored.filters:
            look(filter)
    return ChunkDescription(
        column=column.name,
        physical_type=column.physical_type,
        logical_type=column.logical_type,
        num_values=_num_values(entries),
        chunk_bytes=sum(
            stream.length for stream in stripe.all_streams_of(column.id) if not stream.is_index
        ),
        filter=None if stored is None else _description(stored, streams),
        reason=reason or None,
        notes=_notes(file, column, stored, entries),
        column_id=column.id,
        encoding=stripe.encoding(column.id),
        streams=tuple(FilterStream(each.name, each.offset, each.length) for each in streams),
        groups=_groups(stripe, stored, entries) if groups else None,
    )


def _row_index(file: OpenFile, stripe: Stripe, column: OrcColumn) -> Entries | None:
    try:
        return file.row_index(stripe.index, column)
    except ParquetBloomError:
        return None


def _num_values(entries: Entries | None) -> int | None:
    counts = [entry.statistics.num_values if entry.statistics else None for entry in entries or ()]
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None


def _notes(
    file: OpenFile, column: OrcColumn, stored: StoredIndex | None, entries: Entries | None
) -> tuple[str, ...]:
    if stored is None:
        return ()
    found = [entry.statistics for entry in entries or ()]
    reasons = writers.ignored(
        file.generation,
        column,
        stored.stream.kind,
        stored.bloom_encoding,
        has_statistics=bool(found) and None not in found,
    )
    not_numbers = sum(each is not None and each.sum == NAN for each in found)
    if not_numbers and not reasons:
        groups = "index group" if not_numbers == 1 else "index groups"
        reasons = (f"ignored by ORC Java and C++ in {not_numbers} {groups}: the sum is NaN",)
    doubt = writers.doubt(file.generation, column, stored)
    return (*reasons, doubt) if doubt else reasons


def _description(stored: StoredIndex, streams: Sequence[OrcStream]) -> FilterDescription:
    """Of those in the stream that readers take; the other one takes room, too."""
    return filter_description(stored, stored.filters, sum(each.length for each in streams))


def filter_description(
    stored: StoredIndex, filters: Sequence[KHashFilter], stored_bytes: int
) -> FilterDescription:
    """Of some of the filters, which take so many bytes in the file."""
    fpps = [filter.fpp for filter in filters]
    return FilterDescription(
        dialect=DIALECT,
        offset=stored.stream.offset,
        length=stored.stream.length,
        stored_bytes=stored_bytes,
        num_filters=len(filters),
        num_bytes=sum(filter.num_bytes for filter in filters),
        fill=sum(filter.fill for filter in filters) / len(filters),
        fpp=sum(fpps) / len(filters),
        worst_fpp=max(fpps),
        ndv_estimate=finite(max(filter.ndv_estimate for filter in filters)),
        stream=stored.stream.name,
        bloom_encoding=stored.bloom_encoding,
        num_hashes=_the_same([filter.num_hashes for filter in filters]),
        num_bits=_the_same([filter.num_bits for filter in filters]),
        marked=stored.is_marked,
    )


def _the_same(numbers: Sequence[int]) -> int | None:
    return numbers[0] if len(set(numbers)) == 1 else None


def _groups(
    stripe: Stripe, stored: StoredIndex | None, entries: Entries | None
) -> tuple[GroupDescription, ...]:
    return tuple(
        GroupDescription(
            place=Place(stripe.index, group, STRIPES),
            first_row=stripe.first_row + stripe.group_first_row(group),
            num_rows=stripe.group_num_rows(group),
            positions=entries[group].positions if entries else None,
            statistics=entries[group].statistics if entries else None,
            filter=_group_filter(stored.filters[group]) if stored else None,
        )
        for group in range(stripe.num_index_groups)
    )


def _group_filter(filter: KHashFilter) -> GroupFilter:
    return GroupFilter(
        num_hashes=filter.num_hashes,
        num_bits=filter.num_bits,
        fill=filter.fill,
        fpp=filter.fpp,
        ndv_estimate=finite(filter.ndv_estimate),
    )


def stored_filter(file: OpenFile, chunk: OrcChunk, group: int) -> StoredFilter:
    """The message of one filter, once expanded, and its words. Raises ColumnError, FilterError if
    there is none that can be used, FooterError, UnsupportedError."""
    stripe, column = chunk.stripe, chunk.column
    place = Place(stripe.index, group, STRIPES)
    where = f"{file.path}: {place}"
    if not 0 <= group < stripe.num_index_groups:
        raise ColumnError(f"{where}: expected 0 to {stripe.num_index_groups - 1}")
    stored = file.filters(stripe.index, column)
    if stored is None:
        raise FilterError(f"{where}, column {column.name}: {NO_FILTER}")
    data = read_stream(file.source, file.tail, stripe, stored.stream)
    filter = stored.filters[group]
    return StoredFilter(
        place=place,
        column=column.name,
        dialect=DIALECT,
        offset=stored.stream.offset,
        length=stored.stream.length,
        num_bytes=filter.num_bytes,
        bitset=bytes(filter.bitset),
        message=stored_messages(data, where)[group],
        stream=stored.stream.name,
        bloom_encoding=stored.bloom_encoding,
        num_hashes=filter.num_hashes,
        num_bits=filter.num_bits,
    )
