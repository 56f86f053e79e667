"""The row index of one column in one stripe: where each index group starts, and its statistics.

Positions are relative to the column's streams, so moving a stream changes none of them. Minimum and
maximum are displayed and spare reads, see `bounds`, and never make a verdict `absent`. The other statistics tell
whether a filter can belong to the column, and whether the group has any values.

Spec: apache/orc-format, specification/ORCv1.md "Row Group Index".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from math import isfinite
from typing import Any, Final

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import FilterError
from parquet_bloom.orc.columns import STATISTICS, OrcColumn
from parquet_bloom.orc.proto import orc_pb2
from parquet_bloom.orc.tail import decode
from parquet_bloom.orc.wire import Message, decode_text

StatisticValue = int | float | str | None

_NAN: Final = "nan"

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
    min: StatisticValue
    max: StatisticValue
    sum: StatisticValue

    @property
    def is_filter_ignored(self) -> bool:
        """Whether the sum is no number, as that of values with a NaN:
        readers do not consult the filter of such a group."""
        return self.sum == _NAN


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One index group in the row index."""

    positions: tuple[int, ...]
    statistics: GroupStatistics | None


def num_ignored(entries: Iterable[IndexEntry]) -> int:
    """Of how many index groups readers do not consult the filter, by their statistics."""
    return sum(
        each.statistics is not None and each.statistics.is_filter_ignored for each in entries
    )


def read_row_index(data: bytes, num_index_groups: int, where: str) -> tuple[IndexEntry, ...]:
    """The entries of a decompressed ROW_INDEX stream, one per index group.

    Raises FooterError if it is damaged, FilterError if the number of entries is wrong.
    """
    return tuple(
        IndexEntry(
            tuple(entry.positions),
            _group_statistics(entry.statistics) if entry.HasField("statistics") else None,
        )
        for entry in _entries(data, num_index_groups, where)
    )


def read_statistics(data: bytes, num_index_groups: int, where: str) -> list[Message | None]:
    """The ColumnStatistics in it as they are stored; None where there are none. Raises as read_row_index."""
    return [
        entry.statistics if entry.HasField("statistics") else None
        for entry in _entries(data, num_index_groups, where)
    ]


def _entries(data: bytes, num_index_groups: int, where: str) -> Sequence[Message]:
    entries: Sequence[Message] = decode(orc_pb2.RowIndex, data, where).entry
    if len(entries) != num_index_groups:
        raise FilterError(f"{where}: {len(entries)} entries, expected {num_index_groups}")
    return entries


def _group_statistics(stored: Message) -> GroupStatistics:
    kind = next((kind for kind in _FIELDS if stored.HasField(f"{kind}Statistics")), None)
    low, high, total = _shown(kind, getattr(stored, f"{kind}Statistics")) if kind else (None,) * 3
    return GroupStatistics(
        kind=kind,
        num_values=_optional(stored, "numberOfValues"),
        has_null=_optional(stored, "hasNull"),
        min=low,
        max=high,
        sum=total,
    )


_USUAL = ("minimum", "maximum", "sum")
_RANGE = ("minimum", "maximum", "")
# Kinds of statistics: the fields with minimum, maximum and sum.
_FIELDS: dict[str, Sequence[str]] = {
    "int": _USUAL,
    "double": _USUAL,
    "string": _USUAL,
    "bucket": ("", "", "count"),
    "decimal": _USUAL,
    "date": _RANGE,
    "binary": ("", "", "sum"),
    "timestamp": _RANGE,
    "collection": ("minChildren", "maxChildren", "totalChildren"),
}


def fits(statistics: GroupStatistics, column: OrcColumn) -> bool:
    """Whether statistics of this kind can belong to the column."""
    return statistics.kind is None or STATISTICS.get(column.kind) == statistics.kind


def _shown(kind: str, stored: Message) -> Iterable[StatisticValue]:
    """Minimum, maximum and sum."""
    if kind == "bucket":
        return None, None, sum(stored.count)
    names = _FIELDS[kind]
    if kind == "timestamp" and (stored.HasField("minimumUtc") or stored.HasField("maximumUtc")):
        names = ("minimumUtc", "maximumUtc", "")
    values = (_optional(stored, name) if name else None for name in names)
    return map(_day if kind == "date" else _plain, values)


def _optional(stored: Message, name: str) -> Any:
    return getattr(stored, name) if stored.HasField(name) else None


def _plain(value: float | bytes | None) -> StatisticValue:
    match value:
        case bytes():
            return decode_text(value)
        case float() if not isfinite(value):
            return str(value)
        case _:
            return value


def _day(days: int | None) -> StatisticValue:
    if days is None:
        return None
    try:
        return (_UNIX_EPOCH + timedelta(days)).isoformat()
    except OverflowError:
        return days
