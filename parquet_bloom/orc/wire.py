"""Protocol buffer messages as bytes: find fields and replace some of them.

    field    | number << 3 | wire type (varint) | payload |
    payload  varint, 8 bytes, | length (varint) | bytes |, or 4 bytes

Edits keep every byte outside the replaced fields, unknown fields included. Generated classes do not.

Spec: protobuf.dev, "Encoding".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import FormatError

# A decoded message: their classes are made at run time, so that no type checker knows their fields.
Message: TypeAlias = Any

VARINT: Final = 0
FIXED64: Final = 1
BYTES: Final = 2
FIXED32: Final = 5

_FIXED_BYTES = {FIXED64: 8, FIXED32: 4}
_MAX_VARINT_BYTES = 10


@dataclass(frozen=True, slots=True)
class WireField:
    """One field of a message, at [start, end); its payload, at [value, end), excludes the length."""

    number: int
    wire_type: int
    start: int
    value: int
    end: int


def fields(data: bytes) -> Iterator[WireField]:
    """The fields of a message, in order. Raises FormatError if it is malformed."""
    at = 0
    while at < len(data):
        tag, value = read_varint(data, at)
        number, wire_type = tag >> 3, tag & 7
        if number == 0:
            raise FormatError(f"byte {at}: a field with number 0")
        if wire_type == VARINT:
            _, end = read_varint(data, value)
        elif wire_type == BYTES:
            length, value = read_varint(data, value)
            end = value + length
        elif wire_type in _FIXED_BYTES:
            end = value + _FIXED_BYTES[wire_type]
        else:
            raise FormatError(f"byte {at}: unknown wire type {wire_type}")
        if end > len(data):
            raise FormatError(f"byte {at}: field {number} ends at {end}, expected {len(data)}")
        yield WireField(number, wire_type, at, value, end)
        at = end


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned number of up to 64 bits, and the position after it. Raises FormatError."""
    if at < len(data) and data[at] < 0x80:
        return data[at], at + 1
    number = 0
    for index in range(_MAX_VARINT_BYTES):
        if at + index >= len(data):
            raise FormatError(f"byte {at}: truncated number")
        byte = data[at + index]
        number |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return number & 0xFFFF_FFFF_FFFF_FFFF, at + index + 1
    raise FormatError(f"byte {at}: a number of more than {_MAX_VARINT_BYTES} bytes")


def decode_text(stored: bytes) -> str:
    """Decode stored text, which should be UTF-8."""
    return stored.decode(errors="backslashreplace")


def varint(number: int) -> bytes:
    """Encode an unsigned number."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def number_field(number: int, value: int) -> bytes:
    """Encode a field with an unsigned number."""
    return varint(number << 3 | VARINT) + varint(value)


def bytes_field(number: int, payload: bytes | memoryview) -> bytes:
    """Encode a field with bytes or a message."""
    return b"".join((bytes_head(number, len(payload)), payload))


def bytes_head(number: int, length: int) -> bytes:
    """What precedes the bytes of such a field."""
    return varint(number << 3 | BYTES) + varint(length)


def replaced(data: bytes, edits: Mapping[int, bytes]) -> bytes:
    """`data` with the fields of each number in `edits` replaced by that encoded field, or removed
    (`b""`).

    A new field goes where the first with its number was, or else before the first with a higher
    number. Raises FormatError if `data` is malformed.
    """
    found = list(fields(data))
    present = {field.number for field in found}
    waiting = sorted(edits)
    out: list[bytes] = []
    for field in found:
        for number in [each for each in waiting if each <= field.number]:
            if number == field.number or number not in present:
                out.append(edits[number])
                waiting.remove(number)
        if field.number not in edits:
            out.append(data[field.start : field.end])
    return b"".join([*out, *(edits[number] for number in waiting)])
