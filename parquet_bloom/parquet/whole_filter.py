"""A filter that is read whole, for those who compare it with another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloom.container import NoFilters, ReadFilter
from parquet_bloom.errors import FilterError, MissingKeyError, TamperedError
from parquet_bloom.filters.sizing import BLOCK_BYTES
from parquet_bloom.native import _kernel
from parquet_bloom.parquet import bloom
from parquet_bloom.parquet.describe import filter_description
from parquet_bloom.vocabulary import NO_FILTER, NO_KEY

if TYPE_CHECKING:
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
    from parquet_bloom.parquet.footer.footer import Footer
    from parquet_bloom.parquet.footer.schema import LeafColumn
    from parquet_bloom.storage.source import Source


def read_whole(
    source: Source, footer: Footer, row_group: int, leaf: LeafColumn
) -> tuple[ReadFilter] | NoFilters:
    """The filter of one chunk, though readers may not trust it, or why it cannot be read."""
    # Files can have very many chunks without filters.
    offset, is_encrypted = (
        footer.chunks.one(field, row_group, leaf.index)
        for field in ("bloom_filter_offset", "has_crypto_metadata")
    )
    if offset == _kernel.ABSENT and not is_encrypted:
        return NoFilters(NO_FILTER)
    chunk = footer.chunk(row_group, leaf)
    if chunk.bloom_filter_offset is None:
        # Without its key nobody knows whether there is one.
        return NoFilters(NO_KEY, 1) if chunk.is_locked else NoFilters(NO_FILTER)
    if chunk.has_file_path:
        return NoFilters("the column chunk lies in another file", 1)
    try:
        return (_read(source, footer, chunk),)
    except MissingKeyError:
        return NoFilters(NO_KEY, 1)
    except (FilterError, TamperedError) as error:
        return NoFilters(str(error).removeprefix(f"{footer.where}: {chunk.where}: "), 1)


def _read(source: Source, footer: Footer, chunk: ColumnChunk) -> ReadFilter:
    stored = bloom.read_header(source, footer, chunk)
    if stored is None:
        raise FilterError(NO_FILTER)
    if stored.num_bytes <= 0 or stored.num_bytes % BLOCK_BYTES:
        raise FilterError(f"numBytes is {stored.num_bytes}")
    if stored.end > footer.start:
        raise FilterError("the filter reaches into the footer")
    bits = bloom.read_bitset(source, stored)
    return ReadFilter(bits, filter_description(stored, bits), _says(stored))


def _says(stored: bloom.StoredFilter) -> dict[str, str]:
    """What header and footer say, but for places and sizes."""
    length = "wrong" if stored.length is not None else "missing"
    if stored.length == stored.end - stored.offset:
        length = "right"
    return {
        "algorithm": stored.algorithm,
        "hash": stored.hash,
        "compression": stored.compression,
        "bloom_filter_length": length,
    }
