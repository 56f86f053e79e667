"""The types that tables have for columns, as pyarrow has them, and what files that are older have of them.

Spec: Delta Lake, PROTOCOL.md, "Primitive Types", "Type Widening"; Iceberg Table Spec, "Schema Evolution".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from parquet_bloom.errors import UnsupportedError

# By what Delta Lake calls them.
PRIMITIVE: Final = {
    "string": pa.string(), "long": pa.int64(), "integer": pa.int32(), "short": pa.int16(), "byte": pa.int8(),
    "float": pa.float32(), "double": pa.float64(), "boolean": pa.bool_(), "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"), "timestamp_ntz": pa.timestamp("us"),
}  # fmt: skip
_DECIMAL: Final = re.compile(r"decimal\((\d+),(\d+)\)")
# Those that are no text of a partition.
_OTHERS: Final = {"binary": pa.binary()}
# A type as the schema of a Delta table has it in JSON, by the names of the table.
Kind: TypeAlias = "str | Mapping[str, Any]"


def arrow_type(kind: str) -> pa.DataType | None:
    """None for one that is none of these. Raises ValueError for a DECIMAL of too many digits."""
    of_decimals = _DECIMAL.fullmatch(kind)
    return pa.decimal128(*map(int, of_decimals.groups())) if of_decimals else PRIMITIVE.get(kind)


def whole_type(kind: Kind) -> pa.DataType:
    """Of a column that no file has; null for what is not known here, also inside of it. Raises as arrow_type."""
    if isinstance(kind, str):
        return arrow_type(kind) or _OTHERS.get(kind, pa.null())
    match kind["type"]:
        case "struct":
            return pa.struct([(each["name"], whole_type(each["type"])) for each in kind["fields"]])
        case "array":
            return pa.list_(pa.field("element", whole_type(kind["elementType"])))
        case _:
            return pa.map_(whole_type(kind["keyType"]), whole_type(kind["valueType"]))


def schema_of(
    names: Iterable[str], stored: Mapping[str, pa.Field], kinds: Mapping[str, Kind]
) -> pa.Schema:
    """Of columns of tables, as they are `stored`, or of the types that the tables have for them."""
    return pa.schema(
        [stored.get(name) or pa.field(name, whole_type(kinds.get(name, ""))) for name in names]
    )


def in_table(stored: pa.Schema, kinds: Mapping[str, Kind]) -> pa.Schema:
    """The columns of a file as its table has them since: of wider types, and with all fields of structs,
    in its order."""
    fields = [
        _field(field, kinds[field.name]) if field.name in kinds else field for field in stored
    ]
    return pa.schema(fields, stored.metadata)


def _field(stored: pa.Field, kind: Kind) -> pa.Field:
    return stored.with_type(_as(stored.type, kind))


def _as(stored: pa.DataType, kind: Kind) -> pa.DataType:
    if isinstance(kind, str):
        wide = arrow_type(kind) or _OTHERS.get(kind)
        return wide if wide is not None and _is_other(stored, wide) else stored
    match kind["type"]:
        case "struct" if pa.types.is_struct(stored):
            there = {field.name: field for field in stored}
            return pa.struct(
                [
                    _field(there[name], of_field)
                    if name in there
                    else pa.field(name, whole_type(of_field))
                    for name, of_field in ((each["name"], each["type"]) for each in kind["fields"])
                ]
            )
        case "array" if pa.types.is_list(stored):
            return pa.list_(_field(stored.value_field, kind["elementType"]))
        case "array" if pa.types.is_large_list(stored):
            return pa.large_list(_field(stored.value_field, kind["elementType"]))
        case "map" if pa.types.is_map(stored):
            return pa.map_(
                _field(stored.key_field, kind["keyType"]),
                _field(stored.item_field, kind["valueType"]),
            )
    return stored


def converted(rows: pa.Table, wanted: pa.Schema) -> pa.Table:
    """Rows of a file, of the types that in_table has for them.
    Raises UnsupportedError for what pyarrow does not convert."""
    if rows.schema.equals(wanted):
        return rows
    try:
        columns = [
            pa.chunked_array([_converted(each, field.type) for each in column.chunks], field.type)
            for column, field in zip(rows.columns, wanted, strict=True)
        ]
    except (pa.ArrowException, NotImplementedError) as error:
        reason = " ".join(str(error).split())
        raise UnsupportedError(f"columns of a table: pyarrow {pa.__version__}: {reason}") from None
    return pa.table(columns, wanted)


def _converted(stored: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Older versions of pyarrow do not add fields to structs."""
    if stored.type.equals(wanted):
        return stored
    if pa.types.is_struct(wanted):
        there = {field.name for field in stored.type}
        fields = [
            _converted(stored.field(each.name), each.type)
            if each.name in there
            else pa.nulls(len(stored), each.type)
            for each in wanted
        ]
        return pa.StructArray.from_arrays(fields, fields=[*wanted], mask=stored.is_null())
    if pa.types.is_list(wanted):
        lengths = pc.fill_null(pc.list_value_length(stored), 0)
        ends = pc.cumulative_sum(lengths).cast(pa.int32())
        offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
        values = _converted(stored.flatten(), wanted.value_type)
        return pa.ListArray.from_arrays(offsets, values, wanted, mask=stored.is_null())
    return stored.cast(wanted)


def _is_other(stored: pa.DataType, wide: pa.DataType) -> bool:
    """Whether it is another type than in the table: a narrower one, or that of views, of which pyarrow can do little;
    delta-rs writes down that rows had it which it has written anew."""
    if stored in (pa.string_view(), pa.binary_view()):
        return wide in (pa.string(), pa.binary())
    return _is_wider(stored, wide)


def _is_wider(stored: pa.DataType, wide: pa.DataType) -> bool:
    if pa.types.is_integer(stored):
        is_longer = pa.types.is_integer(wide) and wide.bit_width > stored.bit_width
        return bool(is_longer or pa.types.is_float64(wide) or pa.types.is_decimal(wide))
    if pa.types.is_decimal(stored):
        return bool(
            pa.types.is_decimal(wide)
            and wide.scale >= stored.scale
            and wide.precision >= stored.precision
        )
    if pa.types.is_float32(stored):
        return bool(pa.types.is_float64(wide))
    return bool(pa.types.is_date32(stored) and wide == pa.timestamp("us"))
