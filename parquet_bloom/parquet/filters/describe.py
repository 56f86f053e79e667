"""Describe the filters of a chunk: what is stored, what the bits tell, or why there are none."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from parquet_bloom.container import FilterDescription, NoFilters, ReadFilter
from parquet_bloom.container.descriptions import (
    ChunkDescription,
    FilterBytes,
    LegacyDescription,
    OnBits,
    finite,
)
from parquet_bloom.errors import (
    FilterError,
    MissingKeyError,
    ParquetBloomError,
    TamperedError,
    without_place,
)
from parquet_bloom.filters.sizing import BLOCK_BITS, BLOCK_BYTES, estimate_ndv
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.filters import bloom
from parquet_bloom.parquet.filters.clear import NO_BIT_SET
from parquet_bloom.parquet.filters.legacy_kind import (
    NOT_OF_DIALECT,
    UnusableLegacy,
    private_or_reason,
)
from parquet_bloom.parquet.filters.ordinary import NONE, OrdinaryFilter, read_ordinary
from parquet_bloom.parquet.footer.chunk_table import known
from parquet_bloom.vocabulary import NO_FILTER, NO_META_DATA

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parquet_bloom.filters.split_block import SplitBlockBloomFilter
    from parquet_bloom.parquet.filters.legacy_kind import LegacyFilter
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
    from parquet_bloom.parquet.footer.schema import LeafColumn
    from parquet_bloom.parquet.open_file import OpenFile
    from parquet_bloom.storage.source import Source
    from parquet_bloom.vocabulary import Dialect


def describe_chunks(
    file: OpenFile,
    source: Source,
    row_group: int,
    leaves: Sequence[LeafColumn],
    on_bits: OnBits | None,
) -> Iterator[ChunkDescription]:
    """The chunks of a row group; `source` is that of `file`. Raises TamperedError for a wrong key."""
    may_have_private = file.legacy is not None and file.legacy.may_have_private(file)
    filters = NONE if may_have_private else read_ordinary(file, row_group, leaves)
    fields = "num_values", "total_compressed_size"
    num_values, sizes = (file.footer.chunks_of(leaves).part(field, row_group) for field in fields)
    for leaf in leaves:
        index = leaf.index
        found = filters.get(index)
        if found is None or found.bits_set == 0:
            yield _describe(file, source, file.footer.chunk(row_group, leaf), on_bits)
            continue
        if on_bits is not None:
            on_bits(partial(filters.bits, found))
        yield ChunkDescription(
            leaf.name,
            leaf.physical_type,
            leaf.logical_type,
            known(num_values[index]),
            known(sizes[index]),
            _ordinary(found),
            None,
        )


def _describe(
    file: OpenFile, source: Source, chunk: ColumnChunk, on_bits: OnBits | None
) -> ChunkDescription:
    filter, reason = _filter(file, source, chunk, on_bits)
    private = () if file.legacy is None else map(_private, file.legacy.private(file, chunk))
    leaf = chunk.leaf
    return ChunkDescription(
        leaf.name,
        leaf.physical_type,
        leaf.logical_type,
        chunk.num_values,
        chunk.total_compressed_size,
        filter,
        reason,
        tuple(private),
        (NO_BIT_SET,) if filter and filter.fill == 0 and chunk.may_have_values else (),
    )


def _filter(
    file: OpenFile, source: Source, chunk: ColumnChunk, on_bits: OnBits | None
) -> tuple[FilterDescription | None, str | None]:
    """The filter at bloom_filter_offset; None, and why."""
    try:
        stored = bloom.read_usable_header(source, file.footer, chunk)
        if stored is None:
            return None, bloom.no_filter_reason(chunk)
        bits = bloom.read_bitset(source, stored)
        if on_bits is not None:
            on_bits(lambda: bits)
        return filter_description(stored, bits), None
    except MissingKeyError:
        return None, chunk.no_key
    except TamperedError as error:
        # With a wrong key. One that opens the rest of the chunk is right, and the filter is damaged.
        if chunk.is_locked:
            raise
        return None, without_place(error, file.path, chunk.where)
    except ParquetBloomError as error:
        return _legacy(file, chunk, on_bits, without_place(error, file.path, chunk.where))


def _legacy(
    file: OpenFile, chunk: ColumnChunk, on_bits: OnBits | None, reason: str
) -> tuple[FilterDescription | None, str | None]:
    """The legacy filter there; None, and why: `reason` if there is none of that kind either."""
    if file.legacy is None:
        return None, reason
    try:
        found = file.legacy.published(file, chunk)
    except ParquetBloomError as error:
        return None, without_place(error, file.path, chunk.where)
    if found is None:
        return None, reason
    if on_bits is not None:
        on_bits(lambda: found.bits)
    return _published(chunk, found), None


def _ordinary(found: OrdinaryFilter) -> FilterDescription:
    offset, length, header_bytes, num_bytes, bits_set, fpp = found
    num_blocks = num_bytes // BLOCK_BYTES
    return FilterDescription(
        "xxhash",
        offset,
        length,
        length,
        1,
        num_bytes,
        bits_set / (num_blocks * BLOCK_BITS),
        fpp,
        fpp,
        finite(estimate_ndv(bits_set, num_blocks)),
        False,
        header_bytes,
        num_blocks,
        bloom.SPLIT_BLOCK,
        bloom.XXHASH,
        bloom.UNCOMPRESSED,
    )


def filter_description(
    stored: bloom.StoredFilter, bits: SplitBlockBloomFilter
) -> FilterDescription:
    """What is stored, and what the bits tell."""
    fpp, bits_set, num_blocks = bits.fpp, bits.bits_set, bits.num_blocks
    return FilterDescription(
        stored.dialect,
        stored.offset,
        stored.length,
        stored.end - stored.offset,
        1,
        stored.num_bytes,
        bits_set / (num_blocks * BLOCK_BITS),
        fpp,
        fpp,
        finite(estimate_ndv(bits_set, num_blocks)),
        stored.is_encrypted,
        stored.header_bytes,
        num_blocks,
        stored.algorithm,
        stored.hash,
        stored.compression,
    )


def _published(chunk: ColumnChunk, found: LegacyFilter) -> FilterDescription:
    """A legacy filter at bloom_filter_offset, which has split blocks, too."""
    return FilterDescription(
        dialect=found.dialect,
        offset=found.offset,
        length=chunk.bloom_filter_length,
        stored_bytes=found.stored_bytes,
        num_filters=1,
        num_bytes=found.bits.num_bytes,
        fill=found.bits.fill,
        fpp=found.bits.fpp,
        worst_fpp=found.bits.fpp,
        ndv_estimate=finite(found.bits.ndv_estimate),
        header_bytes=found.header_bytes,
        num_blocks=found.bits.num_bytes // BLOCK_BYTES,
        algorithm=bloom.SPLIT_BLOCK,
        hash=found.hash,
        compression=bloom.UNCOMPRESSED,
    )


def _private(found: LegacyFilter | UnusableLegacy) -> LegacyDescription:
    if isinstance(found, UnusableLegacy):
        return LegacyDescription(found.dialect, found.pointer, reason=found.reason)
    return LegacyDescription(
        dialect=found.dialect,
        pointer=found.pointer,
        layout=found.layout,
        hash=found.hash,
        offset=found.offset,
        stored_bytes=found.stored_bytes,
        header_bytes=found.header_bytes,
        num_bytes=found.bits.num_bytes,
        fill=found.bits.fill,
        fpp=found.bits.fpp,
        ndv_estimate=finite(found.bits.ndv_estimate),
    )


def stored_filter(
    file: OpenFile,
    chunk: ColumnChunk,
    dialect: Dialect | None,
    seed: int | None,
    decrypt: bool,
) -> FilterBytes:
    """The bytes of one filter. Raises FilterError if there is no usable one, EncryptionError if it
    cannot be decrypted."""
    if file.legacy is not None:
        if dialect is None and file.legacy.is_published(file, chunk):
            dialect = "murmur3"
        if dialect is not None and dialect != "xxhash":
            return _stored_legacy(file, chunk, file.legacy.find(file, chunk, dialect, seed))
    try:
        stored = bloom.read_usable_header(file.source, file.footer, chunk)
    except FilterError as error:
        raise FilterError(f"{error}; unparsed=True dumps the bytes as they are") from None
    if stored is None:
        found, reason = None, bloom.no_filter_reason(chunk)
        if dialect is None:
            found, reason = private_or_reason(file, chunk, reason)
        if found is None:
            where = f"{file.path}: {chunk.where}: "
            raise FilterError(where + reason.removeprefix(where))
        return _stored_legacy(file, chunk, found)
    # Fails if it has been tampered with.
    read = bloom.bits(file.source, stored)
    if decrypt:
        header, bitset = bloom.header_of(file.source, stored), read(0, stored.num_bytes)
    else:
        data = file.source.read_at(stored.offset, stored.end - stored.offset)
        header, bitset = data[: stored.header_bytes], data[stored.header_bytes :]
    return FilterBytes(
        place=chunk.place,
        column=chunk.leaf.name,
        dialect=stored.dialect,
        offset=stored.offset,
        length=stored.length,
        num_bytes=stored.num_bytes,
        bitset=bitset,
        encrypted=stored.is_encrypted and not decrypt,
        header=header,
        header_bytes=stored.header_bytes,
        algorithm=stored.algorithm,
        hash=stored.hash,
        compression=stored.compression,
    )


def _stored_legacy(file: OpenFile, chunk: ColumnChunk, found: LegacyFilter | None) -> FilterBytes:
    if found is None:
        raise FilterError(f"{file.path}: {chunk.where}: {NOT_OF_DIALECT}")
    header, bitset = found.header_and_bitset()
    return FilterBytes(
        place=chunk.place,
        column=chunk.leaf.name,
        dialect=found.dialect,
        offset=found.offset,
        length=found.stored_bytes,
        num_bytes=found.bits.num_bytes,
        bitset=bitset,
        header=header,
        header_bytes=found.header_bytes,
        hash=found.hash,
        pointer=found.pointer,
        layout=found.layout,
    )


def read_whole(file: OpenFile, row_group: int, leaf: LeafColumn) -> tuple[ReadFilter] | NoFilters:
    """The filter of one chunk, even if readers would not trust it, or why it cannot be read."""
    # Without making a ColumnChunk: a file can have very many without filters.
    described_at, offset, is_encrypted = (
        file.footer.chunks_of([leaf]).one(field, row_group, leaf.index)
        for field in ("meta_start", "bloom_filter_offset", "has_crypto_metadata")
    )
    if described_at == _kernel.ABSENT and not is_encrypted:
        return NoFilters(NO_META_DATA, 1)
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
        return NoFilters(chunk.no_key, 1)
    except (FilterError, TamperedError) as error:
        return NoFilters(without_place(error, file.path, chunk.where), 1)
    length = "not as the header says"
    if stored.length is None:
        length = "missing"
    elif stored.length == stored.end - stored.offset:
        length = "as the header says"
    says = {
        "algorithm": stored.algorithm,
        "hash": stored.hash,
        "compression": stored.compression,
        "bloom_filter_length": length,
    }
    return (ReadFilter(bits, filter_description(stored, bits), says),)
