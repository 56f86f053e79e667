"""Ordinary filters: stored as nearly all writers store them, and read many at a time.

    | header, bitset | header, bitset | …        the filters of a row group, side by side

An ordinary filter is not encrypted, has the header of the current format and exactly the length that
the footer says, and overlaps nothing. A file can have 100,000 of them, of a few bytes each: to find
that out for one after the other takes longer than all else. Whatever is not ordinary has to be looked
at by itself.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from parquet_bloom.errors import FormatError
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.footer.layout import MAGIC_BYTES
from parquet_bloom.parquet.sealed.protection import UNPROTECTED
from parquet_bloom.storage.source import WINDOW_BYTES

if TYPE_CHECKING:
    from parquet_bloom.parquet.footer.schema import LeafColumn
    from parquet_bloom.parquet.open_file import OpenFile

# What is read at once, if the filters are no larger on average than what is read for a header alone.
MOST_BYTES = 8 << 20


class OrdinaryFilter(NamedTuple):
    """A filter of `length` bytes at `offset`; `num_bytes` of them are the bitset."""

    offset: int
    length: int
    header_bytes: int
    num_bytes: int
    bits_set: int
    fpp: float


class OrdinaryFilters:
    """Those of one row group, by the index of the leaf column, with the bytes from `start` on in which
    they are."""

    def __init__(self, found: dict[int, OrdinaryFilter], start: int, data: bytes) -> None:
        self._found = found
        self._start = start
        self._data = memoryview(data)

    def get(self, column: int) -> OrdinaryFilter | None:
        """The filter of a leaf column, None if it has none that is ordinary."""
        return self._found.get(column)

    def __iter__(self) -> Iterator[tuple[int, OrdinaryFilter]]:
        """The filters with the indexes of their leaf columns."""
        return iter(self._found.items())

    def bits(self, filter: OrdinaryFilter) -> SplitBlockBloomFilter:
        return SplitBlockBloomFilter.from_bytes(self.bitset(filter))

    def bitset(self, filter: OrdinaryFilter) -> memoryview:
        """The stored bits: a view, not a copy."""
        start = filter.offset - self._start + filter.header_bytes
        return self._data[start : start + filter.num_bytes]


NONE = OrdinaryFilters({}, 0, b"")


def read_ordinary(file: OpenFile, row_group: int, leaves: Sequence[LeafColumn]) -> OrdinaryFilters:
    """The ordinary filters of these columns, unless they are too large or too far apart to be worth
    reading together. Raises OSError."""
    footer = file.footer
    if footer.protection is not UNPROTECTED:
        return NONE
    fields = "bloom_filter_offset", "bloom_filter_length", "has_crypto_metadata"
    stored = list(zip(*(footer.chunks.part(field, row_group) for field in fields), strict=True))
    columns = [leaf.index for leaf in leaves]
    # A missing offset is less than any other.
    wanted = [
        (column, offset, length)
        for column, (offset, length, is_sealed) in ((each, stored[each]) for each in columns)
        if offset >= MAGIC_BYTES and 0 < length <= MOST_BYTES and not is_sealed
    ]
    if not wanted:
        return NONE
    start = min(offset for _, offset, _ in wanted)
    end = max(offset + length for _, offset, length in wanted)
    needed = sum(length for _, _, length in wanted)
    is_dense = end - start <= min(MOST_BYTES, 2 * needed) and needed <= WINDOW_BYTES * len(wanted)
    if end > footer.start or not is_dense:
        return NONE
    try:
        data = file.source.read_at(start, end - start)
    except FormatError:
        # Then each filter tells what is missing.
        return NONE
    offsets = array("q", [offset for _, offset, _ in wanted])
    lengths = array("q", [length for _, _, length in wanted])
    found = _kernel.ordinary_filters(data, start, offsets, lengths, footer.layout.everything)
    filters = {
        column: OrdinaryFilter(offset, length, *facts)
        for (column, offset, length), facts in zip(wanted, found, strict=True)
        if facts is not None
    }
    return OrdinaryFilters(filters, start, data)
