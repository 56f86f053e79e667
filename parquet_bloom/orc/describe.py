"""Describe the filters in an ORC file, by stripe, column and index group, or say why there are none."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from parquet_bloom.container import STRIPES, FilterDescription, Place, ReadFilter, number_of, one_of
from parquet_bloom.container.descriptions import (
    ChunkDescription,
    FilterBytes,
    FilterStream,
    GroupDescription,
    GroupFilter,
    OnBits,
    finite,
)
from parquet_bloom.errors import ColumnError, FilterError, ParquetBloomError
from parquet_bloom.orc import writers
from parquet_bloom.orc.bloom import StoredIndex, stored_messages
from parquet_bloom.orc.keys import never_absent
from parquet_bloom.orc.reader import OrcReader
from parquet_bloom.orc.row_index import GroupStatistics, IndexEntry, num_ignored
from parquet_bloom.orc.stripe import OrcChunk, Stripe
from parquet_bloom.vocabulary import NO_FILTER

if TYPE_CHECKING:
    from parquet_bloom.filters.k_hash import KHashFilter
    from parquet_bloom.orc.columns import OrcColumn

DIALECT = "orc"

Entries = tuple[IndexEntry, ...]


def describe(
    file: OrcReader, chunk: OrcChunk, groups: bool, on_bits: OnBits | None
) -> ChunkDescription:
    """One column in one stripe."""
    stripe, column = chunk.stripe, chunk.column
    stored, reason = file.usable_filters(stripe.index, column)
    unread = ""
    try:
        entries = file.row_index(stripe.index, column)
    except ParquetBloomError as error:
        entries = None
        unread = f"the row index cannot be read: {file.why(error, stripe.index, column)}"
    streams = chunk.filter_streams
    if on_bits is not None and stored is not None:
        for filter in stored.filters:
            on_bits(partial(_itself, filter))
    # The stream that readers do not take has a size, too.
    stored_bytes = sum(each.length for each in streams)
    return ChunkDescription(
        column=column.name,
        physical_type=column.physical_type,
        logical_type=column.logical_type,
        num_values=_num_values(entries),
        chunk_bytes=chunk.stored_bytes,
        filter=_description(stored, stored.filters, stored_bytes) if stored else None,
        reason=reason or None,
        notes=_notes(file, column, stored, entries or (), unread) if stored else (),
        column_id=column.id,
        encoding=stripe.encoding(column.id),
        streams=tuple(FilterStream(each.name, each.offset, each.length) for each in streams),
        groups=_groups(stripe, stored, entries) if groups else None,
    )


def _itself(filter: KHashFilter) -> KHashFilter:
    return filter


def _num_values(entries: Entries | None) -> int | None:
    counts = [entry.statistics.num_values if entry.statistics else None for entry in entries or ()]
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None


def _notes(
    file: OrcReader, column: OrcColumn, stored: StoredIndex, entries: Entries, unread: str
) -> tuple[str, ...]:
    """`unread`: why there are no `entries` where there should be."""
    found = [entry.statistics for entry in entries]
    reasons = writers.ignored(
        file.generation,
        column,
        stored.stream.kind,
        stored.bloom_encoding,
        has_statistics=bool(unread or found) and None not in found,
    )
    if not reasons:
        reasons = writers.ignored_groups(num_ignored(entries))
    doubt = writers.doubt(file.generation, column, stored)
    # Where the values are not what is hashed, writers leave them so.
    clear = 0 if never_absent(column) else _num_clear(stored.filters, found)
    groups = number_of(clear, "index group")
    lost = f"no bit is set in {groups} that may have values" if clear else ""
    return (*reasons, *filter(None, [unread, doubt, lost]))


def _num_clear(filters: Sequence[KHashFilter], found: Sequence[GroupStatistics | None]) -> int:
    """How many filters have no bit set, although their index groups may have values."""
    entries = found or [None] * len(filters)
    return sum(
        filter.bits_set == 0 and (each is None or each.num_values != 0)
        for filter, each in zip(filters, entries, strict=True)
    )


def _description(
    stored: StoredIndex, filters: Sequence[KHashFilter], stored_bytes: int
) -> FilterDescription:
    """Describe some of the filters, which take `stored_bytes` in the file."""
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


def read_filter(chunk: OrcChunk, stored: StoredIndex, filter: KHashFilter) -> ReadFilter:
    """One of the filters of a chunk, to be compared. Two are the same only if their keys are, too: in streams of
    one kind, or of both, with one bloomEncoding."""
    streams = sorted(each.name for each in chunk.filter_streams)
    says = {"the stream": " and ".join(streams), "bloomEncoding": str(stored.bloom_encoding)}
    return ReadFilter(filter, _description(stored, (filter,), stored.stream.length), says)


def stored_index(file: OrcReader, chunk: OrcChunk, group: int) -> StoredIndex:
    """The filters of a chunk that has this index group. Raises ColumnError if it has not,
    FilterError if it has no usable filters, FooterError, UnsupportedError."""
    stripe = chunk.stripe
    where = f"{file.path}: {Place(stripe.index, group, STRIPES)}"
    if not 0 <= group < stripe.num_index_groups:
        raise ColumnError(f"{where}: {one_of(stripe.num_index_groups, 'index groups', 'stripe')}")
    stored = file.filters(stripe.index, chunk.column)
    if stored is None:
        because = _why_needless(file, chunk)
        reason = f"{NO_FILTER}: {because}" if because else NO_FILTER
        raise FilterError(f"{where}, column {chunk.column.name}: {reason}")
    return stored


def _why_needless(file: OrcReader, chunk: OrcChunk) -> str | None:
    """Why none should be built where none is; None if one may be."""
    stripe, column = chunk.stripe, chunk.column
    if reason := never_absent(column):
        return reason
    try:
        stripe.check_indexed(column)
        has_values = _num_values(file.row_index(stripe.index, column)) != 0
    except ParquetBloomError as error:
        return file.why(error, stripe.index, column)
    return None if has_values else "the stripe has only nulls"


def stored_filter(file: OrcReader, chunk: OrcChunk, group: int) -> FilterBytes:
    """The message of one filter, decompressed, and its words. Raises as stored_index."""
    stored = stored_index(file, chunk, group)
    data = file.read_stream(chunk.stripe, stored.stream)
    place = Place(chunk.stripe.index, group, STRIPES)
    filter = stored.filters[group]
    return FilterBytes(
        place=place,
        column=chunk.column.name,
        dialect=DIALECT,
        offset=stored.stream.offset,
        length=stored.stream.length,
        num_bytes=filter.num_bytes,
        bitset=bytes(filter.bitset),
        message=stored_messages(data, f"{file.path}: {place}")[group],
        stream=stored.stream.name,
        bloom_encoding=stored.bloom_encoding,
        num_hashes=filter.num_hashes,
        num_bits=filter.num_bits,
    )
