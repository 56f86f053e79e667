"""The input files of a command, the loop over them, and where the reports on them go."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from parquet_bloom.program import FINE, TROUBLE, show_traceback

if TYPE_CHECKING:
    from parquet_bloom.render.many_files import Complaints, FileSummary

# Called with the path of a file that failed, and the message.
Failed = Callable[[str, str], None]
# How a verb sums up files: what to say about each, and about the sum of their numbers.
Summed: TypeAlias = "tuple[Callable[[Any], FileSummary], Callable[[Mapping[str, int]], str]]"
# Writes a report in full, as `write(report, verbose=...)`.
Write = Callable[..., None]


def _nothing(path: str, message: str) -> None: ...


class Inputs:
    """The input files, all found before work starts on the first, so that no output is among them."""

    def __init__(self, names: tuple[str, ...]) -> None:
        from parquet_bloom.storage.paths import expand

        self.files, self._errors = expand(names)

    def each(
        self,
        work: Callable[[str], None],
        failed: Failed = _nothing,
        complaints: Complaints | None = None,
    ) -> int:
        """Do `work` for every file, complain about those that fail, and return the exit code.

        `complaints`: where complaints about many files are gathered; the default is to gather them.
        """
        from parquet_bloom.container import number_of
        from parquet_bloom.errors import ParquetBloomError, complaint, complaint_about
        from parquet_bloom.render.many_files import Complaints
        from parquet_bloom.render.terminal import (
            StandardOutputError,
            complain,
            no_progress,
            progress,
        )

        complaints = complaints or Complaints(len(self.files))
        code = TROUBLE if self._errors else FINE
        for missing in self._errors:
            complain(complaint(missing))
            failed(str(missing.filename), complaint(missing))
        bar = progress if complaints.are_gathered else no_progress
        with complaints, bar(number_of(len(self.files), "file")) as show:
            for done, file in enumerate(self.files):
                show(done, len(self.files))
                try:
                    work(file.path)
                except StandardOutputError:
                    raise
                except (ParquetBloomError, OSError, ValueError, MemoryError) as error:
                    message = complaint_about(file.path, error)
                    show_traceback(error)
                    complaints.add(file.path, message)
                    failed(file.path, message)
                    code = TROUBLE
        return code


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

    def each(self, work: Callable[[str], Any], failed: Failed = _nothing) -> int:
        """Take the report that `work` returns for every file; otherwise as Inputs.each."""
        from parquet_bloom.render.many_files import Complaints, Summary

        num_files = len(self._inputs.files)
        complaints = Complaints(num_files, at_once=not self._is_short)
        if self._summed is None:
            return self._inputs.each(self._writing(work, complaints), failed, complaints)
        summarize, total = self._summed
        summary = Summary(num_files, total)

        def take(path: str) -> None:
            report = work(path)
            complaints.add_if_unverified(path, report)
            summary.add(path, summarize(report))

        def fail(path: str, message: str) -> None:
            summary.add_failed()
            failed(path, message)

        try:
            return self._inputs.each(take, fail, complaints)
        finally:
            summary.finish()

    def _writing(self, work: Callable[[str], Any], complaints: Complaints) -> Callable[[str], None]:
        def take(path: str) -> None:
            report = work(path)
            complaints.add_if_unverified(path, report)
            answer(report, self._as_json, partial(self._write, verbose=self._verbose))

        return take


def answer(report: Any, as_json: bool, write: Callable[[Any], None]) -> None:
    """Write a report, as one JSON document or by `write`."""
    if not as_json:
        write(report)
        return
    from parquet_bloom.render.terminal import write_json
    from parquet_bloom.verbs.documents import document_of

    write_json(document_of(report))
