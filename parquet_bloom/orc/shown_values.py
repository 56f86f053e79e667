"""A few values of a column as literals, to be shown and for `pbloom probe -v`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from parquet_bloom.orc.columns import OrcColumn


def selected(values: Any, wanted: NDArray[np.bool_], at_most: int) -> Any:
    """The first distinct values among the `wanted` ones of an Arrow array."""
    return values.filter(pa.array(wanted)).unique()[:at_most]


def literals(column: OrcColumn, values: Any) -> tuple[str, ...]:
    """The values of an Arrow array without nulls; bytes that are not text as `0x…`."""
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
