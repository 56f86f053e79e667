"""A segment that is asked: its map or slices and its units, read when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Final, TypeAlias

from parquet_bloom.errors import FormatError
from parquet_bloom.index.manifest import Manifest, Ranges, Segment, existing_and_lost
from parquet_bloom.index.slices import Slices, SlicesReader
from parquet_bloom.index.sorted_map import SortedMap
from parquet_bloom.index.units import Unit, UnitsReader
from parquet_bloom.parallel import read_once
from parquet_bloom.storage import open_source
from parquet_bloom.storage.folder import Folder
from parquet_bloom.storage.source import Source

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

# As open_source does with a path and the size of a file in whose place no other is ever put.
OpenLasting: TypeAlias = Callable[[str, int], Source]


# What became of a file that the manifest names.
NOT_THERE: Final = "is not there"


class OpenSegment:
    """A segment in the folder of an index. Raises OSError, FormatError for damage."""

    def __init__(self, folder: Folder, about: Segment, opener: OpenLasting = open_source) -> None:
        self._folder, self.about, self._opener = folder, about, opener
        self._sources: list[Source] = []
        # Those that are being opened.
        self._units: Future[UnitsReader] | None = None

    def _source(self, name: str, size: int) -> Source:
        path = self._folder.path_of(name)
        try:
            source = self._opener(path, size)
        except FileNotFoundError:
            raise FormatError(f"{path}: {NOT_THERE}") from None
        self._sources.append(source)
        if source.size != size:
            raise FormatError(
                f"{source.path}: {source.size:,} bytes, expected the {size:,} of the manifest"
            )
        return source

    def check_there(self, lost: Collection[str]) -> None:
        """Raise FormatError if one of its files is among those that are `lost`, whether an answer needs it or not."""
        for name in self.about.files:
            if name in lost:
                raise FormatError(f"{self._folder.path_of(name)}: {NOT_THERE}")

    @read_once
    def map(self) -> SortedMap | None:
        """None if the segment has none."""
        about = self.about.map
        return None if about is None else SortedMap(self._source(about.name, about.size), about)

    @read_once
    def slices(self) -> Slices | None:
        """None if the segment has none."""
        about = self.about.slices
        if about is None:
            return None
        return Slices(
            [SlicesReader(self._source(each.name, each.size), each) for each in about.files], about
        )

    @property
    def places(self) -> SortedMap | Slices | None:
        """Where hashes are; None if the files of the segment are not indexed."""
        return self.map if self.about.map is not None else self.slices

    @read_once
    def units(self) -> UnitsReader:
        return self._opened_units() if self._units is None else self._units.result()

    def _opened_units(self) -> UnitsReader:
        about = self.about.units
        return UnitsReader(self._source(about.name, about.size), about)

    def will_name_units(self, threads: Executor) -> None:
        """Open the units in another thread, unless they are open: of a few in a store, that is what reads them."""
        if "units" not in vars(self):
            self._units = threads.submit(self._opened_units)

    def live_units(self) -> Iterator[tuple[int, Unit]]:
        """All units that are not dead, with their numbers."""
        return self._alive(enumerate(self.units))

    def unknown_units(self) -> Iterator[Unit]:
        """Of slices, the live units of row groups of which nothing is known."""
        others = 0 if self.about.slices is None else self.about.slices.num_others
        if others:
            first = self.about.units.num_units - others
            for _, unit in self._alive(enumerate(self.units.behind(first), first)):
                if unit.reason:
                    yield unit

    def _alive(self, units: Iterable[tuple[int, Unit]]) -> Iterator[tuple[int, Unit]]:
        """Those that are not dead, of units with ascending numbers."""
        dead = iter([*self.about.dead, (self.about.units.num_units, self.about.units.num_units)])
        start, end = next(dead)
        for number, unit in units:
            while number >= end and start < self.about.units.num_units:
                start, end = next(dead)
            if not start <= number < end:
                yield number, unit

    @property
    def bytes_read(self) -> int:
        return sum(source.bytes_read for source in self._sources)

    def close(self) -> None:
        for source in self._sources:
            source.close()


def existing_whole(folder: Folder) -> Manifest:
    """The index in a folder, of which every file is there that an answer may need. Raises as existing, FormatError if
    one is not."""
    manifest, lost = existing_and_lost(folder)
    for segment in manifest.segments:
        if segment.is_alive:
            OpenSegment(folder, segment).check_there(lost)
    return manifest


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
