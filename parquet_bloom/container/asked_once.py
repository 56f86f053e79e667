"""Values that are asked of file after file: read and hashed once, as the files of a table have the same columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeVar

from parquet_bloom.errors import ValueTypeError
from parquet_bloom.native.lazy import Array

ColumnType = TypeVar("ColumnType")
Asked = TypeVar("Asked")
Known = TypeVar("Known")

# The latest are kept until others are asked: at most some 20 MB of them.
MOST_KEPT: Final = 100_000

# Into which values are divided among which some cannot be held: few steps lead to one, and of many of these, each
# takes little more than a call.
_PARTS: Final = 16
# So many are tried one by one: smaller parts would cost more calls than they spare.
_FEW: Final = 4 * _PARTS


def those_held(make: Callable[[Any], object], values: Sequence[Any] | Array) -> list[int]:
    """The positions of values of which `make` makes something, where it raises ValueTypeError for others."""
    problems = those_not_held(make, values)
    return [at for at in range(len(values)) if at not in problems]


def those_not_held(make: Callable[[Any], object], values: Sequence[Any] | Array) -> dict[int, str]:
    """By the positions of the others, ascending, why not: all that are side by side are tried at once, as those that
    can be held mostly are many, or none."""
    problems: dict[int, str] = {}
    ranges = [(0, len(values))]
    while ranges:
        start, end = ranges.pop()
        try:
            make(values[start:end])
        except ValueTypeError as error:
            size = -(-(end - start) // _PARTS) if end - start > _FEW else 1
            if end - start > 1:
                ranges += [(at, min(at + size, end)) for at in range(start, end, size)][::-1]
            else:
                # The error itself would keep all that was on the stack, by those that it came of.
                problems[start] = str(error)
    return problems


class Latest(Generic[ColumnType, Known]):
    """What is known of the values that were asked last, for the next file if its column is equal and these are the
    same values, in a tuple: others could have changed."""

    def __init__(self) -> None:
        self._latest: tuple[ColumnType, object, Known] | None = None

    def of(self, column: ColumnType, values: object) -> Known | None:
        latest = self._latest
        if latest is not None and latest[1] is values and latest[0] == column:
            return latest[2]
        return None

    def keep(self, column: ColumnType, values: object, known: Known) -> None:
        if isinstance(values, tuple) and len(values) <= MOST_KEPT:
            self._latest = column, values, known


class AskedOnce(Generic[ColumnType, Asked]):
    """What `make` makes of values for a column, or why it makes nothing of them, kept as the Latest."""

    def __init__(self, make: Callable[[ColumnType, Any], Asked]) -> None:
        self._make = make
        self._latest: Latest[ColumnType, Asked | ValueTypeError] = Latest()

    def __call__(self, column: ColumnType, values: Any) -> Asked:
        """Raises ValueTypeError for what the column cannot hold."""
        asked = self._known(column, values)
        if isinstance(asked, ValueTypeError):
            # Another one, as each keeps where it was raised.
            raise ValueTypeError(str(asked))
        return asked

    def _known(self, column: ColumnType, values: Any) -> Asked | ValueTypeError:
        known = self._latest.of(column, values)
        if known is not None:
            return known
        asked: Asked | ValueTypeError
        try:
            asked = self._make(column, values)
        except ValueTypeError as error:
            asked = error.with_traceback(None)
        self._latest.keep(column, values, asked)
        return asked
