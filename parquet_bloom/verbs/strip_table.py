"""Take the filters back that were appended to the files of a table.

A commit records the sizes of before. The bytes stay: versions of the table in between know them, and
whoever reads one of those must find them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar, Final

from parquet_bloom.arguments import threads_given
from parquet_bloom.container import WHERE_KNOWN
from parquet_bloom.dataclass import dataclass
from parquet_bloom.files import open_file
from parquet_bloom.options import FILES_PER_COMMIT, TableOptions
from parquet_bloom.parallel import Progress
from parquet_bloom.storage.traffic import Requests, in_all
from parquet_bloom.tables.open import open_table
from parquet_bloom.tables.table import LakeTable, TableFile
from parquet_bloom.verbs.documents import VerbReport
from parquet_bloom.verbs.table_runner import (
    TableCommit,
    change_table,
    check_changeable,
)
from parquet_bloom.verbs.table_step import (
    ChangedFile,
    FileResult,
    open_to_its_end,
    unchanged,
)
from parquet_bloom.vocabulary import TableChoice, TableKind

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys

REPLACED: Final = "its first filters were repaired or replaced, and stay so"


@dataclass(frozen=True, slots=True, repr=False)
class TableStripReport(VerbReport):
    """What strip_table did to one table. `version`, `committed`, `commits`: see TableBuildReport, with
    the sizes of before for the new ones; `bytes_removed`: by which the records are less."""

    _rows: ClassVar = ("files",)
    _shown_first: ClassVar = ("file", "action", "reason")

    path: str
    table: TableKind
    version: int
    committed: int | None
    commits: tuple[TableCommit, ...]
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
    since: datetime | int | str | None = None,
    files_per_commit: int = FILES_PER_COMMIT,
    sole_writer: bool = False,
    dry_run: bool = False,
    verify: bool = True,
    unconditional: bool = False,
    threads: int | None = None,
    keys: Keys | None = None,
    storage_options: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> TableStripReport:
    """Record the sizes that the live files of a table had before filters were appended to them; no file
    is changed. Filters that the files had from the first stay, and so does what has
    repaired or replaced them.

    verify, unconditional: as build_table was called; no file is written here that they could say anything about.
    threads: the number of files to look at at a time. Other arguments and errors as for build_table.
    """
    options = TableOptions.of(locals())
    at_a_time = threads_given(threads)
    found = open_table(table, kind, catalog=catalog, storage_options=storage_options)
    return strip_in_table(found, options, threads=at_a_time, keys=keys, progress=progress)


def strip_in_table(
    table: LakeTable,
    options: TableOptions,
    *,
    threads: int | None = None,
    keys: Keys | None = None,
    progress: Progress | None = None,
) -> TableStripReport:
    """As strip_table."""
    # No file is replaced, so that no store has to look at conditions.
    check_changeable(table, replace(options, unconditional=True))
    # What is not appended to has no size that is too small for it.
    step = TakingBack(replace(options, min_file_size=0))
    done = change_table(table, step, threads=threads, keys=keys, progress=progress)
    bytes_removed = sum(file.recorded - file.size for file in done.files)
    return TableStripReport(**done.facts, bytes_removed=bytes_removed)


@dataclass(frozen=True, slots=True)
class TakingBack:
    """The step for one file."""

    OPERATION: ClassVar = "REMOVE BLOOM FILTERS"

    of_table: TableOptions

    def change(self, file: TableFile, keys: Keys | None, threads: int | None = None) -> FileResult:
        """See TableStep."""
        opened = open_to_its_end(file, keys)
        opened.close()
        with open_file(file.path, keys, size=file.size) as recorded:
            # Filters that are gone by now may have been wrong: they do not come back.
            first = min(recorded.ends_within, default=file.size)
            is_first = first == min(recorded.earlier_ends, default=file.size)
        same = replace(unchanged(file), reason=None if is_first else REPLACED)
        asked = in_all([opened.source.requests, recorded.source.requests])
        if first == file.size:
            return FileResult(same, requests=asked)
        return FileResult(replace(same, action="taken back", size=first), requests=asked)
