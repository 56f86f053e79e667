"""What the generated structs say about every field: its name, its type, the words of an enum.

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
