"""What the generated structs say about every field: its name, its type, the words of an enum, and what fits.

Only the enums of fields are missing there: to Thrift's Python an enum is an i32.

Spec: parquet-format, parquet.thrift.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from parquet_bloom.dataclass import dataclass
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.thrift import ttypes

ENUMS: Final[Mapping[tuple[str, str], Any]] = {
    ("SchemaElement", "type"): ttypes.Type,
    ("SchemaElement", "repetition_type"): ttypes.FieldRepetitionType,
    ("SchemaElement", "converted_type"): ttypes.ConvertedType,
    ("GeographyType", "algorithm"): ttypes.EdgeInterpolationAlgorithm,
    ("ColumnMetaData", "type"): ttypes.Type,
    ("ColumnMetaData", "encodings"): ttypes.Encoding,
    ("ColumnMetaData", "codec"): ttypes.CompressionCodec,
    ("PageEncodingStats", "page_type"): ttypes.PageType,
    ("PageEncodingStats", "encoding"): ttypes.Encoding,
}

# As the definition of a struct would spell them.
SPELLED: Final = {
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
LISTS: Final = (compact.TYPE_LIST, compact.TYPE_SET)

# Types of the generated structs -> those of the compact protocol, and how the definition spells them.
_SCALARS = {
    ttypes.TType.BOOL: (compact.TYPE_TRUE, "bool"),
    ttypes.TType.BYTE: (compact.TYPE_BYTE, "i8"),
    ttypes.TType.I16: (compact.TYPE_I16, "i16"),
    ttypes.TType.I32: (compact.TYPE_I32, "i32"),
    ttypes.TType.I64: (compact.TYPE_I64, "i64"),
    ttypes.TType.DOUBLE: (compact.TYPE_DOUBLE, "double"),
}


@dataclass(frozen=True, slots=True)
class FieldType:
    """`wire`: the compact protocol's type, TYPE_TRUE for all booleans. `name`: as the definition spells
    it. `words`: of an enum. `struct`: the generated class. `item`: the type of a list's items."""

    wire: int
    name: str
    words: Mapping[int, str] | None = None
    struct: Any = None
    item: FieldType | None = None


@cache
def required_of(struct: Any) -> frozenset[int]:
    """The ids of the fields that every struct of a generated class must have."""
    spec = list(filter(None, struct.thrift_spec))

    def is_required(name: str) -> bool:
        # The generated code has no list of them.
        filled = struct(**{each[2]: 0 for each in spec})
        setattr(filled, name, None)
        return not compact.is_complete(filled)

    return frozenset(each[0] for each in spec if is_required(each[2]))


@cache
def fields_of(struct: Any) -> Mapping[int, tuple[str, FieldType]]:
    """The names and types of the fields of a generated class, by id."""
    return {
        number: (name, _type(kind, details, ENUMS.get((struct.__name__, name))))
        for number, kind, name, details, _ in filter(None, struct.thrift_spec)
    }


def _type(kind: int, details: Any, enum: Any) -> FieldType:
    if kind == ttypes.TType.LIST:
        item = _type(details[0], details[1], enum)
        return FieldType(compact.TYPE_LIST, f"list<{item.name}>", item=item)
    if kind == ttypes.TType.STRUCT:
        return FieldType(compact.TYPE_STRUCT, details[0].__name__, struct=details[0])
    if kind == ttypes.TType.STRING:
        return FieldType(compact.TYPE_BINARY, "string" if details == "UTF8" else "binary")
    wire, name = _SCALARS[kind]
    if enum is not None:
        return FieldType(wire, enum.__name__, words=enum._VALUES_TO_NAMES)
    return FieldType(wire, name)


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
        return SPELLED[wire]
    _, item, _ = list_header(data, at)
    return f"{SPELLED[wire]}<{SPELLED.get(item, '?')}>"


def list_header(data: bytes, at: int) -> tuple[int, int, int]:
    """The number of items of a list, their type, and where the first one begins."""
    count, kind = data[at] >> 4, data[at] & 0xF
    if count < 15:
        return count, kind, at + 1
    count, first = compact.read_varint(data, at + 1)
    return count, kind, first
