"""The rows of a column chunk that hold one of several values: the last question, behind filters and indexes.

Rows whose hash is that of a value are looked at byte by byte. A value can be stored as other bytes than usual; where
a type allows for that, each row is compared in every form that build would insert.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.container import FoundIn
from parquet_bloom.errors import PageError
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.filters.ahead import pages_range
from parquet_bloom.parquet.filters.asked import Asked
from parquet_bloom.parquet.filters.insertion import is_stored_unusually, with_specials
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.open_file import OpenFile
from parquet_bloom.parquet.pages.page_places import PagePlaces, page_places, will_read_places
from parquet_bloom.parquet.pages.pages import (
    ChunkRun,
    PageRows,
    check_readable,
    located,
    page_rows,
    rows_of_pages,
)
from parquet_bloom.parquet.pages.runs import Run, run_of
from parquet_bloom.values.encode import not_looked_for
from parquet_bloom.values.types import LeafType
from parquet_bloom.vocabulary import NOT_HELD

if TYPE_CHECKING:
    from parquet_bloom.parquet.footer.layout import Range
    from parquet_bloom.parquet.footer.schema import LeafColumn


Pairs: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]
_NONE: Final[Pairs] = np.empty(0, np.intp), np.empty(0, np.intp)


def _joined(parts: Sequence[Pairs]) -> Pairs:
    positions, owners = zip(_NONE, *parts, strict=True)
    return np.concatenate(positions), np.concatenate(owners)


class _Looked(NamedTuple):
    """A chunk to look into: into all of its pages, unless there are `places` of some."""

    chunk: ColumnChunk
    wanted: Collection[int] | None
    places: PagePlaces | None = None

    @property
    def pages(self) -> list[int]:
        return sorted(self.wanted or ())

    def ranges(self, file: OpenFile) -> Iterator[Range]:
        if self.places is None:
            yield pages_range(file, self.chunk)
        else:
            yield from self.places.ranges(self.pages)


def _with_places(file: OpenFile, looked: Sequence[_Looked]) -> list[_Looked]:
    """The same with the places of the pages, where these are known. What is remote is fetched ahead."""
    will_read_places(file, [each.chunk for each in looked if each.wanted is not None])
    found = [each._replace(places=_places(file, each)) for each in looked]
    if file.source.is_remote:
        file.source.will_read(span for each in found for span in each.ranges(file))
    return found


def _places(file: OpenFile, looked: _Looked) -> PagePlaces | None:
    """None if all pages are read."""
    if looked.wanted is None:
        return None
    places = page_places(file, looked.chunk)
    return None if places is None or max(looked.wanted, default=0) >= len(places) else places


class RowFinder:
    """Looks for values of one leaf column. Raises UnsupportedError for a value whose stored bytes nobody can list,
    ValueTypeError for NaN."""

    def __init__(self, leaf: LeafType, asked: Asked) -> None:
        for value, reason in asked.unknown.items():
            if reason not in NOT_HELD:
                raise not_looked_for(asked.values[value], reason)
        self._leaf = leaf
        # What may be stored for the values, in the order of hashes, and the value that each item belongs to.
        hashes = asked.stored.hashes
        order = np.argsort(hashes)
        self._stored, self._order, self._hashes = asked.stored.run, order, hashes[order]
        self._owners = order if asked.stored.owners is None else asked.stored.owners[order]
        self._num_owners = int(self._owners.max(initial=0)) + 1
        self._search = _kernel.HashSearch(self._hashes)
        # By the object, as a dictionary is one for all pages of a chunk.
        self._known: tuple[Run | None, Pairs] = None, _NONE

    def rows(
        self, file: OpenFile, leaf: LeafColumn, places: Mapping[int, Collection[int] | None]
    ) -> Iterator[FoundIn]:
        """The rows that hold values; see Askable.find_rows."""
        chunks = [file.footer.chunk(part, leaf) for part in places]
        looked = [_Looked(chunk, places[chunk.row_group]) for chunk in chunks]
        for each in _with_places(file, looked):
            with located(file.footer, each.chunk):
                check_readable(file.footer, each.chunk)
                for rows, values in self._rows_of(file, each):
                    yield FoundIn(each.chunk.row_group, rows, values)

    def _rows_of(self, file: OpenFile, looked: _Looked) -> Iterator[Pairs]:
        chunk, source, footer = looked.chunk, file.source, file.footer
        if looked.places is not None:
            # Unless the page index is not right, or a page is damaged. Without the one, we know.
            with suppress(PageError):
                found = rows_of_pages(source, footer, chunk, looked.places, looked.pages)
                rows = [self._rows_in(part) for part in found]
                file.pages_read += len(looked.pages)
                yield from rows
                return
        for _, parts in groupby(page_rows(source, footer, chunk), key=attrgetter("page")):
            file.pages_read += 1
            for part in parts:
                yield self._rows_in(part)

    def _rows_in(self, part: PageRows) -> Pairs:
        """The rows that hold values, and these values."""
        positions, owners = self._found_in(part.run, part.indices is not None)
        if part.indices is not None and positions.size:
            are_wanted = np.zeros(len(part.run), np.bool_)
            are_wanted[positions] = True
            at = np.flatnonzero(are_wanted[part.indices])
            first = np.searchsorted(positions, part.indices[at])
            counts = np.searchsorted(positions, part.indices[at], "right") - first
            # All pairs of an entry, behind those of the one before.
            before = np.cumsum(counts) - counts
            pairs = np.repeat(first - before, counts) + np.arange(counts.sum())
            positions, owners = np.repeat(at, counts), owners[pairs]
        return part.rows[positions], owners

    def _found_in(self, run: Run, is_dictionary: bool) -> Pairs:
        """Each position in a run that holds a value, and the value: ascending."""
        if self._known[0] is run:
            return self._known[1]
        found_in = self._as_any_form if is_stored_unusually(self._leaf) else self._as_asked
        start, parts = 0, []
        # The hashes of a large page take as much memory as its values.
        for part in run.parts():
            positions, owners = found_in(part)
            parts.append((positions + start, owners))
            start += len(part)
        found = parts[0] if len(parts) == 1 else _joined(parts)
        if is_dictionary:
            self._known = run, found
        return found

    def _as_any_form(self, run: Run) -> Pairs:
        """The same where values may be stored as other bytes: each is looked at in every form."""
        found = [
            (at, value)
            for at, plain in enumerate(run.take(range(len(run))))
            for value in sorted(self._values_of(plain))
        ]
        pairs = np.array(found, np.intp).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    def _as_asked(self, run: Run) -> Pairs:
        """The same where they are not."""
        positions, asked = self._search.find(run.hashes()).T
        are_equal = run.equal(positions, self._stored, self._order[asked])
        positions, owners = positions[are_equal], self._owners[asked[are_equal]]
        # A value can be asked for as the same bytes twice.
        pairs = positions * self._num_owners + owners
        pairs.sort()
        is_another = np.ones(pairs.size, np.bool_)
        is_another[1:] = pairs[1:] != pairs[:-1]
        pairs = pairs[is_another]
        return pairs // self._num_owners, pairs % self._num_owners

    def _values_of(self, plain: bytes) -> set[int]:
        """Those that a stored value is."""
        found = self._stored_as(plain)
        if is_stored_unusually(self._leaf):
            for run in with_specials(
                [ChunkRun(None, run_of([plain], self._leaf.width))], self._leaf
            ):
                for form in run.values():
                    found |= self._stored_as(form)
        return found

    def _stored_as(self, plain: bytes) -> set[int]:
        hash = np.uint64(_kernel.xxh64(plain))
        start, end = (
            np.searchsorted(self._hashes, hash),
            np.searchsorted(self._hashes, hash, "right"),
        )
        same = self._stored.take(self._order[start:end].tolist())
        owners = self._owners[start:end].tolist()
        return {owner for stored, owner in zip(same, owners, strict=True) if stored == plain}


# Row groups are asked for the same values in turn.
_latest: tuple[LeafType, Asked, RowFinder] | None = None


def finder_of(leaf: LeafType, asked: Asked) -> RowFinder:
    """What looks for these values, which is kept for the next row group."""
    global _latest
    latest = _latest
    if latest is not None and latest[0] is leaf and latest[1] is asked:
        return latest[2]
    finder = RowFinder(leaf, asked)
    _latest = leaf, asked, finder
    return finder
