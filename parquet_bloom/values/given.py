"""Values as users give them: Python, numpy, pandas, polars and pyarrow values, one by one and in arrays.

They become values that encode() takes, never rounded: Python's own, or those of values.types that hold
what Python's cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from math import isinf
from typing import Any, Final

from parquet_bloom.errors import ValueTypeError
from parquet_bloom.native.lazy import NDArray, np
from parquet_bloom.values.types import Days, Exact, TimeNanos, TimestampNanos, literal

_PREFIXED = ("s", "ms", "us", "ns", "ps", "fs", "as")
_UNITS_PER_SECOND = {unit: 1000**power for power, unit in enumerate(_PREFIXED)}
_EPOCH = datetime(1970, 1, 1)
_NO_NANOS = object()
# What pyarrow calls them.
_SHORT_FLOATS = ("float", "halffloat")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "D": 86_400, "W": 604_800}


# What stands between the fields of a file of values, by the end of its name.
DELIMITERS: Final = {".csv": ",", ".tsv": "\t"}


def is_like_header(line: str, columns: Collection[str]) -> bool:
    """Whether a line has the name of one of the `columns` as the first line of CSV does, alone or among others."""
    return any(cell.strip().strip('"') in columns for cell in line.split(","))


def plain_value(value: object) -> object:
    """A numpy, pandas or pyarrow value as a Python one, or as one of values.types that is exact; None
    for a null of any of them."""
    module = type(value).__module__
    if module == "builtins":
        return value
    match module.partition(".")[0]:
        case "numpy":
            return _from_numpy(value)
        case "pyarrow":
            return _from_arrow_scalar(value) if hasattr(value, "as_py") else value
        case "pandas":
            # pandas' null datetime is a datetime.
            return None if str(value) in ("NaT", "<NA>") else value
    return value


def list_values(values: Any) -> list[object] | NDArray[np.generic]:
    """Each value of a list or another iterable, of a numpy or pyarrow array, of a pandas or polars
    Series. Text, bytes, and all that is not iterable are one value.

    Raises TypeError for dictionaries and tables.
    """
    is_table = hasattr(values, "columns") or hasattr(values, "column_names")
    if is_table or isinstance(values, Mapping):
        expected = "one column of it" if is_table else "one value, or a list or an array of values"
        raise TypeError(f"values: a {type(values).__name__}, expected {expected}")
    if isinstance(values, str | bytes | bytearray) or not isinstance(values, Iterable):
        return [values]
    if isinstance(values, memoryview) and values.format == "B":
        return [values]
    # polars' Series, and what pandas keeps in another way than numpy.
    if hasattr(values, "to_arrow"):
        values = from_polars(values)
    elif convert := getattr(getattr(values, "array", None), "__arrow_array__", None):
        values = convert()
    if hasattr(values, "to_pylist"):
        return _from_arrow(values)
    return _from_array(values) if hasattr(values, "__array__") else _of_one_type(list(values))


def each_once(
    values: list[object] | NDArray[np.generic],
) -> list[object] | NDArray[np.generic]:
    """Those of list_values, without what was met before, of the same type; as they are if that cannot be told."""
    if not isinstance(values, list) and values.dtype.kind in "biufSU":
        once: NDArray[np.generic] = values[np.sort(np.unique(values, return_index=True)[1])]
        return once
    with suppress(TypeError):
        return list({(type(value), value): value for value in values}.values())
    return values


def is_missing(value: object) -> bool:
    """Whether it is a null or a NaN of any kind."""
    plain = plain_value(value)
    return plain is None or (isinstance(plain, float | Decimal) and plain != plain)  # noqa: PLR0124


def check_none_missing(values: Sequence[object] | NDArray[np.generic]) -> None:
    """Raise ValueTypeError if one of list_values is missing."""
    gaps = missing_among(values)
    if len(gaps):
        what = "null" if plain_value(values[gaps[0]]) is None else "NaN"
        where = f" at position {gaps[0]}" if len(values) > 1 else ""
        more, it = (f", and {len(gaps) - 1:,} more", "them") if len(gaps) > 1 else ("", "it")
        raise ValueTypeError(f"values: {what}{where}{more}: cannot be looked for, leave {it} out")


def missing_among(values: Any) -> Sequence[int] | NDArray[np.intp]:
    """Where values are missing, see is_missing; at once where there are none, or an array tells."""
    kind = values.dtype.kind if isinstance(values, np.ndarray) else ""
    if kind == "f":
        return np.flatnonzero(np.isnan(values))
    if kind in ("b", "i", "u", "S", "U") or {*map(type, values)} <= {int, str, bytes, literal}:
        return ()
    return [at for at, value in enumerate(values) if is_missing(value)]


def from_polars(values: Any) -> Any:
    """A Series as an array of pyarrow; as a list, if it is of a type that only polars has, such as integers
    of 128 bits, or of objects, in whose place an array has addresses."""
    if str(getattr(values, "dtype", "")) == "Object":
        return values.to_list()
    try:
        return values.to_arrow()
    except ValueError:
        return values.to_list()


def python_values(values: Sequence[object] | NDArray[np.generic]) -> list[Any]:
    """Values as reports have them: Python's own wherever these are exact, the text of a literal, None for a null."""
    # At once, as one by one is far slower; but not times, which lose nanoseconds.
    kind = getattr(getattr(values, "dtype", None), "kind", "")
    if kind and kind in "iufSU" and hasattr(values, "tolist"):
        values = values.tolist()
    return list(map(_python_value, values))


def picked(values: Sequence[Any] | NDArray[np.generic], positions: Sequence[int]) -> Any:
    """The values at these positions, of the same kind."""
    if hasattr(values, "dtype"):
        array: Any = values
        return array[positions]
    return tuple([values[at] for at in positions])


def _python_value(value: object) -> object:
    if isinstance(value, literal):
        return value.text
    value = plain_value(value)
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    return _from_exact(value) if isinstance(value, Exact) else value


def _from_exact(value: Exact) -> object:
    """A date or time of Python; of numpy, where Python has none."""
    try:
        if isinstance(value, Days):
            return _EPOCH.date() + timedelta(days=value.number)
        micros, rest = divmod(value.number, 1000)
        if rest:
            raise OverflowError
        if isinstance(value, TimestampNanos):
            zone = UTC if value.zoned else None
            return _EPOCH.replace(tzinfo=zone) + timedelta(microseconds=micros)
        return (_EPOCH + timedelta(microseconds=micros)).time()
    except OverflowError:
        return _in_numpy(value)


def _in_numpy(value: Exact) -> object:
    """The value itself if numpy has none, either."""
    if isinstance(value, TimeNanos) or abs(value.number) >= 1 << 63:
        return value
    return np.datetime64(value.number, "D" if isinstance(value, Days) else "ns")


def show_values(values: Sequence[object] | NDArray[np.generic]) -> list[str]:
    """Values as documents and people are shown them."""
    return list(map(show_value, python_values(values)))


def show_value(value: object) -> str:
    """One of python_values: bytes as `0x…`, `null`."""
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    return "null" if value is None else str(value)


# ------------------------------------------------------------------------------------------------
# numpy


def _from_numpy(value: object) -> object:
    if isinstance(value, np.datetime64):
        return _from_datetimes(value.reshape(1))[0]
    if isinstance(value, np.longdouble):
        # The nearest float; an integer where that would be infinite, and the value is not.
        number = float(value)
        return int(value) if isinf(number) and not np.isinf(value) else number
    if isinstance(value, np.generic) and not isinstance(value, np.timedelta64):
        return value.item()
    return value


def _from_datetimes(values: NDArray[np.datetime64]) -> list[object]:
    """None for NaT; what numpy has if it is not a whole number of nanoseconds. Of many at once,
    as one by one takes ten times as long."""
    unit, step = np.datetime_data(values.dtype)
    if unit in ("Y", "M"):
        unit, step, values = "D", 1, values.astype("datetime64[D]")
    exact = partial(_days if unit in ("D", "W") else _nanos, unit)
    texts = np.datetime_as_string(values).tolist()
    found = [
        None if text == "NaT" else exact(count * step, text)
        for count, text in zip(values.astype(np.int64).tolist(), texts, strict=True)
    ]
    return [values[at] if each is _NO_NANOS else each for at, each in enumerate(found)]


def _days(unit: str, count: int, text: str) -> Days:
    return Days(count * _SECONDS[unit] // _SECONDS["D"], text)


def _nanos(unit: str, count: int, text: str) -> object:
    """_NO_NANOS if they are not whole."""
    if unit in _SECONDS:
        return TimestampNanos(count * _SECONDS[unit] * 10**9, text)
    nanos, rest = divmod(count * 10**9, _UNITS_PER_SECOND[unit])
    return _NO_NANOS if rest else TimestampNanos(nanos, text)


def _of_one_type(values: list[object]) -> list[object] | NDArray[np.generic]:
    """Integers and moments that an array of numpy was made a list of, as arrays again: one by one,
    they take far longer."""
    kinds = {*map(type, values)}
    if len(kinds) != 1 or not _is_of_numpy(*kinds):
        return values
    dtypes = {each.dtype for each in values if isinstance(each, np.generic)}
    are_alike = len(dtypes) == 1 and {each.kind for each in dtypes} <= {"i", "u", "M"}
    return _from_array(np.array(values, *dtypes)) if are_alike else values


def _is_of_numpy(kind: type[object]) -> bool:
    """Whether its values are numpy's, which nobody loads to learn that they are not."""
    return kind.__module__ == "numpy" and issubclass(kind, np.generic)


def _from_array(values: object) -> list[object] | NDArray[np.generic]:
    """A numpy array of one dimension, with None where it is masked; the value of one without."""
    array = values if isinstance(values, np.ndarray) else np.asarray(values)
    if array.ndim == 0:
        return [array[()]]
    if isinstance(array, np.ma.MaskedArray):
        masked = np.ma.getmaskarray(array)
        return [None if gap else item for item, gap in zip(array.data, masked, strict=True)]
    if array.ndim == 1 and array.dtype.kind == "M":
        return _from_datetimes(array)
    return array if array.ndim == 1 else list(array)


# ------------------------------------------------------------------------------------------------
# pyarrow


def _from_arrow(array: Any) -> list[object] | NDArray[np.generic]:
    """None stays None."""
    if str(array.type).startswith("dictionary"):
        return _from_arrow(array.cast(array.type.value_type))
    width, exact = _exact(array.type)
    if str(array.type) in _SHORT_FLOATS and not array.null_count:
        # Numbers of Python do not tell how many bits they had.
        return np.asarray(array)
    if exact is None:
        values: list[object] = array.to_pylist()
        return values
    return [None if number is None else exact(number) for number in array.cast(width).to_pylist()]


def _from_arrow_scalar(scalar: Any) -> object:
    if str(scalar.type).startswith("dictionary"):
        return _from_arrow_scalar(scalar.value)
    width, exact = _exact(scalar.type)
    if exact is None or not scalar.is_valid:
        return scalar.as_py()
    return exact(scalar.cast(width).as_py())


def _exact(arrow_type: Any) -> tuple[str, Callable[[int], Exact] | None]:
    """For an Arrow type of dates and times: the integers it is stored as, and what makes a value of
    one; Python's own lack nanoseconds, and years beyond 9999. For any other: None."""
    kind = str(arrow_type)
    if kind.startswith("date"):
        width, per_day = ("int32", 1) if kind.startswith("date32") else ("int64", 86_400_000)

        def exact_date(number: int) -> Exact:
            days = number // per_day
            return Days(days, str(np.datetime64(days, "D")))

        return width, exact_date
    if not kind.startswith("time"):
        return "", None
    factor = 10**9 // _UNITS_PER_SECOND[arrow_type.unit]

    def exact(number: int) -> Exact:
        text = f"{number} {kind}"
        if kind.startswith("timestamp"):
            return TimestampNanos(number * factor, text, arrow_type.tz is not None)
        return TimeNanos(number * factor, text)

    return "int32" if kind.startswith("time32") else "int64", exact
