"""The columns of a read that names none: those of the first file, in the order of paths, and those that the read
filters by, if only other files have them. They are the same whatever values are asked, and whichever files are left.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

from parquet_bloom.errors import ColumnError, UnsupportedError, quoted_name

if TYPE_CHECKING:
    from parquet_bloom.container.protocols import Askable

ColumnT = TypeVar("ColumnT")

# Of many files. Each is opened, and a name that is in none of them mostly is a mistake.
_MOST_ASKED: Final = 64


class Structs(NamedTuple, Generic[ColumnT]):
    """What tells the fields of a column that is a struct, None for others; and makes such a column have these."""

    fields_of: Callable[[ColumnT], Mapping[str, ColumnT] | None]
    with_fields: Callable[[ColumnT, Mapping[str, ColumnT]], ColumnT]

    def has(self, columns: Mapping[str, ColumnT], column: str) -> bool:
        """Whether a column is among these, or a field of one; of what is no struct, nobody looks for fields."""
        name = whole_column(column, columns)
        fields: Mapping[str, ColumnT] | None = columns
        inside = column.removeprefix(name).split(".")[1:]
        for each in (name, *inside):
            if fields is None:
                return True
            if each not in fields:
                return False
            fields = self.fields_of(fields[each])
        return True

    def joined(self, first: ColumnT, other: ColumnT) -> ColumnT:
        """The first, with those fields of the other that it lacks."""
        fields, others = self.fields_of(first), self.fields_of(other)
        if fields is None or others is None:
            return first
        of_both = {
            name: self.joined(each, others[name]) if name in others else each
            for name, each in fields.items()
        }
        added = {name: each for name, each in others.items() if name not in fields}
        return self.with_fields(first, of_both | added)


# Of columns of which only the names are known.
ONLY_NAMES: Final[Structs[None]] = Structs(lambda _: None, lambda first, _: first)


def with_filtered(
    first: Mapping[str, ColumnT],
    filtered: Iterable[str],
    others: Iterable[Mapping[str, ColumnT]],
    structs: Structs[ColumnT],
) -> dict[str, ColumnT]:
    """The columns of the first file by their names, and behind them those of `others` that are `filtered` by, be it
    as fields of structs. No more of the others are looked at than it takes; what none has is left out."""
    found = dict(first)
    lacking = [column for column in filtered if not structs.has(found, column)]
    for columns in others if lacking else ():
        for column in lacking:
            name = whole_column(column, columns)
            if name not in found and name in columns:
                found[name] = columns[name]
            elif name in found and structs.has(columns, column):
                found[name] = structs.joined(found[name], columns[name])
        lacking = [column for column in lacking if not structs.has(found, column)]
        if not lacking:
            break
    return found


def whole_column(column: str, names: Collection[str]) -> str:
    """That of a file with these whole columns of which `column` is a field, or which it is itself."""
    return column if column in names else column.partition(".")[0]


def is_in_list(file: Askable, column: str) -> bool:
    """Whether a column of this name, or one that is in it, is in a list or a map, or is one."""
    inside = f"{column}."
    if any(each.startswith(inside) and file.column(each).is_in_list for each in file.columns):
        return True
    try:
        return file.column(column).is_in_list
    except ColumnError:
        return False


def is_lacking(file: Askable, column: str) -> bool:
    """Whether a column, be it one with others in it or a field of one,
    is null in all rows of a file as that has none of this very name."""
    names, inside = file.columns, f"{column}."
    if column in names or any(each.startswith(inside) for each in names):
        return False
    told = file.answer_to_all(column)
    if told is not None:
        return told.verdict == "absent"
    try:
        file.column(column)
    except ColumnError:
        return True
    return False


def check_by_name(file: Askable, columns: Iterable[str]) -> None:
    """Raise UnsupportedError for one of several columns of the same name, and for one that is named by its index:
    rows are read by names, and what no name means would be taken for null."""
    names = file.top_columns
    for column in columns:
        whole = whole_column(column, names)
        if (count := names.count(whole)) > 1:
            problem = f"{count} columns have the name {quoted_name(whole)}"
        elif (count := file.columns.count(column)) > 1:
            # One is a field of a struct.
            problem = f"{count} columns have this name"
        elif whole not in names and ":" not in whole and not is_lacking(file, column):
            # A field of a VARIANT, such as v:a, is refused where it is asked for.
            problem = "named by its index"
        else:
            continue
        by_index = "" if file.units.has_groups else "; pb.find takes an index, such as #0"
        raise UnsupportedError(
            f"{file.path}: column {column}: {problem}, expected a name that no other column has, as rows are read by"
            f" names{by_index}"
        )


def telling(paths: Sequence[str]) -> list[str]:
    """The files that are asked for columns, in this order: the first, and from the last on, in which those mostly are
    that a lake got later, some that are spread over all."""
    others = paths[:0:-1]
    return [*paths[:1], *others[:: len(others) // _MOST_ASKED + 1]]
