"""The kind of filter that `files.open` registers with every Parquet file: see parquet.legacy_kind.

Reading legacy filters takes numpy, whose import takes longer than to probe most files, so it is put
off until there may be one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from parquet_bloom.legacy import presence

if TYPE_CHECKING:
    from parquet_bloom.parquet.file import ParquetContainer
    from parquet_bloom.parquet.filters.legacy_kind import LegacyFilter, UnusableLegacy
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
    from parquet_bloom.parquet.footer.schema import LeafColumn
    from parquet_bloom.storage.source import Source
    from parquet_bloom.vocabulary import LegacyDialect


def is_published(file: ParquetContainer, chunk: ColumnChunk) -> bool:
    from parquet_bloom.legacy import chunk_filters

    return bool(chunk_filters.headers_at(file, chunk))


def published(
    file: ParquetContainer, chunk: ColumnChunk, seed: int | None = None
) -> LegacyFilter | None:
    from parquet_bloom.legacy import chunk_filters

    return chunk_filters.published(file, chunk, seed)


def filter_end(source: Source, start: int, end: int) -> int | None:
    from parquet_bloom.legacy.murmur3 import headers

    data = source.read_at(start, min(headers.MAX_HEADER_BYTES, end - start))
    sizes = (each.total_bytes for each in headers.read(data) if each.is_written)
    return next((start + size for size in sizes if start + size <= end), None)


def may_have_private(file: ParquetContainer) -> bool:
    return presence.any_private(file.footer)


def private(file: ParquetContainer, chunk: ColumnChunk) -> Iterator[LegacyFilter | UnusableLegacy]:
    if not presence.has_private(file.footer, chunk):
        return iter(())
    from parquet_bloom.legacy import chunk_filters

    return chunk_filters.private(file, chunk)


def find(
    file: ParquetContainer, chunk: ColumnChunk, dialect: LegacyDialect, seed: int | None = None
) -> LegacyFilter | None:
    from parquet_bloom.legacy import chunk_filters

    return chunk_filters.find(file, chunk, dialect, seed)


def num_private(file: ParquetContainer, leaves: Sequence[LeafColumn]) -> Mapping[str, int]:
    return Counter(
        dialect
        for chunk in presence.candidates(file.footer, leaves)
        for dialect in presence.private_dialects(file.footer, chunk)
    )
