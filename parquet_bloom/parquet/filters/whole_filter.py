"""A filter read whole, to be compared with another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloom.container import NoFilters, ReadFilter
from parquet_bloom.errors import FilterError, MissingKeyError, TamperedError
from parquet_bloom.filters.sizing import BLOCK_BYTES
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.filters import bloom
from parquet_bloom.parquet.filters.describe import filter_description
from parquet_bloom.vocabulary import NO_FILTER, NO_KEY

if TYPE_CHECKING:
    from parquet_bloom.parquet.footer.schema import LeafColumn
    from parquet_bloom.parquet.open_file import OpenFile


def read_whole(file: OpenFile, row_group: int, leaf: LeafColumn) -> tuple[ReadFilter] | NoFilters:
    """The filter of one chunk, even if readers would not trust it, or why it cannot be read."""
    # Without making a ColumnChunk: a file can have very many without filters.
    offset, is_encrypted = (
        file.footer.chunks.one(field, row_group, leaf.index)
        for field in ("bloom_filter_offset", "has_crypto_metadata")
    )
    if offset == _kernel.ABSENT and not is_encrypted:
        return NoFilters(NO_FILTER)
    chunk = file.footer.chunk(row_group, leaf)
    if chunk.has_file_path and chunk.has_filters:
        return NoFilters("the column chunk is in another file", 1)
    try:
        stored = bloom.read_header(file.source, file.footer, chunk)
        if stored is None:
            return NoFilters(NO_FILTER)
        if stored.num_bytes <= 0 or stored.num_bytes % BLOCK_BYTES:
            return NoFilters(f"numBytes is {stored.num_bytes}", 1)
        if stored.end > file.footer.start:
            return NoFilters("the filter reaches into the footer", 1)
        bits = bloom.read_bitset(file.source, stored)
    except MissingKeyError:
        return NoFilters(NO_KEY, 1)
    except (FilterError, TamperedError) as error:
        return NoFilters(str(error).removeprefix(f"{file.path}: {chunk.where}: "), 1)
    length = "wrong"
    if stored.length is None:
        length = "missing"
    elif stored.length == stored.end - stored.offset:
        length = "right"
    says = {
        "algorithm": stored.algorithm,
        "hash": stored.hash,
        "compression": stored.compression,
        "bloom_filter_length": length,
    }
    return (ReadFilter(bits, filter_description(stored, bits), says),)
