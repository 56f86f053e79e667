"""The struct of a Bloom filter that lies in a column chunk's Statistics.

    ColumnMetaData.statistics | min, max, counts as today | 7 or 5, or 31420: the struct |

    1  list<i64> or binary  bitSet: bit i is bit i % 64 of long i / 64
    2  i32                  numBits
    3  i32                  numHashFunctions
    4  i32                  bloomFilterStrategy: 0 MURMUR128_32, 1 MURMUR128_64; not in all drafts
    31421  binary           ours: the strategy by its own name, because 0 had two meanings
    31422  any              ours: what stood in Statistics in the struct's place

Later versions of the format gave ids 5 and 7 of Statistics to max_value and is_max_value_exact.
Neither is a struct, so that the type tells which of the two a field is.

Sources: parquet-format pull request 28 (2015 to 2017), parquet-java pull request 215.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from parquet_bloom.errors import FilterError
from parquet_bloom.filters.k_hash import MAX_BITS, MAX_HASHES
from parquet_bloom.legacy import varints
from parquet_bloom.legacy.statistics import java_longs
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.footer import compact

Form = Literal["list", "binary", "java"]

BITSET: Final = 1
_NUM_BITS, _NUM_HASHES, _STRATEGY = 2, 3, 4
_STRATEGY_NAME, _DISPLACED = 31421, 31422

WORD_BYTES, WORD_BITS = 8, 64

# A Thrift field: its type and its encoded value.
Field = tuple[int, bytes]


@dataclass(frozen=True, slots=True)
class StatisticsStruct:
    """A filter as it is stored. `bitset`: the longs, little-endian; `strategy`: the number in field
    4, None if there is none; `name`: what we called it when we wrote it; `displaced`: the field of
    Statistics that was there before."""

    form: Form
    bitset: bytes
    num_bits: int
    num_hashes: int
    strategy: int | None
    name: str = ""
    displaced: Field | None = None

    @property
    def num_words(self) -> int:
        return len(self.bitset) // WORD_BYTES


def encode(struct: StatisticsStruct) -> bytes:
    """The struct in Thrift's compact protocol."""
    fields: dict[int, Field | None] = {
        BITSET: _ENCODED[struct.form](struct.bitset),
        _NUM_BITS: (compact.TYPE_I32, compact.zigzag(struct.num_bits)),
        _NUM_HASHES: (compact.TYPE_I32, compact.zigzag(struct.num_hashes)),
        _DISPLACED: struct.displaced,
    }
    if struct.strategy is not None:
        fields[_STRATEGY] = (compact.TYPE_I32, compact.zigzag(struct.strategy))
    if struct.name:
        fields[_STRATEGY_NAME] = _binary(struct.name.encode())
    return compact.splice(b"\0", 0, fields)


def _binary(data: bytes) -> Field:
    return compact.TYPE_BINARY, compact.varint(len(data)) + data


def _list(bitset: bytes) -> Field:
    words = np.frombuffer(bitset, "<i8")
    header = compact.list_header(compact.TYPE_I64, words.size)
    return compact.TYPE_LIST, header + varints.encode(words)


def _java(bitset: bytes) -> Field:
    return _binary(java_longs.serialized(bitset))


_ENCODED: Mapping[Form, Callable[[bytes], Field]] = {
    "list": _list,
    "binary": _binary,
    "java": _java,
}


def decode(data: bytes) -> StatisticsStruct:
    """The struct that `data` begins with, which has been scanned as Thrift.

    Raises FilterError unless it is a filter whose numbers go together.
    """
    fields = {
        number: (kind, data[value:end]) for number, kind, _, value, end in _kernel.fields(data)
    }
    form, bitset = _bitset(fields.get(BITSET))
    struct = StatisticsStruct(
        form,
        bitset,
        _number(fields, _NUM_BITS, "numBits"),
        _number(fields, _NUM_HASHES, "numHashFunctions"),
        _number(fields, _STRATEGY, "bloomFilterStrategy") if _STRATEGY in fields else None,
        _name(fields.get(_STRATEGY_NAME)),
        _displaced(fields.get(_DISPLACED)),
    )
    _check(struct)
    return struct


def _displaced(field: Field | None) -> Field | None:
    """A struct in its place would be a filter again."""
    return None if field is None or field[0] == compact.TYPE_STRUCT else field


def _bitset(field: Field | None) -> tuple[Form, bytes]:
    if field is None:
        raise FilterError("the filter in Statistics has no bitSet")
    kind, value = field
    if kind == compact.TYPE_LIST:
        return "list", _words_of_list(value)
    if kind != compact.TYPE_BINARY:
        raise FilterError(f"bitSet: of Thrift type {kind}, expected list<i64> or binary")
    data = _contents(value)
    # No stream of Java objects with a long[] is a multiple of 8 bytes.
    if len(data) % WORD_BYTES:
        return "java", java_longs.deserialized(data)
    return "binary", data


def _words_of_list(value: bytes) -> bytes:
    boundaries = _kernel.elements(value, 0)
    if value[0] & 0x0F != compact.TYPE_I64:
        raise FilterError(f"bitSet: a list of Thrift type {value[0] & 0x0F}, expected i64")
    words = varints.decode(value[boundaries[0] : boundaries[-1]])
    return words.astype("<i8").tobytes()


def _contents(value: bytes) -> bytes:
    """A binary value without its length, which is a varint."""
    start = next(place for place, byte in enumerate(value) if byte < 0x80) + 1
    return value[start:]


def _number(fields: Mapping[int, Field], number: int, name: str) -> int:
    kind, value = fields.get(number, (None, b""))
    if kind != compact.TYPE_I32:
        raise FilterError(f"the filter in Statistics has no {name}")
    return int(varints.decode(value)[0])


def _name(field: Field | None) -> str:
    if field is None or field[0] != compact.TYPE_BINARY:
        return ""
    return _contents(field[1]).decode(errors="replace")


def _check(struct: StatisticsStruct) -> None:
    num_words = -(-struct.num_bits // WORD_BITS)
    if not 1 <= struct.num_bits <= MAX_BITS or num_words != struct.num_words:
        raise FilterError(
            f"numBits is {struct.num_bits}, expected as many as fill the bitSet's"
            f" {struct.num_words} longs"
        )
    if not 1 <= struct.num_hashes <= MAX_HASHES:
        raise FilterError(f"numHashFunctions is {struct.num_hashes}, expected 1 to {MAX_HASHES}")
