"""Filters as users give them, as a tree of what can be decided by asking files.

    {"user_id": [42, 43], "country": "DE"}              all of these columns
    [("user_id", "in", [42, 43]), ("country", "==", "DE")]
    [[("user_id", "==", 42)], [("user_id", "==", 43)]]  one of these lists

Whatever cannot be decided (null and NaN among the values) is ANYTHING, which excludes no rows. `!=` and `not in` are
NotIn, of which only partitions can be asked. Whether a column can hold the values is asked file by file.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from parquet_bloom.container.conditions import OPERATORS, Compared, Condition, In
from parquet_bloom.values.given import each_once, is_missing, list_values, plain_value
from parquet_bloom.values.types import Days, TimestampNanos, literal

if TYPE_CHECKING:
    from parquet_bloom.container.protocols import Column
    from parquet_bloom.native.lazy import Array


class Anything:
    """All rows may match."""

    def __repr__(self) -> str:
        return "ANYTHING"


ANYTHING: Final = Anything()


class NotIn:
    """`column` is none of `values`, none of which is null."""

    __slots__ = ("column", "values")

    def __init__(self, column: str, values: Sequence[Any] | Array) -> None:
        self.column, self.values = column, values

    def __repr__(self) -> str:
        return f"NotIn({self.column!r}, {list(self.values)!r})"


class And:
    __slots__ = ("parts",)

    def __init__(self, parts: Sequence[Predicate]) -> None:
        self.parts = parts

    def __repr__(self) -> str:
        return f"And({list(self.parts)!r})"


class Or:
    __slots__ = ("parts",)

    def __init__(self, parts: Sequence[Predicate]) -> None:
        self.parts = parts

    def __repr__(self) -> str:
        return f"Or({list(self.parts)!r})"


Predicate: TypeAlias = "Condition | NotIn | And | Or | Anything"

_EXPECTED: Final = "a dictionary of columns and values, or a list of (column, operator, value)"
# Types of either format that hold no text, and those that hold nothing else.
_NOT_TEXT: Final = frozenset(
    {
        *("INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BOOLEAN"),
        *("BYTE", "SHORT", "INT", "LONG", "DATE", "TIMESTAMP", "TIMESTAMP_INSTANT"),
    }
)
_TEXT: Final = frozenset({"STRING", "CHAR", "VARCHAR"})
# What their values are in Python, for those who would write them as text.
_OF_PYTHON: Final = {
    "DATE": "datetime.date",
    "TIME": "datetime.time",
    "TIMESTAMP": "datetime.datetime",
    "TIMESTAMP_INSTANT": "datetime.datetime",
    "DECIMAL": "decimal.Decimal",
}

# Text that is neither a number, nor a date or a time; and a date as all write it.
_NEVER_OTHER: Final = re.compile(r"[^\W\d]")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_COMPARE: Final = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}

_UNDECIDED: Final = ("is", "is not")
_OF_ONE: Final = ("=", "==", "!=", *OPERATORS)


def predicate_of(filters: Any) -> Predicate:
    """The tree of what users gave. Raises TypeError for what is no such thing, as pyarrow's Expressions, into which
    nobody can look; ValueError for another operator."""
    if isinstance(filters, Mapping):
        return all_of([_one_of(column, values) for column, values in filters.items()])
    if isinstance(filters, str | bytes) or not isinstance(filters, Iterable):
        raise TypeError(f"filters: {_kind(filters)}, expected {_EXPECTED}")
    parts = list(filters)
    if not parts:
        raise ValueError(f"filters: none, expected {_EXPECTED}")
    if all(map(_is_condition, parts)):
        return all_of([_condition(*part) for part in parts])
    are_lists = not any(map(_is_condition, parts))
    for part in parts:
        if isinstance(part, str | bytes) or not isinstance(part, Sequence) or not part:
            raise TypeError(f"filters: {part!r}, expected {_EXPECTED}")
        for each in part if are_lists else [part]:
            if not _is_condition(each):
                raise TypeError(f"filters: {each!r}, expected (column, operator, value)")
    return any_of([all_of([_condition(*each) for each in part]) for part in parts])


def columns_of(filters: Any) -> tuple[str, ...]:
    """The columns of filters that predicate_of has taken, whatever is said of them."""
    if isinstance(filters, Mapping):
        return tuple(filters)
    are_conditions = all(map(_is_condition, filters))
    conditions = filters if are_conditions else [each for part in filters for each in part]
    return tuple(dict.fromkeys(column for column, _, _ in conditions))


def listed(filters: Any) -> Any:
    """The same with lists for iterators, which can be looked through only once."""
    if isinstance(filters, Mapping):
        return {column: _as_list(value) for column, value in filters.items()}
    parts = _as_list(filters)
    if _is_condition(parts):
        column, operator, values = parts
        return column, operator, _as_list(values)
    return [*map(listed, parts)] if isinstance(parts, tuple | list) else parts


def _as_list(values: Any) -> Any:
    return list(values) if isinstance(values, Iterator) else values


def all_of(parts: Sequence[Predicate]) -> Predicate:
    """Their conjunction."""
    known = [part for part in parts if part is not ANYTHING]
    return And(known) if len(known) > 1 else known[0] if known else ANYTHING


def any_of(parts: Sequence[Predicate]) -> Predicate:
    """Their disjunction."""
    if any(part is ANYTHING for part in parts):
        return ANYTHING
    return Or(parts) if len(parts) > 1 else parts[0]


def conditions_in(predicate: Predicate) -> list[Condition]:
    """All conditions of a tree that files can be asked about."""
    return [each for each in _leaves(predicate) if not isinstance(each, NotIn)]


def columns_in(predicate: Predicate) -> set[str]:
    """Those of which a tree says something."""
    return {each.column for each in _leaves(predicate)}


def _leaves(predicate: Predicate) -> list[Condition | NotIn]:
    if isinstance(predicate, And | Or):
        return [found for part in predicate.parts for found in _leaves(part)]
    return [] if isinstance(predicate, Anything) else [predicate]


def without(predicate: Predicate, columns: Collection[str]) -> Predicate:
    """The same if nothing is said about these columns."""
    return _changed(predicate, lambda each: ANYTHING if each.column in columns else each)


def besides(predicate: Predicate, known: Mapping[str, object], are_alike: AreAlike) -> Predicate:
    """What is left to ask about rows of which some columns are known: without alternatives that these exclude, which
    would not be asked for what the others say. What they do not decide is left, too."""
    match predicate:
        case And():
            return all_of([besides(part, known, are_alike) for part in predicate.parts])
        case Or():
            possible = [
                part for part in predicate.parts if holds(part, known, are_alike) is not False
            ]
            # Of none, whoever knows more may have one.
            return any_of([besides(part, known, are_alike) for part in possible] or [ANYTHING])
    return predicate if holds(predicate, known, are_alike) is None else ANYTHING


def askable(predicate: Predicate, partitions: Collection[str] = ()) -> Predicate:
    """The same if nothing is said of which only partitions can be asked, but about columns of these."""
    return _changed(
        predicate,
        lambda each: (
            ANYTHING if isinstance(each, NotIn) and each.column not in partitions else each
        ),
    )


def with_text_of_dates(predicate: Predicate, columns: Collection[str]) -> Predicate:
    """The same with dates as text, where it is about these columns."""

    def change(each: Condition | NotIn) -> Predicate:
        if each.column not in columns:
            return each
        if isinstance(each, Compared):
            return Compared(each.column, each.operator, text_of_date(each.value))
        return type(each)(each.column, tuple(map(text_of_date, each.values)))

    return _changed(predicate, change)


def text_of_date(value: Any) -> Any:
    """As `2026-11-29`, which orders as dates do; what is no date of a year of four digits as it is."""
    plain = plain_value(value)
    text = plain.text if isinstance(plain, Days) else str(plain) if type(plain) is date else ""
    return text if is_date(text) else value


def is_date(text: str) -> bool:
    """Whether it is one as all write it."""
    return _DATE.fullmatch(text) is not None


def _changed(predicate: Predicate, change: Callable[[Condition | NotIn], Predicate]) -> Predicate:
    match predicate:
        case And():
            return all_of([_changed(part, change) for part in predicate.parts])
        case Or():
            return any_of([_changed(part, change) for part in predicate.parts])
        case Anything():
            return ANYTHING
    return change(predicate)


def also_in_utc(predicate: Predicate) -> Predicate:
    """The same, and again with all moments without a zone in UTC, for a reader that compares them so with a column in
    UTC. Of such columns, only the latter excludes rows, of those of local time only the former: see `agreed`."""
    match predicate:
        case And():
            return all_of([also_in_utc(part) for part in predicate.parts])
        case Or():
            return any_of([also_in_utc(part) for part in predicate.parts])
        case In() | Compared() if (zoned := in_utc(predicate)) is not None:
            return And([predicate, zoned])
    return predicate


def in_utc(condition: Condition) -> Condition | None:
    """The same with all moments without a zone in UTC; None if there are none."""
    match condition:
        case In(values=tuple() as values):
            zoned = tuple(map(_in_utc, values))
            is_same = all(map(operator.is_, zoned, values))
            return None if is_same else In(condition.column, zoned)
        case Compared():
            value = _in_utc(condition.value)
            if value is not condition.value:
                return Compared(condition.column, condition.operator, value)
    return None


def _in_utc(value: Any) -> Any:
    """What is no moment without a zone as it is."""
    moment = plain_value(value)
    if isinstance(moment, TimestampNanos) and not moment.zoned:
        return replace(moment, zoned=True)
    if isinstance(moment, datetime) and moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    return value


def unlike(condition: Condition, column: Column) -> str | None:
    """What is surely a mistake: text for a column of numbers, or a number for one of text. Of several values, the
    first tells; what else a column cannot hold excludes nothing, as engines compare it in different ways."""
    value = condition.values[0] if isinstance(condition, In) and len(condition.values) else None
    value = plain_value(condition.value if isinstance(condition, Compared) else value)
    kind = column.logical_type or column.physical_type
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(value, str) and column.physical_type in _NOT_TEXT:
        of_python = _OF_PYTHON.get(kind.partition("(")[0])
        such_as = f", such as {of_python}" if of_python else ""
        return f"{value!r} is text, expected a value of {kind}{such_as}"
    if is_number and kind in _TEXT:
        return f"{value!r} is a number, expected text, as the column is {kind}"
    return None


# Whether all engines compare two values in the same way.
AreAlike: TypeAlias = Callable[[object, object], bool]


def holds(predicate: Predicate, known: Mapping[str, object], are_alike: AreAlike) -> bool | None:
    """Whether a row of which some columns are known matches; None if that cannot be said."""
    match predicate:
        case And():
            each = [holds(part, known, are_alike) for part in predicate.parts]
            return False if False in each else None if None in each else True
        case Or():
            each = [holds(part, known, are_alike) for part in predicate.parts]
            return True if True in each else None if None in each else False
        case In() if predicate.column in known:
            return _is_among(known[predicate.column], predicate.values, are_alike)
        case NotIn() if predicate.column in known:
            is_among = _is_among(known[predicate.column], predicate.values, are_alike)
            return None if is_among is None else not is_among
        case Compared() if predicate.column in known:
            value, other = known[predicate.column], plain_value(predicate.value)
            compare: Any = _COMPARE[predicate.operator]
            return bool(compare(value, other)) if are_alike(value, other) else None
    return None


def _is_among(value: object, values: Sequence[Any] | Array, are_alike: AreAlike) -> bool | None:
    others = [plain_value(each) for each in values]
    alike = [other for other in others if are_alike(value, other)]
    return True if value in alike else False if len(alike) == len(others) else None


def are_alike(value: object, other: object) -> bool:
    """Of values of one type, as of the partitions of a table: integers, text and dates."""
    return type(value) is type(other) and type(value) in (int, str, date)


def are_alike_in_names(value: object, other: object) -> bool:
    """Of the names of folders, which some engines take for dates and numbers: `2026-1-3` is `2026-01-03` to them."""
    return are_alike(value, other) and not (_may_be_other(value) or _may_be_other(other))


def _may_be_other(value: object) -> bool:
    """Whether an engine may take a text for what is also written in another way."""
    return isinstance(value, str) and not (_NEVER_OTHER.match(value) or is_date(value))


def _is_condition(part: object) -> bool:
    return isinstance(part, tuple | list) and len(part) == 3 and isinstance(part[0], str)


def _condition(column: str, operator: Any, value: Any) -> Predicate:
    if operator in _OF_ONE and isinstance(value, list | tuple | set | frozenset):
        others = "not in" if operator == "!=" else "in"
        raise TypeError(
            f"filters: column {column}: {operator} {value!r}, expected one value; {others} takes several"
        )
    if operator in ("=", "=="):
        return _one_of(column, value if _is_scalar(value) else [value])
    if operator == "in":
        if _is_scalar(value):
            raise TypeError(f"filters: column {column}: in {value!r}, expected a list of values")
        return _one_of(column, value)
    if operator in OPERATORS:
        _check(column, value)
        return ANYTHING if is_missing(value) else Compared(column, operator, value)
    if operator in ("!=", "not in"):
        among = _one_of(column, [value] if operator == "!=" else value)
        return NotIn(column, among.values) if isinstance(among, In) else ANYTHING
    if operator in _UNDECIDED:
        return ANYTHING
    expected = ", ".join(("==", "in", *OPERATORS, "!=", "not in"))
    raise ValueError(f"filters: column {column}: {operator!r}, expected one of {expected}")


def _one_of(column: Any, values: Any) -> Predicate:
    if not isinstance(column, str):
        raise TypeError(f"filters: {column!r}, expected the name of a column")
    if isinstance(values, set | frozenset):
        values = list(values)
    try:
        found = each_once(list_values(values))
    except TypeError as error:
        raise TypeError(f"filters: column {column}: {error}") from None
    if getattr(getattr(found, "dtype", None), "kind", "") in ("i", "u"):
        return In(column, found)
    values = tuple(found)
    for value in values:
        _check(column, value)
    # NaN is no value for some engines, and equals itself for others.
    return ANYTHING if any(map(is_missing, values)) else In(column, values)


def _is_scalar(value: object) -> bool:
    """Whether it is one value, which a comparison needs."""
    return isinstance(value, str | bytes | bytearray) or not isinstance(value, Iterable)


def _check(column: str, value: object) -> None:
    if isinstance(value, literal):
        raise TypeError(
            f"filters: column {column}: pb.literal, expected what engines compare it with"
        )


def _kind(filters: object) -> str:
    return type(filters).__name__
