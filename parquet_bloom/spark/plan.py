"""How a run is cut into tasks: from the work alone, so that it is the same work with no executor or a
thousand.

    sheet 0, 1, ...    files that are next to each other, few at first, then more and more
    part 0, 1, ...     of a huge file, in addition: its filters are built in many tasks
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from math import ceil
from typing import Final

import pyarrow as pa

from parquet_bloom.dataclass import dataclass
from parquet_bloom.spark.run import Account, RowFields, packed, unpacked


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
    A file of `huge` bytes or more is built in parts of at most `part` bytes."""

    files: int = 2000
    bytes: int = 16 << 30
    first_files: int = 64
    first_bytes: int = 512 << 20
    before_double: int = 8
    huge: int = 4 << 30
    part: int = 1 << 30


BOUNDS: Final = Bounds()

SHEET: Final = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("size", pa.int64()),
        pa.field("version", pa.string()),
        pa.field("part", pa.int32()),
        pa.field("parts", pa.int32()),
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
    """All sheets of a run, and the names that stand for no file. `complete`: files that an earlier run
    left as they are to be; `accounts`: of them."""

    listings: tuple[Sheets, ...] = ()
    missing: tuple[str, ...] = ()
    complete: int = 0
    accounts: tuple[str, ...] = ()

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
        return self.complete + sum(listing.files for listing in self.listings)

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

    def as_fields(self) -> RowFields:
        return asdict(self)

    @classmethod
    def of(cls, fields: RowFields) -> Plan:
        listings = tuple(
            Sheets(each["name"], tuple(each["bytes"]), each["files"], each["parts"])
            for each in fields["listings"]
        )
        return cls(
            listings, tuple(fields["missing"]), fields["complete"], tuple(fields["accounts"])
        )


class SheetWriter:
    """Cuts files, in the order they come, into the sheets of one listing."""

    def __init__(self, account: Account, name: str, bounds: Bounds) -> None:
        self._account = account
        self._name = Sheets(name)
        self._bounds = bounds
        self._files: list[LakeFile] = []
        self._held = 0
        self._sizes: list[int] = []
        self._num_files = self._num_parts = 0

    def add(self, file: LakeFile) -> None:
        bounds, size = self._bounds, file.size or 0
        if size >= bounds.huge:
            self._cut()
            self._put_huge(file, ceil(size / bounds.part))
            return
        doubled = 1 << min(len(self._sizes) // bounds.before_double, 40)
        most_files = min(bounds.files, bounds.first_files * doubled)
        most_bytes = min(bounds.bytes, bounds.first_bytes * doubled)
        if self._files and (
            len(self._files) >= most_files or self._held + size > most_bytes
        ):
            self._cut()
        self._files.append(file)
        self._held += size

    def close(self) -> Sheets:
        self._cut()
        name = self._name.name
        return Sheets(name, tuple(self._sizes), self._num_files, self._num_parts)

    def _cut(self) -> None:
        if self._files:
            self._put([_row(file) for file in self._files], self._held)
            self._files, self._held = [], 0

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


def _row(file: LakeFile, part: int = 0, parts: int = 1) -> RowFields:
    return asdict(file) | {"part": part, "parts": parts}


@dataclass(frozen=True, slots=True)
class Planned:
    """A file, or a part of one, in a sheet."""

    file: LakeFile
    part: int = 0
    parts: int = 1


def planned(account: Account, name: str) -> Iterator[Planned]:
    """The rows of a sheet. Raises FileNotFoundError if there is none."""
    data = account.get(name)
    if data is None:
        raise FileNotFoundError(f"{name}: the plan of the run is gone")
    for row in unpacked(data):
        file = LakeFile(row["path"], row["size"], row["version"])
        yield Planned(file, row["part"], row["parts"])


def written(account: Account, name: str, files: Iterable[LakeFile], bounds: Bounds) -> Sheets:
    """The sheets of these files."""
    writer = SheetWriter(account, name, bounds)
    for file in files:
        writer.add(file)
    return writer.close()
