"""The verbs over a lake: each one job, which is over when the function returns."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from parquet_bloom.options import (
    AdviseOptions,
    BuildOptions,
    Destination,
    ProbeOptions,
    Selection,
    ValidateOptions,
)
from parquet_bloom.spark.job import check_tasks, run_job
from parquet_bloom.spark.listing import Paths, list_files, names_of
from parquet_bloom.spark.outcome import Report
from parquet_bloom.spark.request import Request
from parquet_bloom.vocabulary import Existing, LiteralType

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from parquet_bloom.rules.policy import Policy


def build(
    spark: SparkSession,
    paths: Paths,
    *,
    columns: Sequence[str],
    fpp: float | None = None,
    ndv: int | None = None,
    max_bytes: int | None = None,
    exact_blocks: bool = False,
    existing: Existing = "keep",
    force: bool = False,
    verify: bool = True,
    dry_run: bool = False,
    only_missing: bool = False,
    since: datetime | None = None,
    keys_file: str | None = None,
    tasks: int | None = None,
) -> Report:
    """Add filters for `columns` to every file, in its place.

    paths: files, folders and globs, also a DataFrame's `inputFiles()`. only_missing: leave files
    alone in which each column has a filter in some row group or stripe. since: only files that have
    changed since then. tasks: how many can run at the same time. keys_file: for encrypted files, a
    JSON file of keys that the executors can read. The others as of parquet_bloom.build; max_bytes
    and exact_blocks are not supported for ORC files, which are refused where they are given.

    Raises TypeError and ValueError for what cannot be, SparkError if the job fails as a whole. What
    happens to single files is in the report.
    """
    if not columns:
        raise ValueError("columns: none, expected at least one")
    options = BuildOptions(
        columns=_texts("columns", columns),
        fpp=fpp,
        ndv=ndv,
        max_bytes=max_bytes,
        exact_blocks=exact_blocks,
        existing=existing,
        force=force,
        threads=1,
    )
    request = Request(
        verb="build",
        options=options,
        keys_file=keys_file,
        destination=Destination(in_place=True, dry_run=dry_run, verify=verify),
        only_missing=only_missing,
    )
    return _report(spark, paths, request, tasks, since)


def strip(
    spark: SparkSession,
    paths: Paths,
    *,
    columns: Sequence[str] | None = None,
    verify: bool = True,
    dry_run: bool = False,
    since: datetime | None = None,
    keys_file: str | None = None,
    tasks: int | None = None,
) -> Report:
    """Remove the filters of `columns` (default: all) from every file, in its place. See build."""
    request = Request(
        verb="strip",
        options=Selection(columns=_texts("columns", columns)),
        keys_file=keys_file,
        destination=Destination(in_place=True, dry_run=dry_run, verify=verify),
    )
    return _report(spark, paths, request, tasks, since)


def inspect(
    spark: SparkSession,
    paths: Paths,
    *,
    columns: Sequence[str] | None = None,
    since: datetime | None = None,
    keys_file: str | None = None,
    tasks: int | None = None,
) -> Report:
    """Describe the filters of every file. See build, and spark.read.format("bloom") for more."""
    options = Selection(columns=_texts("columns", columns))
    request = Request(verb="inspect", options=options, keys_file=keys_file)
    return _report(spark, paths, request, tasks, since)


def validate(
    spark: SparkSession,
    paths: Paths,
    *,
    columns: Sequence[str] | None = None,
    deep: bool = True,
    diagnose: bool = False,
    policy: Policy | None = None,
    since: datetime | None = None,
    keys_file: str | None = None,
    tasks: int | None = None,
) -> Report:
    """Check the filters of every file. See build, and parquet_bloom.validate."""
    options = ValidateOptions(
        columns=_texts("columns", columns), deep=deep, diagnose=diagnose, policy=policy, threads=1
    )
    request = Request(verb="validate", options=options, keys_file=keys_file)
    return _report(spark, paths, request, tasks, since)


def probe(
    spark: SparkSession,
    paths: Paths,
    column: str,
    values: Sequence[str],
    *,
    read_as: LiteralType | None = None,
    since: datetime | None = None,
    keys_file: str | None = None,
    tasks: int | None = None,
) -> Report:
    """Ask the filters of every file for literals, as they are written on the command line. See
    build, and parquet_bloom.probe."""
    literals = _texts("values", values)
    if not literals:
        raise ValueError("values: none, expected at least one")
    options = ProbeOptions(column=column, values=literals, read_as=read_as)
    request = Request(verb="probe", options=options, keys_file=keys_file)
    return _report(spark, paths, request, tasks, since)


def advise(
    spark: SparkSession,
    paths: Paths,
    *,
    columns: Sequence[str] | None = None,
    fpp: float | None = None,
    max_bytes: int | None = None,
    since: datetime | None = None,
    keys_file: str | None = None,
    tasks: int | None = None,
) -> Report:
    """Which columns deserve filters; the files of one task are judged together. See build."""
    options = AdviseOptions(
        columns=_texts("columns", columns), fpp=fpp, max_bytes=max_bytes, threads=1
    )
    request = Request(verb="advise", options=options, keys_file=keys_file)
    return _report(spark, paths, request, tasks, since)


def _texts(name: str, texts: Sequence[str] | None) -> tuple[str, ...] | None:
    """The texts that `name` is; one by itself would be taken letter by letter."""
    if isinstance(texts, str):
        raise TypeError(f"{name}: a string, expected a list: [{texts!r}]")
    if texts is not None and not all(isinstance(text, str) for text in texts):
        raise TypeError(f"{name}: {list(texts)!r}, expected strings")
    return None if texts is None else tuple(texts)


def _report(
    spark: SparkSession,
    paths: Paths,
    request: Request,
    tasks: int | None,
    since: datetime | None,
) -> Report:
    check_tasks(tasks)
    if since is not None and not isinstance(since, datetime):
        raise TypeError(f"since: {since!r}, expected a datetime")
    started_at = datetime.now(UTC)
    files, nothing = list_files(spark, names_of(paths))
    # A time without a zone is local.
    start = None if since is None else since.astimezone(UTC)
    wanted = [file for file in files if start is None or file.modified >= start]
    outcomes = run_job(spark, wanted, request, tasks)
    return Report.of(request.verb, outcomes, nothing, started_at)
