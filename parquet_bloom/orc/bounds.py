"""Which index groups may have rows that fulfil a condition, by minimum and maximum in the row index.

A group is excluded only by what no engine reads otherwise:

| type             | values                              | bounds count                                        |
|------------------|-------------------------------------|-----------------------------------------------------|
| BYTE … LONG      | int                                 | always                                              |
| FLOAT, DOUBLE    | int, float that the type has exactly| if the sum, which NaN would make NaN, is finite     |
| STRING           | str                                 | if they are whole: long ones are cut by some writers|
| DATE             | date from 1582-10-15 on             | from then on: earlier ones are of two calendars     |
| others           | none: time zones of writers and readers, blanks, and a defect before ORC-517         |

Bounds of other writers than ORC's own, and of Java before HIVE-8732, count for nothing.

Sources: orc-core, OrcFile.WriterVersion, ColumnStatisticsImpl; ORC C++, Statistics.hh.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Callable
from datetime import date, datetime
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from parquet_bloom.container.conditions import Compared, Condition, In
from parquet_bloom.orc.keys import SPARK_TYPE
from parquet_bloom.orc.row_index import fits
from parquet_bloom.orc.writers import CPP, HIVE_8732, JAVA
from parquet_bloom.values.given import plain_value

if TYPE_CHECKING:
    from parquet_bloom.orc.columns import OrcColumn
    from parquet_bloom.orc.row_index import GroupStatistics, StatisticValue
    from parquet_bloom.orc.writers import Generation

# Whether a group with these statistics may have such rows.
MayHold: TypeAlias = "Callable[[GroupStatistics | None], bool]"

_GREGORIAN: Final = date(1582, 10, 15)


def may_hold(generation: Generation, column: OrcColumn, condition: Condition) -> MayHold | None:
    """None if statistics cannot tell."""
    is_trusted = generation.writer == CPP or (
        generation.writer == JAVA and generation.version >= HIVE_8732
    )
    if not is_trusted or SPARK_TYPE in column.attributes:
        return None
    if column.kind not in condition.tests:
        condition.tests[column.kind] = _reaches(column.kind, condition)
    reaches = condition.tests[column.kind]
    if reaches is None:
        return None

    def holds(statistics: GroupStatistics | None) -> bool:
        if statistics is None or not fits(statistics, column):
            return True
        if statistics.num_values == 0:
            return False
        if column.kind in ("FLOAT", "DOUBLE") and not _is_finite(statistics.sum):
            return True
        low, high = (_bound(column.kind, each) for each in (statistics.min, statistics.max))
        return low is None or high is None or low > high or bool(reaches(low, high))

    return holds


def _reaches(kind: str, condition: Condition) -> Callable[[Any, Any], bool] | None:
    """Whether values of the condition are within bounds."""
    values = condition.values if isinstance(condition, In) else [condition.value]
    keys = [_key(kind, plain_value(value)) for value in values]
    if not keys or any(key is None for key in keys):
        return None
    if isinstance(condition, Compared):
        (key,) = keys
        return {
            "<": lambda low, high: low < key,
            "<=": lambda low, high: low <= key,
            ">": lambda low, high: high > key,
            ">=": lambda low, high: high >= key,
        }[condition.operator]
    keys.sort()

    def is_among(low: Any, high: Any) -> bool:
        at = bisect_left(keys, low)
        return at < len(keys) and keys[at] <= high

    return is_among


def _key(kind: str, value: Any) -> Any:
    """The place of a value in the order of a type; None if engines compare it in different ways."""
    match kind:
        case "BYTE" | "SHORT" | "INT" | "LONG":
            return value if isinstance(value, int) and not isinstance(value, bool) else None
        case "FLOAT" | "DOUBLE":
            return value if _is_exact(kind, value) else None
        case "STRING":
            return _text(value)
        case "DATE" if isinstance(value, date) and not isinstance(value, datetime):
            return value if value >= _GREGORIAN else None
    return None


def _bound(kind: str, stored: StatisticValue) -> Any:
    """The same for what statistics say; None if it does not count."""
    match kind:
        case "STRING":
            # What is no text is shown with backslashes.
            return _text(stored) if "\\" not in str(stored) else None
        case "DATE":
            try:
                return _key(kind, date.fromisoformat(str(stored)))
            except ValueError:
                return None
    return stored if _is_finite(stored) else None


def _is_finite(stored: StatisticValue) -> bool:
    return isinstance(stored, int | float) and isfinite(stored)


def _is_exact(kind: str, value: object) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    form = "<f" if kind == "FLOAT" else "<d"
    try:
        (kept,) = struct.unpack(form, struct.pack(form, value))
    except (OverflowError, struct.error):
        return False
    return isfinite(kept) and bool(kept == value)


def _text(value: object) -> bytes | None:
    if not isinstance(value, str):
        return None
    try:
        return value.encode()
    except UnicodeEncodeError:
        return None
