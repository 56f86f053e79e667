"""The struct of a Bloom filter in a column chunk's Statistics.

    ColumnMetaData.statistics | min, max, counts as today | 7 or 5, or 31420: the struct |

    1  list<i64> or binary  bitSet: bit i is bit i % 64 of long i / 64
    2  i32                  numBits
    3  i32                  numHashFunctions
    4  i32                  bloomFilterStrategy: 0 MURMUR128_32, 1 MURMUR128_64; not in all drafts
    31421  binary           ours: the strategy by its own name, because 0 had two meanings
    31422  any              ours: the field of Statistics that was in the struct's place

Later versions of the format gave ids 5 and 7 of Statistics to max_value and is_max_value_exact.
Neither is a struct, so the type tells what a field is.

In bytes, the longs are little-endian, or an array as Java serializes it:

    AC ED 00 05                    stream magic and version
    75                             an array
    72 00 02 "[J" 78 20 04 B5 12 B1 75 93   of the class long[], with its serialVersionUID
    02 00 00 78 70                 serializable, no fields, end of the class, no superclass
    count (4) | long (8) | ...     big-endian

Sources: parquet-format pull request 28 (2015 to 2017), parquet-java pull request 215; Java Object
Serialization Specification, "Object Serialization Stream Protocol".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import FilterError
from parquet_bloom.filters.k_hash import MAX_BITS, MAX_HASHES
from parquet_bloom.native import _kernel
from parquet_bloom.native.lazy import NDArray, np
from parquet_bloom.parquet.footer import compact
from parquet_bloom.vocabulary import BitsetEncoding

BITSET: Final = 1
_NUM_BITS, _NUM_HASHES, _STRATEGY = 2, 3, 4
_STRATEGY_NAME, _DISPLACED = 31421, 31422

WORD_BYTES, WORD_BITS = 8, 64

_JAVA_HEADER = bytes.fromhex("aced0005 75 72 00025b4a 782004b512b17593 02 0000 78 70")
_JAVA_COUNT_BYTES = 4

# A Thrift field: its type and its encoded value.
StructField = tuple[int, bytes]


@dataclass(frozen=True, slots=True)
class StatisticsStruct:
    """A filter as it is stored. `bitset`: the longs, little-endian; `strategy`: the number in field
    4, if there is one; `name`: what we called the strategy when we wrote the filter; `displaced`: the
    field of Statistics that was there before."""

    encoding: BitsetEncoding
    bitset: bytes
    num_bits: int
    num_hashes: int
    strategy: int | None
    name: str = ""
    displaced: StructField | None = None

    @property
    def num_words(self) -> int:
        return len(self.bitset) // WORD_BYTES


def encode(struct: StatisticsStruct) -> bytes:
    """The struct in Thrift's compact protocol."""
    fields: dict[int, StructField | None] = {
        BITSET: _encoded(struct.encoding, struct.bitset),
        _NUM_BITS: (compact.TYPE_I32, compact.zigzag(struct.num_bits)),
        _NUM_HASHES: (compact.TYPE_I32, compact.zigzag(struct.num_hashes)),
        _DISPLACED: struct.displaced,
    }
    if struct.strategy is not None:
        fields[_STRATEGY] = (compact.TYPE_I32, compact.zigzag(struct.strategy))
    if struct.name:
        fields[_STRATEGY_NAME] = _binary(struct.name.encode())
    return compact.splice(b"\0", 0, fields)


def _binary(data: bytes) -> StructField:
    return compact.TYPE_BINARY, compact.varint(len(data)) + data


def _encoded(encoding: BitsetEncoding, bitset: bytes) -> StructField:

    words = np.frombuffer(bitset, "<i8")
    match encoding:
        case "list":
            header = compact.list_header(compact.TYPE_I64, words.size)
            return compact.TYPE_LIST, header + encode_varints(words)
        case "binary":
            return _binary(bitset)
        case "java":
            return _binary(to_java(words))


def to_java(words: NDArray[np.int64]) -> bytes:
    """Longs as Java serializes them."""
    count = words.size.to_bytes(_JAVA_COUNT_BYTES, "big")
    return _JAVA_HEADER + count + words.astype(">i8").tobytes()


def fields_of(data: bytes) -> dict[int, StructField]:
    """The fields of the struct that `data` begins with."""
    return {number: (kind, data[value:end]) for number, kind, _, value, end in _kernel.fields(data)}


def decode(data: bytes) -> StatisticsStruct:
    """The struct that `data` begins with, which has been scanned as Thrift.

    Raises FilterError unless it is a filter with consistent numbers.
    """
    fields = fields_of(data)
    encoding, bitset = _bitset(fields.get(BITSET))
    struct = StatisticsStruct(
        encoding,
        bitset,
        _number(fields, _NUM_BITS, "numBits"),
        _number(fields, _NUM_HASHES, "numHashFunctions"),
        _number(fields, _STRATEGY, "bloomFilterStrategy") if _STRATEGY in fields else None,
        _name(fields.get(_STRATEGY_NAME)),
        _displaced(fields.get(_DISPLACED)),
    )
    _check(struct)
    return struct


def _displaced(field: StructField | None) -> StructField | None:
    """What to put back; never a struct, which would be a filter again."""
    return None if field is None or field[0] == compact.TYPE_STRUCT else field


def _bitset(field: StructField | None) -> tuple[BitsetEncoding, bytes]:
    if field is None:
        raise FilterError("the filter in Statistics has no bitSet")
    kind, value = field
    if kind == compact.TYPE_LIST:
        return "list", _words_of_list(value)
    if kind != compact.TYPE_BINARY:
        raise FilterError(f"bitSet: of Thrift type {kind}, expected list<i64> or binary")
    data = _contents(value)
    # Java's array is never a multiple of 8 bytes long.
    return ("java", from_java(data).tobytes()) if len(data) % WORD_BYTES else ("binary", data)


def from_java(data: bytes) -> NDArray[np.int64]:
    """The longs of an array that Java serialized. Raises FilterError for anything else."""
    start = len(_JAVA_HEADER) + _JAVA_COUNT_BYTES
    if not data.startswith(_JAVA_HEADER):
        raise FilterError(
            f"bitSet: {len(data)} bytes, expected whole longs, or a long[] as Java serializes it"
        )
    count = int.from_bytes(data[len(_JAVA_HEADER) : start], "big")
    if len(data) != start + WORD_BYTES * count:
        raise FilterError(
            f"bitSet: {len(data)} bytes of Java's long[{count}], expected"
            f" {start + WORD_BYTES * count}"
        )
    return np.frombuffer(data[start:], ">i8").astype("<i8")


def _words_of_list(value: bytes) -> bytes:
    boundaries = _kernel.elements(value, 0)
    if value[0] & 0x0F != compact.TYPE_I64:
        raise FilterError(f"bitSet: a list of Thrift type {value[0] & 0x0F}, expected i64")
    return decode_varints(value[boundaries[0] : boundaries[-1]]).astype("<i8").tobytes()


def _contents(value: bytes) -> bytes:
    """A binary value without its length."""
    _, start = compact.read_varint(value, 0)
    return value[start:]


def _number(fields: Mapping[int, StructField], number: int, name: str) -> int:
    kind, value = fields.get(number, (None, b""))
    if kind != compact.TYPE_I32:
        raise FilterError(f"the filter in Statistics has no {name}")
    return compact.read_zigzag(value, 0)


def _name(field: StructField | None) -> str:
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


# ------------------------------------------------------------------------------------------------
# Many varints at once: the elements of a list<i64>, as numpy arrays.
#
#     varint   7 bits to a byte, the lowest first; every byte but the last has its high bit set
#     zigzag   0, -1, 1, -2, ... as 0, 1, 2, 3, ...
#
# Spec: thrift, doc/specs/thrift-compact-protocol.md.

_BITS = 7
_MORE = 0x80
# Of the longest varint of 64 bits.
_MAX_BYTES = 10


def encode_varints(values: NDArray[np.int64]) -> bytes:
    """Consecutive zigzag varints of `values`, shape (n,)."""
    left = ((values << 1) ^ (values >> 63)).view(np.uint64)
    lengths = np.ones(left.size, np.int64)
    for length in range(1, _MAX_BYTES):
        lengths += left >= np.uint64(1 << _BITS * length)
    ends = np.cumsum(lengths)
    out = np.zeros(int(ends[-1]) if ends.size else 0, np.uint8)
    for place in range(_MAX_BYTES):
        (longer,) = np.nonzero(lengths > place)
        low = (left[longer] >> np.uint64(_BITS * place)) & np.uint64(_MORE - 1)
        more = np.where(lengths[longer] > place + 1, _MORE, 0)
        out[ends[longer] - lengths[longer] + place] = low | more.astype(np.uint64)
    return out.tobytes()


def decode_varints(data: bytes) -> NDArray[np.int64]:
    """The numbers in `data`, whole zigzag varints: shape (n,)."""
    stored = np.frombuffer(data, np.uint8)
    (last,) = np.nonzero(stored < _MORE)
    starts = np.concatenate(([0], last[:-1] + 1)).astype(np.int64)
    lengths = last - starts + 1
    zigzag = np.zeros(last.size, np.uint64)
    for place in range(min(_MAX_BYTES, int(lengths.max(initial=0)))):
        (longer,) = np.nonzero(lengths > place)
        bits = stored[starts[longer] + place].astype(np.uint64) & np.uint64(_MORE - 1)
        zigzag[longer] |= bits << np.uint64(_BITS * place)
    return (zigzag >> np.uint64(1)).view(np.int64) ^ -(zigzag & np.uint64(1)).view(np.int64)
