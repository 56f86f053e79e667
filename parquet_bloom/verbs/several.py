"""A verb over several files, from Python: names become files as in the command, and there is one report over all.

A list of names, a folder and a glob stand for several files, and so does a URL that ends with `/` or is a glob. What
a list names is always reported as several, even if it is one file.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from dataclasses import replace
from functools import partial, wraps
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Concatenate,
    Generic,
    ParamSpec,
    Protocol,
    TypeVar,
    overload,
)

from parquet_bloom.arguments import files_given
from parquet_bloom.container import number_of
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import (
    ColumnError,
    ParquetBloomError,
    complaint_about,
    no_column,
    quoted_name,
)
from parquet_bloom.files import Opener, open_file
from parquet_bloom.options import TableView
from parquet_bloom.parallel import work_in_order
from parquet_bloom.storage import open_source, with_options
from parquet_bloom.storage.near_names import telling_near_names
from parquet_bloom.storage.paths import (
    expand,
    outputs_in,
    stands_for_several,
    without_output,
)
from parquet_bloom.storage.source import is_url, local_path
from parquet_bloom.threads import threads_for_files, threads_to_change
from parquet_bloom.verbs.documents import MOST_ROWS, VerbReport
from parquet_bloom.verbs.table_folders import warn_of_copied_tables, warn_of_tables
from parquet_bloom.vocabulary import DRY_RUN

if TYPE_CHECKING:
    from pathlib import Path

    from parquet_bloom.container.protocols import Askable, Container
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.options import Destination
    from parquet_bloom.parallel import Progress
    from parquet_bloom.storage.cache import Cache, CacheUse
    from parquet_bloom.storage.paths import Input
    from parquet_bloom.storage.source import Source
    from parquet_bloom.vocabulary import TableChoice

OneFile = str | os.PathLike[str]
# Gets the path of each file, and the report on it, or its error.
Take = Callable[[str, Any], None]
Report_co = TypeVar("Report_co", bound=VerbReport, covariant=True)
Given = ParamSpec("Given")


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that a verb could do nothing about. `message`: one line that names the file."""

    path: str
    message: str


@dataclass(frozen=True, slots=True, repr=False)
class FilesReport(VerbReport, Generic[Report_co]):
    """The reports on several files, in the order in which they were named, and the files that failed, whose
    errors are in `failures` instead. `done_before`: files whose outputs were there already, with `resume`."""

    _rows: ClassVar = ("reports",)

    reports: tuple[Report_co, ...]
    failures: tuple[Failure, ...] = ()
    done_before: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether no file failed, nor any report says that its file is not right, as those of validate can."""
        return not self.failures and all(getattr(report, "ok", True) for report in self.reports)

    @property
    def is_absent(self) -> bool:
        """Of probe: whether no value can be in any of the files; not if one failed."""
        reports: tuple[Any, ...] = self.reports
        return all(report.is_absent for report in reports) and not self.failures

    @property
    def num_filters(self) -> int:
        """Of build, strip and inspect: those of all files."""
        reports: tuple[Any, ...] = self.reports
        return sum(report.num_filters for report in reports)

    @property
    def recommended(self) -> tuple[str, ...]:
        """Of advise: the columns that it recommends in any of the tables, each once."""
        reports: tuple[Any, ...] = self.reports
        return tuple(dict.fromkeys(name for report in reports for name in report.recommended))

    def to_dict(self) -> dict[str, Any]:
        """The document of each report, as VerbReport.to_dict, the failures, and what was done before."""
        return {
            "reports": [report.to_dict() for report in self.reports],
            "failures": [{"path": each.path, "message": each.message} for each in self.failures],
            "done_before": list(self.done_before),
        }

    def to_arrow(self) -> Any:
        """The items of all reports as one pyarrow.Table, see VerbReport.to_arrow. What files of one format alone have
        is null in others; the files in `failures` have no rows."""
        from parquet_bloom.verbs.arrow_table import joined

        return joined(report.to_arrow() for report in self.reports)

    def _items(self) -> Iterator[dict[str, Any]]:
        return (report._as_row() for report in self.reports)

    def _repr_html_(self) -> str:
        """A row for each report, or what a single one shows, and the first failures."""
        from html import escape

        failed = [f"<li>{escape(each.message)}</li>" for each in self.failures[:MOST_ROWS]]
        left = len(self.failures) - len(failed)
        rest = f"<p>and {left:,} more failed</p>" if left else ""
        # As of a lake that advise has judged together.
        alone = self.reports[0] if len(self.reports) == 1 and not self._total() else None
        shown = VerbReport._repr_html_(self) if alone is None else alone._repr_html_()
        return shown + (f"<ul>{''.join(failed)}</ul>" if failed else "") + rest

    def __iter__(self) -> Iterator[Report_co]:
        """The reports."""
        return iter(self.reports)

    def __len__(self) -> int:
        """How many reports there are."""
        return len(self.reports)

    @overload
    def __getitem__(self, index: int) -> Report_co: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Report_co, ...]: ...
    def __getitem__(self, index: int | slice) -> Report_co | tuple[Report_co, ...]:
        """One of the reports, or some."""
        return self.reports[index]

    def __repr__(self) -> str:
        total = self._total()
        if len(self.reports) == 1 and not total:
            return f"<FilesReport of {self.reports[0]!r}>"
        kind = type(self.reports[0]).__name__ if self.reports else "FilesReport"
        reported = sum(report._num_files for report in self.reports)
        files = reported + len(self.failures) + len(self.done_before)
        return f"<{kind}s of {number_of(files, 'file')}{total and f': {total}'}>"

    def _total(self) -> str:
        """`7 ok, 1 not ok, 1 failed`, and what the reports say together; empty if there is nothing to add up."""
        words = (getattr(report, "state", None) for report in self.reports)
        states = Counter(filter(None, words)).most_common()
        states += [("failed", len(self.failures)), ("done before", len(self.done_before))]
        told = ", ".join(f"{count:,} {state}" for state, count in states if count)
        of_all = self.reports[0]._in_total(self.reports) if self.reports else ""
        is_dry = any(getattr(report, "dry_run", False) for report in self.reports)
        return "; ".join(filter(None, (told, of_all, DRY_RUN if is_dry else "")))


if TYPE_CHECKING:
    # As type checkers see verbs: of one file the report, of several, and of a table, one over all. That a name may be
    # a folder or a glob is not in its type. Text is an iterable of text, too, but the first that fits is taken. No
    # argument can be taken out of those of a verb: with a table, the others are not checked.

    class ReadsSeveral(Protocol[Given, Report_co]):
        """A verb that reads."""

        @overload
        def __call__(
            self, path: OneFile, *args: Any, table: TableChoice | TableView, **named: Any
        ) -> FilesReport[Report_co]: ...
        @overload
        def __call__(  # type: ignore[overload-overlap]
            self, path: OneFile, *args: Given.args, **named: Given.kwargs
        ) -> Report_co: ...
        @overload
        def __call__(
            self, path: Iterable[OneFile], *args: Given.args, **named: Given.kwargs
        ) -> FilesReport[Report_co]: ...

    class ChangesSeveral(Protocol[Given, Report_co]):
        """A verb that changes files."""

        @overload
        def __call__(  # type: ignore[overload-overlap]
            self, source: OneFile, *args: Given.args, **named: Given.kwargs
        ) -> Report_co: ...
        @overload
        def __call__(
            self, source: Iterable[OneFile], *args: Given.args, **named: Given.kwargs
        ) -> FilesReport[Report_co]: ...

    Verb = Callable[Concatenate[Any, Given], Report_co]

    def reads_several(verb: Verb[Given, Report_co]) -> ReadsSeveral[Given, Report_co]: ...
    def changes_several(verb: Verb[Given, Report_co]) -> ChangesSeveral[Given, Report_co]: ...

else:

    def reads_several(verb: Callable[..., Any]) -> Callable[..., Any]:
        """A verb that calls read_each."""
        return verb

    def changes_several(verb: Callable[..., Any]) -> Callable[..., Any]:
        """A verb that calls change_each: it names that which changes tables."""

        @wraps(verb)
        def of_files(*args: Any, **named: Any) -> Any:
            if "table" in named:
                name = verb.__name__
                raise TypeError(f"table: {name} is for files, pb.{name}_table for a table")
            return verb(*args, **named)

        return of_files


def read_each(
    files: Any,
    options: Any,
    read: Callable[[Container, Any], Any],
    *,
    table: TableChoice | TableView | None = None,
    keys: Keys | None = None,
    storage_options: Mapping[str, str] | None = None,
    cache: Cache | None = None,
    progress: Progress | None = None,
) -> Any:
    """The report of `read`, or a FilesReport. table: `files` are tables of this kind, in whose place are their live
    files. cache: through which they are read. Raises FileNotFoundError for a name that means nothing, and what the
    first file raises if all fail."""
    view = TableView.given(table)
    if view is None and (path := one_of(files)) is not None:
        with (
            telling_near_names(),
            open_file(path, keys, storage_options, opener=_opener_through(cache)) as file,
        ):
            check_some_have(united_columns(options), [os.fspath(path)], lambda _: nullcontext(file))
            return read(file, options)
    gathered = _Gathered()
    each_read(
        files, options, read, gathered.take, table=view, keys=keys, storage_options=storage_options,
        cache=cache, progress=progress,
    )  # fmt: skip
    return gathered.report()


def each_read(
    files: Any,
    options: Any,
    read: Callable[[Container, Any], Any],
    take: Take,
    *,
    table: TableChoice | TableView | None = None,
    keys: Keys | None = None,
    storage_options: Mapping[str, str] | None = None,
    cache: Cache | None = None,
    progress: Progress | None = None,
) -> None:
    """The same for several files in any case: `take` gets the report on each, or its error."""
    view = TableView.given(table)
    TableView.check_none(view, getattr(options, "union_by_name", False))
    paths, opened = _files_to_read(files, view, _columns_of(options), keys, storage_options, cache)
    check_some_have(united_columns(options), paths, opened)
    at_a_time, of_each = threads_for_files(getattr(options, "threads", None), paths)

    def work(path: str) -> Any:
        with opened(path) as file:
            return read(file, _with_threads(options, of_each))

    _each(paths, work, take, at_a_time, progress)


def _files_to_read(
    files: Any,
    view: TableView | None,
    columns: Iterable[str],
    keys: Keys | None,
    storage_options: Mapping[str, str] | None,
    cache: Cache | None,
) -> tuple[list[str], Callable[[str], Any]]:
    """The files that names, or tables, mean, and what opens each. Raises as read_each, and ColumnError if a table
    has not all `columns`."""
    if view is None:
        names = files_given("path", files)
        warn_of_tables(names)
        paths = [found.path for found in _inputs_named(names, storage_options)]
        opener = _opener_through(cache)
        return paths, lambda path: open_file(path, keys, opener=opener)
    from parquet_bloom.verbs.listed_files import files_asked

    listed = files_asked(files_given("path", files), view, storage_options)
    listed.check_columns(columns)
    use = None if cache is None else _use_of(cache)
    return [*listed.found], lambda path: listed.open(path, keys, use)


def united_columns(options: Any) -> tuple[str, ...]:
    """The columns that need not be in each file."""
    if not getattr(options, "union_by_name", False):
        return ()
    return (*_columns_of(options), *getattr(options, "required", ()))


def check_some_have(
    columns: Iterable[str],
    paths: Iterable[str],
    opened: Callable[[str], AbstractContextManager[Container]],
) -> None:
    """Raise ColumnError for one of these columns that no file has which can be opened."""
    sought = SoughtColumns(columns)
    sought.look_in(paths, opened)
    sought.check()


class SoughtColumns:
    """Columns of which each must be in one of many files, and what is known of those that were looked at."""

    def __init__(self, columns: Iterable[str]) -> None:
        self.missing = [*dict.fromkeys(columns)]
        self._errors: dict[str, str] = {}
        self._lacking = Lacking()

    def look_in(
        self,
        paths: Iterable[str],
        opened: Callable[[str], AbstractContextManager[Container]],
    ) -> None:
        """Look in one file after the other, until no column is missing."""
        for path in paths:
            if not self.missing:
                return
            # Whoever works on it says what is wrong with it.
            with suppress(ParquetBloomError, OSError), opened(path) as file:
                self._look_at(file)

    def _look_at(self, file: Container) -> None:
        self._lacking.add(file)
        for name in [*self.missing]:
            try:
                file.select([name])
            except ColumnError as error:
                self._errors.setdefault(name, str(error))
                continue
            except ParquetBloomError:
                # It is there, and cannot be read.
                pass
            self.missing.remove(name)

    def check(self) -> None:
        """Raise ColumnError for one that is in none of them."""
        for name in self.missing:
            if name in self._errors:
                lacking = self._lacking
                raise ColumnError(self._errors[name]) if lacking.are_alike else lacking.error(name)

    def as_fields(self) -> dict[str, Any]:
        """What another process learns, see learn."""
        lacking = self._lacking.as_fields()
        return {"missing": self.missing, "errors": self._errors, "lacking": lacking}

    def learn(self, fields: Mapping[str, Any]) -> None:
        """Add what another process has seen in other files."""
        self.missing = [name for name in self.missing if name in fields["missing"]]
        self._errors = {**fields["errors"], **self._errors}
        self._lacking.learn(**fields["lacking"])


class Lacking:
    """Files without a column, and which columns they have instead. `are_alike`: as the first,
    which speaks for all."""

    def __init__(self) -> None:
        self.num_files = 0
        self.are_alike = True
        self._path = ""
        self._columns: dict[str, None] = {}

    def add(self, file: Askable) -> None:
        self.learn(file.path, file.columns, 1)

    def learn(
        self, path: str, columns: Sequence[str], num_files: int, are_alike: bool = True
    ) -> None:
        """Of so many files, the first of which is `path`, and which have these columns together."""
        if not num_files:
            return
        before = len(self._columns)
        self._columns.update(dict.fromkeys(columns))
        if self.num_files and not before == len(self._columns) == len(columns):
            self.are_alike = False
        self.are_alike &= are_alike
        self._path = self._path or path
        self.num_files += num_files

    def as_fields(self) -> dict[str, Any]:
        """The arguments of learn, for another process."""
        return {
            "path": self._path,
            "columns": [*self._columns],
            "num_files": self.num_files,
            "are_alike": self.are_alike,
        }

    def error(self, name: str) -> ColumnError:
        """That none of them has it, or none as its only one of this name."""
        if name in self._columns:
            what = f"no single column {quoted_name(name)}: some have several of this name"
        else:
            what = no_column(name, [*self._columns], "files", path=self._path)
        return ColumnError(f"{number_of(self.num_files, 'file')}: {what}")


def _opener_through(cache: Cache | None) -> Opener:
    """Opens files through a cache, if there is one. Raises TypeError for what is none."""
    if cache is None:
        return open_source
    from parquet_bloom.index.states import state_of

    use = _use_of(cache)

    def opener(path: OneFile) -> Source:
        name = os.fspath(path)
        return use.open(path, state_of(name) if is_url(name) else None)

    return opener


def _use_of(cache: Cache) -> CacheUse:
    from parquet_bloom.storage.cache import CacheUse

    return CacheUse(cache)


def change_each(
    verb: str,
    files: Any,
    options: Any,
    destination: Destination,
    change: Callable[..., Any],
    *,
    storage_options: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    keys: Keys | None = None,
) -> Any:
    """The report of `change`, or a FilesReport; of several files, the output is a folder. `verb`: what the public
    function is called. Raises as read_each, RewriteError if two have the same output, and ValueError to resume
    without a folder."""
    path = one_of(files)
    check = partial(check_some_have, opened=lambda path: open_file(path, keys, storage_options))
    if destination.resume and (
        path is not None or destination.output is None or destination.overwrite
    ):
        raise ValueError(
            "resume: expected several files, the folder of their outputs, and no overwrite"
        )
    if path is not None:
        check(united_columns(options), [os.fspath(path)])
        named = {} if progress is None else {"progress": progress}
        with telling_near_names():
            return change(with_options(path, storage_options), options, destination, **named)
    names = files_given("source", files)
    # Where they would be changed in place, they are refused.
    if not destination.in_place:
        warn_of_copied_tables(names, verb)
    inputs = _inputs_named(names, storage_options)
    check(united_columns(options), [found.path for found in inputs])
    outputs: dict[str, Path] = {}
    if destination.output is not None:
        outputs = outputs_in(local_path(destination.output), inputs)
    left = without_output(inputs, outputs) if destination.resume else inputs
    at_a_time, of_each = 1, getattr(options, "threads", None)
    if destination.in_place and not destination.dry_run:
        at_a_time, of_each = threads_to_change(of_each, inputs)

    def work(path: str) -> Any:
        here = replace(destination, output=outputs.get(path), in_folder=True)
        return change(path, _with_threads(options, of_each), here)

    gathered = _Gathered()
    undone = dict.fromkeys(found.path for found in left)
    done_before = tuple(found.path for found in inputs if found.path not in undone)
    _each([*undone], work, gathered.take, at_a_time, progress, num_others=len(done_before))
    return replace(gathered.report(), done_before=done_before)


def _with_threads(options: Any, threads: int | None) -> Any:
    """The options of a verb, for one of several files."""
    return replace(options, threads=threads) if hasattr(options, "threads") else options


def _columns_of(options: Any) -> tuple[str, ...]:
    """Those that a verb is asked about."""
    one = getattr(options, "column", None)
    return (getattr(options, "columns", None) or ()) if one is None else (one,)


def one_of(files: Any) -> OneFile | None:
    """The only file that is named; None for several."""
    is_name = isinstance(files, str | os.PathLike)
    return files if is_name and not stands_for_several(os.fspath(files)) else None


def _inputs_named(names: Sequence[str], storage_options: Mapping[str, str] | None) -> list[Input]:
    """The files that names mean. Raises FileNotFoundError for a name that means nothing."""
    inputs, errors = expand(names, storage_options)
    if errors:
        raise errors[0]
    return inputs


class _Gathered:
    """What became of each file."""

    def __init__(self) -> None:
        self._reports: list[Any] = []
        self._failures: list[Failure] = []

    def take(self, path: str, found: Any) -> None:
        if isinstance(found, Exception):
            self._failures.append(Failure(path, message_of(path, found)))
        else:
            self._reports.append(found)

    def report(self) -> FilesReport[Any]:
        return FilesReport(tuple(self._reports), tuple(self._failures))


def _each(
    paths: Sequence[str],
    work: Callable[[str], Any],
    take: Take,
    at_a_time: int,
    progress: Progress | None,
    num_others: int = 0,
) -> None:
    """Work on every file, whatever becomes of the others. Raises what the first one did if all fail, and there are no
    others, which were done before."""

    def attempt(path: str) -> Any:
        try:
            return work(path)
        except (ParquetBloomError, OSError) as error:
            return error

    first: Exception | None = None
    num_failed = 0
    with closing(work_in_order(paths, attempt, lambda _: 0, at_a_time)) as worked:
        for done, (path, found) in enumerate(worked, 1):
            if isinstance(found, Exception):
                first = first or found
                num_failed += 1
            take(path, found)
            if progress:
                progress(done, len(paths))
    if first is not None and num_failed == len(paths) and not num_others:
        raise first


def message_of(path: str, error: Exception) -> str:
    """As Python's callers say it."""
    return str(error) if isinstance(error, ParquetBloomError) else complaint_about(path, error)
