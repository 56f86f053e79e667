"""Whether the schema that writers of Arrow put beside that of Parquet can be read: without it, they refuse the file.

    key-value metadata    ARROW:schema, in Base64
    message               | -1 (4, not in old ones) | size (4) | Message |
    Message               a table of FlatBuffers, whose header is a Schema of Fields

A table begins with the distance back to its vtable, which has the place of each field in it, 0 for none:

    vtable                | size (2) | size of the table (2) | place of field 0 (2) | of field 1 (2) | ...

Only places are looked at, and that each field has a type: whatever else changes is still a schema.

Spec: apache/arrow, format/Message.fbs and format/Schema.fbs; flatbuffers.dev/internals.
"""

from __future__ import annotations

import struct
from base64 import b64decode
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from typing import Final

KEY: Final = "ARROW:schema"

_CONTINUES: Final = b"\xff\xff\xff\xff"

# Of a hundred thousand columns.
_MOST_CHARACTERS: Final = 8 << 20

# Fields by their number, and the word for a Schema in a Message.
_HEADER_TYPE, _HEADER, _IS_SCHEMA = 1, 2, 1
_FIELDS, _METADATA_OF_SCHEMA = 1, 2
_KEY, _VALUE = 0, 1
_NAME, _TYPE_TYPE, _TYPE, _DICTIONARY, _CHILDREN, _METADATA = 0, 2, 3, 4, 5, 6

# Of the metadata of a field.
_EXTENSION_NAME: Final = "ARROW:extension:name"

# BinaryView and Utf8View.
_VIEWS: Final = frozenset({23, 24})


# The files of a folder mostly have the same.
@lru_cache(maxsize=1)
def problem_of(text: str) -> str:
    """What is wrong with a value of KEY; empty if nothing is, or it is too long to look."""
    if len(text) > _MOST_CHARACTERS:
        return ""
    try:
        data = b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        return "is no Base64"
    if not any(map(_is_message, _messages(data))):
        return "is no schema of Arrow, or a damaged one"
    return ""


# The files of a folder mostly have the same.
@lru_cache(maxsize=1)
def has_views(text: str) -> bool:
    """Whether a value of KEY has text or bytes as views, which pyarrow compares with nothing; not if it is too long to
    look, or something is wrong with it."""
    if problem_of(text) or len(text) > _MOST_CHARACTERS:
        return False
    for message in _messages(b64decode(text + "=" * (-len(text) % 4))):
        with suppress(ValueError, struct.error):
            return not _VIEWS.isdisjoint(_types_in(message))
    return False


# The files of a folder mostly have the same.
@lru_cache(maxsize=1)
def extensions(text: str) -> dict[str, str]:
    """The columns that a value of KEY has as an extension type, such as `arrow.uuid`, by name; none if it is too long to
    look, or something is wrong with it."""
    if problem_of(text) or len(text) > _MOST_CHARACTERS:
        return {}
    for message in _messages(b64decode(text + "=" * (-len(text) % 4))):
        with suppress(ValueError, struct.error):
            return dict(_extensions_in(message))
    return {}


def _extensions_in(data: bytes) -> Iterator[tuple[str, str]]:
    """Raises as _types_in."""
    _types_in(data)
    schema = _Table(data, _at(data, 0)).required(_HEADER)
    pairs = ((field, pair) for field in schema.tables(_FIELDS) for pair in field.tables(_METADATA))
    # As above, several places may lead to one.
    for field, pair in islice(pairs, len(data) // 4):
        if pair.text(_KEY) == _EXTENSION_NAME:
            yield field.text(_NAME), pair.text(_VALUE)


def _messages(data: bytes) -> Iterator[bytes]:
    """What may be the Message. Some readers take it without its size."""
    if data[:4] == _CONTINUES:
        size = int.from_bytes(data[4:8], "little", signed=True)
        if 0 < size <= len(data) - 8:
            yield data[8 : 8 + size]
        return
    yield from (data[4:], data)


def _is_message(data: bytes) -> bool:
    try:
        _types_in(data)
    except (ValueError, struct.error):
        return False
    return True


def _types_in(data: bytes) -> set[int]:
    """The types of all fields of a Schema. Raises ValueError or struct.error unless all that it leads to is in `data`."""
    types = set()
    message = _Table(data, _at(data, 0))
    if message.byte(_HEADER_TYPE) != _IS_SCHEMA:
        raise ValueError("no Schema")
    schema = message.required(_HEADER)
    # Each table takes some bytes, unless several places lead to one: nobody writes that, and it might not end.
    most = len(data) // 4
    fields = list(islice(schema.tables(_FIELDS), most))
    pairs = list(islice(schema.tables(_METADATA_OF_SCHEMA), most))
    for _ in range(most):
        if not fields:
            break
        field = fields.pop()
        field.check_text(_NAME)
        if not field.byte(_TYPE_TYPE):
            raise ValueError("no type")
        types.add(field.byte(_TYPE_TYPE))
        field.required(_TYPE)
        field.table(_DICTIONARY)
        pairs += islice(field.tables(_METADATA), most - len(pairs))
        fields += islice(field.tables(_CHILDREN), most - len(fields))
    for pair in pairs:
        pair.check_text(_KEY)
        pair.check_text(_VALUE)
    return types


def _at(data: bytes, place: int) -> int:
    """Where the offset at a place leads."""
    (offset,) = struct.unpack_from("<I", data, place)
    if not offset or place + offset >= len(data):
        raise ValueError(f"an offset of {offset}")
    return int(place + offset)


class _Table:
    """A table of FlatBuffers at a position. Methods raise ValueError or struct.error for what is not in `data`."""

    def __init__(self, data: bytes, position: int) -> None:
        (back,) = struct.unpack_from("<i", data, position)
        self._data, self._position, self._vtable = data, position, position - back
        if self._vtable < 0:
            raise ValueError(f"a vtable at {self._vtable}")
        (self._size,) = struct.unpack_from("<H", data, self._vtable)
        if self._size < 4 or self._vtable + self._size > len(data):
            raise ValueError(f"a vtable of {self._size} bytes")

    def _place(self, number: int) -> int:
        """Where a field is; 0 if it is not there."""
        at = 4 + 2 * number
        if at + 2 > self._size:
            return 0
        (place,) = struct.unpack_from("<H", self._data, self._vtable + at)
        return int(self._position + place) if place else 0

    def byte(self, number: int) -> int:
        """0 if it is not there."""
        place = self._place(number)
        return int(struct.unpack_from("<B", self._data, place)[0]) if place else 0

    def table(self, number: int) -> _Table | None:
        place = self._place(number)
        return _Table(self._data, _at(self._data, place)) if place else None

    def required(self, number: int) -> _Table:
        found = self.table(number)
        if found is None:
            raise ValueError(f"no field {number}")
        return found

    def tables(self, number: int) -> Iterator[_Table]:
        """The items of a vector."""
        place = self._place(number)
        if place:
            start = self._check_vector(place, 4)
            (count,) = struct.unpack_from("<I", self._data, start)
            items = range(start + 4, start + 4 + 4 * count, 4)
            yield from (_Table(self._data, _at(self._data, item)) for item in items)

    def check_text(self, number: int) -> None:
        place = self._place(number)
        if place:
            self._check_vector(place, 1)

    def text(self, number: int) -> str:
        """Empty if it is not there."""
        place = self._place(number)
        if not place:
            return ""
        start = self._check_vector(place, 1)
        (count,) = struct.unpack_from("<I", self._data, start)
        return self._data[start + 4 : start + 4 + count].decode(errors="surrogateescape")

    def _check_vector(self, place: int, width: int) -> int:
        start = _at(self._data, place)
        (count,) = struct.unpack_from("<I", self._data, start)
        if start + 4 + width * count > len(self._data):
            raise ValueError(f"a vector of {count} items")
        return start
