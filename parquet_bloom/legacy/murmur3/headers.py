"""Headers of split block filters of before parquet-format 2.7.0, in every layout ever drafted.

    8-byte   | numBytes (4) | 0 (4) | bitset |                         numbers: int32, little-endian
    12-byte  | numBytes (4) | hash: 0 (4) | algorithm: 0 (4) | bitset |
    16-byte  | numBytes (4) | 0 (4) | 0 (4) | compression: 0 (4) | bitset |
    thrift   | BloomFilterHeader{1 numBytes, 2 algorithm, 3 hash} | bitset |  unions, or enums before
    page     | PageHeader{1 type: 4, 2 and 3 sizes, 9 {1 numBytes, 2 algorithm, 3 hash}} | bitset |

The Thrift layouts named Murmur3 where the same bytes name XXH64 now, and none names the seed. So a
header leaves several schemes open, and the chunk's values decide (see membership). What tells
`thrift` from today's header is that field 4, the compression, is missing.

Sources: the history of parquet-format's BloomFilter.md and parquet.thrift, and of parquet-java's
and parquet-cpp's BloomFilter, 2017 to 2020.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Literal, get_args

from parquet_bloom.dataclass import dataclass
from parquet_bloom.legacy.murmur3.schemes import HIVE_SEED, PARQUET_SEED, Scheme
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.footer import compact
from parquet_bloom.vocabulary import HeaderLayout

# Of these, we write those of HeaderLayout.
StoredLayout = Literal["8-byte", "12-byte", "16-byte", "thrift", "page"]

# More than any header takes.
MAX_HEADER_BYTES: Final = 96

MIN_BYTES, MAX_BYTES = 32, 128 << 20

BLOOM_FILTER_PAGE: Final = 4

_INT32 = 4
_TYPE, _UNCOMPRESSED_SIZE, _COMPRESSED_SIZE, _PAGE_DETAILS = 1, 2, 3, 9
_NUM_BYTES, _ALGORITHM, _HASH = 1, 2, 3

# A Thrift struct without fields.
_EMPTY = b"\0"

_MASKED = tuple(Scheme("MURMUR3", seed, "mask") for seed in (PARQUET_SEED, HIVE_SEED, 0))
_SHIFTED = tuple(Scheme("MURMUR3", scheme.seed, "multiply-shift") for scheme in _MASKED)
_XXHASH = Scheme("XXHASH", 0, "multiply-shift")
_MASKED_XXHASH = Scheme("XXHASH", 0, "mask")
_HIVE = Scheme("HIVE", HIVE_SEED, "mask", "big")

# What can follow each, the likeliest first.
SCHEMES: Final[Mapping[StoredLayout, tuple[Scheme, ...]]] = {
    "12-byte": (*_MASKED, _MASKED_XXHASH, _XXHASH, _HIVE),
    "16-byte": (_XXHASH, _MASKED_XXHASH),
    "8-byte": (_HIVE,),
    "thrift": (*_MASKED, *_SHIFTED, _XXHASH, _MASKED_XXHASH),
    "page": (*_MASKED, *_SHIFTED, _XXHASH, _MASKED_XXHASH),
}


@dataclass(frozen=True, slots=True)
class LegacyHeader:
    """A header in one reading; `num_bytes` is the size of the bitset that follows."""

    layout: StoredLayout
    header_bytes: int
    num_bytes: int

    @property
    def total_bytes(self) -> int:
        return self.header_bytes + self.num_bytes

    @property
    def is_written(self) -> bool:
        """Whether we write it, too."""
        return self.layout in get_args(HeaderLayout)

    @property
    def is_power_of_two(self) -> bool:
        """Whether blocks can be selected by a mask."""
        return self.num_bytes & (self.num_bytes - 1) == 0

    @property
    def schemes(self) -> tuple[Scheme, ...]:
        """How the bits may have been made."""
        return tuple(
            scheme
            for scheme in SCHEMES[self.layout]
            if self.is_power_of_two or scheme.selection != "mask"
        )


def read(data: bytes) -> tuple[LegacyHeader, ...]:
    """Every legacy header that `data` may begin with; none if it is something else.

    Where only the size makes it a header, sizes that no old writer made are left out.
    """
    thrift = _thrift(data)
    return (thrift,) if thrift else tuple(_plain(data))


def _plain(data: bytes) -> Iterator[LegacyHeader]:
    num_bytes = int.from_bytes(data[:_INT32], "little", signed=True)
    if not MIN_BYTES <= num_bytes <= MAX_BYTES or num_bytes & (num_bytes - 1):
        return
    layouts: Mapping[int, StoredLayout] = {12: "12-byte", 16: "16-byte", 8: "8-byte"}
    for header_bytes, layout in layouts.items():
        if len(data) >= header_bytes and not any(data[_INT32:header_bytes]):
            yield LegacyHeader(layout, header_bytes, num_bytes)


def _thrift(data: bytes) -> LegacyHeader | None:
    layout: StoredLayout = "thrift"
    try:
        fields, end = _fields(data, 0), _kernel.struct_end(data)
        if set(fields) == {_TYPE, _UNCOMPRESSED_SIZE, _COMPRESSED_SIZE, _PAGE_DETAILS}:
            kind, start = fields[_PAGE_DETAILS]
            if _number(data, fields[_TYPE]) != BLOOM_FILTER_PAGE or kind != compact.TYPE_STRUCT:
                return None
            layout, fields = "page", _fields(data, start)
        # Exactly these three, the last two the first member of their union or enum.
        if set(fields) != {_NUM_BYTES, _ALGORITHM, _HASH}:
            return None
        num_bytes = _number(data, fields[_NUM_BYTES])
        is_first = all(_is_first(data, *fields[number]) for number in (_ALGORITHM, _HASH))
    except _kernel.ScanError:
        return None
    return LegacyHeader(layout, end, num_bytes) if is_first and num_bytes is not None else None


def _fields(data: bytes, start: int) -> dict[int, tuple[int, int]]:
    """The type of each field of the struct at `start`, and where its value begins."""
    return {number: (kind, value) for number, kind, _, value, _ in _kernel.fields(data, start)}


def _number(data: bytes, field: tuple[int, int]) -> int | None:
    kind, start = field
    return compact.read_zigzag(data, start) if kind == compact.TYPE_I32 else None


def _is_first(data: bytes, kind: int, start: int) -> bool:
    if kind != compact.TYPE_STRUCT:
        return _number(data, (kind, start)) == 0
    members = _fields(data, start)
    return set(members) == {1} and members[1][0] == compact.TYPE_STRUCT


def encode(layout: HeaderLayout, num_bytes: int) -> bytes:
    """The header of a bitset of `num_bytes`."""
    if layout == "12-byte":
        return num_bytes.to_bytes(_INT32, "little") + bytes(2 * _INT32)
    size = (compact.TYPE_I32, compact.zigzag(num_bytes))
    member = (compact.TYPE_STRUCT, compact.splice(_EMPTY, 0, {1: (compact.TYPE_STRUCT, _EMPTY)}))
    details = compact.splice(_EMPTY, 0, {_NUM_BYTES: size, _ALGORITHM: member, _HASH: member})
    if layout == "thrift":
        return details
    page = {
        _TYPE: (compact.TYPE_I32, compact.zigzag(BLOOM_FILTER_PAGE)),
        _UNCOMPRESSED_SIZE: size,
        _COMPRESSED_SIZE: size,
        _PAGE_DETAILS: (compact.TYPE_STRUCT, details),
    }
    return compact.splice(_EMPTY, 0, page)
