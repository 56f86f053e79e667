"""Runs a verb over the files of a table, in batches.

    for each batch         its files, as the table has them by then
    for each file          the step of the verb, here or in another process
    for all of the batch   one commit that records the new sizes

What a step fails of is what became of that file, and the others are committed. Whatever ends a run, the
batches that are committed stay so; the next run finds them done, and commits what was appended to others.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Final, TypeAlias, TypedDict

from parquet_bloom.arguments import number_if_given
from parquet_bloom.container import of_columns
from parquet_bloom.dataclass import dataclass
from parquet_bloom.engines.reading import engine_notes
from parquet_bloom.errors import (
    ParquetBloomError,
    RewriteError,
    UnsafeStoreError,
    complaint,
    quoted_name,
    without_place,
)
from parquet_bloom.filters.rates import exact_percent, percent_beyond
from parquet_bloom.options import TableOptions
from parquet_bloom.parallel import Progress, of_all, work_in_order
from parquet_bloom.storage.traffic import Requests, in_all
from parquet_bloom.tables.batches import in_batches
from parquet_bloom.tables.partitions import files_where
from parquet_bloom.tables.table import MIN_FILE_SIZE, Committed, LakeTable, NewSize, TableFile
from parquet_bloom.threads import AT_ONCE, are_many_small, threads_for_files
from parquet_bloom.verbs.table_step import (
    ChangedFile,
    FileResult,
    LeftColumn,
    RepairedColumn,
    SkippedColumn,
    TableStep,
    added_up,
    failed,
    left_alone,
    unchanged,
)
from parquet_bloom.vocabulary import APPENDED_BEFORE, HAS_ONE, TableAction, TableKind

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys

NOT_COMMITTED: Final = (
    "the new sizes are not committed: the same again without --no-commit (in Python, commit=False) commits"
    " them"
)
# Of a folder, which only says what is in its metadata files.
NOT_IN_CATALOG: Final = (
    "the new sizes are not committed, which takes the table's catalog: the same again with its identifier there in"
    " place of the folder, as in lake.events, with --catalog NAME, and without --no-commit (in Python, catalog=NAME,"
    " commit=False) commits them"
)
_REBUILT_BY: Final = (
    '--existing replace (in Python, existing="replace") builds others for that rate'
)
_REMOVED: Final = "was removed from the table meanwhile"
_COMMITTED: Final = "another run has committed it meanwhile"


# Does a step with files in other processes.
Elsewhere: TypeAlias = Callable[[Sequence[TableFile], TableStep], list[FileResult]]


@dataclass(frozen=True, slots=True)
class TableCommit:
    """A commit of ours. `version`: that it made; `num_files`: whose new sizes it records."""

    version: int
    num_files: int


class TableFacts(TypedDict):
    """What the report of every verb has."""

    path: str
    table: TableKind
    version: int
    committed: int | None
    commits: tuple[TableCommit, ...]
    files: tuple[ChangedFile, ...]
    dry_run: bool
    seconds: float
    requests: Requests | None


@dataclass(frozen=True, slots=True)
class ChangedTable:
    """What became of a table. `table`: as it was read at first; `files` are sorted by name; `of_engines`:
    what to know about those that read the files that it may append to; `missed`: which filters that were appended
    before let more pass than is wanted; `lost`: who loses rows by the new filters."""

    table: LakeTable
    of_table: TableOptions
    commits: tuple[TableCommit, ...]
    files: tuple[ChangedFile, ...]
    skipped: tuple[SkippedColumn, ...]
    repaired: tuple[RepairedColumn, ...]
    left: tuple[LeftColumn, ...]
    useless: int
    returning: Mapping[str, int]
    missed: tuple[str, ...]
    of_engines: tuple[str, ...]
    lost: tuple[str, ...]
    requests: Requests | None
    seconds: float

    @property
    def facts(self) -> TableFacts:
        return {
            "path": self.table.location,
            "table": self.table.kind,
            "version": self.table.version,
            "committed": self.commits[-1].version if self.commits else None,
            "commits": self.commits,
            "files": self.files,
            "dry_run": self.of_table.dry_run,
            "seconds": self.seconds,
            "requests": self.requests,
        }

    @property
    def bytes_added(self) -> int:
        """To those that a commit records."""
        return sum(file.bytes_added for file in self.files if file.is_committable)

    @property
    def bytes_returning(self) -> int:
        """By which their records are more besides: others may have more bytes than these, too."""
        recorded = [f.size - f.recorded for f in self.files if f.is_committable]
        return sum(recorded) - self.bytes_added

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know about a table whose files were appended to."""
        options, notes = self.of_table, [*self.table.notes]
        if self.returning:
            seen = "the commit has brought" if self.commits else "a commit brings"
            notes.append(
                f"filters of {', '.join(self.returning)}, which were appended before, are in the files,"
                f" too: {seen} them into sight"
            )
        notes += self.missed
        actions = {each.action for each in self.files}
        if options.dry_run and any(each.is_committable for each in self.files):
            notes += [*self.table.readers, *self.of_engines]
        elif "appended" in actions:
            notes += self.of_engines
        notes += self.lost
        if not options.commit and any(each.has_new_size for each in self.files):
            is_known = self.table.in_commands.changing is not None
            notes.append(NOT_COMMITTED if is_known else NOT_IN_CATALOG)
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
    pay off. Raises RewriteError, OSError if nothing of that can be recorded; after a first commit, that
    is what the other files have failed of."""
    started = time.perf_counter()
    alone, batches = _planned(table, step.of_table)
    num_files = sum(map(len, batches))

    def work(file: TableFile, of_each: int | None) -> FileResult:
        try:
            return step.change(file, keys, of_each)
        except UnsafeStoreError as error:
            problem = without_place(error, file.path)
            raise UnsafeStoreError(f"{table.location}: {problem}") from None

    def show(done: int, _: int) -> None:
        if progress is not None:
            progress(len(run.files) - len(alone) + done, num_files)

    def here(files: Sequence[TableFile], _: TableStep) -> list[FileResult]:
        return each_file(files, work, threads, show)

    run = _TableRun(table, step, elsewhere or here, alone)
    for number, names in enumerate(batches):
        try:
            if number:
                run.refresh()
            run.change(names)
        except (ParquetBloomError, OSError) as error:
            if not run.commits:
                raise
            run.give_up({name for batch in batches[number:] for name in batch}, error)
            break
    return run.result(time.perf_counter() - started)


def _planned(
    table: LakeTable, options: TableOptions
) -> tuple[list[ChangedFile], list[tuple[str, ...]]]:
    """The files to which nothing is appended, and the names of the others, in batches."""
    alone, files = [], []
    for file in files_where(table, options.where, options.since):
        left = left_alone(file, options)
        if left is None:
            files.append(file)
        else:
            alone.append(left)
    batches = in_batches(table.in_groups(files), options.files_per_commit)
    return alone, [tuple(file.name for file in batch) for batch in batches]


class _TableRun:
    """A run over the batches of a table. What it keeps of a file is what the report says of it: a table
    can have millions."""

    def __init__(
        self, table: LakeTable, step: TableStep, do: Elsewhere, files: Iterable[ChangedFile]
    ) -> None:
        """`do`: the step with some files; `files`: of which it is known what became of them."""
        # Before there is a commit, which a failure to read them would hide.
        self._of_engines = _notes_of_engines(step.of_table)
        self._first = self._table = table
        self._step, self._do = step, do
        self.files, self.commits = [*files], list[TableCommit]()
        self._skipped: tuple[SkippedColumn, ...] = ()
        self._repaired: tuple[RepairedColumn, ...] = ()
        self._left: tuple[LeftColumn, ...] = ()
        self._useless = 0
        self._returning = Counter[str]()
        self._missed: dict[str, tuple[float, float]] = {}
        self._lost: dict[str, dict[str, None]] = {}
        self._requests: Requests | None = None

    def refresh(self) -> None:
        """Take in what has been committed since, by us and by others, unless nothing is. Raises
        ParquetBloomError, OSError."""
        if self._step.of_table.records_sizes:
            self._table = self._table.refreshed()

    def change(self, names: Collection[str]) -> None:
        """Do the step with the files of a batch that are still there, and commit. Raises
        ParquetBloomError, OSError."""
        wanted = {*names}
        files = self._table.files(wanted)
        results = sorted(self._do(files, self._step), key=lambda result: result.changed.file)
        try:
            done, results = _commit(self._table, results, self._step)
        finally:
            # A commit that fails leaves the same in the files.
            self._add_up(results)
        self.commits += done
        self.files += (result.changed for result in results)
        if gone := wanted - {file.name for file in files}:
            self._leave(gone, "gone", _REMOVED)

    def give_up(self, names: Collection[str], error: Exception) -> None:
        """Leave these files to another run, which an error has kept from being committed."""
        reason = complaint(error).removeprefix(f"{self._first.location}: ")
        self._leave(names, "failed", reason)

    def _leave(self, names: Collection[str], action: TableAction, reason: str) -> None:
        self.files += [
            replace(unchanged(file), action=action, reason=reason)
            for file in self._first.files(names)
        ]

    def _add_up(self, results: Sequence[FileResult]) -> None:
        self._skipped = added_up([*self._skipped, *_all(each.skipped for each in results)])
        self._repaired = added_up([*self._repaired, *_all(each.repaired for each in results)])
        self._left = added_up([*self._left, *_all(each.left for each in results)])
        self._useless += sum(each.useless for each in results)
        for column, num_chunks in _all(each.returning for each in results):
            self._returning[column] += num_chunks
        for column, fpp, target in _all(each.missed for each in results):
            before = self._missed.get(column, (0.0, target))
            self._missed[column] = max(before, (fpp, target))
        for column, statement in _all(each.lost for each in results):
            self._lost.setdefault(statement, {})[column] = None
        self._requests = in_all([self._requests, *(each.requests for each in results)])

    def result(self, seconds: float) -> ChangedTable:
        return ChangedTable(
            table=self._first,
            of_table=self._step.of_table,
            commits=tuple(self.commits),
            files=tuple(sorted(self.files, key=lambda file: file.file)),
            skipped=self._skipped,
            repaired=self._repaired,
            left=self._left,
            useless=self._useless,
            returning=dict(sorted(self._returning.items())),
            missed=tuple(
                f"column {quoted_name(column)}: up to {percent_beyond(target, fpp)} of absent values pass filters"
                f" that were appended before, and the target is {exact_percent(target)}: {_REBUILT_BY}"
                for column, (fpp, target) in sorted(self._missed.items())
            ),
            of_engines=self._of_engines,
            lost=tuple(of_columns(names, statement) for statement, names in self._lost.items()),
            requests=in_all([self._first.requests, self._requests]),
            seconds=seconds,
        )


def _notes_of_engines(options: TableOptions) -> tuple[str, ...]:
    """Of those that stumble over files that are longer than recorded; most do over small ones only."""
    if options.min_file_size < MIN_FILE_SIZE:
        return tuple(engine_notes("longer than recorded"))
    return ()


# Those of many files.
_all = chain.from_iterable


def least_size_given(min_file_size: int | None) -> int:
    """The argument of Python users, None for the default. Raises TypeError."""
    size = number_if_given("min_file_size", min_file_size)
    return MIN_FILE_SIZE if size is None else size


def check_changeable(table: LakeTable, options: TableOptions) -> None:
    """Raise RewriteError, which says everything that stands in the way of a commit and what to do."""
    promised = options.sole_writer, options.records_sizes, options.unconditional
    if reasons := table.refusals(*promised):
        raise RewriteError(f"{table.location}: not changed: {'; '.join(reasons)}")


def each_file(
    files: Sequence[TableFile],
    work: Callable[[TableFile, int | None], FileResult],
    threads: int | None,
    progress: Progress | None,
) -> list[FileResult]:
    """What `work` made of each file, with so many threads; what it fails of is what became of that
    file. Behind URLs, or where there are many small ones, several files at a time. Raises UnsafeStoreError."""
    at_a_time, of_each = threads_for_files(threads, [file.path for file in files])
    if threads is None and are_many_small([file.size for file in files]):
        at_a_time, of_each = AT_ONCE, 1

    def attempt(file: TableFile) -> FileResult:
        try:
            return work(file, of_each)
        except UnsafeStoreError:
            # Which says so of every other file, too.
            raise
        except (ParquetBloomError, OSError, MemoryError) as error:
            return failed(file, complaint(error))

    show = of_all(progress, files)
    found = []
    with closing(work_in_order(files, attempt, lambda _: 0, at_a_time)) as worked:
        for _, result in worked:
            found.append(result)
            show(len(found))
    return found


def _commit(
    table: LakeTable, results: Sequence[FileResult], step: TableStep
) -> tuple[list[TableCommit], list[FileResult]]:
    """Record the new sizes; the commit, if there was one, and what became of each file by then. Raises
    RewriteError, OSError."""
    changed = [result.changed for result in results]
    sizes = {each.file: NewSize(each.recorded, each.size) for each in changed if each.has_new_size}
    done = Committed(None)
    if sizes and step.of_table.records_sizes:
        done = table.commit(sizes, step.OPERATION)
    gone = _gone(table, {each.file for each in changed if each.action == "failed"})
    after = [_after(each, done, gone) for each in results]
    if done.version is None:
        return [], after
    return [TableCommit(done.version, len(sizes) - len(done.left) - len(done.there))], after


def _gone(table: LakeTable, failed: set[str]) -> set[str]:
    """Those of the files that the table does not have any more, as far as it can be read."""
    if not failed:
        return set()
    try:
        return failed - {file.name for file in table.refreshed().files(failed)}
    except (ParquetBloomError, OSError):
        return set()


def _after(result: FileResult, done: Committed, gone: set[str]) -> FileResult:
    changed = result.changed
    if changed.file in gone:
        return replace(result, changed=_left_behind(changed, _REMOVED))
    if reason := done.left.get(changed.file):
        return replace(result, changed=_left_behind(changed, reason))
    # What we have appended is ours, whoever has recorded it.
    return (
        _committed_by_others(result)
        if changed.file in done.there and not changed.bytes_added
        else result
    )


def _committed_by_others(result: FileResult) -> FileResult:
    """Nothing of a file is left to be committed."""
    visible = [
        replace(each, reason=HAS_ONE) if each.reason == APPENDED_BEFORE else each
        for each in result.skipped
    ]
    changed = replace(result.changed, action="unchanged", reason=_COMMITTED)
    return replace(result, changed=changed, skipped=added_up(visible), returning=())


def _left_behind(changed: ChangedFile, reason: str) -> ChangedFile:
    """Whatever was built in a file that is none of the table any more, the table has nothing of it."""
    return replace(changed, action="gone", reason=reason, num_filters=0)
