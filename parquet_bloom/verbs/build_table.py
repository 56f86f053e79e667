"""Add Bloom filters to the files of a table, and tell it their new sizes.

    for each live file     append filters and a footer, write, verify at both lengths, take its name
    for all of them        one commit that records the new sizes

A table is right at every moment in between: each file still is what the old record says, too. What a
killed run has appended the next one recognizes, and commits.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final

from parquet_bloom.arguments import (
    Names,
    names_given,
    number_if_given,
    rate_given,
    threads_given,
)
from parquet_bloom.container import LeftChunk
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import UnsupportedError
from parquet_bloom.files import open as open_file
from parquet_bloom.options import BuildOptions, Destination, TableOptions, where_given
from parquet_bloom.parallel import Progress
from parquet_bloom.tables.open import open_table
from parquet_bloom.tables.partitions import files_where
from parquet_bloom.tables.table import TRINO, Table, TableFile
from parquet_bloom.verbs.build import build_opened
from parquet_bloom.verbs.documents import Report
from parquet_bloom.verbs.table_change import (
    ChangedFile,
    SkippedColumn,
    check_record,
    commit,
    each_file,
    opened_to_change,
    skipped_columns,
)
from parquet_bloom.vocabulary import Existing, TableChoice, TableKind

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys

# Smaller files Trino may not be able to read any more.
MIN_FILE_SIZE: Final = 4 << 20

OPERATION: Final = "ADD BLOOM FILTERS"
NOT_COMMITTED: Final = "the new sizes are not committed: run it again to commit them"


@dataclass(frozen=True, slots=True, repr=False)
class TableBuildReport(Report):
    """What build_table did to one table. `version`: that it was read at; `committed`: the one that
    records the new sizes, None if there is none; `columns`: that filters were built for, by the
    table's names; `skipped`: column chunks without a filter. `notes`: what to know about it."""

    _rows: ClassVar = ("files",)
    _item: ClassVar = ChangedFile

    path: str
    table: TableKind
    version: int
    committed: int | None
    columns: tuple[str, ...]
    files: tuple[ChangedFile, ...]
    skipped: tuple[SkippedColumn, ...]
    num_filters: int
    bytes_added: int
    dry_run: bool
    seconds: float
    notes: tuple[str, ...] = ()


def build_table(
    table: str | os.PathLike[str],
    *,
    columns: Names | None = None,
    kind: TableChoice = "auto",
    catalog: str | None = None,
    where: Mapping[str, str | Sequence[str | None] | None] | None = None,
    fpp: float | None = None,
    ndv: int | None = None,
    max_bytes: int | None = None,
    exact_blocks: bool = False,
    existing: Existing = "keep",
    force: bool = False,
    min_file_size: int = MIN_FILE_SIZE,
    commit: bool = True,
    sole_writer: bool = False,
    dry_run: bool = False,
    verify: bool = True,
    unconditional: bool = False,
    threads: int | None = None,
    keys: Keys | None = None,
    storage_options: Mapping[str, str] | None = None,
    expose_filter_location: bool = False,
    progress: Progress | None = None,
) -> TableBuildReport:
    """Add filters for `columns` to the live files of a table, in place, and record their new sizes in
    one commit. `table`: its folder or URL; in a catalog, its identifier, as in `lake.events`.

    columns: as the table calls them, dotted; None for those that its properties name, with their rates.
    kind: of the table. catalog: of an Iceberg table, as PyIceberg's configuration has it. where: only files of these partitions: a value, or several, for each partition
    column, as text; None for null. min_file_size: files of fewer bytes are left as they are; 0 for
    all. commit: whether to record the new sizes; if not, the next run does. sole_writer: nobody else
    writes to the table meanwhile, which a table on S3 needs. dry_run: build, but write nothing.
    progress: called with (files done, files in all). All others as for build.

    What fails of single files is in the report, and the others are committed. Raises RewriteError for
    a table that must not be changed, UnsupportedError, ColumnError, FormatError for a damaged log,
    ValueError, TypeError, OSError.
    """
    options = BuildOptions(
        columns=names_given("columns", columns),
        fpp=rate_given("fpp", fpp),
        ndv=number_if_given("ndv", ndv),
        max_bytes=number_if_given("max_bytes", max_bytes),
        exact_blocks=exact_blocks,
        existing=existing,
        force=force,
        expose_filter_location=expose_filter_location,
        threads=threads_given(threads),
    )
    of_table = TableOptions(
        kind=kind,
        where=where_given(where),
        min_file_size=number_if_given("min_file_size", min_file_size) or 0,
        commit=commit,
        sole_writer=sole_writer,
        dry_run=dry_run,
        verify=verify,
        unconditional=unconditional,
    )
    found = open_table(table, kind, catalog=catalog, storage_options=storage_options)
    return build_in_table(found, options, of_table, keys=keys, progress=progress)


def build_in_table(
    table: Table,
    options: BuildOptions,
    of_table: TableOptions,
    *,
    keys: Keys | None = None,
    progress: Progress | None = None,
) -> TableBuildReport:
    """As build_table."""
    started = time.perf_counter()
    opened_to_change(table, of_table)
    rates = _chosen(table, options)
    options = replace(options, layout="append", keeps_ends=True)
    skipped: list[Sequence[LeftChunk]] = []

    def work(file: TableFile, threads: int | None) -> ChangedFile:
        shared = replace(options, threads=threads)
        return _append(table, file, rates, shared, of_table, keys, skipped)

    files_asked = files_where(table, of_table.where)
    changed = each_file(files_asked, work, options.threads, progress)
    done, files = commit(table, changed, OPERATION, of_table)
    return TableBuildReport(
        path=table.location,
        table=table.kind,
        version=table.version,
        committed=done.version,
        columns=tuple(rates),
        files=files,
        skipped=skipped_columns(skipped),
        num_filters=sum(file.num_filters for file in files),
        bytes_added=sum(file.size - file.recorded for file in files),
        dry_run=of_table.dry_run,
        seconds=time.perf_counter() - started,
        notes=_notes(table, files, of_table),
    )


def _chosen(table: Table, options: BuildOptions) -> Mapping[str, float | None]:
    """The columns to build, as the table calls them, with the rate that it wants for each. Raises
    ColumnError, UnsupportedError if there are none."""
    rates: Mapping[str, float | None] = dict.fromkeys(options.columns or ())
    if not rates:
        rates = table.wanted.columns
    if not rates:
        raise UnsupportedError(
            f"{table.location}: its properties name no column, such as {table.wanted.example}:"
            " expected the names of columns"
        )
    for name in rates:
        table.physical(name)
    return rates


def _append(
    table: Table,
    file: TableFile,
    rates: Mapping[str, float | None],
    options: BuildOptions,
    of_table: TableOptions,
    keys: Keys | None,
    skipped: list[Sequence[LeftChunk]],
) -> ChangedFile:
    """What became of one file. Raises what build raises."""
    same = ChangedFile(file.name, "unchanged", file.size, file.size, num_deleted=file.num_deleted)
    if file.unfit is not None:
        return replace(same, reason=file.unfit)
    if file.size < of_table.min_file_size:
        reason = f"{file.size:,} bytes, fewer than {of_table.min_file_size:,}"
        return replace(same, action="too small", reason=reason)
    destination = Destination(
        in_place=True,
        dry_run=of_table.dry_run,
        verify=of_table.verify,
        unconditional=of_table.unconditional,
        in_table=True,
    )
    with open_file(file.path, keys) as opened:
        check_record(file, opened)
        stored = {
            name: there for name in rates if (there := table.stored(name, opened)) is not None
        }
        if not stored:
            return replace(same, size=opened.source.size, reason="has none of these columns")
        # A rate that was asked for goes before those of the table.
        fpp_of = tuple((there, fpp) for name, there in stored.items() if (fpp := rates[name]))
        wanted = replace(
            options, columns=tuple(stored.values()), fpp_of=() if options.fpp else fpp_of
        )
        report = build_opened(opened, wanted, destination)
    skipped.append(report.skipped)
    same = replace(same, size=report.size_after, num_filters=report.num_filters)
    if report.size_after != report.size_before:
        return replace(same, action="appended")
    return replace(same, action="appended before") if same.size != file.size else same


def _notes(table: Table, files: Sequence[ChangedFile], options: TableOptions) -> tuple[str, ...]:
    notes = [*table.notes]
    if options.dry_run:
        notes += [*table.readers, TRINO]
    elif options.min_file_size < MIN_FILE_SIZE and any(each.action == "appended" for each in files):
        notes.append(TRINO)
    if not options.commit and any(each.size != each.recorded for each in files):
        notes.append(NOT_COMMITTED)
    return tuple(notes)
