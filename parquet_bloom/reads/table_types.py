"""The types that tables have for columns, as pyarrow has them; and rows of files that are older than a wider one.

Spec: Delta Lake, PROTOCOL.md, "Primitive Types", "Type Widening"; Iceberg Table Spec, "Schema Evolution".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import pyarrow as pa

# By what Delta Lake calls them.
PRIMITIVE: Final = {
    "string": pa.string(), "long": pa.int64(), "integer": pa.int32(), "short": pa.int16(), "byte": pa.int8(),
    "float": pa.float32(), "double": pa.float64(), "boolean": pa.bool_(), "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"), "timestamp_ntz": pa.timestamp("us"),
}  # fmt: skip
_DECIMAL: Final = re.compile(r"decimal\((\d+),(\d+)\)")
# What is in lists and maps, as the tables of Delta Lake and of Iceberg have it.
_IN_LISTS: Final = ("list.element", "element")
_KEYS: Final = ("key_value.key", "key")
_VALUES: Final = ("key_value.value", "value")


def arrow_type(kind: str) -> pa.DataType | None:
    """None for one that is none of these. Raises ValueError for a DECIMAL of too many digits."""
    of_decimals = _DECIMAL.fullmatch(kind)
    return pa.decimal128(*map(int, of_decimals.groups())) if of_decimals else PRIMITIVE.get(kind)


def widened(stored: pa.Schema, kinds: Mapping[str, str]) -> pa.Schema:
    """The columns of a file, of the types that its table has given them since. `kinds`: of leaves, see TableColumns."""
    fields = [field.with_type(_wide(field.type, (field.name,), kinds)) for field in stored]
    return pa.schema(fields, stored.metadata)


def _wide(stored: pa.DataType, names: tuple[str, ...], kinds: Mapping[str, str]) -> pa.DataType:
    """`names`: those that the table may have for it."""
    if pa.types.is_struct(stored):
        return pa.struct([_field(field, _in(names, (field.name,)), kinds) for field in stored])
    if pa.types.is_list(stored):
        return pa.list_(_field(stored.value_field, _in(names, _IN_LISTS), kinds))
    if pa.types.is_large_list(stored):
        return pa.large_list(_field(stored.value_field, _in(names, _IN_LISTS), kinds))
    if pa.types.is_map(stored):
        key = _field(stored.key_field, _in(names, _KEYS), kinds)
        return pa.map_(key, _field(stored.item_field, _in(names, _VALUES), kinds))
    wide = arrow_type(next((kinds[name] for name in names if name in kinds), ""))
    return wide if wide is not None and _is_wider(stored, wide) else stored


def _field(field: pa.Field, names: tuple[str, ...], kinds: Mapping[str, str]) -> pa.Field:
    return field.with_type(_wide(field.type, names, kinds))


def _in(names: tuple[str, ...], inner: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{name}.{each}" for name in names for each in inner)


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
