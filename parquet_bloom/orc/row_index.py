"""The row index of one column in one stripe: where each index group starts, and its statistics.

Positions are relative to the column's streams, so moving a stream changes none of them. Minimum and
maximum are only displayed and never make a verdict `absent`; the rest of the statistics tells
whether a filter can belong to the column, and whether the group has any values.

Spec: apache/orc-format, specification/ORCv1.md "Row Group Index".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from parquet_bloom.errors import FilterError
from parquet_bloom.orc.proto import orc_pb2
from parquet_bloom.orc.tail import decode, text_of

if TYPE_CHECKING:
    from parquet_bloom.orc.columns import OrcColumn

Shown = int | float | str | None

# The text for a sum that is not a number. Readers do not consult the filter of such a group.
NAN: Final = "nan"

_UNIX_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class GroupStatistics:
    """The writer's statistics of one index group; None where it recorded nothing.

    `kind`: `int`, `double`, `string`, `bucket` (booleans), `decimal`, `date`, `binary`, `timestamp`
    or `collection` (lists and maps). `num_values`: without nulls. `min`, `max`: numbers; text,
    decimals and dates as text; timestamps in milliseconds since 1970; for lists and maps the number
    of elements. `sum`: of numbers, of the lengths of strings and bytes, of elements; for booleans
    the number that are true. Numbers that JSON cannot hold are text: `nan`, `inf`.
    """

    kind: str | None
    num_values: int | None
    has_null: bool | None
    min: Shown
    max: Shown
    sum: Shown


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One index group in the row index."""

    positions: tuple[int, ...]
    statistics: GroupStatistics | None


def read_row_index(data: bytes, num_index_groups: int, where: str) -> tuple[IndexEntry, ...]:
    """The entries of a decompressed ROW_INDEX stream, one per index group.

    Raises FooterError if it is damaged, FilterError if the number of entries is wrong.
    """
    entries = decode(orc_pb2.RowIndex, data, where).entry
    if len(entries) != num_index_groups:
        raise FilterError(f"{where}: {len(entries)} entries, expected {num_index_groups}")
    return tuple(
        IndexEntry(
            tuple(entry.positions),
            group_statistics(entry.statistics) if entry.HasField("statistics") else None,
        )
        for entry in entries
    )


def group_statistics(stored: Any) -> GroupStatistics:
    """Decoded ColumnStatistics."""
    kind = next((kind for kind in _RANGES if stored.HasField(f"{kind}Statistics")), None)
    low, high, total = _RANGES[kind](getattr(stored, f"{kind}Statistics")) if kind else _UNKNOWN
    return GroupStatistics(
        kind=kind,
        num_values=_optional(stored, "numberOfValues"),
        has_null=_optional(stored, "hasNull"),
        min=low,
        max=high,
        sum=total,
    )


def _optional(stored: Any, name: str) -> Any:
    return getattr(stored, name) if stored.HasField(name) else None


def _number(value: Any) -> Shown:
    is_plain = value is None or isinstance(value, int) or isfinite(value)
    return value if is_plain else str(value)


def _numbers(stored: Any) -> tuple[Shown, Shown, Shown]:
    return (
        _number(_optional(stored, "minimum")),
        _number(_optional(stored, "maximum")),
        _number(_optional(stored, "sum")),
    )


def _text(value: bytes | None) -> str | None:
    return None if value is None else text_of(value)


def _texts(stored: Any) -> tuple[Shown, Shown, Shown]:
    low, high = _optional(stored, "minimum"), _optional(stored, "maximum")
    return _text(low), _text(high), _optional(stored, "sum")


def _decimals(stored: Any) -> tuple[Shown, Shown, Shown]:
    low, high, total = (_optional(stored, name) for name in ("minimum", "maximum", "sum"))
    return _text(low), _text(high), _text(total)


def _day(days: int | None) -> Shown:
    if days is None:
        return None
    try:
        return (_UNIX_EPOCH + timedelta(days)).isoformat()
    except OverflowError:
        return days


def _days(stored: Any) -> tuple[Shown, Shown, Shown]:
    return _day(_optional(stored, "minimum")), _day(_optional(stored, "maximum")), None


def _moments(stored: Any) -> tuple[Shown, Shown, Shown]:
    utc = _optional(stored, "minimumUtc"), _optional(stored, "maximumUtc")
    if utc != (None, None):
        return *utc, None
    return _optional(stored, "minimum"), _optional(stored, "maximum"), None


def _collections(stored: Any) -> tuple[Shown, Shown, Shown]:
    return (
        _optional(stored, "minChildren"),
        _optional(stored, "maxChildren"),
        _optional(stored, "totalChildren"),
    )


_UNKNOWN: tuple[Shown, Shown, Shown] = (None, None, None)
_RANGES: dict[str, Callable[[Any], tuple[Shown, Shown, Shown]]] = {
    "int": _numbers,
    "double": _numbers,
    "string": _texts,
    "bucket": lambda stored: (None, None, sum(stored.count)),
    "decimal": _decimals,
    "date": _days,
    "binary": lambda stored: (None, None, _optional(stored, "sum")),
    "timestamp": _moments,
    "collection": _collections,
}

_STATISTICS_KINDS = {
    "BOOLEAN": "bucket",
    "BYTE": "int",
    "SHORT": "int",
    "INT": "int",
    "LONG": "int",
    "FLOAT": "double",
    "DOUBLE": "double",
    "STRING": "string",
    "CHAR": "string",
    "VARCHAR": "string",
    "BINARY": "binary",
    "DECIMAL": "decimal",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
    "TIMESTAMP_INSTANT": "timestamp",
    "LIST": "collection",
    "MAP": "collection",
}


def fits(statistics: GroupStatistics, column: OrcColumn) -> bool:
    """Whether the statistics can belong to this column, by their kind."""
    return statistics.kind in (None, _STATISTICS_KINDS.get(column.kind))
