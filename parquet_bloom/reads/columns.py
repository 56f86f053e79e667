"""The columns of a read that names none: those of the first file, in the order of paths, and those that the read filters
by, if only other files have them. They are the same whatever values are asked, and whichever files are left.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from parquet_bloom.errors import ColumnError

if TYPE_CHECKING:
    from parquet_bloom.container.protocols import Askable

ColumnT = TypeVar("ColumnT")

# Of many files. Each is opened, and a name that is in none of them mostly is a mistake.
_MOST_ASKED: Final = 64


def with_filtered(
    first: Mapping[str, ColumnT],
    filtered: Iterable[str],
    others: Iterable[Mapping[str, ColumnT]],
) -> dict[str, ColumnT]:
    """The columns of the first file by their names, and behind them those of `others` that are `filtered` by. No more
    of the others are looked at than it takes; what none has is left out."""
    found = dict(first)
    lacking = [column for column in filtered if whole_column(column, found) not in found]
    for columns in others if lacking else ():
        names = [whole_column(column, columns) for column in lacking]
        found |= {name: columns[name] for name in names if name in columns}
        lacking = [column for column in lacking if whole_column(column, found) not in found]
        if not lacking:
            break
    return found


def whole_column(column: str, names: Collection[str]) -> str:
    """That of a file with these whole columns of which `column` is a field, or which it is itself."""
    return column if column in names else column.partition(".")[0]


def is_in_list(file: Askable, column: str) -> bool:
    """Whether a column of this very name, or one that is in it, is in a list or a map, or is one."""
    inside = f"{column}."
    return any(
        (each == column or each.startswith(inside)) and file.column(each).is_in_list
        for each in file.columns
    )


def is_lacking(file: Askable, column: str) -> bool:
    """Whether a column, be it one with others in it or a field of one, is null in all rows of a file as that has none of
    this very name."""
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


def telling(paths: Sequence[str]) -> list[str]:
    """The files that are asked for columns, in this order: the first, and from the last on, in which those mostly are
    that a lake got later, some that are spread over all."""
    others = paths[:0:-1]
    return [*paths[:1], *others[:: len(others) // _MOST_ASKED + 1]]
