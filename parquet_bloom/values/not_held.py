"""Values that a column cannot hold, in one line: all that are wrong in a list take one run to see,
and not one each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from parquet_bloom.values.types import CANNOT_BE, LiteralInFile, TextInFile

if TYPE_CHECKING:
    from parquet_bloom.native.lazy import Array

# So many are named.
_MOST: Final = 3


def in_one_line(problems: Mapping[int, str], values: Sequence[Any] | Array) -> str:
    """`ids: line 2: abc: cannot be a value of INT64: expected an integer; nor can line 3: 1.5, line 7: x, … (9 in
    all)`. `problems`: why a column cannot hold some of the values, by their positions; at least one."""
    first, *others = islice(problems.items(), _MOST)
    named = ", ".join(_named(problem, values[at]) for at, problem in others)
    more = f", … ({len(problems):,} in all)" * (len(problems) > _MOST)
    return f"{first[1]}; nor can {named}{more}" if named else first[1]


def _named(problem: str, value: object) -> str:
    """The value that a problem is about; of one in a file, the line or row, as the first names the file."""
    subject, _, _ = problem.partition(CANNOT_BE)
    if isinstance(value, LiteralInFile | TextInFile):
        return subject.removeprefix(f"{value.file}: ")
    return subject
