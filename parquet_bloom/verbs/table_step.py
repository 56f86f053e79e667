"""What a verb does with one file of a table, and what became of it. What runs it over all of them, and
commits, is table_runner."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar

from parquet_bloom.container.protocols import Container
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import ColumnError, NotSupportedFileError, RewriteError, no_column
from parquet_bloom.files import open_file, what_follows
from parquet_bloom.options import Destination, TableOptions
from parquet_bloom.rules.finding import NOT_CHECKED
from parquet_bloom.storage.traffic import Requests
from parquet_bloom.tables.table import TableFile, top
from parquet_bloom.vocabulary import RepairAction, TableAction, is_out_of_sight

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """What became of one file. `recorded`: its size in the table before, in bytes; `size`: that was
    found or made, which the table records if it was committed; `num_deleted`: rows that a deletion
    vector leaves out, which filters know nevertheless; `reason`: why it was left as it was;
    `bytes_added`: by how much the file itself grew, as what was appended before is not recorded either."""

    file: str
    action: TableAction
    recorded: int
    size: int
    num_filters: int = 0
    num_deleted: int = 0
    reason: str | None = None
    bytes_added: int = 0

    @property
    def is_committable(self) -> bool:
        """Whether a commit records its size, and needs nothing more of the file itself."""
        return self.action in ("appended", "appended before", "taken back")

    @property
    def has_new_size(self) -> bool:
        """Whether that is another than the table has recorded."""
        return self.is_committable and self.size != self.recorded


@dataclass(frozen=True, slots=True)
class SkippedColumn:
    """A column that gets no filter in so many column chunks, and why;
    `num_chunks` counts row groups where a file lacks the column."""

    column: str
    reason: str
    num_chunks: int

    @property
    def likeness(self) -> tuple[str, ...]:
        """Those that share it are reported as one."""
        return self.column, self.reason


@dataclass(frozen=True, slots=True)
class RepairedColumn:
    """What was done about a rule that filters of a column broke, in so many column chunks. `column`:
    as the table calls it; `reason`: of the first of them."""

    column: str
    action: RepairAction
    rule: str
    reason: str
    num_chunks: int

    @property
    def likeness(self) -> tuple[str, ...]:
        """See SkippedColumn."""
        return self.column, self.action, self.rule


@dataclass(frozen=True, slots=True)
class LeftColumn:
    """A rule that is still broken in so many column chunks, and what would repair it, or what could not
    be looked at, see repair.LeftFilter."""

    column: str | None
    rule: str
    reason: str
    num_chunks: int

    @property
    def likeness(self) -> tuple[str, ...]:
        """See SkippedColumn."""
        return self.column or "", self.rule

    @property
    def is_wrong(self) -> bool:
        """See repair.LeftFilter."""
        return self.rule != NOT_CHECKED

    @property
    def is_hidden(self) -> bool:
        """See repair.LeftFilter."""
        return not self.is_wrong and is_out_of_sight(self.reason)


OfColumn = TypeVar("OfColumn", SkippedColumn, RepairedColumn, LeftColumn)


@dataclass(frozen=True, slots=True)
class FileResult:
    """What became of one file and of the filters in it, and what was asked of its object store.
    `returning`: the columns whose filters a commit brings back into sight, although nobody asked, with the number of
    their chunks; `missed`: those that were asked for, where such filters miss the target, with the highest FPP and
    the target. `useless`: see RepairReport. `lost`: which engines lose rows by the new filters, a sentence for each
    column."""

    changed: ChangedFile
    skipped: tuple[SkippedColumn, ...] = ()
    repaired: tuple[RepairedColumn, ...] = ()
    left: tuple[LeftColumn, ...] = ()
    requests: Requests | None = None
    returning: tuple[tuple[str, int], ...] = ()
    missed: tuple[tuple[str, float, float], ...] = ()
    useless: int = 0
    lost: tuple[tuple[str, str], ...] = ()


class TableStep(Protocol):
    """What a verb does with each file of a table: a value, which other processes can be sent."""

    # What the table's history calls it.
    OPERATION: ClassVar[str]

    @property
    def of_table(self) -> TableOptions: ...

    def change(self, file: TableFile, keys: Keys | None, threads: int | None = None) -> FileResult:
        """What became of one file. `threads`: to work with, None for those of the verb's options.
        Raises what the verb raises of a file."""


def added_up(columns: Iterable[OfColumn]) -> tuple[OfColumn, ...]:
    """Those that are alike as one, which has the reason of the first and the chunks of all."""
    found: dict[tuple[str, ...], OfColumn] = {}
    for each in columns:
        first = found.get(each.likeness)
        more = 0 if first is None else first.num_chunks
        found[each.likeness] = replace(first or each, num_chunks=more + each.num_chunks)
    return tuple(found[key] for key in sorted(found))


def unchanged(file: TableFile) -> ChangedFile:
    """What became of a file that is left as its record says."""
    return ChangedFile(file.name, "unchanged", file.size, file.size, num_deleted=file.num_deleted)


def way_to_small(files: Iterable[ChangedFile]) -> str:
    """What to say to Python users of files that are too small; empty if none is."""
    reason = next((file.reason for file in files if file.action == "too small"), None)
    return f"; too small: {reason}; min_file_size=0 takes them" if reason else ""


def left_alone(file: TableFile, of_table: TableOptions) -> ChangedFile | None:
    """Why nothing is appended to a file, which is not even opened; None if something may be."""
    if file.unfit is not None:
        return replace(unchanged(file), reason=file.unfit)
    if file.size < of_table.min_file_size:
        reason = f"{file.size:,} bytes, fewer than {of_table.min_file_size:,}"
        return replace(unchanged(file), action="too small", reason=reason)
    return None


def without_columns(
    file: TableFile, opened: Container, why: str = "has none of these columns"
) -> FileResult:
    """What became of an open file in which nothing was to be changed."""
    left = replace(unchanged(file), size=opened.source.size, reason=why)
    return FileResult(left, requests=opened.source.requests)


def check_named(
    opened: Container, called: Mapping[str, str], strange: Iterable[str], found: Collection[str]
) -> None:
    """Raise ColumnError for a `strange` name, none of the table's, if an open file has that column otherwise:
    `tags.element`, where it has `tags.list.element`. `called`: what the table calls its columns; `found`: the names
    that it has columns for. If one of them is of that column, the strange name is for other files."""
    tops = {top(name) for name in found}
    for name in sorted({*strange} - {*found}):
        there = [each for each in called.values() if top(each) == top(name)]
        if there and top(name) not in tops:
            raise ColumnError(f"{opened.source.path}: {no_column(name, there)}")


def appended(file: TableFile, before: int, after: int, num_filters: int) -> ChangedFile:
    """What became of a file of `before` bytes that has `after` now."""
    action: TableAction = "unchanged"
    if after != before:
        action = "appended"
    elif after != file.size:
        action = "appended before"
    changed = ChangedFile(file.name, action, file.size, after, num_filters, file.num_deleted)
    return replace(changed, bytes_added=after - before)


def failed(file: TableFile, problem: str) -> FileResult:
    """What became of a file that could not be changed."""
    reason = problem.removeprefix(f"{file.path}: ")
    return FileResult(replace(unchanged(file), action="failed", reason=reason))


def open_to_its_end(file: TableFile, keys: Keys | None) -> Container:
    """A live file, with what was appended to it. Raises RewriteError unless it is as long as its record says, or only
    filters were appended to what it says; and as open_file."""
    try:
        opened = open_file(file.path, keys)
    except NotSupportedFileError:
        # It may end like another file, but is none before its record says so.
        open_file(file.path, keys, size=file.size).close()
        raise RewriteError(f"{file.path}: {what_follows(file.path, keys, file.size)}") from None
    try:
        if opened.source.size < file.size:
            open_file(file.path, keys, size=file.size).close()
        if opened.source.size != file.size and file.size not in opened.earlier_ends:
            raise RewriteError(
                f"{file.path}: {opened.source.size:,} bytes, expected the {file.size:,} that the table"
                " records, or these and filters that were appended"
            )
    except BaseException:
        opened.close()
        raise
    return opened


def in_place_of(options: TableOptions) -> Destination:
    """Where new versions of files of a table go."""
    return Destination(
        in_place=True,
        dry_run=options.dry_run,
        verify=options.verify,
        unconditional=options.unconditional,
        in_table=True,
    )


def as_called(
    returning: Mapping[str, int], called: Mapping[str, str]
) -> tuple[tuple[str, int], ...]:
    """Columns that return, with the table's names for the file's."""
    return tuple(sorted((called.get(name, name), count) for name, count in returning.items()))
