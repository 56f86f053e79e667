"""What a table is to a verb, whichever kind it is.

    | the old file, whole     | filters | new footer |
    0            recorded size                     size

A table records the size of each file. Something is appended to its files, so that they are right for
readers that go by the recorded size, and for those that go by the size itself. Then one commit records
the new sizes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Protocol

from parquet_bloom.container.in_commands import AsTable
from parquet_bloom.container.protocols import Container
from parquet_bloom.errors import UnsupportedError
from parquet_bloom.files import open as open_file
from parquet_bloom.storage.traffic import Requests
from parquet_bloom.vocabulary import TableKind

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.parquet.file import ParquetFile

# Smaller files an engine may not be able to read any more, see the notes on "longer than recorded".
MIN_FILE_SIZE: Final = 4 << 20

# Why a file is left out of a commit.
GONE: Final = "is not in the table any more"
SHORTER: Final = "is shorter now than it was, or gone"
OTHERS: Final = "another writer has recorded another size in the meantime"


@dataclass(frozen=True, slots=True)
class TableFile:
    """A live data file. `name`: as the table has it; `path`: to be opened; `size`: as recorded, in
    bytes; `partition`: the text of each partition column's value, None for null, by logical name,
    of the columns that its partition has; `num_deleted`: rows that a deletion vector marks as deleted,
    which are still in the file; `unfit`: why nothing can be appended to it."""

    name: str
    path: str
    size: int
    partition: Mapping[str, str | None] = field(default_factory=dict)
    num_deleted: int = 0
    unfit: str | None = None


@dataclass(frozen=True, slots=True)
class NewSize:
    """What to record of a file: `new` bytes in place of `old`."""

    old: int
    new: int


@dataclass(frozen=True, slots=True)
class Committed:
    """What became of a commit. `version`: that it made; None if there was nothing to say any more.
    `left`: why files were left out, by name."""

    version: int | None
    left: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The columns that a table's properties want filters for, by logical name, with the false positive
    rate for each, None for the usual one. `example`: a property that would name one; `max_bytes`: of the
    largest bitset, None for the usual one."""

    columns: Mapping[str, float | None]
    example: str
    max_bytes: int | None = None


class StoredNames(Protocol):
    """What data files call the columns of a table; a value, which other processes can be sent."""

    def called(self, file: Container) -> Mapping[int, str]:
        """What the table calls the columns of an open data file, by their place in it; those that are
        none of the table's are left out. Raises UnsupportedError, FormatError for a file that does not
        say."""


def names_in_table(names: StoredNames, file: Container) -> dict[str, str]:
    """What the table calls the columns of an open data file, by what the file calls them. Raises as
    StoredNames."""
    columns = file.columns
    return {columns[place]: name for place, name in names.called(file).items()}


def in_commands_of(table: Table, file: TableFile) -> AsTable:
    """How the command that helps with a live file next names the table."""
    return replace(table.in_commands, is_small=file.size < MIN_FILE_SIZE)


def open_of_table(table: Table, file: TableFile, keys: Keys | None = None) -> ParquetFile:
    """See Table.open."""
    from parquet_bloom.parquet.file import ParquetFile

    if not isinstance(file, TableFile):
        raise TypeError(f"file: {file!r}, expected one of the table's files()")
    if file.unfit is not None:
        raise UnsupportedError(f"{file.path}: {file.unfit}")
    opened = open_file(file.path, keys, size=file.size)
    try:
        if not isinstance(opened, ParquetFile):
            raise UnsupportedError(f"{file.path}: ORC, expected Parquet")
        called, columns = table.names.called(opened), table.columns
        # Lists that their writer has called otherwise inside are there all the same.
        others = {_top(name) for name in called.values() if name not in columns}
        opened.stand_for(in_commands_of(table, file))
        opened.call_columns(called, [name for name in columns if _top(name) not in others])
    except BaseException:
        opened.close()
        raise
    return opened


def _top(name: str) -> str:
    return name.partition(".")[0]


def no_version_as_of(where: str, moment: datetime, times: Sequence[int]) -> str:
    """`times`: of all versions that are there, in milliseconds since 1970."""
    first = datetime.fromtimestamp(min(times) / 1000, UTC) if times else None
    expected = f", expected {first:%Y-%m-%dT%H:%M:%S.%fZ} or later" if first else ""
    return f"{where}: no version as of {moment.isoformat()}{expected}"


class Table(Protocol):
    """A table at one version."""

    @property
    def kind(self) -> TableKind: ...
    @property
    def location(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def columns(self) -> Mapping[str, str]:
        """The leaf columns of the data files: the table's dotted name of each, and the file's."""

    @property
    def partition_columns(self) -> tuple[str, ...]: ...
    @property
    def wanted(self) -> Wanted: ...
    @property
    def in_commands(self) -> AsTable:
        """How the command that helps next names it."""

    @property
    def readers(self) -> tuple[str, ...]:
        """Which engines see filters in such a table, in sentences."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What else to know about filters in this table, in sentences."""

    def refreshed(self) -> Table:
        """The same at its newest version."""

    def files(self) -> Sequence[TableFile]:
        """The live files, in the order of their names. Raises RewriteError for files that only another
        table would have."""

    def open(self, file: TableFile, keys: Keys | None = None) -> ParquetFile:
        """A live file as the table has it: so much of it as is recorded, its columns called as the table
        calls them. Raises as pb.open; UnsupportedError, FormatError for a file that does not say which
        columns of the table it has."""

    def physical(self, column: str) -> str:
        """The dotted name in a new file for the table's. Raises ColumnError."""

    @property
    def names(self) -> StoredNames:
        """What each data file calls them."""

    @property
    def requests(self) -> Requests | None:
        """What was asked of an object store about the table so far, but for its data files; None if
        nobody counts."""

    def refusals(self, sole_writer: bool, commits: bool) -> tuple[str, ...]:
        """What stands in the way of a change, and what to do, in words. `sole_writer`: nobody else
        commits meanwhile; `commits`: whether it ends with a commit."""

    def commit(self, sizes: Mapping[str, NewSize], operation: str) -> Committed:
        """Record sizes, by name of file, in one new version, whatever others have committed since this
        one was read. Raises RewriteError, OSError."""
