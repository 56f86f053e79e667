"""The kind of filter that `files.open` registers with every Parquet file: see parquet.legacy_kind.

Legacy filters take numpy, whose import takes longer than to probe most files, so it is put off until there
may be one, or one is to be built.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from parquet_bloom.legacy import presence

if TYPE_CHECKING:
    from parquet_bloom.container import BuildChange, StripChange
    from parquet_bloom.options import BuildOptions, Selection
    from parquet_bloom.parallel import Progress
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


def build(
    file: ParquetContainer, options: BuildOptions, progress: Progress | None = None
) -> BuildChange:
    from parquet_bloom.legacy.murmur3.build import Murmur3Build
    from parquet_bloom.legacy.murmur3.dialect import Murmur3
    from parquet_bloom.legacy.statistics.build import StatisticsBuild
    from parquet_bloom.legacy.statistics.dialect import StatisticsFilter

    match options.dialect:
        case "murmur3":
            return Murmur3Build(file, Murmur3(), options, progress)
        case Murmur3() as dialect:
            return Murmur3Build(file, dialect, options, progress)
        case "statistics":
            return StatisticsBuild(file, StatisticsFilter(), options, progress)
        case StatisticsFilter() as dialect:
            return StatisticsBuild(file, dialect, options, progress)
    raise TypeError(
        f"dialect: {options.dialect!r}, expected a Murmur3, a StatisticsFilter or one of"
        " xxhash, murmur3, statistics"
    )


def strip(file: ParquetContainer, selection: Selection) -> StripChange | None:
    if not presence.any_private(file.footer):
        return None
    chunks = tuple(file.selected(selection))
    if not presence.may_have_private(file.footer, chunks):
        return None
    from parquet_bloom.legacy.removal import removal_of
    from parquet_bloom.parquet.edit.strip import ParquetStrip

    return ParquetStrip(file, selection, removal_of(file, chunks))
