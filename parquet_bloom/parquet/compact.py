"""Thrift's compact protocol: decode one struct, or replace fields in one without decoding it.

The generated structs drop the fields that they do not know, so nothing that is written back goes
through them. A splice copies every byte of a struct but the fields that it replaces; only the
header of the field after a change can differ, since it holds the distance to the id before it.

Spec: thrift, doc/specs/thrift-compact-protocol.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
from thrift.protocol.TCompactProtocol import TCompactProtocolAccelerated
from thrift.protocol.TProtocol import TProtocolException
from thrift.transport.TTransport import TMemoryBuffer, TTransportException

from parquet_bloom.errors import FormatError
from parquet_bloom.native import _kernel

Struct = TypeVar("Struct")

TYPE_I32 = 5
TYPE_I64 = 6

# The decoder's errors have no common base class.
_DECODE_ERRORS = (
    EOFError,
    OverflowError,
    TProtocolException,
    TTransportException,
    TypeError,
    ValueError,
)


def decode(struct_class: type[Struct], data: Any, start: int = 0) -> tuple[Struct, int]:
    """Decode the struct at `start`; returns it and the position past it.

    The bytes are scanned first, so that hostile sizes never reach the decoder. Raises
    _kernel.ScanError if the bytes are no Thrift, FormatError if they are but another struct.
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
    """The compact protocol bytes of a generated struct."""
    transport = TMemoryBuffer()
    struct.write(TCompactProtocolAccelerated(transport, fallback=True))
    encoded: bytes = transport.getvalue()
    return encoded


def varint(number: int) -> bytes:
    """An unsigned LEB128 number."""
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def zigzag(number: int) -> bytes:
    """A signed number as Thrift writes i16, i32 and i64."""
    return varint((number << 1) ^ (number >> 63))


def _field_header(previous_id: int, field_id: int, field_type: int) -> bytes:
    delta = field_id - previous_id
    if 1 <= delta <= 15:
        return bytes([delta << 4 | field_type])
    return bytes([field_type]) + zigzag(field_id)


def splice(data: bytes, start: int, fields: Mapping[int, tuple[int, bytes] | None]) -> bytes:
    """The struct at `start` with `fields` set: id -> (type, encoded value), or None to drop it.

    New fields take the place in the order of ids that a writer would give them.
    """
    spans = _kernel.fields(data, start)
    kept = [span for span in spans if int(span["id"]) not in fields]
    added = sorted((field_id, value) for field_id, value in fields.items() if value is not None)
    before = _prefix_length(kept, added[0][0]) if added else len(kept)
    out = bytearray()
    previous = 0
    original_previous = _previous_ids(spans)
    for span in kept[:before]:
        previous = _copy_field(out, data, span, previous, original_previous)
    for field_id, (field_type, value) in added:
        out += _field_header(previous, field_id, field_type) + value
        previous = field_id
    for span in kept[before:]:
        previous = _copy_field(out, data, span, previous, original_previous)
    out.append(0)
    return bytes(out)


def _prefix_length(kept: list[np.void], field_id: int) -> int:
    for index, span in enumerate(kept):
        if span["id"] > field_id:
            return index
    return len(kept)


def _previous_ids(spans: np.ndarray) -> dict[int, int]:
    """For each field, by its position: the id that stood before it."""
    ids = [0, *(int(span["id"]) for span in spans)]
    return {int(span["start"]): ids[index] for index, span in enumerate(spans)}


def _copy_field(
    out: bytearray, data: bytes, span: np.void, previous: int, original: dict[int, int]
) -> int:
    start, value, end = int(span["start"]), int(span["value"]), int(span["end"])
    if original[start] == previous:
        out += data[start:end]
    else:
        out += _field_header(previous, int(span["id"]), int(span["type"])) + data[value:end]
    return int(span["id"])
