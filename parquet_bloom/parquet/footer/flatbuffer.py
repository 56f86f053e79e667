"""A message of FlatBuffers, whose tables are known: every place in it is looked at before anything is read.

    buffer    | offset of the root table (4) | ...
    table     | distance back to its vtable (4) | fields, at places that the vtable has |
    vtable    | size (2) | size of the table (2) | place of field 0 (2), 0 for none | of field 1 (2) | ...
    vector    | number of items (4) | items |
    text      | number of bytes (4) | UTF-8 | 0 |

A field is a number, or the offset (4) of a table, a vector or a text that follows. What takes up n bytes lies at a
multiple of n. Readers refuse the whole buffer for one place that is not so.

Spec: flatbuffers.dev/internals; google/flatbuffers, include/flatbuffers/verifier.h.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

# What readers allow, too.
_MOST_LEVELS: Final = 128

# The fields of a table that are there, by their number: a number, bytes of a text, a table, or a tuple of items.
# Tables to which several places lead are one.
Fields: TypeAlias = Mapping[int, Any]

# From a buffer, a place in it, the fields before and the level to what is there.
Kind: TypeAlias = "Callable[[Buffer, int, Fields, int], Any]"


class Buffer:
    """`tables`: by name, the kinds of their fields by number; `check`: called with the name and the fields of each
    table, once, and raises ValueError for what readers refuse."""

    def __init__(
        self,
        data: bytes,
        tables: Mapping[str, Mapping[int, Kind]],
        check: Callable[[str, Fields], None],
    ) -> None:
        self._data, self._tables, self._check = data, tables, check
        self.found: dict[tuple[str, int], Fields] = {}

    def root(self, name: str) -> Fields:
        """Raises ValueError unless all that it leads to is in `data`, at places that are allowed."""
        return self.table(name, self.follow(0), 0)

    def number(self, place: int, layout: struct.Struct) -> int:
        if place < 0 or place % layout.size or place + layout.size > len(self._data):
            raise ValueError(f"a number at {place}")
        return int(layout.unpack_from(self._data, place)[0])

    def follow(self, place: int) -> int:
        """Where the offset at a place leads."""
        offset = self.number(place, UINT)
        if not offset:
            raise ValueError(f"no offset at {place}")
        return place + offset

    def items(self, place: int, width: int) -> range:
        """Where the items of the vector at a place are."""
        count = self.number(place, UINT)
        found = range(place + 4, place + 4 + width * count, width)
        if found.stop > len(self._data):
            raise ValueError(f"a vector of {count} items")
        return found

    def text(self, place: int) -> bytes:
        found = self.items(place, 1)
        if self._data[found.stop : found.stop + 1] != b"\0":
            raise ValueError(f"a text without an end at {place}")
        return self._data[found.start : found.stop]

    def table(self, name: str, place: int, level: int) -> Fields:
        if (name, place) in self.found:
            return self.found[name, place]
        if level >= _MOST_LEVELS:
            raise ValueError(f"{level} levels")
        vtable = place - self.number(place, INT)
        size = self.number(vtable, USHORT)
        if size % 2 or vtable + size > len(self._data):
            raise ValueError(f"a vtable of {size} bytes")
        fields: dict[int, Any] = {}
        for number, kind in self._tables[name].items():
            at = vtable + 4 + 2 * number
            if at < vtable + size and (distance := self.number(at, USHORT)):
                fields[number] = kind(self, place + distance, fields, level + 1)
        self._check(name, fields)
        self.found[name, place] = fields
        return fields


# ------------------------------------------------------------------------------------------------
# Kinds of fields

BYTE, SHORT, USHORT, INT, UINT, LONG = map(struct.Struct, ("<B", "<h", "<H", "<i", "<I", "<q"))


def a_number(layout: struct.Struct) -> Kind:
    """A number."""
    return lambda buffer, place, before, level: buffer.number(place, layout)


def text(buffer: Buffer, place: int, before: Fields, level: int) -> bytes:
    """A text."""
    return buffer.text(buffer.follow(place))


def many_numbers(layout: struct.Struct) -> Kind:
    """A vector of numbers."""

    def read(buffer: Buffer, place: int, before: Fields, level: int) -> tuple[int, ...]:
        items = buffer.items(buffer.follow(place), layout.size)
        return tuple(buffer.number(item, layout) for item in items)

    return read


def one(name: str) -> Kind:
    """A table."""
    return lambda buffer, place, before, level: buffer.table(name, buffer.follow(place), level)


def many(name: str) -> Kind:
    """A vector of tables."""

    def read(buffer: Buffer, place: int, before: Fields, level: int) -> tuple[Fields, ...]:
        items = buffer.items(buffer.follow(place), 4)
        return tuple(buffer.table(name, item + buffer.number(item, UINT), level) for item in items)

    return read


def one_of(number: int, names: Mapping[int, str]) -> Kind:
    """A table whose name the field with a number tells; None if that tells none."""

    def read(buffer: Buffer, place: int, before: Fields, level: int) -> Fields | None:
        start, name = buffer.follow(place), names.get(before.get(number, 0))
        return None if name is None else buffer.table(name, start, level)

    return read
