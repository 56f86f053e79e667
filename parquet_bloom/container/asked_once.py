"""Values that are asked of file after file: read and hashed once, as the files of a table have the same columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

ColumnType = TypeVar("ColumnType")
Asked = TypeVar("Asked")

# The latest are kept until others are asked: at most some 20 MB of them.
MOST_KEPT: Final = 100_000


class AskedOnce(Generic[ColumnType, Asked]):
    """What `make` makes of values for a column, kept for the next file if its column is equal and these are the
    same values, in a tuple: others could have changed."""

    def __init__(self, make: Callable[[ColumnType, Any], Asked]) -> None:
        self._make = make
        self._latest: tuple[ColumnType, object, Asked] | None = None

    def __call__(self, column: ColumnType, values: Any) -> Asked:
        """Raises ValueTypeError for what the column cannot hold."""
        latest = self._latest
        if latest is not None and latest[1] is values and latest[0] == column:
            return latest[2]
        asked = self._make(column, values)
        if isinstance(values, tuple) and len(values) <= MOST_KEPT:
            self._latest = column, values, asked
        return asked
