"""What the filters of an ORC file can say about a condition: integers and text are asked, which all engines compare as
they are stored."""

from __future__ import annotations

from typing import Any, Final

from parquet_bloom.container.conditions import Condition, In
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.values.given import plain_value

_ASKED: Final[dict[str, type[Any]]] = {"SHORT": int, "INT": int, "LONG": int, "STRING": str}


def askable(column: OrcColumn, condition: Condition) -> list[object] | None:
    """The values to look up; None if filters cannot tell."""
    kind = _ASKED.get(column.kind)
    if kind is None or not isinstance(condition, In):
        return None
    values = [plain_value(value) for value in condition.values]
    are_asked = all(isinstance(value, kind) and not isinstance(value, bool) for value in values)
    return values if are_asked else None
