"""What an index says about the conditions of a predicate: for each file that it knows as it is now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from parquet_bloom.container.conditions import Condition, In
from parquet_bloom.errors import ValueTypeError
from parquet_bloom.index.asking import AskedIndex
from parquet_bloom.index.kinds import is_agreed
from parquet_bloom.index.units import Unit


class ListedFiles(Protocol):
    """Files that an index is asked about."""

    def given(self, path: str) -> str:
        """What a file is called that an index has by this path."""

    def is_known(self, unit: Unit, column: str, read_as: str) -> bool:
        """Whether a file is as it was when an index read it, or was when it was last there, and this column of it
        meant the same."""


class _Places(NamedTuple):
    """`known`: files, as they are called, and what the index calls the state that each is in. `parts`: by file, the
    row groups that may have such rows, None for all; a file that is known and not there has none."""

    known: dict[str, set[str]]
    parts: dict[str, set[int] | None]


class Indexed:
    """Answers to conditions, looked up at once. Raises FormatError for damage, OSError."""

    def __init__(
        self, asked: AskedIndex, conditions: Sequence[Condition], files: ListedFiles
    ) -> None:
        self.columns = asked.manifest.columns
        # What an id stands for must not go meanwhile.
        self._conditions = conditions
        self._found = {
            id(condition): found
            for condition in conditions
            if isinstance(condition, In)
            and (found := _looked_up(asked, condition, files)) is not None
        }

    def left(self, condition: Condition, path: str) -> tuple[tuple[int, ...] | None, bool]:
        """The row groups of a file that may have such rows, None for all; and whether the index knows."""
        places = self._found.get(id(condition))
        if places is None or path not in places.known:
            return None, False
        parts = places.parts.get(path, set())
        return None if parts is None else tuple(sorted(parts)), True


def _looked_up(asked: AskedIndex, condition: In, files: ListedFiles) -> _Places | None:
    """None if the index cannot be asked."""
    column = condition.column
    # Those without places have no kind, and say nothing about their files.
    kinds = {each.about.kind for each in asked.of_column(column) if each.places is not None}
    if not kinds or not all(is_agreed(kind, condition.values) for kind in kinds):
        return None
    try:
        found = asked.look_up(column, condition.values)
    except ValueTypeError:
        return None
    if found.not_asked:
        return None
    known: dict[str, set[str]] = {}
    for unit, read_as in asked.units(column):
        if files.is_known(unit, column, read_as):
            known.setdefault(files.given(unit.path), set()).add(unit.version)
    for unit in found.unknown_of_some:
        known.pop(files.given(unit.path), None)
    parts: dict[str, set[int] | None] = {}
    is_whole = asked.places == "file"
    places = [each for hits in found.hits for each in hits.distinct_places]
    for unit, place in places:
        path = files.given(unit.path)
        if unit.version in known.get(path, ()):
            numbers = parts.setdefault(path, None if is_whole else set())
            if numbers is not None:
                numbers.add(unit.row_group + (place if asked.places == "row-group" else 0))
    for unit in found.unknown_parts:
        numbers = parts.setdefault(files.given(unit.path), set())
        if numbers is not None:
            numbers.add(unit.row_group)
    return _Places(known, parts)
