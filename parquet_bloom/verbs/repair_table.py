"""Repair the filters in the files of a table, by appending, and tell it their new sizes.

    | the file as its record says, with wrong filters | filters built again, a footer without the wrong ones |
    0                                   recorded size                                                     size

Nothing that readers of any version may use is changed: only what a new footer can put right is.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from parquet_bloom.arguments import SomeNames
from parquet_bloom.container import WHERE_KNOWN
from parquet_bloom.dataclass import dataclass
from parquet_bloom.files import open_file
from parquet_bloom.options import FILES_PER_COMMIT, RepairOptions, TableOptions
from parquet_bloom.parallel import Progress
from parquet_bloom.storage.traffic import Requests, in_all
from parquet_bloom.tables.open import open_table
from parquet_bloom.tables.table import (
    MIN_FILE_SIZE,
    LakeTable,
    StoredNames,
    TableFile,
    names_in_table,
    names_inside,
)
from parquet_bloom.verbs.documents import VerbReport
from parquet_bloom.verbs.repair import RepairReport, repair_opened
from parquet_bloom.verbs.returning_filters import filters_returning
from parquet_bloom.verbs.table_runner import (
    TableCommit,
    change_table,
    check_changeable,
    least_size_given,
)
from parquet_bloom.verbs.table_step import (
    ChangedFile,
    FileResult,
    LeftColumn,
    RepairedColumn,
    appended,
    as_called,
    check_named,
    in_place_of,
    open_to_its_end,
    unchanged,
    way_to_small,
    without_columns,
)
from parquet_bloom.vocabulary import TableChoice, TableKind

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys


@dataclass(frozen=True, slots=True, repr=False)
class TableRepairReport(VerbReport):
    """What repair_table did to one table. `version`, `committed`, `commits`, `bytes_added`: see TableBuildReport;
    `looked_up`, `useless`: see RepairReport. `notes`: what to know about it."""

    _rows: ClassVar = ("files",)
    _shown_first: ClassVar = ("file", "action", "reason")
    _told_below: ClassVar = ("repaired", "left")

    path: str
    table: TableKind
    version: int
    committed: int | None
    commits: tuple[TableCommit, ...]
    files: tuple[ChangedFile, ...]
    repaired: tuple[RepairedColumn, ...]
    left: tuple[LeftColumn, ...]
    looked_up: bool
    useless: int
    bytes_added: int
    dry_run: bool
    seconds: float
    notes: tuple[str, ...] = ()
    requests: Requests | None = field(default=None, metadata=WHERE_KNOWN)

    def __repr__(self) -> str:
        return f"{VerbReport.__repr__(self)[:-1]}{way_to_small(self.files)}>"


def repair_table(
    table: str | os.PathLike[str],
    *,
    columns: SomeNames | None = None,
    kind: TableChoice = "auto",
    catalog: str | None = None,
    where: Mapping[str, str | Sequence[str | None] | None] | None = None,
    since: datetime | int | str | None = None,
    drop_bad: bool = False,
    rebuild: bool = False,
    fpp: float | None = None,
    max_bytes: int | None = None,
    min_file_size: int = MIN_FILE_SIZE,
    files_per_commit: int = FILES_PER_COMMIT,
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
    appended to each file, and a commit records the new sizes. Older versions keep their filters.

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
    table: LakeTable,
    options: RepairOptions,
    of_table: TableOptions,
    *,
    keys: Keys | None = None,
    progress: Progress | None = None,
) -> TableRepairReport:
    """As repair_table."""
    check_changeable(table, of_table)
    for name in options.columns or ():
        table.physical(name)
    options = replace(options, layout="append", kept_ends="all")
    step = Repairing(of_table, table.names, options, table.only_in_files(options.columns or ()))
    done = change_table(table, step, threads=options.threads, keys=keys, progress=progress)
    return TableRepairReport(
        **done.facts,
        repaired=done.repaired,
        left=done.left,
        looked_up=options.reads_values,
        useless=done.useless,
        bytes_added=done.bytes_added,
        notes=done.notes,
    )


@dataclass(frozen=True, slots=True)
class Repairing:
    """The step for one file. `strange`: those of its columns that are none of the table's."""

    OPERATION: ClassVar = "REPAIR BLOOM FILTERS"

    of_table: TableOptions
    names: StoredNames
    options: RepairOptions
    strange: frozenset[str] = frozenset()

    def change(self, file: TableFile, keys: Keys | None, threads: int | None = None) -> FileResult:
        """See TableStep. Raises what repair raises."""
        options = replace(self.options, threads=threads or self.options.threads)
        with open_to_its_end(file, keys) as opened:
            called = names_in_table(self.names, opened)
            if options.columns is not None:
                names = [each for each in opened.columns if called.get(each) in options.columns]
                found = {*options.columns} & {*called.values()}
                for wanted in options.columns:
                    if wanted not in found and (
                        inside := names_inside(self.names, opened, called, wanted)
                    ):
                        names += inside
                        found.add(wanted)
                check_named(opened, called, self.strange, found)
                if not names:
                    return without_columns(file, opened)
                options = replace(options, columns=tuple(names))
            if opened.source.size != file.size:
                # Behind what readers see may be filters that the table was told to forget.
                with open_file(file.path, keys, size=file.size) as recorded:
                    tried = replace(in_place_of(self.of_table), dry_run=True)
                    report = repair_opened(recorded, options, tried)
                if report.size_after == report.size_before:
                    asked = in_all([opened.source.requests, report.requests])
                    return _result(unchanged(file), report, called, asked)
            returning = filters_returning(file, opened, options, options.threads)
            place = in_place_of(self.of_table)
            report = repair_opened(opened, options, place, returning.unproven)
        num_rebuilt = sum(each.action == "rebuilt" for each in report.repaired)
        changed = appended(file, report.size_before, report.size_after, num_rebuilt)
        result = _result(changed, report, called, report.requests)
        return replace(result, returning=as_called(returning.by_column(), called))


def _result(
    changed: ChangedFile, report: RepairReport, called: Mapping[str, str], asked: Requests | None
) -> FileResult:
    """What became of one file. `called`: what the table calls its columns."""
    return FileResult(
        changed,
        repaired=tuple(
            RepairedColumn(
                called.get(each.column, each.column), each.action, each.rule, each.reason, 1
            )
            for each in report.repaired
        ),
        left=tuple(
            LeftColumn(
                each.column and called.get(each.column, each.column), each.rule, each.reason, 1
            )
            for each in report.left
        ),
        useless=report.useless,
        requests=asked,
    )
