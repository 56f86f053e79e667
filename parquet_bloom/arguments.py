"""What public functions are given, as the types that the rest expects: TypeError for a wrong guess,
before a file is opened."""

from __future__ import annotations

import errno
import operator
import os
from collections.abc import Iterable, Mapping
from math import inf
from numbers import Real
from typing import Any, TypeVar

# What a public function takes for one name or number, or several.
SomeNames = str | Iterable[str]
SomeNumbers = int | Iterable[int]

PATH_OR_URL = "one path or URL"
OrNone = TypeVar("OrNone", tuple[str, ...] | None, tuple[int, ...] | None)

_NAMES = "a name or a list of names"
_NUMBERS = "a number or a list of numbers"
_PATHS = "a path or a list of paths"


def names_given(argument: str, names: SomeNames | None) -> tuple[str, ...] | None:
    """Names, such as those of columns; text is one name, None stands for all. Raises TypeError for
    anything that is not text."""
    if names is None:
        return None
    items = [names] if isinstance(names, str) else _items(argument, names, _NAMES)
    for item in items:
        if not isinstance(item, str):
            raise TypeError(f"{argument}: {_shown(item)}, expected {_NAMES}")
    return tuple(items)


def name_given(argument: str, name: str) -> str:
    """One name. Raises TypeError for anything that is not text."""
    if not isinstance(name, str):
        raise TypeError(f"{argument}: {_shown(name)}, expected one name")
    return name


def numbers_given(argument: str, numbers: SomeNumbers | None) -> tuple[int, ...] | None:
    """Numbers, such as those of row groups, None for all. Raises TypeError for anything else."""
    if numbers is None:
        return None
    if not isinstance(numbers, Iterable) or isinstance(numbers, str):
        return (number_given(argument, numbers, _NUMBERS),)
    items = _items(argument, numbers, _NUMBERS)
    return tuple(number_given(argument, item, _NUMBERS) for item in items)


def number_given(argument: str, number: Any, expected: str = "a whole number") -> int:
    """One number. Raises TypeError for anything but an integer."""
    try:
        if not isinstance(number, bool):
            return operator.index(number)
    except TypeError:
        pass
    raise TypeError(f"{argument}: {_shown(number)}, expected {expected}")


def number_if_given(argument: str, number: int | None) -> int | None:
    """One number, None for the default. Raises TypeError."""
    return None if number is None else number_given(argument, number)


def threads_given(threads: int | None) -> int | None:
    """How many threads, None for the default. Raises TypeError, ValueError for fewer than one."""
    number = number_if_given("threads", threads)
    if number is not None and number < 1:
        raise ValueError(f"threads: {number}, expected 1 or more")
    return number


def rate_given(argument: str, rate: Any) -> float | None:
    """A rate as any kind of number, None for the default. Raises TypeError for anything else."""
    if rate is None or (isinstance(rate, int | float) and not isinstance(rate, bool)):
        return rate
    try:
        if not isinstance(rate, bool | str | bytes | bytearray):
            return float(rate)
    except (TypeError, ValueError):
        pass
    raise TypeError(f"{argument}: {_shown(rate)}, expected a number")


def flag_given(argument: str, flag: object) -> bool:
    """True or False. Raises TypeError for anything else: 'no' is true, too."""
    if not isinstance(flag, bool):
        raise TypeError(f"{argument}: {_shown(flag)}, expected True or False")
    return flag


def seconds_given(argument: str, seconds: float, least: float = 0) -> None:
    """Raise TypeError for what is no number, ValueError for less than `least`, or without end."""
    if isinstance(seconds, bool) or not isinstance(seconds, Real):
        raise TypeError(f"{argument}: {_shown(seconds)}, expected a number of seconds")
    if not least <= seconds < inf:
        raise ValueError(f"{argument}: {seconds}, expected {least:.0f} or more seconds")


def columns_given(columns: SomeNames | None) -> tuple[str, ...] | None:
    """The names of columns, None for all. Raises TypeError, ValueError for none at all: the answer would
    be about nothing, and read as one about the file."""
    return _some("columns", names_given("columns", columns))


def columns_needed(columns: SomeNames | None) -> tuple[str, ...]:
    """The names of columns, of which there must be some. Raises as columns_given."""
    return columns_given(() if columns is None else columns) or ()


def row_groups_given(row_groups: SomeNumbers | None) -> tuple[int, ...] | None:
    """The numbers of row groups or stripes, None for all. Raises as columns_given."""
    return _some("row_groups", numbers_given("row_groups", row_groups))


def _some(argument: str, items: OrNone) -> OrNone:
    if items == ():
        raise ValueError(f"{argument}: none, expected at least one")
    return items


def path_given(argument: str, path: object, expected: str = "one path") -> str:
    """A path. Raises TypeError for anything but text and os.PathLike."""
    if isinstance(path, str | os.PathLike):
        name = os.fspath(path)
        if isinstance(name, str):
            return name
    # A table of deltalake has the name that is expected.
    hint = ": its table_uri is one" if hasattr(path, "table_uri") else ""
    raise TypeError(f"{argument}: {_shown(path)}, expected {expected}, as str or os.PathLike{hint}")


def paths_given(argument: str, paths: object) -> list[str]:
    """One path, or several. Raises TypeError as path_given."""
    # What is in a table are the names of its columns, or these.
    is_data = hasattr(paths, "read") or hasattr(type(paths), "columns")
    if is_data or isinstance(paths, str | os.PathLike) or not isinstance(paths, Iterable):
        return [path_given(argument, paths, _PATHS)]
    return [path_given(argument, path, _PATHS) for path in _items(argument, paths, _PATHS)]


def files_given(argument: str, files: object) -> list[str]:
    """One file, folder or glob, or several. Raises TypeError as path_given, FileNotFoundError for an empty list: what
    is true of no file would read as true of all."""
    names = paths_given(argument, files)
    if not names:
        raise FileNotFoundError(errno.ENOENT, f"{argument}: none, expected at least one")
    return names


def mapping_given(argument: str, items: object, expected: str) -> dict[str, Any]:
    """A dictionary by name. Raises TypeError for anything else, without what may be secret in it."""
    if not isinstance(items, Mapping) or not all(isinstance(name, str) for name in items):
        raise TypeError(f"{argument}: a {type(items).__name__}, expected {expected} by name")
    return dict(items)


def _items(argument: str, items: object, expected: str) -> list[Any]:
    """The items of a list, or of a numpy or pyarrow array."""
    if not isinstance(items, Iterable) or isinstance(items, Mapping | bytes):
        raise TypeError(f"{argument}: {_shown(items)}, expected {expected}")
    return items.to_pylist() if hasattr(items, "to_pylist") else list(items)


def _shown(given: object) -> str:
    """`5`, or `a DataFrame` of what takes several lines."""
    text = repr(given)
    return f"a {type(given).__name__}" if "\n" in text else text
