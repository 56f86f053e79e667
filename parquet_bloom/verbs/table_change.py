"""What becomes of the files of a table while a verb goes through them, and the one commit at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Final

from parquet_bloom.container import LeftChunk
from parquet_bloom.container.protocols import Container
from parquet_bloom.container.threads import threads_for_files
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import ParquetBloomError, RewriteError, complaint
from parquet_bloom.options import TableOptions
from parquet_bloom.parallel import Progress, of_all, work_in_order
from parquet_bloom.storage.traffic import Requests, in_all
from parquet_bloom.tables.table import Committed, NewSize, Table, TableFile
from parquet_bloom.vocabulary import TableAction

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
    """What became of one file, what got no filter in it, and what was asked of its object store."""

    changed: ChangedFile
    skipped: tuple[SkippedColumn, ...] = ()
    requests: Requests | None = None


def skipped_columns(chunks: Iterable[LeftChunk]) -> tuple[SkippedColumn, ...]:
    """Those of one file, by column and reason."""
    counts = Counter((chunk.column, chunk.reason) for chunk in chunks)
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
    file. Behind URLs, several files at a time."""
    at_a_time, of_each = threads_for_files(threads, [file.path for file in files])

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
