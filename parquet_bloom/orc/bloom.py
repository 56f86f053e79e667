"""The Bloom filters of one column in one stripe, one per index group.

    BloomFilterIndex | BloomFilter | BloomFilter | ...
    BloomFilter      | numHashFunctions | bitset: fixed64, fixed64, ... | utf8bitset: bytes |

BLOOM_FILTER streams store their bits in `bitset`, BLOOM_FILTER_UTF8 streams in `utf8bitset`: the
same words, little-endian. Either field is read in either stream; if both are set, they must agree.

Our streams end with a mark, in a field that other readers skip: some writers' own filters are known
to be wrong.

Spec: apache/orc-format, specification/ORCv1.md "Bloom Filter Index"; orc-core, BloomFilterIO.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from struct import pack
from typing import Final

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import FilterError, FormatError
from parquet_bloom.filters.k_hash import KHashFilter
from parquet_bloom.orc import wire
from parquet_bloom.orc.proto import orc_pb2
from parquet_bloom.orc.stripe import (
    BLOOM_FILTER,
    BLOOM_FILTER_UTF8,
    MAX_INDEX_GROUPS,
    OrcStream,
)
from parquet_bloom.orc.tail import DECODED, decode
from parquet_bloom.orc.wire import Message

_FILTER = 1
# Of each filter besides its bits: decoded, as one of ours, and what is said about it.
FILTER_BYTES: Final = 1_500
_NUM_HASHES, _BITSET, _UTF8_BITSET = 1, 2, 3

# Far from any id that the format may assign.
_MARK_FIELD = 31420
_MARK = b"parquet_bloom"

PRE_RELEASE = "filters in the layout of Hive before release 1.2, whose hash is unknown"


@dataclass(frozen=True, slots=True)
class OrcKeyForm:
    """What of a value is hashed, which differs between writers; the defaults are today's.

    `utf8`: the stream is BLOOM_FILTER_UTF8, whose timestamps are wall-clock times taken as UTC;
    otherwise BLOOM_FILTER, whose timestamps are instants in `writer_timezone`, a name of the IANA
    database, or empty for UTC. `logical_shifts`: integers are hashed with unsigned shifts, as in ORC
    C++ 1.6.0 to 1.6.11 and 1.7.0 (ORC-1024).
    """

    utf8: bool = True
    logical_shifts: bool = False
    writer_timezone: str = ""


@dataclass(frozen=True, slots=True)
class StoredIndex:
    """The filters of a column in a stripe, by index group.

    `bloom_encoding`: the column's, from the stripe footer. `is_marked`: pbloom built the filters,
    not the file's writer.
    """

    stream: OrcStream
    bloom_encoding: int
    key_form: OrcKeyForm
    filters: tuple[KHashFilter, ...]
    is_marked: bool


def read_filters(
    data: bytes, kind: int, num_index_groups: int, where: str
) -> tuple[KHashFilter, ...]:
    """The filters in a decompressed stream of this kind, one per index group.

    Raises FilterError for unusable filters, FooterError for a damaged stream.
    """
    if is_pre_release(data, kind, where):
        raise FilterError(f"{where}: {PRE_RELEASE}")
    stored = decoded_filters(orc_pb2.BloomFilterIndex, data, where)
    if len(stored) != num_index_groups:
        raise FilterError(f"{where}: {len(stored)} filters, expected {num_index_groups}")
    return tuple(
        _read_filter(each, f"{where}: index group {index}") for index, each in enumerate(stored)
    )


def size_of_most(data: bytes, kind: int, where: str) -> tuple[int, int] | None:
    """The bits and hashes of most filters in a decompressed stream, whatever is wrong with others; None if most
    differ. Raises FooterError for a damaged stream."""
    if is_pre_release(data, kind, where):
        return None
    stored = decoded_filters(orc_pb2.BloomFilterIndex, data, where)
    sizes: Counter[tuple[int, int]] = Counter()
    for each in stored:
        with suppress(FilterError):
            filter = _read_filter(each, where)
            sizes[filter.num_bits, filter.num_hashes] += 1
    return next((size for size, count in sizes.items() if 2 * count > len(stored)), None)


def stored_messages(data: bytes, where: str) -> list[bytes]:
    """The encoded filters in a decompressed stream that read_filters accepts. Raises FilterError for
    fields that protobuf skips but no writer writes."""
    try:
        found = list(wire.fields(data))
    except FormatError as error:
        raise FilterError(f"{where}: {error}") from None
    return [
        data[field.value : field.end]
        for field in found
        if (field.number, field.wire_type) == (_FILTER, wire.BYTES)
    ]


def decoded_filters(message: Message, data: bytes, where: str) -> Sequence[Message]:
    """The filters of a decompressed stream, decoded as this class of index. Raises FooterError,
    UnsupportedError for more than fits the memory budget."""
    room = DECODED * len(data)
    # Only filters that are nearly empty take so much.
    with suppress(FormatError):
        num_filters = sum(1 for _ in islice(wire.fields(data), MAX_INDEX_GROUPS + 2))
        if num_filters <= MAX_INDEX_GROUPS + 1:
            room = 3 * len(data) + FILTER_BYTES * num_filters
    filters: Sequence[Message] = decode(message, data, where, room).bloomFilter
    return filters


def is_marked(data: bytes) -> bool:
    """Whether pbloom built the filters in a decompressed stream."""
    return data.endswith(wire.bytes_field(_MARK_FIELD, _MARK))


def is_pre_release(data: bytes, kind: int, where: str) -> bool:
    """Whether a decompressed stream has the layout of Hive before its first release with filters,
    which current readers misread, losing nearly every row. Raises FooterError."""
    if kind != BLOOM_FILTER:
        return False
    stored = decoded_filters(orc_pb2.PreReleaseIndex, data, where)
    return any(each.HasField("word") for each in stored)


def stored_bitsets(stored: Message) -> tuple[bytes, bytes]:
    """The `bitset` and `utf8bitset` of a BloomFilter, little-endian; one of them is usually empty."""
    return pack(f"<{len(stored.bitset)}Q", *stored.bitset), bytes(stored.utf8bitset)


def _read_filter(stored: Message, where: str) -> KHashFilter:
    words, text = stored_bitsets(stored)
    if words and text and words != text:
        raise FilterError(f"{where}: bitset and utf8bitset differ")
    try:
        return KHashFilter.from_bytes(words or text, stored.numHashFunctions)
    except FilterError as error:
        raise FilterError(f"{where}: {error}") from None


def encode_filters(filters: Sequence[KHashFilter], kind: int) -> bytes:
    """A marked stream of this kind, uncompressed. Filters must use every bit of their words."""
    encode = _with_bytes if kind == BLOOM_FILTER_UTF8 else _with_longs
    stored = (part for filter in filters for part in encode(filter))
    return b"".join([*stored, wire.bytes_field(_MARK_FIELD, _MARK)])


def stored_size(filter: KHashFilter, is_first: bool) -> int:
    """What a filter adds to a marked BLOOM_FILTER_UTF8 stream, uncompressed, in bytes; `is_first`: with the mark."""
    mark = wire.bytes_field(_MARK_FIELD, _MARK) if is_first else b""
    return len(_head(filter.num_hashes, filter.num_bytes)) + filter.num_bytes + len(mark)


def _with_bytes(filter: KHashFilter) -> tuple[bytes, memoryview]:
    return _head(filter.num_hashes, filter.num_bytes), filter.bitset


@lru_cache(maxsize=16)
def _head(num_hashes: int, num_bytes: int) -> bytes:
    """What precedes the bits, of which there are the same number in all filters of a stream."""
    head = wire.number_field(_NUM_HASHES, num_hashes) + wire.bytes_head(_UTF8_BITSET, num_bytes)
    return wire.bytes_head(_FILTER, len(head) + num_bytes) + head


def _with_longs(filter: KHashFilter) -> tuple[bytes]:
    tag, bits = wire.varint(_BITSET << 3 | wire.FIXED64), filter.bitset
    longs = b"".join(tag + bits[at : at + 8] for at in range(0, len(bits), 8))
    return (wire.bytes_field(_FILTER, wire.number_field(_NUM_HASHES, filter.num_hashes) + longs),)
