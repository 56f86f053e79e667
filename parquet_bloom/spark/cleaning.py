"""Temporary files left by killed attempts: found and removed on the executors."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from parquet_bloom.arguments import files_given, flag_given
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import ParquetBloomError, RewriteError, complaint_about
from parquet_bloom.options import Destination
from parquet_bloom.parallel import Progress
from parquet_bloom.spark.failures import for_executors
from parquet_bloom.spark.job import audit_given, run_job
from parquet_bloom.spark.listing import Paths, names_for_executors
from parquet_bloom.spark.outcome import Outcome, Report
from parquet_bloom.spark.plan import LakeFile
from parquet_bloom.spark.planning import Search
from parquet_bloom.spark.request import Request
from parquet_bloom.spark.worker import attempt
from parquet_bloom.storage import folder_at, journal
from parquet_bloom.storage.source import has_wildcard, is_url
from parquet_bloom.storage.temporary_files import Leftover, folders_in, is_as_old, leftovers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Less than that of a file that a clock ahead of ours dated.
_ANY_AGE = -math.inf


@dataclass(frozen=True, slots=True)
class CleanOptions:
    """How old leftovers must be, in seconds."""

    older_than: float


def clean_temp(
    spark: SparkSession,
    paths: Paths,
    *,
    older_than: float = 3600.0,
    dry_run: bool = False,
    audit: str | None = None,
    progress: Progress | None = None,
) -> Report:
    """Remove what killed attempts left beside the files of `paths`, and in those of `paths` that are folders:
    temporary files not written to for `older_than` seconds; younger ones are `unchanged`. Local folders are swept
    with all folders below them, hidden ones too; links are not followed. The journals of local builds that were
    killed are only named, as refused: `pbloom recover` is for them. dry_run: only say what would be removed.
    audit: as for build; progress, too, but with tasks instead of bytes.

    Raises TypeError or ValueError for an age that cannot be, SparkError as build does.
    """
    if isinstance(older_than, bool) or not isinstance(older_than, int | float):
        raise TypeError(f"older_than: {older_than!r}, expected a number of seconds")
    if not 0 <= older_than < math.inf:
        raise ValueError(f"older_than: {older_than}, expected 0 or more seconds")
    names = names_for_executors(files_given("paths", paths))
    destination = Destination(in_place=True, dry_run=flag_given("dry_run", dry_run))
    request = Request("clean_temp", CleanOptions(older_than), destination=destination)
    search = Search(tuple(names), as_folders=True)
    return run_job(spark, request, search, audit=audit_given(audit), progress=progress)


# ------------------------------------------------------------------------------------------------
# On the executors


def sweep(request: Request, folders: Sequence[LakeFile], *_: object) -> Iterator[Outcome]:
    """The outcomes for folders: one for each temporary file that was removed, or is too young for that."""
    for folder in folders:
        for place in [folder.path] if is_url(folder.path) else folders_in(folder.path):
            yield from _cleaned(place, request.options.older_than, request.destination.dry_run)


def _cleaned(folder: str, older_than: float, dry_run: bool) -> Iterator[Outcome]:
    try:
        found = list(leftovers_in(folder, _ANY_AGE))
        journals = list(_journals(folder, older_than))
    except (OSError, ParquetBloomError) as error:
        told = for_executors(complaint_about(folder, error))
        yield Outcome(folder, "error", message=told, error_class=type(error).__name__)
        return
    for left in found:
        if not is_as_old(left.since, older_than):
            yield Outcome(left.path, "unchanged", message=f"younger than {older_than:g} seconds")
            continue
        outcome = attempt(LakeFile(left.path), partial(_removed, left, dry_run))
        if outcome.status != "unchanged":
            yield outcome
    yield from journals


def _journals(folder: str, older_than: float) -> Iterator[Outcome]:
    """Journals are not temporary: each says how a file becomes what it was."""
    if is_url(folder) or not os.path.isdir(folder):
        return
    for name in os.listdir(folder):
        place = os.path.join(folder, name)
        with suppress(FileNotFoundError):
            age = time.time() - os.lstat(place).st_mtime
            if name.endswith(journal.SUFFIX) and age >= older_than:
                what = "the journal of a build that was killed: run `pbloom recover` on its file"
                told = f"{place}: {what}"
                yield Outcome(place, "refused", message=told, error_class=RewriteError.__name__)


def leftovers_in(folder: str, older_than: float) -> Iterator[Leftover]:
    """What is left in a folder, local or behind a URL; nothing if it is not one."""
    # For a glob, the folders of its matches are swept instead.
    if is_url(folder):
        if has_wildcard(folder.partition("?")[0]):
            return iter(())
        return folder_at(folder).leftovers(older_than)
    return leftovers(Path(folder), older_than) if os.path.isdir(folder) else iter(())


def _removed(left: Leftover, dry_run: bool) -> Outcome:
    try:
        if not dry_run:
            left.remove()
    except FileNotFoundError:
        # Another attempt has removed it, or it has become the output.
        return Outcome(left.path, "unchanged")
    return Outcome(left.path, "removed", bytes=-left.size)
