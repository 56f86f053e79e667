"""Filters in the bytes of a file: their headers and bits, replaced, moved and added."""

import struct
from collections.abc import Iterable
from typing import Any

from make.footers import footer_start, pointer, with_pointer

from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.thrift import ttypes

# The longest header of the usual members: numBytes takes up to five bytes.
MAX_HEADER_BYTES = 20


def filter_header(num_bytes: int | None, **unions: Any) -> bytes:
    """A BloomFilterHeader; a union that is named here replaces the usual one."""
    usual = {
        "algorithm": ttypes.BloomFilterAlgorithm(BLOCK=ttypes.SplitBlockAlgorithm()),
        "hash": ttypes.BloomFilterHash(XXHASH=ttypes.XxHash()),
        "compression": ttypes.BloomFilterCompression(UNCOMPRESSED=ttypes.Uncompressed()),
    }
    return compact.encode(ttypes.BloomFilterHeader(numBytes=num_bytes, **(usual | unions)))


def stored_filter(bits: bytes) -> bytes:
    return filter_header(len(bits)) + bits


def bits_of(values: Iterable[bytes | int], num_blocks: int) -> bytes:
    """The bitset of these values: stored bytes, or integers of 64 bits."""
    bits = SplitBlockBloomFilter.empty(num_blocks)
    for value in values:
        bits.insert_value(value if isinstance(value, bytes) else struct.pack("<q", value))
    return bits.to_bytes()


def inserted_before_footer(data: bytes, more: bytes) -> tuple[bytes, int]:
    """The same file with `more` before its footer, and where that begins."""
    start = footer_start(data)
    return data[:start] + more + data[start:], start


def with_filter_bytes(data: bytes, row_group: int, column: int, stored: bytes) -> bytes:
    """The same file with `stored` before the footer, as the filter of one chunk."""
    grown, start = inserted_before_footer(data, stored)
    return with_pointer(grown, start, len(stored), row_group, column)


def header_bytes(data: bytes, row_group: int = 0, column: int = 0) -> int:
    offset, _ = pointer(data, row_group, column)
    _, end = compact.decode(ttypes.BloomFilterHeader, data[offset : offset + MAX_HEADER_BYTES])
    return end


def bitset_at(data: bytes, row_group: int = 0, column: int = 0) -> tuple[int, int]:
    """Where the bits of a filter begin and end."""
    offset, length = pointer(data, row_group, column)
    return offset + header_bytes(data, row_group, column), offset + length


def bitset(data: bytes, row_group: int = 0, column: int = 0) -> bytes:
    """The bits of a chunk's filter; none if it has no filter."""
    if pointer(data, row_group, column)[0] is None:
        return b""
    start, end = bitset_at(data, row_group, column)
    return data[start:end]


def with_bitset(data: bytes, bits: bytes, row_group: int = 0, column: int = 0) -> bytes:
    """The same file with other bits in the same place."""
    start, end = bitset_at(data, row_group, column)
    assert len(bits) == end - start
    return data[:start] + bits + data[end:]


def with_bits(data: bytes, bits: bytes, row_group: int = 0, column: int = 0) -> bytes:
    """The same file with this bitset as the filter of one chunk: in the place of the one that is
    there, if it is as large, or else behind all that there is."""
    if len(bits) == len(bitset(data, row_group, column)):
        return with_bitset(data, bits, row_group, column)
    return with_filter_bytes(data, row_group, column, stored_filter(bits))


def with_header(data: bytes, at: int, byte: int) -> bytes:
    """The same file with one byte of the first filter's header changed, counted from its start."""
    offset, _ = pointer(data)
    return data[: offset + at] + bytes([byte]) + data[offset + at + 1 :]
