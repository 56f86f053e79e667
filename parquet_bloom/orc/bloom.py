"""The Bloom filters of one column in one stripe, one for each index group.

    BloomFilterIndex | BloomFilter | BloomFilter | ...
    BloomFilter      | numHashFunctions | bitset: fixed64, fixed64, ... | utf8bitset: bytes |

BLOOM_FILTER streams have their bits in `bitset`, BLOOM_FILTER_UTF8 streams in `utf8bitset`: the
same words, little-endian. Either is read wherever it stands; where both do, they must agree.

What is written here has a mark behind the filters, in a field that other readers pass over: by it
filters that were built later are told from those of the file's writer, some of which are known to
get values wrong.

Spec: apache/orc-format, specification/ORCv1.md "Bloom Filter Index"; orc-core, BloomFilterIO.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from struct import pack
from typing import Any

from parquet_bloom.errors import FilterError, FormatError
from parquet_bloom.filters.k_hash import KHashFilter
from parquet_bloom.orc import wire
from parquet_bloom.orc.keys.key_form import KeyForm
from parquet_bloom.orc.proto import orc_pb2
from parquet_bloom.orc.stripe import BLOOM_FILTER, OrcStream
from parquet_bloom.orc.tail import decode

_FILTER = 1
_NUM_HASHES, _BITSET, _UTF8_BITSET = 1, 2, 3

# Far from the ids that the format will have.
_MARK_FIELD = 31420
_MARK = b"parquet_bloom"

PRE_RELEASE = "filters in the layout of Hive before release 1.2, whose hash is not known"


@dataclass(frozen=True, slots=True)
class StoredIndex:
    """The filters of a column in a stripe, by index group, and how their keys were made.

    `bloom_encoding` is what the stripe footer says of the column. `is_marked`: they are ours, not
    those of the file's writer.
    """

    stream: OrcStream
    bloom_encoding: int
    form: KeyForm
    filters: tuple[KHashFilter, ...]
    is_marked: bool


def read_filters(
    data: bytes, kind: int, num_index_groups: int, where: str
) -> tuple[KHashFilter, ...]:
    """The filters in an expanded stream of this kind, one per index group.

    Raises FilterError for filters that cannot be used, FooterError for bytes that are none.
    """
    if is_pre_release(data, kind, where):
        raise FilterError(f"{where}: {PRE_RELEASE}")
    stored = decode(orc_pb2.BloomFilterIndex, data, where).bloomFilter
    if len(stored) != num_index_groups:
        raise FilterError(f"{where}: {len(stored)} filters, expected {num_index_groups}")
    return tuple(
        _read_filter(each, f"{where}: index group {index}") for index, each in enumerate(stored)
    )


def stored_messages(data: bytes, where: str) -> list[bytes]:
    """The filters in an expanded stream that read_filters takes, as they are encoded. Raises
    FilterError for what protobuf passes over and nobody writes."""
    try:
        found = list(wire.fields(data))
    except FormatError as error:
        raise FilterError(f"{where}: {error}") from None
    return [
        data[field.value : field.end]
        for field in found
        if (field.number, field.wire_type) == (_FILTER, wire.BYTES)
    ]


def is_marked(data: bytes) -> bool:
    """Whether the filters in an expanded stream are ours."""
    return data.endswith(wire.bytes_field(_MARK_FIELD, _MARK))


def is_pre_release(data: bytes, kind: int, where: str) -> bool:
    """Whether an expanded stream has the layout that Hive had before its first release with
    filters. Raises FooterError for bytes that are none.

    Readers of today take it for filters of 64 bits, and lose nearly every row.
    """
    if kind != BLOOM_FILTER:
        return False
    stored = decode(orc_pb2.PreReleaseIndex, data, where).bloomFilter
    return any(each.HasField("word") for each in stored)


def stored_bitsets(stored: Any) -> tuple[bytes, bytes]:
    """The `bitset` and the `utf8bitset` of a BloomFilter, little-endian; one of them is empty, as a
    rule."""
    return pack(f"<{len(stored.bitset)}Q", *stored.bitset), bytes(stored.utf8bitset)


def _read_filter(stored: Any, where: str) -> KHashFilter:
    words, text = stored_bitsets(stored)
    if words and text and words != text:
        raise FilterError(f"{where}: bitset and utf8bitset differ")
    try:
        return KHashFilter.from_bytes(words or text, stored.numHashFunctions)
    except FilterError as error:
        raise FilterError(f"{where}: {error}") from None


def encode_filters(filters: Sequence[KHashFilter], kind: int) -> bytes:
    """A marked stream of this kind, not yet in chunks. Every bit of a filter's words must count."""
    encode = _encode_bitset if kind == BLOOM_FILTER else _encode_utf8_bitset
    stored = [wire.bytes_field(_FILTER, encode(filter)) for filter in filters]
    return b"".join([*stored, wire.bytes_field(_MARK_FIELD, _MARK)])


def _encode_bitset(filter: KHashFilter) -> bytes:
    tag = wire.varint(_BITSET << 3 | wire.FIXED64)
    bits = filter.bitset
    words = [tag + bits[at : at + 8] for at in range(0, len(bits), 8)]
    return wire.number_field(_NUM_HASHES, filter.num_hashes) + b"".join(words)


def _encode_utf8_bitset(filter: KHashFilter) -> bytes:
    number = wire.number_field(_NUM_HASHES, filter.num_hashes)
    return number + wire.bytes_field(_UTF8_BITSET, filter.bitset)
