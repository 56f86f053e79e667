"""Values in a footer, read by their types; and what bytes look like of which no type is known.

Spec: thrift, doc/specs/thrift-compact-protocol.md.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from parquet_bloom.container.footer_fields import Content
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.footer.definition import FieldType
from parquet_bloom.values.literals import format_literal
from parquet_bloom.values.types import LeafType

# As the definition of a struct would spell them.
_SPELLED: Final = {
    compact.TYPE_TRUE: "bool",
    compact.TYPE_FALSE: "bool",
    compact.TYPE_BYTE: "i8",
    compact.TYPE_I16: "i16",
    compact.TYPE_I32: "i32",
    compact.TYPE_I64: "i64",
    compact.TYPE_DOUBLE: "double",
    compact.TYPE_BINARY: "binary",
    compact.TYPE_LIST: "list",
    compact.TYPE_SET: "set",
    compact.TYPE_MAP: "map",
    compact.TYPE_STRUCT: "struct",
    compact.TYPE_UUID: "uuid",
}
_INTEGERS: Final = (compact.TYPE_I16, compact.TYPE_I32, compact.TYPE_I64)
_BITS: Final = {compact.TYPE_I16: 16, compact.TYPE_I32: 32}
LISTS: Final = (compact.TYPE_LIST, compact.TYPE_SET)
# What is in a list as an item with content of its own.
NESTED: Final = (*LISTS, compact.TYPE_MAP, compact.TYPE_STRUCT)


# ------------------------------------------------------------------------------------------------
# Types


def fits(kind: FieldType, wire: int, data: bytes, at: int) -> bool:
    """Whether readers take the field at a position for one of this type."""
    if kind.item is None:
        return wire == kind.wire or _one_bool(wire) == kind.wire
    if wire != kind.wire:
        return False
    count, item, _ = list_header(data, at)
    return count == 0 or _one_bool(item) == kind.item.wire


def _one_bool(wire: int) -> int:
    return compact.TYPE_TRUE if wire == compact.TYPE_FALSE else wire


def type_found(data: bytes, wire: int, at: int) -> str:
    """`i64`, `list<binary>`"""
    if wire not in LISTS:
        return _SPELLED[wire]
    _, item, _ = list_header(data, at)
    return f"{_SPELLED[wire]}<{_SPELLED.get(item, '?')}>"


def any_text(wire: int) -> FieldType:
    """The type of what nobody knows: bytes are taken for text where they can be."""
    is_binary = wire == compact.TYPE_BINARY
    return FieldType(wire, "string" if is_binary else _SPELLED.get(wire, "?"))


def list_header(data: bytes, at: int) -> tuple[int, int, int]:
    """The number of items of a list, their type, and where the first one begins."""
    count, kind = data[at] >> 4, data[at] & 0xF
    if count < 15:
        return count, kind, at + 1
    count, first = compact.read_varint(data, at + 1)
    return count, kind, first


# ------------------------------------------------------------------------------------------------
# Values


def read_value(data: bytes, kind: FieldType, wire: int, at: int) -> Content:
    """The value of a field at a position, and what is wrong with it."""
    if wire <= compact.TYPE_FALSE:
        return Content(wire == compact.TYPE_TRUE)
    value, _ = _item_value(data, kind, at)
    note = None
    if (bits := _BITS.get(wire)) and not -(1 << bits - 1) <= value < 1 << bits - 1:
        note = f"does not fit {bits} bits"
    elif kind.words is not None:
        word = kind.words.get(value)
        value, note = (value, f"no {kind.name}") if word is None else (word, None)
    elif kind.name == "string" and isinstance(value, bytes):
        note = "not UTF-8"
    return Content(value, None, note)


def read_values(data: bytes, kind: FieldType, count: int, at: int) -> Iterator[Any]:
    """The items of a list, of which the first begins at `at`."""
    for _ in range(count):
        value, at = _item_value(data, kind, at)
        yield value if kind.words is None else kind.words.get(value, value)


def _item_value(data: bytes, kind: FieldType, at: int) -> tuple[Any, int]:
    """A value without the field around it, and the position after it."""
    if kind.wire in _INTEGERS:
        if (byte := data[at]) < 0x80:
            return (byte >> 1) ^ -(byte & 1), at + 1
        number, at = compact.read_varint(data, at)
        return compact.unzigzag(number), at
    match kind.wire:
        case compact.TYPE_BINARY:
            length, at = compact.read_varint(data, at)
            stored = data[at : at + length]
            return stored if kind.name == "binary" else _text(stored), at + length
        case compact.TYPE_BYTE:
            return int.from_bytes(data[at : at + 1], signed=True), at + 1
        case compact.TYPE_DOUBLE:
            return struct.unpack_from("<d", data, at)[0], at + 8
        case compact.TYPE_UUID:
            return data[at : at + 16], at + 16
    return data[at] == compact.TYPE_TRUE, at + 1


def _text(stored: bytes) -> str | bytes:
    """Itself if it is not UTF-8."""
    try:
        return stored.decode()
    except UnicodeDecodeError:
        return stored


@lru_cache(maxsize=64)
def decoded_bound(leaf: LeafType, stored: bytes) -> tuple[str | None, str | None]:
    """What the bytes of a bound mean, as a literal, and what is wrong with them. A bound of bytes may be
    shorter than values. Most bounds are in the Statistics twice."""
    width = 1 if leaf.physical == "BOOLEAN" else leaf.width
    if width is not None and len(stored) != width:
        is_short = leaf.physical == "FIXED_LEN_BYTE_ARRAY" and len(stored) < width
        return None, None if is_short else f"expected {width} bytes"
    if leaf.physical == "BOOLEAN":
        return str(stored != b"\0").lower(), None
    return format_literal(leaf, stored), None
