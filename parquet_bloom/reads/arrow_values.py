"""Values as users give them beside those of a column, in types in which pyarrow compares exactly.

    column                               | is compared as
    integers                             | they are
    date, time, timestamp, duration      | the integers that are stored
    decimal                              | decimals of the same scale and as many digits as there are
    half float, float, double            | double
    text, bytes, UUID, also in views     | bytes
    boolean                              | it is

pyarrow guesses the type of a value by the value alone, makes both sides of one type, which loses what this has no
room for, and has nothing for some types. What a value is here, `values.encode` says, too; unlike there, 2.5 is a
number for a column of integers, of which some are less, and none is equal.
A value lies between two that the column can have:

    around(2.5) == (2, 3)       around(2) == (2, 2)       around(2**80) == (2**63 - 1, None)
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from functools import partial
from math import ceil, floor, inf, isfinite, nextafter
from typing import Any, Final, NamedTuple, TypeAlias
from uuid import UUID

import numpy as np
import pyarrow as pa

from parquet_bloom.errors import ValueTypeError
from parquet_bloom.native.lazy import Array
from parquet_bloom.values.encode import moment_of, time_nanos
from parquet_bloom.values.given import plain_value
from parquet_bloom.values.types import FLOAT_FORMAT, NANOS_PER_DAY, shown

Number: TypeAlias = int | Fraction

_NANOS_OF: Final = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
# Beyond all that a column can have.
_BEYOND: Final = 1 << 600
_MOST_EXPONENT: Final = 150
_A_DURATION: Final = "a duration, such as datetime.timedelta"
_MICROSECOND: Final = timedelta(microseconds=1)


class Around(NamedTuple):
    """The greatest value of a column's type that is not greater than another value, and the least that is not less;
    None where there is none."""

    lower: Any
    upper: Any


class ComparedType(ABC):
    """What values of a column are compared as: `type`."""

    def __init__(self, kind: pa.DataType, compared: pa.DataType) -> None:
        self._kind, self.type = kind, compared

    def of_column(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """Those of the column itself."""
        return values.cast(self.type)

    @abstractmethod
    def around(self, value: object) -> Around:
        """For a value as plain_value has it. Raises ValueTypeError for what cannot be compared with the column."""

    def equal(self, value: object) -> Any:
        """The value of the column's type that is equal to this one; None if there is none. Raises as around."""
        lower, upper = self.around(value)
        return lower if lower == upper else None

    def all_equal(self, values: Sequence[object] | Array) -> pa.Array:
        """The same of many, without those that nothing is equal to."""
        if (
            isinstance(values, np.ndarray)
            and values.dtype.kind in "iufSU"
            and values.itemsize != 16
        ):
            values = values.tolist()
        found = [self.equal(plain_value(value)) for value in values]
        return pa.array([each for each in found if each is not None], self.type)

    def _no_value(self, value: object, expected: str) -> ValueTypeError:
        if isinstance(value, bytearray | memoryview):
            value = bytes(value)
        text = repr(value) if isinstance(value, str | bytes) else shown(value)
        kind = "UUID" if is_uuid(self._kind) else self._kind
        return ValueTypeError(f"{text}: cannot be a value of {kind}: expected {expected}")


class _Steps(ComparedType):
    """Numbers at equal distances, between two."""

    def __init__(
        self,
        kind: pa.DataType,
        compared: pa.DataType,
        ends: tuple[int, int],
        number: Callable[[object], Number | str],
        scalar: Callable[[int], Any] = int,
    ) -> None:
        """`number`: a value in such steps, or what was expected in its place; `scalar`: of so many steps."""
        super().__init__(kind, compared)
        self._first, self._last = ends
        self._number, self._scalar = number, scalar

    def around(self, value: object) -> Around:
        number = self._number(value)
        if isinstance(number, str):
            raise self._no_value(value, number)
        lower, upper = floor(number), ceil(number)
        return Around(
            None if lower < self._first else self._scalar(min(lower, self._last)),
            None if upper > self._last else self._scalar(max(upper, self._first)),
        )


class _Integers(_Steps):
    def all_equal(self, values: Sequence[object] | Array) -> pa.Array:
        if {*map(type, values)} == {int}:
            with suppress(OverflowError):
                values = np.fromiter(values, np.int64, len(values))
        if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
            held = values[(values >= self._first) & (values <= self._last)]
            return pa.array(held).cast(self.type)
        return super().all_equal(values)


class _Floats(ComparedType):
    """Doubles, or shorter ones, of which a number is equal to the nearest, as to all who ask filters."""

    def __init__(self, kind: pa.DataType) -> None:
        super().__init__(kind, pa.float64())
        self._format = FLOAT_FORMAT[kind.bit_width // 8]

    def around(self, value: object) -> Around:
        self._check(value)
        number: Any = value
        nearest = _as_float(number)
        return Around(
            nearest if nearest <= number else nextafter(nearest, -inf),
            nearest if nearest >= number else nextafter(nearest, inf),
        )

    def equal(self, value: object) -> Any:
        self._check(value)
        number: Any = value
        try:
            (found,) = struct.unpack(self._format, struct.pack(self._format, _as_float(number)))
        except OverflowError:
            return None
        return found if isfinite(found) or abs(number) == inf else None

    def all_equal(self, values: Sequence[object] | Array) -> pa.Array:
        found = super().all_equal(values)
        # In a set, one zero is not the other.
        return (
            pa.concat_arrays([found, pa.array([0.0, -0.0])]) if 0.0 in found.to_pylist() else found
        )

    def _check(self, value: object) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
            raise self._no_value(value, "a number")


class _Same(ComparedType):
    """Values as they are."""

    def __init__(
        self, kind: pa.DataType, compared: pa.DataType, read: Callable[[object], Any], expected: str
    ) -> None:
        """`read`: a value as it is compared, None for what cannot be."""
        super().__init__(kind, compared)
        self._read, self._expected = read, expected

    def around(self, value: object) -> Around:
        found = self._read(value)
        if found is None:
            raise self._no_value(value, self._expected)
        return Around(found, found)


class _Nothing(ComparedType):
    """Of columns that hold only nulls."""

    def of_column(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        return values

    def around(self, value: object) -> Around:
        return Around(None, None)


def compared_as(kind: pa.DataType) -> ComparedType | None:
    """What values of a column are compared as, which is of no dictionary and no extension but UUID; None for lists,
    structs and all else that values are nested in."""
    types = pa.types
    if types.is_null(kind):
        return _Nothing(kind, kind)
    if types.is_boolean(kind):
        return _Same(
            kind, kind, lambda value: value if isinstance(value, bool) else None, "a boolean"
        )
    if types.is_integer(kind):
        return _Integers(kind, kind, _ends(kind.bit_width, types.is_signed_integer(kind)), _number)
    if types.is_floating(kind):
        return _Floats(kind)
    if types.is_decimal(kind):
        return _decimals(kind)
    if types.is_temporal(kind):
        return _moments(kind)
    if is_uuid(kind):
        return _Same(kind, pa.large_binary(), _bytes_of_uuid, "a UUID")
    if _is_text(kind):
        return _Same(kind, pa.large_binary(), _bytes_of_text, "text or bytes")
    if _is_bytes(kind):
        return _Same(kind, pa.large_binary(), _bytes, "text or bytes")
    return None


def is_uuid(kind: pa.DataType) -> bool:
    return getattr(kind, "extension_name", "") == "arrow.uuid"


def _is_text(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _is_bytes(kind: pa.DataType) -> bool:
    types = pa.types
    are_long = types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind)
    return bool(are_long or types.is_fixed_size_binary(kind))


def _ends(bits: int, is_signed: bool) -> tuple[int, int]:
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed else (0, (1 << bits) - 1)


# ------------------------------------------------------------------------------------------------
# Numbers


def _number(value: object) -> Number | str:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return "a number"
    return value if isinstance(value, int) else _exact(value)


def _exact(value: float | Decimal) -> Number:
    """Without rounding, but for what no column has."""
    if not value:
        return 0
    if isinstance(value, float):
        return Fraction(value) if isfinite(value) else _beyond(value)
    if not value.is_finite() or value.adjusted() > _MOST_EXPONENT:
        return _beyond(value)
    if value.adjusted() < -_MOST_EXPONENT:
        return Fraction(1, _beyond(value))
    return Fraction(value)


def _beyond(value: float | Decimal) -> int:
    return _BEYOND if value > 0 else -_BEYOND


def _as_float(number: float | Decimal) -> float:
    try:
        return float(number)
    except OverflowError:
        return inf if number > 0 else -inf


def _decimals(kind: pa.Decimal128Type) -> ComparedType:
    digits = 76 if kind.bit_width > 128 else 38
    make = pa.decimal256 if kind.bit_width > 128 else pa.decimal128
    last = 10**digits - 1
    return _Steps(
        kind,
        make(digits, kind.scale),
        (-last, last),
        partial(_unscaled, kind.scale),
        partial(_decimal, kind.scale),
    )


def _unscaled(scale: int, value: object) -> Number | str:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return "a decimal, such as decimal.Decimal"
    return (value if isinstance(value, int) else _exact(value)) * Fraction(10) ** scale


def _decimal(scale: int, unscaled: int) -> Decimal:
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))


# ------------------------------------------------------------------------------------------------
# Dates and times. No integers: nobody here knows the unit in which they are stored.


def _moments(kind: pa.DataType) -> ComparedType | None:
    types = pa.types
    if types.is_date(kind):
        of_day = 1 if types.is_date32(kind) else 86_400_000
        number: Callable[[object], Number | str] = partial(_days, of_day)
    elif types.is_time(kind):
        number = partial(_time, _NANOS_OF[kind.unit])
    elif types.is_timestamp(kind):
        number = partial(_timestamp, kind)
    elif types.is_duration(kind):
        number = partial(_duration, _NANOS_OF[kind.unit])
    else:
        return None
    stored = pa.int32() if kind.bit_width == 32 else pa.int64()
    return _Steps(kind, stored, _ends(kind.bit_width, is_signed=True), number)


def _days(of_day: int, value: object) -> Number | str:
    moment = moment_of(value)
    if moment is None or moment.zoned:
        return "a date, such as datetime.date"
    return Fraction(moment.nanos * of_day, NANOS_PER_DAY)


def _time(unit: int, value: object) -> Number | str:
    nanos = time_nanos(value)
    return "a time, such as datetime.time" if nanos is None else Fraction(nanos, unit)


def _timestamp(kind: pa.TimestampType, value: object) -> Number | str:
    moment = moment_of(value)
    if moment is None:
        return "a timestamp, such as datetime.datetime"
    if moment.zoned and kind.tz is None:
        raise ValueTypeError(
            f"a timestamp with a zone, expected one without, as the column is {kind}"
        )
    return Fraction(moment.nanos, _NANOS_OF[kind.unit])


def _duration(unit: int, value: object) -> Number | str:
    """An integer is one of such units, as others see nothing but integers in the file."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, np.timedelta64):
        # Months and years are of no one length.
        is_exact = not np.isnat(value) and np.datetime_data(value.dtype)[0] not in ("Y", "M")
        nanos = int(value.astype("m8[ns]").astype(np.int64))
        return Fraction(nanos, unit) if is_exact else _A_DURATION
    if not isinstance(value, timedelta):
        return _A_DURATION
    return Fraction(value // _MICROSECOND * 1000 + getattr(value, "nanoseconds", 0), unit)


# ------------------------------------------------------------------------------------------------
# Bytes


def _bytes_of_text(value: object) -> bytes | None:
    return None if isinstance(value, UUID) else _bytes(value)


def _bytes_of_uuid(value: object) -> bytes | None:
    if not isinstance(value, str):
        return _bytes(value)
    try:
        return UUID(value).bytes
    except ValueError:
        return None


def _bytes(value: object) -> bytes | None:
    if isinstance(value, str):
        try:
            return value.encode()
        except UnicodeEncodeError:
            return None
    if isinstance(value, UUID):
        return value.bytes
    return bytes(value) if isinstance(value, bytes | bytearray | memoryview) else None
