"""Which files a segment knows, in which state, and which places are theirs: a row for each file or, where places
are pages, for each row group.

    unit     path | size | version | row_group | first_place | num_places | num_rows | reason

Row groups of 1,024 rows or more, whose places in the file the manifest knows, so that one read finds the unit of
a place. `row_group` is that of the first place. `reason`: why the unit is not indexed; no place is its then.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import BinaryIO, Final, NamedTuple
from zlib import crc32

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import FormatError
from parquet_bloom.index.parquet_writer import Leaf, ParquetWriter, WrittenPage, plain_page
from parquet_bloom.parquet.pages.page import PageHeader
from parquet_bloom.parquet.thrift import ttypes as thrift
from parquet_bloom.storage.source import Source

PER_GROUP: Final = 1024
# Of many files, more of them come together: a manifest should not name too many groups.
_MOST_GROUPS: Final = 1024


class Unit(NamedTuple):
    """A file in a state, or one row group of it. `version`: as storage.folder.Found has it."""

    path: str
    size: int
    version: str
    row_group: int
    first_place: int
    num_places: int
    num_rows: int
    reason: str = ""


_TEXTS: Final = frozenset(("path", "version", "reason"))


def _leaf(name: str) -> Leaf:
    type = thrift.Type.BYTE_ARRAY if name in _TEXTS else thrift.Type.INT64
    return Leaf(name, type, thrift.Encoding.PLAIN, name in _TEXTS)


_LEAVES: Final = tuple(map(_leaf, Unit._fields))


class UnitGroup(NamedTuple):
    """A row group of the units' file: where it is, its first place, and the CRC-32 of its bytes."""

    start: int
    size: int
    num_units: int
    first_place: int
    crc: int


@dataclass(frozen=True, slots=True)
class UnitsFile:
    """What a manifest says about the file of a segment's units."""

    name: str
    size: int
    num_units: int
    num_places: int
    groups: tuple[UnitGroup, ...]


def write_units(file: BinaryIO, name: str, units: Sequence[Unit]) -> UnitsFile:
    """Write units, whose places ascend without gaps. Raises OSError."""
    writer = ParquetWriter(file, "units", _LEAVES, {})
    per_group = max(PER_GROUP, -(-len(units) // _MOST_GROUPS))
    groups = []
    for at in range(0, len(units), per_group):
        part = units[at : at + per_group]
        start, crc = writer.position, 0
        for leaf, values in zip(_LEAVES, zip(*part, strict=True), strict=True):
            page = plain_page(_plain(leaf, values), len(part))
            writer.add_chunk([page], [WrittenPage(len(page), len(part))])
            crc = crc32(page, crc)
        groups.append(
            UnitGroup(start, writer.position - start, len(part), part[0].first_place, crc)
        )
        writer.end_group()
    places = units[-1].first_place + units[-1].num_places if units else 0
    return UnitsFile(name, writer.close(), len(units), places, tuple(groups))


def _plain(leaf: Leaf, values: Sequence[str | int]) -> bytes:
    if not leaf.is_text:
        return array("q", values).tobytes()  # type: ignore[arg-type]
    plain = [str(value).encode("utf-8", "surrogateescape") for value in values]
    return b"".join([part for each in plain for part in (len(each).to_bytes(4, "little"), each)])


class Units:
    """Reads the units of a segment. Methods raise FormatError for damage, OSError."""

    def __init__(self, source: Source, about: UnitsFile) -> None:
        self._source, self._about = source, about
        self._firsts = [group.first_place for group in about.groups]
        self._known: dict[int, list[Unit]] = {}
        self._starts = [0]
        for group in about.groups:
            self._starts.append(self._starts[-1] + group.num_units)

    def at(self, place: int) -> tuple[int, Unit]:
        """The unit that a place belongs to, and its number."""
        number = bisect_right(self._firsts, place) - 1
        units = self._group(number)
        at = bisect_right(units, place, key=_first_place) - 1
        return self._starts[number] + at, units[at]

    def __iter__(self) -> Iterator[Unit]:
        for number in range(len(self._about.groups)):
            yield from self._group(number)

    def _group(self, number: int) -> list[Unit]:
        known = self._known.get(number)
        if known is None:
            known = self._known[number] = self._read(self._about.groups[number])
        return known

    def _read(self, group: UnitGroup) -> list[Unit]:
        data = self._source.read_at(group.start, group.size)
        if crc32(data) != group.crc:
            raise FormatError(
                f"{self._source.path}: the units at {group.start:,} are damaged: their CRC-32 is not"
                " the manifest's"
            )
        columns, at = [], 0
        for leaf in _LEAVES:
            header, size = PageHeader.decode(memoryview(data)[at : at + 256])
            at += size
            end = at + (header.compressed_page_size or 0)
            body = memoryview(data)[at:end]
            columns.append(list(_texts(body)) if leaf.is_text else array("q", bytes(body)).tolist())
            at = end
        return list(map(Unit, *columns))


def _first_place(unit: Unit) -> int:
    return unit.first_place


def _texts(body: memoryview) -> Iterator[str]:
    at = 0
    while at < len(body):
        start = at + 4
        at = start + int.from_bytes(body[at:start], "little")
        yield str(body[start:at], "utf-8", "surrogateescape")


