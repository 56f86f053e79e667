"""Which ranges of an ORC file will be read, for a source that fetches them ahead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from parquet_bloom.errors import ParquetBloomError
from parquet_bloom.orc.stripe import FILTER_KINDS, ROW_INDEX

if TYPE_CHECKING:
    from parquet_bloom.orc.columns import OrcColumn
    from parquet_bloom.orc.reader import OrcReader
    from parquet_bloom.orc.stripe import OrcChunk
    from parquet_bloom.orc.tail import StripePlace

# All indexes of a stripe, of all columns, that cost less to read than another request takes.
_INDEX_BYTES: Final = 128 << 10


def footers_with_indexes(places: Sequence[StripePlace]) -> list[tuple[int, int]] | None:
    """The indexes and footers of stripes, in one request for the footer of each and the index of the next
    one behind it; None if that would be more than footers are worth."""
    if any(place.index_length > _INDEX_BYTES for place in places):
        return None
    return [
        bounds
        for place in places
        for bounds in ((place.offset, place.data_start), (place.footer_start, place.end))
    ]


def filter_ranges(
    file: OrcReader, parts: Iterable[int], columns: Sequence[OrcColumn]
) -> Iterator[tuple[int, int]]:
    """The row indexes and filters of these columns; a damaged stripe has none."""
    for part in parts:
        try:
            stripe = file.stripe(part)
        except ParquetBloomError:
            continue
        for column in columns:
            for stream in stripe.streams_of(column.id, (ROW_INDEX, *FILTER_KINDS)):
                yield stream.offset, stream.offset + stream.length


def value_ranges(chunks: Iterable[OrcChunk]) -> Iterator[tuple[int, int]]:
    """All streams of these chunks, without those of columns above and below."""
    for chunk in chunks:
        for stream in chunk.stripe.streams_of(chunk.column.id):
            yield stream.offset, stream.offset + stream.length
