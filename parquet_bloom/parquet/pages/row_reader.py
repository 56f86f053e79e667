"""Reads single rows of a file: of each column only the pages that hold them,
where an OffsetIndex says which these are.

Columns whose pages cover the same rows are decoded together, and row groups that are small. Without an OffsetIndex,
or with one that is not right, and of encrypted columns, the headers of all pages say it; groups of several leaf
columns, and then also lists, are read whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from parquet_bloom.errors import ColumnError, PageError, ParquetBloomError, placing
from parquet_bloom.parquet.filters.ahead import pages_range
from parquet_bloom.parquet.footer.top_fields import TopField
from parquet_bloom.parquet.pages.carving import (
    CutGroup,
    CutPages,
    cut_pages,
    cut_rows,
    cut_whole,
    decoded,
)
from parquet_bloom.parquet.pages.page_places import PagePlaces, page_places, will_read_places
from parquet_bloom.parquet.pages.pages import located

if TYPE_CHECKING:
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
    from parquet_bloom.parquet.footer.layout import Range
    from parquet_bloom.parquet.footer.schema import LeafColumn
    from parquet_bloom.parquet.open_file import OpenFile


# Row groups that take at most so much to decode are decoded together.
_ROOM_TOGETHER: Final = 32 << 20


class _Piece(NamedTuple):
    """What is read of a field in a row group: these `pages` of its only chunk, or all of all its chunks."""

    field: TopField
    chunks: tuple[ColumnChunk, ...]
    num_rows: int
    places: PagePlaces | None = None
    pages: Sequence[int] = ()

    def ranges(self, file: OpenFile) -> Iterator[Range]:
        if self.places is None:
            yield from (pages_range(file, chunk) for chunk in self.chunks)
        else:
            yield from self.places.ranges(self.pages)

    def cut(self, file: OpenFile, rows: Sequence[int]) -> _Cut:
        if self.places is not None:
            # Unless the page index is not right, or a page is damaged. Without the one, we know.
            with suppress(PageError):
                return _Cut(self, [cut_pages(file, self.chunks[0], self.places, self.pages)])
        return self.cut_anyway(file, rows)

    def cut_anyway(self, file: OpenFile, rows: Sequence[int]) -> _Cut:
        """Without a page index."""
        if len(self.chunks) == 1 and self.chunks[0].leaf.max_repetition_level == 0:
            return _Cut(self, [cut_rows(file, self.chunks[0], rows)])
        return _Cut(self, [cut_whole(file, chunk) for chunk in self.chunks])


class _Cut(NamedTuple):
    """Pages of all chunks of a piece, which cover the same rows."""

    piece: _Piece
    chunks: Sequence[CutPages]

    @property
    def covered(self) -> tuple[Range, ...]:
        return self.chunks[0].covered


def will_read_rows(
    file: OpenFile, columns: Sequence[str], parts: Iterable[int], leaf: LeafColumn | None
) -> None:
    """Read the page indexes of those of `columns` that are there, and of a leaf column, if the file is remote. Raises
    OSError."""
    if not file.source.is_remote:
        return
    top, all_leaves = file.footer.top_fields, file.footer.leaves
    there = {*columns} & {*top.names(all_leaves)}
    fields = top.find(all_leaves, there)
    leaves = [all_leaves[field.first_leaf] for field in fields if field.num_leaves == 1]
    if leaf is not None:
        leaves.append(leaf)
    will_read_places(file, [chunk for part in parts for chunk in file.chunks(part, leaves)])


def read_rows(
    file: OpenFile, columns: Sequence[str], rows: Mapping[int, Sequence[int]]
) -> pa.Table:
    """These rows of each row group, ascending, in top-level columns, named as they are asked for. Without any rows,
    the table says of which types the columns are.

    Raises ColumnError if there is no such column, PageError for damage, UnsupportedError, EncryptionError, OSError.
    """
    try:
        fields = file.footer.top_fields.find(file.footer.leaves, columns)
    except ColumnError as error:
        raise ColumnError(f"{file.path}: {error}") from None
    if not fields:
        return pa.table({})
    if not any(map(len, rows.values())):
        with placing(file.path, {ParquetBloomError: None}):
            nothing = decoded(file.footer, fields, (), np.empty(0, np.int64))
        return _beside(columns, [(nothing, at) for at in range(len(fields))])
    pieces = _pieces(file, fields, rows)
    if file.source.is_remote:
        file.source.will_read(
            span for each in pieces.values() for piece in each for span in piece.ranges(file)
        )
    parts = (_cut(file, pieces[part], rows[part]) for part in pieces)
    return pa.concat_tables([_values(file, columns, fields, some) for some in _together(parts)])


def _pieces(
    file: OpenFile, fields: Sequence[TopField], rows: Mapping[int, Sequence[int]]
) -> dict[int, list[_Piece]]:
    """What is read of each row group."""
    footer = file.footer
    pieces = {
        part: [
            _Piece(
                field,
                tuple(file.chunks(part, field.leaves_in(footer.leaves))),
                footer.row_group_num_rows(part),
            )
            for field in fields
        ]
        for part, wanted in rows.items()
        if len(wanted)
    }
    will_read_places(
        file,
        [piece.chunks[0] for each in pieces.values() for piece in each if len(piece.chunks) == 1],
    )
    return {
        part: [_narrowed(file, piece, rows[part]) for piece in each]
        for part, each in pieces.items()
    }


def _narrowed(file: OpenFile, piece: _Piece, rows: Sequence[int]) -> _Piece:
    """Only the pages that hold these rows, if anything says which these are."""
    if len(piece.chunks) > 1 or len(rows) == piece.num_rows:
        return piece
    places = page_places(file, piece.chunks[0])
    if places is None or len(places) == 1:
        return piece
    return piece._replace(places=places, pages=places.pages_of(rows))


class _Part(NamedTuple):
    """A row group: the rows that are wanted, and pages that hold them, those together that cover the same rows."""

    rows: Sequence[int]
    sets: Sequence[Sequence[_Cut]]

    @property
    def fields(self) -> list[list[int]]:
        """The numbers of those that are together."""
        return [[cut.piece.field.number for cut in cuts] for cuts in self.sets]

    @property
    def apart(self) -> _Part:
        """The same with each field by itself."""
        return self._replace(sets=[[cut] for cuts in self.sets for cut in cuts])

    @property
    def pieces(self) -> list[_Piece]:
        return [cut.piece for cuts in self.sets for cut in cuts]

    @property
    def pages(self) -> Iterator[CutPages]:
        """Those of each chunk."""
        return (chunk for cuts in self.sets for cut in cuts for chunk in cut.chunks)


def _cut(file: OpenFile, pieces: Sequence[_Piece], rows: Sequence[int]) -> _Part:
    together: dict[tuple[Range, ...], list[_Cut]] = {}
    for piece in pieces:
        cut = piece.cut(file, rows)
        together.setdefault(cut.covered, []).append(cut)
    return _Part(rows, [*together.values()])


def _together(parts: Iterable[_Part]) -> Iterator[list[_Part]]:
    """Neighbours that are cut alike, as long as they take little to decode. Not if rows that one lacks could be taken
    from the next."""
    some: list[_Part] = []
    room = 0
    for part in parts:
        needed = sum(pages.room for pages in part.pages)
        room += needed
        is_alike = not some or part.fields == some[-1].fields
        if some and not (is_alike and room <= _ROOM_TOGETHER and _tell_rows(some[-1], part)):
            yield some
            some, room = [], needed
        some.append(part)
    yield some


def _tell_rows(*parts: _Part) -> bool:
    return all(pages.tells_rows for part in parts for pages in part.pages)


def _values(
    file: OpenFile, columns: Sequence[str], fields: Sequence[TopField], parts: Sequence[_Part]
) -> pa.Table:
    """The rows of row groups that are cut alike."""
    try:
        found: dict[int, tuple[pa.Table, int]] = {}
        for sets in zip(*(part.sets for part in parts), strict=True):
            found |= _decoded(file, sets, [part.rows for part in parts])
    except PageError:
        if len(parts) > 1:
            # Each says by itself that it is damaged, and each column of it.
            return pa.concat_tables([_values(file, columns, fields, [part]) for part in parts])
        if any(len(cuts) > 1 for cuts in parts[0].sets):
            return _values(file, columns, fields, [parts[0].apart])
        if all(piece.places is None for piece in parts[0].pieces):
            raise
        pieces = [piece._replace(places=None) for piece in parts[0].pieces]
        return _values(file, columns, fields, [_cut(file, pieces, parts[0].rows)])
    file.pages_read += sum(pages.num_pages for part in parts for pages in part.pages)
    return _beside(columns, [found[field.number] for field in fields])


def _decoded(
    file: OpenFile, sets: Sequence[Sequence[_Cut]], rows: Sequence[Sequence[int]]
) -> dict[int, tuple[pa.Table, int]]:
    """By the numbers of the same fields in each row group, the table and the column in it that has their rows."""
    groups, positions, before = [], [], 0
    for cuts, wanted in zip(sets, rows, strict=True):
        covered = cuts[0].covered
        num_rows = sum(behind - first for first, behind in covered)
        groups.append(CutGroup(num_rows, [cut.chunks for cut in cuts]))
        positions.append(_positions(covered, wanted) + before)
        before += num_rows
    fields = [cut.piece.field for cut in sets[0]]
    with located(file.footer, sets[0][0].chunks[0].chunk):
        table = decoded(file.footer, fields, groups, np.concatenate(positions))
    return {field.number: (table, at) for at, field in enumerate(fields)}


def _positions(covered: Sequence[Range], rows: Sequence[int]) -> NDArray[np.int64]:
    """Where rows are among those that ranges cover."""
    wanted = np.asarray(rows, np.int64)
    if len(covered) == 1:
        return wanted - covered[0][0]
    firsts = np.array([first for first, _ in covered])
    before = np.array([0, *accumulate(behind - first for first, behind in covered)])
    ranges = np.searchsorted(firsts, wanted, "right") - 1
    positions: NDArray[np.int64] = wanted - firsts[ranges] + before[ranges]
    return positions


def _beside(names: Sequence[str], columns: Sequence[tuple[pa.Table, int]]) -> pa.Table:
    """Columns of tables side by side, under other names."""
    fields = [
        table.schema.field(at).with_name(name)
        for name, (table, at) in zip(names, columns, strict=True)
    ]
    return pa.table([table.column(at) for table, at in columns], pa.schema(fields))
