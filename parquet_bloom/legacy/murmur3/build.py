"""Old split block filters of column chunks, built by several threads.

The hashes of a chunk are kept until its distinct values have been counted, so that its pages are
read once.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from parquet_bloom.filters.hashers import Hashes, distinct
from parquet_bloom.filters.sizing import BLOCK_BYTES
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.legacy.murmur3.dialect import Murmur3, num_bytes_for
from parquet_bloom.parallel import work_in_order
from parquet_bloom.parquet.build import special_values
from parquet_bloom.parquet.file import ParquetFile
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.pages.pages import chunk_runs, located
from parquet_bloom.parquet.writer import Built
from parquet_bloom.vocabulary import NO_VALUES


@dataclass(frozen=True, slots=True)
class OldSize:
    """How large filters are: for `ndv` distinct values per chunk, None counts them; `fpp` as the old
    formula takes it; at most `max_bytes`."""

    fpp: float
    ndv: int | None
    max_bytes: int

    def num_blocks(self, ndv: int) -> int:
        return num_bytes_for(ndv, self.fpp, self.max_bytes) // BLOCK_BYTES


def built(
    file: ParquetFile,
    chunks: Sequence[ColumnChunk],
    dialect: Murmur3,
    size: OldSize,
    threads: int | None,
) -> Generator[Built]:
    """Each of `chunks`, which have been found readable, with its filter.

    Raises PageError, UnsupportedError.
    """

    def work(chunk: ColumnChunk) -> SplitBlockBloomFilter | str:
        with located(file.footer, chunk):
            return _filter(file, chunk, dialect, size)

    return work_in_order(chunks, work, _room, threads)


def _room(chunk: ColumnChunk) -> int:
    """All hashes, twice."""
    return 16 * (chunk.num_values or 0)


def _filter(
    file: ParquetFile, chunk: ColumnChunk, dialect: Murmur3, size: OldSize
) -> SplitBlockBloomFilter | str:
    hashes: Iterable[Hashes] = _hashes(file, chunk, dialect)
    ndv = size.ndv
    if ndv is None:
        hashes = [distinct(np.concatenate([np.empty(0, np.uint64), *hashes]))]
        ndv = max(1, hashes[0].size)
    filter = SplitBlockBloomFilter.empty(size.num_blocks(ndv))
    for some in hashes:
        filter.insert_hashes(dialect.scheme.aligned(some, filter.num_blocks))
    return filter if filter.bits_set else NO_VALUES


def _hashes(file: ParquetFile, chunk: ColumnChunk, dialect: Murmur3) -> Iterator[Hashes]:
    """Of all values, page by page; of both zeros where there is one."""
    leaf = chunk.leaf.type
    specials = 0
    for part in chunk_runs(file.source, file.footer, chunk):
        if leaf.is_float:
            specials |= part.run.float_specials()
        yield dialect.scheme.raw_hashes(part.run)
    more = [dialect.scheme.raw_hash(leaf, plain) for plain in special_values(specials, leaf)]
    yield np.array(more, np.uint64)
