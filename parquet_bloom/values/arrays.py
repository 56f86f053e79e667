"""Conversion of numpy and pyarrow values into values that encode() takes."""

from __future__ import annotations

from collections.abc import Callable
from math import isinf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.values.types import Days, Exact, TimeNanos, TimestampNanos

_PREFIXED = ("s", "ms", "us", "ns", "ps", "fs", "as")
_UNITS_PER_SECOND = {unit: 1000**power for power, unit in enumerate(_PREFIXED)}
_SECONDS = {"s": 1, "m": 60, "h": 3600, "D": 86_400, "W": 604_800}


def from_numpy(value: Any) -> Any:
    """A numpy scalar as a value that encode() takes; never rounded."""
    if isinstance(value, np.datetime64):
        return _from_datetime64(value)
    if isinstance(value, np.generic) and not isinstance(value, np.timedelta64):
        return _from_longdouble(value) if isinstance(value, np.longdouble) else value.item()
    return value


def _from_longdouble(value: np.longdouble) -> float | int:
    """The nearest float; an integer where that would be infinite, and the value is not."""
    number = float(value)
    return int(value) if isinf(number) and not np.isinf(value) else number


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


def from_array(values: Any) -> list[Any] | NDArray[Any]:
    """A numpy array of one dimension, with None where it is masked; the value of one without."""
    array = values if isinstance(values, np.ndarray) else np.asarray(values)
    if array.ndim == 0:
        return [array[()]]
    if isinstance(array, np.ma.MaskedArray):
        masked = np.ma.getmaskarray(array)
        return [None if gap else item for item, gap in zip(array.data, masked, strict=True)]
    return array if array.ndim == 1 else list(array)


def from_arrow(array: Any) -> list[Any]:
    """A pyarrow array as values that encode() takes; None stays None."""
    if str(array.type).startswith("dictionary"):
        return from_arrow(array.cast(array.type.value_type))
    width, exact = _exact(array.type)
    if exact is None:
        values: list[Any] = array.to_pylist()
        return values
    return [None if number is None else exact(number) for number in array.cast(width).to_pylist()]


def from_arrow_scalar(scalar: Any) -> Any:
    """The same for one value."""
    if str(scalar.type).startswith("dictionary"):
        return from_arrow_scalar(scalar.value)
    width, exact = _exact(scalar.type)
    if exact is None or not scalar.is_valid:
        return scalar.as_py()
    return exact(scalar.cast(width).as_py())


def _exact(arrow_type: Any) -> tuple[str, Callable[[int], Exact] | None]:
    """For an Arrow type of dates and times: the integers it is stored as, and what makes a value of
    one; Python's own lack nanoseconds, and years beyond 9999. For any other: None."""
    kind = str(arrow_type)
    if kind.startswith("date"):
        return _exact_date(kind)
    if not kind.startswith("time"):
        return "", None
    factor = 10**9 // _UNITS_PER_SECOND[arrow_type.unit]

    def exact(number: int) -> Exact:
        text = f"{number} {kind}"
        if kind.startswith("timestamp"):
            return TimestampNanos(number * factor, text, arrow_type.tz is not None)
        return TimeNanos(number * factor, text)

    return "int32" if kind.startswith("time32") else "int64", exact


def _exact_date(kind: str) -> tuple[str, Callable[[int], Exact]]:
    width, per_day = ("int32", 1) if kind.startswith("date32") else ("int64", 86_400_000)

    def exact(number: int) -> Exact:
        days = number // per_day
        return Days(days, str(np.datetime64(days, "D")))

    return width, exact
