"""The bytes that bloom_filter_offset leads to, where they are no filter: some writers leave out the
header, so that a bare bitset is there.

    bloom_filter_offset →  | bitset |      bloom_filter_length bytes, or up to what follows
"""

from __future__ import annotations

from collections.abc import Iterator

from parquet_bloom.container.descriptions import FilterBytes
from parquet_bloom.errors import (
    EncryptionError,
    FilterError,
    FormatError,
    UnsupportedError,
)
from parquet_bloom.filters.sizing import BLOCK_BYTES, MAX_BYTES
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.parquet.filters import bloom
from parquet_bloom.parquet.filters.membership import check_membership
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.layout import MAGIC_BYTES
from parquet_bloom.parquet.open_file import OpenFile
from parquet_bloom.vocabulary import UNKNOWN

# A bitset that finds more than this of all values proves nothing by finding the stored ones.
MAX_FPP = 0.5
MIN_VALUES = 8


def bare_bitset(file: OpenFile, chunk: ColumnChunk, deep: bool) -> str:
    """What there is to say about a bitset without a header, empty if nothing is. `deep`: the stored
    values prove it; otherwise only its length suggests it."""
    offset = chunk.bloom_filter_offset
    if offset is None or chunk.has_crypto_metadata:
        return ""
    sizes = [*_sizes(file, chunk, offset)]
    if not deep:
        size = chunk.bloom_filter_length
        is_whole = size in sizes and size % BLOCK_BYTES == 0 and size <= MAX_BYTES
        return f"the {size:,} bytes there could be a bitset without a header" if is_whole else ""
    # Where the footer leads past the header, its length reaches into what is behind, such as the next header.
    for size in dict.fromkeys(size - size % BLOCK_BYTES for size in sizes):
        if not 0 < size <= MAX_BYTES:
            continue
        filter = SplitBlockBloomFilter.from_bytes(file.source.read_at(offset, size))
        if not filter.bits_set or filter.fpp > MAX_FPP:
            continue
        try:
            membership = check_membership(file, chunk, filter)
        except (EncryptionError, FormatError, UnsupportedError):
            return ""
        if membership.num_values >= MIN_VALUES and not membership.missing:
            return (
                f"the {size:,} bytes there are a bitset without a header, which finds all"
                f" {membership.num_values:,} stored values"
            )
    return ""


def unparsed_filter(file: OpenFile, chunk: ColumnChunk) -> FilterBytes:
    """The bytes as a filter without a header. Raises FilterError if the footer leads to none,
    UnsupportedError for an encrypted column, whose values they could reveal."""
    where, offset = f"{file.path}: {chunk.where}", chunk.bloom_filter_offset
    if chunk.has_crypto_metadata:
        raise UnsupportedError(f"{where}: unparsed is not supported for an encrypted column")
    if offset is None:
        raise FilterError(f"{where}: {bloom.no_filter_reason(chunk)}")
    size = next(_sizes(file, chunk, offset), 0)
    if not size:
        raise FilterError(
            f"{where}: bloom_filter_offset is {offset}, expected {MAGIC_BYTES} to"
            f" {file.footer.start - 1}"
        )
    return FilterBytes(
        place=chunk.place,
        column=chunk.leaf.name,
        dialect=UNKNOWN,
        offset=offset,
        length=chunk.bloom_filter_length,
        num_bytes=size,
        bitset=file.source.read_at(offset, size),
        header=b"",
        header_bytes=0,
    )


def _sizes(file: OpenFile, chunk: ColumnChunk, offset: int) -> Iterator[int]:
    """How many bytes may belong to the filter, the likeliest first: as many as the footer says, or
    all up to whatever is next."""
    length, end = chunk.bloom_filter_length, file.footer.start
    if not MAGIC_BYTES <= offset < end:
        return
    if length is not None and 0 < length <= end - offset:
        yield length
    chunks = file.footer.chunks
    starts = [
        start
        for field in ("bloom_filter_offset", "offset_index_offset", "column_index_offset")
        for start in chunks.every(field)
        if offset < start < end
    ]
    gap = min(starts, default=end) - offset
    if gap != length:
        yield gap
