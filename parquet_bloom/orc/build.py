"""Build filters of many columns of many stripes, by several threads and in file order.

As with ORC's own writers, all filters of a column have one size, whatever its index groups hold: with
room for as many values as an index group has rows. Where the times of a stripe have several keys each, its
filters have room for those, if they need it.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Final

from parquet_bloom.container.threads import threads_for_values
from parquet_bloom.errors import FormatError, UnsupportedError
from parquet_bloom.filters.k_hash import KHashFilter, KHashFilters, hive_size
from parquet_bloom.filters.rates import percent
from parquet_bloom.orc.ahead import value_ranges
from parquet_bloom.orc.bloom import FILTER_BYTES, KeyForm, encode_filters
from parquet_bloom.orc.columns import above
from parquet_bloom.orc.compression import Compression
from parquet_bloom.orc.footers import FilterStreams, check_indexed
from parquet_bloom.orc.keys.key_hashes import insert_values, never_absent
from parquet_bloom.orc.reader import OrcReader
from parquet_bloom.orc.stripe import BLOOM_FILTER_UTF8, OrcChunk
from parquet_bloom.orc.tail import Tail
from parquet_bloom.orc.values import batches
from parquet_bloom.parallel import check_fits, work_in_order
from parquet_bloom.vocabulary import NO_VALUES

# A filter at its size has half of its bits set, and no codec makes that smaller: zstd, LZ4 and
# deflate gain less than a tenth between these.
INCOMPRESSIBLE_FILL = (0.3, 0.7)

# A decoded number, or the offset of a text.
_BYTES_PER_VALUE: Final = 16
# Decoded bytes per stored byte, unless values repeat a lot.
_EXPANSION: Final = 3

# Up to this many times the target FPP, bad luck with hashes explains the difference.
_TOLERANCE: Final = 2.0


@dataclass(frozen=True, slots=True)
class OrcSize:
    """The size of each filter. `entries`: values to size for; `fpp`: the target for so many.

    Raises ValueError for numbers that no filter has.
    """

    fpp: float
    entries: int

    def __post_init__(self) -> None:
        hive_size(self.entries, self.fpp)

    @classmethod
    def usual(cls, fpp: float, tail: Tail) -> OrcSize:
        """For the rows of an index group, as ORC Java does; for those of the stripes, if it claims groups
        that no filter is large enough for. Raises FormatError if they do, too."""
        try:
            return cls(fpp, max(1, tail.row_index_stride))
        except ValueError:
            num_rows = sum(place.num_rows for place in tail.stripes)
        try:
            return cls(fpp, max(1, min(tail.row_index_stride, num_rows)))
        except ValueError as error:
            raise FormatError(f"{tail.where}: footer: rowIndexStride: {error}") from None

    def empty_filter(self) -> KHashFilter:
        return KHashFilter.empty(*hive_size(self.entries, self.fpp))

    def empty_filters(self, count: int) -> KHashFilters:
        return KHashFilters(count, *hive_size(self.entries, self.fpp))

    def times(self, keys: float) -> OrcSize:
        """For values that have so many keys each. Raises UnsupportedError for numbers that no filter has."""
        try:
            return OrcSize(self.fpp, ceil(self.entries * keys))
        except ValueError as error:
            raise UnsupportedError(str(error)) from None

    def allows(self, fpp: float) -> bool:
        """Whether filters of which none has a higher FPP should be written."""
        return fpp <= _TOLERANCE * self.fpp


@dataclass(frozen=True, slots=True)
class BuiltStreams:
    """The filters of a column in a stripe. `fpp`: the highest of the index groups, computed from the
    bits."""

    streams: FilterStreams = field(repr=False)
    num_values: int
    num_bits: int
    num_hashes: int
    index_groups: int
    fpp: float


@dataclass(frozen=True, slots=True)
class OrcFilterBuilder:
    """Builds filters of one file, in streams of these kinds. `force`: even if they are too full."""

    file: OrcReader
    size: OrcSize
    kinds: Sequence[int]
    threads: int | None
    force: bool = False

    def built(self, wanted: Sequence[OrcChunk]) -> Generator[tuple[OrcChunk, BuiltStreams | str]]:
        """Each chunk in turn with its filters, or with why it gets none.

        Raises FormatError for damaged values.
        """
        source = self.file.source
        source.will_read(value_ranges(wanted))
        threads = threads_for_values(self.threads, source, len(wanted))
        return work_in_order(wanted, self._build, self._room, threads)

    def _room(self, chunk: OrcChunk) -> int:
        num_filters = chunk.stripe.num_index_groups * len(self.kinds)
        return room_of_values(self.file, chunk) + self.size.empty_filter().num_bytes * num_filters

    def _build(self, chunk: OrcChunk) -> BuiltStreams | str:
        try:
            return self._built(chunk, self.size)
        except UnsupportedError as error:
            return without_place(error, chunk)

    def _built(self, chunk: OrcChunk, size: OrcSize) -> BuiltStreams | str:
        stripe = chunk.stripe
        num_filters = stripe.num_index_groups * len(self.kinds)
        check_fits(
            f"{chunk.where}: {num_filters} filters take",
            # In memory, as a message, and compressed.
            num_filters * (3 * size.empty_filter().num_bytes + FILTER_BYTES),
        )
        empty = {kind: size.empty_filters(stripe.num_index_groups) for kind in self.kinds}
        key_forms = {
            kind: KeyForm(utf8=kind == BLOOM_FILTER_UTF8, writer_timezone=stripe.writer_timezone)
            for kind in self.kinds
        }
        counts: list[int] = []
        most_keys = 1.0
        for batch in batches(self.file, chunk):
            counts += batch.num_values
            for kind, key_form in key_forms.items():
                keys = insert_values(
                    empty[kind], batch.groups, chunk.column, batch.values, batch.counts, key_form
                )
                most_keys = max(most_keys, keys)
        if not any(counts):
            return NO_VALUES
        filters = {kind: of_kind.filters for kind, of_kind in empty.items()}
        first = filters[self.kinds[0]]
        fills = {kind: [filter.fill for filter in built] for kind, built in filters.items()}
        fpp = max(fills[self.kinds[0]]) ** first[0].num_hashes
        if most_keys > 1 and size is self.size and not size.allows(fpp):
            return self._built(chunk, size.times(most_keys))
        if not (self.force or size.allows(fpp)):
            return (
                f"FPP {percent(fpp, 3)}: index groups have up to {max(counts)} values, and filters are sized"
                f" for {size.entries}; set ndv to size them for more"
            )
        compression = self.file.tail.compression
        return BuiltStreams(
            streams={
                kind: _stream(encode_filters(filters[kind], kind), fills[kind], compression)
                for kind in self.kinds
            },
            num_values=sum(counts),
            num_bits=first[0].num_bits,
            num_hashes=first[0].num_hashes,
            index_groups=len(first),
            fpp=fpp,
        )


class TolerantOrcFilterBuilder(OrcFilterBuilder):
    """The same, but a column that is damaged or can have no filters gets none for that reason."""

    def _build(self, chunk: OrcChunk) -> BuiltStreams | str:
        if reason := never_absent(chunk.column):
            return reason
        try:
            check_indexed(chunk.stripe, chunk.column)
            return super()._build(chunk)
        except (FormatError, UnsupportedError) as error:
            return str(error)


def without_place(error: UnsupportedError, chunk: OrcChunk) -> str:
    """What is not supported, without the names of file, stripe and column."""
    where = (chunk.where, chunk.stripe.where.partition(": stripe")[0])
    text = str(error)
    return next((text.removeprefix(f"{each}: ") for each in where if text.startswith(each)), text)


def room_of_values(file: OrcReader, chunk: OrcChunk) -> int:
    """The most that reading and hashing the values takes, in bytes."""
    stripe, column = chunk.stripe, chunk.column
    read = (column, *above(file.tail.columns, column))
    stored = sum(each.length for one in read for each in stripe.streams_of(one.id))
    return _BYTES_PER_VALUE * stripe.num_rows + _EXPANSION * stored


def _stream(data: bytes, fills: Sequence[float], compression: Compression) -> bytes:
    low, high = INCOMPRESSIBLE_FILL
    if low < sum(fills) / len(fills) < high:
        return compression.stored(data)
    return compression.compressed(data)
