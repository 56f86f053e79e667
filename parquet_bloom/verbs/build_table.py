"""Add Bloom filters to the files of a table, and tell it their new sizes.

    for each live file             append filters and a footer, write, verify at both lengths, take its name
    for all, or for every 50,000   one commit that records the new sizes

A table is right at every moment in between: each file still is what the old record says, too. What a
killed run has committed stays so; what else it has appended the next run recognizes, and commits.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING, ClassVar

from parquet_bloom.arguments import SomeNames
from parquet_bloom.container import IN_PYTHON, WHERE_KNOWN
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import ColumnError, UnsupportedError, quoted_name
from parquet_bloom.filters.sizing import Size
from parquet_bloom.options import DEFAULT_FPP, FILES_PER_COMMIT, BuildOptions, TableOptions
from parquet_bloom.parallel import Progress
from parquet_bloom.storage.traffic import Requests
from parquet_bloom.tables.open import open_table
from parquet_bloom.tables.table import (
    MIN_FILE_SIZE,
    LakeTable,
    StoredNames,
    TableFile,
    Wanted,
    names_in_table,
    names_inside,
)
from parquet_bloom.verbs.build import advised_by, build_opened
from parquet_bloom.verbs.documents import VerbReport
from parquet_bloom.verbs.returning_filters import ReturningFilters, filters_returning
from parquet_bloom.verbs.table_runner import (
    Elsewhere,
    TableCommit,
    change_table,
    check_changeable,
    least_size_given,
)
from parquet_bloom.verbs.table_step import (
    ChangedFile,
    FileResult,
    RepairedColumn,
    SkippedColumn,
    added_up,
    appended,
    as_called,
    check_named,
    in_place_of,
    open_to_its_end,
    way_to_small,
    without_columns,
)
from parquet_bloom.vocabulary import (
    APPENDED_BEFORE,
    HAS_ONE,
    LACKS_COLUMN,
    Existing,
    TableChoice,
    TableKind,
)

if TYPE_CHECKING:
    from parquet_bloom.container.protocols import Container
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.verbs.advise import AdviceReport
    from parquet_bloom.verbs.several import FilesReport


@dataclass(frozen=True, slots=True, repr=False)
class TableBuildReport(VerbReport):
    """What build_table did to one table. `version`: that it was read at; `committed`: the one in which all
    new sizes are recorded, None if nothing is; `commits`: it and those before it, in their order;
    `columns`: that filters were built for, by the table's names; `skipped`: column chunks without a filter, and row
    groups of files without the column; `repaired`: filters that would have come into sight with a commit, and are not
    right, or not proven to be; `properties`: that were set, by which its writers go on by themselves.
    `notes`: what to know about it. `bytes_added`: by which the files grew; `bytes_returning`: by which their records
    are more besides, as it was appended before; `num_returning`: filters of other columns in that, which a commit has
    brought back into sight."""

    _rows: ClassVar = ("files",)
    _shown_first: ClassVar = ("file", "action", "reason")
    _told_below: ClassVar = ("skipped", "repaired")

    path: str
    table: TableKind
    version: int
    committed: int | None
    commits: tuple[TableCommit, ...]
    columns: tuple[str, ...]
    files: tuple[ChangedFile, ...]
    skipped: tuple[SkippedColumn, ...]
    num_filters: int
    bytes_added: int
    bytes_returning: int
    properties: Mapping[str, str]
    dry_run: bool
    seconds: float
    notes: tuple[str, ...] = ()
    repaired: tuple[RepairedColumn, ...] = ()
    num_returning: int = field(default=0, metadata=IN_PYTHON)
    requests: Requests | None = field(default=None, metadata=WHERE_KNOWN)

    def __repr__(self) -> str:
        return f"{VerbReport.__repr__(self)[:-1]}{way_to_small(self.files)}>"


def build_table(
    table: str | os.PathLike[str],
    *,
    columns: SomeNames | None = None,
    advice: AdviceReport | FilesReport[AdviceReport] | None = None,
    kind: TableChoice = "auto",
    catalog: str | None = None,
    where: Mapping[str, str | Sequence[str | None] | None] | None = None,
    since: datetime | int | str | None = None,
    fpp: float | None = None,
    ndv: int | None = None,
    max_bytes: int | None = None,
    exact_blocks: bool = False,
    existing: Existing = "keep",
    force: bool = False,
    min_file_size: int = MIN_FILE_SIZE,
    files_per_commit: int = FILES_PER_COMMIT,
    commit: bool = True,
    sole_writer: bool = False,
    set_properties: bool = False,
    dry_run: bool = False,
    verify: bool = True,
    unconditional: bool = False,
    ignore_checksums: bool = False,
    threads: int | None = None,
    keys: Keys | None = None,
    storage_options: Mapping[str, str] | None = None,
    expose_filter_location: bool = False,
    progress: Progress | None = None,
) -> TableBuildReport:
    """Add filters for `columns` to the live files of a table, in place, and record their new sizes in
    one commit, or in several if there are many files. `table`: its folder or URL; in a catalog, its identifier,
    as in `lake.events`.

    columns: as the table calls them, dotted; None for those that its properties name, with their rates
    and largest bitset. advice: instead, what `advise` with `table=` said of the same files: each gets what the report
    on those with its columns recommends, each column at its rate; one that there is none on fails. kind: of the
    table. catalog: of an Iceberg table, as PyIceberg's configuration has it. where: only files that can have rows of
    these partitions: a value, or several, for each partition column, as text; None for null. since: only files that
    were added after this version, snapshot or time, or after what a branch or tag of this name is at.
    min_file_size: files of fewer bytes are left as they are;
    0 for all. files_per_commit: after at most so many files their sizes are recorded, at the end of a
    partition (in Iceberg, of a manifest) if it is not larger. commit: whether to record the new sizes; if not, the
    next run does. sole_writer: promise that nobody else writes to the table meanwhile, which a table on S3 needs.
    set_properties: tell the table's writers, before anything else, to go on with these columns at these rates; not
    for Delta Lake. dry_run: build, but write nothing.
    progress: called with (files done, files in all). All others as for build.

    What fails of single files is in the report, and the others are committed; so is what fails after a
    first commit. Raises RewriteError for a table that must not be changed, UnsupportedError, ColumnError, FormatError
    for a damaged log, ValueError, TypeError, OSError.
    """
    given = locals()
    advised = advised_by(given, columns, advice) or None
    options = BuildOptions.of(given)
    of_table = TableOptions.of(given, min_file_size=least_size_given(min_file_size))
    found = open_table(table, kind, catalog=catalog, storage_options=storage_options)
    if advised is not None:
        # Whoever calls it by another name than `advise` was given means all of them.
        advised = advised_of(found, advised) or advised
    return build_in_table(found, options, of_table, keys=keys, progress=progress, advised=advised)


def advised_of(table: LakeTable, reports: Iterable[AdviceReport]) -> tuple[AdviceReport, ...]:
    """Those that are on files of a table."""
    return tuple(report for report in reports if table.location in report.tables)


def build_in_table(
    table: LakeTable,
    options: BuildOptions,
    of_table: TableOptions,
    *,
    keys: Keys | None = None,
    progress: Progress | None = None,
    elsewhere: Elsewhere | None = None,
    advised: Sequence[AdviceReport] | None = None,
) -> TableBuildReport:
    """As build_table. `elsewhere`: appends to files in other processes. `advised`: the reports that say what to
    build, None for what the options or the table's properties say."""
    check_changeable(table, of_table)
    rates, options, notes = _chosen(table, options, advised)
    options = replace(options, layout="append", kept_ends="all")
    # At first: files that are written from now on have filters, and are not looked at.
    properties = _told_writers(table, rates, options, of_table)
    done = change_table(
        table,
        Appending(of_table, table.names, rates, options, table.only_in_files(rates), advised),
        threads=options.threads,
        keys=keys,
        progress=progress,
        elsewhere=elsewhere,
    )
    return TableBuildReport(
        **done.facts,
        columns=tuple(rates),
        skipped=done.skipped,
        num_filters=sum(file.num_filters for file in done.files),
        bytes_added=done.bytes_added,
        bytes_returning=done.bytes_returning,
        properties=properties,
        notes=(*notes, *done.notes),
        repaired=done.repaired,
        num_returning=sum(done.returning.values()) if done.commits else 0,
    )


@dataclass(frozen=True, slots=True)
class Appending:
    """The step for one file. `rates`: the columns, as the table calls them, each with the rate that the
    table wants, None for the usual one; `strange`: those that are none of the table's; `advised`: reports of which
    each file gets what that on its columns says."""

    OPERATION: ClassVar = "ADD BLOOM FILTERS"

    of_table: TableOptions
    names: StoredNames
    rates: Mapping[str, float | None]
    options: BuildOptions
    strange: frozenset[str] = frozenset()
    advised: Sequence[AdviceReport] | None = None

    def change(self, file: TableFile, keys: Keys | None, threads: int | None = None) -> FileResult:
        """See TableStep. Raises what build raises."""
        with open_to_its_end(file, keys) as opened:
            called = names_in_table(self.names, opened)
            rates = self._rates_for(opened, called)
            if not rates:
                return without_columns(file, opened, "no filters are advised for it")
            leaves = self._stored(opened, called, rates)
            found = [name for name, stored in leaves.items() if stored]
            check_named(opened, called, self.strange, found)
            lacking = tuple(
                SkippedColumn(wanted, LACKS_COLUMN, opened.num_parts)
                for wanted, names in leaves.items()
                if not names
            )
            stored = {name: rates[wanted] for wanted, names in leaves.items() for name in names}
            if not stored:
                return replace(without_columns(file, opened), skipped=lacking)
            # A rate that was asked for goes before those of the table.
            fpp_of = tuple((name, fpp) for name, fpp in stored.items() if fpp)
            wanted = replace(
                self.options,
                columns=tuple(stored),
                fpp_of=() if self.options.fpp else fpp_of,
                threads=threads or self.options.threads,
            )
            goes = stored if wanted.existing == "replace" else ()
            returning = filters_returning(file, opened, wanted, wanted.threads, goes)
            wanted = replace(wanted, unproven=returning.not_proven)
            report = build_opened(opened, wanted, in_place_of(self.of_table))
        return FileResult(
            appended(file, report.size_before, report.size_after, report.num_filters),
            skipped=added_up(
                [
                    *(
                        SkippedColumn(
                            called.get(each.column, each.column),
                            APPENDED_BEFORE
                            if each.reason == HAS_ONE
                            and (each.place.part, each.column) in returning.proven
                            else each.reason,
                            1,
                        )
                        for each in report.skipped
                    ),
                    *lacking,
                ]
            ),
            repaired=returning.mended(
                {(each.place.part, each.column) for each in report.filters}, called
            ),
            requests=report.requests,
            returning=as_called(returning.by_column(besides=stored), called),
            missed=tuple(
                (called.get(name, name), fpp, target)
                for name, fpp, target in _missed(returning, wanted)
            ),
            lost=tuple(
                (called.get(column.name, column.name), statement)
                for column in opened.select(
                    [*dict.fromkeys(each.column for each in report.filters)]
                )
                for statement in opened.lost_rows_of(column)
            ),
        )

    def _rates_for(
        self, opened: Container, called: Mapping[str, str]
    ) -> Mapping[str, float | None]:
        """Of the columns that are wanted in an open file, by the table's names. Raises ColumnError if no report is on
        such files."""
        if self.advised is None:
            return self.rates
        from parquet_bloom.verbs.advise import rates_to_build, report_on

        advised = rates_to_build(report_on(opened, self.advised, called), self.options)
        return {name: rate for name, rate in advised.items() if name in self.rates}

    def _stored(
        self, opened: Container, called: Mapping[str, str], columns: Iterable[str]
    ) -> dict[str, Sequence[str]]:
        """Of each column that is wanted, the leaf columns of an open file, by the file's names."""
        found: dict[str, list[str]] = {}
        for name, in_table in called.items():
            found.setdefault(in_table, []).append(name)
        return {
            wanted: found.get(wanted) or names_inside(self.names, opened, called, wanted)
            for wanted in columns
        }


def _missed(
    returning: ReturningFilters, options: BuildOptions
) -> Iterator[tuple[str, float, float]]:
    """The columns, of those to build, of which there are filters that let more pass than is wanted: the highest FPP,
    and the target."""
    rates = dict(options.fpp_of)
    for name in options.columns or ():
        size = Size(rates.get(name, options.fpp or DEFAULT_FPP), ndv=options.ndv)
        found = (fpp for (_, column), fpp in returning.proven.items() if column == name)
        highest = max(filter(None, found), default=0.0)
        if not size.is_met_by(highest):
            yield name, highest, size.fpp


def _told_writers(
    table: LakeTable,
    rates: Mapping[str, float | None],
    options: BuildOptions,
    of_table: TableOptions,
) -> Mapping[str, str]:
    """The properties that were set, or would be; none unless asked for. Raises UnsupportedError,
    RewriteError, OSError."""
    if not of_table.set_properties:
        return {}
    usual = options.fpp or DEFAULT_FPP
    wanted = {name: usual if options.fpp else rate or usual for name, rate in rates.items()}
    return table.tell_writers(wanted, options.max_bytes, of_table.dry_run)


def _chosen(
    table: LakeTable, options: BuildOptions, advised: Sequence[AdviceReport] | None
) -> tuple[Mapping[str, float | None], BuildOptions, Sequence[str]]:
    """The columns to build, as the table calls them, with the rate that it wants for each; the options,
    with what else it wants; and notes on what it wants in vain. Raises ColumnError, UnsupportedError if there are
    none, but for advice to build none."""
    rates: Mapping[str, float | None] = dict.fromkeys(options.columns or ())
    notes: Sequence[str] = ()
    if advised is not None:
        rates = _lowest_rates(_advised_rates(table, each, options) for each in advised)
    elif not rates:
        wanted = table.wanted
        rates = wanted.columns
        notes = [f"the table's {each}" for each in _in_vain(table, wanted)]
        limit = wanted.max_bytes if options.max_bytes is None else options.max_bytes
        options = replace(options, max_bytes=limit)
        if not rates:
            said = [f"its {each}" for each in _in_vain(table, wanted)]
            if not wanted.unknown:
                said.append(
                    f"its properties name none, as {wanted.example} would: expected columns="
                )
            raise UnsupportedError(f"{table.location}: no column to build: {'; '.join(said)}")
    for name in rates:
        table.physical(name)
    return rates, options, notes


def _advised_rates(
    table: LakeTable, report: AdviceReport, options: BuildOptions
) -> Mapping[str, float]:
    """The columns that a report recommends, each with its rate. One on files of several tables has columns of the
    others, too."""
    from parquet_bloom.verbs.advise import rates_to_build

    rates = rates_to_build(report, options)
    if table.location not in report.tables:
        return rates
    return {name: rate for name, rate in rates.items() if _has(table, name)}


def _has(table: LakeTable, column: str) -> bool:
    try:
        table.physical(column)
    except ColumnError:
        return False
    return True


def _in_vain(table: LakeTable, wanted: Wanted) -> Sequence[str]:
    """The properties that change nothing, in sentences that begin with these words."""
    unknown = [
        f"properties name {quoted_name(name)}, which is {table.what_else(name)}"
        for name in wanted.unknown
    ]
    return [*unknown, *(f"property {each}" for each in wanted.odd)]


def _lowest_rates(advised: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Of each column, the lowest of the rates that different files get it at, for what is about all of them."""
    found: dict[str, float] = {}
    for name, rate in chain.from_iterable(rates.items() for rates in advised):
        found[name] = min(rate, found.get(name, rate))
    return found
