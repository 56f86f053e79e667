"""The input files of a command, the loop over them, and where the reports on them go."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from itertools import chain
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from parquet_bloom.container import number_of
from parquet_bloom.container.in_commands import AsFile, InCommands
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import ParquetBloomError, complaint, complaint_about, quoted_name
from parquet_bloom.files import open_file
from parquet_bloom.interruptions import counted, hold
from parquet_bloom.parallel import work_in_order
from parquet_bloom.program import FINE, TROUBLE, show_traceback
from parquet_bloom.render.hints import BY_NAME, NextLines
from parquet_bloom.render.reports import FEW, Complaints, ReportView, SummarizedView, Summary
from parquet_bloom.render.terminal import (
    StandardOutputError,
    complain,
    load,
    no_progress,
    progress,
    write_json,
)
from parquet_bloom.render.wording import shortened
from parquet_bloom.storage.paths import Input, links_to_others, without_output
from parquet_bloom.threads import threads_for_files, threads_to_change
from parquet_bloom.verbs.left_out_files import left_out
from parquet_bloom.vocabulary import is_unlisted

if TYPE_CHECKING:
    from pathlib import Path

    from parquet_bloom.container.protocols import Container
    from parquet_bloom.encryption.keys import Keys

# Called with the path of a file that failed, and the message.
Failed = Callable[[str, str], None]
# Files, and an error for each that was not found.
FoundInputs: TypeAlias = tuple[list[Input], list[OSError]]

Result = TypeVar("Result")


def _nothing(path: str, what: object) -> None: ...


_MEANT: Final = re.compile(r": no column (.*); did you mean (.*)\?$")


def is_of_others(message: str) -> bool:
    """Whether it says that a file has no such column, and which others it has: not only one in another case, which
    nobody takes as null."""
    if meant := _MEANT.search(message):
        name, others = meant[1].casefold(), meant[2].casefold()
        return name not in others.split(", ")
    return ": no column " in message and "; the file has " in message


@dataclass(frozen=True, slots=True)
class _Failure:
    """What became of a file instead of a result."""

    error: Exception


class Inputs:
    """The input files, all found before work starts on the first, so that no output is among them."""

    def __init__(self, found: FoundInputs, *, are_held: bool = True, noun: str = "file") -> None:
        """`are_held`: whether what ends the program waits for the file that is worked on. A table is
        changed for too long. `noun`: what each of them is."""
        self._are_held = are_held
        self.noun = noun
        self.files, self.errors = found
        # The words with which a command means these files and no others, if there are any: names, or a manifest.
        self.names: tuple[str, ...] = ()
        # Those that mean them with the options that say which, such as --since.
        self.narrowed_names: tuple[str, ...] = ()
        # The paths of those that failed.
        self.unread: set[str] = set()
        # The files that folders have besides.
        self.left_out: Sequence[str] = ()
        self._told: set[str] = set()
        # Of what was named: what the command does not work on, as it was not asked to, or has done so before.
        self.others: list[Input] = []
        # The first output that is there already, and stays as it is.
        self.first_done: str | None = None
        # Whether new versions take their places.
        self.are_replaced = False

    def tell_left_out(self) -> None:
        """Say what folders have that was not looked at, and may have been meant."""
        if self.left_out:
            complain(left_out(self.left_out))

    def tell_lacking(self, is_by_name: bool) -> None:
        """Say what helps where files lack a column that others have, unless it was given."""
        if self.are_lacking and not is_by_name:
            complain(BY_NAME)

    @property
    def are_lacking(self) -> bool:
        """Whether some failed as they lack a column, and others did not."""
        is_told = any(map(is_of_others, self._told))
        return is_told and len(self.unread) < len(self.files)

    @property
    def read_paths(self) -> list[str]:
        """Those of the files that did not fail."""
        return self._readable(each.path for each in self.files)

    @property
    def read_names(self) -> list[str]:
        """`names` without those of files that failed."""
        return self._readable(self.names)

    @property
    def narrowed_read_names(self) -> list[str]:
        """`narrowed_names` without those of files that failed."""
        return self._readable(self.narrowed_names)

    def _readable(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if name not in self.unread]

    def open(self, path: str, keys: Keys | None) -> AbstractContextManager[Container]:
        """One of the files, opened. Raises as files.open."""
        return open_file(path, keys)

    def in_commands(self, path: str) -> InCommands:
        """How the command that helps next names one of the files."""
        return AsFile(path, self.names if len(self.files) > 1 else ())

    def notes_on_readers(self) -> Sequence[str]:
        """What engines do with filters in the tables that are read, unlike in plain files; none for these."""
        return ()

    @property
    def are_of_tables(self) -> bool:
        """Whether any that was read is a table's, which was not asked as one, so that no command changes them all."""
        one_of_each = {os.path.dirname(path): path for path in self.read_paths}
        named = map(self.in_commands, one_of_each.values())
        return any(isinstance(each, AsFile) and each.is_of_table for each in named)

    @property
    def are_read_only(self) -> bool:
        """Whether any that was read is on a web server, so that no command changes them all."""
        named = map(self.in_commands, self.read_paths)
        return any(isinstance(each, AsFile) and each.is_of_web_server for each in named)

    def next_lines(self, again: Sequence[str]) -> NextLines:
        """The commands that help next. `again`: options that they need, too."""
        return NextLines(self.in_commands, again)

    def keep(self, files: Sequence[Input]) -> None:
        """Work on these of the files alone."""
        kept = {file.path for file in files}
        self.others += (file for file in self.files if file.path not in kept)
        self.files = [*files]

    def resume(self, outputs: Mapping[str, Path]) -> None:
        """Keep those whose output is not there yet, and say of how many it is."""
        left = without_output(self.files, outputs)
        done = len(self.files) - len(left)
        if done:
            is_left = {file.path for file in left}
            first = next(file.path for file in self.files if file.path not in is_left)
            self.first_done = str(outputs[first])
            why = (
                "its output exists, whatever is in it"
                if done == 1
                else "their outputs exist, whatever is in them"
            )
            complain(f"{done:,} of {number_of(len(self.files), 'file')} left out: {why}")
        self.keep(left)

    def tell_of_others(
        self, not_as_asked: Callable[[Container], Sequence[str]], how: str, keys: Keys | None
    ) -> None:
        """Say so if the first output that stays as it is has columns `not_as_asked` for now: who takes up a run with
        other options would take it for done. One that cannot be read is left, as all others are."""
        if self.first_done is None:
            return
        with suppress(ParquetBloomError, OSError), open_file(self.first_done, keys) as file:
            if names := shortened([*map(quoted_name, not_as_asked(file))]):
                complain(
                    f"{self.first_done}: left as it is, {how} of {names}: was it written with other options?"
                    " --overwrite without --resume replaces it"
                )

    def take_once(self) -> None:
        """Leave out links to others of them, which are changed or counted themselves, and say so."""
        if links := links_to_others(self.files):
            what = "a link to another" if len(links) == 1 else "links to others"
            files = number_of(len(self.files), "file")
            complain(f"{len(links):,} of {files} left out: {what} of them: {shortened(links)}")
            are_links = {*links}
            self.files = [file for file in self.files if file.path not in are_links]

    def check_columns(self, columns: Iterable[str]) -> None:
        """Each file tells whether it has them."""

    def check_some_have(self, columns: Iterable[str], keys: Keys | None) -> None:
        """Raise ColumnError for a column that none of them has, nor any of the others that were named, before it is
        null in all of them. Of the others the last come first, as columns come to a lake with its newer files."""
        from parquet_bloom.verbs.several import check_some_have

        looked_at = chain(self.files, reversed(self.others)) if self.files else ()
        check_some_have(
            columns, (file.path for file in looked_at), lambda path: self.open(path, keys)
        )

    def threads_for(self, threads: int | None) -> tuple[int, int | None]:
        """How many files to read at a time, and how many threads each of them gets."""
        return threads_for_files(threads, [file.path for file in self.files])

    def threads_to_change(self, threads: int | None) -> tuple[int, int | None]:
        """The same for files of which new versions are written: several at a time only where each waits
        for the disk."""
        return threads_to_change(threads, self.files) if self.are_replaced else (1, threads)

    def _counted(self) -> AbstractContextManager[None]:
        """Around the work on each of them."""
        return counted() if self._are_held else nullcontext()

    def complaints(self, at_once: bool = False) -> Complaints:
        """Where complaints about these files go: none is told twice."""
        return Complaints(len(self.files), at_once, self._told)

    def each(
        self,
        work: Callable[[str], Result],
        failed: Failed = _nothing,
        complaints: Complaints | None = None,
        *,
        take: Callable[[str, Result], None] = _nothing,
        threads: int = 1,
    ) -> int:
        """Do `work` for every file, pass on what it returns to `take`, in order, complain about files
        that fail, and return the exit code.

        `complaints`: where complaints about many files are gathered; the default is to gather them.
        `threads`: how many files to work on at a time; `take` is called by one thread.
        """
        complaints = complaints or self.complaints()
        code = TROUBLE if self.errors else FINE
        for missing in self.errors:
            if complaint(missing) not in complaints.told:
                complain(complaint(missing))
                complaints.told.add(complaint(missing))
            self.unread.add(str(missing.filename))
            failed(str(missing.filename), complaint(missing))
        bar = progress if complaints.are_gathered else no_progress
        troubles = (ParquetBloomError, OSError, ValueError, MemoryError)

        # What became of files, until it is told.
        finished: dict[str, Result | _Failure] = {}

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
                self.unread.add(path)
                failed(path, message)
                return TROUBLE
            return FINE

        paths = [file.path for file in self.files]
        worked = work_in_order(paths, attempt, lambda _: 0, threads)
        with complaints, bar(number_of(len(paths), self.noun)) as show:
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


class Answers:
    """Where the reports on input files go: each becomes a JSON document, or is written in full; of
    several files, without --verbose, a line at most, and a total at the end. With --quiet, no file has a line."""

    def __init__(
        self,
        inputs: Inputs,
        *,
        as_json: bool,
        verbose: bool,
        quiet: bool = False,
        is_kept: bool = False,
        is_table: bool = False,
    ) -> None:
        """`is_kept`: whether they go to a file, in which no value may be left out; `is_table`: to one of Parquet."""
        self.inputs = inputs
        self.as_json = as_json
        self.verbose = verbose
        # Up to so many files have a line each.
        self._few = 0 if quiet else FEW
        self.is_kept = is_kept
        self.has_all_values = verbose or is_kept
        self.is_table = is_table
        # What to say of a file that is not to be read by people, once it is written.
        self.afterwards: list[str] = []

    @property
    def at_once(self) -> bool:
        """Whether each file is told of when it is done, whatever is said about others."""
        return self.as_json or self.verbose

    def each(
        self,
        work: Callable[[str], Result],
        view: ReportView[Result],
        failed: Failed = _nothing,
        threads: int = 1,
    ) -> int:
        """Show the report that `work` returns for every file; otherwise as Inputs.each."""
        load(self.as_json)
        is_short = len(self.inputs.files) > min(self._few, 1) and not self.at_once
        complaints = self.inputs.complaints(at_once=not is_short)
        if not is_short or not isinstance(view, SummarizedView):

            def write(path: str, report: Result) -> None:
                complaints.add_if_unverified(path, report)
                self.write(report, view)

            return self.inputs.each(work, failed, complaints, take=write, threads=threads)
        # What was not found failed, too; of a folder, nobody knows how many files are in it.
        unlisted = [
            str(each.filename) for each in self.inputs.errors if is_unlisted(each.strerror or "")
        ]
        num_files = len(self.inputs.files) + len(self.inputs.errors) - len(unlisted)
        summary = Summary(num_files, view, self.inputs.noun, self._few)

        def add(path: str, report: Result) -> None:
            complaints.add_if_unverified(path, report)
            summary.add(path, view.summarize(report))

        def fail(path: str, message: str) -> None:
            if path in unlisted:
                summary.add_unlisted()
            else:
                summary.add_failed()
            failed(path, message)

        try:
            return self.inputs.each(work, fail, complaints, take=add, threads=threads)
        finally:
            summary.finish(self.inputs.read_names)

    def write(self, report: Result, view: ReportView[Result]) -> None:
        """Show one report in full."""
        if self.as_json:
            write_json(report)
        else:
            view.write(report, self.verbose)
