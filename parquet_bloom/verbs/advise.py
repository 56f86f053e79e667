"""Which columns deserve Bloom filters, at what size, and what that would save.

One pass over the values of each column counts the distinct ones and samples them; min/max statistics
tell which groups (row groups, or index groups in ORC) a reader can skip without a filter. Both lead
to the verdict (see advice.verdict). Files with the same columns are judged as one table.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial, reduce
from itertools import chain, repeat
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, cast

from parquet_bloom.advice.budget import Claim, Offer, enough_for_all, may_stay, offers_of, settle
from parquet_bloom.advice.lookups import ExpectedReads
from parquet_bloom.advice.shares import FilteredFile, HeaviestFiles
from parquet_bloom.advice.sketch import ColumnCounts, Subject, TableSketch
from parquet_bloom.advice.table import (
    AtRate,
    ColumnShape,
    JudgedColumn,
    SurveyedColumn,
    SurveyedFile,
    judge_table,
    shapes_of,
    survey_file,
    table_key,
    whole_table,
)
from parquet_bloom.advice.united import FilesAlike, UnitedTable, fitting, united
from parquet_bloom.advice.verdict import lighter_filters, searching_instead, why_none
from parquet_bloom.arguments import (
    PATH_OR_URL,
    SomeNames,
    SomeNumbers,
    path_given,
)
from parquet_bloom.container import IN_PYTHON, WHERE_KNOWN
from parquet_bloom.container.in_commands import AsFile, AsTable, InCommands
from parquet_bloom.container.room import (
    OF_COLUMN,
    TO_ADVISE,
    check_columns_room,
    check_groups_room,
    check_room,
)
from parquet_bloom.container.shown_names import NamedAsShown
from parquet_bloom.dataclass import dataclass
from parquet_bloom.engines.reading import EngineUse, engines_named
from parquet_bloom.engines.settings import WriterSettings
from parquet_bloom.errors import ColumnError
from parquet_bloom.files import FORMATS, open_file
from parquet_bloom.options import DEFAULT_FPP, AdviseOptions, BuildOptions, TableView
from parquet_bloom.parallel import Progress
from parquet_bloom.rules.policy import Policy, policy_given
from parquet_bloom.storage import with_options
from parquet_bloom.verbs.documents import VerbReport
from parquet_bloom.verbs.several import (
    Failure,
    FilesReport,
    check_some_have,
    each_read,
    message_of,
    one_of,
    reads_several,
    united_columns,
)
from parquet_bloom.vocabulary import (
    ALL_FILES_OF_TABLE,
    NAME_ALL_FILES,
    NEEDLESS,
    NEEDLESS_IN_TABLE,
    AdviceBasis,
    AdviceToDo,
    AdviceVerdict,
    Existing,
    Format,
    TableChoice,
)

if TYPE_CHECKING:
    from parquet_bloom.container.protocols import Container
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.storage.traffic import Requests


# What settings name where there are several files that they are for, each by itself.
ANY_FILE: Final = "FILE"

# Up to so many files are named, where only these need filters of a column.
MAX_IN_NEED: Final = 5


@dataclass(frozen=True, slots=True)
class RateOffer(NamedAsShown):
    """What filters of a rate would cost and save in all files that were judged together: `filter_bytes` of all of
    them, their share of the files, and how many groups a look-up then reads, on average."""

    fpp: float
    filter_bytes: int
    filter_share: float
    groups_filter: float


@dataclass(frozen=True, slots=True)
class ColumnAdvice(NamedAsShown):
    """One column, of the types that the first of the files that were judged together gives it. If it cannot have a
    filter, what was not counted is None or 0.

    In this file: `num_values`, with nulls in Parquet but not in ORC; `already`: groups with a filter;
    `missing`: groups without one that would get one;
    `too_small`: groups whose filter is too small for their values, as far as lengths say, in ORC bits;
    `unreadable`: groups with a filter that no reader can use, or in which no bit is set although there are values;
    `ndv`: distinct non-null values of the whole column; `ndv_error`: relative standard error of
    `ndv`, None if exact; `group_ndv`: the highest of any group; `only_dictionary`: whether all values
    are in dictionary pages, None in ORC; `filter_bytes`: all filters that `build` would write,
    and those that it would keep beside them, with their headers, in ORC new ones before compression;
    `filter_share`: their share of the file, 0 to 1; `filter_bytes_there`:
    the filters that are there, as they are stored.

    In all files that were judged together: `groups` with a non-null value; `groups_*`: how many of them a look-up
    reads on average, by min/max statistics alone, or by dictionaries, too, if all engines that are asked about
    search these; with filters; and with filters if the value is not stored;
    `groups_filter_there`: with the filters that are there, as far as their lengths say in Parquet, None without
    any; `basis`: which values are looked up; `values_stored` of `values_asked` are stored; `fpp`: the rate to build
    at, the target, a lower one, as there are many groups, or that of a budget, None where that leaves the column
    out; `rates`: what several would cost and save, None unless that was asked for; `searching_dictionaries`: the
    engines that would use the filters, but to which dictionaries tell as much; `lighter_ndv`: the `ndv` with which
    `build` makes filters that take half as much as those that are there, or less, None if none does, as in Parquet.

    `to_do`: the verdict as the command prints it: instead of `build`, `keep` where no group lacks a filter that would
    get one, or `rebuild` where one is unreadable or too small.
    """

    column: str
    physical_type: str
    logical_type: str | None
    num_values: int
    chunk_bytes: int
    already: int
    missing: int
    too_small: int
    unreadable: int
    engines: tuple[EngineUse, ...]
    reason: str
    verdict: AdviceVerdict = "skip"
    to_do: AdviceToDo = "skip"
    eligible: bool = False
    ndv: int | None = None
    ndv_exact: bool = False
    ndv_error: float | None = None
    group_ndv: int | None = None
    only_dictionary: bool | None = None
    filter_bytes: int = 0
    filter_share: float = 0.0
    filter_bytes_there: int = 0
    groups: int = 0
    groups_statistics: float | None = None
    groups_filter: float | None = None
    groups_filter_absent: float | None = None
    groups_filter_there: float | None = None
    basis: AdviceBasis = "stored values"
    fpp: float | None = None
    values_asked: int = 0
    values_stored: int = 0
    settings: tuple[WriterSettings, ...] = ()
    rates: tuple[RateOffer, ...] | None = field(default=None, metadata=WHERE_KNOWN)
    searching_dictionaries: tuple[str, ...] = field(default=(), metadata=IN_PYTHON)
    lighter_ndv: int | None = field(default=None, metadata=IN_PYTHON)

    @property
    def is_needless(self) -> bool:
        """Whether there are filters that are of no use to any reader, and strip removes them."""
        return self.reason.endswith(NEEDLESS)

    @property
    def is_too_large(self) -> bool:
        """Whether nobody wants the filters, as they are larger than the column, those that are there and new ones."""
        there = self.filter_bytes_there if self.already and not self.missing else self.filter_bytes
        return self.verdict == "optional" and min(there, self.filter_bytes) > self.chunk_bytes


def to_do(advice: ColumnAdvice, *, is_broken: bool) -> AdviceToDo:
    """That of the advice, or `rebuild` where filters that should be there are broken in ways that only a validation
    tells."""
    return "rebuild" if is_broken and advice.verdict == "build" else advice.to_do


def _to_do(verdict: AdviceVerdict, missing: int, unfit: int) -> AdviceToDo:
    """Where so many groups are `missing` filters, and so many have `unfit` ones."""
    if verdict != "build":
        return verdict
    if unfit:
        return "rebuild"
    return "build" if missing else "keep"


@dataclass(frozen=True, slots=True)
class BudgetedColumn(NamedAsShown):
    """A column to build: the rate `fpp` to build its filters at, the mean FPP that they will have, at most that,
    `filter_bytes` of all of them, and how many groups a look-up then reads, on average; `groups_saved`: how many
    fewer than by min/max."""

    column: str
    fpp: float
    fpp_expected: float
    filter_bytes: int
    groups_filter: float
    groups_saved: float

    @property
    def offer(self) -> Offer:
        read, saved = self.groups_filter, self.groups_saved
        return Offer(self.fpp, self.filter_bytes, read, saved, self.fpp_expected)

    @classmethod
    def of(cls, column: str, offer: Offer) -> Self:
        read, saved = offer.groups_read, offer.saved
        return cls(column, offer.rate, offer.fpp, offer.num_bytes, read, saved)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A column that deserves filters, and why it gets none within the budget; `needs`: the bytes that its filters
    take at the least, None if they save too little for any."""

    column: str
    reason: str
    needs: int | None


@dataclass(frozen=True, slots=True)
class KeptFilters:
    """A column with filters that stay, and their bytes."""

    column: str
    filter_bytes: int


@dataclass(frozen=True, slots=True)
class BudgetPlan:
    """What to build within a budget of `bytes`, of which `used` are spent on all tables, more where filters that stay
    take more; `there`: the bytes of all filters that files have now, those of columns that were not asked about
    included; `for_all`: a budget with room for all columns at the target rate, or the lowest that is worth it, None
    if none is left out for lack of it; `for_all_fpp`: the highest mean FPP that one of them has with it; `columns`,
    `left_out` and `kept` are those of this table; `share`: of the files, if it was asked for as such; `alone`: those
    left out that would have room if they were asked about alone, but for names that other tables have, too;
    `is_shared`: with other tables, whose files lack these."""

    bytes: int
    used: int
    there: int
    for_all: int | None
    for_all_fpp: float | None
    columns: tuple[BudgetedColumn, ...] = field(repr=False)
    left_out: tuple[LeftOut, ...] = field(repr=False)
    kept: tuple[KeptFilters, ...] = field(default=(), repr=False)
    share: str | None = field(default=None, compare=False, metadata=IN_PYTHON)
    alone: tuple[str, ...] = field(default=(), compare=False, metadata=IN_PYTHON)
    is_shared: bool = field(default=False, compare=False, metadata=IN_PYTHON)

    @property
    def concerns_some(self) -> bool:
        """Whether any column of this table has or deserves filters."""
        return bool(self.columns or self.left_out or self.kept)


@dataclass(frozen=True, slots=True, repr=False)
class AdviceReport(VerbReport):
    """The advice on one file; `size` in bytes; `fpp`: the target; `files`: how many were judged
    together, including this one; `recommended`: the columns whose verdict is `build`, which a budget has room for;
    `keys`: of these files, as advice.table.table_key has them, several where those of a table lack columns; `tables`:
    the places of the Delta and Iceberg tables that some of them are of, none for other files;
    `row_groups`: those that it is about, None for all; `budget`: how the files share it, None without one;
    `obstacles`: what `build` would refuse the file for, or some of its columns, None for nothing; `requests`: sent to
    the object store that has the file, None for other files."""

    _rows: ClassVar = ("columns",)
    _shown_first: ClassVar = (
        *("column", "to_do", "verdict", "reason", "ndv", "filter_bytes", "filter_share"),
        *("groups_statistics", "groups_filter"),
    )

    path: str
    format: Format
    files: int
    num_rows: int
    num_groups: int
    size: int
    fpp: float
    recommended: tuple[str, ...]
    columns: tuple[ColumnAdvice, ...]
    keys: tuple[str, ...] = field(compare=False, metadata=IN_PYTHON)
    tables: tuple[str, ...] = field(default=(), compare=False, metadata=IN_PYTHON)
    row_groups: tuple[int, ...] | None = field(default=None, metadata=IN_PYTHON)
    budget: BudgetPlan | None = field(default=None, metadata=WHERE_KNOWN)
    obstacles: tuple[str, ...] | None = field(default=None, metadata=WHERE_KNOWN)
    requests: Requests | None = field(default=None, metadata=WHERE_KNOWN)

    @property
    def key(self) -> str:
        """The first, which stands for all."""
        return self.keys[0]

    @property
    def _num_files(self) -> int:
        return self.files

    @staticmethod
    def _in_total(reports: Sequence[AdviceReport]) -> str:
        """`2 schemas, judged apart`"""
        return f"{len(reports):,} schemas, judged apart" if len(reports) > 1 else ""

    def _as_row(self) -> dict[str, Any]:
        return {"path": self.path, "recommended": list(self.recommended)} | {
            name: value for name, value in VerbReport._as_row(self).items() if name != "recommended"
        }


@reads_several
def advise(
    path: Any,
    *,
    columns: SomeNames | None = None,
    row_groups: SomeNumbers | None = None,
    fpp: float | None = None,
    max_bytes: int | None = None,
    budget: int | str | None = None,
    existing: Existing = "keep",
    rates: bool = False,
    engines: SomeNames = (),
    value_sample: Mapping[str, Any] | None = None,
    policy: Policy | None = None,
    union_by_name: bool = False,
    ignore_checksums: bool = False,
    threads: int | None = None,
    table: TableChoice | TableView | None = None,
    keys: Keys | None = None,
    storage_options: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> AdviceReport:
    """Judge each of `columns` (dotted paths; default: all) of one file, by the values in `row_groups`
    (default: all), which are the stripes of an ORC file.

    A list of paths, a folder, a glob, and a URL that ends with / stand for several files: those with the same columns
    are judged together, and with `table`, all of a table, whatever columns they lack. It returns a FilesReport, with
    a report on each such table, and the errors of files that failed.

    fpp: the target false positive rate, 0 to 1, exclusive; by default 0.01, and lower ones are recommended where
    there are many row groups. rates: also say what each of several rates would cost and save. engines: judge for
    these alone, such as Spark; for all by default. max_bytes: the limit of a bitset, 64 to 134,217,728 (the default);
    not for ORC. budget: the most bytes of all filters together, with their headers, 1 or more, or a share of the
    bytes of all files, such as "1%": which columns to build then, and at which rates, that of `fpp` if it is given,
    is in the report's `budget`; it pays for all filters that stay, also those of other columns and row groups.
    existing: what build will do with filters of these columns that are there. value_sample: by column, the values
    that are really looked up, repeated as often as they are, given as for probe. policy: that of validate, of which
    `require` and `max_fpp` count: the columns that it wants filters of get them if they can have any, and all columns
    get them at a rate that it accepts, unless `fpp` says another. union_by_name: several files are those of one
    schema, and one that has no such column, in upper or lower case, is judged by the others of `columns`.
    progress: called with (chunks done, chunks in all), or of several files with (files done, files in all).
    ignore_checksums as for build, all others as for inspect.

    Raises ColumnError, ValueTypeError for values that the column cannot hold, UnsupportedError
    for an option that the format does not support, FormatError for damage in what is read,
    EncryptionError if a file cannot be decrypted, OSError. A column that cannot be read for lack of
    a codec, an encoding or a key is not an error: its `reason` says so.
    """
    options = AdviseOptions.of(locals(), **policy_given(policy).for_advice())
    one = None if table is not None else one_of(path)
    if one is None:
        together: Any = _advise_together(path, table, options, keys, storage_options, progress)
        return cast("AdviceReport", together)
    name = os.fspath(with_options(one, storage_options))
    check_some_have(united_columns(_asked(options)), [name], lambda path: open_file(path, keys))
    advisor = Advisor(options, keys)
    advisor.add(name, progress)
    (report,) = advisor.reports()
    return report


def _asked(options: AdviseOptions) -> AdviseOptions:
    """Without what a policy requires: that no file has such a column is for `validate` to say."""
    return replace(options, required=())


def _advise_together(
    files: Any,
    table: TableChoice | TableView | None,
    options: AdviseOptions,
    keys: Keys | None,
    storage_options: Mapping[str, str] | None,
    progress: Progress | None,
) -> FilesReport[AdviceReport]:
    """A report on each table."""
    advisor, alone = TableAdvisor(options, keys), Lock()
    failures: list[Failure] = []

    def read(file: Any, _: AdviseOptions) -> None:
        # Several are open at a time behind URLs.
        with alone:
            advisor.add_file(file)

    def take(path: str, found: Any) -> None:
        if isinstance(found, Exception):
            failures.append(Failure(path, message_of(path, found)))

    each_read(
        files, _asked(options), read, take, table=table, keys=keys, storage_options=storage_options,
        progress=progress,
    )  # fmt: skip
    return FilesReport(tuple(advisor.tables()), tuple(failures))


class TableAdvisor:
    """Judges tables, of files with the same columns, in memory that does not grow with what is in them."""

    def __init__(self, options: AdviseOptions | None = None, keys: Keys | None = None) -> None:
        """See `advise`."""
        if not isinstance(options, AdviseOptions | None):
            raise TypeError(f"options: {options!r}, expected a pb.AdviseOptions")
        self._options = _with_engines(options or AdviseOptions())
        self._keys = keys
        self._sketches: dict[str, TableSketch] = {}
        # The key of its table, and the columns of the file that cannot have filters.
        self._files: dict[str, tuple[str, tuple[str, ...]]] = {}
        # By the key of a table, what commands name for its files, if these are of a Delta or Iceberg table.
        self._named: dict[str, AsTable] = {}
        # The columns of its files, and by the place of such a table, the keys of these.
        self._shapes: dict[str, Sequence[ColumnShape]] = {}
        self._of_tables: dict[str, dict[str, None]] = {}
        self._in_need: dict[tuple[str, str], list[str]] = {}
        self.heaviest = HeaviestFiles()

    def add(self, path: str | os.PathLike[str], progress: Progress | None = None) -> None:
        """Read a file, unless it was added before. Raises as `advise`."""
        name = path_given("path", path, PATH_OR_URL)
        if name not in self._files:
            with open_file(name, self._keys) as file:
                self.add_file(file, progress)

    def add_file(self, file: Any, progress: Progress | None = None) -> None:
        """The same for an open file."""
        if file.path not in self._files:
            self._read(file, progress)

    def _read(self, file: Any, progress: Progress | None) -> SurveyedFile:
        options = self._options
        if options.ignore_checksums:
            file.ignore_checksums()
        if options.union_by_name:
            file.unite_by_name(options.columns or ())
        surveyor = FORMATS[file.format].surveyor(file, options)
        columns = file.select(options.columns)
        check_columns_room(file, columns, OF_COLUMN)
        check_room(file, columns, options.parts, TO_ADVISE)
        check_groups_room(file, len(columns) * surveyor.num_groups, TO_ADVISE)
        key = table_key(file, columns)
        table = self._sketches.get(key)
        surveyed, sketch = survey_file(surveyor, columns, options, table, progress)
        if table is None:
            self._sketches[key], self._shapes[key] = sketch, shapes_of(columns)
        else:
            table.merge(sketch)
        if isinstance(named := file.in_commands, AsTable):
            self._named[key] = named.with_others(self._named.get(key, named))
            self._of_tables.setdefault(named.place, {})[key] = None
        columns_read = zip(columns, surveyed.columns, strict=True)
        unread = []
        for column, found in columns_read:
            if found.reason:
                unread.append(column.name)
            paths = self._in_need.setdefault((key, column.name), [])
            if found.counts.needs_some and len(paths) <= MAX_IN_NEED:
                paths.append(file.path)
        self.heaviest.add(key, FilteredFile.of(surveyed, columns))
        self._files[file.path] = key, tuple(unread)
        return surveyed

    def tables(self) -> Iterator[AdviceReport]:
        """One for each table, with all its files as one."""
        for report in _reports(map(united, self._groups()), self._options, self._named):
            yield replace(report, tables=self._tables_with(report.keys))

    def _tables_with(self, keys: Sequence[str]) -> tuple[str, ...]:
        """The places of the Delta and Iceberg tables with files of these keys."""
        found = self._of_tables.items()
        return tuple(place for place, of_table in found if not of_table.keys().isdisjoint(keys))

    def _groups(self) -> Iterator[Sequence[FilesAlike]]:
        """Those that are judged together: files with the same columns, and those of the same Delta or Iceberg table,
        which says what is null where they lack some."""
        group_of = {key: [key] for key in self._sketches}
        for keys in self._of_tables.values():
            joined = [*dict.fromkeys(chain.from_iterable(group_of[key] for key in keys))]
            group_of.update(dict.fromkeys(joined, joined))
        for group in {group[0]: group for group in group_of.values()}.values():
            yield from fitting(FilesAlike(self._shapes[key], self._sketches[key]) for key in group)

    @property
    def in_need(self) -> Mapping[tuple[str, str], Sequence[str]]:
        """By the key of a report and column, the first files in which filters are missing or too small, up to one
        more than are named."""
        key_of = {
            part.sketch.key: group[0].sketch.key for group in self._groups() for part in group
        }
        found: dict[tuple[str, str], list[str]] = {}
        for (key, column), paths in self._in_need.items():
            found.setdefault((key_of[key], column), []).extend(paths)
        return {place: paths[: MAX_IN_NEED + 1] for place, paths in found.items()}

    def sketches(self) -> dict[str, bytes]:
        """What is known of files with the same columns, by their key: for merged_sketches and advise_sketches."""
        return {key: sketch.to_bytes() for key, sketch in self._sketches.items()}

    def key_of(self, path: str) -> str:
        """The key of the table of a file that was added."""
        return self._files[path][0]

    def to_build(
        self, reports: Iterable[AdviceReport], options: BuildOptions
    ) -> Iterator[tuple[str, BuildOptions]]:
        """Each file that was added, and options_to_build of its table without the columns that cannot have
        filters in this file. `reports`: what `tables` gave."""
        of_table = {
            key: wanted
            for report in reports
            for wanted in (options_to_build(report, options),)
            for key in report.keys
        }
        for path, (key, unread) in self._files.items():
            wanted = of_table[key]
            yield path, _without(wanted, unread) if unread else wanted


def merged_sketches(parts: Iterable[bytes]) -> bytes:
    """One sketch of the files of all parts, at least one, which are those of one table. It is the same
    however the files were split, and in whatever order they come. Raises ValueError for parts of
    several tables, FormatError for what is no sketch."""
    sketches = [*map(TableSketch.from_bytes, parts)]
    if not sketches:
        raise ValueError("parts: none, expected at least one")
    first, *others = sketches
    for other in others:
        first.merge(other)
    return first.to_bytes()


def advise_sketches(sketches: Iterable[bytes], options: AdviseOptions) -> Iterator[AdviceReport]:
    """A report for each sketch, which are those of a table each and share the budget; in the order of the
    paths of their first files. `options`: those that the sketches were made with. Raises FormatError."""
    tables = map(TableSketch.from_bytes, sketches)
    ordered = sorted(tables, key=lambda table: (table.path, table.key))
    yield from _reports(map(UnitedTable.alone, ordered), _with_engines(options))


def _with_engines(options: AdviseOptions) -> AdviseOptions:
    """With their names as they are spelled. Raises ValueError for an unknown engine."""
    return replace(options, engines=engines_named(options.engines)) if options.engines else options


def _reports(
    tables: Iterable[UnitedTable],
    options: AdviseOptions,
    named: Mapping[str, AsTable] = MappingProxyType({}),
) -> Iterator[AdviceReport]:
    """`named`: by the keys of those that are of Delta or Iceberg tables."""
    for judged in _judged_tables(tables, options):
        sketch = judged.table.sketch
        of_files = AsFile(sketch.path if sketch.files == 1 else ANY_FILE)
        places = range(len(sketch.columns))
        yield judged.report(whole_table(sketch), places, judged.named(named) or of_files)


def options_to_build(report: AdviceReport, options: BuildOptions) -> BuildOptions:
    """`options` with the columns that the report recommends, which may be none, and the rate of each that is not that
    of the options; in the row groups that it is about, unless they name some."""
    if options.parts is None:
        options = replace(options, parts=report.row_groups)
    if report.budget is None:
        rates = tuple(
            (each.column, each.fpp)
            for each in report.columns
            if each.verdict == "build" and each.fpp not in (None, options.fpp or DEFAULT_FPP)
        )
        # Older dialects have sizes of their own.
        fpp_of = rates if options.dialect is None else ()
        return replace(options, columns=report.recommended, fpp_of=fpp_of)
    rates = tuple((each.column, each.fpp) for each in report.budget.columns)
    return replace(options, columns=tuple(name for name, _ in rates), fpp_of=rates)


def rates_to_build(report: AdviceReport, options: BuildOptions) -> dict[str, float]:
    """The columns of options_to_build, each with its rate."""
    wanted = options_to_build(report, options)
    rates = dict(wanted.fpp_of)
    return {name: rates.get(name, options.fpp or DEFAULT_FPP) for name in wanted.columns or ()}


def report_on(
    file: Container, reports: Sequence[AdviceReport], called: Mapping[str, str] | None = None
) -> AdviceReport:
    """That on the table of the file, as table_key tells tables apart by the columns that were judged; the only report
    is on any file. `called`: what the reports call the columns, by what the file calls them, None for the same.
    Raises ColumnError if there is none."""
    if len(reports) == 1:
        return reports[0]
    columns = file.select(None)
    if called is None:
        called = {each.name: each.name for each in columns}

    def is_on(report: AdviceReport) -> bool:
        judged = {each.column for each in report.columns}
        among = [each for each in columns if called.get(each.name) in judged]
        return table_key(file, among, called) in report.keys

    of_file = [*filter(is_on, reports)]
    if not of_file:
        raise ColumnError(f"{file.path}: advice: no report is on files with its columns")
    # Where a table lacks what another has, all of its columns are in both.
    return max(of_file, key=lambda report: len(report.columns))


def _without(options: BuildOptions, unread: Sequence[str]) -> BuildOptions:
    return replace(
        options,
        columns=tuple(name for name in options.columns or () if name not in unread),
        fpp_of=tuple((name, rate) for name, rate in options.fpp_of if name not in unread),
    )


class Advisor(TableAdvisor):
    """Judges files. Those with the same columns are judged together, as one table. Of each file, some 300
    bytes for each column are kept for its report."""

    def __init__(self, options: AdviseOptions | None = None, keys: Keys | None = None) -> None:
        """See `advise`."""
        super().__init__(options, keys)
        self._surveyed: dict[str, SurveyedFile] = {}

    def _read(self, file: Any, progress: Progress | None) -> SurveyedFile:
        surveyed = super()._read(file, progress)
        self._surveyed[file.path] = surveyed
        return surveyed

    def reports(self) -> Iterator[AdviceReport]:
        """One for each file, in the order they were added."""
        tables = _judged_tables(map(united, self._groups()), self._options)
        of_table = {key: judged for judged in tables for key in judged.table.places}
        for path, surveyed in self._surveyed.items():
            key = self.key_of(path)
            judged = of_table[key]
            named = judged.named(self._named) or AsFile(path)
            yield judged.report(surveyed, judged.table.places[key], named)


@dataclass(frozen=True, slots=True)
class _JudgedTable:
    """A table, the verdicts on its columns at the rates to build them at, and its share of the budget."""

    table: UnitedTable
    columns: Sequence[JudgedColumn]
    options: AdviseOptions
    budget: BudgetPlan | None

    def named(self, by_key: Mapping[str, AsTable]) -> AsTable | None:
        """What commands name for its files, by what they name for those of each key; None for files of no table."""
        found = [by_key[key] for key in self.table.places if key in by_key]
        return reduce(AsTable.with_others, found) if found else None

    def report(self, file: SurveyedFile, places: Sequence[int], named: InCommands) -> AdviceReport:
        """About one file, whose columns are at these places, or all as one; `named`: what the settings name."""
        sketch = self.table.sketch
        columns = tuple(
            _advice(
                subject,
                column,
                found,
                file.size,
                sketch.size,
                partial(
                    subject.settings, sketch.format, named, self.options.target_for(subject.name)
                ),
            )
            for place, column in zip(places, file.columns, strict=True)
            for subject, found in ((sketch.subjects[place], self.columns[place]),)
        )
        if isinstance(named, AsTable):
            columns = tuple(map(_in_table, columns))
        return AdviceReport(
            path=file.path,
            format=sketch.format,
            files=sketch.files,
            num_rows=file.num_rows,
            num_groups=file.num_groups,
            size=file.size,
            fpp=self.options.target_fpp,
            recommended=tuple(each.column for each in columns if each.verdict == "build"),
            columns=columns,
            keys=tuple(self.table.places),
            row_groups=self.options.parts,
            budget=self.budget,
            obstacles=file.obstacles or None,
            requests=file.requests,
        )


def _in_table(advice: ColumnAdvice) -> ColumnAdvice:
    reason = advice.reason.replace(NAME_ALL_FILES, ALL_FILES_OF_TABLE)
    if advice.is_needless:
        reason = reason.removesuffix(NEEDLESS) + NEEDLESS_IN_TABLE
    return replace(advice, reason=reason)


def _judged_tables(tables: Iterable[UnitedTable], options: AdviseOptions) -> Iterator[_JudgedTable]:
    found = [(table, judge_table(table.sketch, options)) for table in tables]
    plans: Iterable[BudgetPlan | None] = repeat(None)
    budget = options.budget_for(sum(table.sketch.size for table, _ in found))
    if budget is not None:
        plans = _plans(budget, options, [(table.sketch, judged) for table, judged in found])
    for (table, judged), plan in zip(found, plans, strict=False):
        columns = _within(plan, table.sketch, judged) if plan else judged
        yield _JudgedTable(table, columns, options, plan)


def _within(
    plan: BudgetPlan, sketch: TableSketch, judged: Sequence[JudgedColumn]
) -> Sequence[JudgedColumn]:
    """The verdicts on columns within the budget."""
    built = {each.column: each.offer for each in plan.columns}
    left_out = {each.column for each in plan.left_out}

    def within(name: str, found: JudgedColumn) -> JudgedColumn:
        if name in built:
            return found.at(built[name])
        return found.left_out() if name in left_out else found

    return [
        within(subject.name, found) for subject, found in zip(sketch.subjects, judged, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _Claimant:
    """A column of the table at a place, perhaps one that was not asked about, and what it claims of the budget;
    `is_wanted`: filters are to be built."""

    table: int
    name: str
    is_wanted: bool
    claim: Claim


def _claimants(
    options: AdviseOptions, tables: Sequence[tuple[TableSketch, Sequence[JudgedColumn]]]
) -> Iterator[_Claimant]:
    for number, (sketch, judged) in enumerate(tables):
        elsewhere = dict(sorted(sketch.elsewhere.items()))
        subjects = zip(sketch.subjects, sketch.columns, sketch.unread, judged, strict=True)
        for subject, column, unread, found in subjects:
            stay = may_stay(options, column.counts)
            lacks_some = any(rung.missing for rung in column.rungs.values())
            is_required = subject.name in options.required
            ladder: tuple[Offer, ...] = ()
            is_wanted = found.verdict == "build" and (lacks_some or not stay)
            if is_wanted and found.reads:
                ladder = offers_of(
                    column, found.reads, options.fpp, stay=stay, is_required=is_required
                )
            beside = unread.counts.bytes_there + elsewhere.pop(subject.name, 0)
            claim = Claim(ladder, column.counts.bytes_there, beside, is_required)
            yield _Claimant(number, subject.name, is_wanted, claim)
        for name, num_bytes in elsewhere.items():
            yield _Claimant(number, name, False, Claim((), beside=num_bytes))


def _plans(
    budget: int,
    options: AdviseOptions,
    tables: Sequence[tuple[TableSketch, Sequence[JudgedColumn]]],
) -> Iterator[BudgetPlan]:
    """What each table gets of a budget for all of them."""
    claimants = list(_claimants(options, tables))
    claims = [each.claim for each in claimants]
    taken = settle(budget, claims)
    chosen = list(zip(claimants, taken, strict=True))
    used = sum(
        _kept(each.claim, offer) + (offer.num_bytes if offer else 0) for each, offer in chosen
    )
    lacks_room = any(each.is_wanted and each.claim.ladder and not offer for each, offer in chosen)
    for_all = fpp = None
    if lacks_room:
        # All of them with filters that let a third of all values pass would be no proposal.
        for_all = enough_for_all(used, claims, options.target_fpp)
        fpp = max(offer.fpp for offer in settle(for_all, claims) if offer)
    there = sum(claim.there + claim.beside for claim in claims)
    tables_with = Counter(each.name for each in claimants)
    for number in range(len(tables)):
        here = [(each, offer) for each, offer in chosen if each.table == number]
        left_out = [
            _left_out(each, max(0, budget - used))
            for each, offer in here
            if each.is_wanted and not offer
        ]
        yield BudgetPlan(
            bytes=budget,
            used=used,
            there=there,
            for_all=for_all,
            for_all_fpp=fpp,
            columns=tuple(BudgetedColumn.of(each.name, offer) for each, offer in here if offer),
            left_out=tuple(left_out),
            kept=tuple(
                KeptFilters(each.name, num_bytes)
                for each, offer in here
                if (num_bytes := _kept(each.claim, offer))
            ),
            share=options.budget if isinstance(options.budget, str) else None,
            alone=tuple(
                each.column
                for each in left_out
                if each.needs is not None
                and each.needs <= budget - there
                and tables_with[each.column] == 1
            ),
            is_shared=len(tables) > 1,
        )


def _kept(claim: Claim, offer: Offer | None) -> int:
    """The bytes of filters that stay, and are not among those of the offer."""
    return claim.beside + (0 if offer else claim.there)


def _left_out(claimant: _Claimant, left: int) -> LeftOut:
    if not claimant.claim.ladder:
        return LeftOut(claimant.name, "filters save too little for their size", None)
    needs = claimant.claim.costs[0].num_bytes
    reason = f"needs at least {needs:,} bytes, and {left:,} of the budget are left"
    if claimant.claim.is_required:
        reason = f"the budget is too small for what the policy requires: {reason}"
    return LeftOut(claimant.name, reason, needs)


def _if_absent(reads: ExpectedReads, read: float) -> float:
    """The groups that a look-up reads of a value that is not stored, where filters of another rate make it `read` so
    many of one that may be."""
    in_vain = reads.with_filter - reads.holding
    scale = (read - reads.holding) / in_vain if in_vain else 1.0
    return min(reads.by_statistics, reads.with_filter_if_absent * scale)


def _advice(
    subject: Subject,
    column: SurveyedColumn,
    judged: JudgedColumn,
    file_size: int,
    table_size: int,
    settings: Callable[[float, ColumnCounts], tuple[WriterSettings, ...]],
) -> ColumnAdvice:
    counts, reads, fpp = column.counts, judged.reads, judged.fpp
    lighter = lighter_filters(counts, counts.filter_bytes, counts.bytes_there)
    filter_bytes, missing, missing_bytes = column.at.get(fpp, AtRate(counts.filter_bytes, 0, 0))
    if judged.stay:
        filter_bytes = counts.bytes_there + missing_bytes
    known = ColumnAdvice(
        column=subject.name,
        physical_type=subject.physical_type,
        logical_type=subject.logical_type,
        num_values=counts.num_values,
        chunk_bytes=counts.chunk_bytes,
        already=counts.already,
        missing=0,
        too_small=counts.too_small,
        unreadable=counts.unreadable,
        filter_bytes_there=counts.bytes_there,
        engines=subject.engines,
        reason=judged.reason,
    )
    if column.reason:
        unit = judged.evidence.unit
        reason = why_none(column.reason, subject.engines, counts.already, unit)
        return replace(known, reason=reason)
    read, is_left_out = judged.evidence.groups_read, judged.verdict == "left out"
    return replace(
        known,
        missing=missing,
        eligible=True,
        ndv=column.ndv,
        ndv_exact=column.ndv_error is None,
        ndv_error=column.ndv_error,
        group_ndv=counts.group_ndv,
        only_dictionary=counts.only_dictionary if counts.groups else None,
        searching_dictionaries=searching_instead(
            counts, reads, [use.engine for use in subject.engines if use.uses]
        ),
        filter_bytes=filter_bytes,
        filter_share=filter_bytes / file_size,
        groups=judged.evidence.counts.groups,
        groups_statistics=reads.by_statistics if reads else None,
        groups_filter=read,
        groups_filter_absent=_if_absent(reads, read) if reads and read is not None else None,
        groups_filter_there=judged.evidence.groups_there,
        basis=judged.basis,
        values_asked=reads.num_values if reads else 0,
        values_stored=reads.num_stored if reads else 0,
        lighter_ndv=lighter.ndv if lighter else None,
        verdict=judged.verdict,
        to_do=_to_do(judged.verdict, missing, counts.too_small + counts.unreadable),
        fpp=None if is_left_out else fpp,
        settings=settings(fpp, counts) if counts.filter_bytes and not is_left_out else (),
        rates=tuple(
            RateOffer(each.rate, each.num_bytes, each.num_bytes / table_size, each.groups_read)
            for each in judged.offers
        )
        or None,
    )
