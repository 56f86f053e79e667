"""Filters inside Statistics for the column chunks of a file, from their values to its new footer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from parquet_bloom.errors import UnsupportedError
from parquet_bloom.filters.hashers import Hashes, distinct
from parquet_bloom.filters.k_hash import KHashFilter
from parquet_bloom.legacy.statistics.dialect import MAX_WORDS, StatisticsFilter
from parquet_bloom.legacy.statistics.edits import added
from parquet_bloom.legacy.statistics.filter_struct import WORD_BITS, StatisticsStruct, encode
from parquet_bloom.parallel import work_in_order
from parquet_bloom.parquet.build import special_values
from parquet_bloom.parquet.file import ParquetFile
from parquet_bloom.parquet.filter_builder import NO_VALUES, BuiltFilter, SkippedChunk
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.pages.pages import chunk_runs, located
from parquet_bloom.parquet.sealed.opened_chunks import Fields


@dataclass(frozen=True, slots=True)
class StatisticsEdits:
    """What is to be written: the edits of chunks, their filters, and chunks that get none."""

    edits: dict[ChunkKey, Fields] = field(default_factory=dict)
    filters: list[BuiltFilter] = field(default_factory=list)
    skipped: list[SkippedChunk] = field(default_factory=list)


def check_unencrypted(file: ParquetFile) -> None:
    """Raise UnsupportedError for an encrypted file: bits in its footer would tell what is stored."""
    is_encrypted = any(file.footer.chunks.every("has_crypto_metadata"))
    if file.footer.protection.is_encrypted or is_encrypted:
        raise UnsupportedError(
            f"{file.path}: is encrypted: expected a plain file for filters of older dialects"
        )


def statistics_edits(
    file: ParquetFile,
    chunks: Sequence[ColumnChunk],
    dialect: StatisticsFilter,
    threads: int | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> StatisticsEdits:
    """Build the filters of `chunks`, which have been found readable.

    threads: one for each processor if None; progress: told how many chunks are done. Raises
    PageError, UnsupportedError.
    """
    result = StatisticsEdits()
    builder = _Builder(file, dialect)
    built = work_in_order(chunks, builder.built, _room, threads)
    for done, (chunk, filter) in enumerate(built, 1):
        if isinstance(filter, str):
            result.skipped.append(SkippedChunk(chunk.row_group, chunk.leaf.name, filter))
        else:
            struct = _struct(filter, dialect)
            result.edits[chunk.key] = added(file.footer, chunk, dialect.field_id, struct)
            # Without an offset: the filter lies in the footer.
            result.filters.append(BuiltFilter.of(chunk, filter, None, len(encode(struct))))
        progress(done)
    return result


def _room(chunk: ColumnChunk) -> int:
    """Hashes of 128 bits, twice."""
    return 32 * (chunk.num_values or 0)


def _struct(filter: KHashFilter, dialect: StatisticsFilter) -> StatisticsStruct:
    return StatisticsStruct(
        form=dialect.form,
        bitset=bytes(filter.bitset),
        num_bits=filter.num_bits,
        num_hashes=filter.num_hashes,
        strategy=dialect.of_strategy.number,
        name=dialect.strategy,
    )


def _num_distinct(hashes: Sequence[Hashes]) -> int:
    """How many of the hashes differ, in their first 64 bits where they have more."""
    first = [some.reshape(len(some), -1)[:, 0] for some in hashes if len(some)]
    return distinct(np.concatenate(first)).size if first else 0


class _Builder:
    """Builds the filter of one chunk after the other."""

    def __init__(self, file: ParquetFile, dialect: StatisticsFilter) -> None:
        self._file = file
        self._dialect = dialect

    def built(self, chunk: ColumnChunk) -> KHashFilter | str:
        """The filter, or why there is none."""
        with located(self._file.footer, chunk):
            hashes: Iterable[Hashes] = self._hashes(chunk)
            expected = self._dialect.expected_of(chunk.leaf.name)
            if expected.entries is None:
                hashes = list(hashes)
                expected = replace(expected, entries=_num_distinct(hashes))
            return self._filter(hashes, expected.entries or 0, expected.fpp)

    def _hashes(self, chunk: ColumnChunk) -> Iterator[Hashes]:
        """Of all values, page by page; of both zeros where there is one."""
        strategy, leaf = self._dialect.of_strategy, chunk.leaf.type
        specials = 0
        for part in chunk_runs(self._file.source, self._file.footer, chunk):
            if leaf.is_float:
                specials |= part.run.float_specials()
            yield strategy.hashes(leaf, part.run)
        for plain in special_values(specials, leaf):
            yield strategy.hash_value(leaf, plain)

    def _filter(self, hashes: Iterable[Hashes], entries: int, fpp: float) -> KHashFilter | str:
        if entries == 0:
            return NO_VALUES
        strategy = self._dialect.of_strategy
        try:
            num_bits, num_hashes = strategy.size(entries, fpp)
        except ValueError as error:
            return str(error)
        if num_bits > MAX_WORDS * WORD_BITS:
            return (
                f"{num_bits // WORD_BITS} longs for {entries} values, expected at most {MAX_WORDS}"
                " in a footer"
            )
        filter = strategy.filter_class.empty(num_bits, num_hashes)
        for some in hashes:
            filter.insert_hashes(some)
        if filter.bits_set == 0:
            return NO_VALUES
        return filter
