"""How a run is cut into tasks: from the work alone, so that it is the same work with no executor or a
thousand.

    sheet 0, 1, ...    files that are next to each other, few at first, then more and more
    part 0, 1, ...     of a huge file, in addition: its filters are built in many tasks
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from math import ceil
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from parquet_bloom.container import number_of
from parquet_bloom.dataclass import dataclass
from parquet_bloom.spark.rows import RowFields, packed, unpacked
from parquet_bloom.spark.run import Account

if TYPE_CHECKING:
    from parquet_bloom.spark.outcome import Status


@dataclass(frozen=True, slots=True)
class LakeFile:
    """One file. `path`: as the executors open it; `size` in bytes and `version`, see Source.version, as
    it was when it was listed, None where nobody said."""

    path: str
    size: int | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a task has at most. The first sheets of a listing have `first_files` or `first_bytes`, so that
    a small lake keeps several executors busy; each `before_double` sheets, the next have twice as many.
    A file of `huge` bytes or more is built in parts of at most `part` bytes if at least `least_share` of its
    bytes must be read.

    least_share: one task copies the file in any case. Alone, it reads the columns meanwhile, which takes
    3.5 times as long for as many bytes; in parts, others have read them before it begins, and it takes up
    their filters, as large as the columns at most. Measured with 2.3 GB of ten columns of all kinds.
    """

    files: int = 2000
    bytes: int = 16 << 30
    first_files: int = 64
    first_bytes: int = 512 << 20
    before_double: int = 8
    huge: int = 4 << 30
    part: int = 1 << 30
    least_share: float = 0.4


BOUNDS: Final = Bounds()

# Files that are not opened, in one sheet.
KNOWN_AT_ONCE: Final = 20_000

SHEET: Final = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("size", pa.int64()),
        pa.field("version", pa.string()),
        pa.field("part", pa.int32()),
        pa.field("parts", pa.int32()),
        pa.field("status", pa.string()),
        pa.field("message", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True)
class Sheets:
    """The sheets of one listing: their bytes, and the number of parts of huge files."""

    name: str
    bytes: tuple[int, ...] = ()
    files: int = 0
    parts: int = 0

    def sheet(self, number: int) -> str:
        return f"sheet-{self.name}-{number:06}"

    def part(self, number: int) -> str:
        return f"part-{self.name}-{number:06}"


@dataclass(frozen=True, slots=True)
class Plan:
    """All sheets of a run, and the names that stand for no file, each with what is wrong with it."""

    listings: tuple[Sheets, ...] = ()
    missing: tuple[tuple[str, str], ...] = ()

    @property
    def bytes_of_sheets(self) -> list[int]:
        return [size for listing in self.listings for size in listing.bytes]

    @property
    def num_sheets(self) -> int:
        return sum(len(listing.bytes) for listing in self.listings)

    @property
    def num_parts(self) -> int:
        return sum(listing.parts for listing in self.listings)

    @property
    def num_files(self) -> int:
        return sum(listing.files for listing in self.listings)

    def sheet(self, number: int) -> str:
        """The name of a sheet, of all of them."""
        for listing in self.listings:
            if number < len(listing.bytes):
                return listing.sheet(number)
            number -= len(listing.bytes)
        raise IndexError(number)

    def part(self, number: int) -> str:
        for listing in self.listings:
            if number < listing.parts:
                return listing.part(number)
            number -= listing.parts
        raise IndexError(number)

    def __str__(self) -> str:
        """How much it is."""
        size = sum(self.bytes_of_sheets)
        return f"{number_of(self.num_files, 'file')}, {size / (1 << 30):,.1f} GiB"

    def as_fields(self) -> RowFields:
        return asdict(self)

    @classmethod
    def of(cls, fields: RowFields) -> Plan:
        listings = tuple(
            Sheets(each["name"], tuple(each["bytes"]), each["files"], each["parts"])
            for each in fields["listings"]
        )
        return cls(listings, tuple((name, said) for name, said in fields["missing"]))

    def __add__(self, other: Plan) -> Plan:
        return Plan((*self.listings, *other.listings), (*self.missing, *other.missing))


class SheetWriter:
    """Cuts files, in the order they come, into the sheets of one listing."""

    def __init__(self, account: Account, name: str, bounds: Bounds) -> None:
        self._account = account
        self._name = Sheets(name)
        self._bounds = bounds
        self._rows: list[RowFields] = []
        self._num_opened = self._num_bytes = 0
        self._sizes: list[int] = []
        self._num_files = self._num_parts = 0
        self._limit()

    def add(self, file: LakeFile) -> None:
        bounds, size = self._bounds, file.size or 0
        if size >= bounds.huge:
            self._cut()
            self._put_huge(file, ceil(size / bounds.part))
            return
        is_full = self._num_opened >= self._most_files
        if is_full or (self._rows and self._num_bytes + size > self._most_bytes):
            self._cut()
        self._rows.append(_row(file))
        self._num_opened += 1
        self._num_bytes += size

    def add_known(self, file: LakeFile, status: Status, message: str) -> None:
        """A file that is not opened, as its outcome is known."""
        if len(self._rows) >= KNOWN_AT_ONCE:
            self._cut()
        self._rows.append(_row(file) | {"status": status, "message": message})

    def close(self) -> Sheets:
        self._cut()
        name = self._name.name
        return Sheets(name, tuple(self._sizes), self._num_files, self._num_parts)

    def _cut(self) -> None:
        if self._rows:
            self._put(self._rows, self._num_bytes)
            self._rows, self._num_opened, self._num_bytes = [], 0, 0

    def _put_huge(self, file: LakeFile, parts: int) -> None:
        self._put([_row(file, parts=parts)], file.size or 0)
        for part in range(parts):
            name = self._name.part(self._num_parts)
            self._account.put(name, packed([_row(file, part, parts)], SHEET))
            self._num_parts += 1

    def _put(self, rows: Sequence[RowFields], size: int) -> None:
        self._account.put(self._name.sheet(len(self._sizes)), packed(rows, SHEET))
        self._sizes.append(size)
        self._num_files += len(rows)
        self._limit()

    def _limit(self) -> None:
        """What the next sheet has at most."""
        bounds = self._bounds
        doubled = 1 << min(len(self._sizes) // bounds.before_double, 40)
        self._most_files = min(bounds.files, bounds.first_files * doubled)
        self._most_bytes = min(bounds.bytes, bounds.first_bytes * doubled)


def _row(file: LakeFile, part: int = 0, parts: int = 1) -> RowFields:
    # For each file: asdict would take ten times as long.
    return {
        "path": file.path,
        "size": file.size,
        "version": file.version,
        "part": part,
        "parts": parts,
    }


@dataclass(frozen=True, slots=True)
class Planned:
    """A file, or a part of one, in a sheet. `status` and `message`: of an outcome that is known, as the
    file is as an earlier run left it."""

    file: LakeFile
    part: int = 0
    parts: int = 1
    status: Status | None = None
    message: str | None = None


def planned(account: Account, name: str) -> Iterator[Planned]:
    """The rows of a sheet. Raises FileNotFoundError if there is none."""
    data = account.get(name)
    if data is None:
        raise FileNotFoundError(f"{name}: the plan of the run is gone")
    for row in unpacked(data):
        file = LakeFile(row["path"], row["size"], row["version"])
        yield Planned(file, row["part"], row["parts"], row["status"], row["message"])
