"""What engines read by one condition when nothing is left out: the rows, or None if they refuse the comparison,
in whatever way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import duckdb
import polars as pl
import pyarrow.compute as pc
import pyarrow.dataset as pads

Condition = tuple[str, str, Any]
Rows = frozenset[int] | None

_OF_PYARROW: dict[str, Callable[[Any, Any], Any]] = {
    "==": lambda field, value: field == value,
    "=": lambda field, value: field == value,
    "!=": lambda field, value: field != value,
    "<": lambda field, value: field < value,
    "<=": lambda field, value: field <= value,
    ">": lambda field, value: field > value,
    ">=": lambda field, value: field >= value,
}
_LIST = "l.list.element"


def by_pyarrow(paths: Sequence[str], condition: Condition) -> Rows:
    column, operator, value = condition
    if column == _LIST:
        return None
    field = pc.field(*column.split("."))
    try:
        if operator in ("in", "not in"):
            found = field.isin(value)
            wanted = found if operator == "in" else ~found
        else:
            wanted = _OF_PYARROW[operator](field, value)
        table = pads.dataset(list(paths)).to_table(columns=["row"], filter=wanted)
    except Exception:
        return None
    return frozenset(table["row"].to_pylist())


def by_polars(paths: Sequence[str], condition: Condition) -> Rows:
    column, operator, value = condition
    top, _, below = column.partition(".")
    try:
        if column == _LIST:
            if operator not in ("==", "="):
                return None
            wanted = pl.col("l").list.contains(value)
        else:
            field = pl.col(top).struct.field(below) if below else pl.col(top)
            if operator in ("in", "not in"):
                wanted = field.is_in(value) if operator == "in" else ~field.is_in(value)
            else:
                wanted = _OF_PYARROW[operator](field, value)
        frames = [pl.read_parquet(path).filter(wanted)["row"].to_list() for path in paths]
    except (Exception, pl.exceptions.PanicException):
        return None
    return frozenset(row for rows in frames for row in rows)


class DuckDb:
    """In a zone that is neither UTC nor that of the values."""

    def __init__(self) -> None:
        self._connection = duckdb.connect()
        self._connection.execute("set TimeZone = 'America/New_York'")

    def __call__(self, paths: Sequence[str], condition: Condition) -> Rows:
        column, operator, value = condition
        values = value if isinstance(value, list) else [value]
        marks = ", ".join("?" * len(values))
        if column == _LIST:
            if operator not in ("==", "=", "in"):
                return None
            wanted = " or ".join("list_contains(l, ?)" for _ in values)
        elif operator in ("in", "not in"):
            wanted = f"{column} {operator} ({marks})"
        else:
            wanted = f"{column} {operator} ?"
        query = f"select row from read_parquet({list(paths)!r}) where {wanted}"
        try:
            return frozenset(row for (row,) in self._connection.execute(query, values).fetchall())
        except Exception:
            return None
