"""The row index of one column in one stripe: where each index group starts, and its statistics.

Positions say where in each stream of the column the group starts, relative to the stream, so that
moving streams changes none of them. Statistics are shown and never make a verdict `absent` by what
is smallest or largest; they tell whether the filter can be that of the column, and whether the
group has values at all.

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

# How a sum is shown that is none: readers do not ask the filter of such a group.
NAN: Final = "nan"

_UNIX_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class GroupStatistics:
    """What the writer noted of one index group; None is what it did not.

    `kind`: of which values: `int`, `double`, `string`, `bucket` (booleans), `decimal`, `date`,
    `binary`, `timestamp`, `collection` (lists and maps). `num_values`: nulls not counted. `min`, `max`: numbers; text, decimals and dates as text; moments
    in milliseconds since 1970-01-01; of lists and maps the number of elements. `sum`: of numbers, of
    the lengths of text and bytes, of elements; of booleans how many are true. What JSON has no
    number for is text: `nan`, `inf`.
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
    """The entries of an expanded ROW_INDEX stream, one per index group.

    Raises FooterError if it is damaged, FilterError if it has another number of entries.
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
    """ColumnStatistics as they are shown."""
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

_OF_COLUMNS = {
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
    """Whether the statistics can be of this column: those of another kind belong to another."""
    return statistics.kind in (None, _OF_COLUMNS.get(column.kind))
