"""Filters as pyarrow compares them: each value as the column of a file has it.

    {"at": [pandas.Timestamp, numpy.datetime64]}    one array of timestamp[ns], of what has nanoseconds
    {"id": uuid.UUID}                               its 16 bytes, and those of the column
    {"hash": 2**63 + 1}                             as the column's type has it; a decimal if it has none
    {"at": datetime without a zone}                 in UTC, if the column is in UTC

pyarrow guesses a type by the value alone, and then makes both sides of one type, which loses what this has no room for.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final, NamedTuple
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from parquet_bloom.errors import ValueTypeError
from parquet_bloom.values.given import from_polars, plain_value
from parquet_bloom.values.types import Days, TimestampNanos

_COMPARISONS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

_INT64_END: Final = 1 << 63
_UINT64_END: Final = 1 << 64
_NANOS_PER_DAY: Final = 86_400 * 10**9

# Units of numpy's moments that pyarrow lacks, and exact ones that it has.
_UNITS: Final[Mapping[str, str]] = {"Y": "D", "M": "D", "W": "D", "h": "s", "m": "s"}


class ArrowCondition(NamedTuple):
    """A column, an operator, and a scalar or an array."""

    column: str
    operator: str
    value: Any

    def of(self, schema: pa.Schema) -> pc.Expression:
        """What it says about files with these columns. Raises ValueTypeError for a column that is in a list, and for a
        moment in a zone if the column has none."""
        path = path_of(self.column, schema.names)
        field, kind = pc.field(*path), _type_of(path, schema)
        if isinstance(kind, pa.BaseExtensionType):
            field = field.cast(kind.storage_type)
        value = _in_zone(self.column, self.value, kind)
        if self.operator in ("in", "not in"):
            is_in = field.isin(_set_as_stored(value, kind))
            return is_in if self.operator == "in" else ~is_in
        return _COMPARISONS[self.operator](field, _as_stored(value, kind))


def path_of(column: str, names: Sequence[str]) -> list[str]:
    """A whole column, or a field of a struct."""
    return [column] if column in names else column.split(".")


def is_lacking(column: str, schema: pa.Schema) -> bool:
    """Whether there is no such whole column, or no such field in the structs that there are."""
    first, *fields = path_of(column, schema.names)
    if first not in schema.names:
        return True
    kind = schema.field(first).type
    for name in fields:
        if not pa.types.is_struct(kind):
            return False
        if all(field.name != name for field in kind):
            return True
        kind = kind.field(name).type
    return False


def _type_of(path: Sequence[str], schema: pa.Schema) -> pa.DataType:
    kind = schema.field(path[0]).type
    for name in path[1:]:
        if not pa.types.is_struct(kind) or kind.get_field_index(name) < 0:
            raise ValueTypeError(
                f"column {'.'.join(path)}: {kind} has no field {name}, expected a whole column or a field of structs"
            )
        kind = kind.field(name).type
    return kind


def conditions_of(filters: Any) -> list[list[ArrowCondition]]:
    """Filters as predicates.predicate_of takes them, which has checked them: one of these lists must hold. Raises
    ValueError for an operator that only engines have."""
    if isinstance(filters, Mapping):
        return [[_one_of(column, value) for column, value in filters.items()]]
    if all(isinstance(part[0], str) for part in filters):
        filters = [filters]
    return [[_condition(*each) for each in part] for part in filters]


def _condition(column: str, operator: str, value: Any) -> ArrowCondition:
    if operator in _COMPARISONS:
        return ArrowCondition(column, operator, _told_of(column, _scalar, value))
    if operator in ("in", "not in"):
        return ArrowCondition(column, operator, _told_of(column, _array, value))
    expected = ", ".join([*_COMPARISONS, "in", "not in"])
    raise ValueError(f"filters: column {column}: {operator!r}, expected one of {expected}")


def _one_of(column: str, value: Any) -> ArrowCondition:
    is_one = isinstance(value, str | bytes) or not hasattr(value, "__iter__")
    return _condition(column, "==" if is_one else "in", value)


def _in_zone(column: str, value: Any, kind: pa.DataType) -> Any:
    """Moments in the zone of the column, as pyarrow compares no others. Those without one are in UTC, as values.encode
    takes them."""
    if not pa.types.is_timestamp(kind):
        return value
    moment = pa.scalar(value) if isinstance(value, datetime) else value
    given = getattr(moment, "type", None)
    if given is None or not pa.types.is_timestamp(given) or given.tz == kind.tz:
        return value
    if kind.tz is None:
        raise ValueTypeError(
            f"column {column}: a timestamp with a zone, expected one without, as the column is {kind}"
        )
    return moment.cast(pa.timestamp(given.unit, kind.tz))


def _as_stored(value: Any, kind: pa.DataType) -> Any:
    """A value as a column of this type has it."""
    if pa.types.is_integer(kind):
        return _as_integer(value, kind)
    if isinstance(value, pa.Scalar) and isinstance(value.type, pa.BaseExtensionType):
        return value.value
    if isinstance(value, str) and _is_uuid(kind):
        return _uuid_bytes(value)
    return value.bytes if isinstance(value, UUID) else value


def _as_integer(value: Any, kind: pa.DataType) -> Any:
    """Of the column's type, as with one of another pyarrow would make floats of the column, and fail on large ones; a
    decimal if the column cannot hold it."""
    is_whole = _is_integer(value)
    if isinstance(value, float):
        is_whole = value.is_integer() and abs(value) < _UINT64_END
    elif isinstance(value, Decimal):
        is_whole = value.is_finite() and value == value.to_integral_value()
    if not is_whole:
        return value
    first, last = _ends(kind)
    return pa.scalar(int(value), kind) if first <= value <= last else Decimal(value)


def _set_as_stored(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Values among which a column of this type may have some."""
    if isinstance(values.type, pa.BaseExtensionType):
        return values.storage
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        texts = values.to_pylist() if _is_uuid(kind) else ()
        return pa.array([each and _uuid_bytes(each) for each in texts]) if texts else values
    if values.type == kind or not pa.types.is_integer(kind) or not _are_integers(values.type):
        return values
    first, last = map(Decimal, _ends(kind))
    held = pc.and_(pc.greater_equal(values, first), pc.less_equal(values, last))
    return values.filter(held, null_selection_behavior="emit_null").cast(kind)


def _are_integers(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale == 0))


def _ends(kind: pa.DataType) -> tuple[int, int]:
    """The least and the greatest integer of a type."""
    if pa.types.is_unsigned_integer(kind):
        return 0, (1 << kind.bit_width) - 1
    end = 1 << (kind.bit_width - 1)
    return -end, end - 1


def _is_uuid(kind: pa.DataType) -> bool:
    return getattr(kind, "extension_name", "") == "arrow.uuid"


def _uuid_bytes(text: str) -> bytes:
    try:
        return UUID(text).bytes
    except ValueError:
        raise ValueTypeError(f"{text!r} is no UUID, expected one as the column is") from None


def _told_of(column: str, convert: Callable[[Any], Any], given: Any) -> Any:
    """What pyarrow makes of what was given. Raises ValueTypeError."""
    try:
        return convert(given)
    except (pa.ArrowException, OverflowError, TypeError) as error:
        raise ValueTypeError(f"filters: column {column}: {reason_of(error)}") from None


def _scalar(value: Any) -> Any:
    """A number of numpy as one of Python, a moment with its nanoseconds, a large integer as a decimal."""
    if isinstance(value, np.datetime64):
        return pa.array(_in_known_unit(np.array([value])))[0]
    if getattr(value, "nanosecond", 0):
        return _nanoseconds(value)
    if isinstance(value, np.number | np.bool_):
        value = value.item()
    elif isinstance(value, pa.Scalar) and pa.types.is_integer(value.type):
        value = value.as_py()
    return Decimal(value) if _is_large(value) else value


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_large(value: Any) -> bool:
    """Whether it is an integer for which pyarrow guesses no type."""
    return isinstance(value, int) and not -_INT64_END <= value < _INT64_END


def _in_known_unit(moments: NDArray[np.datetime64]) -> NDArray[np.datetime64]:
    """Moments of numpy in a unit that pyarrow has."""
    unit, _ = np.datetime_data(moments.dtype)
    return moments.astype(f"M8[{_UNITS.get(unit, unit)}]")


def _nanoseconds(moment: Any) -> pa.Scalar:
    """A moment of Python, pandas or numpy; of pandas.Timestamp, pyarrow takes only the microseconds by itself."""
    exact = plain_value(moment)
    if isinstance(exact, TimestampNanos):
        return pa.scalar(exact.number, pa.timestamp("ns"))
    if isinstance(exact, Days):
        return pa.scalar(exact.number * _NANOS_PER_DAY, pa.timestamp("ns"))
    kind = pa.timestamp("ns", None if moment.tzinfo is None else "UTC")
    return pa.scalar(moment.as_unit("ns").value if hasattr(moment, "as_unit") else moment, kind)


def _array(values: Any) -> pa.Array:
    if hasattr(values, "to_arrow"):
        values = from_polars(values)
    if isinstance(values, np.ndarray) and values.dtype.kind == "M":
        values = _in_known_unit(values)
    elif isinstance(values, list | tuple | set | frozenset):
        values = _of_one_type(list(values))
    found = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
    if isinstance(found, pa.ChunkedArray):
        found = found.combine_chunks()
    return found.dictionary_decode() if pa.types.is_dictionary(found.type) else found


def _of_one_type(values: list[Any]) -> Iterable[Any]:
    """What pyarrow makes an array of without loss."""
    if any(isinstance(each, datetime) and each.tzinfo for each in values):
        # Otherwise the first one tells of all whether they have a zone.
        values = [_with_zone(each) for each in values]
    if any(map(_is_large, values)):
        return [Decimal(each) if _is_integer(each) else each for each in values]
    if not any(
        isinstance(each, np.datetime64) or getattr(each, "nanosecond", 0) for each in values
    ):
        return values
    if all(isinstance(each, np.datetime64) for each in values):
        return _in_known_unit(np.array(values))
    return [
        _nanoseconds(each) if isinstance(each, datetime | np.datetime64) else each
        for each in values
    ]


def _with_zone(value: Any) -> Any:
    is_without = isinstance(value, datetime) and value.tzinfo is None
    return value.replace(tzinfo=UTC) if is_without else value


def reason_of(error: BaseException) -> str:
    """In one line why pyarrow compares nothing."""
    said = " ".join(str(error).split())
    if not re.match(r"Integer value \d+ (not in range|is outside of the range)", said):
        return said
    return "a fraction cannot be compared with integers of more than 53 bits: expected an integer"
