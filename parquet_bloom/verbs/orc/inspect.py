"""What filters an ORC file has: per stripe and column, and if asked per index group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Literal

from parquet_bloom.errors import ParquetBloomError
from parquet_bloom.filters.k_hash import KHashFilter
from parquet_bloom.orc import writers
from parquet_bloom.orc.bloom import StoredIndex
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.file import OrcFile
from parquet_bloom.orc.row_index import NAN, GroupStatistics, IndexEntry
from parquet_bloom.orc.stripe import FILTER_KINDS, OrcStream, Stripe


@dataclass(frozen=True, slots=True)
class FilterStream:
    """A stream of filters in the file: `length` bytes from `offset`, as they are stored."""

    kind: str
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class OrcFilterInspection:
    """The filters of one column in one stripe, in the stream that readers would take.

    `bloom_encoding` is what the stripe footer says of it. `num_hashes` and `num_bits` are those of
    each filter, None if they differ; `num_bytes` is what the bits of all take. `fill` and `fpp`,
    which is computed from the bits, are means; `worst_fpp` and `ndv_estimate` are the most of one
    index group, the latter None if every bit of a filter is set. `marked`: pbloom built them.
    """

    kind: str
    offset: int
    length: int
    bloom_encoding: int
    num_filters: int
    num_hashes: int | None
    num_bits: int | None
    num_bytes: int
    fill: float
    fpp: float
    worst_fpp: float
    ndv_estimate: float | None
    dialect: str
    marked: bool


@dataclass(frozen=True, slots=True)
class GroupFilterInspection:
    """The filter of one index group; `ndv_estimate` is None if all bits are set."""

    num_hashes: int
    num_bits: int
    fill: float
    fpp: float
    ndv_estimate: float | None


@dataclass(frozen=True, slots=True)
class IndexGroupInspection:
    """One index group of a column; `first_row` counts from the start of the file.

    `positions`: where it starts in the streams of the column, as stored; None without a row index,
    as are the statistics.
    """

    index_group: int
    first_row: int
    num_rows: int
    positions: tuple[int, ...] | None
    statistics: GroupStatistics | None
    filter: GroupFilterInspection | None


@dataclass(frozen=True, slots=True)
class OrcColumnInspection:
    """One column in one stripe; `reason` says why `filter` is None.

    `num_values`: nulls not counted, None if no row index says so. `data_bytes`: its data streams.
    `streams`: all streams of filters that it has. `notes`: why readers do not look into the
    filters, and what makes them doubtful. `index_groups` is None unless they were asked for.
    """

    column: str
    column_id: int
    type: str
    encoding: str
    num_values: int | None
    data_bytes: int
    streams: tuple[FilterStream, ...]
    filter: OrcFilterInspection | None
    reason: str | None
    notes: tuple[str, ...]
    index_groups: tuple[IndexGroupInspection, ...] | None


@dataclass(frozen=True, slots=True)
class StripeInspection:
    """One stripe; without a row index it is one index group. `writer_timezone` is empty if the
    writer notes none."""

    stripe: int
    offset: int
    num_rows: int
    num_index_groups: int
    writer_timezone: str
    columns: tuple[OrcColumnInspection, ...]


@dataclass(frozen=True, slots=True)
class OrcInspection:
    """One file. `row_index_stride`: rows of an index group, 0 without an index. `filter_bytes` are
    those of all filter streams inspected; `filter_share` is of `size`."""

    path: str
    format: Literal["orc"]
    size: int
    created_by: str
    compression: str
    encrypted: bool
    num_rows: int
    num_stripes: int
    row_index_stride: int
    stripes: tuple[StripeInspection, ...]
    filter_bytes: int
    filter_share: float

    @property
    def num_filters(self) -> int:
        """Those of all index groups that can be used."""
        return sum(
            column.filter.num_filters
            for stripe in self.stripes
            for column in stripe.columns
            if column.filter
        )


def inspect_orc(
    file: OrcFile,
    *,
    columns: Sequence[str] | None = None,
    stripes: Sequence[int] | None = None,
    index_groups: bool = False,
) -> OrcInspection:
    """Describe the filters of `columns` (dotted names; default: all) in `stripes`.

    index_groups: each of them, too. Raises ColumnError, FooterError, UnsupportedError, OSError. A
    filter that cannot be used is not an error: its column has a `reason`.
    """
    found = file.named_columns(columns)
    inspected = tuple(
        _inspect_stripe(file, file.stripe(index), found, index_groups)
        for index in file.stripes(stripes)
    )
    filter_bytes = sum(
        stream.length
        for stripe in inspected
        for column in stripe.columns
        for stream in column.streams
    )
    return OrcInspection(
        path=file.path,
        format=file.format,
        size=file.source.size,
        created_by=file.generation.created_by,
        compression=file.tail.compression.name,
        encrypted=file.tail.is_encrypted,
        num_rows=file.num_rows,
        num_stripes=file.num_stripes,
        row_index_stride=file.tail.row_index_stride,
        stripes=inspected,
        filter_bytes=filter_bytes,
        filter_share=filter_bytes / file.source.size,
    )


def _inspect_stripe(
    file: OrcFile, stripe: Stripe, columns: Sequence[OrcColumn], index_groups: bool
) -> StripeInspection:
    return StripeInspection(
        stripe=stripe.index,
        offset=stripe.place.offset,
        num_rows=stripe.num_rows,
        num_index_groups=stripe.num_index_groups,
        writer_timezone=stripe.writer_timezone,
        columns=tuple(_inspect_column(file, stripe, column, index_groups) for column in columns),
    )


def _inspect_column(
    file: OrcFile, stripe: Stripe, column: OrcColumn, index_groups: bool
) -> OrcColumnInspection:
    stored, reason = file.usable_filters(stripe.index, column)
    entries = _row_index(file, stripe, column)
    streams = stripe.streams_of(column.id, FILTER_KINDS)
    return OrcColumnInspection(
        column=column.name,
        column_id=column.id,
        type=column.type,
        encoding=stripe.encoding(column.id),
        num_values=_num_values(entries),
        data_bytes=sum(
            stream.length for stream in stripe.all_streams_of(column.id) if not stream.is_index
        ),
        streams=tuple(FilterStream(each.name, each.offset, each.length) for each in streams),
        filter=None if stored is None else _inspect_filters(stored),
        reason=reason or None,
        notes=_notes(file, stripe, column, stored, entries),
        index_groups=_index_groups(stripe, stored, entries) if index_groups else None,
    )


def _row_index(file: OrcFile, stripe: Stripe, column: OrcColumn) -> tuple[IndexEntry, ...] | None:
    try:
        return file.row_index(stripe.index, column)
    except ParquetBloomError:
        return None


def _num_values(entries: tuple[IndexEntry, ...] | None) -> int | None:
    counts = [entry.statistics.num_values if entry.statistics else None for entry in entries or ()]
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None


def _notes(
    file: OrcFile,
    stripe: Stripe,
    column: OrcColumn,
    stored: StoredIndex | None,
    entries: tuple[IndexEntry, ...] | None,
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
        reasons = (f"ignored by ORC Java and C++ in {not_numbers} index groups: their sum is NaN",)
    doubt = writers.doubt(file.generation, column, stored)
    return (*reasons, doubt) if doubt else reasons


def _inspect_filters(stored: StoredIndex) -> OrcFilterInspection:
    filters = stored.filters
    estimates = [filter.ndv_estimate for filter in filters]
    stream: OrcStream = stored.stream
    return OrcFilterInspection(
        kind=stream.name,
        offset=stream.offset,
        length=stream.length,
        bloom_encoding=stored.bloom_encoding,
        num_filters=len(filters),
        num_hashes=_the_same([filter.num_hashes for filter in filters]),
        num_bits=_the_same([filter.num_bits for filter in filters]),
        num_bytes=sum(filter.num_bytes for filter in filters),
        fill=sum(filter.fill for filter in filters) / len(filters),
        fpp=sum(filter.fpp for filter in filters) / len(filters),
        worst_fpp=max(filter.fpp for filter in filters),
        ndv_estimate=max(estimates) if isfinite(max(estimates)) else None,
        dialect="orc",
        marked=stored.is_marked,
    )


def _the_same(numbers: Sequence[int]) -> int | None:
    return numbers[0] if len(set(numbers)) == 1 else None


def _index_groups(
    stripe: Stripe, stored: StoredIndex | None, entries: tuple[IndexEntry, ...] | None
) -> tuple[IndexGroupInspection, ...]:
    return tuple(
        IndexGroupInspection(
            index_group=group,
            first_row=stripe.first_row + stripe.group_first_row(group),
            num_rows=stripe.group_num_rows(group),
            positions=entries[group].positions if entries else None,
            statistics=entries[group].statistics if entries else None,
            filter=_inspect_filter(stored.filters[group]) if stored else None,
        )
        for group in range(stripe.num_index_groups)
    )


def _inspect_filter(filter: KHashFilter) -> GroupFilterInspection:
    return GroupFilterInspection(
        num_hashes=filter.num_hashes,
        num_bits=filter.num_bits,
        fill=filter.fill,
        fpp=filter.fpp,
        ndv_estimate=filter.ndv_estimate if isfinite(filter.ndv_estimate) else None,
    )
