"""Whether the schema that writers of Arrow put beside that of Parquet can be read: without it, they refuse the file.

    key-value metadata    ARROW:schema, in Base64
    message               | -1 (4, not in old ones) | size (4) | Message |
    Message               a table of FlatBuffers, whose header is a Schema of Fields

What Arrow C++ refuses is wrong: places, numbers and children that no type has. Names,
and whatever else is still a schema, are not.

Spec: apache/arrow, format/Message.fbs and format/Schema.fbs. What these leave open is as pyarrow 26 does it.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Final

from parquet_bloom.parquet.footer.flatbuffer import (
    BYTE,
    INT,
    LONG,
    SHORT,
    Buffer,
    Fields,
    Kind,
    a_number,
    many,
    many_numbers,
    one,
    one_of,
    text,
)

KEY: Final = "ARROW:schema"

_CONTINUES: Final = b"\xff\xff\xff\xff"

# Of a hundred thousand columns.
_MOST_CHARACTERS: Final = 8 << 20

# Of the metadata of a field.
_EXTENSION_NAME: Final = b"ARROW:extension:name"
_EXTENSION_METADATA: Final = b"ARROW:extension:metadata"


# ------------------------------------------------------------------------------------------------
# The tables of a schema

# Fields by their number, and the word for a Schema in a Message.
_VERSION, _HEADER_TYPE, _HEADER, _IS_SCHEMA = 0, 1, 2, 1
_FIELDS = 1
_KEY, _VALUE = 0, 1
_NAME, _NULLABLE, _TYPE_TYPE, _TYPE, _DICTIONARY, _CHILDREN, _METADATA = 0, 1, 2, 3, 4, 5, 6
_INDEX_TYPE = 1

_BYTE, _SHORT, _INT, _LONG = map(a_number, (BYTE, SHORT, INT, LONG))

# By their number in a Field, with the kinds of their fields.
_TYPES: Final[dict[int, tuple[str, dict[int, Kind]]]] = {
    1: ("Null", {}),
    2: ("Int", {0: _INT, 1: _BYTE}),
    3: ("FloatingPoint", {0: _SHORT}),
    4: ("Binary", {}),
    5: ("Utf8", {}),
    6: ("Bool", {}),
    7: ("Decimal", {0: _INT, 1: _INT, 2: _INT}),
    8: ("Date", {0: _SHORT}),
    9: ("Time", {0: _SHORT, 1: _INT}),
    10: ("Timestamp", {0: _SHORT, 1: text}),
    11: ("Interval", {0: _SHORT}),
    12: ("List", {}),
    13: ("Struct", {}),
    14: ("Union", {0: _SHORT, 1: many_numbers(INT)}),
    15: ("FixedSizeBinary", {0: _INT}),
    16: ("FixedSizeList", {0: _INT}),
    17: ("Map", {0: _BYTE}),
    18: ("Duration", {0: _SHORT}),
    19: ("LargeBinary", {}),
    20: ("LargeUtf8", {}),
    21: ("LargeList", {}),
    22: ("RunEndEncoded", {}),
    23: ("BinaryView", {}),
    24: ("Utf8View", {}),
    25: ("ListView", {}),
    26: ("LargeListView", {}),
}
_NAMES: Final = {number: name for number, (name, _) in _TYPES.items()}

_TABLES: Final[dict[str, dict[int, Kind]]] = {
    "Message": {
        0: _SHORT,
        1: _BYTE,
        2: one_of(_HEADER_TYPE, {_IS_SCHEMA: "Schema"}),
        3: _LONG,
        4: many("KeyValue"),
    },
    "Schema": {0: _SHORT, 1: many("Field"), 2: many("KeyValue"), 3: many_numbers(LONG)},
    "KeyValue": {0: text, 1: text},
    "Field": {
        0: text,
        1: _BYTE,
        2: _BYTE,
        3: one_of(_TYPE_TYPE, _NAMES),
        4: one("DictionaryEncoding"),
        5: many("Field"),
        6: many("KeyValue"),
    },
    "DictionaryEncoding": {0: _LONG, 1: one("Int"), 2: _BYTE, 3: _SHORT},
    **dict(_TYPES.values()),
}


# ------------------------------------------------------------------------------------------------
# What each of them must be


# V4 and V5: others are too old, or newer.
_VERSIONS: Final = (3, 4)
# The most digits that a DECIMAL has, by its bits.
_MOST_DIGITS: Final = {32: 9, 64: 18, 128: 38, 256: 76}
# Of Time, by its unit: microseconds and nanoseconds. What stands for no unit passes for seconds.
_BITS_OF_TIME: Final = {2: 64, 3: 64}
_MOST_BYTES: Final = (2**31 - 1) // 8
_RUN_END_BITS: Final = (16, 32, 64)
# How many children a type has; a Struct has any number.
_NUM_CHILDREN: Final = {
    "List": 1,
    "FixedSizeList": 1,
    "Map": 1,
    "LargeList": 1,
    "RunEndEncoded": 2,
    "ListView": 1,
    "LargeListView": 1,
}


def _is_message(found: Fields) -> bool:
    is_schema = found.get(_HEADER_TYPE) == _IS_SCHEMA and _HEADER in found
    return found.get(_VERSION, 0) in _VERSIONS and is_schema


def _is_decimal(found: Fields) -> bool:
    most = _MOST_DIGITS.get(found.get(2, 128), 0)
    return found.get(0, 0) in range(1, most + 1)


def _is_field(found: Fields) -> bool:
    name = _name_of_type(found)
    children = found.get(_CHILDREN, ())
    if name is None or len(children) != _NUM_CHILDREN.get(name, len(children)):
        return False
    may_have_children = _MAY_HAVE.get(name)
    if may_have_children is not None and not may_have_children(found[_TYPE], children):
        return False
    return _is_uuid_if_it_says_so(found, name)


def _name_of_type(field: Fields) -> str | None:
    """None if it has none, or one that nobody knows."""
    return _NAMES.get(field.get(_TYPE_TYPE, 0)) if field.get(_TYPE) is not None else None


def _are_entries(_: Fields, children: Sequence[Fields]) -> bool:
    """Keys and values of a Map."""
    (found,) = children
    pair = found.get(_CHILDREN, ())
    is_pair = _name_of_type(found) == "Struct" and len(pair) == 2
    return is_pair and not found.get(_NULLABLE) and not pair[0].get(_NULLABLE)


def _are_runs(_: Fields, children: Sequence[Fields]) -> bool:
    """Where each run ends, and its value."""
    ends = children[0]
    is_signed = _name_of_type(ends) == "Int" and ends[_TYPE].get(1)
    return bool(is_signed) and ends[_TYPE].get(0) in _RUN_END_BITS


def _are_numbered(found: Fields, children: Sequence[Fields]) -> bool:
    """Each child of a Union."""
    ids = found.get(1, range(len(children)))
    return len(ids) == len(children) and all(0 <= each < 128 for each in ids)


def _is_uuid_if_it_says_so(found: Fields, name: str) -> bool:
    metadata = {pair[_KEY]: pair[_VALUE] for pair in found.get(_METADATA, ())}
    if metadata.get(_EXTENSION_NAME) != b"arrow.uuid":
        return True
    is_of_16_bytes = name == "FixedSizeBinary" and found[_TYPE].get(0) == 16
    return is_of_16_bytes and not metadata.get(_EXTENSION_METADATA)


_MAY_HAVE: Final[dict[str, Callable[[Fields, Sequence[Fields]], bool]]] = {
    "Map": _are_entries,
    "RunEndEncoded": _are_runs,
    "Union": _are_numbered,
}

# Numbers that are not there have the default of the table.
_IS_RIGHT: Final[dict[str, Callable[[Fields], bool]]] = {
    "Message": _is_message,
    "Schema": lambda found: _FIELDS in found,
    "KeyValue": lambda found: _KEY in found and _VALUE in found,
    "Field": _is_field,
    "DictionaryEncoding": lambda found: _INDEX_TYPE in found,
    "Int": lambda found: found.get(0, 0) in (8, 16, 32, 64),
    "Decimal": _is_decimal,
    "Time": lambda found: found.get(1, 32) == _BITS_OF_TIME.get(found.get(0, 1), 32),
    "Interval": lambda found: 0 <= found.get(0, 0) <= 2,
    "FixedSizeBinary": lambda found: 0 <= found.get(0, 0) <= _MOST_BYTES,
}


def _check(name: str, found: Fields) -> None:
    is_right = _IS_RIGHT.get(name)
    if is_right is not None and not is_right(found):
        raise ValueError(f"a {name}")


# ------------------------------------------------------------------------------------------------
# What is said of a schema


# The files of a folder mostly have the same.
@lru_cache(maxsize=1)
def problem_of(text: str) -> str:
    """What is wrong with a value of KEY; empty if nothing is, or it is too long to look."""
    if len(text) > _MOST_CHARACTERS:
        return ""
    data = _stored(text)
    if data is None:
        return "is no Base64"
    return "is no schema of Arrow, or a damaged one" if _read(data) is None else ""


# The files of a folder mostly have the same.
@lru_cache(maxsize=1)
def has_views(text: str) -> bool:
    """Whether a value of KEY has text or bytes as views, which pyarrow compares with nothing; not if it is too long
    to look, or something is wrong with it."""
    read = _read_value(text)
    return read is not None and any(name in ("BinaryView", "Utf8View") for name, _ in read.found)


# The files of a folder mostly have the same.
@lru_cache(maxsize=1)
def extensions(text: str) -> dict[str, str]:
    """The columns that a value of KEY has as an extension type, such as `arrow.uuid`, by name; none if it is too long
    to look, or something is wrong with it."""
    read = _read_value(text)
    return {} if read is None else dict(_extensions_in(read.root("Message")))


# The files of a folder mostly have the same.
@lru_cache(maxsize=1)
def dictionaries(text: str) -> frozenset[str]:
    """The fields of the schema itself that a value of KEY has as a dictionary, or with one inside, by name; none if
    it is too long to look, or something is wrong with it."""
    read = _read_value(text)
    if read is None or not any(name == "DictionaryEncoding" for name, _ in read.found):
        return frozenset()
    fields = read.root("Message")[_HEADER][_FIELDS]
    return frozenset(_decoded(each.get(_NAME, b"")) for each in fields if _has_dictionary(each))


def _has_dictionary(field: Fields) -> bool:
    return _DICTIONARY in field or any(map(_has_dictionary, field.get(_CHILDREN, ())))


def _read_value(text: str) -> Buffer | None:
    data = _stored(text) if len(text) <= _MOST_CHARACTERS else None
    return None if data is None else _read(data)


def _stored(text: str) -> bytes | None:
    """None if it is no Base64."""
    try:
        return b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        return None


def _extensions_in(message: Fields) -> Iterator[tuple[str, str]]:
    for field in message[_HEADER][_FIELDS]:
        for pair in field.get(_METADATA, ()):
            if pair[_KEY] == _EXTENSION_NAME:
                yield _decoded(field.get(_NAME, b"")), _decoded(pair[_VALUE])


def _decoded(found: bytes) -> str:
    return found.decode(errors="surrogateescape")


def _read(data: bytes) -> Buffer | None:
    """None if it is no Schema, or something is wrong with it."""
    for message in _messages(data):
        buffer = Buffer(message, _TABLES, _check)
        with suppress(ValueError):
            buffer.root("Message")
            return buffer
    return None


def _messages(data: bytes) -> Iterator[bytes]:
    """What may be the Message. Some readers take it without its size."""
    if data[:4] == _CONTINUES:
        size = int.from_bytes(data[4:8], "little", signed=True)
        if 0 < size <= len(data) - 8:
            yield data[8 : 8 + size]
        return
    yield from (data[4:], data)
