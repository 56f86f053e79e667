"""Which files a segment knows, in which state, and which places are theirs: a row for each file or, where places
are pages, for each row group.

    unit     path | size | version | row_group | first_place | num_places | num_rows | reason

Row groups of 1,024 rows or more, whose places in the file the manifest knows, so that one read finds the unit of
a place. `row_group` is that of the first place. `reason`: why the unit is not indexed; no place is its then, and
`num_rows` is -1 if that is because the file could not be read, or not all of it, and -2 if it certainly has no such
column.
In a segment without places, a unit without a reason is a file that is known to have no value.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple
from zlib import crc32

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import FormatError
from parquet_bloom.native import _kernel
from parquet_bloom.native.lazy import NDArray, np
from parquet_bloom.storage.source import Source

# In the place of the number of rows: nobody could read them all, or they certainly have no such column.
FAILED: Final = -1
WITHOUT: Final = -2


class Unit(NamedTuple):
    """A file in a state, or row groups of it from number `row_group` on.
    `version`: as storage.folder.Found has it."""

    path: str
    size: int
    version: str
    row_group: int
    first_place: int
    num_places: int
    num_rows: int
    reason: str = ""

    @property
    def has_failed(self) -> bool:
        """Whether the file could not be read, or not all of it. Earlier versions did not keep that."""
        return self.num_rows == FAILED

    @property
    def is_without(self) -> bool:
        """Whether the file certainly has no such column, in whatever case. Earlier versions did not keep that."""
        return self.num_rows == WITHOUT

    @property
    def is_unread(self) -> bool:
        """Whether the file was read in no state: what it failed of may pass, so that the next `add` tries again."""
        return not self.version


# Of a page's header, more than any takes.
_LONGEST_HEADER: Final = 256

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

    def place(self, place: int) -> tuple[int, int]:
        """The number of the unit that a place belongs to, and which of its places it is."""
        number = bisect_right(self._firsts, place) - 1
        first_places = self._group(number).first_places
        at = bisect_right(first_places, place) - 1
        return self._starts[number] + at, place - first_places[at]

    def places(self, places: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The same of many places."""
        numbers = np.searchsorted(self._firsts, places, "right") - 1
        groups = np.flatnonzero(np.bincount(numbers)).tolist()
        parts = [np.frombuffer(self._group(number).first_places, np.int64) for number in groups]
        first_places = np.concatenate(parts)
        starts = [np.arange(self._starts[at], self._starts[at + 1]) for at in groups]
        at = np.searchsorted(first_places, places, "right") - 1
        return np.concatenate(starts)[at], places - first_places[at]

    def units(self, numbers: Iterable[int]) -> dict[int, Unit]:
        """Those of these numbers."""
        units: dict[int, Unit] = {}
        wanted = sorted(numbers)
        for number, start in enumerate(self._starts[:-1]):
            first, end = bisect_left(wanted, start), bisect_left(wanted, self._starts[number + 1])
            if first < end:
                here = wanted[first:end]
                found = self._group(number).units([each - start for each in here])
                units.update(zip(here, found, strict=True))
        return units

    def __iter__(self) -> Iterator[Unit]:
        return self.behind(0)

    def behind(self, first: int) -> Iterator[Unit]:
        """All units from number `first` on."""
        for number in range(bisect_right(self._starts, first) - 1, len(self._about.groups)):
            yield from islice(self._group(number), max(0, first - self._starts[number]), None)

    def _group(self, number: int) -> _Group:
        known = self._known.get(number)
        if known is None:
            known = self._known[number] = self._read(self._about.groups[number])
        return known

    def _read(self, about: UnitGroup) -> _Group:
        data = self.source.read_at(about.start, about.size)
        if crc32(data) != about.crc:
            raise FormatError(
                f"{self.source.path}: the units at {about.start:,} are damaged: their CRC-32 is not"
                " the manifest's"
            )
        try:
            return _Group(memoryview(data), about.num_units)
        except (OverflowError, ValueError) as error:
            raise FormatError(f"{self.source.path}: no units at {about.start:,}: {error}") from None


class _Group:
    """A row group of units, of which mostly a few are wanted: text is looked for where it is."""

    def __init__(self, data: memoryview, num_units: int) -> None:
        """Raises ValueError if that is no group of so many units."""
        self._columns: list[_Texts | array[int]] = []
        for name in Unit._fields:
            (_, _, size, *_), header = _kernel.page_header(data[:_LONGEST_HEADER])
            end = header + (size or 0)
            body = data[header:end]
            self._columns.append(_Texts(body) if name in TEXTS else array("q", bytes(body)))
            data = data[end:]
        first_places = self._columns[Unit._fields.index("first_place")]
        if any(len(each) != num_units for each in self._columns):
            raise ValueError(f"expected {num_units} of them")
        assert isinstance(first_places, array)
        self.first_places = first_places

    def units(self, numbers: list[int]) -> Iterator[Unit]:
        """Those of these numbers."""
        return map(
            Unit._make, zip(*(_chosen(each, numbers) for each in self._columns), strict=True)
        )

    def __iter__(self) -> Iterator[Unit]:
        return map(Unit._make, zip(*self._columns, strict=True))


def _chosen(column: _Texts | array[int], numbers: list[int]) -> Iterable[int | str]:
    return column.chosen(numbers) if isinstance(column, _Texts) else [column[at] for at in numbers]


class _Texts(Sequence[str]):
    """Texts as they are in a page, each behind its length in four bytes."""

    def __init__(self, body: memoryview) -> None:
        """Raises ValueError for what is none."""
        self._body, self._starts = body, _kernel.byte_array_starts(body)

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, at: int) -> str:  # type: ignore[override]
        (found,) = self.chosen([at])
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.chosen([*range(len(self))]))

    def chosen(self, numbers: list[int]) -> list[str]:
        return _kernel.texts_at(self._body, self._starts, numbers)
