"""Filters inside the Statistics of column chunks: found in the footer, and asked about values.

Only structs that we wrote say for certain how their values were hashed (see strategies). For others,
the chunk's own values tell (see membership).

Source: parquet-format pull request 28.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, ClassVar

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import FilterError
from parquet_bloom.filters.k_hash import KHashFilter
from parquet_bloom.filters.look_up import LookUp, in_k_hash
from parquet_bloom.legacy.membership import Recognised, recognise
from parquet_bloom.legacy.presence import FIELD_IDS, STATISTICS
from parquet_bloom.legacy.statistics.filter_struct import (
    BITSET,
    WORD_BITS,
    StatisticsStruct,
    decode,
    fields_of,
)
from parquet_bloom.legacy.statistics.strategies import STRATEGIES, Strategy
from parquet_bloom.native.lazy import NDArray, np
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.pages.runs import run_of

if TYPE_CHECKING:
    from parquet_bloom.parquet.file import ParquetContainer
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
    from parquet_bloom.parquet.footer.footer import Footer
    from parquet_bloom.parquet.pages.runs import Run
    from parquet_bloom.values.types import LeafType
    from parquet_bloom.vocabulary import LegacyDialect


@dataclass(frozen=True, slots=True)
class StoredStatisticsFilter:
    """A filter as the footer has it. `field_id`: of the struct within Statistics; `num_bytes`: of the
    struct; `header`: the struct without its bits."""

    field_id: int
    num_bytes: int
    header: bytes
    struct: StatisticsStruct
    where: str = field(repr=False)


def read_stored(footer: Footer, chunk: ColumnChunk) -> StoredStatisticsFilter | None:
    """The filter in the chunk's Statistics; None if there is none. Raises FilterError."""
    if chunk.meta_start is None:
        return None
    found = footer.fields(chunk, (STATISTICS,))[STATISTICS]
    if found is None or found[0] != compact.TYPE_STRUCT:
        return None
    fields = fields_of(found[1])
    for field_id in FIELD_IDS:
        kind, data = fields.get(field_id, (None, b""))
        if kind == compact.TYPE_STRUCT:
            where = f"{footer.where}: {chunk.where}: Statistics field {field_id}"
            try:
                struct = decode(data)
            except FilterError as error:
                raise FilterError(f"{where}: {error}") from None
            header = compact.splice(data, 0, {BITSET: None})
            return StoredStatisticsFilter(field_id, len(data), header, struct, where)
    return None


def has_filter(footer: Footer, chunk: ColumnChunk) -> bool:
    """Whether the chunk's Statistics have a filter, even an unusable one."""
    try:
        return read_stored(footer, chunk) is not None
    except FilterError:
        return True


@dataclass(frozen=True, slots=True)
class StatisticsChunkFilter:
    """A filter, and how its values are hashed: a LegacyFilter."""

    dialect: ClassVar[LegacyDialect] = "statistics"
    # It is a part of the footer.
    offset: ClassVar[None] = None

    stored: StoredStatisticsFilter
    strategy: Strategy
    leaf: LeafType
    bits: KHashFilter = field(repr=False)

    @property
    def pointer(self) -> str:
        return f"Statistics field {self.stored.field_id}"

    @property
    def layout(self) -> str:
        return self.stored.struct.encoding

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
        return bool(self.check_run(run_of([plain], self.leaf.width))[0])

    def look_up(self, plain: bytes) -> LookUp:
        run = run_of([plain], self.leaf.width)
        return in_k_hash(self.bits, self.strategy.hashes(self.leaf, run))

    def check_run(self, run: Run) -> NDArray[np.bool_]:
        return self.bits.check_hashes(self.strategy.hashes(self.leaf, run))

    def header_and_bitset(self) -> tuple[bytes, bytes]:
        """The struct without its bits, and the longs, little-endian."""
        return self.stored.header, self.stored.struct.bitset


def said(stored: StoredStatisticsFilter, leaf: LeafType) -> StatisticsChunkFilter | None:
    """The filter, if the struct itself says how its values are hashed."""
    strategy = STRATEGIES.get(stored.struct.name)
    return None if strategy is None else _filter(stored, strategy, stored.struct.num_bits, leaf)


def fitting(
    file: ParquetContainer, chunk: ColumnChunk, stored: StoredStatisticsFilter
) -> Recognised[StatisticsChunkFilter]:
    """The filter in the reading that finds the chunk's values. Raises as recognise."""
    readings = list(_readings(stored, chunk.leaf.type))
    names = dict.fromkeys(reading.hash for reading in readings)
    return recognise(file, chunk, readings, stored.where, f"the hash of {' or '.join(names)}")


def usable(
    file: ParquetContainer, chunk: ColumnChunk, stored: StoredStatisticsFilter
) -> StatisticsChunkFilter:
    """The filter, if it can be trusted to find every value. Raises as `fitting`."""
    return said(stored, chunk.leaf.type) or fitting(file, chunk, stored).checked()


def _filter(
    stored: StoredStatisticsFilter, strategy: Strategy, num_bits: int, leaf: LeafType
) -> StatisticsChunkFilter:
    struct = stored.struct
    bits = strategy.filter_class.from_bytes(struct.bitset, struct.num_hashes, num_bits)
    return StatisticsChunkFilter(stored, strategy, leaf, bits)


def _readings(stored: StoredStatisticsFilter, leaf: LeafType) -> Iterator[StatisticsChunkFilter]:
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
    """By what positions may have been divided: Guava's own filters use every bit of their longs."""
    whole = WORD_BITS * struct.num_words
    if strategy.name == "hive" or struct.num_bits == whole:
        return (struct.num_bits,)
    return whole, struct.num_bits
