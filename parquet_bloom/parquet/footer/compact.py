"""Thrift's compact protocol: decode a struct, or replace fields in one without decoding it.

Generated structs drop fields that they do not know, so nothing written back goes through them. A
splice copies every byte of a struct except the fields that it replaces; only the header of the
field after a change can differ, since it holds the distance to the previous id.

Spec: thrift, doc/specs/thrift-compact-protocol.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from thrift.protocol.TCompactProtocol import TCompactProtocolAccelerated
from thrift.protocol.TProtocol import TProtocolException
from thrift.transport.TTransport import TMemoryBuffer, TTransportException

from parquet_bloom.errors import FormatError
from parquet_bloom.native import _kernel

StructT = TypeVar("StructT")

TYPE_NAMES = {
    1: "a boolean",
    2: "a boolean",
    3: "a byte",
    4: "an integer",
    5: "an integer",
    6: "an integer",
    7: "a double",
    8: "bytes",
    9: "a list",
    10: "a set",
    11: "a map",
    12: "a struct",
    13: "a UUID",
}
# A varint of ten bytes has room for more.
_ALL_BITS = (1 << 64) - 1

TYPE_TRUE = 1
TYPE_FALSE = 2
TYPE_BYTE = 3
TYPE_I16 = 4
TYPE_I32 = 5
TYPE_I64 = 6
TYPE_DOUBLE = 7
TYPE_BINARY = 8
TYPE_LIST = 9
TYPE_SET = 10
TYPE_MAP = 11
TYPE_STRUCT = 12
TYPE_UUID = 13

# The decoder's errors have no common base class.
_DECODE_ERRORS = (
    EOFError,
    OverflowError,
    TProtocolException,
    TTransportException,
    TypeError,
    ValueError,
)


def decode(struct_class: type[StructT], data: Any, start: int = 0) -> tuple[StructT, int]:
    """Decode the struct at `start`; returns it and the position after it.

    The bytes are scanned first, so that hostile sizes never reach the decoder. Raises
    _kernel.ScanError if they are not Thrift, FormatError if they are another struct.
    """
    end = _kernel.struct_end(data, start)
    struct: Any = struct_class()
    try:
        struct.read(
            TCompactProtocolAccelerated(TMemoryBuffer(bytes(data[start:end])), fallback=True)
        )
    except _DECODE_ERRORS as error:
        raise FormatError(f"{struct_class.__name__}: {error}") from None
    return struct, end


def encode(struct: Any) -> bytes:
    """Encode a generated struct."""
    transport = TMemoryBuffer()
    struct.write(TCompactProtocolAccelerated(transport, fallback=True))
    encoded: bytes = transport.getvalue()
    return encoded


def is_complete(struct: Any) -> bool:
    """Whether a generated struct has all fields that its definition requires."""
    try:
        struct.validate()
    except TProtocolException:
        return False
    return True


def varint(number: int) -> bytes:
    """Encode an unsigned number as LEB128."""
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Decode an unsigned number that has been scanned; returns it and the position after it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def binary(data: bytes) -> tuple[int, bytes]:
    """A field of bytes or text, as splice takes it."""
    return TYPE_BINARY, varint(len(data)) + data


def list_of(structs: Sequence[bytes]) -> tuple[int, bytes]:
    """A field that is a list of structs, as splice takes it."""
    return TYPE_LIST, b"".join((list_header(TYPE_STRUCT, len(structs)), *structs))


def read_binary(data: bytes, at: int) -> bytes:
    """The bytes behind their length."""
    length, start = read_varint(data, at)
    return data[start : start + length]


def read_zigzag(data: bytes, at: int) -> int:
    """Decode a signed number of 64 bits that has been scanned."""
    return unzigzag(read_varint(data, at)[0])


def unzigzag(number: int) -> int:
    """The signed number of 64 bits that a varint stands for."""
    number &= _ALL_BITS
    return (number >> 1) ^ -(number & 1)


def list_header(kind: int, size: int) -> bytes:
    """The header of a list with `size` elements."""
    if size < 15:
        return bytes([size << 4 | kind])
    return bytes([0xF0 | kind]) + varint(size)


def zigzag(number: int) -> bytes:
    """Encode a signed number: an i16, i32 or i64."""
    return varint((number << 1) ^ (number >> 63))


def _field_header(previous_id: int, field_id: int, field_type: int) -> bytes:
    delta = field_id - previous_id
    if 1 <= delta <= 15:
        return bytes([delta << 4 | field_type])
    return bytes([field_type]) + zigzag(field_id)


# A field as _kernel.fields finds it: its id and type, where its header and value begin, and its end.
StoredField = tuple[int, int, int, int, int]


def splice(data: bytes, start: int, fields: Mapping[int, tuple[int, bytes] | None]) -> bytes:
    """The struct at `start` with `fields` set: id -> (type, encoded value), or None to drop it. New
    fields are inserted in the order of ids."""
    return spliced(data, _kernel.fields(data, start), fields)


def spliced(
    data: bytes,
    stored: Sequence[StoredField],
    fields: Mapping[int, tuple[int, bytes] | None],
) -> bytes:
    """As splice, for the struct whose fields are `stored`."""
    new = sorted((number, *field) for number, field in fields.items() if field is not None)
    pieces: list[bytes] = []
    # The last ids, stored and written; and what is copied as it is, from one field to another.
    before = written = run_start = run_end = next_new = 0
    for number, kind, header, value, end in stored:
        if number in fields:
            before = number
            continue
        while next_new < len(new) and new[next_new][0] < number:
            pieces += [data[run_start:run_end], _field(written, *new[next_new])]
            written, run_start, run_end = new[next_new][0], end, end
            next_new += 1
        # A header has the distance to the id in front of it.
        if written == before:
            if run_end != header:
                pieces.append(data[run_start:run_end])
                run_start = header
        else:
            pieces += [data[run_start:run_end], _field_header(written, number, kind)]
            run_start = value
        before = written = number
        run_end = end
    pieces.append(data[run_start:run_end])
    for number, kind, encoded in new[next_new:]:
        pieces.append(_field(written, number, kind, encoded))
        written = number
    return b"".join([*pieces, b"\0"])


def _field(previous_id: int, number: int, kind: int, encoded: bytes) -> bytes:
    return _field_header(previous_id, number, kind) + encoded
