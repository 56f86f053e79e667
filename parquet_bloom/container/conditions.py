"""What a row must fulfil to be read, as far as a file can be asked about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from parquet_bloom.native.lazy import Array

Operator: TypeAlias = Literal["<", "<=", ">", ">="]
OPERATORS: Final[tuple[Operator, ...]] = ("<", "<=", ">", ">=")


class In:
    """`column` is one of `values`, none of which is null."""

    __slots__ = ("column", "tests", "values")

    def __init__(self, column: str, values: Sequence[Any] | Array) -> None:
        self.column, self.values = column, values
        # What that means for a type of the column, kept for the next file by the format that knows.
        self.tests: dict[Any, Any] = {}

    def __repr__(self) -> str:
        return f"In({self.column!r}, {list(self.values)!r})"


class Compared:
    """`column` is less or greater than `value`, which is not null."""

    __slots__ = ("column", "operator", "tests", "value")

    def __init__(self, column: str, operator: Operator, value: Any) -> None:
        self.column, self.operator, self.value = column, operator, value
        self.tests: dict[Any, Any] = {}

    def __repr__(self) -> str:
        return f"Compared({self.column!r}, {self.operator!r}, {self.value!r})"


Condition: TypeAlias = In | Compared


class PartsLeft(NamedTuple):
    """Of parts of a file, those that statistics leave, by min/max or only nulls, and those of these that filters
    leave, too. `by_chance`: of each part that statistics leave and whose filters have been asked, how likely they
    were to leave it if it held none of the values; not of those where too little of a filter was read to tell.
    `without_filter`: those that are left and have no filter that could be asked, but several values, as far as
    statistics tell. `is_decidable`: whether files can be asked at all about such values of the column's type."""

    within: Sequence[int]
    left: Sequence[int]
    by_chance: Sequence[float] = ()
    without_filter: Sequence[int] = ()
    is_decidable: bool = True
