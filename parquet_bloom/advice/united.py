"""The files of a Delta or Iceberg table as one, whatever columns some of them lack.

The table says what columns there are, and that one which a file lacks is null in it. So each column is judged by all
files that have it, as where a table has got another column:

    6 files    user_id  amount              7 files    user_id    amount     order_id
    1 file     user_id  amount  order_id               of all 7   of all 7   of 1

Where files have a column otherwise, as an INT32 that is an INT64 by now, equal values have other hashes there, and
these files stay apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from parquet_bloom.advice.sketch import ColumnSketch, Subject, TableSketch, UnreadFiles
from parquet_bloom.advice.table import ColumnShape
from parquet_bloom.dataclass import dataclass


class FilesAlike(NamedTuple):
    """Files with the same columns: the shapes of these, in the order in which the sketch has them."""

    shapes: Sequence[ColumnShape]
    sketch: TableSketch


@dataclass(frozen=True, slots=True)
class UnitedTable:
    """Files that are judged together: the sketch of all of them; `places`: by the key of those with the same columns,
    where it has these. Its own key is the first."""

    sketch: TableSketch
    places: Mapping[str, Sequence[int]]

    @classmethod
    def alone(cls, sketch: TableSketch) -> UnitedTable:
        """Of files with the same columns."""
        return cls(sketch, {sketch.key: range(len(sketch.columns))})


class _Group:
    """Files that can be judged together; `shapes`: of all their columns, by name."""

    def __init__(self) -> None:
        self.parts: list[FilesAlike] = []
        self.shapes: dict[str, set[ColumnShape]] = {}
        self.num_files = 0

    def has_room_for(self, shapes: Mapping[str, set[ColumnShape]]) -> bool:
        """Whether no column is of another shape here."""
        return all(self.shapes.get(name, own) == own for name, own in shapes.items())

    def add(self, part: FilesAlike, shapes: Mapping[str, set[ColumnShape]]) -> None:
        self.parts.append(part)
        self.shapes.update(shapes)
        self.num_files += part.sketch.files


def fitting(parts: Iterable[FilesAlike]) -> Sequence[Sequence[FilesAlike]]:
    """Files of one table in groups, in each of which a column has one shape; the same, in whatever order they come.
    Those with the most columns come first. One that fits several groups goes to that with the most files."""
    groups: list[_Group] = []
    for part in sorted(parts, key=lambda each: (-len(each.shapes), *_order(each))):
        shapes: dict[str, set[ColumnShape]] = {}
        for shape in part.shapes:
            shapes.setdefault(shape[0], set()).add(shape)
        with_room = [group for group in groups if group.has_room_for(shapes)]
        if not with_room:
            groups.append(_Group())
        group = max(with_room or groups[-1:], key=lambda each: each.num_files)
        group.add(part, shapes)
    return [group.parts for group in groups]


def united(group: Sequence[FilesAlike]) -> UnitedTable:
    """What `fitting` has put together, which is left as it is."""
    widest = group[0].sketch
    if len(group) == 1:
        return UnitedTable.alone(widest)
    place: dict[ColumnShape, int] = {}
    columns: list[ColumnSketch] = []
    for shapes, sketch in group:
        for shape, column in zip(shapes, sketch.columns, strict=True):
            # The first have the most columns, and keep the least of each.
            if place.setdefault(shape, len(columns)) == len(columns):
                columns.append(column)
    places = {sketch.key: [place[shape] for shape in shapes] for shapes, sketch in group}
    whole = replace(
        widest,
        path=min(sketch.path for _, sketch in group),
        subjects=_subjects(group, place),
        columns=[ColumnSketch(each.sample.for_next_file(), len(columns)) for each in columns],
        unread=[UnreadFiles() for _ in columns],
        elsewhere={},
        files=0,
        num_rows=0,
        num_groups=0,
        size=0,
        obstacles=(),
        requests=None,
    )
    having = [0] * len(columns)
    for _, sketch in group:
        whole.merge_at(places[sketch.key], sketch)
        for number in places[sketch.key]:
            having[number] += sketch.files
    for unread, files in zip(whole.unread, having, strict=True):
        if unread.files == files:
            # Those that lack the column can have no filters of it, either.
            unread.files = whole.files
    return UnitedTable(whole, places)


def _order(part: FilesAlike) -> tuple[str, str]:
    return part.sketch.path, part.sketch.key


def _subjects(group: Iterable[FilesAlike], columns: Iterable[ColumnShape]) -> tuple[Subject, ...]:
    """Of each of the columns, as the first file has it that has it."""
    found: dict[ColumnShape, Subject] = {}
    for shapes, sketch in sorted(group, key=_order, reverse=True):
        found.update(zip(shapes, sketch.subjects, strict=True))
    return tuple(found[each] for each in columns)
