"""Add Bloom filters to the files of a table, and tell it their new sizes.

    for each live file     append filters and a footer, write, verify at both lengths, take its name
    for all of them        one commit that records the new sizes

A table is right at every moment in between: each file still is what the old record says, too. What a
killed run has appended the next one recognizes, and commits.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias

from parquet_bloom.arguments import Names
from parquet_bloom.container import WHERE_KNOWN
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import UnsupportedError
from parquet_bloom.options import BuildOptions, TableOptions
from parquet_bloom.parallel import Progress
from parquet_bloom.tables.open import open_table
from parquet_bloom.tables.partitions import files_where
from parquet_bloom.tables.table import MIN_FILE_SIZE, Table, TableFile
from parquet_bloom.verbs.documents import Report
from parquet_bloom.verbs.table_append import Appending, append_to
from parquet_bloom.verbs.table_change import (
    ChangedFile,
    FileResult,
    SkippedColumn,
    bytes_added,
    commit,
    each_file,
    least_size_given,
    left_alone,
    notes_on,
    opened_to_change,
    requests_of,
    skipped_in_all,
)
from parquet_bloom.vocabulary import Existing, TableChoice, TableKind

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.storage.traffic import Requests

OPERATION: Final = "ADD BLOOM FILTERS"
# Appends to files in other processes: what became of each.
AppendElsewhere: TypeAlias = Callable[[Sequence[TableFile], Appending], list[FileResult]]


@dataclass(frozen=True, slots=True, repr=False)
class TableBuildReport(Report):
    """What build_table did to one table. `version`: that it was read at; `committed`: the one that
    records the new sizes, None if there is none; `columns`: that filters were built for, by the
    table's names; `skipped`: column chunks without a filter. `notes`: what to know about it."""

    _rows: ClassVar = ("files",)

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
    requests: Requests | None = field(default=None, metadata=WHERE_KNOWN)


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
    ignore_checksums: bool = False,
    threads: int | None = None,
    keys: Keys | None = None,
    storage_options: Mapping[str, str] | None = None,
    expose_filter_location: bool = False,
    progress: Progress | None = None,
) -> TableBuildReport:
    """Add filters for `columns` to the live files of a table, in place, and record their new sizes in
    one commit. `table`: its folder or URL; in a catalog, its identifier, as in `lake.events`.

    columns: as the table calls them, dotted; None for those that its properties name, with their rates
    and largest bitset. kind: of the table. catalog: of an Iceberg table, as PyIceberg's configuration
    has it. where: only files that can have rows of these partitions: a value, or several, for each
    partition column, as text; None for null. min_file_size: files of fewer bytes are left as they are;
    0 for all. commit: whether to record the new sizes; if not, the next run does. sole_writer: nobody
    else writes to the table meanwhile, which a table on S3 needs. dry_run: build, but write nothing.
    progress: called with (files done, files in all). All others as for build.

    What fails of single files is in the report, and the others are committed. Raises RewriteError for
    a table that must not be changed, UnsupportedError, ColumnError, FormatError for a damaged log,
    ValueError, TypeError, OSError.
    """
    given = locals()
    options = BuildOptions.of(given)
    of_table = TableOptions.of(given, min_file_size=least_size_given(min_file_size))
    found = open_table(table, kind, catalog=catalog, storage_options=storage_options)
    return build_in_table(found, options, of_table, keys=keys, progress=progress)


def build_in_table(
    table: Table,
    options: BuildOptions,
    of_table: TableOptions,
    *,
    keys: Keys | None = None,
    progress: Progress | None = None,
    elsewhere: AppendElsewhere | None = None,
) -> TableBuildReport:
    """As build_table. `elsewhere`: appends to files in other processes."""
    started = time.perf_counter()
    opened_to_change(table, of_table)
    rates, options = _chosen(table, options)
    options = replace(options, layout="append", keeps_ends=True)
    appending = Appending(table.names, rates, options, of_table)
    files_asked = files_where(table, of_table.where)
    alone = [left for file in files_asked if (left := left_alone(file, of_table))]
    names = {left.file for left in alone}
    files = [file for file in files_asked if file.name not in names]
    if elsewhere is None:
        done = _append_here(files, appending, keys, progress)
    else:
        done = elsewhere(files, appending)
    results = sorted([*map(FileResult, alone), *done], key=lambda result: result.changed.file)
    committed, changed = commit(table, results, OPERATION, of_table)
    return TableBuildReport(
        path=table.location,
        table=table.kind,
        version=table.version,
        committed=committed.version,
        columns=tuple(rates),
        files=changed,
        skipped=skipped_in_all(results),
        num_filters=sum(file.num_filters for file in changed),
        bytes_added=bytes_added(changed),
        dry_run=of_table.dry_run,
        seconds=time.perf_counter() - started,
        notes=notes_on(table, results, of_table),
        requests=requests_of(table, results),
    )


def _append_here(
    files: Sequence[TableFile],
    appending: Appending,
    keys: Keys | None,
    progress: Progress | None,
) -> list[FileResult]:
    def work(file: TableFile, threads: int | None) -> FileResult:
        return append_to(file, appending, keys, threads)

    return each_file(files, work, appending.options.threads, progress)


def _chosen(table: Table, options: BuildOptions) -> tuple[Mapping[str, float | None], BuildOptions]:
    """The columns to build, as the table calls them, with the rate that it wants for each; and the
    options, with what else it wants. Raises ColumnError, UnsupportedError if there are none."""
    rates: Mapping[str, float | None] = dict.fromkeys(options.columns or ())
    if not rates:
        rates = table.wanted.columns
        limit = table.wanted.max_bytes if options.max_bytes is None else options.max_bytes
        options = replace(options, max_bytes=limit)
    if not rates:
        raise UnsupportedError(
            f"{table.location}: its properties name no column, such as {table.wanted.example}:"
            " expected the names of columns"
        )
    for name in rates:
        table.physical(name)
    return rates, options
