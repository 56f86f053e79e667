"""Values of pyarrow as JSON has them, which has fewer types: nothing is rounded, and nothing changes its meaning.

numbers, booleans, null     as they are; NaN, Infinity and -Infinity as text
decimals                    text: 1234.50
dates, times                text: 2026-11-20, 12:00:00.123456, 2026-11-20T12:00:00.123456789Z (Z: of UTC)
durations                   a number, of the type's unit
text; bytes                 text; text in hexadecimal: 0x1f8b
lists; structs; maps        arrays; objects; arrays of objects with key and value
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite, isnan
from typing import Any

import pyarrow as pa


def json_rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    """The values of each row, by the names of the columns."""
    columns = [
        [value for chunk in column.chunks for value in json_values(chunk)]
        for column in table.columns
    ]
    for values in zip(*columns, strict=True):
        yield dict(zip(table.column_names, values, strict=True))


def json_values(array: pa.Array) -> list[Any]:
    kind = array.type
    if isinstance(array, pa.ExtensionArray):
        return json_values(array.storage)
    if isinstance(array, pa.DictionaryArray):
        return json_values(array.dictionary_decode())
    if isinstance(array, pa.StructArray):
        return _objects(array)
    if pa.types.is_nested(kind):
        # Of a map, its entries.
        return [json_values(each.values) if each.is_valid else None for each in array]
    if pa.types.is_timestamp(kind):
        return _times(array if kind.tz is None else array.cast(pa.timestamp(kind.unit, "UTC")))
    if pa.types.is_temporal(kind):
        is_duration = pa.types.is_duration(kind)
        return list(array.cast(pa.int64() if is_duration else pa.string()).to_pylist())
    if pa.types.is_floating(kind):
        return [_number(value) for value in array.to_pylist()]
    if pa.types.is_decimal(kind):
        return [None if value is None else f"{value:f}" for value in array.to_pylist()]
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return _texts(array)
    values: list[Any] = array.to_pylist()
    return [f"0x{value.hex()}" if isinstance(value, bytes) else value for value in values]


def _objects(array: pa.StructArray) -> list[Any]:
    names = [field.name for field in array.type]
    columns = [json_values(each) for each in array.flatten()]
    known = array.is_valid().to_pylist()
    return [
        {name: column[at] for name, column in zip(names, columns, strict=True)} if there else None
        for at, there in enumerate(known)
    ]


def _times(array: pa.Array) -> list[str | None]:
    texts = array.cast(pa.string()).to_pylist()
    return [None if text is None else text.replace(" ", "T") for text in texts]


def _number(value: float | None) -> float | str | None:
    if value is None or isfinite(value):
        return value
    return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _texts(array: pa.Array) -> list[str | None]:
    """What is not UTF-8, as Python has it in paths."""
    stored = array.cast(pa.large_binary()).to_pylist()
    return [None if each is None else each.decode(errors="surrogateescape") for each in stored]
