"""A segment that is asked: its map and its units, read when they are needed."""

from __future__ import annotations

from collections.abc import Iterator

from parquet_bloom.errors import FormatError
from parquet_bloom.index.manifest import Ranges, Segment
from parquet_bloom.index.sorted_map import SortedMap
from parquet_bloom.index.units import Unit, UnitsReader
from parquet_bloom.parallel import read_once
from parquet_bloom.storage import open_source
from parquet_bloom.storage.folder import Folder
from parquet_bloom.storage.source import Source


class OpenSegment:
    """A segment in the folder of an index. Raises OSError, FormatError for damage."""

    def __init__(self, folder: Folder, about: Segment) -> None:
        self._folder, self.about = folder, about
        self._sources: list[Source] = []

    def _source(self, name: str, size: int) -> Source:
        source = open_source(self._folder.path_of(name), size)
        self._sources.append(source)
        if source.size != size:
            raise FormatError(
                f"{source.path}: {source.size:,} bytes, expected the {size:,} of the manifest"
            )
        return source

    @read_once
    def map(self) -> SortedMap | None:
        """None if the files of the segment are not indexed."""
        about = self.about.map
        return None if about is None else SortedMap(self._source(about.name, about.size), about)

    @read_once
    def units(self) -> UnitsReader:
        about = self.about.units
        return UnitsReader(self._source(about.name, about.size), about)

    def live_units(self) -> Iterator[tuple[int, Unit]]:
        """All units that are not dead, with their numbers."""
        dead = iter(self.about.dead)
        start, end = next(dead, (self.about.units.num_units, 0))
        for number, unit in enumerate(self.units):
            if start <= number < end:
                if number == end - 1:
                    start, end = next(dead, (self.about.units.num_units, 0))
                continue
            yield number, unit

    @property
    def bytes_read(self) -> int:
        return sum(source.bytes_read for source in self._sources)

    def close(self) -> None:
        for source in self._sources:
            source.close()


def as_ranges(numbers: set[int]) -> Ranges:
    """Numbers as ascending ranges [from, end) that do not touch."""
    ranges: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if ranges and ranges[-1][1] == number:
            ranges[-1] = ranges[-1][0], number + 1
        else:
            ranges.append((number, number + 1))
    return tuple(ranges)


def numbers_in(ranges: Ranges) -> set[int]:
    """All numbers of such ranges."""
    return {number for start, end in ranges for number in range(start, end)}
