"""Conversion of numpy scalars and pyarrow arrays into values that encode() takes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from parquet_bloom.values.types import Days, Exact, TimeNanos, TimestampNanos

_PREFIXED = ("s", "ms", "us", "ns", "ps", "fs", "as")
_UNITS_PER_SECOND = {unit: 1000**power for power, unit in enumerate(_PREFIXED)}
_SECONDS = {"s": 1, "m": 60, "h": 3600, "D": 86_400, "W": 604_800}


def from_numpy(value: Any) -> Any:
    """A numpy scalar as a value that encode() takes; never rounded."""
    if isinstance(value, np.datetime64):
        return _from_datetime64(value)
    if isinstance(value, np.generic) and not isinstance(value, np.timedelta64):
        return value.item()
    return value


def _from_datetime64(value: np.datetime64) -> Days | TimestampNanos | np.datetime64 | None:
    """None for NaT; the value itself if it is not a whole number of nanoseconds."""
    if np.isnat(value):
        return None
    unit, step = np.datetime_data(value.dtype)
    if unit in ("Y", "M"):
        unit, step, value = "D", 1, value.astype("datetime64[D]")
    count = int(value.astype(np.int64)) * step
    if unit in ("D", "W"):
        return Days(count * _SECONDS[unit] // _SECONDS["D"], str(value))
    if unit in _SECONDS:
        return TimestampNanos(count * _SECONDS[unit] * 10**9, str(value))
    nanos, rest = divmod(count * 10**9, _UNITS_PER_SECOND[unit])
    return value if rest else TimestampNanos(nanos, str(value))


def from_arrow(array: Any) -> list[Any]:
    """A pyarrow array as values that encode() takes; None stays None."""
    kind = str(array.type)
    if kind.startswith("dictionary"):
        return from_arrow(array.cast(array.type.value_type))
    if not kind.startswith("time"):
        values: list[Any] = array.to_pylist()
        return values
    factor = 10**9 // _UNITS_PER_SECOND[array.type.unit]
    numbers = array.cast("int32" if kind.startswith("time32") else "int64").to_pylist()
    exact: Callable[[int, str], Exact] = TimeNanos
    if kind.startswith("timestamp"):
        exact = partial(TimestampNanos, zoned=array.type.tz is not None)
    return [None if n is None else exact(n * factor, f"{n} {kind}") for n in numbers]
