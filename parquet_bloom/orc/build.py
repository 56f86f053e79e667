"""Filters of many columns of many stripes, built by several threads and given in file order.

All filters of a column have one size, whatever its index groups hold: that of as many values as an
index group has rows, as ORC's own writers have it.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from parquet_bloom.errors import FormatError, UnsupportedError
from parquet_bloom.filters.k_hash import KHashFilter, hive_size
from parquet_bloom.orc.bloom import encode_filters
from parquet_bloom.orc.chunk import OrcChunk
from parquet_bloom.orc.compression import Compression
from parquet_bloom.orc.file import OrcFile
from parquet_bloom.orc.injection import check_indexed
from parquet_bloom.orc.keys.key_form import KeyForm
from parquet_bloom.orc.keys.key_hashes import insertion_hashes, never_absent
from parquet_bloom.orc.stripe import BLOOM_FILTER_UTF8, Stripe
from parquet_bloom.orc.values import group_values
from parquet_bloom.parallel import work_in_order
from parquet_bloom.vocabulary import NO_VALUES

# A filter at its size has half of its bits set, and no codec makes that smaller: zstd, LZ4 and
# deflate gain less than a tenth between these.
INCOMPRESSIBLE_FILL = (0.3, 0.7)

# What the largest number or the place of a text takes, decoded.
_BYTES_PER_VALUE: Final = 16
# What a stored byte expands to, but for values that repeat a lot.
_EXPANSION: Final = 3

# A filter is as good as planned, but for the luck of the hashes, up to this many times the target.
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

    def empty_filter(self) -> KHashFilter:
        return KHashFilter.empty(*hive_size(self.entries, self.fpp))

    def allows(self, fpp: float) -> bool:
        """Whether filters of which none has a higher FPP should be written."""
        return fpp <= _TOLERANCE * self.fpp

    def reason_against(self, built: BuiltStreams) -> str:
        """Why filters should not be written; empty if they should."""
        if self.allows(built.fpp):
            return ""
        return (
            f"FPP {built.fpp:.3g}: index groups have up to {built.most_values} values, and filters"
            f" are sized for {self.entries}; ndv sizes them for more"
        )


@dataclass(frozen=True, slots=True)
class BuiltStreams:
    """The filters of a column in a stripe, as they are written: by kind, in chunks.

    `fpp`: the highest of the index groups, computed from the bits; `most_values`: the most non-null
    values that one of them has.
    """

    streams: Mapping[int, bytes] = field(repr=False)
    num_values: int
    most_values: int
    num_bits: int
    num_hashes: int
    index_groups: int
    fpp: float


class OrcFilterBuilder:
    """Builds the filters of one file, in streams of these kinds."""

    def __init__(
        self, file: OrcFile, size: OrcSize, kinds: Sequence[int], threads: int | None
    ) -> None:
        self._file = file
        self._size = size
        self._kinds = kinds
        self._threads = threads

    def built(self, wanted: Sequence[OrcChunk]) -> Generator[tuple[OrcChunk, BuiltStreams | str]]:
        """Each with its filters in turn, or with why it gets none.

        Raises UnsupportedError for values that cannot be read, FormatError for damaged ones.
        """
        return work_in_order(wanted, self._build, self._room, self._threads)

    def _room(self, item: OrcChunk) -> int:
        num_groups = item.stripe.num_index_groups
        filters = self._size.empty_filter().num_bytes * num_groups * len(self._kinds)
        return room_of_values(self._file, item) + filters

    def _build(self, item: OrcChunk) -> BuiltStreams | str:
        stripe = item.stripe
        forms = {kind: _form(kind, stripe) for kind in self._kinds}
        filters: dict[int, list[KHashFilter]] = {kind: [] for kind in self._kinds}
        counts = []
        for values in group_values(self._file, item.stripe.index, item.column):
            counts.append(len(values))
            for kind, form in forms.items():
                filter = self._size.empty_filter()
                filter.insert_hashes(insertion_hashes(item.column, values, form))
                filters[kind].append(filter)
        if not any(counts):
            return NO_VALUES
        first = filters[self._kinds[0]]
        return BuiltStreams(
            streams={
                kind: _in_chunks(built, kind, self._file.tail.compression)
                for kind, built in filters.items()
            },
            num_values=sum(counts),
            most_values=max(counts),
            num_bits=first[0].num_bits,
            num_hashes=first[0].num_hashes,
            index_groups=len(first),
            fpp=max(filter.fpp for filter in first),
        )


class TolerantOrcFilterBuilder(OrcFilterBuilder):
    """The same; a column that cannot be read, or should have no filters, gets none for that
    reason."""

    def _build(self, item: OrcChunk) -> BuiltStreams | str:
        if reason := never_absent(item.column):
            return reason
        try:
            check_indexed(item.stripe, item.column)
            return super()._build(item)
        except (FormatError, UnsupportedError) as error:
            return str(error)


def room_of_values(file: OrcFile, item: OrcChunk) -> int:
    """What reading and hashing the values takes at most, in bytes."""
    stripe = item.stripe
    above = {item.column.id}
    at = item.column
    while at.parent is not None:
        at = file.tail.columns[at.parent]
        above.add(at.id)
    stored = sum(each.length for each in stripe.streams if each.column in above)
    return _BYTES_PER_VALUE * stripe.num_rows + _EXPANSION * stored


def _form(kind: int, stripe: Stripe) -> KeyForm:
    return KeyForm(utf8=kind == BLOOM_FILTER_UTF8, writer_timezone=stripe.writer_timezone)


def _in_chunks(filters: Sequence[KHashFilter], kind: int, compression: Compression) -> bytes:
    data = encode_filters(filters, kind)
    low, high = INCOMPRESSIBLE_FILL
    if low < sum(filter.fill for filter in filters) / len(filters) < high:
        return compression.stored(data)
    return compression.compressed(data)
