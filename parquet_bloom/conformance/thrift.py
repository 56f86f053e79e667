"""Thrift's compact protocol, as far as footers, page headers and filter headers need it.

A field is (id, type, value); what is not in any definition can be written like the rest.

Spec: thrift, doc/specs/thrift-compact-protocol.md
"""

from __future__ import annotations

from collections.abc import Sequence

Field = tuple[int, int, bytes]

_TRUE, _FALSE, _I8, _I16, _I32, _I64, _BINARY, _LIST, _STRUCT = 1, 2, 3, 4, 5, 6, 8, 9, 12


_BYTES = [bytes([number]) for number in range(0x80)]


def varint(number: int) -> bytes:
    """Seven bits a byte, the lowest first."""
    if number < 0x80:
        return _BYTES[number]
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def zigzag(number: int) -> bytes:
    """Of 64 bits: 0, -1, 1, -2, …"""
    return varint(number << 1 ^ number >> 63)


def boolean(id: int, value: bool) -> Field:
    return id, _TRUE if value else _FALSE, b""


def i8(id: int, value: int) -> Field:
    return id, _I8, bytes([value])


def i16(id: int, value: int) -> Field:
    return id, _I16, zigzag(value)


def i32(id: int, value: int) -> Field:
    return id, _I32, zigzag(value)


def i64(id: int, value: int) -> Field:
    return id, _I64, zigzag(value)


def binary(id: int, value: bytes | str) -> Field:
    return id, _BINARY, element(value.encode() if isinstance(value, str) else value)


def within(id: int, *fields: Field) -> Field:
    """A struct as a field."""
    return id, _STRUCT, struct(*fields)


def structs(id: int, items: Sequence[bytes]) -> Field:
    return _listed(id, _STRUCT, items)


def i32s(id: int, items: Sequence[int]) -> Field:
    return _listed(id, _I32, [zigzag(item) for item in items])


def texts(id: int, items: Sequence[str]) -> Field:
    return _listed(id, _BINARY, [element(item.encode()) for item in items])


def element(value: bytes) -> bytes:
    return varint(len(value)) + value


def _listed(id: int, kind: int, items: Sequence[bytes]) -> Field:
    size = len(items)
    head = bytes([size << 4 | kind]) if size < 15 else bytes([0xF0 | kind]) + varint(size)
    return id, _LIST, head + b"".join(items)


def struct(*fields: Field) -> bytes:
    """Fields in the order given, and the stop."""
    out, last = bytearray(), 0
    for id, kind, value in fields:
        short = 0 < id - last < 16
        out += bytes([id - last << 4 | kind]) if short else bytes([kind]) + zigzag(id)
        out += value
        last = id
    return bytes(out) + b"\0"
