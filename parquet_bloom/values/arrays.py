"""Conversion of numpy scalars and pyarrow arrays into values that encode() takes.

Both can hold what Python's datetime cannot: nanoseconds, and years beyond 9999.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from parquet_bloom.values.temporal import Days, TimeNanos, TimestampNanos

_UNITS_PER_SECOND = {
    "s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9, "ps": 10**12, "fs": 10**15, "as": 10**18,
}  # fmt: skip
_SECONDS = {"s": 1, "m": 60, "h": 3600, "D": 86_400, "W": 604_800}
_SECONDS_PER_DAY = 86_400


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
        return Days(count * _SECONDS[unit] // _SECONDS_PER_DAY, str(value))
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
    if kind.startswith("timestamp"):
        zoned = array.type.tz is not None
        return [
            None if n is None else TimestampNanos(n * factor, f"{n} {kind}", zoned) for n in numbers
        ]
    return [None if n is None else TimeNanos(n * factor, f"{n} {kind}") for n in numbers]
