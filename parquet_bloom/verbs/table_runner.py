"""Runs a verb over the files of a table.

    for each live file     the step of the verb, here or in another process
    for all of them        one commit that records the new sizes

What a step fails of is what became of that file, and the others are committed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final, Protocol, TypeAlias, TypedDict, TypeVar

from parquet_bloom.arguments import number_if_given
from parquet_bloom.container.protocols import Container
from parquet_bloom.dataclass import dataclass
from parquet_bloom.engines.reading import engine_notes
from parquet_bloom.errors import ParquetBloomError, RewriteError, complaint
from parquet_bloom.files import open_file
from parquet_bloom.options import Destination, TableOptions
from parquet_bloom.parallel import Progress, of_all, work_in_order
from parquet_bloom.storage.traffic import Requests, in_all
from parquet_bloom.tables.partitions import files_where
from parquet_bloom.tables.table import MIN_FILE_SIZE, Committed, LakeTable, NewSize, TableFile
from parquet_bloom.threads import AT_ONCE, are_many_small, threads_for_files
from parquet_bloom.vocabulary import RepairAction, TableAction, TableKind

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys

NOT_COMMITTED: Final = "the new sizes are not committed: run it again to commit them"

# Their commits need nothing more of the file itself.
_COMMITTED: Final[frozenset[TableAction]] = frozenset(("appended", "appended before", "taken back"))


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """What became of one file. `recorded`: its size in the table before, in bytes; `size`: that was
    found or made, which the table records if it was committed; `num_deleted`: rows that a deletion
    vector leaves out, which filters know nevertheless; `reason`: why it was left as it was."""

    file: str
    action: TableAction
    recorded: int
    size: int
    num_filters: int = 0
    num_deleted: int = 0
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class SkippedColumn:
    """A column that gets no filter in so many column chunks, and why."""

    column: str
    reason: str
    num_chunks: int


@dataclass(frozen=True, slots=True)
class RepairedColumn:
    """What was done about a rule that filters of a column broke, in so many column chunks. `column`:
    as the table calls it; `reason`: of the first of them."""

    column: str
    action: RepairAction
    rule: str
    reason: str
    num_chunks: int


@dataclass(frozen=True, slots=True)
class LeftColumn:
    """A rule that is still broken in so many column chunks, and what would repair it, see
    repair.LeftFilter."""

    column: str | None
    rule: str
    reason: str
    num_chunks: int


OfColumn = TypeVar("OfColumn", SkippedColumn, RepairedColumn, LeftColumn)


@dataclass(frozen=True, slots=True)
class FileResult:
    """What became of one file and of the filters in it, and what was asked of its object store.
    `returning`: the columns whose filters a commit brings back into sight, although nobody asked."""

    changed: ChangedFile
    skipped: tuple[SkippedColumn, ...] = ()
    repaired: tuple[RepairedColumn, ...] = ()
    left: tuple[LeftColumn, ...] = ()
    requests: Requests | None = None
    returning: tuple[str, ...] = ()


class TableStep(Protocol):
    """What a verb does with each file of a table: a value, which other processes can be sent."""

    # What the table's history calls it.
    OPERATION: ClassVar[str]

    @property
    def of_table(self) -> TableOptions: ...

    def change(self, file: TableFile, keys: Keys | None, threads: int | None = None) -> FileResult:
        """What became of one file. `threads`: to work with, None for those of the verb's options.
        Raises what the verb raises of a file."""


# Does a step with files in other processes.
Elsewhere: TypeAlias = Callable[[Sequence[TableFile], TableStep], list[FileResult]]


class TableFacts(TypedDict):
    """What the report of every verb has."""

    path: str
    table: TableKind
    version: int
    committed: int | None
    files: tuple[ChangedFile, ...]
    dry_run: bool
    seconds: float
    requests: Requests | None


@dataclass(frozen=True, slots=True)
class ChangedTable:
    """What became of a table, whose files are sorted by name."""

    table: LakeTable
    of_table: TableOptions
    committed: int | None
    files: tuple[ChangedFile, ...]
    results: tuple[FileResult, ...]
    seconds: float

    @property
    def facts(self) -> TableFacts:
        return {
            "path": self.table.location,
            "table": self.table.kind,
            "version": self.table.version,
            "committed": self.committed,
            "files": self.files,
            "dry_run": self.of_table.dry_run,
            "seconds": self.seconds,
            "requests": in_all([self.table.requests, *(each.requests for each in self.results)]),
        }

    @property
    def bytes_added(self) -> int:
        """To the records of those that a commit records: others may have more bytes than these, too."""
        return sum(file.size - file.recorded for file in self.files if file.action in _COMMITTED)

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know about a table whose files were appended to."""
        found, options = [each.changed for each in self.results], self.of_table
        notes = [*self.table.notes]
        if names := sorted({name for result in self.results for name in result.returning}):
            notes.append(
                f"filters of {', '.join(names)}, which were appended before, are in the files, too: a"
                " commit brings them into sight"
            )
        if options.dry_run:
            notes += [*self.table.readers, *engine_notes("longer than recorded")]
        elif options.min_file_size < MIN_FILE_SIZE and any(
            each.action == "appended" for each in found
        ):
            notes += engine_notes("longer than recorded")
        if not options.commit and any(each.size != each.recorded for each in found):
            notes.append(NOT_COMMITTED)
        return tuple(notes)


def change_table(
    table: LakeTable,
    step: TableStep,
    *,
    threads: int | None = None,
    keys: Keys | None = None,
    progress: Progress | None = None,
    elsewhere: Elsewhere | None = None,
) -> ChangedTable:
    """Do a step with the files of a table, and record their new sizes. `threads`: None for as many as
    pay off. Raises RewriteError, OSError if that cannot be recorded."""
    started, of_table = time.perf_counter(), step.of_table
    asked = files_where(table, of_table.where)
    alone = {file.name: left for file in asked if (left := left_alone(file, of_table))}
    files = [file for file in asked if file.name not in alone]

    def work(file: TableFile, of_each: int | None) -> FileResult:
        return step.change(file, keys, of_each)

    if elsewhere is None:
        done = each_file(files, work, threads, progress)
    else:
        done = elsewhere(files, step)
    results = sorted(
        [*map(FileResult, alone.values()), *done], key=lambda result: result.changed.file
    )
    committed, changed = commit(table, results, step.OPERATION, of_table)
    seconds = time.perf_counter() - started
    return ChangedTable(table, of_table, committed.version, changed, tuple(results), seconds)


def least_size_given(min_file_size: int | None) -> int:
    """The argument of Python users, None for the default. Raises TypeError."""
    size = number_if_given("min_file_size", min_file_size)
    return MIN_FILE_SIZE if size is None else size


def added_up(
    columns: Iterable[OfColumn], alike: Callable[[OfColumn], tuple[str, ...]]
) -> tuple[OfColumn, ...]:
    """Those that are alike as one, which has the reason of the first and the chunks of all."""
    found: dict[tuple[str, ...], OfColumn] = {}
    for each in columns:
        first = found.get(alike(each))
        more = 0 if first is None else first.num_chunks
        found[alike(each)] = replace(first or each, num_chunks=more + each.num_chunks)
    return tuple(found[key] for key in sorted(found))


def unchanged(file: TableFile) -> ChangedFile:
    """What became of a file that is left as its record says."""
    return ChangedFile(file.name, "unchanged", file.size, file.size, num_deleted=file.num_deleted)


def left_alone(file: TableFile, of_table: TableOptions) -> ChangedFile | None:
    """Why nothing is appended to a file, which is not even opened; None if something may be."""
    if file.unfit is not None:
        return replace(unchanged(file), reason=file.unfit)
    if file.size < of_table.min_file_size:
        reason = f"{file.size:,} bytes, fewer than {of_table.min_file_size:,}"
        return replace(unchanged(file), action="too small", reason=reason)
    return None


def without_columns(file: TableFile, opened: Container) -> FileResult:
    """What became of an open file in which nothing was to be changed."""
    left = replace(unchanged(file), size=opened.source.size, reason="has none of these columns")
    return FileResult(left, requests=opened.source.requests)


def appended(file: TableFile, before: int, after: int, num_filters: int) -> ChangedFile:
    """What became of a file of `before` bytes that has `after` now."""
    action: TableAction = "unchanged"
    if after != before:
        action = "appended"
    elif after != file.size:
        action = "appended before"
    return ChangedFile(file.name, action, file.size, after, num_filters, file.num_deleted)


def failed(file: TableFile, problem: str) -> FileResult:
    """What became of a file that could not be changed."""
    reason = problem.removeprefix(f"{file.path}: ")
    return FileResult(replace(unchanged(file), action="failed", reason=reason))


def check_changeable(table: LakeTable, options: TableOptions) -> None:
    """Raise RewriteError, which says everything that stands in the way of a commit and what to do."""
    commits = options.commit and not options.dry_run
    if reasons := table.refusals(options.sole_writer, commits):
        raise RewriteError(f"{table.location}: not changed: {'; '.join(reasons)}")


def each_file(
    files: Sequence[TableFile],
    work: Callable[[TableFile, int | None], FileResult],
    threads: int | None,
    progress: Progress | None,
) -> list[FileResult]:
    """What `work` made of each file, with so many threads; what it fails of is what became of that
    file. Behind URLs, or where there are many small ones, several files at a time."""
    at_a_time, of_each = threads_for_files(threads, [file.path for file in files])
    if threads is None and are_many_small([file.size for file in files]):
        at_a_time, of_each = AT_ONCE, 1

    def attempt(file: TableFile) -> FileResult:
        try:
            return work(file, of_each)
        except (ParquetBloomError, OSError, MemoryError) as error:
            return failed(file, complaint(error))

    show = of_all(progress, files)
    found = []
    with closing(work_in_order(files, attempt, lambda _: 0, at_a_time)) as worked:
        for _, result in worked:
            found.append(result)
            show(len(found))
    return found


def check_record(file: TableFile, opened: Container) -> None:
    """Raise RewriteError unless the file is as long as its record says, or only filters were appended to
    what it says."""
    if opened.source.size != file.size and file.size not in opened.earlier_ends:
        raise RewriteError(
            f"{file.path}: {opened.source.size:,} bytes, expected the {file.size:,} that the table"
            " records, or these and filters that were appended"
        )


def in_place_of(options: TableOptions) -> Destination:
    """Where new versions of files of a table go."""
    return Destination(
        in_place=True,
        dry_run=options.dry_run,
        verify=options.verify,
        unconditional=options.unconditional,
        in_table=True,
    )


def columns_returning(
    file: TableFile, opened: Container, keys: Keys | None
) -> tuple[set[str], Requests | None]:
    """The columns that have filters in an open file, and none as far as its record says: whatever made
    them did not commit, or its commit was taken back. And what was asked to find out. Raises as
    open."""
    if opened.source.size == file.size:
        return set(), None
    with open_file(file.path, keys, size=file.size) as recorded:
        found = _columns_with_filters(opened) - _columns_with_filters(recorded)
        return found, recorded.source.requests


def _columns_with_filters(file: Container) -> set[str]:
    return {
        chunk.column.name
        for part in file.select_parts(None)
        for chunk in file.chunks(part, file.select(None))
        if chunk.has_filters
    }


def commit(
    table: LakeTable, results: Sequence[FileResult], operation: str, options: TableOptions
) -> tuple[Committed, tuple[ChangedFile, ...]]:
    """Record the new sizes; what became of the commit, and of each file. Raises RewriteError,
    OSError."""
    changed = [result.changed for result in results]
    sizes = {
        each.file: NewSize(each.recorded, each.size)
        for each in changed
        if each.action in _COMMITTED and each.recorded != each.size
    }
    done = Committed(None)
    if sizes and options.commit and not options.dry_run:
        done = table.commit(sizes, operation)
    gone = _gone(table, {each.file for each in changed if each.action == "failed"})
    return done, tuple(_after(each, done, gone) for each in changed)


def _gone(table: LakeTable, failed: set[str]) -> set[str]:
    """Those of the files that the table does not have any more, as far as it can be read."""
    if not failed:
        return set()
    try:
        return failed - {file.name for file in table.refreshed().files()}
    except (ParquetBloomError, OSError):
        return set()


def _after(changed: ChangedFile, done: Committed, gone: set[str]) -> ChangedFile:
    if changed.file in gone:
        return replace(changed, action="gone", reason="was removed from the table meanwhile")
    if reason := done.left.get(changed.file):
        return replace(changed, action="gone", reason=reason)
    return changed
