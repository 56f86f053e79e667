"""Values of VARIANT as they are encoded, and shredded into columns.

    an object    {"a": ("int32", 40), "b": {"c": ("string", "x")}}; None is the null of VARIANT
    a shredding  {"a": "int32", "b": {"c": "string"}}: what has another type, and other fields, are residual

Spec: parquet-format, VariantEncoding.md and VariantShredding.md.
"""

import struct
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
from make.footers import edited

from parquet_bloom.parquet.thrift import ttypes

Value: TypeAlias = "tuple[str, Any] | dict[str, Value] | list[Value] | None"
Shredding: TypeAlias = "str | dict[str, Shredding]"

TYPES: Mapping[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "decimal": pa.decimal128(9, 2),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "local": pa.timestamp("us"),
}
_INTEGERS = {"int8": (3, "<b"), "int16": (4, "<h"), "int32": (5, "<i"), "int64": (6, "<q")}
_FLOATS = {"double": (7, "<d"), "float": (14, "<f")}


def variant_file(
    groups: Sequence[Sequence[tuple[int, Value]]], shredding: dict[str, Shredding]
) -> bytes:
    """A row group for each of `groups`: rows of a number `n` and a value `v`, shredded like that."""
    field = pa.struct(
        [pa.field("metadata", pa.binary(), nullable=False), *_shredded_type(shredding)]
    )
    schema = pa.schema([pa.field("n", pa.int32()), pa.field("v", field, nullable=False)])
    sink = pa.BufferOutputStream()
    options = {"store_schema": False, "store_decimal_as_integer": True, "use_dictionary": False}
    with pq.ParquetWriter(sink, schema, **options) as writer:
        for rows in groups:
            names = sorted({name for _, value in rows for name in _names(value)})
            found = [
                {"n": n, "v": {"metadata": _metadata(names), **_shred(value, shredding, names)}}
                for n, value in rows
            ]
            writer.write_table(pa.Table.from_pylist(found, schema))

    def annotate(footer: ttypes.FileMetaData) -> None:
        (group,) = (each for each in footer.schema if each.name == "v")
        group.logicalType = ttypes.LogicalType(VARIANT=ttypes.VariantType(specification_version=1))

    return edited(bytes(sink.getvalue()), annotate)


def _shredded_type(shredding: Shredding) -> list[pa.Field]:
    if isinstance(shredding, str):
        return [pa.field("value", pa.binary()), pa.field("typed_value", TYPES[shredding])]
    fields = [
        pa.field(name, pa.struct(_shredded_type(below)), nullable=False)
        for name, below in shredding.items()
    ]
    return [pa.field("value", pa.binary()), pa.field("typed_value", pa.struct(fields))]


_MISSING = object()


def _shred(value: Any, shredding: Shredding, names: Sequence[str]) -> dict[str, Any]:
    if value is _MISSING:
        return {"value": None, "typed_value": None}
    if isinstance(shredding, str):
        if isinstance(value, tuple) and value[0] == shredding:
            return {"value": None, "typed_value": value[1]}
    elif isinstance(value, dict):
        left = {name: below for name, below in value.items() if name not in shredding}
        typed = {
            name: _shred(value.get(name, _MISSING), below, names)
            for name, below in shredding.items()
        }
        return {"value": _encoded(left, names) if left else None, "typed_value": typed}
    return {"value": _encoded(value, names), "typed_value": None}


def _names(value: Value) -> set[str]:
    if isinstance(value, dict):
        return {*value} | {name for below in value.values() for name in _names(below)}
    return {name for below in value for name in _names(below)} if isinstance(value, list) else set()


def _metadata(names: Sequence[str]) -> bytes:
    """Version 1, sorted, offsets of one byte."""
    texts = [name.encode() for name in names]
    offsets = [sum(map(len, texts[:end])) for end in range(len(texts) + 1)]
    return bytes([0x11, len(texts), *offsets]) + b"".join(texts)


def _encoded(value: Value, names: Sequence[str]) -> bytes:
    if value is None:
        return b"\0"
    if isinstance(value, dict):
        fields = sorted(value.items())
        ids = bytes(names.index(name) for name, _ in fields)
        return _container(6, ids, [_encoded(below, names) for _, below in fields])
    if isinstance(value, list):
        return _container(7, b"", [_encoded(below, names) for below in value])
    kind, plain = value
    if kind in _INTEGERS or kind in _FLOATS:
        number, format = {**_INTEGERS, **_FLOATS}[kind]
        return bytes([number << 2]) + struct.pack(format, plain)
    match plain:
        case bool():
            return bytes([(1 if plain else 2) << 2])
        case str():
            text = plain.encode()
            return bytes([16 << 2]) + struct.pack("<I", len(text)) + text
        case Decimal():
            return bytes([8 << 2, 2]) + struct.pack("<i", int(plain.scaleb(2)))
        case datetime():
            number = 12 if plain.tzinfo else 13
            past = plain - datetime(1970, 1, 1, tzinfo=UTC if plain.tzinfo else None)
            micros = (past.days * 86_400 + past.seconds) * 1_000_000 + past.microseconds
            return bytes([number << 2]) + struct.pack("<q", micros)
        case date():
            return bytes([11 << 2]) + struct.pack("<i", (plain - date(1970, 1, 1)).days)
    raise AssertionError(value)


def _container(header: int, ids: bytes, values: Sequence[bytes]) -> bytes:
    """An object or array with offsets of two bytes."""
    offsets = [sum(map(len, values[:end])) for end in range(len(values) + 1)]
    packed = struct.pack(f"<{len(offsets)}H", *offsets)
    return bytes([header, len(values)]) + ids + packed + b"".join(values)
