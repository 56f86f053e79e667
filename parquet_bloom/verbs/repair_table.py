"""Repair the filters in the files of a table, by appending, and tell it their new sizes.

    | the file as its record says, with wrong filters | filters built again, a footer without the wrong ones |
    0                                   recorded size                                                     size

Nothing that readers of any version may use is changed: only what a new footer can put right is.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, ClassVar, Final

from parquet_bloom.arguments import Names
from parquet_bloom.container import WHERE_KNOWN
from parquet_bloom.dataclass import dataclass
from parquet_bloom.files import open as open_file
from parquet_bloom.options import Destination, RepairOptions, TableOptions
from parquet_bloom.parallel import Progress
from parquet_bloom.storage.traffic import Requests, in_all
from parquet_bloom.tables.open import open_table
from parquet_bloom.tables.partitions import files_where
from parquet_bloom.tables.table import MIN_FILE_SIZE, Table, TableFile, names_in_table
from parquet_bloom.verbs.documents import Report
from parquet_bloom.verbs.repair import LeftFilter, RepairedFilter, RepairReport, repair_opened
from parquet_bloom.verbs.table_change import (
    ChangedFile,
    FileResult,
    appended,
    bytes_added,
    check_record,
    columns_returning,
    commit,
    each_file,
    in_place_of,
    least_size_given,
    left_alone,
    notes_on,
    opened_to_change,
    requests_of,
    unchanged,
    without_columns,
)
from parquet_bloom.vocabulary import RepairAction, TableChoice, TableKind

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys

OPERATION: Final = "REPAIR BLOOM FILTERS"


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
    LeftFilter."""

    column: str | None
    rule: str
    reason: str
    num_chunks: int


@dataclass(frozen=True, slots=True, repr=False)
class TableRepairReport(Report):
    """What repair_table did to one table. `version`: that it was read at; `committed`: the one that
    records the new sizes, None if there is none; `looked_up`: whether stored values were looked up.
    `notes`: what to know about it."""

    _rows: ClassVar = ("files",)

    path: str
    table: TableKind
    version: int
    committed: int | None
    files: tuple[ChangedFile, ...]
    repaired: tuple[RepairedColumn, ...]
    left: tuple[LeftColumn, ...]
    looked_up: bool
    bytes_added: int
    dry_run: bool
    seconds: float
    notes: tuple[str, ...] = ()
    requests: Requests | None = field(default=None, metadata=WHERE_KNOWN)


def repair_table(
    table: str | os.PathLike[str],
    *,
    columns: Names | None = None,
    kind: TableChoice = "auto",
    catalog: str | None = None,
    where: Mapping[str, str | Sequence[str | None] | None] | None = None,
    drop_bad: bool = False,
    rebuild: bool = False,
    fpp: float | None = None,
    max_bytes: int | None = None,
    min_file_size: int = MIN_FILE_SIZE,
    commit: bool = True,
    sole_writer: bool = False,
    dry_run: bool = False,
    verify: bool = True,
    unconditional: bool = False,
    ignore_checksums: bool = False,
    threads: int | None = None,
    keys: Keys | None = None,
    storage_options: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> TableRepairReport:
    """Repair the filters of the live files of a table, as its current version has them: what is new is
    appended to each file, and one commit records the new sizes. Older versions keep their filters.

    columns: as the table calls them; None for all. drop_bad, rebuild, fpp and max_bytes as for repair,
    all others as for build_table. A file with plaintext filters of encrypted columns fails: they would
    have to be overwritten. Raises as build_table.
    """
    given = locals()
    options = RepairOptions.of(given)
    of_table = TableOptions.of(given, min_file_size=least_size_given(min_file_size))
    found = open_table(table, kind, catalog=catalog, storage_options=storage_options)
    return repair_in_table(found, options, of_table, keys=keys, progress=progress)


def repair_in_table(
    table: Table,
    options: RepairOptions,
    of_table: TableOptions,
    *,
    keys: Keys | None = None,
    progress: Progress | None = None,
) -> TableRepairReport:
    """As repair_table."""
    started = time.perf_counter()
    opened_to_change(table, of_table)
    for name in options.columns or ():
        table.physical(name)
    options = replace(options, layout="append", keeps_ends=True)
    reports: dict[str, RepairReport] = {}

    def work(file: TableFile, threads: int | None) -> FileResult:
        if alone := left_alone(file, of_table):
            return FileResult(alone)
        result, report = _repair(table, file, replace(options, threads=threads), of_table, keys)
        if report is not None:
            reports[file.name] = report
        return result

    results = each_file(files_where(table, of_table.where), work, options.threads, progress)
    done, files = commit(table, results, OPERATION, of_table)
    found = [reports[file.file] for file in files if file.file in reports]
    return TableRepairReport(
        path=table.location,
        table=table.kind,
        version=table.version,
        committed=done.version,
        files=files,
        repaired=_repaired_columns(each for report in found for each in report.repaired),
        left=_left_columns(each for report in found for each in report.left),
        looked_up=options.reads_values,
        bytes_added=bytes_added(files),
        dry_run=of_table.dry_run,
        seconds=time.perf_counter() - started,
        notes=notes_on(table, results, of_table),
        requests=requests_of(table, results),
    )


def _repair(
    table: Table,
    file: TableFile,
    options: RepairOptions,
    of_table: TableOptions,
    keys: Keys | None,
) -> tuple[FileResult, RepairReport | None]:
    """What became of one file. Raises what repair raises."""
    with open_file(file.path, keys) as opened:
        check_record(file, opened)
        called = names_in_table(table.names, opened)
        if options.columns is not None:
            names = tuple(each for each in opened.columns if called.get(each) in options.columns)
            options = replace(options, columns=names)
            if not options.columns:
                return without_columns(file, opened), None
        if opened.source.size != file.size:
            # Behind what readers see may be filters that the table was told to forget.
            with open_file(file.path, keys, size=file.size) as recorded:
                report = repair_opened(recorded, options, Destination(in_place=True, dry_run=True))
            if report.size_after == report.size_before:
                asked = in_all([opened.source.requests, report.requests])
                return FileResult(unchanged(file), requests=asked), _renamed(report, called)
        returning, asked = columns_returning(file, opened, keys)
        report = repair_opened(opened, options, in_place_of(of_table))
    num_rebuilt = sum(each.action == "rebuilt" for each in report.repaired)
    changed = appended(file, report.size_before, report.size_after, num_rebuilt)
    requests = in_all([report.requests, asked])
    names = tuple(sorted(called.get(name, name) for name in returning))
    return FileResult(changed, requests=requests, returning=names), _renamed(report, called)


def _renamed(report: RepairReport, called: Mapping[str, str]) -> RepairReport:
    """With the table's names of columns."""
    return replace(
        report,
        repaired=tuple(
            replace(each, column=called.get(each.column, each.column)) for each in report.repaired
        ),
        left=tuple(
            replace(each, column=each.column and called.get(each.column, each.column))
            for each in report.left
        ),
    )


def _repaired_columns(filters: Iterable[RepairedFilter]) -> tuple[RepairedColumn, ...]:
    found: dict[tuple[str, str, str], RepairedColumn] = {}
    for each in filters:
        key = each.column, each.action, each.rule
        last = found.get(key, RepairedColumn(*key, each.reason, 0))
        found[key] = replace(last, num_chunks=last.num_chunks + 1)
    return tuple(found[key] for key in sorted(found))


def _left_columns(filters: Iterable[LeftFilter]) -> tuple[LeftColumn, ...]:
    found: dict[tuple[str, str], LeftColumn] = {}
    for each in filters:
        key = each.column or "", each.rule
        last = found.get(key, LeftColumn(each.column, each.rule, each.reason, 0))
        found[key] = replace(last, num_chunks=last.num_chunks + 1)
    return tuple(found[key] for key in sorted(found))
