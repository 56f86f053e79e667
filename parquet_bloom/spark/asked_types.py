"""Whether an indexed column can hold what a column of a DataFrame has: its type tells,
before executors meet a value."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import partial
from typing import Any, Final

from pyspark.sql.types import StructField

from parquet_bloom.container.asked_once import those_held
from parquet_bloom.errors import ValueTypeError
from parquet_bloom.index.kinds import asked_hashes, width_of
from parquet_bloom.index.manifest import Manifest

# Of each of Spark's types, a value that a column holds if it holds any; those of text and bytes may have a length.
_WHOLE: Final = {
    **dict.fromkeys(("byte", "short", "integer", "long"), 0),
    **dict.fromkeys(("float", "double"), 0.0),
    "decimal": Decimal(0),
    "boolean": True,
    "date": date(1970, 1, 1),
    "timestamp": datetime(1970, 1, 1, tzinfo=UTC),
    "timestamp_ntz": datetime(1970, 1, 1),
    "time": time(0),
    # Nulls are not asked for.
    "void": None,
}
_TEXTS: Final = ("string", "varchar", "char")
_UUID: Final = "00000000-0000-0000-0000-000000000000"

# What to cast to: the first whose value a column holds, which is one that no wider type is needed for; else to bytes.
_CASTS: Final = (
    ("string", ""),
    ("timestamp", _WHOLE["timestamp"]),
    ("timestamp_ntz", _WHOLE["timestamp_ntz"]),
    ("date", _WHOLE["date"]),
    ("time", _WHOLE["time"]),
    ("double", 0.5),
    ("decimal(38, 18)", Decimal("0.1")),
    ("bigint", 0),
    ("string", _UUID),
)


def check_type(path: str, index: Manifest, column: str, given: StructField) -> None:
    """Raise ValueTypeError, which names a cast, if the column can hold no value of this type in any file of an
    index."""
    kinds = {
        each.kind
        for each in index.segments
        # Of the others nothing is known, or there is no value.
        if each.column == column and each.is_alive and (each.map or each.slices)
    }
    name = given.dataType.typeName()
    if not kinds or any(_holds(kind, _values_of(name, width_of(kind))) for kind in kinds):
        return
    casts = (cast for cast, value in _CASTS if any(_holds(kind, [value]) for kind in kinds))
    cast = next(casts, "binary")
    raise ValueTypeError(
        f"{path}: column {column}: values of type {given.dataType.simpleString()}, expected {cast}:"
        f' values.select(values["{given.name}"].cast("{cast}"))'
    )


def _values_of(type: str, width: int) -> Sequence[Any]:
    if type in _TEXTS:
        return ["", "0" * width, _UUID]
    if type == "binary":
        return [b"", bytes(width)]
    # Lists, maps and what else no column holds.
    return [_WHOLE.get(type, [])]


def _holds(kind: str, values: Sequence[Any]) -> bool:
    return bool(those_held(partial(asked_hashes, kind), values))
