"""A Bloom filter in a file: a header and a bitset.

    bloom_filter_offset →  | BloomFilterHeader (Thrift) | bitset: numBytes bytes |
                           |<-------- bloom_filter_length, if the writer says it -->|

In an encrypted column, each of the two is in an envelope of its own, and bloom_filter_length counts
both envelopes.

A filter that is not exactly as the format defines it is never used to call a value absent: one with
another hash, a size that is not whole blocks, or a range that overlaps something else.

Spec: parquet-format, BloomFilter.md "File Format", parquet.thrift `BloomFilterHeader`.
"""

from __future__ import annotations

from dataclasses import field
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from parquet_bloom.container.records import record
from parquet_bloom.errors import EncryptionError, FilterError, FormatError, UnsupportedError
from parquet_bloom.filters.sizing import BLOCK_BYTES
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.sealed.modules import (
    MAX_SEALED_HEADER_BYTES,
    PLAIN,
    Modules,
    ReadBits,
    at,
    named,
)
from parquet_bloom.parquet.thrift import ttypes
from parquet_bloom.vocabulary import NO_FILTER, UNKNOWN

if TYPE_CHECKING:
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
    from parquet_bloom.parquet.footer.footer import Footer
    from parquet_bloom.storage.source import Source

SPLIT_BLOCK, XXHASH, UNCOMPRESSED = "BLOCK", "XXHASH", "UNCOMPRESSED"

# The header's unions by field id, and for each the only member that the format defines (id 1).
_UNIONS = {2: ("algorithm", SPLIT_BLOCK), 3: ("hash", XXHASH), 4: ("compression", UNCOMPRESSED)}


@record
class StoredFilter:
    """The header and location of a filter; `length` is the footer's, None if missing.

    `header_bytes`: the size of the stored header. `num_bytes`: the size of the bitset. `modules`: how
    the filter of `chunk` is stored in the `file`.
    """

    offset: int
    length: int | None
    header_bytes: int
    num_bytes: int
    algorithm: str
    hash: str
    compression: str
    file: str = field(repr=False)
    chunk: ColumnChunk = field(repr=False)
    modules: Modules = field(repr=False)

    @property
    def where(self) -> str:
        """How a message names file and chunk."""
        return f"{self.file}: {self.chunk.where}"

    @property
    def bitset_bytes(self) -> int:
        """The size of the stored bitset."""
        return self.num_bytes + self.modules.bitset_overhead

    @property
    def end(self) -> int:
        """The end of the bitset."""
        return self.offset + self.header_bytes + self.bitset_bytes

    @property
    def is_encrypted(self) -> bool:
        """Whether header and bitset are in envelopes."""
        return self.modules is not PLAIN

    @property
    def num_blocks(self) -> int:
        return self.num_bytes // BLOCK_BYTES

    @property
    def dialect(self) -> str:
        """`xxhash` for filters of the current format."""
        return "xxhash" if self.hash == XXHASH else UNKNOWN


def encode_header(num_bytes: int) -> bytes:
    """Encode the header of a bitset of `num_bytes`."""
    header = ttypes.BloomFilterHeader(
        numBytes=num_bytes,
        algorithm=ttypes.BloomFilterAlgorithm(BLOCK=ttypes.SplitBlockAlgorithm()),
        hash=ttypes.BloomFilterHash(XXHASH=ttypes.XxHash()),
        compression=ttypes.BloomFilterCompression(UNCOMPRESSED=ttypes.Uncompressed()),
    )
    return compact.encode(header)


def read_header(source: Source, footer: Footer, chunk: ColumnChunk) -> StoredFilter | None:
    """The chunk's filter without its bits; None if the footer points to none.

    Raises FilterError if there is no header at the offset, MissingKeyError if it is encrypted and
    there is no key, TamperedError if it cannot be decrypted.
    """
    offset = chunk.bloom_filter_offset
    if offset is None:
        with named(_where(footer, chunk)):
            chunk.modules.check_readable()
        return None
    if not 4 <= offset < footer.start:
        raise FilterError(
            f"{_where(footer, chunk)}: bloom_filter_offset is {offset}, expected between 4 and"
            f" {footer.start}"
        )
    modules = _modules_of_filter(source, chunk, offset, footer.start)
    try:
        data, header_bytes = modules.filter_header(source, offset, footer.start)
        end = header_bytes if modules is PLAIN else _kernel.struct_end(data)
        header = _decoded(data[:end])
    except (EncryptionError, UnsupportedError) as error:
        raise at(_where(footer, chunk), error) from None
    except (_kernel.ScanError, FormatError) as error:
        raise FilterError(
            f"{_where(footer, chunk)}: no filter header at {offset}: {error}"
        ) from None
    if header.num_bytes is None:
        raise FilterError(f"{_where(footer, chunk)}: no numBytes in the filter header")
    return StoredFilter(
        offset,
        chunk.bloom_filter_length,
        header_bytes,
        header.num_bytes,
        header.algorithm,
        header.hash,
        header.compression,
        footer.where,
        chunk,
        modules,
    )


def _where(footer: Footer, chunk: ColumnChunk) -> str:
    return f"{footer.where}: {chunk.where}"


class _Header(NamedTuple):
    num_bytes: int | None
    algorithm: str
    hash: str
    compression: str


@lru_cache(maxsize=64)
def _decoded(header: bytes) -> _Header:
    """What a header says. Most filters of a file have the same one."""
    found, _ = compact.decode(ttypes.BloomFilterHeader, header)
    members = _members(header)
    words = (members.get(union, UNKNOWN) for union, _ in _UNIONS.values())
    return _Header(found.numBytes, *words)


def _modules_of_filter(source: Source, chunk: ColumnChunk, offset: int, end: int) -> Modules:
    """How the filter is stored: some writers leave it in plaintext although the column is encrypted.

    Bytes that begin with the length of an envelope are not a plaintext header.
    """
    if not chunk.has_crypto_metadata:
        return PLAIN
    prefix = int.from_bytes(source.read_at(offset, min(4, end - offset)), "little")
    if prefix <= MAX_SEALED_HEADER_BYTES:
        return chunk.modules
    try:
        data, _ = PLAIN.filter_header(source, offset, end)
        header, _ = compact.decode(ttypes.BloomFilterHeader, data)
    except (_kernel.ScanError, FormatError):
        return chunk.modules
    return chunk.modules if header.numBytes is None or not _members(data) else PLAIN


def _members(header: bytes) -> dict[str, str]:
    """The member that is set in each union of the header.

    Leaves out a union with another member, with none, or with a second one beside the one that the
    format defines; generated structs cannot tell these apart.
    """
    members = {}
    for union_id, field_type, _, value, _ in _kernel.fields(header):
        union, member = _UNIONS.get(union_id, ("", ""))
        if field_type == compact.TYPE_STRUCT and union:
            ids = [(item[0], item[1]) for item in _kernel.fields(header, value)]
            if ids == [(1, compact.TYPE_STRUCT)]:
                members[union] = member
    return members


def is_leaked(chunk: ColumnChunk, stored: StoredFilter) -> bool:
    """Whether the filter reveals an encrypted column."""
    return chunk.has_crypto_metadata and not stored.is_encrypted


def check_usable(footer: Footer, chunk: ColumnChunk, stored: StoredFilter) -> None:
    """Raise FilterError unless the filter is one that the format defines and overlaps nothing."""
    if is_leaked(chunk, stored):
        raise FilterError(
            f"{stored.where}: the column is encrypted, but its filter is in plaintext"
        )
    doubt = "" if chunk.has_crypto_metadata else footer.protection.doubt(chunk.leaf.path)
    if doubt:
        raise FilterError(f"{stored.where}: {doubt}")
    if chunk.has_crypto_metadata and chunk.row_group in footer.repeated_ordinals:
        raise FilterError(
            f"{stored.where}: another row group has the same ordinal, so the encrypted filter may belong"
            " to it"
        )
    if (stored.algorithm, stored.hash, stored.compression) != (SPLIT_BLOCK, XXHASH, UNCOMPRESSED):
        raise FilterError(
            f"{stored.where}: filter header says algorithm {stored.algorithm}, hash {stored.hash},"
            f" compression {stored.compression}: expected {SPLIT_BLOCK}, {XXHASH}, {UNCOMPRESSED}"
        )
    if stored.num_bytes <= 0 or stored.num_bytes % BLOCK_BYTES:
        raise FilterError(
            f"{stored.where}: filter header says {stored.num_bytes} bytes, expected a positive multiple"
            f" of {BLOCK_BYTES}"
        )
    end = stored.end
    if stored.length is not None and stored.length != end - stored.offset:
        raise FilterError(
            f"{stored.where}: bloom_filter_length is {stored.length}, expected"
            f" {end - stored.offset}: {stored.header_bytes} of header and"
            f" {stored.bitset_bytes} of bitset"
        )
    if footer.layout.is_alone(stored.offset, end):
        return
    place = f"{stored.where}: filter at {stored.offset} to {end}"
    if footer.layout.overlaps_data(stored.offset, end):
        raise FilterError(f"{place} overlaps pages, page indexes or the footer at {footer.start}")
    raise FilterError(f"{place} overlaps the filter of another column chunk")


def read_usable_header(source: Source, footer: Footer, chunk: ColumnChunk) -> StoredFilter | None:
    """As read_header, but raises FilterError for a filter that cannot be trusted."""
    stored = read_header(source, footer, chunk)
    if stored is not None:
        check_usable(footer, chunk, stored)
    return stored


def no_filter_reason(chunk: ColumnChunk) -> str:
    """Why a chunk whose footer points to no filter has none, as far as the footer tells."""
    if chunk.leaf.type.physical == "BOOLEAN":
        return f"{NO_FILTER}: BOOLEAN columns get none"
    if chunk.num_values == 0:
        return f"{NO_FILTER}: the chunk has no values"
    return NO_FILTER


def header_of(source: Source, stored: StoredFilter) -> bytes:
    """The header as encoded by its writer."""
    with named(stored.where):
        data, _ = stored.modules.filter_header(source, stored.offset, stored.end)
    return data[: _kernel.struct_end(data)]


def bits(source: Source, stored: StoredFilter) -> ReadBits:
    """A function that reads ranges of the bitset; an encrypted one is decrypted whole, once."""
    start = stored.offset + stored.header_bytes
    try:
        return stored.modules.bits(source, start, stored.num_bytes)
    except (EncryptionError, UnsupportedError) as error:
        raise at(stored.where, error) from None


def read_bitset(source: Source, stored: StoredFilter) -> SplitBlockBloomFilter:
    """The whole filter."""
    return SplitBlockBloomFilter.from_bytes(bits(source, stored)(0, stored.num_bytes))


def read_block(
    read: ReadBits, stored: StoredFilter, hash: int
) -> tuple[int, SplitBlockBloomFilter]:
    """The index of the block that `hash` selects, and that block as a filter of its own; `read` is
    the result of `bits`.

    In a filter of one block every hash selects block 0, so a check tests the same bits.
    """
    index = ((hash >> 32) * stored.num_blocks) >> 32
    block = read(index * BLOCK_BYTES, BLOCK_BYTES)
    return index, SplitBlockBloomFilter.from_bytes(block)
