"""What can have been hashed instead of a value's stored bytes: the same in another order, width, type or
unit, or as text.

What real writers and readers did: docs/diagnosis.md. Spec: parquet-format, LogicalTypes.md.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from itertools import product
from typing import Any, Literal
from uuid import UUID

import numpy as np

from parquet_bloom.container import number_of
from parquet_bloom.dataclass import dataclass
from parquet_bloom.diagnosis.diagnosis import Deviation
from parquet_bloom.diagnosis.samples import StoredValue
from parquet_bloom.values.types import FLOAT_FORMAT, LeafType


@dataclass(frozen=True, slots=True)
class KeyForm(Deviation):
    """`convert` returns None for values that have no such key form."""

    convert: Callable[[StoredValue], bytes | None] = lambda value: value.plain


AS_STORED = KeyForm()


def key_form(name: str, clause: str, convert: Callable[[bytes], bytes]) -> KeyForm:
    """A key form that depends on the stored bytes alone. `convert` raises OverflowError, ValueError or struct.error
    where the key form does not apply."""

    def converted(value: StoredValue) -> bytes | None:
        try:
            return convert(value.plain)
        except (OverflowError, ValueError, struct.error):
            return None

    return KeyForm(name, clause, converted)


def key_forms(leaf: LeafType) -> Iterator[KeyForm]:
    """The key forms of this type's values, the simplest first."""
    is_number = leaf.logical_name == "DECIMAL" or leaf.physical in INTEGERS or leaf.is_float
    if leaf.logical_name == "DECIMAL":
        yield from _decimal_key_forms(leaf)
    elif leaf.physical in INTEGERS:
        yield from _integer_key_forms(leaf)
    elif leaf.is_float:
        yield from _float_key_forms(leaf.width or 0)
    elif leaf.physical == "INT96":
        yield from _INT96_KEY_FORMS
    elif leaf.physical in BYTE_ARRAYS:
        if leaf.width == 16:
            yield from _OF_UUIDS
        # What has a fixed length may be a text, too.
        yield from _OF_TEXTS_AND_BYTES
    if leaf.physical in BYTE_ARRAYS:
        yield _LENGTH_PREFIX
        yield _HEX
        if leaf.width != 16:
            yield _HEX_UPPER_CASE
    if not is_number:
        yield _REVERSED
    yield from map(_dictionary_index, (4, 8))


def _dictionary_index(width: int) -> KeyForm:
    def convert(value: StoredValue) -> bytes | None:
        if value.index is None or value.index >> (8 * width - 1):
            return None
        return value.index.to_bytes(width, "little")

    clause = f"as its index in the dictionary, an integer of {width} bytes"
    return KeyForm("dictionary-index", clause, convert)


# ------------------------------------------------------------------------------------------------
# Numbers


INTEGERS = ("INT32", "INT64")
BYTE_ARRAYS = ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")

ByteOrder = Literal["little", "big"]

FLOAT_NAMES = {4: "float", 8: "double"}

UNITS = (10**3, 10**6, 10**9)
SECONDS_PER_DAY = 86_400
NANOS_PER_DAY = SECONDS_PER_DAY * 10**9
JULIAN_EPOCH = 2_440_588

# A schema may claim more than anybody could compute with.
MAX_DECIMAL_BYTES = 64
MAX_SCALE = 1000

_BIG_ENDIAN = key_form("big-endian", "as big-endian bytes", lambda plain: plain[::-1])


def _integer_key_forms(leaf: LeafType) -> Iterator[KeyForm]:
    """INT32 and INT64."""
    stored_width = leaf.width or 0
    signed = leaf.logical is None or leaf.logical.signed
    yield _BIG_ENDIAN
    for width in (8, 4, 2, 1, 16):
        if width == stored_width:
            continue
        name, clause = f"int{8 * width}", f"as an integer of {number_of(width, 'byte')}"
        if width < stored_width:
            yield key_form(name, clause, partial(_resized, width, "little", True))
        else:
            yield from _widened(width, signed, name, clause)
        if width > 1:
            ordered = f"{clause}, big-endian"
            yield key_form(f"{name}-big-endian", ordered, partial(_resized, width, "big", True))
    if signed:
        yield from _zero_extended(stored_width)
    if leaf.logical and leaf.logical.name == "INTEGER" and leaf.logical.bit_width in (8, 16):
        bits = leaf.logical.bit_width
        clause = f"as the {bits}-bit integer that readers make of the stored one"
        yield key_form("integer-narrowed", clause, partial(_narrowed, bits, signed))
    yield from _as_floats_and_text(lambda plain: int.from_bytes(plain, "little", signed=signed))
    yield key_form(
        "text",
        f"as text, taken as {_taken_as(not signed)}",
        lambda plain: str(int.from_bytes(plain, "little", signed=not signed)).encode(),
    )
    yield from _in_other_units(leaf)


def _widened(width: int, signed: bool, name: str, clause: str) -> Iterator[KeyForm]:
    """What the type says first: of small numbers, both are the same. Of signed ones, that goes without saying."""
    for taken_signed in (signed, not signed):
        yield key_form(
            name if taken_signed else f"u{name}",
            clause if signed and taken_signed else f"{clause}, taken as {_taken_as(taken_signed)}",
            partial(_resized, width, "little", taken_signed),
        )


def _taken_as(signed: bool) -> str:
    return "signed" if signed else "unsigned"


def _zero_extended(stored_width: int) -> Iterator[KeyForm]:
    """Integers of fewer bits than are stored, which change only if they are negative."""
    for bits, width in product((8, 16, 32), (4, 8)):
        if width >= stored_width and bits < 8 * stored_width:
            clause = f"as an integer of {bits} bits, taken as unsigned, in {width} bytes"
            yield key_form("zero-extended", clause, partial(_extended, bits, width))


def _extended(bits: int, width: int, plain: bytes) -> bytes:
    number = int.from_bytes(plain, "little", signed=True)
    if number.bit_length() >= bits and number != -(1 << bits - 1):
        raise OverflowError(f"{number} in {bits} bits")
    return (number % (1 << bits)).to_bytes(width, "little")


def _resized(width: int, order: ByteOrder, signed: bool, plain: bytes) -> bytes:
    """The number in `width` bytes, cut if it is wider than that."""
    number = int.from_bytes(plain, "little", signed=signed)
    return (number % (1 << 8 * width)).to_bytes(width, order)


def _narrowed(bits: int, signed: bool, plain: bytes) -> bytes:
    """An INT32 of what its low bits are."""
    return _resized(4, "little", signed, plain[: bits // 8])


def _as_floats_and_text(number: Callable[[bytes], int]) -> Iterator[KeyForm]:
    """`number` reads the stored bytes."""
    for width, name in FLOAT_NAMES.items():
        yield _as_float(width, name, number)
    yield key_form("text", "as text", lambda plain: str(number(plain)).encode())


def _as_float(width: int, name: str, number: Callable[[bytes], float]) -> KeyForm:
    return key_form(
        name, f"as a {name}", lambda plain: struct.pack(FLOAT_FORMAT[width], number(plain))
    )


def _in_other_units(leaf: LeafType) -> Iterator[KeyForm]:
    """Moments, hashed before the writer converted them, or the other way round."""
    if leaf.logical_name == "DATE":
        for per_second in UNITS:
            yield _in_other_unit(SECONDS_PER_DAY * per_second)
    elif leaf.logical_name in ("TIME", "TIMESTAMP"):
        for factor in UNITS:
            yield _in_other_unit(factor)
            yield _in_other_unit(1, divisor=factor)


def _in_other_unit(factor: int, divisor: int = 1) -> KeyForm:
    scale = f"divided by {divisor:,}" if divisor > 1 else f"{factor:,} times as large"

    def convert(plain: bytes) -> bytes:
        return _int64(int.from_bytes(plain, "little", signed=True) * factor // divisor)

    return key_form("other-unit", f"in another unit: {scale}, in 8 bytes", convert)


def _int64(number: int) -> bytes:
    return number.to_bytes(8, "little", signed=True)


def nanos_of_int96(plain: bytes) -> int:
    """Since 1970. INT96 is | nanoseconds of the day (8) | Julian day (4) |."""
    nanos, day = struct.unpack("<qi", plain)
    return int((day - JULIAN_EPOCH) * NANOS_PER_DAY + nanos)


def _int96_as_int64(divisor: int, plain: bytes) -> bytes:
    return _int64(nanos_of_int96(plain) // divisor)


def carried_int96(plain: bytes) -> bytes:
    nanos, day = struct.unpack("<qi", plain)
    days, nanos = divmod(nanos, NANOS_PER_DAY)
    return struct.pack("<qi", nanos, day + days)


_INT96_KEY_FORMS = (
    key_form(
        "int96-carried",
        "with the nanoseconds within the day, unlike the stored ones",
        carried_int96,
    ),
    *(
        key_form(
            "int96-as-int64",
            f"as a timestamp of 8 bytes in {unit}",
            partial(_int96_as_int64, divisor),
        )
        for unit, divisor in (("nanoseconds", 1), ("microseconds", 10**3), ("milliseconds", 10**6))
    ),
)


def _float_key_forms(stored_width: int) -> Iterator[KeyForm]:
    """FLOAT16, FLOAT and DOUBLE."""

    def number(plain: bytes) -> np.floating[Any]:
        found: np.floating[Any] = np.frombuffer(plain, FLOAT_FORMAT[stored_width])[0]
        return found

    yield _BIG_ENDIAN
    for width, name in FLOAT_NAMES.items():
        if width != stored_width:
            yield _as_float(width, name, lambda plain: float(number(plain)))
    yield key_form("text", "as text", lambda plain: str(number(plain)).encode())
    yield key_form(
        "text",
        "as text, without a point if it is whole",
        lambda plain: str(number(plain)).removesuffix(".0").encode(),
    )


def _decimal_key_forms(leaf: LeafType) -> Iterator[KeyForm]:
    """DECIMAL, of whatever physical type."""
    order: ByteOrder = "little" if leaf.physical in INTEGERS else "big"
    scale = leaf.logical.scale if leaf.logical else 0
    precision = leaf.logical.precision if leaf.logical else 0

    def unscaled(plain: bytes) -> int:
        if len(plain) > MAX_DECIMAL_BYTES:
            raise ValueError(f"a decimal of {len(plain)} bytes")
        return int.from_bytes(plain, order, signed=True)

    def value(plain: bytes) -> Decimal:
        return Decimal(f"{unscaled(plain)}E-{scale}")

    def float_of_value(width: int, plain: bytes) -> bytes:
        return struct.pack(FLOAT_FORMAT[width], float(value(plain)))

    def in_width(width: int, order: ByteOrder, plain: bytes) -> bytes:
        return unscaled(plain).to_bytes(width, order, signed=True)

    yield key_form(
        "decimal-byte-order",
        f"with its bytes in {'little' if order == 'big' else 'big'}-endian order",
        lambda plain: plain[::-1],
    )
    yield key_form(
        "decimal-minimal",
        "as the fewest big-endian bytes that hold it",
        lambda plain: _minimal(unscaled(plain)),
    )
    for width in sorted({bytes_for(precision), 4, 8, 12, 16, 32} - {leaf.width}):
        yield key_form(
            "decimal-width",
            f"as {width} big-endian bytes",
            partial(in_width, width, "big"),
        )
    for width in sorted({4, 8, 16, 32} - {leaf.width}):
        yield key_form(
            "decimal-integer",
            f"as a little-endian integer of {width} bytes",
            partial(in_width, width, "little"),
        )
    if 0 <= scale <= MAX_SCALE:
        yield key_form(
            "decimal-text",
            "as text with a decimal point",
            lambda plain: f"{value(plain):f}".encode(),
        )
    if 0 < scale <= MAX_SCALE:
        yield key_form(
            "decimal-text",
            "as text with a decimal point, without the zeros at its end",
            lambda plain: f"{value(plain):f}".rstrip("0").removesuffix(".").encode(),
        )
        for width, name in FLOAT_NAMES.items():
            clause = f"as a {name} of its value, with what comes after its point"
            yield key_form(f"decimal-{name}", clause, partial(float_of_value, width))
    yield from _as_floats_and_text(unscaled)


def bytes_for(precision: int) -> int:
    """The fewest bytes that hold every decimal of `precision` digits."""
    largest: int = 10 ** max(1, min(precision, MAX_SCALE)) - 1
    return (largest.bit_length() + 8) // 8


def _minimal(number: int) -> bytes:
    magnitude = number if number >= 0 else ~number
    return number.to_bytes(magnitude.bit_length() // 8 + 1, "big", signed=True)


# ------------------------------------------------------------------------------------------------
# Texts, bytes and UUIDs


_LENGTH_PREFIX = key_form(
    "length-prefix",
    "with its 4-byte length in front",
    lambda plain: len(plain).to_bytes(4, "little") + plain,
)
_HEX = key_form("hex", "as hexadecimal digits", lambda plain: plain.hex().encode())
_HEX_UPPER_CASE = key_form(
    "hex", "as hexadecimal digits in upper case", lambda plain: plain.hex().upper().encode()
)
_REVERSED = key_form("reversed-bytes", "with its bytes in reverse order", lambda plain: plain[::-1])

_OF_UUIDS = (
    key_form(
        "uuid-text",
        "as text with hyphens",
        lambda plain: str(UUID(bytes=plain)).encode(),
    ),
    key_form(
        "uuid-text-upper-case",
        "as text with hyphens in upper case",
        lambda plain: str(UUID(bytes=plain)).upper().encode(),
    ),
    key_form(
        "uuid-hex-upper-case",
        "as hexadecimal digits in upper case, without hyphens",
        lambda plain: plain.hex().upper().encode(),
    ),
    key_form(
        "uuid-guid",
        "in the byte order of a Microsoft GUID, whose first three fields are little-endian",
        lambda plain: UUID(bytes=plain).bytes_le,
    ),
    key_form(
        "uuid-halves-reversed",
        "as two little-endian integers of 8 bytes",
        lambda plain: plain[7::-1] + plain[:7:-1],
    ),
    key_form(
        "uuid-halves-swapped",
        "with the last 8 bytes in front of the first 8",
        lambda plain: plain[8:] + plain[:8],
    ),
)


def _truncated(size: int) -> KeyForm:
    return key_form("truncated", f"by its first {size} bytes only", lambda plain: plain[:size])


def _recoded(encoding: str) -> KeyForm:
    return key_form("utf-16", f"as {encoding}", lambda plain: plain.decode().encode(encoding))


_OF_TEXTS_AND_BYTES = (
    key_form("zero-terminated", "with a zero byte appended", lambda plain: plain + b"\0"),
    key_form("lower-case", "in lower case", lambda plain: plain.decode().lower().encode()),
    key_form("upper-case", "in upper case", lambda plain: plain.decode().upper().encode()),
    key_form(
        "without-trailing-spaces",
        "without trailing spaces",
        lambda plain: plain.rstrip(b" "),
    ),
    *map(_truncated, (8, 16, 32, 64)),
    *map(_recoded, ("UTF-16LE", "UTF-16BE")),
    key_form(
        "uuid-bytes",
        "as the 16 bytes of the UUID that the text spells",
        lambda plain: UUID(plain.decode()).bytes,
    ),
)
