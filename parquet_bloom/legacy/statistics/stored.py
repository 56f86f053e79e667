"""Filters inside the Statistics of column chunks: found in the footer, and asked about values.

No struct says for certain how its values were hashed but those that we wrote (see strategies). For
others the chunk's own values tell: they are all found if they are hashed as they were, and by luck
alone hardly ever.

Source: parquet-format pull request 28.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from parquet_bloom.errors import FilterError
from parquet_bloom.filters.k_hash import KHashFilter
from parquet_bloom.filters.look_up import LookUp, in_k_hash
from parquet_bloom.legacy.presence import FIELD_IDS, STATISTICS
from parquet_bloom.legacy.recognise import Recognised, recognised, sample_of
from parquet_bloom.legacy.statistics.filter_struct import (
    BITSET,
    WORD_BITS,
    StatisticsStruct,
    decode,
)
from parquet_bloom.legacy.statistics.strategies import STRATEGIES, Strategy
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.pages.pages import located

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from parquet_bloom.parquet.file import ParquetFile
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
    from parquet_bloom.parquet.footer.footer import Footer
    from parquet_bloom.parquet.pages.runs import Run
    from parquet_bloom.values.types import LeafType
    from parquet_bloom.vocabulary import LegacyDialect

DIALECT: Final = "statistics"

UNRECOGNISED = "the chunk's values are not found, hashed as {}"
NO_VALUES = "no value is stored that would tell how they are hashed"
INCOMPLETE = "values that are stored are not in the filter"


@dataclass(frozen=True, slots=True)
class StoredStatisticsFilter:
    """A filter as the footer has it. `field_id`: of the struct within Statistics; `num_bytes`: what
    the struct takes; `header`: the struct without its bits."""

    field_id: int
    num_bytes: int
    header: bytes
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
    found = text[slice(*fields[field_id])]
    where = f"{where}: Statistics field {field_id}"
    try:
        struct = decode(found)
    except FilterError as error:
        raise FilterError(f"{where}: {error}") from None
    header = compact.splice(found, 0, {BITSET: None})
    return StoredStatisticsFilter(field_id, len(found), header, struct, where)


def _structs(text: bytes, start: int) -> dict[int, tuple[int, int]]:
    """Where the structs lie that are fields of the one at `start`."""
    return {
        number: (value, end)
        for number, kind, _, value, end in _kernel.fields(text, start)
        if kind == compact.TYPE_STRUCT
    }


@dataclass(frozen=True, slots=True)
class StatisticsChunkFilter:
    """A filter, and how its values are hashed: a LegacyFilter."""

    stored: StoredStatisticsFilter
    strategy: Strategy
    type: LeafType
    bits: KHashFilter = field(repr=False)

    offset = None

    @property
    def dialect(self) -> LegacyDialect:
        return DIALECT

    @property
    def pointer(self) -> str:
        return f"Statistics field {self.stored.field_id}"

    @property
    def form(self) -> str:
        return self.stored.struct.form

    @property
    def hash(self) -> str:
        return self.strategy.name

    @property
    def stored_bytes(self) -> int:
        return self.stored.num_bytes

    @property
    def header_bytes(self) -> int:
        return len(self.stored.header)

    def check(self, plain: bytes) -> bool:
        return bool(self.bits.check_hashes(self.strategy.hash_value(self.type, plain))[0])

    def look_up(self, plain: bytes) -> LookUp:
        return in_k_hash(self.bits, self.strategy.hash_value(self.type, plain))

    def check_run(self, run: Run) -> NDArray[np.bool_]:
        return self.bits.check_hashes(self.strategy.hashes(self.type, run))

    def header_and_bitset(self) -> tuple[bytes, bytes]:
        """The struct without its bits, and the longs, little-endian."""
        return self.stored.header, self.stored.struct.bitset


def said(stored: StoredStatisticsFilter, leaf: LeafType) -> StatisticsChunkFilter | None:
    """The filter, if the struct itself says how its values are hashed."""
    struct = stored.struct
    if struct.name not in STRATEGIES:
        return None
    return _filter(stored, STRATEGIES[struct.name], struct.num_bits, leaf)


def fitting(
    file: ParquetFile, chunk: ColumnChunk, stored: StoredStatisticsFilter
) -> Recognised[StatisticsChunkFilter]:
    """The filter as the chunk's values say that they are hashed.

    Raises FilterError if they do not, PageError and UnsupportedError if no value can be read.
    """
    candidates = list(_candidates(stored, chunk.leaf.type))
    with located(file.footer, chunk):
        sample = sample_of(file, chunk)
        found = recognised(candidates, sample)
    if not len(sample):
        raise FilterError(f"{stored.where}: {NO_VALUES}")
    if found is None:
        names = dict.fromkeys(candidate.strategy.name for candidate in candidates)
        raise FilterError(f"{stored.where}: {UNRECOGNISED.format(' or '.join(names))}")
    return found


def usable(
    file: ParquetFile, chunk: ColumnChunk, stored: StoredStatisticsFilter
) -> StatisticsChunkFilter:
    """The filter, if it can be trusted to find every value. Raises as `fitting`."""
    filter = said(stored, chunk.leaf.type)
    if filter is not None:
        return filter
    found = fitting(file, chunk, stored)
    if not found.is_complete:
        raise FilterError(f"{stored.where}: {INCOMPLETE}")
    return found.reading


def _filter(
    stored: StoredStatisticsFilter, strategy: Strategy, num_bits: int, leaf: LeafType
) -> StatisticsChunkFilter:
    struct = stored.struct
    bits = strategy.filter_class.from_bytes(struct.bitset, struct.num_hashes, num_bits)
    return StatisticsChunkFilter(stored, strategy, leaf, bits)


def _candidates(stored: StoredStatisticsFilter, leaf: LeafType) -> Iterator[StatisticsChunkFilter]:
    """Every meaning that the struct can have. Raises FilterError if it has none."""
    struct = stored.struct
    if struct.name and struct.name not in STRATEGIES:
        raise FilterError(
            f"{stored.where}: strategy {struct.name[:40]!r}, expected {', '.join(STRATEGIES)}"
        )
    if struct.strategy not in (None, 0, 1):
        raise FilterError(
            f"{stored.where}: bloomFilterStrategy is {struct.strategy}, expected 0 or 1"
        )
    for strategy in STRATEGIES.values():
        if struct.strategy in (None, strategy.number):
            for num_bits in _moduli(struct, strategy):
                yield _filter(stored, strategy, num_bits, leaf)


def _moduli(struct: StatisticsStruct, strategy: Strategy) -> Sequence[int]:
    """What positions may have been divided by: Guava's own bits always fill its longs."""
    whole = WORD_BITS * struct.num_words
    if strategy.name == "hive" or struct.num_bits == whole:
        return (struct.num_bits,)
    return whole, struct.num_bits
