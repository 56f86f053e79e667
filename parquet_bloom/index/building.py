"""From open files to new segments of an index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import accumulate
from typing import Final, TypeVar

from parquet_bloom.container.protocols import Column, Container
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import ColumnError, FormatError, ParquetBloomError, UnsupportedError
from parquet_bloom.filters.sizing import BLOCK_BYTES
from parquet_bloom.index.collecting import FilterCollector, KeyCollector, KeyRoom
from parquet_bloom.index.keys import MOST_PLACES
from parquet_bloom.index.manifest import IndexedColumn, IndexForm, Places, Segment
from parquet_bloom.index.opened import as_ranges
from parquet_bloom.index.segment_writer import SizeClass, write_segment, write_sliced_segment
from parquet_bloom.index.slices import MOST_SLOTS
from parquet_bloom.index.units import FAILED, WITHOUT, Unit
from parquet_bloom.index.values_reader import AnyValuesReader, FoundFilter, hashes_of_parts
from parquet_bloom.parallel import check_fits
from parquet_bloom.storage.folder import WritableFolder

# The kind of segments whose units are not indexed, or have no value, and so no reason.
NO_KIND: Final = ""
# Of one column in a file. Nobody knows how many it has before they are read.
_MOST_PAGES: Final = MOST_PLACES // 2
# Of units that have no filter.
_NO_BLOCKS: Final = 0

NewT = TypeVar("NewT", "NewSegment", "NewSlices")


class NewSegment:
    """The units of one column and kind, and their keys, before they are written."""

    def __init__(self, subject: IndexedColumn, keys: KeyCollector) -> None:
        self.subject, self.keys = subject, keys
        self.units: list[Unit] = []
        self._dead: set[int] = set()

    @property
    def num_places(self) -> int:
        return self.units[-1].first_place + self.units[-1].num_places if self.units else 0

    @property
    def is_alive(self) -> bool:
        return len(self._dead) < len(self.units)

    def forget_last(self, path: str) -> None:
        """The units of this file, if they are the last ones, are dead."""
        before = len(self.units)
        while before and self.units[before - 1].path == path:
            before -= 1
        self._dead.update(range(before, len(self.units)))

    def written(self, folder: WritableFolder) -> Segment:
        """Write it to the folder of an index. Raises OSError."""
        write_keys = None if self.subject.kind == NO_KIND else self.keys.write
        return write_segment(folder, self.subject, self.units, as_ranges(self._dead), write_keys)


class NewSlices:
    """The filters of one column and kind, and the units that they belong to, before they are written."""

    def __init__(self, subject: IndexedColumn, room: KeyRoom) -> None:
        self.subject, self.num_places = subject, 0
        self._room = room
        # By the number of blocks; of units without places, which come last.
        self._collectors: dict[int, FilterCollector] = {}
        self._units: dict[int, list[Unit]] = {_NO_BLOCKS: []}
        # By the number of blocks and of the unit.
        self._dead: set[tuple[int, int]] = set()

    @property
    def units(self) -> list[Unit]:
        """In order of their places."""
        return [unit for size in self._sizes for unit in self._units[size]]

    @property
    def _sizes(self) -> list[int]:
        return sorted(self._units, key=lambda size: size or MOST_PLACES)

    def add(self, file: Unit, parts: Sequence[tuple[int, FoundFilter | str]]) -> None:
        """Add the filters of a file: of each part, which has so many rows. Raises what reading them raises."""
        if not parts:
            self._units[_NO_BLOCKS].append(file)
        for part, (num_rows, found) in enumerate(parts):
            bitset = found if isinstance(found, str) else _bitset(found)
            if isinstance(bitset, str):
                unit = file._replace(row_group=part, num_rows=num_rows, reason=bitset)
                self._units[_NO_BLOCKS].append(unit)
                continue
            size = len(bitset) // BLOCK_BYTES
            collector = self._collectors.get(size) or self._new_collector(size)
            collector.add(bitset)
            _add_place(self._units[size], file, part, num_rows)
            self.num_places += 1

    def _new_collector(self, size: int) -> FilterCollector:
        collector = self._collectors[size] = FilterCollector(self._room, size)
        self._units[size] = []
        return collector

    @property
    def is_alive(self) -> bool:
        return len(self._dead) < len(self.units)

    def forget_last(self, path: str) -> None:
        """The units of this file, if they are the last ones, are dead."""
        for size, units in self._units.items():
            before = len(units)
            while before and units[before - 1].path == path:
                before -= 1
                self._dead.add((size, before))

    def written(self, folder: WritableFolder) -> Segment:
        """Write it to the folder of an index. Raises OSError."""
        sizes = self._sizes
        counts = (len(self._units[size]) for size in sizes)
        firsts = dict(zip(sizes, accumulate(counts, initial=0), strict=False))
        dead = {firsts[size] + number for size, number in self._dead}
        *others, _ = sizes
        classes = [
            SizeClass(size, self._units[size], self._collectors[size].runs()) for size in others
        ]
        return write_sliced_segment(
            folder, self.subject, classes, self._units[_NO_BLOCKS], as_ranges(dead)
        )


def _bitset(found: FoundFilter) -> bytes | str:
    check_fits("a filter takes", found.num_bytes)
    return found.bitset()


def _add_place(units: list[Unit], file: Unit, part: int, num_rows: int) -> None:
    """Add a part of a file to its last unit, if they are neighbours, or as one."""
    last = units[-1] if units else None
    if last and last.path == file.path and last.row_group + last.num_places == part:
        units[-1] = last._replace(num_places=last.num_places + 1, num_rows=last.num_rows + num_rows)
        return
    place = last.first_place + last.num_places if last else 0
    units.append(Unit(file.path, file.size, file.version, part, place, 1, num_rows))


@dataclass(frozen=True, slots=True)
class LeftColumn:
    """Why a column of a file is not indexed; `num_rows`: FAILED if it is damaged there, WITHOUT if it certainly is
    not there; `damage`: by which error, empty for none."""

    reason: str
    num_rows: int = 0
    damage: str = ""


def _in_place_of_rows(file: Container, column: str, error: ParquetBloomError) -> int:
    """What is known of the rows of a file by the error that its column was read with."""
    if isinstance(error, ColumnError) and file.is_without(column):
        return WITHOUT
    return FAILED if isinstance(error, FormatError) else 0


class SegmentsBuilder:
    """Collects what is indexed of files: in the form `map` the hashes of their values, in the form `slices` their
    filters, in the form `auto` the filters of those that have one in every part. Methods raise OSError."""

    def __init__(self, places: Places, room: KeyRoom, form: IndexForm = "map") -> None:
        self._places, self._room, self._form = places, room, form
        self._segments: dict[tuple[IndexedColumn, type], NewSegment | NewSlices] = {}
        self._full: list[NewSegment | NewSlices] = []

    def add(
        self,
        reader: AnyValuesReader,
        column: str,
        version: str,
        threads: int | None,
        read_as: str = "",
    ) -> LeftColumn | None:
        """Index a column of an open file; returns why it cannot be, which the index keeps.
        `read_as`: see Segment. Raises OSError."""
        file = reader.file
        told = file.answer_to_all(column)
        if told is not None:
            reason = "" if told.verdict == "absent" else told.reason
            self.add_whole(file.path, file.source.size, version, column, reason, read_as)
            return LeftColumn(reason) if reason else None
        try:
            found = file.column(column)
            reason = reader.reason_for_none(found)
            if not reason:
                subject = IndexedColumn(column, reader.kind(found), read_as)
                reason = self._add(reader, found, subject, version, threads)
            if not reason:
                return None
            left = LeftColumn(reason)
        except ParquetBloomError as error:
            reason = str(error).removeprefix(f"{file.path}: ")
            damage = type(error).__name__ if isinstance(error, FormatError) else ""
            left = LeftColumn(reason, _in_place_of_rows(file, column, error), damage)
        self.add_whole(
            file.path, file.source.size, version, column, left.reason, read_as, left.num_rows
        )
        return left

    def _add(
        self,
        reader: AnyValuesReader,
        column: Column,
        subject: IndexedColumn,
        version: str,
        threads: int | None,
    ) -> str:
        """The same; raises ParquetBloomError, too."""
        file, filters = reader.file, [] if self._form == "map" else reader.filters(column)
        reasons = dict.fromkeys(each for each in filters if isinstance(each, str))
        if self._form == "slices" and filters and all(isinstance(each, str) for each in filters):
            return "; ".join(reasons)
        if self._form == "slices" or (self._form == "auto" and not reasons):
            slices = self._slices(subject, len(filters))
            with _forgetting(slices, file.path):
                self._add_filters(file, version, slices, filters)
            return ""
        num_places = _MOST_PAGES if self._places == "page" else file.num_parts
        segment = self._segment(subject, num_places)
        with _forgetting(segment, file.path):
            self._add_parts(reader, column, version, segment, threads)
        return ""

    @staticmethod
    def _add_filters(
        file: Container, version: str, slices: NewSlices, filters: Sequence[FoundFilter | str]
    ) -> None:
        unit = Unit(file.path, file.source.size, version, 0, 0, 0, file.num_rows)
        slices.add(unit, list(zip(file.part_rows, filters, strict=True)))

    def forget_last(self, path: str) -> None:
        """Whatever was added of this file, which is the last one, is not to be believed."""
        for segment in self._segments.values():
            segment.forget_last(path)

    def add_whole(
        self,
        path: str,
        size: int,
        version: str,
        column: str,
        reason: str,
        read_as: str = "",
        num_rows: int = 0,
    ) -> None:
        """A file of which the same is known of all values: nothing for this `reason`, as `num_rows` may say, see
        units; without one, that it has none."""
        segment = self._segment(IndexedColumn(column, NO_KIND, read_as), 0)
        segment.units.append(Unit(path, size, version, 0, 0, 0, num_rows, reason))

    def _add_parts(
        self,
        reader: AnyValuesReader,
        column: Column,
        version: str,
        segment: NewSegment,
        threads: int | None,
    ) -> None:
        file, by_page = reader.file, self._places == "page"
        unit = Unit(file.path, file.source.size, version, 0, segment.num_places, 0, file.num_rows)
        if not (by_page and file.num_parts):
            unit = unit._replace(num_places=1 if self._places == "file" else file.num_parts)
            segment.units.append(unit)
        with closing(hashes_of_parts(reader, column, self._places, threads)) as found:
            for at, (part, pages) in enumerate(found):
                place = unit.first_place + (at if self._places == "row-group" else 0)
                if by_page:
                    place, num_rows = segment.num_places, file.describe_part(part).num_rows
                    if place + len(pages) > MOST_PLACES:
                        raise UnsupportedError(f"more than {_MOST_PAGES:,} pages in {column.name}")
                    segment.units.append(
                        unit._replace(
                            row_group=part,
                            first_place=place,
                            num_places=len(pages),
                            num_rows=num_rows,
                        )
                    )
                for hashes in pages:
                    segment.keys.add(hashes, place)
                    place += 1

    def _segment(self, subject: IndexedColumn, num_places: int) -> NewSegment:
        found = self._with_room(subject, NewSegment, num_places, MOST_PLACES)
        if found is None:
            found = NewSegment(subject, KeyCollector(self._room))
            self._segments[subject, NewSegment] = found
        return found

    def _slices(self, subject: IndexedColumn, num_places: int) -> NewSlices:
        found = self._with_room(subject, NewSlices, num_places, MOST_SLOTS)
        if found is None:
            found = NewSlices(subject, self._room)
            self._segments[subject, NewSlices] = found
        return found

    def _with_room(
        self, subject: IndexedColumn, of: type[NewT], num_places: int, most: int
    ) -> NewT | None:
        """The segment that has room for so many places; None if there is none."""
        found = self._segments.get((subject, of))
        if found is not None and found.num_places + num_places > most:
            self._full.append(self._segments.pop((subject, of)))
            found = None
        assert found is None or isinstance(found, of)
        return found

    def write(self, folder: WritableFolder) -> list[Segment]:
        """Write all segments in which anything counts, and forget them."""
        wanted = [*self._full, *self._segments.values()]
        self._full, self._segments = [], {}
        return [each.written(folder) for each in wanted if each.is_alive]


@contextmanager
def _forgetting(segment: NewSegment | NewSlices, path: str) -> Iterator[None]:
    """What was added of a file is dead if the rest cannot be."""
    try:
        yield
    except ParquetBloomError:
        segment.forget_last(path)
        raise
