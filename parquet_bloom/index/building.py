"""From open files to new segments of an index."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import BinaryIO, Final, TypeVar
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.advice.ndv import distinct
from parquet_bloom.container.protocols import Chunk, Column
from parquet_bloom.errors import ParquetBloomError
from parquet_bloom.index.collecting import KeyCollector, KeyRoom
from parquet_bloom.index.keys import MOST_PLACES, wide_keys
from parquet_bloom.index.manifest import Places, Segment
from parquet_bloom.index.opened import numbers_in
from parquet_bloom.index.units import Unit
from parquet_bloom.index.units_writer import write_units
from parquet_bloom.index.values_reader import AnyValuesReader
from parquet_bloom.parallel import work_in_order
from parquet_bloom.storage.folder import WritableFolder
from parquet_bloom.threads import threads_for_values

Item = TypeVar("Item")
Made = TypeVar("Made")

# The kind of segments whose units are not indexed.
NO_KIND: Final = ""


class NewSegment:
    """The units of one column and kind, and their keys, before they are written."""

    def __init__(self, column: str, kind: str, keys: KeyCollector) -> None:
        self.column, self.kind, self.keys = column, kind, keys
        self.units: list[Unit] = []
        self._dead: list[tuple[int, int]] = []

    @property
    def num_places(self) -> int:
        return self.units[-1].first_place + self.units[-1].num_places if self.units else 0

    def forget_last(self, path: str) -> None:
        """The units of this file, if they are the last ones, are dead."""
        before = len(self.units)
        while before and self.units[before - 1].path == path:
            before -= 1
        if before < len(self.units):
            self._dead.append((before, len(self.units)))

    def written(self, folder: WritableFolder) -> Segment:
        """Write it to the folder of an index. Raises OSError."""
        id = uuid4().hex[:16]
        dead = numbers_in(tuple(self._dead))
        return Segment(
            id=id,
            column=self.column,
            kind=self.kind,
            units=self._written(folder, f"{id}.units.parquet", write_units, self.units),
            map=None
            if self.kind == NO_KIND
            else self._written(folder, f"{id}.map.parquet", self.keys.write, self.num_places),
            num_files=len(
                {unit.path for number, unit in enumerate(self.units) if number not in dead}
            ),
            dead=tuple(self._dead),
        )

    @staticmethod
    def _written(
        folder: WritableFolder, name: str, write: Callable[[BinaryIO, str, Item], Made], item: Item
    ) -> Made:
        with folder.making(name) as file:
            return write(file, name, item)


class SegmentsBuilder:
    """Collects what is indexed of files. Methods raise OSError."""

    def __init__(self, places: Places, room: KeyRoom) -> None:
        self._places, self._room = places, room
        self._segments: dict[tuple[str, str], NewSegment] = {}
        self._full: list[NewSegment] = []

    def add(self, reader: AnyValuesReader, column: str, version: str, threads: int | None) -> str:
        """Index a column of an open file; returns why it cannot be, which the index keeps; else "". Raises
        OSError."""
        file = reader.file
        try:
            found = file.column(column)
            reason = reader.reason_for_none(found)
            if not reason:
                segment = self._segment(column, reader.kind(found), file.num_parts)
                try:
                    self._add_parts(reader, found, version, segment, threads)
                except ParquetBloomError:
                    segment.forget_last(file.path)
                    raise
                return ""
        except ParquetBloomError as error:
            reason = str(error).removeprefix(f"{file.path}: ")
        self.add_unknown(file.path, file.source.size, version, column, reason)
        return reason

    def forget_last(self, path: str) -> None:
        """Whatever was added of this file, which is the last one, is not to be believed."""
        for segment in self._segments.values():
            segment.forget_last(path)

    def add_unknown(self, path: str, size: int, version: str, column: str, reason: str) -> None:
        """A file that cannot be indexed: nothing is known of any value."""
        segment = self._segment(column, NO_KIND, 0)
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
        chunks = [chunk for part in range(file.num_parts) for chunk in file.chunks(part, [column])]
        unit = Unit(file.path, file.source.size, version, 0, segment.num_places, 0, file.num_rows)
        if not (by_page and chunks):
            unit = unit._replace(num_places=1 if self._places == "file" else file.num_parts)
            segment.units.append(unit)

        def read(chunk: Chunk) -> list[NDArray[np.uint64]]:
            if by_page:
                return list(map(distinct, reader.hashes_by_page(chunk)))
            parts = [np.empty(0, np.uint64), *reader.hashes(chunk)]
            return [distinct(np.concatenate(parts))]

        file.will_read_values(chunks)
        threads = threads_for_values(threads, file.source, len(chunks))
        with closing(work_in_order(chunks, read, reader.room, threads)) as found:
            for at, (chunk, pages) in enumerate(found):
                place = unit.first_place + (at if self._places == "row-group" else 0)
                if by_page:
                    place, num_rows = segment.num_places, file.describe_part(chunk.key[0]).num_rows
                    segment.units.append(
                        unit._replace(
                            row_group=chunk.key[0],
                            first_place=place,
                            num_places=len(pages),
                            num_rows=num_rows,
                        )
                    )
                for hashes in pages:
                    segment.keys.add(wide_keys(hashes, place))
                    place += 1

    def _segment(self, column: str, kind: str, num_places: int) -> NewSegment:
        found = self._segments.get((column, kind))
        if found is not None and found.num_places + num_places > MOST_PLACES:
            self._full.append(self._segments.pop((column, kind)))
            found = None
        if found is None:
            found = NewSegment(column, kind, KeyCollector(self._room))
            self._segments[column, kind] = found
        return found

    def write(self, folder: WritableFolder) -> list[Segment]:
        """Write all segments, and forget them."""
        wanted = [*self._full, *self._segments.values()]
        self._full, self._segments = [], {}
        return [each.written(folder) for each in wanted if each.units]
