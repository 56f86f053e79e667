"""A Bloom filter in a file: a header and a bitset.

    bloom_filter_offset →  | BloomFilterHeader (Thrift) | bitset: numBytes bytes |
                           |<-------- bloom_filter_length, if the writer says it -->|

In an encrypted column, each of the two is in an envelope of its own, and bloom_filter_length counts
both envelopes.

A filter that is not exactly as the format defines it, or that overlaps something else, is never
used to call a value absent.

Spec: parquet-format, BloomFilter.md "File Format", parquet.thrift `BloomFilterHeader`.
"""

from __future__ import annotations

from dataclasses import field
from functools import lru_cache
from math import gcd
from typing import TYPE_CHECKING, Final

from parquet_bloom.container import record
from parquet_bloom.errors import EncryptionError, FilterError, FormatError, UnsupportedError, at
from parquet_bloom.filters.sizing import BLOCK_BYTES
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.sealed.modules import (
    MAX_SEALED_HEADER_BYTES,
    PLAIN,
    Modules,
    ReadBits,
    named,
)
from parquet_bloom.parquet.thrift import ttypes
from parquet_bloom.vocabulary import NO_FILTER, NO_META_DATA, ONLY_NULLS, UNKNOWN

if TYPE_CHECKING:
    from parquet_bloom.parquet.filters.ordinary import OrdinaryFilter
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
    from parquet_bloom.parquet.footer.footer import Footer
    from parquet_bloom.storage.source import Source

SPLIT_BLOCK, XXHASH, UNCOMPRESSED = "BLOCK", "XXHASH", "UNCOMPRESSED"

# In a header whose unions are all without a member.
NOTHING = "nothing"

UNNAMED = (
    "the filter header names no algorithm, no hash and no compression, as @dsnp/parquetjs leaves it:"
    " no reader can use the filter"
)

# The header's unions by field id, and for each the only member that the format defines (id 1).
_UNIONS = {2: ("algorithm", SPLIT_BLOCK), 3: ("hash", XXHASH), 4: ("compression", UNCOMPRESSED)}


@record
class StoredFilter:
    """The header and location of a filter; `length` is the footer's, None if missing.

    `header_bytes`: the size of the stored header. `num_bytes`: the size of the bitset. `modules`:
    how the filter of `chunk` is stored in the `file`.
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
    def end(self) -> int:
        """The end of the stored bitset."""
        return self.offset + self.header_bytes + self.num_bytes + self.modules.bitset_overhead

    @property
    def is_encrypted(self) -> bool:
        """Whether header and bitset are in envelopes."""
        return self.modules is not PLAIN

    @property
    def is_leaked(self) -> bool:
        """Whether the filter is in plaintext although its column is encrypted."""
        return self.chunk.has_crypto_metadata and not self.is_encrypted

    @property
    def names_nothing(self) -> bool:
        """Whether the header has no member in any of its unions."""
        return self.algorithm == self.hash == self.compression == NOTHING

    @property
    def num_blocks(self) -> int:
        return self.num_bytes // BLOCK_BYTES

    @property
    def dialect(self) -> str:
        """`xxhash` for filters of the current format."""
        return "xxhash" if self.hash == XXHASH else UNKNOWN


# Most filters of many files have the same size.
@lru_cache(maxsize=64)
def encode_header(num_bytes: int) -> bytes:
    """Encode the header of a bitset of `num_bytes`."""
    header = ttypes.BloomFilterHeader(
        numBytes=num_bytes,
        algorithm=ttypes.BloomFilterAlgorithm(BLOCK=ttypes.SplitBlockAlgorithm()),
        hash=ttypes.BloomFilterHash(XXHASH=ttypes.XxHash()),
        compression=ttypes.BloomFilterCompression(UNCOMPRESSED=ttypes.Uncompressed()),
    )
    return compact.encode(header)


def stored_size(chunk: ColumnChunk, num_bytes: int) -> int:
    """What a filter of a chunk takes in the file, in bytes, with its header: one that `build` writes,
    with a bitset of `num_bytes`."""
    # If they are encrypted, each is in an envelope of its own.
    return len(encode_header(num_bytes)) + num_bytes + 2 * chunk.modules.bitset_overhead


def stored_as_usual(footer: Footer, chunk: ColumnChunk, found: OrdinaryFilter) -> StoredFilter:
    """The ordinary filter of a chunk, as read_header would return it."""
    return StoredFilter(
        found.offset,
        found.length,
        found.header_bytes,
        found.num_bytes,
        SPLIT_BLOCK,
        XXHASH,
        UNCOMPRESSED,
        footer.where,
        chunk,
        PLAIN,
    )


def read_header(source: Source, footer: Footer, chunk: ColumnChunk) -> StoredFilter | None:
    """The chunk's filter without its bits; None if the footer points to none.

    Raises FilterError if there is no header at the offset, MissingKeyError if it is encrypted and
    there is no key, TamperedError if it cannot be decrypted.
    """
    try:
        return _read_header(source, footer, chunk)
    except (EncryptionError, FilterError, UnsupportedError) as error:
        raise at(f"{footer.where}: {chunk.where}", error) from None


def _read_header(source: Source, footer: Footer, chunk: ColumnChunk) -> StoredFilter | None:
    offset, length = chunk.bloom_filter_offset, chunk.bloom_filter_length
    if offset is None:
        chunk.modules.check_readable()
        return None
    if not 4 <= offset < footer.start:
        raise FilterError(f"bloom_filter_offset is {offset}, expected 4 to {footer.start - 1}")
    modules = _modules_of_filter(source, chunk, offset, footer.start)
    try:
        data, header_bytes = modules.filter_header(source, offset, footer.start)
        end = header_bytes if modules is PLAIN else _kernel.struct_end(data)
        num_bytes, words = _decoded(data[:end])
    except (_kernel.ScanError, FormatError) as error:
        raise FilterError(f"no filter header at {offset}: {error}") from None
    if num_bytes is None:
        raise FilterError("no numBytes in the filter header")
    return StoredFilter(
        offset, length, header_bytes, num_bytes, *words, footer.where, chunk, modules
    )


@lru_cache(maxsize=64)
def _decoded(header: bytes) -> tuple[int | None, tuple[str, str, str]]:
    """numBytes, and algorithm, hash and compression. Most filters of a file share a header."""
    found, _ = compact.decode(ttypes.BloomFilterHeader, header)
    members = _members(header)
    algorithm, hash, compression = (members.get(name, UNKNOWN) for name, _ in _UNIONS.values())
    return found.numBytes, (algorithm, hash, compression)


def plain_filter_end(source: Source, start: int, end: int) -> int | None:
    """Where the unencrypted filter that begins at `start` ends, by `end`; None if none that encode_header
    begins is there."""
    try:
        header, size = PLAIN.filter_header(source, start, end)
        num_bytes, _ = _decoded(header[:size])
    except (_kernel.ScanError, FormatError):
        return None
    if num_bytes is None or num_bytes <= 0 or header[:size] != encode_header(num_bytes):
        return None
    filter_end = start + size + num_bytes
    return filter_end if filter_end <= end else None


def _modules_of_filter(source: Source, chunk: ColumnChunk, offset: int, end: int) -> Modules:
    """How the filter is stored: some writers leave that of an encrypted column in plaintext. Bytes
    that begin with the length of an envelope are not a plaintext header."""
    if not chunk.has_crypto_metadata:
        return PLAIN
    prefix = int.from_bytes(source.read_at(offset, min(4, end - offset)), "little")
    if prefix <= MAX_SEALED_HEADER_BYTES:
        return chunk.modules
    try:
        data, size = PLAIN.filter_header(source, offset, end)
        num_bytes, words = _decoded(data[:size])
    except (_kernel.ScanError, FormatError):
        return chunk.modules
    return chunk.modules if num_bytes is None or set(words) == {UNKNOWN} else PLAIN


def _members(header: bytes) -> dict[str, str]:
    """The member that is set in each union of the header, if it is the one that the format defines
    and the only one; NOTHING if none is set in any. Generated structs cannot tell."""
    members: dict[str, str] = {}
    empty: list[str] = []
    for union_id, field_type, _, value, _ in _kernel.fields(header):
        union, member = _UNIONS.get(union_id, ("", ""))
        if field_type == compact.TYPE_STRUCT and union:
            ids = [(item[0], item[1]) for item in _kernel.fields(header, value)]
            if ids == [(1, compact.TYPE_STRUCT)]:
                members[union] = member
            elif not ids:
                empty.append(union)
    if len(empty) == len(_UNIONS):
        return dict.fromkeys(empty, NOTHING)
    return members


def _doubt(footer: Footer, stored: StoredFilter) -> str:
    """Why the filter cannot be trusted; empty if it is as the format defines it and overlaps
    nothing, or is in envelopes of its own."""
    chunk = stored.chunk
    if stored.is_leaked:
        return "the column is encrypted, but its filter is in plaintext"
    if chunk.has_crypto_metadata:
        if chunk.row_group in footer.repeated_ordinals:
            return (
                "another row group has the same ordinal, so the encrypted filter may belong to it"
            )
    elif doubt := footer.protection.doubt(chunk.leaf.path):
        return doubt
    if stored.names_nothing:
        return UNNAMED
    if (stored.algorithm, stored.hash, stored.compression) != (SPLIT_BLOCK, XXHASH, UNCOMPRESSED):
        return (
            f"filter header says algorithm {stored.algorithm}, hash {stored.hash}, compression"
            f" {stored.compression}: expected {SPLIT_BLOCK}, {XXHASH}, {UNCOMPRESSED}"
        )
    if stored.num_bytes <= 0 or stored.num_bytes % BLOCK_BYTES:
        return (
            f"filter header says {stored.num_bytes} bytes, expected a positive multiple of"
            f" {BLOCK_BYTES}"
        )
    end = stored.end
    size = end - stored.offset
    if stored.length is not None and stored.length != size:
        return (
            f"bloom_filter_length is {stored.length}, expected {size}: {stored.header_bytes} of"
            f" header and {size - stored.header_bytes} of bitset"
        )
    # What is sealed for this chunk is opened as nothing else, so that overlaps leave no doubt about it; and to look
    # for them, all that the footer says of other columns would have to be decrypted.
    if stored.is_encrypted and end <= footer.start:
        return ""
    if footer.layout.is_alone(stored.offset, end):
        return ""
    place = f"filter at {stored.offset} to {end}"
    if footer.layout.overlaps_data(stored.offset, end):
        return f"{place} overlaps pages, page indexes or the footer at {footer.start}"
    return f"{place} overlaps the filter of another column chunk"


def read_usable_header(source: Source, footer: Footer, chunk: ColumnChunk) -> StoredFilter | None:
    """As read_header, but raises FilterError for a filter that cannot be trusted."""
    stored = read_header(source, footer, chunk)
    if stored is not None and (doubt := _doubt(footer, stored)):
        raise FilterError(f"{stored.where}: {doubt}")
    return stored


def has_no_rows(footer: Footer, chunk: ColumnChunk) -> bool:
    """As both its row group and itself say, so that no value is in it."""
    return footer.row_group_num_rows(chunk.row_group) == chunk.num_values == 0


def no_filter_reason(chunk: ColumnChunk) -> str:
    """Why the footer points to no filter for a chunk, as far as the footer tells."""
    if chunk.meta_start is None and not chunk.has_crypto_metadata:
        return NO_META_DATA
    if chunk.leaf.type.physical == "BOOLEAN":
        return f"{NO_FILTER}: BOOLEAN columns get none"
    if chunk.num_values == 0:
        return f"{NO_FILTER}: the chunk has no values"
    if not chunk.may_have_values:
        return ONLY_NULLS
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
    """The whole filter, for reading."""
    return SplitBlockBloomFilter.over(bits(source, stored)(0, stored.num_bytes))


# How much of two bitsets is compared at once, in bytes of the larger one.
_COMPARED_BYTES: Final = 1 << 20


def lacks_some(source: Source, stored: StoredFilter, new: SplitBlockBloomFilter) -> bool:
    """Whether `new` has bits that the stored filter lacks, both folded to a size that they have in common: then some
    of its values were never inserted there. One that was not goes unnoticed as often as it passes a filter of that
    size."""
    read, size = bits(source, stored), gcd(stored.num_blocks, new.num_blocks)
    factor, new_factor = stored.num_blocks // size, new.num_blocks // size
    step = max(1, _COMPARED_BYTES // (BLOCK_BYTES * max(factor, new_factor)))
    for start in range(0, size, step):
        end = min(size, start + step)
        here, there = (
            [each * BLOCK_BYTES * by for each in (start, end)] for by in (factor, new_factor)
        )
        old = SplitBlockBloomFilter.over(read(here[0], here[1] - here[0])).fold(factor)
        before = old.to_bytes()
        old.unite(SplitBlockBloomFilter.over(bytes(new.bitset[slice(*there)])).fold(new_factor))
        if old.bitset != before:
            return True
    return False


def read_block(
    read: ReadBits, stored: StoredFilter, hash: int
) -> tuple[int, SplitBlockBloomFilter]:
    """The index of the block that `hash` selects, and that block as a filter of its own, in which
    every hash selects block 0 and tests the same bits. `read`: the result of `bits`."""
    index = ((hash >> 32) * stored.num_blocks) >> 32
    return index, SplitBlockBloomFilter.over(read(index * BLOCK_BYTES, BLOCK_BYTES))
