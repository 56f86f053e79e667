"""Which ranges of an ORC file will be read, for a source that fetches them ahead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from parquet_bloom.errors import ParquetBloomError
from parquet_bloom.orc.stripe import FILTER_KINDS, ROW_INDEX

if TYPE_CHECKING:
    from parquet_bloom.orc.columns import OrcColumn
    from parquet_bloom.orc.reader import OrcReader
    from parquet_bloom.orc.stripe import OrcChunk


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
