"""From open files to new segments of an index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from typing import BinaryIO, Final
from uuid import uuid4

from parquet_bloom.container.protocols import Column
from parquet_bloom.errors import ParquetBloomError, UnsupportedError
from parquet_bloom.index.collecting import KeyCollector, KeyRoom
from parquet_bloom.index.keys import MOST_PLACES, wide_keys
from parquet_bloom.index.manifest import Places, Ranges, Segment
from parquet_bloom.index.opened import as_ranges, numbers_in
from parquet_bloom.index.sorted_map import MapFile
from parquet_bloom.index.units import Unit
from parquet_bloom.index.units_writer import write_units
from parquet_bloom.index.values_reader import AnyValuesReader, hashes_of_parts
from parquet_bloom.storage.folder import WritableFolder

# The kind of segments whose units are not indexed.
NO_KIND: Final = ""
# Of one column in a file. Nobody knows how many it has before they are read.
_MOST_PAGES: Final = MOST_PLACES // 2


class NewSegment:
    """The units of one column and kind, and their keys, before they are written."""

    def __init__(self, column: str, kind: str, keys: KeyCollector, read_as: str = "") -> None:
        self.column, self.kind, self.keys, self.read_as = column, kind, keys, read_as
        self.units: list[Unit] = []
        self._dead: set[int] = set()

    @property
    def num_places(self) -> int:
        return self.units[-1].first_place + self.units[-1].num_places if self.units else 0

    def forget_last(self, path: str) -> None:
        """The units of this file, if they are the last ones, are dead."""
        before = len(self.units)
        while before and self.units[before - 1].path == path:
            before -= 1
        self._dead.update(range(before, len(self.units)))

    def written(self, folder: WritableFolder) -> Segment:
        """Write it to the folder of an index. Raises OSError."""
        write_keys = None if self.kind == NO_KIND else self.keys.write
        dead = as_ranges(self._dead)
        made = write_segment(folder, self.column, self.kind, self.units, dead, write_keys)
        return replace(made, read_as=self.read_as)


def write_segment(
    folder: WritableFolder,
    column: str,
    kind: str,
    units: Sequence[Unit],
    dead: Ranges,
    write_keys: Callable[[BinaryIO, str, int], MapFile] | None,
) -> Segment:
    """Write the files of a segment, of a new id, to the folder of an index. `write_keys`: writes the map, given its
    name and the number of places; None if the units are not indexed. Raises what it raises, OSError."""
    id = uuid4().hex[:16]
    with folder.making(f"{id}.units.parquet") as file:
        units_file = write_units(file, f"{id}.units.parquet", units)
    map_file = None
    if write_keys is not None:
        with folder.making(f"{id}.map.parquet") as file:
            map_file = write_keys(file, f"{id}.map.parquet", units_file.num_places)
    gone = numbers_in(dead)
    return Segment(
        id=id,
        column=column,
        kind=kind,
        units=units_file,
        map=map_file,
        num_files=len({unit.path for number, unit in enumerate(units) if number not in gone}),
        dead=dead,
    )


class SegmentsBuilder:
    """Collects what is indexed of files. Methods raise OSError."""

    def __init__(self, places: Places, room: KeyRoom) -> None:
        self._places, self._room = places, room
        self._segments: dict[tuple[str, str, str], NewSegment] = {}
        self._full: list[NewSegment] = []

    def add(
        self,
        reader: AnyValuesReader,
        column: str,
        version: str,
        threads: int | None,
        read_as: str = "",
    ) -> str:
        """Index a column of an open file; returns why it cannot be, which the index keeps; else "". `read_as`: see
        Segment. Raises OSError."""
        file = reader.file
        try:
            found = file.column(column)
            reason = reader.reason_for_none(found)
            if not reason:
                num_places = _MOST_PAGES if self._places == "page" else file.num_parts
                segment = self._segment(column, reader.kind(found), num_places, read_as)
                try:
                    self._add_parts(reader, found, version, segment, threads)
                except ParquetBloomError:
                    segment.forget_last(file.path)
                    raise
                return ""
        except ParquetBloomError as error:
            reason = str(error).removeprefix(f"{file.path}: ")
        self.add_unknown(file.path, file.source.size, version, column, reason, read_as)
        return reason

    def forget_last(self, path: str) -> None:
        """Whatever was added of this file, which is the last one, is not to be believed."""
        for segment in self._segments.values():
            segment.forget_last(path)

    def add_unknown(
        self, path: str, size: int, version: str, column: str, reason: str, read_as: str = ""
    ) -> None:
        """A file that cannot be indexed: nothing is known of any value."""
        segment = self._segment(column, NO_KIND, 0, read_as)
        segment.units.append(Unit(path, size, version, 0, 0, 0, 0, reason))

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
                    segment.keys.add(wide_keys(hashes, place))
                    place += 1

    def _segment(self, column: str, kind: str, num_places: int, read_as: str) -> NewSegment:
        key = column, kind, read_as
        found = self._segments.get(key)
        if found is not None and found.num_places + num_places > MOST_PLACES:
            self._full.append(self._segments.pop(key))
            found = None
        if found is None:
            found = NewSegment(column, kind, KeyCollector(self._room), read_as)
            self._segments[key] = found
        return found

    def write(self, folder: WritableFolder) -> list[Segment]:
        """Write all segments, and forget them."""
        wanted = [*self._full, *self._segments.values()]
        self._full, self._segments = [], {}
        return [each.written(folder) for each in wanted if each.units]
