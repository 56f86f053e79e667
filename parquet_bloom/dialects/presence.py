"""Whether column chunks have filters of older dialects at all, for those who do not want to import
what reads them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from parquet_bloom.native import _kernel
from parquet_bloom.parquet import compact
from parquet_bloom.parquet.chunk_table import ChunkKey
from parquet_bloom.parquet.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer import Footer

# Of our own note in the key-value metadata of a ColumnMetaData.
NOTE_KEY: Final = "pbloom.murmur3"

# The field of a ColumnMetaData, and those in it where a filter may lie, in the order in which they
# are looked at: ours, and historic ones.
STATISTICS: Final = 12
PRIVATE_FIELD: Final = 31420
FIELD_IDS: Final = (PRIVATE_FIELD, 7, 5)


@dataclass(frozen=True, slots=True)
class OlderFilters:
    """Chunks with filters to which bloom_filter_offset does not lead: where a note leads, a range of
    bytes if it is certain; and those with filters inside their Statistics."""

    noted: Mapping[ChunkKey, tuple[int, int] | None] = field(default_factory=dict)
    in_statistics: Collection[ChunkKey] = ()

    @property
    def keys(self) -> set[ChunkKey]:
        return {*self.noted, *self.in_statistics}


def may_have_hidden(footer: Footer, chunks: Collection[ColumnChunk]) -> bool:
    """Whether one of `chunks` may have a filter to which bloom_filter_offset does not lead."""
    return NOTE_KEY.encode() in footer.raw or any(
        _has_struct(footer, chunk) for chunk in chunks if not chunk.has_crypto_metadata
    )


def _has_struct(footer: Footer, chunk: ColumnChunk) -> bool:
    if chunk.meta_start is None:
        return False
    text, start = footer.meta_data(chunk)
    return any(
        inner[0] in FIELD_IDS and inner[1] == compact.TYPE_STRUCT
        for number, kind, _, value, _ in _kernel.fields(text, start)
        if (number, kind) == (STATISTICS, compact.TYPE_STRUCT)
        for inner in _kernel.fields(text, value)
    )
