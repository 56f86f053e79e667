"""The input files of a command, the loop over them, and where the reports on them go."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from parquet_bloom.commands.store_options import storage_options
from parquet_bloom.program import FINE, TROUBLE, show_traceback

if TYPE_CHECKING:
    from parquet_bloom.container.in_commands import InCommands
    from parquet_bloom.render.hints import NextLines
    from parquet_bloom.render.many_files import Complaints, FileSummary
    from parquet_bloom.storage.paths import Input

# Called with the path of a file that failed, and the message.
Failed = Callable[[str, str], None]
# How a verb sums up files: what to say about each, and about the sum of their numbers.
Summed: TypeAlias = "tuple[Callable[[Any], FileSummary], Callable[[Mapping[str, int]], str]]"
# Writes a report in full, as `write(report, verbose=...)`.
Write = Callable[..., None]


def _nothing(path: str, what: Any) -> None: ...


# The files that names mean, and errors.
Find: TypeAlias = "Callable[[tuple[str, ...]], tuple[list[Input], list[OSError]]]"


class _Failure(NamedTuple):
    """What became of a file instead of a result."""

    error: Exception


class Inputs:
    """The input files, all found before work starts on the first, so that no output is among them."""

    def __init__(self, names: tuple[str, ...], find: Find | None = None) -> None:
        """`find`: what the names mean; None for all files that can be read."""
        from parquet_bloom.storage.paths import expand

        # A table is changed for too long to hold back what ends the program.
        self._are_files = find is None
        if find is None:
            self.files, self._errors = expand(names, storage_options())
        else:
            self.files, self._errors = find(names)
        self._told: set[str] = set()
        # Whether new versions take their places.
        self.are_replaced = False

    def open(self, path: str, keys: Any) -> Any:
        """One of the files, opened. Raises as files.open."""
        from parquet_bloom.files import open as open_file

        return open_file(path, keys)

    def in_commands(self, path: str) -> InCommands:
        """How the command that helps next names one of the files."""
        from parquet_bloom.container.in_commands import AsFile

        return AsFile(path)

    def next_lines(self, again: Sequence[str]) -> NextLines:
        """The commands that help next. `again`: options that they need, too."""
        from parquet_bloom.render.hints import NextLines

        return NextLines(self.in_commands, again)

    def check_columns(self, columns: Iterable[str]) -> None:
        """Each file tells whether it has them."""

    def threads_for(self, threads: int | None) -> tuple[int, int | None]:
        """How many files to read at a time, and how many threads each of them gets."""
        from parquet_bloom.container.threads import threads_for_files

        return threads_for_files(threads, [file.path for file in self.files])

    def threads_to_change(self, threads: int | None) -> tuple[int, int | None]:
        """The same for files of which new versions are written: several at a time only where each waits
        for the disk."""
        from parquet_bloom.container.threads import AT_ONCE, are_many_small
        from parquet_bloom.storage.paths import sizes_if_independent

        if threads is None and self.are_replaced:
            sizes = sizes_if_independent(self.files)
            if sizes is not None and are_many_small(sizes):
                return AT_ONCE, 1
        return 1, threads

    def _counted(self) -> AbstractContextManager[None]:
        """Around the work on each of them."""
        from parquet_bloom.interruptions import counted

        return counted() if self._are_files else nullcontext()

    def complaints(self, at_once: bool = False) -> Complaints:
        """Where complaints about these files go: none is told twice."""
        from parquet_bloom.render.many_files import Complaints

        return Complaints(len(self.files), at_once, self._told)

    def each(
        self,
        work: Callable[[str], Any],
        failed: Failed = _nothing,
        complaints: Complaints | None = None,
        *,
        take: Callable[[str, Any], None] = _nothing,
        threads: int = 1,
    ) -> int:
        """Do `work` for every file, pass on what it returns to `take`, in order, complain about files
        that fail, and return the exit code.

        `complaints`: where complaints about many files are gathered; the default is to gather them.
        `threads`: how many files to work on at a time; `take` is called by one thread.
        """
        from parquet_bloom.container import number_of
        from parquet_bloom.errors import ParquetBloomError, complaint, complaint_about
        from parquet_bloom.interruptions import hold
        from parquet_bloom.parallel import work_in_order
        from parquet_bloom.render.terminal import (
            StandardOutputError,
            complain,
            no_progress,
            progress,
        )

        complaints = complaints or self.complaints()
        code = TROUBLE if self._errors else FINE
        for missing in self._errors:
            if complaint(missing) not in complaints.told:
                complain(complaint(missing))
                complaints.told.add(complaint(missing))
            failed(str(missing.filename), complaint(missing))
        bar = progress if complaints.are_gathered else no_progress
        troubles = (ParquetBloomError, OSError, ValueError, MemoryError)

        # What became of files, until it is told.
        finished: dict[str, Any] = {}

        def attempt(path: str) -> None:
            try:
                finished[path] = work(path)
            except StandardOutputError:
                raise
            except troubles as error:
                finished[path] = _Failure(error)

        def settle(path: str) -> int:
            hold()
            result = finished.pop(path)
            try:
                if isinstance(result, _Failure):
                    raise result.error
                take(path, result)
            except StandardOutputError:
                raise
            except troubles as error:
                message = complaint_about(path, error)
                if message not in complaints.told:
                    show_traceback(error)
                complaints.add(path, message)
                failed(path, message)
                return TROUBLE
            return FINE

        paths = [file.path for file in self.files]
        worked = work_in_order(paths, attempt, lambda _: 0, threads)
        with complaints, bar(number_of(len(paths), "file")) as show:
            show(0, len(paths))
            try:
                with closing(worked):
                    for done in range(1, len(paths) + 1):
                        with self._counted():
                            path, _ = next(worked)
                            code = max(code, settle(path))
                        show(done, len(paths))
            except KeyboardInterrupt:
                # Those that other threads have finished meanwhile are done, too.
                for path in [path for path in paths if path in finished]:
                    with self._counted():
                        settle(path)
                raise
        return code


def tables(names: tuple[str, ...]) -> Inputs:
    """The tables that names mean."""

    def find(names: tuple[str, ...]) -> tuple[list[Input], list[OSError]]:
        from parquet_bloom.storage.paths import expand_tables

        return expand_tables(names, storage_options())

    return Inputs(names, find)


class Answers:
    """Where reports go: each becomes a JSON document, or is written in full; of several files, without
    --verbose, a line at most, and a total at the end."""

    def __init__(
        self, inputs: Inputs, write: Write, summed: Summed | None, *, as_json: bool, verbose: bool
    ) -> None:
        """`summed`: None to write the reports on many files in full, too."""
        self._inputs = inputs
        self._write = write
        self._as_json = as_json
        self._verbose = verbose
        self._is_short = len(inputs.files) > 1 and not as_json and not verbose
        self._summed = summed if self._is_short else None

    def each(self, work: Callable[[str], Any], failed: Failed = _nothing, threads: int = 1) -> int:
        """Take the report that `work` returns for every file; otherwise as Inputs.each."""
        from parquet_bloom.render.many_files import Summary
        from parquet_bloom.render.terminal import load

        load(self._as_json)
        complaints = self._inputs.complaints(at_once=not self._is_short)
        if self._summed is None:
            write = self._writing(complaints)
            return self._inputs.each(work, failed, complaints, take=write, threads=threads)
        summarize, total = self._summed
        summary = Summary(len(self._inputs.files), total)

        def take(path: str, report: Any) -> None:
            complaints.add_if_unverified(path, report)
            summary.add(path, summarize(report))

        def fail(path: str, message: str) -> None:
            summary.add_failed()
            failed(path, message)

        try:
            return self._inputs.each(work, fail, complaints, take=take, threads=threads)
        finally:
            summary.finish()

    def _writing(self, complaints: Complaints) -> Callable[[str, Any], None]:
        def take(path: str, report: Any) -> None:
            complaints.add_if_unverified(path, report)
            answer(report, self._as_json, partial(self._write, verbose=self._verbose))

        return take


def answer(report: Any, as_json: bool, write: Callable[[Any], None]) -> None:
    """Write a report, as one JSON document or by `write`."""
    if not as_json:
        write(report)
        return
    from parquet_bloom.render.terminal import write_json

    write_json(report)
