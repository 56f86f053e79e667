"""Whether values may be missing because bytes of pages have changed, and not the filter,
which is the only trace then."""

from __future__ import annotations

from functools import cached_property
from itertools import accumulate
from typing import Final, Protocol

from parquet_bloom.container import Place
from parquet_bloom.container.protocols import Overview
from parquet_bloom.rules.finding import Finding

MAY_HAVE_CHANGED: Final = "bytes of the pages may have changed, and not the filter"


class WithIndexGroups(Overview, Protocol):
    """A file of which some formats have index groups of so many rows."""

    @property
    def row_index_stride(self) -> int | None: ...


class LikeDamage:
    """Tells findings in `file` whose missing rows are like those that damage leaves,
    and not like those of writers."""

    def __init__(self, file: WithIndexGroups) -> None:
        self._file = file

    def __call__(self, found: Finding) -> bool:
        if found.place is None or found.rows is None:
            return False
        first, end = self._rows_of(found.place)
        return found.rows.are_like_damage(first, end - first)

    def or_few(self, found: Finding) -> bool:
        """The same, or few, which may be damage or what a writer left out."""
        if found.place is None or found.rows is None:
            return False
        first, end = self._rows_of(found.place)
        return found.rows.may_be_damage(first, end - first)

    def _rows_of(self, place: Place) -> tuple[int, int]:
        """The first row of a place, and the one behind its last."""
        first, end = self._starts[place.part : place.part + 2]
        size = self._file.row_index_stride
        if place.group is not None and size:
            first += place.group * size
            end = min(end, first + size)
        return first, end

    @cached_property
    def _starts(self) -> list[int]:
        """The first row of each part in the file, and behind the last one how many there are."""
        return list(accumulate(self._file.part_rows, initial=0))


def where_missing(found: Finding) -> str:
    """`in row 17`, `in rows 17 to 30`: what nobody can tell once the filter is another."""
    assert found.rows is not None
    first, last = found.rows.first, found.rows.last
    return f"in row {first}" if first == last else f"in rows {first} to {last}"
