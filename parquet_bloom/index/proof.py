"""Proves that the files of a segment are what the manifest says, and that they lead engines to the same keys as
us."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.container import number_of
from parquet_bloom.errors import FormatError
from parquet_bloom.index.map_writer import written_as
from parquet_bloom.index.opened import NOT_THERE, OpenSegment
from parquet_bloom.index.slices_proof import FiltersProof, file_problems, unit_problems
from parquet_bloom.index.sorted_map import KeyPage, SortedMap
from parquet_bloom.index.units import Unit
from parquet_bloom.index.units_writer import write_units
from parquet_bloom.index.written_again import WrittenAgain
from parquet_bloom.parallel import read_once

# What became of a file that the manifest names.
_LOST: Final = {
    errno.ENOENT: NOT_THERE,
    errno.ESTALE: "is another file than the manifest names",
}


class SegmentProof:
    """What is wrong with a segment. `units`: those that are alive; `keys`: how many there are of each place. They are
    known once all `problems` are. `filters`: proves those of slices."""

    def __init__(self, segment: OpenSegment) -> None:
        self.segment, self.about = segment, segment.about
        self.units: list[Unit] = []
        self.keys: NDArray[np.uint32] = np.zeros(segment.about.units.num_places, np.uint32)

    def problems(self) -> Iterator[str]:
        """One line for each. Raises OSError."""
        try:
            yield from self._of_units()
            if self.segment.map is not None:
                yield from self._of_map(self.segment.map)
            if self.segment.slices is not None:
                for reader in self.segment.slices.readers:
                    yield from file_problems(reader)
        except FormatError as error:
            yield str(error)
        except OSError as error:
            if error.errno not in _LOST:
                raise
            yield f"{error.filename}: {_LOST[error.errno]}"

    @property
    def live_keys(self) -> int:
        """How many keys are of places of live units."""
        before = np.concatenate(([0], np.cumsum(self.keys, dtype=np.int64)))
        places = [(unit.first_place, unit.first_place + unit.num_places) for unit in self.units]
        first, end = np.array(places, np.int64).reshape(-1, 2).T
        return int((before[end] - before[first]).sum())

    @property
    def live_filters(self) -> int:
        """The same of the filters in its slices."""
        if self.segment.slices is None:
            return 0
        return sum(unit.num_places for unit in self.units)

    @read_once
    def filters(self) -> FiltersProof:
        assert self.segment.slices is not None
        return FiltersProof(self.segment.slices)

    def _of_units(self) -> Iterator[str]:
        about, path = self.about, self.segment.units.source.path
        place = count = 0
        all_units = list(self.segment.units)
        for number, unit in enumerate(all_units):
            if unit.first_place != place:
                yield f"{path}: unit {number}: first place {unit.first_place}, expected {place}"
            if unit.reason and unit.num_places:
                yield f"{path}: unit {number}: has places, and a reason for having none"
            place, count = unit.first_place + unit.num_places, number + 1
        expected = (about.units.num_units, about.units.num_places)
        if (count, place) != expected:
            yield f"{path}: {count} units of {place} places, expected {expected[0]} of {expected[1]}"
        if self.segment.slices is not None:
            for problem in unit_problems(self.segment.slices, all_units):
                yield f"{path}: {problem}"
        borders = [border for numbers in about.dead for border in numbers]
        if any(start >= end for start, end in pairwise([-1, *borders, count + 1])):
            yield f"{path}: dead units {about.dead}, expected ranges that ascend, up to {count}"
            return
        self.units = [unit for _, unit in self.segment.live_units()]
        files = len({unit.path for unit in self.units})
        if files != about.num_files:
            yield f"{path}: {number_of(files, 'file')}, expected {about.num_files}"
        again = WrittenAgain(self.segment.units.source)
        yield from again.problems(write_units(again, about.units.name, all_units), about.units)

    def _of_map(self, map: SortedMap) -> Iterator[str]:
        path, about = map.source.path, map.about
        again = WrittenAgain(map.source)
        writer = written_as(about, again)
        last, count, is_whole = -1, 0, True
        for number, group in enumerate(about.groups):
            first = group.first_key
            for page in map.pages_of_group(number):
                problems = list(self._of_page(map, page, max(first, page.first), last))
                yield from problems
                is_whole = is_whole and not problems
                if is_whole:
                    writer.add(page.keys)
                first, last, count = 0, int(page.keys[-1]), count + page.keys.size
        if count != about.num_keys:
            yield f"{path}: {number_of(count, 'key')}, expected {about.num_keys:,}"
        elif is_whole:
            yield from again.problems(writer.close(), about)

    def _of_page(self, map: SortedMap, page: KeyPage, first: int, last: int) -> Iterator[str]:
        """`first`: what its first key is; `last`: that of the page before."""
        keys, bits, where = (
            page.keys,
            map.about.bits,
            f"{map.source.path}: page at {page.start:,}",
        )
        if int(keys[0]) != first:
            yield f"{where}: first key {keys[0]}, expected {first}"
        if int(keys[0]) <= last or bool((keys[1:] <= keys[:-1]).any()):
            yield f"{where}: keys that do not ascend"
        if int(keys[-1]) >> (bits.hash + bits.place):
            yield f"{where}: key {keys[-1]}, expected {bits.hash} bits of a hash"
        places = (keys & np.uint64((1 << bits.place) - 1)).astype(np.int64)
        if int(places.max()) >= self.keys.size:
            yield f"{where}: place {places.max()}, expected less than {self.keys.size}"
        else:
            of_page, counts = np.unique(places, return_counts=True)
            self.keys[of_page] += counts.astype(np.uint32)
