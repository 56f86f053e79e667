"""What becomes of the files of a table while a verb goes through them, and the one commit at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from parquet_bloom.arguments import number_if_given
from parquet_bloom.container import LeftChunk
from parquet_bloom.container.protocols import Container
from parquet_bloom.container.threads import AT_ONCE, are_many_small, threads_for_files
from parquet_bloom.dataclass import dataclass
from parquet_bloom.engines.reading import engine_notes
from parquet_bloom.errors import ParquetBloomError, RewriteError, complaint
from parquet_bloom.files import open as open_file
from parquet_bloom.options import Destination, TableOptions
from parquet_bloom.parallel import Progress, of_all, work_in_order
from parquet_bloom.storage.traffic import Requests, in_all
from parquet_bloom.tables.table import MIN_FILE_SIZE, Committed, NewSize, Table, TableFile
from parquet_bloom.vocabulary import TableAction

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
class FileResult:
    """What became of one file, what got no filter in it, and what was asked of its object store.
    `returning`: the columns whose filters a commit brings back into sight, although nobody asked."""

    changed: ChangedFile
    skipped: tuple[SkippedColumn, ...] = ()
    requests: Requests | None = None
    returning: tuple[str, ...] = ()


def least_size_given(min_file_size: int | None) -> int:
    """The argument of Python users, None for the default. Raises TypeError."""
    size = number_if_given("min_file_size", min_file_size)
    return MIN_FILE_SIZE if size is None else size


def skipped_columns(
    chunks: Iterable[LeftChunk], called: Mapping[str, str]
) -> tuple[SkippedColumn, ...]:
    """Those of one file, by column and reason. `called`: what the table calls its columns."""
    counts = Counter((called.get(chunk.column, chunk.column), chunk.reason) for chunk in chunks)
    return tuple(SkippedColumn(*key, count) for key, count in sorted(counts.items()))


def skipped_in_all(results: Iterable[FileResult]) -> tuple[SkippedColumn, ...]:
    """Those of many files."""
    counts: Counter[tuple[str, str]] = Counter()
    for each in (each for result in results for each in result.skipped):
        counts[each.column, each.reason] += each.num_chunks
    return tuple(SkippedColumn(*key, count) for key, count in sorted(counts.items()))


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


def bytes_added(files: Iterable[ChangedFile]) -> int:
    """To the records of those that a commit records: others may have more bytes than these, too."""
    return sum(file.size - file.recorded for file in files if file.action in _COMMITTED)


def failed(file: TableFile, problem: str) -> FileResult:
    """What became of a file that could not be changed."""
    reason = problem.removeprefix(f"{file.path}: ")
    return FileResult(replace(unchanged(file), action="failed", reason=reason))


def opened_to_change(table: Table, options: TableOptions) -> Table:
    """The table itself. Raises RewriteError, which says everything that stands in the way of a commit
    and what to do."""
    commits = options.commit and not options.dry_run
    if reasons := table.refusals(options.sole_writer, commits):
        raise RewriteError(f"{table.location}: not changed: {'; '.join(reasons)}")
    return table


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
    table: Table, results: Sequence[FileResult], operation: str, options: TableOptions
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


def notes_on(table: Table, results: Sequence[FileResult], options: TableOptions) -> tuple[str, ...]:
    """What to know about a table whose files were appended to."""
    files = [result.changed for result in results]
    notes = [*table.notes]
    if names := sorted({name for result in results for name in result.returning}):
        notes.append(
            f"filters of {', '.join(names)}, which were appended before, are in the files, too: a commit"
            " brings them into sight"
        )
    if options.dry_run:
        notes += [*table.readers, *engine_notes("longer than recorded")]
    elif options.min_file_size < MIN_FILE_SIZE and any(each.action == "appended" for each in files):
        notes += engine_notes("longer than recorded")
    if not options.commit and any(each.size != each.recorded for each in files):
        notes.append(NOT_COMMITTED)
    return tuple(notes)


def requests_of(table: Table, results: Iterable[FileResult]) -> Requests | None:
    """What was asked of object stores about a table and its files."""
    return in_all([table.requests, *(result.requests for result in results)])


def _gone(table: Table, failed: set[str]) -> set[str]:
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
