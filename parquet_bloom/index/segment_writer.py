"""Writes the files of a segment, of a new id, to the folder of an index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO
from uuid import uuid4

from parquet_bloom.dataclass import dataclass
from parquet_bloom.index.manifest import IndexedColumn, Ranges, Segment
from parquet_bloom.index.opened import numbers_in
from parquet_bloom.index.slices import SlicesFile, SlicesFiles
from parquet_bloom.index.slices_writer import SliceRun, write_slices
from parquet_bloom.index.sorted_map import MapFile
from parquet_bloom.index.units import Unit, UnitsFile
from parquet_bloom.index.units_writer import write_units
from parquet_bloom.storage.folder import WritableFolder


def write_segment(
    folder: WritableFolder,
    subject: IndexedColumn,
    units: Sequence[Unit],
    dead: Ranges,
    write_keys: Callable[[BinaryIO, str, int], MapFile] | None,
) -> Segment:
    """`write_keys`: writes the map, given its name and the number of places; None if the units are not indexed.
    Raises what it raises, OSError."""
    id = uuid4().hex[:16]
    units_file = _write_units(folder, id, units)
    map_file = None
    if write_keys is not None:
        with folder.making(f"{id}.map.parquet") as file:
            map_file = write_keys(file, f"{id}.map.parquet", units_file.num_places)
    return _segment(id, subject, units_file, units, dead, map=map_file)


@dataclass(frozen=True, slots=True)
class SizeClass:
    """The filters of one size in runs, and the units that they belong to. First places are what ascends."""

    num_blocks: int
    units: Sequence[Unit]
    runs: Sequence[SliceRun]


def write_sliced_segment(
    folder: WritableFolder,
    subject: IndexedColumn,
    classes: Sequence[SizeClass],
    others: Sequence[Unit],
    dead: Ranges,
) -> Segment:
    """`others`: units without places, which are the last ones. `dead`: of all units in turn. Raises what runs raise,
    OSError."""
    id = uuid4().hex[:16]
    units = list(_placed([*(unit for each in classes for unit in each.units), *others]))
    units_file = _write_units(folder, id, units)
    files: list[SlicesFile] = []
    place = 0
    for each in classes:
        name = f"{id}.slices-{each.num_blocks}.parquet"
        with folder.making(name) as file:
            files.append(write_slices(file, name, place, each.num_blocks, each.runs))
        place += files[-1].num_slots
    slices = SlicesFiles(tuple(files), len(others))
    return _segment(id, subject, units_file, units, dead, slices=slices)


def _placed(units: Sequence[Unit]) -> Iterator[Unit]:
    place = 0
    for unit in units:
        yield unit if unit.first_place == place else unit._replace(first_place=place)
        place += unit.num_places


def _write_units(folder: WritableFolder, id: str, units: Sequence[Unit]) -> UnitsFile:
    with folder.making(f"{id}.units.parquet") as file:
        return write_units(file, f"{id}.units.parquet", units)


def _segment(
    id: str,
    subject: IndexedColumn,
    units_file: UnitsFile,
    units: Sequence[Unit],
    dead: Ranges,
    map: MapFile | None = None,
    slices: SlicesFiles | None = None,
) -> Segment:
    gone = numbers_in(dead)
    return Segment(
        id=id,
        column=subject.column,
        kind=subject.kind,
        read_as=subject.read_as,
        units=units_file,
        num_files=len({unit.path for number, unit in enumerate(units) if number not in gone}),
        map=map,
        dead=dead,
        slices=slices,
    )
