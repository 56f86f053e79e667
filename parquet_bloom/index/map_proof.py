"""Proves that a map has the keys of the values in the files, and no others of these files.

The keys of all files are collected first, and compared with the map in one pass: to look up those of one file would
read most of the map, as hashes are spread evenly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.index.collecting import KeyCollector, KeyRoom
from parquet_bloom.index.manifest import Places
from parquet_bloom.index.sorted_map import SortedMap
from parquet_bloom.index.units import Unit


class KeyProblem(NamedTuple):
    """What is wrong with the keys of a file: of so many distinct values in a `part` of it, in any for None, there are
    none; or of no value, there are so many."""

    file: FileKeys
    part: int | None
    num_lost: int
    num_unexplained: int


class FileKeys:
    """The values of one file, part by part. `units`: those of the file; `path` and `part_name`: what users call it
    and its parts."""

    def __init__(self, path: str, part_name: str, units: Sequence[Unit], places: Places) -> None:
        self.path, self.part_name, self._places = path, part_name, places
        self._units = units
        # Where places are pages, each row group has a unit.
        self._of_part = {unit.row_group: unit for unit in units}
        # How many values are in parts or pages that have no place.
        self.placeless: dict[int | None, int] = {}

    def add(self, to: KeyCollector, part: int, pages: Sequence[NDArray[np.uint64]]) -> None:
        """Collect the distinct hashes in a part, page by page. Raises OSError."""
        places = self._places_of(part)
        for place, hashes in zip(places, pages, strict=False):
            to.add(hashes, place)
        if left := sum(hashes.size for hashes in pages[len(places) :]):
            self.placeless[part] = left

    def _places_of(self, part: int) -> range:
        first = self._units[0]
        if self._places == "file":
            return _places(first)
        if self._places == "row-group":
            place = first.first_place + part
            return range(place, place + 1) if part < first.num_places else range(0)
        unit = self._of_part.get(part)
        return range(0) if unit is None else _places(unit)

    @property
    def places(self) -> Iterator[range]:
        return map(_places, self._units)

    def lost(self, by_place: NDArray[np.uint32]) -> Iterator[tuple[int | None, int]]:
        """Parts, and how many values of each are lost."""
        found = dict(self.placeless)
        for unit in self._units:
            counts = by_place[unit.first_place : unit.first_place + unit.num_places]
            for at in np.flatnonzero(counts).tolist():
                part = self._part(unit, at)
                found[part] = found.get(part, 0) + int(counts[at])
        yield from sorted(found.items(), key=lambda each: -1 if each[0] is None else each[0])

    def _part(self, unit: Unit, at: int) -> int | None:
        """Of the place with this number in a unit."""
        if self._places == "file":
            return None
        return unit.row_group + (at if self._places == "row-group" else 0)


class MapProof:
    """Proves a map, once the values of all files are collected in the `room`."""

    def __init__(self, map: SortedMap, room: KeyRoom) -> None:
        self._map, self.keys = map, KeyCollector(room)
        self._files: list[FileKeys] = []

    def add(self, file: FileKeys) -> None:
        """All values of a file are collected. One that could not be read to its end is not compared."""
        self._files.append(file)

    def problems(self) -> Iterator[KeyProblem]:
        """By file; nothing is left of the keys. Raises FormatError for a damaged map, OSError, also if keys were
        lost."""
        ends = [places.stop for file in self._files for places in file.places]
        is_asked = np.zeros(max(ends, default=0), np.bool_)
        for file in self._files:
            for places in file.places:
                is_asked[places.start : places.stop] = True
        lost, unexplained = np.zeros((2, is_asked.size), np.uint32)
        for first, end, ours in self.keys.ranges(self._map.about.bits):
            parts = [np.empty(0, np.uint64), *self._map.keys_from(first, end)]
            theirs = np.concatenate(parts)
            self._count(lost, is_asked, ours, theirs)
            self._count(unexplained, is_asked, theirs, ours)
        for file in self._files:
            for part, count in file.lost(lost):
                yield KeyProblem(file, part, count, 0)
            if extra := sum(int(unexplained[at.start : at.stop].sum()) for at in file.places):
                yield KeyProblem(file, None, 0, extra)

    def _count(
        self,
        counts: NDArray[np.uint32],
        is_asked: NDArray[np.bool_],
        keys: NDArray[np.uint64],
        others: NDArray[np.uint64],
    ) -> None:
        """Count the keys that are not among the others, in each place that is asked."""
        missing = np.setdiff1d(keys, others, assume_unique=True)
        if not missing.size:
            return
        places = (missing & np.uint64((1 << self._map.about.bits.place) - 1)).astype(np.int64)
        places = places[places < is_asked.size]
        np.add.at(counts, places[is_asked[places]], 1)


def _places(unit: Unit) -> range:
    return range(unit.first_place, unit.first_place + unit.num_places)
