"""What stands before the bits of an old split block filter, in each form that was ever drafted.

    8-byte   | numBytes (4) | 0 (4) | bitset |                         numbers: int32, little-endian
    12-byte  | numBytes (4) | hash: 0 (4) | algorithm: 0 (4) | bitset |
    16-byte  | numBytes (4) | 0 (4) | 0 (4) | compression: 0 (4) | bitset |
    thrift   | BloomFilterHeader{1 numBytes, 2 algorithm, 3 hash} | bitset |  unions, or enums before
    page     | PageHeader{1 type: 4, 2 and 3 sizes, 9 {1 numBytes, 2 algorithm, 3 hash}} | bitset |

The Thrift forms named Murmur3 where the same bytes name XXH64 now, and no form names the seed. So a
header has candidates, of which the values of the chunk choose (see recognise). What tells `thrift`
from today's header is that field 4, the compression, is missing.

Sources: the history of parquet-format's BloomFilter.md and parquet.thrift, and of parquet-java's
and parquet-cpp's BloomFilter, 2017 to 2020.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from parquet_bloom.legacy import varints
from parquet_bloom.legacy.murmur3.schemes import HIVE_SEED, PARQUET_SEED, Scheme
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.footer import compact
from parquet_bloom.vocabulary import HeaderLayout

HeaderForm = Literal["8-byte", "12-byte", "16-byte", "thrift", "page"]

# More than any header takes.
MAX_HEADER_BYTES: Final = 96

MIN_BYTES, MAX_BYTES = 32, 128 << 20

BLOOM_FILTER_PAGE: Final = 4

_INT32 = 4
_TYPE, _UNCOMPRESSED_SIZE, _COMPRESSED_SIZE, _PAGE_DETAILS = 1, 2, 3, 9
_NUM_BYTES, _ALGORITHM, _HASH = 1, 2, 3

_MASKED = tuple(Scheme("MURMUR3", seed, "mask") for seed in (PARQUET_SEED, HIVE_SEED, 0))
_SHIFTED = tuple(Scheme("MURMUR3", scheme.seed, "multiply-shift") for scheme in _MASKED)
_XXHASH = Scheme("XXHASH", 0, "multiply-shift")
_MASKED_XXHASH = Scheme("XXHASH", 0, "mask")
_HIVE = Scheme("HIVE", HIVE_SEED, "mask", "big")

# What can be behind each form, the likeliest first.
SCHEMES: Final[Mapping[HeaderForm, tuple[Scheme, ...]]] = {
    "12-byte": (*_MASKED, _MASKED_XXHASH, _XXHASH, _HIVE),
    "16-byte": (_XXHASH, _MASKED_XXHASH),
    "8-byte": (_HIVE,),
    "thrift": (*_MASKED, *_SHIFTED, _XXHASH, _MASKED_XXHASH),
    "page": (*_MASKED, *_SHIFTED, _XXHASH, _MASKED_XXHASH),
}


@dataclass(frozen=True, slots=True)
class OldHeader:
    """A header as it may be understood; `num_bytes` is the bitset's size."""

    form: HeaderForm
    header_bytes: int
    num_bytes: int

    @property
    def is_power_of_two(self) -> bool:
        """Whether blocks can be selected by a mask."""
        return self.num_bytes & (self.num_bytes - 1) == 0

    @property
    def schemes(self) -> tuple[Scheme, ...]:
        """How the bits may have been made."""
        return tuple(
            scheme
            for scheme in SCHEMES[self.form]
            if self.is_power_of_two or scheme.selection != "mask"
        )


def read(data: bytes) -> tuple[OldHeader, ...]:
    """Every old header that `data` may begin with; none if it is something else.

    Sizes that no old writer made are left out where only the size tells that it is a header.
    """
    thrift = _thrift(data)
    return (thrift,) if thrift else tuple(_plain(data))


def _plain(data: bytes) -> Iterator[OldHeader]:
    num_bytes = int.from_bytes(data[:_INT32], "little", signed=True)
    if not MIN_BYTES <= num_bytes <= MAX_BYTES or num_bytes & (num_bytes - 1):
        return
    forms: tuple[HeaderForm, ...] = ("12-byte", "16-byte", "8-byte")
    for form in forms:
        header_bytes = int(form.removesuffix("-byte"))
        if len(data) >= header_bytes and not any(data[_INT32:header_bytes]):
            yield OldHeader(form, header_bytes, num_bytes)


def _thrift(data: bytes) -> OldHeader | None:
    try:
        fields = _spans(data, 0)
        end = _kernel.struct_end(data)
        if set(fields) == {_TYPE, _UNCOMPRESSED_SIZE, _COMPRESSED_SIZE, _PAGE_DETAILS}:
            if _number(data, fields[_TYPE]) != BLOOM_FILTER_PAGE:
                return None
            if fields[_PAGE_DETAILS][0] != compact.TYPE_STRUCT:
                return None
            details = _spans(data, fields[_PAGE_DETAILS][1])
            return _bloom_filter_header(data, "page", details, end)
        return _bloom_filter_header(data, "thrift", fields, end)
    except _kernel.ScanError:
        return None


# Of a field: its type, and where its value begins and ends.
_Spans = dict[int, tuple[int, int, int]]


def _spans(data: bytes, start: int) -> _Spans:
    return {
        number: (kind, value, end) for number, kind, _, value, end in _kernel.fields(data, start)
    }


def _number(data: bytes, span: tuple[int, int, int]) -> int | None:
    kind, start, end = span
    return int(varints.decode(data[start:end])[0]) if kind == compact.TYPE_I32 else None


def _bloom_filter_header(
    data: bytes, form: HeaderForm, fields: _Spans, end: int
) -> OldHeader | None:
    """Exactly the three fields, of which the last two are the first member of their kind."""
    if set(fields) != {_NUM_BYTES, _ALGORITHM, _HASH}:
        return None
    num_bytes = _number(data, fields[_NUM_BYTES])
    if num_bytes is None or not all(_is_first(data, fields[n]) for n in (_ALGORITHM, _HASH)):
        return None
    return OldHeader(form, end, num_bytes)


def _is_first(data: bytes, span: tuple[int, int, int]) -> bool:
    kind, start, _ = span
    if kind != compact.TYPE_STRUCT:
        return _number(data, span) == 0
    members = [(number, kind) for number, kind, *_ in _kernel.fields(data, start)]
    return members == [(1, compact.TYPE_STRUCT)]


def encode(layout: HeaderLayout, num_bytes: int) -> bytes:
    """The header of a bitset of `num_bytes`."""
    if layout == "12-byte":
        return num_bytes.to_bytes(_INT32, "little") + bytes(2 * _INT32)
    size = (compact.TYPE_I32, compact.zigzag(num_bytes))
    member = (compact.TYPE_STRUCT, compact.splice(_EMPTY, 0, {1: (compact.TYPE_STRUCT, _EMPTY)}))
    details = compact.splice(_EMPTY, 0, {_NUM_BYTES: size, _ALGORITHM: member, _HASH: member})
    if layout == "thrift":
        return details
    return compact.splice(
        _EMPTY,
        0,
        {
            _TYPE: (compact.TYPE_I32, compact.zigzag(BLOOM_FILTER_PAGE)),
            _UNCOMPRESSED_SIZE: size,
            _COMPRESSED_SIZE: size,
            _PAGE_DETAILS: (compact.TYPE_STRUCT, details),
        },
    )


# A Thrift struct without fields.
_EMPTY = b"\0"
