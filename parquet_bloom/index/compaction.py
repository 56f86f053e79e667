"""Merges segments of an index into one, of what is alive in them. Their keys are read in ranges of hashes that fit
the memory, so that it takes no more of it however large they are; their slices are put side by side, some blocks at a
time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import BinaryIO, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import FormatError
from parquet_bloom.index.building import NO_KIND
from parquet_bloom.index.collecting import KeyRun, write_map
from parquet_bloom.index.keys import MOST_PLACES
from parquet_bloom.index.manifest import IndexedColumn, Manifest, Segment
from parquet_bloom.index.opened import OpenSegment, as_ranges, numbers_in
from parquet_bloom.index.segment_writer import SizeClass, write_segment, write_sliced_segment
from parquet_bloom.index.slices import MOST_SLOTS, SlicesReader
from parquet_bloom.index.slices_writer import SliceRun
from parquet_bloom.index.sorted_map import MapFile, SortedMap
from parquet_bloom.index.units import Unit
from parquet_bloom.storage.folder import WritableFolder

# A segment is merged with smaller ones once it is no larger than so many times all of these. So each key is written
# a few times however often an index is added to, and there are few segments.
_GROWTH: Final = 4
# Or once this share of its units is dead.
_DEAD: Final = 0.25

_GONE: Final = -1


def merges(index: Manifest, everything: bool) -> list[list[Segment]]:
    """The segments that are to become one, respectively: those that are small or have dead units, or
    `everything`."""
    alike: dict[tuple[IndexedColumn, bool], list[Segment]] = {}
    for segment in index.segments:
        if segment.map or segment.slices or segment.kind == NO_KIND:
            key = segment.subject, segment.slices is None
            alike.setdefault(key, []).append(segment)
    return [
        group
        for segments in alike.values()
        for group in _that_fit(sorted(segments, key=_size), everything)
        if len(group) > 1 or _is_worn(group[0], 0 if everything else _DEAD)
    ]


def _that_fit(segments: Sequence[Segment], everything: bool) -> Iterator[list[Segment]]:
    """Segments, from the smallest on, in groups: each is one that can be merged."""
    group: list[Segment] = []
    for segment in segments:
        is_far_larger = not everything and _size(segment) > _GROWTH * sum(map(_size, group))
        num_places = sum(each.units.num_places for each in (*group, segment))
        most = MOST_PLACES if segment.slices is None else MOST_SLOTS
        if group and (is_far_larger or num_places > most):
            yield group
            group = []
        group.append(segment)
    yield group


def _size(segment: Segment) -> int:
    return segment.num_keys or segment.num_filters or segment.units.num_units


def _is_worn(segment: Segment, share: float) -> bool:
    return segment.num_dead > share * segment.units.num_units


@dataclass(frozen=True, slots=True)
class Merged:
    """What became of segments: `made`, None if nothing is alive in them. `numbers`: by the id of each, which unit of
    `made` each of its units is; `paths`: of the units of `made`."""

    inputs: tuple[Segment, ...]
    made: Segment | None
    numbers: dict[str, NDArray[np.int64]]
    paths: Sequence[str]

    def instead_of_inputs(self, old: Manifest | None) -> Manifest | None:
        """An index with `made` where its inputs were; units that died meanwhile are dead. None if an input is there
        no more, because somebody else has merged it."""
        if old is None:
            return None
        now = {segment.id: segment for segment in old.segments if segment.id in self.numbers}
        if len(now) < len(self.inputs):
            return None
        others = tuple(segment for segment in old.segments if segment.id not in self.numbers)
        return replace(old, segments=(*others, *self._alive(now)))

    def _alive(self, now: dict[str, Segment]) -> Iterator[Segment]:
        if self.made is None:
            return
        dead = {
            int(self.numbers[each.id][number])
            for each in self.inputs
            for number in numbers_in(now[each.id].dead) - numbers_in(each.dead)
        }
        alive = {path for number, path in enumerate(self.paths) if number not in dead}
        yield replace(self.made, dead=as_ranges(dead), num_files=len(alive))


def merge(folder: WritableFolder, inputs: Sequence[Segment], most: int) -> Merged:
    """Write segments as one, with `most` keys in memory at a time, more or less. Raises FormatError for damage,
    OSError."""
    with ExitStack() as stack:
        opened = [stack.enter_context(closing(OpenSegment(folder, about))) for about in inputs]
        numbers = {about.id: np.full(about.units.num_units, _GONE) for about in inputs}
        if inputs[0].slices is None:
            made, units = _merge_maps(folder, opened, numbers, most)
        else:
            made, units = _merge_slices(folder, opened, numbers)
    return Merged(tuple(inputs), made, numbers, [unit.path for unit in units])


Numbers: TypeAlias = dict[str, NDArray[np.int64]]


def _merge_maps(
    folder: WritableFolder, inputs: Sequence[OpenSegment], numbers: Numbers, most: int
) -> tuple[Segment | None, list[Unit]]:
    units: list[Unit] = []
    runs: list[KeyRun] = []
    num_places = 0
    for segment in inputs:
        about = segment.about
        places = np.full(about.units.num_places, _GONE, np.int32)
        for number, unit in segment.live_units():
            numbers[about.id][number] = len(units)
            end = num_places + unit.num_places
            places[unit.first_place :][: unit.num_places] = np.arange(num_places, end)
            units.append(unit._replace(first_place=num_places))
            num_places = end
        if segment.map is not None:
            runs.append(_LiveKeys(folder.path_of(segment.map.about.name), segment.map, places))
    about_all = [segment.about for segment in inputs]
    return _written(folder, about_all, units, runs, most) if units else None, units


def _merge_slices(
    folder: WritableFolder, inputs: Sequence[OpenSegment], numbers: Numbers
) -> tuple[Segment | None, list[Unit]]:
    by_size: dict[int, _LiveFilters] = {}
    others = _LiveFilters()
    for segment in inputs:
        assert segment.slices is not None
        readers, runs = segment.slices.readers, dict[int, _LiveSlices]()
        firsts = [reader.about.first_place for reader in readers]
        for number, unit in segment.live_units():
            if not unit.num_places:
                others.add(segment.about.id, number, unit)
                continue
            at = bisect_right(firsts, unit.first_place) - 1
            run = runs.get(at)
            if run is None:
                run = runs[at] = _LiveSlices(readers[at])
            run.add(unit)
            of_size = by_size.setdefault(readers[at].about.num_blocks, _LiveFilters())
            of_size.add(segment.about.id, number, unit)
        for at, run in runs.items():
            by_size[readers[at].about.num_blocks].runs.append(run)
    sizes = sorted(by_size)
    groups = [*(by_size[size] for size in sizes), others]
    units = [unit for group in groups for unit in group.units]
    if not units:
        return None, units
    for new, (id, number) in enumerate(each for group in groups for each in group.numbers):
        numbers[id][number] = new
    classes = [SizeClass(size, by_size[size].units, by_size[size].runs) for size in sizes]
    subject = inputs[0].about.subject
    return write_sliced_segment(folder, subject, classes, others.units, ()), units


class _LiveFilters:
    """The units of filters of one size that are alive, with the ids of their segments and their numbers there."""

    def __init__(self) -> None:
        self.units: list[Unit] = []
        self.numbers: list[tuple[str, int]] = []
        self.runs: list[SliceRun] = []

    def add(self, id: str, number: int, unit: Unit) -> None:
        self.units.append(unit)
        self.numbers.append((id, number))


class _LiveSlices:
    """What is alive in slices, as a run."""

    def __init__(self, reader: SlicesReader) -> None:
        self._reader, self.num_slots = reader, reader.about.num_slots
        self.live: list[tuple[int, int]] = []

    def add(self, unit: Unit) -> None:
        start = unit.first_place - self._reader.about.first_place
        end = start + unit.num_places
        if not (self.live[-1][1] if self.live else 0) <= start < end <= self.num_slots:
            raise FormatError(
                f"{self._reader.source.path}: filters {start} to {end} of {self.num_slots}"
            )
        if self.live and self.live[-1][1] == start:
            start, _ = self.live.pop()
        self.live.append((start, end))

    def pages(self, first: int, end: int) -> bytearray:
        return self._reader.pages(first, end)


def _written(
    folder: WritableFolder,
    inputs: Sequence[Segment],
    units: Sequence[Unit],
    runs: Sequence[KeyRun],
    most: int,
) -> Segment:
    known = min([each.map.bits.hash for each in inputs if each.map is not None], default=0)

    def write_keys(file: BinaryIO, name: str, num_places: int) -> MapFile:
        return write_map(file, name, runs, num_places, most, known)

    return write_segment(folder, inputs[0].subject, units, (), write_keys if known else None)


class _LiveKeys:
    """The keys of a map as wide ones, with other places. `places`: the new one of each; _GONE if it is dead. Those
    that are alive keep their order."""

    def __init__(self, path: str, map: SortedMap, places: NDArray[np.int32]) -> None:
        self._path, self._map, self._places = path, map, places
        alive = np.count_nonzero(places != _GONE) / max(1, places.size)
        self.num_keys = round(map.about.num_keys * alive)

    def between(self, first: int, end: int) -> Iterator[NDArray[np.uint64]]:
        bits = self._map.about.bits
        for keys in self._map.keys_from(bits.key(first), bits.key(end)):
            hashes, old = bits.widen(keys)
            if int(old.max()) >= self._places.size:
                raise FormatError(f"{self._path}: a key of a place that is no unit's")
            places = self._places[old]
            alive = places != _GONE
            yield hashes[alive] | places[alive].astype(np.uint64)
