"""Which index groups may have rows that fulfil a condition, or hold one of several values,
by minimum and maximum in the row index.

A group is excluded only by what no engine reads otherwise:

| type             | values                              | bounds count                                        |
|------------------|-------------------------------------|-----------------------------------------------------|
| BYTE … LONG      | int                                 | always                                              |
| FLOAT, DOUBLE    | int, float that the type has exactly| if the sum, which NaN would make NaN, is finite;    |
|                  |                                     | of FLOAT, rounded as the values are by ORC C++      |
| STRING           | str                                 | if they are text, and whole: some writers cut long ones; |
|                  |                                     | not with NUL, where ORC C++ compares no further     |
| DATE             | date from 1582-10-15 on             | from then on: earlier ones are of two calendars     |
| others           | none: time zones of writers and readers, blanks, and a defect before ORC-517         |

Bounds of other writers than ORC's own, and of Java before HIVE-8732, count for nothing.

Sources: orc-core, OrcFile.WriterVersion, ColumnStatisticsImpl; ORC C++, Statistics.hh.
"""

from __future__ import annotations

import operator
import struct
from bisect import bisect_left
from collections.abc import Callable
from datetime import date, datetime, timedelta
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from parquet_bloom.container.conditions import Condition, In
from parquet_bloom.errors import UnsupportedError, ValueTypeError
from parquet_bloom.orc.keys import SPARK_TYPE
from parquet_bloom.orc.row_index import fits
from parquet_bloom.orc.writers import CPP, HIVE_8732, JAVA
from parquet_bloom.values.given import plain_value

if TYPE_CHECKING:
    from parquet_bloom.orc.columns import OrcColumn
    from parquet_bloom.orc.keys import AskedValues
    from parquet_bloom.orc.row_index import GroupStatistics, StatisticValue
    from parquet_bloom.orc.writers import Generation

# Whether a group with these statistics may have such rows.
MayHold: TypeAlias = "Callable[[GroupStatistics | None], bool]"
# Whether one with these bounds may.
Reaches: TypeAlias = "Callable[[Any, Any], bool]"

_UNIX_EPOCH: Final = date(1970, 1, 1)
_GREGORIAN: Final = date(1582, 10, 15)


def may_hold(generation: Generation, column: OrcColumn, condition: Condition) -> MayHold | None:
    """None if statistics cannot tell."""
    if column.kind not in condition.tests:
        condition.tests[column.kind] = _reaches(column.kind, condition)
    return _by_statistics(generation, column, condition.tests[column.kind], of_nulls=False)


def may_hold_several(generation: Generation, column: OrcColumn) -> MayHold | None:
    """Whether a group may have several values."""
    return _by_statistics(generation, column, operator.lt, of_nulls=False)


def may_hold_any(generation: Generation, column: OrcColumn, asked: AskedValues) -> MayHold | None:
    """The same for values that are looked for as they are stored, and in a group of nulls if that is what it is:
    there the streams can tell."""
    if column.kind not in asked.tests:
        asked.tests[column.kind] = _reaches_any(column.kind, asked)
    return _by_statistics(generation, column, asked.tests[column.kind], of_nulls=True)


def _by_statistics(
    generation: Generation, column: OrcColumn, reaches: Reaches | None, *, of_nulls: bool
) -> MayHold | None:
    """`of_nulls`: what is said of a group without values."""
    is_trusted = generation.writer == CPP or (
        generation.writer == JAVA and generation.version >= HIVE_8732
    )
    if not is_trusted or SPARK_TYPE in column.attributes or reaches is None:
        return None

    def holds(statistics: GroupStatistics | None) -> bool:
        if statistics is None or not fits(statistics, column):
            return True
        if statistics.num_values == 0:
            return of_nulls
        if column.kind in ("FLOAT", "DOUBLE") and not _is_finite(statistics.sum):
            return True
        low, high = (_bound(column.kind, each) for each in (statistics.min, statistics.max))
        return low is None or high is None or low > high or reaches(low, high)

    return holds


def _reaches(kind: str, condition: Condition) -> Reaches | None:
    """Whether values of the condition are within bounds."""
    if isinstance(condition, In):
        return _among([_key(kind, plain_value(value)) for value in condition.values])
    key = _key(kind, plain_value(condition.value))
    if key is None:
        return None
    reaches: dict[str, Reaches] = {
        "<": lambda low, high: low < key,
        "<=": lambda low, high: low <= key,
        ">": lambda low, high: high > key,
        ">=": lambda low, high: high >= key,
    }
    return reaches[condition.operator]


def _reaches_any(kind: str, asked: AskedValues) -> Reaches | None:
    """Whether stored values are within bounds."""
    try:
        stored, _ = asked.to_compare()
    except (UnsupportedError, ValueTypeError):
        return None
    return _among([_key(kind, _value(kind, each)) for each in stored.tolist()])


def _among(keys: list[Any]) -> Reaches | None:
    """Whether one of these is within bounds."""
    if not keys or any(key is None for key in keys):
        return None
    keys.sort()

    def is_among(low: Any, high: Any) -> bool:
        at = bisect_left(keys, low)
        return at < len(keys) and bool(keys[at] <= high)

    return is_among


def _value(kind: str, stored: Any) -> object:
    """A stored value as conditions have it; None if it has no place in the order."""
    try:
        match kind:
            case "STRING":
                return stored.decode()
            case "DATE":
                return _UNIX_EPOCH + timedelta(stored)
    except (OverflowError, UnicodeDecodeError):
        return None
    return stored


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
            # What is no text is shown with backslashes; ORC Java writes U+FFFD in its place. ORC C++ compares texts
            # up to a NUL that both have.
            is_whole = not {"\\", "\ufffd", "\0"} & {*str(stored)}
            return _text(stored) if is_whole else None
        case "DATE":
            try:
                return _key(kind, date.fromisoformat(str(stored)))
            except ValueError:
                return None
    if kind == "FLOAT":
        return _nearest_float(stored)
    return stored if _is_finite(stored) else None


def _nearest_float(stored: StatisticValue) -> float | None:
    """ORC C++ takes bounds from the doubles that it is given, and stores the FLOATs nearest to these, which may be
    outside; but not outside the bounds once these are rounded, too."""
    if not isinstance(stored, int | float):
        return None
    try:
        (nearest,) = struct.unpack("<f", struct.pack("<f", stored))
    except OverflowError:
        return None
    return float(nearest) if isfinite(nearest) else None


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
