"""Some values of a column as literals, for people, and for `pbloom probe -v`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from parquet_bloom.orc.columns import OrcColumn


def selected(values: Any, wanted: NDArray[np.bool_], at_most: int) -> Any:
    """The first distinct ones of the `wanted` values, an Arrow array."""
    return values.filter(pa.array(wanted)).unique()[:at_most]


def literals(column: OrcColumn, values: Any) -> tuple[str, ...]:
    """Each value of an Arrow array without nulls; `0x…` for bytes that are no text."""
    return tuple(_literal(column, value) for value in values)


def _literal(column: OrcColumn, value: Any) -> str:
    if column.kind not in ("STRING", "VARCHAR", "CHAR", "BINARY"):
        return str(value.cast(pa.string()).as_py())
    stored = value.as_buffer().to_pybytes()
    if column.kind == "CHAR":
        stored = stored.rstrip(b" ")
    try:
        text = stored.decode()
    except UnicodeDecodeError:
        return f"0x{stored.hex()}"
    return text if text.isprintable() and text else f"0x{stored.hex()}"
