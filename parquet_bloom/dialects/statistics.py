"""Filters inside the Statistics of column chunks: found in the footer, and asked about values.

No struct says for certain how its values were hashed but those that we wrote (see strategies). For
others the chunk's own values tell: they are all found if they are hashed as they were, and by luck
alone hardly ever.

Source: parquet-format pull request 28.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.dialects.statistics_struct import (
    FIELD_IDS,
    WORD_BITS,
    StatisticsStruct,
    decode,
)
from parquet_bloom.dialects.strategies import STRATEGIES, Strategy
from parquet_bloom.errors import FilterError
from parquet_bloom.filters.hashers import Hashes
from parquet_bloom.filters.k_hash import KHashFilter
from parquet_bloom.native import _kernel
from parquet_bloom.parquet import compact
from parquet_bloom.parquet.pages import chunk_runs, located
from parquet_bloom.parquet.runs import Run

if TYPE_CHECKING:
    from parquet_bloom.files import ParquetFile
    from parquet_bloom.leaf_type import LeafType
    from parquet_bloom.parquet.column_chunk import ColumnChunk
    from parquet_bloom.parquet.footer import Footer
    from parquet_bloom.values import Encodings

STATISTICS = 12

# How likely luck may be to find the values that were looked up.
MOST_LUCK = 1e-6


@dataclass(frozen=True, slots=True)
class StoredStatisticsFilter:
    """A filter as the footer has it. `field_id`: of the struct within Statistics; `num_bytes`: what
    the struct takes; `offset`: where it begins in the FileMetaData as it is read."""

    field_id: int
    offset: int
    num_bytes: int
    struct: StatisticsStruct
    where: str = field(repr=False)


def read_stored(footer: Footer, chunk: ColumnChunk) -> StoredStatisticsFilter | None:
    """The filter in the chunk's Statistics; None if there is none. Raises FilterError."""
    if chunk.meta_start is None:
        return None
    where = f"{footer.where}: {chunk.where}"
    text, start = footer.meta_data(chunk)
    fields = _structs(text, start)
    if STATISTICS not in fields:
        return None
    fields = _structs(text, fields[STATISTICS][0])
    field_id = next((field_id for field_id in FIELD_IDS if field_id in fields), None)
    if field_id is None:
        return None
    start, end = fields[field_id]
    try:
        struct = decode(text[start:end])
    except FilterError as error:
        raise FilterError(f"{where}: Statistics field {field_id}: {error}") from None
    return StoredStatisticsFilter(field_id, start, end - start, struct, where)


def _structs(text: bytes, start: int) -> dict[int, tuple[int, int]]:
    """Where the structs lie that are fields of the one at `start`."""
    return {
        number: (value, end)
        for number, kind, _, value, end in _kernel.fields(text, start)
        if kind == compact.TYPE_STRUCT
    }


@dataclass(frozen=True, slots=True)
class StatisticsChunkFilter:
    """A filter, and how its values are hashed."""

    filter: KHashFilter
    strategy: Strategy
    type: LeafType

    def check_run(self, run: Run) -> NDArray[np.bool_]:
        """For each value of a run: False if it was certainly never inserted."""
        return self.filter.check_hashes(self.strategy.hashes(self.type, run))

    def check_encodings(self, encodings: Encodings) -> bool:
        """False if no encoding of a value was ever inserted; True where they cannot be listed."""
        if encodings.unknown:
            return True
        return any(
            self.filter.check_hashes(self.strategy.hash_value(self.type, plain)).any()
            for plain in encodings.plain
        )


def read_filter(
    file: ParquetFile, chunk: ColumnChunk, stored: StoredStatisticsFilter
) -> StatisticsChunkFilter:
    """The filter as its values were hashed, for which values of the chunk are read if need be.

    Raises FilterError if that cannot be told, PageError and UnsupportedError for pages that cannot
    be read.
    """
    struct, leaf = stored.struct, chunk.leaf.type
    try:
        if struct.name in STRATEGIES:
            return _filter(struct, STRATEGIES[struct.name], struct.num_bits, leaf)
        candidates = list(_candidates(struct, leaf))
    except FilterError as error:
        raise FilterError(f"{stored.where}: Statistics field {stored.field_id}: {error}") from None
    with located(file.footer, chunk):
        return _recognised(candidates, _sample(file, chunk))


def _filter(
    struct: StatisticsStruct, strategy: Strategy, num_bits: int, leaf: LeafType
) -> StatisticsChunkFilter:
    filter = strategy.filter_class.from_bytes(struct.bitset, struct.num_hashes, num_bits)
    return StatisticsChunkFilter(filter, strategy, leaf)


def _candidates(struct: StatisticsStruct, leaf: LeafType) -> Iterator[StatisticsChunkFilter]:
    """Every meaning that the struct can have. Raises FilterError if it has none."""
    if struct.name:
        raise FilterError(f"strategy {struct.name!r}, expected {', '.join(STRATEGIES)}")
    if struct.strategy not in (None, 0, 1):
        raise FilterError(f"bloomFilterStrategy is {struct.strategy}, expected 0 or 1")
    for strategy in STRATEGIES.values():
        if struct.strategy in (None, strategy.number):
            for num_bits in _moduli(struct, strategy):
                yield _filter(struct, strategy, num_bits, leaf)


def _moduli(struct: StatisticsStruct, strategy: Strategy) -> Sequence[int]:
    """What positions may have been divided by: Guava's own bits always fill its longs."""
    whole = WORD_BITS * struct.num_words
    if strategy.name == "hive" or struct.num_bits == whole:
        return (struct.num_bits,)
    return whole, struct.num_bits


def _sample(file: ParquetFile, chunk: ColumnChunk) -> Run:
    """The first values of the chunk. Raises FilterError if it has none."""
    for part in chunk_runs(file.source, file.footer, chunk):
        if len(part.run):
            return part.run
    raise FilterError("no value to tell by how those in the filter were hashed")


def _recognised(candidates: Sequence[StatisticsChunkFilter], run: Run) -> StatisticsChunkFilter:
    """The one that finds all values of the run."""
    fitting = [candidate for candidate in candidates if candidate.check_run(run).all()]
    if not fitting:
        names = dict.fromkeys(candidate.strategy.name for candidate in candidates)
        raise FilterError(
            f"stored values are not found in the filter in Statistics, hashed as"
            f" {' or '.join(names)}"
        )
    if len(fitting) > 1 or _luck(fitting[0], run) > MOST_LUCK:
        raise FilterError("nothing tells how the values in the filter in Statistics were hashed")
    return fitting[0]


def _luck(candidate: StatisticsChunkFilter, run: Run) -> float:
    """How likely the values are to be found in any filter with so many bits set."""
    num_distinct = num_distinct_of([candidate.strategy.hashes(candidate.type, run)])
    return candidate.filter.fpp**num_distinct


def num_distinct_of(hashes: Sequence[Hashes]) -> int:
    """How many of the hashes differ, in their first 64 bits where they have more."""
    return np.unique(np.concatenate([some.reshape(len(some), -1)[:, 0] for some in hashes])).size
