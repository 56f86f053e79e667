"""Take the filters back that were appended to the files of a table.

One commit records the sizes of before. The bytes stay: versions of the table in between know them, and
whoever reads one of those must find them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, ClassVar, Final

from parquet_bloom.container import WHERE_KNOWN
from parquet_bloom.dataclass import dataclass
from parquet_bloom.files import open as open_file
from parquet_bloom.options import TableOptions
from parquet_bloom.parallel import Progress
from parquet_bloom.storage.traffic import Requests, in_all
from parquet_bloom.tables.open import open_table
from parquet_bloom.tables.partitions import files_where
from parquet_bloom.tables.table import Table, TableFile
from parquet_bloom.verbs.documents import Report
from parquet_bloom.verbs.table_change import (
    ChangedFile,
    FileResult,
    check_record,
    commit,
    each_file,
    opened_to_change,
    requests_of,
    unchanged,
)
from parquet_bloom.vocabulary import TableChoice, TableKind

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys

OPERATION: Final = "REMOVE BLOOM FILTERS"

REPLACED: Final = "its first filters were repaired or replaced, and stay so"


@dataclass(frozen=True, slots=True, repr=False)
class TableStripReport(Report):
    """What strip_table did to one table. `version`: that it was read at; `committed`: the one that
    records the sizes of before, None if there is none; `bytes_removed`: by which the records are less.
    """

    _rows: ClassVar = ("files",)

    path: str
    table: TableKind
    version: int
    committed: int | None
    files: tuple[ChangedFile, ...]
    bytes_removed: int
    dry_run: bool
    seconds: float
    requests: Requests | None = field(default=None, metadata=WHERE_KNOWN)


def strip_table(
    table: str | os.PathLike[str],
    *,
    kind: TableChoice = "auto",
    catalog: str | None = None,
    where: Mapping[str, str | Sequence[str | None] | None] | None = None,
    sole_writer: bool = False,
    dry_run: bool = False,
    keys: Keys | None = None,
    storage_options: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> TableStripReport:
    """Record the sizes that the live files of a table had before filters were appended to them, in one
    commit; no file is changed. Filters that the files had from the first stay, and so does what has
    repaired or replaced them. Arguments and errors as for build_table.
    """
    options = TableOptions.of(locals())
    found = open_table(table, kind, catalog=catalog, storage_options=storage_options)
    return strip_in_table(found, options, keys=keys, progress=progress)


def strip_in_table(
    table: Table,
    options: TableOptions,
    *,
    keys: Keys | None = None,
    progress: Progress | None = None,
) -> TableStripReport:
    """As strip_table."""
    started = time.perf_counter()
    opened_to_change(table, options)

    def work(file: TableFile, threads: int | None) -> FileResult:
        same = unchanged(file)
        if file.unfit is not None:
            return FileResult(replace(same, reason=file.unfit))
        with open_file(file.path, keys) as opened:
            check_record(file, opened)
        with open_file(file.path, keys, size=file.size) as recorded:
            # Filters that are gone by now may have been wrong: they do not come back.
            first = min(recorded.ends_within, default=file.size)
            is_first = first == min(recorded.earlier_ends, default=file.size)
        same = replace(same, reason=None if is_first else REPLACED)
        asked = in_all([opened.source.requests, recorded.source.requests])
        if first == file.size:
            return FileResult(same, requests=asked)
        return FileResult(replace(same, action="taken back", size=first), requests=asked)

    results = each_file(files_where(table, options.where), work, None, progress)
    done, files = commit(table, results, OPERATION, options)
    return TableStripReport(
        path=table.location,
        table=table.kind,
        version=table.version,
        committed=done.version,
        files=files,
        bytes_removed=sum(file.recorded - file.size for file in files),
        dry_run=options.dry_run,
        seconds=time.perf_counter() - started,
        requests=requests_of(table, results),
    )
