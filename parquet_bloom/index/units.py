"""Which files a segment knows, in which state, and which places are theirs: a row for each file or, where places
are pages, for each row group.

    unit     path | size | version | row_group | first_place | num_places | num_rows | reason

Row groups of 1,024 rows or more, whose places in the file the manifest knows, so that one read finds the unit of
a place. `row_group` is that of the first place. `reason`: why the unit is not indexed; no place is its then.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple
from zlib import crc32

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import FormatError
from parquet_bloom.native import _kernel
from parquet_bloom.storage.source import Source


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


# Of a page of units, more than any takes; and of the length before each text.
_LONGEST_HEADER: Final = 256
_LENGTH_BYTES: Final = 4

# Single units of a group are looked for; of more of them, all are decoded.
_FEW: Final = 4

# The columns of text; all others are INT64.
TEXTS: Final = frozenset(("path", "version", "reason"))


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


class UnitsReader:
    """Reads the units of a segment. Methods raise FormatError for damage, OSError."""

    def __init__(self, source: Source, about: UnitsFile) -> None:
        self.source, self._about = source, about
        self._firsts = [group.first_place for group in about.groups]
        self._known: dict[int, _Group] = {}
        self._starts = [0]
        for group in about.groups:
            self._starts.append(self._starts[-1] + group.num_units)

    def at(self, place: int) -> tuple[int, Unit]:
        """The unit that a place belongs to, and its number."""
        number = bisect_right(self._firsts, place) - 1
        group = self._group(number)
        at = bisect_right(group.first_places, place) - 1
        with self._checking(number):
            return self._starts[number] + at, group.unit(at)

    def __iter__(self) -> Iterator[Unit]:
        for number in range(len(self._about.groups)):
            with self._checking(number):
                units = list(self._group(number).units())
            yield from units

    def _group(self, number: int) -> _Group:
        known = self._known.get(number)
        if known is None:
            with self._checking(number):
                known = self._known[number] = self._read(self._about.groups[number])
        return known

    @contextmanager
    def _checking(self, number: int) -> Iterator[None]:
        """Make FormatErrors of what is no group of units, whatever its checksum says."""
        try:
            yield
        except (OverflowError, ValueError) as error:
            start = self._about.groups[number].start
            raise FormatError(f"{self.source.path}: no units at {start:,}: {error}") from None

    def _read(self, group: UnitGroup) -> _Group:
        data = self.source.read_at(group.start, group.size)
        if crc32(data) != group.crc:
            raise FormatError(
                f"{self.source.path}: the units at {group.start:,} are damaged: their CRC-32 is not"
                " the manifest's"
            )
        return _Group(memoryview(data), group.num_units)


class _Group:
    """A row group of units, of which mostly a few are wanted: text is looked for where it is."""

    def __init__(self, data: memoryview, num_units: int) -> None:
        """Raises ValueError if that is no group of so many units."""
        self._columns: list[memoryview | array[int]] = []
        for name in Unit._fields:
            (_, _, size, *_), header = _kernel.page_header(data[:_LONGEST_HEADER])
            end = header + (size or 0)
            body = data[header:end]
            self._columns.append(body if name in TEXTS else array("q", bytes(body)))
            data = data[end:]
        first_places = self._columns[Unit._fields.index("first_place")]
        numbers = [each for each in self._columns if isinstance(each, array)]
        if any(len(each) != num_units for each in numbers) or not isinstance(first_places, array):
            raise ValueError(f"expected {num_units} of them")
        self.first_places = first_places
        self._num_asked = 0
        self._all: list[Unit] | None = None

    def unit(self, at: int) -> Unit:
        self._num_asked += 1
        if self._all is None and self._num_asked > _FEW:
            self._all = list(self.units())
        if self._all is not None:
            return self._all[at]
        return Unit._make(
            [each[at] if isinstance(each, array) else _text_at(each, at) for each in self._columns]
        )

    def units(self) -> Iterator[Unit]:
        """Raises ValueError for text that is not there, as `unit` does."""
        values = [each if isinstance(each, array) else _texts(each) for each in self._columns]
        return map(Unit._make, zip(*values, strict=True))


def _texts(body: memoryview) -> Iterator[str]:
    at = 0
    while at < len(body):
        start, at = _text_behind(body, at)
        yield str(body[start:at], "utf-8", "surrogateescape")


def _text_at(body: memoryview, number: int) -> str:
    """One text, without the others being made."""
    at = 0
    for _ in range(number):
        _, at = _text_behind(body, at)
    start, at = _text_behind(body, at)
    return str(body[start:at], "utf-8", "surrogateescape")


def _text_behind(body: memoryview, at: int) -> tuple[int, int]:
    """Where a text is whose length is at `at`."""
    start = at + _LENGTH_BYTES
    end = start + int.from_bytes(body[at:start], "little")
    if end > len(body) or start > len(body):
        raise ValueError(f"text up to byte {end:,} of {len(body):,}")
    return start, end
