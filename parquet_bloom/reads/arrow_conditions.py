"""Filters as pyarrow compares them: a table of the columns that they are about, each in the type in which it is
compared, and each value in that type, see arrow_values.

    {"at": [pandas.Timestamp, numpy.datetime64]}    int64, of what has nanoseconds, too
    {"id": uuid.UUID}                               its 16 bytes, and those of the column
    {"price": 5}                                    a decimal with the column's scale
    {"a.b": 5}                                      a field of a struct, called `a.b` in the table
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from parquet_bloom.errors import ValueTypeError
from parquet_bloom.reads.arrow_values import ComparedType, compared_as, is_uuid
from parquet_bloom.reads.predicates import text_of_date
from parquet_bloom.values.given import check_none_missing, list_values, plain_value

_ALL: Final = pc.scalar(True)
_NONE: Final = pc.scalar(False)

_Compare = Callable[[ComparedType, pc.Expression, Any], pc.Expression]


class ArrowCondition:
    """A column, an operator, and what its values are compared with."""

    def __init__(self, column: str, compare: _Compare, values: Any) -> None:
        self.column, self._compare, self._values = column, compare, values
        # By type, as files mostly have the same.
        self._known: dict[pa.DataType, pc.Expression] = {}

    def with_text_of_dates(self) -> ArrowCondition:
        """The same for a column of text."""
        values = [text_of_date(each) for each in self._values]
        return ArrowCondition(self.column, self._compare, values)

    def of(self, key: Key) -> pc.Expression:
        """What it says about the column. Raises ValueTypeError for what cannot be compared with its values."""
        if key.kind not in self._known:
            field = pc.field(self.column)
            try:
                self._known[key.kind] = self._compare(key.compared, field, self._values)
            except ValueTypeError as error:
                raise ValueTypeError(f"column {self.column}: {error}") from None
        return self._known[key.kind]


class Key:
    """A column of conditions, in some rows: `kind`: its type, `values`: as they are compared."""

    def __init__(self, column: str, values: pa.ChunkedArray) -> None:
        """Raises ValueTypeError for a column that nothing is compared with."""
        while (plain := _without_wrapping(values.type)) is not None:
            values = values.cast(plain)
        self.kind = values.type
        compared = compared_as(self.kind)
        if compared is None:
            _check_one_each(column, self.kind)
            raise ValueTypeError(
                f"column {column}: {self.kind}, expected a column of single values, or a field of structs"
            )
        self.compared = compared
        if isinstance(self.kind, pa.BaseExtensionType):
            values = values.cast(self.kind.storage_type)
        self.values = compared.of_column(values)


def _without_wrapping(kind: pa.DataType) -> pa.DataType | None:
    """What values of a dictionary or an extension are; None for what is neither."""
    if pa.types.is_dictionary(kind):
        return kind.value_type
    is_extension = isinstance(kind, pa.BaseExtensionType) and not is_uuid(kind)
    return kind.storage_type if is_extension else None


def _check_one_each(column: str, kind: pa.DataType) -> None:
    """Raise ValueTypeError for a list or a map, of which nobody says whether any or all values must fulfil a
    condition."""
    if pa.types.is_nested(kind) and not (pa.types.is_struct(kind) or pa.types.is_union(kind)):
        raise ValueTypeError(
            f"column {column}: {kind}, expected one value in each row, as in a whole column or a field of structs;"
            " pb.find finds the rows where any is equal"
        )


def check_no_lists(any_of: AnyOf, table: pa.Table) -> None:
    """Raise ValueTypeError for a condition on a list or a map, or on what is in one, of a table that has the whole
    columns."""
    for column in {each.column for all_of in any_of for each in all_of}:
        first, *fields = path_of(column, table.column_names)
        if first in table.column_names:
            kind = table.schema.field(first).type
            while fields and pa.types.is_struct(kind) and kind.get_field_index(fields[0]) >= 0:
                kind = kind.field(fields.pop(0)).type
            _check_one_each(column, kind)


def path_of(column: str, names: Sequence[str]) -> list[str]:
    """A whole column, or a field of a struct."""
    return [column] if column in names else column.split(".")


def _key_in(column: str, table: pa.Table, num_rows: int) -> Key:
    """A whole column, or a field of structs; of nulls where there is no such column, or no such field in the structs
    that there are. Raises ValueTypeError for what is no struct, and for a column that nothing is compared with."""
    first, *fields = path_of(column, table.column_names)
    lacking = pa.chunked_array([pa.nulls(num_rows)])
    if first not in table.column_names:
        return Key(column, lacking)
    found = table.column(first)
    for name in fields:
        if not pa.types.is_struct(found.type):
            _check_one_each(column, found.type)
            raise ValueTypeError(
                f"column {column}: {found.type} has no field {name}, expected a whole column or a field of structs"
            )
        if found.type.get_field_index(name) < 0:
            return Key(column, lacking)
        found = pc.struct_field(found, [name])
    return Key(column, found)


def rows_that_match(any_of: AnyOf, table: pa.Table, num_rows: int) -> NDArray[np.int64]:
    """The numbers of rows, of which a table has the whole columns of conditions that are there.
    Raises ValueTypeError."""
    keys = {
        each.column: _key_in(each.column, table, num_rows) for all_of in any_of for each in all_of
    }
    each_of = [
        reduce(operator.and_, [each.of(keys[each.column]) for each in all_of], _ALL)
        for all_of in any_of
    ]
    number, columns = _unlike(keys), {column: key.values for column, key in keys.items()}
    compared = pa.table({**columns, number: np.arange(num_rows)})
    rows: NDArray[np.int64] = compared.filter(reduce(operator.or_, each_of))[number].to_numpy()
    return rows


def _unlike(names: Iterable[str]) -> str:
    """A name that none of these is."""
    return "#" * (1 + max(map(len, names), default=0))


# ------------------------------------------------------------------------------------------------
# Filters

AnyOf = Sequence[Sequence[ArrowCondition]]


def conditions_of(filters: Any) -> AnyOf:
    """Filters as predicates.predicate_of takes them, which has checked them: one of these lists must hold. Raises
    ValueError for an operator that only engines have, ValueTypeError for null and NaN."""
    if isinstance(filters, Mapping):
        return [[_one_of(column, values) for column, values in filters.items()]]
    if all(isinstance(part[0], str) for part in filters):
        filters = [filters]
    return [[_condition(*each) for each in part] for part in filters]


def _condition(column: str, operator: str, value: Any) -> ArrowCondition:
    if operator not in _COMPARISONS:
        expected = ", ".join(_COMPARISONS)
        raise ValueError(f"filters: column {column}: {operator!r}, expected one of {expected}")
    if operator in ("in", "not in"):
        return _checked(column, _COMPARISONS[operator], list_values(value))
    return _checked(column, _COMPARISONS[operator], [value])


def _one_of(column: str, values: Any) -> ArrowCondition:
    return _checked(column, _is_in, list_values(values))


def _checked(column: str, compare: _Compare, values: Any) -> ArrowCondition:
    try:
        check_none_missing(values)
    except ValueTypeError as error:
        what = str(error).removeprefix("values: ")
        raise ValueTypeError(f"filters: column {column}: {what}") from None
    return ArrowCondition(column, compare, values)


def _is_in(compared: ComparedType, field: pc.Expression, values: Any) -> pc.Expression:
    found = compared.all_equal(values)
    return field.isin(found) if len(found) else _NONE


def _is_not_in(compared: ComparedType, field: pc.Expression, values: Any) -> pc.Expression:
    """Null is in no list, as for pyarrow."""
    return ~_is_in(compared, field, values)


def _is_equal(compared: ComparedType, field: pc.Expression, values: Any) -> pc.Expression:
    value = compared.equal(plain_value(values[0]))
    return _NONE if value is None else field == pa.scalar(value, compared.type)


def _is_unequal(compared: ComparedType, field: pc.Expression, values: Any) -> pc.Expression:
    return field.is_valid() & ~_is_equal(compared, field, values)


def _is_less(compared: ComparedType, field: pc.Expression, values: Any) -> pc.Expression:
    _, upper = compared.around(plain_value(values[0]))
    return field.is_valid() if upper is None else field < pa.scalar(upper, compared.type)


def _is_at_most(compared: ComparedType, field: pc.Expression, values: Any) -> pc.Expression:
    lower, _ = compared.around(plain_value(values[0]))
    return _NONE if lower is None else field <= pa.scalar(lower, compared.type)


def _is_greater(compared: ComparedType, field: pc.Expression, values: Any) -> pc.Expression:
    lower, _ = compared.around(plain_value(values[0]))
    return field.is_valid() if lower is None else field > pa.scalar(lower, compared.type)


def _is_at_least(compared: ComparedType, field: pc.Expression, values: Any) -> pc.Expression:
    _, upper = compared.around(plain_value(values[0]))
    return _NONE if upper is None else field >= pa.scalar(upper, compared.type)


_COMPARISONS: Final[Mapping[str, _Compare]] = {
    "=": _is_equal,
    "==": _is_equal,
    "!=": _is_unequal,
    "<": _is_less,
    "<=": _is_at_most,
    ">": _is_greater,
    ">=": _is_at_least,
    "in": _is_in,
    "not in": _is_not_in,
}
