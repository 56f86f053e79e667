"""The oracle: the specifications in plain Python, as they are written and as slow as that is.

Nothing here imports `parquet_bloom`, and nothing is clever: a filter is a list of blocks, a block a
list of eight integers, a run of levels a list of integers.

Spec: parquet-format, BloomFilter.md, Encodings.md and AlpEncoding.md; thrift, doc/specs/thrift-compact-protocol.md.
"""

import itertools
import math
import struct
from collections.abc import Container, Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

# --- split block Bloom filter: BloomFilter.md, "Technical Approach" -------------------------------

SALT = (
    0x47B6137B,
    0x44974D91,
    0x8824AD5B,
    0xA2B7289D,
    0x705495C7,
    0x2DF1424B,
    0x9EFC4947,
    0x5C6BFB31,
)

Block = list[int]
Filter = list[Block]


def new_filter(num_blocks: int) -> Filter:
    return [[0] * 8 for _ in range(num_blocks)]


def mask(x: int) -> Block:
    result = [0] * 8
    for i in range(8):
        y = (x * SALT[i]) % 2**32
        result[i] |= 1 << (y >> 27)
    return result


# Where the specification goes through the bits of a word, here they are set and asked all at once.


def block_insert(block: Block, x: int) -> None:
    masked = mask(x)
    for i in range(8):
        block[i] |= masked[i]


def block_check(block: Block, x: int) -> bool:
    masked = mask(x)
    return all(block[i] & masked[i] == masked[i] for i in range(8))


def block_index(hash: int, num_blocks: int) -> int:
    return ((hash >> 32) * num_blocks) >> 32


def filter_insert(filter: Filter, hash: int) -> None:
    block_insert(filter[block_index(hash, len(filter))], hash % 2**32)


def filter_check(filter: Filter, hash: int) -> bool:
    return block_check(filter[block_index(hash, len(filter))], hash % 2**32)


def filter_of(hashes: Iterable[int], num_blocks: int) -> Filter:
    filter = new_filter(num_blocks)
    for hash in hashes:
        filter_insert(filter, int(hash))
    return filter


# --- what follows from it -------------------------------------------------------------------------


def fold(filter: Filter, factor: int) -> Filter:
    """Every `factor` neighbouring blocks in one."""
    folded = new_filter(len(filter) // factor)
    for i, block in enumerate(filter):
        for k in range(8):
            folded[i // factor][k] |= block[k]
    return folded


def union(left: Filter, right: Filter) -> Filter:
    return [
        [a | b for a, b in zip(*blocks, strict=True)] for blocks in zip(left, right, strict=True)
    ]


def popcount(filter: Filter) -> int:
    return sum(word.bit_count() for block in filter for word in block)


def fpp(filter: Filter) -> Fraction:
    """The share of all hashes that are found: every block and every bit is as likely as another."""
    found = [math.prod(Fraction(word.bit_count(), 32) for word in block) for block in filter]
    return Fraction(sum(found), len(filter))


def bitset(filter: Filter) -> bytes:
    """As it is stored: words little-endian."""
    return b"".join(struct.pack("<8I", *block) for block in filter)


def words(filter: Filter) -> np.ndarray:
    return np.array(filter, np.uint32).reshape(-1)


def expected_fpp(ndv: int, num_blocks: int) -> float:
    """The FPP to expect of a filter: a block has k values with Poisson probability.

    Putze, Sanders, Singler: "Cache-, Hash- and Space-Efficient Bloom Filters", eq. 3.
    """
    load = ndv / num_blocks
    probability = math.exp(-load)
    total = 0.0
    for k in range(1, 2000):
        probability *= load / k
        total += probability * (1 - (31 / 32) ** k) ** 8
    return total


def closed_formula_bits(fpp: float) -> float:
    """Bits per value as the specification's older text computes them: too few."""
    return -8 / math.log(1 - fpp ** (1 / 8))


# --- levels: Encodings.md, "RLE" and "BIT_PACKED" -------------------------------------------------


def varint(number: int) -> bytes:
    encoded = []
    while number >= 128:
        encoded.append(number % 128 + 128)
        number //= 128
    return bytes([*encoded, number])


def rle_run(level: int, count: int, bit_width: int) -> bytes:
    return varint(count << 1) + level.to_bytes((bit_width + 7) // 8, "little")


def packed_run(levels: Sequence[int], bit_width: int) -> bytes:
    """Whole groups of eight, padded with zeros; the least significant bit of a byte comes first."""
    groups = -(-len(levels) // 8)
    number = sum(level << i * bit_width for i, level in enumerate(levels))
    return varint(groups << 1 | 1) + number.to_bytes(groups * bit_width, "little")


def decode_hybrid(data: bytes, bit_width: int, count: int) -> list[int]:
    """`count` levels. Raises IndexError if the data ends before them, or a run has no levels."""
    levels: list[int] = []
    at = 0
    while len(levels) < count:
        header = length = 0
        while True:
            byte = data[at + length]
            header += byte % 128 << 7 * length
            length += 1
            if byte < 128:
                break
        at += length
        if header >> 1 == 0 or length > 5:
            raise IndexError("no such run")
        wanted = count - len(levels)
        if header % 2:
            bits = "".join(f"{byte:08b}"[::-1] for byte in data[at:])
            for i in range(min((header >> 1) * 8, wanted)):
                level = bits[i * bit_width : (i + 1) * bit_width]
                if len(level) < bit_width:
                    raise IndexError("the data ends inside a run")
                levels.append(int(level[::-1], 2))
            at += (header >> 1) * bit_width
        else:
            width = (bit_width + 7) // 8
            if len(data) < at + width:
                raise IndexError("the data ends inside a run")
            levels += [int.from_bytes(data[at : at + width], "little")] * min(header >> 1, wanted)
            at += width
    return levels


def bit_packed(levels: Sequence[int], bit_width: int) -> bytes:
    """The deprecated encoding: the most significant bit of a byte comes first."""
    bits = "".join(f"{level:0{bit_width}b}" for level in levels)
    bits += "0" * (-len(bits) % 8)
    return bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits), 8))


def decode_bit_packed(data: bytes, bit_width: int, count: int) -> list[int]:
    """`count` levels. Raises IndexError if the data ends before them."""
    bits = "".join(f"{byte:08b}" for byte in data)
    if len(bits) < count * bit_width:
        raise IndexError("the data ends inside a level")
    return [int(bits[i * bit_width : (i + 1) * bit_width], 2) for i in range(count)]


# --- integers: Encodings.md, "DELTA_BINARY_PACKED" ------------------------------------------------


def delta_binary_packed(values: Sequence[int], block: int, miniblocks: int) -> bytes:
    """Deltas wrap around at 64 bits, as the specification wants them to."""
    first = values[0] if values else 0
    data = varint(block) + varint(miniblocks) + varint(len(values)) + zigzag(first)
    deltas = [_signed(new - old, 8) for old, new in itertools.pairwise(values)]
    for at in range(0, len(deltas), block):
        some = deltas[at : at + block]
        least = min(some)
        size = block // miniblocks
        groups = [some[i : i + size] for i in range(0, block, size)]
        widths = [
            max((delta - least).bit_length() for delta in [*group, least]) for group in groups
        ]
        data += zigzag(least) + bytes(widths)
        for group, width in zip(groups, widths, strict=True):
            if group:
                number = sum(delta - least << i * width for i, delta in enumerate(group))
                data += number.to_bytes(size * width // 8, "little")
    return data


def delta_length_byte_array(values: Sequence[bytes], block: int, miniblocks: int) -> bytes:
    lengths = [len(value) for value in values]
    return delta_binary_packed(lengths, block, miniblocks) + b"".join(values)


def delta_byte_array(values: Sequence[bytes], block: int, miniblocks: int) -> bytes:
    prefixes = [0] if values else []
    for before, value in itertools.pairwise(values):
        same = itertools.takewhile(
            lambda pair: pair[0] == pair[1], zip(before, value, strict=False)
        )
        prefixes.append(len(list(same)))
    suffixes = [value[prefix:] for value, prefix in zip(values, prefixes, strict=True)]
    lengths = delta_binary_packed(prefixes, block, miniblocks)
    return lengths + delta_length_byte_array(suffixes, block, miniblocks)


def byte_stream_split(values: Sequence[bytes]) -> bytes:
    return b"".join(bytes(stream) for stream in zip(*values, strict=True))


# --- floating-point numbers: AlpEncoding.md -------------------------------------------------------


class AlpVector(NamedTuple):
    """Numbers `frame` + `deltas`, of `width` 4 or 8 bytes, the deltas of `bits` each; `exceptions`: stored bytes by
    their positions."""

    width: int
    exponent: int
    factor: int
    frame: int
    bits: int
    deltas: Sequence[int]
    exceptions: dict[int, bytes]

    def encoded(self) -> bytes:
        packed = sum(delta << i * self.bits for i, delta in enumerate(self.deltas))
        parts = [
            struct.pack("<BBH", self.exponent, self.factor, len(self.exceptions)),
            self.frame.to_bytes(self.width, "little", signed=True),
            bytes([self.bits]),
            packed.to_bytes((self.bits * len(self.deltas) + 7) // 8, "little"),
            *(struct.pack("<H", position) for position in self.exceptions),
            *self.exceptions.values(),
        ]
        return b"".join(parts)

    def values(self) -> list[bytes]:
        numbers = (_signed(self.frame + delta, self.width) for delta in self.deltas)
        found = [alp_value(n, self.width, self.exponent, self.factor) for n in numbers]
        for position, value in self.exceptions.items():
            found[position] = value
        return found


def alp_value(number: int, width: int, exponent: int, factor: int) -> bytes:
    """Two multiplications in the column's own precision, by correctly rounded decimal literals."""
    kind = np.float32 if width == 4 else np.float64
    with np.errstate(over="ignore"):
        return bytes((kind(number) * kind(f"1e{factor}") * kind(f"1e-{exponent}")).tobytes())


def alp_page(vectors: Sequence[AlpVector], log: int) -> bytes:
    """All but the last have 2^`log` values."""
    parts = [vector.encoded() for vector in vectors]
    starts = itertools.accumulate(map(len, parts[:-1]), initial=4 * len(parts))
    count = sum(len(vector.deltas) for vector in vectors)
    offsets = struct.pack(f"<{len(parts)}I", *starts) if parts else b""
    return struct.pack("<BBBi", 0, 0, log, count) + offsets + b"".join(parts)


def alp(values: Sequence[bytes], log: int, exponent: int, factor: int) -> bytes:
    """Stored values of 4 or 8 bytes; what does not come out as it was is an exception."""
    size = 1 << log
    parts = (values[at : at + size] for at in range(0, len(values), size))
    return alp_page([_alp_vector(part, exponent, factor) for part in parts], log)


def _alp_vector(values: Sequence[bytes], exponent: int, factor: int) -> AlpVector:
    width = len(values[0])
    found = [_alp_number(value, exponent, factor) for value in values]
    numbers = [number for number in found if number is not None] or [0]
    frame = min(numbers)
    deltas = [0 if number is None else number - frame for number in found]
    # In no order, which nobody promised.
    exceptions = {i: values[i] for i in reversed(range(len(values))) if found[i] is None}
    return AlpVector(width, exponent, factor, frame, max(deltas).bit_length(), deltas, exceptions)


def _alp_number(value: bytes, exponent: int, factor: int) -> int | None:
    width = len(value)
    number = struct.unpack("<f" if width == 4 else "<d", value)[0]
    if not math.isfinite(number):
        return None
    found = round(Fraction(number) * Fraction(10) ** (exponent - factor))
    if not -(2 ** (8 * width - 1)) <= found < 2 ** (8 * width - 1):
        return None
    return found if alp_value(found, width, exponent, factor) == value else None


def _signed(number: int, width: int) -> int:
    """Modulo 2^(8 * width)."""
    half = 2 ** (8 * width - 1)
    return (number + half) % (2 * half) - half


# --- Thrift compact protocol, writing -------------------------------------------------------------

(
    STOP,
    TRUE,
    FALSE,
    BYTE,
    I16,
    I32,
    I64,
    DOUBLE,
    BINARY,
    LIST,
    SET,
    MAP,
    STRUCT,
    UUID,
) = range(14)


class Value(NamedTuple):
    """A value and its type; a boolean has no bytes, since a field's type says it."""

    type: int
    encoded: bytes


class Span(NamedTuple):
    """Where a field lies: its header, its value, and what follows it."""

    id: int
    type: int
    start: int
    value: int
    end: int


def zigzag(number: int) -> bytes:
    return varint(number * 2 if number >= 0 else -number * 2 - 1)


def boolean(value: bool) -> Value:
    return Value(TRUE if value else FALSE, b"")


def byte(number: int) -> Value:
    return Value(BYTE, bytes([number]))


def i16(number: int) -> Value:
    return Value(I16, zigzag(number))


def i32(number: int) -> Value:
    return Value(I32, zigzag(number))


def i64(number: int) -> Value:
    return Value(I64, zigzag(number))


def double(number: float) -> Value:
    return Value(DOUBLE, struct.pack("<d", number))


def binary(data: bytes) -> Value:
    return Value(BINARY, varint(len(data)) + data)


def uuid(data: bytes) -> Value:
    assert len(data) == 16
    return Value(UUID, data)


def element(value: Value) -> bytes:
    """In a collection a boolean is a byte of its own."""
    return bytes([value.type]) if value.type in (TRUE, FALSE) else value.encoded


def list_header(element_type: int, size: int) -> bytes:
    if size < 15:
        return bytes([size << 4 | element_type])
    return bytes([0xF0 | element_type]) + varint(size)


def list_of(element_type: int, values: Sequence[Value], collection: int = LIST) -> Value:
    assert all(_same_type(element_type, value.type) for value in values)
    body = b"".join(element(value) for value in values)
    return Value(collection, list_header(element_type, len(values)) + body)


def _same_type(left: int, right: int) -> bool:
    return left == right or {left, right} == {TRUE, FALSE}


def map_of(key_type: int, value_type: int, items: Sequence[tuple[Value, Value]]) -> Value:
    if not items:
        return Value(MAP, b"\0")
    body = b"".join(element(key) + element(value) for key, value in items)
    return Value(MAP, varint(len(items)) + bytes([key_type << 4 | value_type]) + body)


def field_header(previous: int, field_id: int, field_type: int, long_form: bool = False) -> bytes:
    """The short form where it can be, or the long form where it need not."""
    if 1 <= field_id - previous <= 15 and not long_form:
        return bytes([field_id - previous << 4 | field_type])
    return bytes([field_type]) + zigzag(field_id)


def struct_of(*fields: tuple[int, Value], long_form: Container[int] = ()) -> Value:
    """A struct of (id, value), in the order given; ids in `long_form` are written out."""
    return Value(STRUCT, spanned(fields, long_form=long_form)[0])


def spanned(
    fields: Iterable[tuple[int, Value]], start: int = 0, long_form: Container[int] = ()
) -> tuple[bytes, list[Span]]:
    """The bytes of a struct that begins at `start`, and where its fields lie."""
    encoded = b""
    spans = []
    previous = 0
    for field_id, value in fields:
        header = field_header(previous, field_id, value.type, field_id in long_form)
        at = start + len(encoded)
        past_header = at + len(header)
        spans.append(Span(field_id, value.type, at, past_header, past_header + len(value.encoded)))
        encoded += header + value.encoded
        previous = field_id
    return encoded + bytes([STOP]), spans
