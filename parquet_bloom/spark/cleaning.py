"""Temporary files left by killed attempts: found and removed on the executors."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from parquet_bloom.arguments import paths_given
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import ParquetBloomError, complaint_about
from parquet_bloom.spark.job import check_tasks, run_job
from parquet_bloom.spark.listing import (
    LakeFile,
    Paths,
    list_files,
    located,
    opened_by_executors,
)
from parquet_bloom.spark.outcome import Outcome, Report
from parquet_bloom.spark.request import Request
from parquet_bloom.spark.schemas import OUTCOME, Batches, RowFields, giving, paths_in
from parquet_bloom.spark.worker import attempt
from parquet_bloom.storage import folder_at, journal
from parquet_bloom.storage.source import has_wildcard, is_url
from parquet_bloom.storage.temporary_files import Leftover, folders_in, leftovers


@dataclass(frozen=True, slots=True)
class CleanOptions:
    """How old leftovers must be, in seconds, and the folders that are swept with all those below."""

    older_than: float
    deep: frozenset[str]


def clean_temp(
    spark: SparkSession, paths: Paths, *, older_than: float = 3600.0, tasks: int | None = None
) -> Report:
    """Remove what killed attempts left beside the files of `paths`, and in those of `paths` that are
    folders: temporary files not written to for `older_than` seconds. Local folders are swept with
    all folders below them, hidden ones too; links are not followed. The journals of local builds that
    were killed are only named, as refused: `pbloom recover` is for them.

    Raises TypeError or ValueError for an age that cannot be, SparkError as build does.
    """
    check_tasks(tasks)
    if isinstance(older_than, bool) or not isinstance(older_than, int | float):
        raise TypeError(f"older_than: {older_than!r}, expected a number of seconds")
    if not 0 <= older_than < math.inf:
        raise ValueError(f"older_than: {older_than}, expected 0 or more seconds")
    started_at = datetime.now(UTC)
    names = paths_given("paths", paths)
    files, nothing = list_files(spark, names)
    globs = [name for name in nothing if not name or has_wildcard(name)]
    listed = {file.path for file in files}
    named = {_real(_folder(name)) for name in names if not has_wildcard(name) and name} - listed
    deep = {path for path in named if path.startswith("/")}
    folders = named | {_real(os.path.dirname(path)) for path in listed}
    work = [
        LakeFile(folder, 0, started_at)
        for folder in sorted(folders)
        if deep.isdisjoint(map(str, Path(folder).parents))
    ]
    request = Request("clean_temp", CleanOptions(older_than, frozenset(deep)))
    outcomes = run_job(spark, work, request, tasks)
    return Report.of("clean-temp", outcomes, globs, started_at)


def _folder(name: str) -> str:
    """The folder that executors sweep for a name."""
    place = located(name)
    return place if place.startswith("/") else opened_by_executors(name).rstrip("/")


def _real(path: str) -> str:
    """A local path without links, so that each folder is swept once."""
    return os.path.realpath(path) if path.startswith("/") else path


# ------------------------------------------------------------------------------------------------
# On the executors


@giving(OUTCOME)
def sweep(request: Request, batches: Batches) -> Iterator[RowFields]:
    """Rows of WORK, each a folder, to rows of OUTCOME, each a temporary file that was removed."""
    for folder in paths_in(batches):
        is_deep = folder in request.options.deep and not is_url(folder)
        for place in folders_in(folder) if is_deep else [folder]:
            yield from map(asdict, _cleaned(place, request.options.older_than))
        if is_deep and not os.path.lexists(folder):
            missing = Outcome(folder, "error", message=f"{folder}: no such file or folder")
            yield asdict(missing)


def _cleaned(folder: str, older_than: float) -> Iterator[Outcome]:
    try:
        found = list(_leftovers(folder, older_than))
        journals = list(_journals(folder, older_than))
    except (OSError, ParquetBloomError) as error:
        yield Outcome(folder, "error", message=complaint_about(folder, error))
        return
    for left in found:
        outcome = attempt(left.path, partial(_removed, left))
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
                yield Outcome(place, "refused", message=f"{place}: {what}")


def _leftovers(folder: str, older_than: float) -> Iterator[Leftover]:
    """What is left in a folder; nothing if it is not one."""
    # For a glob, the folders of its matches are swept instead.
    if is_url(folder):
        if has_wildcard(folder.partition("?")[0]):
            return iter(())
        return folder_at(folder).leftovers(older_than)
    return leftovers(Path(folder), older_than) if os.path.isdir(folder) else iter(())


def _removed(left: Leftover) -> Outcome:
    try:
        left.remove()
    except FileNotFoundError:
        # Another attempt has removed it, or it has become the output.
        return Outcome(left.path, "unchanged")
    return Outcome(left.path, "removed", bytes=-left.size)
