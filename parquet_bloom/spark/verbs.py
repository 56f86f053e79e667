"""The verbs over a lake: each is one job, done when the function returns."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import SparkSession

from parquet_bloom.arguments import (
    PATH_OR_URL,
    SomeNames,
    columns_needed,
    flag_given,
    path_given,
    paths_given,
)
from parquet_bloom.encryption.keys_file import KeyReferences
from parquet_bloom.options import (
    FILES_PER_COMMIT,
    AdviseOptions,
    BuildOptions,
    Destination,
    InspectOptions,
    ProbeOptions,
    Selection,
    TableOptions,
    ValidateOptions,
    values_given,
)
from parquet_bloom.rules.policy import Policy, policy_given
from parquet_bloom.spark.job import check_tasks, run_job
from parquet_bloom.spark.listing import Paths, list_files
from parquet_bloom.spark.outcome import Report
from parquet_bloom.spark.request import Request
from parquet_bloom.spark.tables import build_on_spark
from parquet_bloom.tables.table import MIN_FILE_SIZE
from parquet_bloom.verbs.build_table import TableBuildReport
from parquet_bloom.verbs.table_runner import least_size_given
from parquet_bloom.vocabulary import Dialect, Existing, FileLayout, OrcStreams, TableChoice


def build(
    spark: SparkSession,
    paths: Paths,
    *,
    columns: SomeNames,
    fpp: float | None = None,
    ndv: int | None = None,
    max_bytes: int | None = None,
    exact_blocks: bool = False,
    existing: Existing = "keep",
    force: bool = False,
    expose_filter_location: bool = False,
    orc_streams: OrcStreams | None = None,
    layout: FileLayout | None = None,
    verify: bool = True,
    unconditional: bool = False,
    dry_run: bool = False,
    only_missing: bool = False,
    ignore_checksums: bool = False,
    since: datetime | None = None,
    keys_file: str | None = None,
    keys: Mapping[str, object] | None = None,
    tasks: int | None = None,
) -> Report:
    """Add filters for `columns` to every file, in place.

    paths: files, folders and globs, also a DataFrame's `inputFiles()`. only_missing: leave files
    alone in which each column has a filter in some row group or stripe. since: only files changed
    since then. tasks: how many can run at the same time. keys_file: for encrypted files, a JSON
    file of keys that the executors can read. The others as for parquet_bloom.build; with max_bytes
    or exact_blocks, which are not supported for ORC files, these are refused.

    Raises TypeError and ValueError for arguments that cannot be, ConfigError and EncryptionError for
    `keys` that cannot be, or that are secrets, SparkError if the job fails as a whole. What happens to
    single files is in the report.
    """
    given = locals()
    options = BuildOptions.of(given, columns=columns_needed(columns), threads=1)
    flag_given("only_missing", only_missing)
    return _report("build", options, given)


def build_table(
    spark: SparkSession,
    table: str | os.PathLike[str],
    *,
    columns: SomeNames | None = None,
    kind: TableChoice = "auto",
    catalog: str | None = None,
    where: Mapping[str, str | Sequence[str | None] | None] | None = None,
    fpp: float | None = None,
    ndv: int | None = None,
    max_bytes: int | None = None,
    exact_blocks: bool = False,
    existing: Existing = "keep",
    force: bool = False,
    expose_filter_location: bool = False,
    min_file_size: int = MIN_FILE_SIZE,
    files_per_commit: int = FILES_PER_COMMIT,
    commit: bool = True,
    sole_writer: bool = False,
    dry_run: bool = False,
    verify: bool = True,
    unconditional: bool = False,
    ignore_checksums: bool = False,
    keys_file: str | None = None,
    keys: Mapping[str, object] | None = None,
    tasks: int | None = None,
) -> TableBuildReport:
    """Add filters for `columns` to the live files of a table, in place, and record their new sizes:
    what parquet_bloom.build_table does, with its report, in one job for each commit. The table is read
    and committed to here, with the credentials of this process; executors append to its files with
    theirs. `table`: its folder, or a URL as Spark has it; in a catalog, its identifier. `tasks`,
    `keys_file` and `keys` as for build.

    Raises what parquet_bloom.build_table raises, and SparkError if the first job fails as a whole; then
    nothing is committed. If a later one does, that is what the files that are left have failed of.
    """
    given = locals()
    check_tasks(tasks)
    options = BuildOptions.of(given, threads=1)
    of_table = TableOptions.of(given, min_file_size=least_size_given(min_file_size))
    references = KeyReferences.of(keys, keys_file)
    place = path_given("table", table, PATH_OR_URL) if catalog is None else os.fspath(table)
    return build_on_spark(spark, place, options, of_table, keys=references, tasks=tasks)


def strip(
    spark: SparkSession,
    paths: Paths,
    *,
    columns: SomeNames | None = None,
    verify: bool = True,
    unconditional: bool = False,
    dry_run: bool = False,
    since: datetime | None = None,
    keys_file: str | None = None,
    keys: Mapping[str, object] | None = None,
    tasks: int | None = None,
) -> Report:
    """Remove the filters of `columns` (default: all) from every file, in place. See build."""
    given = locals()
    return _report("strip", Selection.of(given), given)


def inspect(
    spark: SparkSession,
    paths: Paths,
    *,
    columns: SomeNames | None = None,
    since: datetime | None = None,
    keys_file: str | None = None,
    keys: Mapping[str, object] | None = None,
    tasks: int | None = None,
) -> Report:
    """Describe the filters of every file. See build, and spark.read.format("bloom") for more."""
    given = locals()
    return _report("inspect", InspectOptions.of(given, threads=1), given)


def validate(
    spark: SparkSession,
    paths: Paths,
    *,
    columns: SomeNames | None = None,
    deep: bool = True,
    diagnose: bool = False,
    policy: Policy | None = None,
    ignore_checksums: bool = False,
    since: datetime | None = None,
    keys_file: str | None = None,
    keys: Mapping[str, object] | None = None,
    tasks: int | None = None,
) -> Report:
    """Check the filters of every file. See build, and parquet_bloom.validate."""
    given = locals()
    options = ValidateOptions.of(given, policy=policy_given(policy), threads=1)
    return _report("validate", options, given)


def probe(
    spark: SparkSession,
    paths: Paths,
    columns: SomeNames,
    values: object,
    *,
    dialect: Dialect | None = None,
    seed: int | None = None,
    since: datetime | None = None,
    keys_file: str | None = None,
    keys: Mapping[str, object] | None = None,
    tasks: int | None = None,
) -> Report:
    """Ask the filters of each of `columns` in every file about the same values, given as for
    parquet_bloom.probe. An outcome's `document` has a line for each column. See build."""
    given = locals()
    asked = list(values_given(values))
    if not asked:
        raise ValueError("values: none, expected at least one")
    options = tuple(
        ProbeOptions.of(given, column=name, values=asked, threads=1)
        for name in dict.fromkeys(columns_needed(columns))
    )
    return _report("probe", options, given)


def advise(
    spark: SparkSession,
    paths: Paths,
    *,
    columns: SomeNames | None = None,
    fpp: float | None = None,
    max_bytes: int | None = None,
    ignore_checksums: bool = False,
    since: datetime | None = None,
    keys_file: str | None = None,
    keys: Mapping[str, object] | None = None,
    tasks: int | None = None,
) -> Report:
    """Say which columns deserve filters; the files of one task are judged together. See build."""
    given = locals()
    return _report("advise", AdviseOptions.of(given, threads=1), given)


def _report(verb: str, options: object, given: Mapping[str, Any]) -> Report:
    """Do a verb with every file. `given`: the arguments of its function, by name."""
    request = Request(
        verb,
        options,
        KeyReferences.of(given["keys"], given["keys_file"]),
        Destination.of(given, in_place=True),
        given.get("only_missing", False),
    )
    spark, since, tasks = given["spark"], given["since"], given["tasks"]
    check_tasks(tasks)
    if since is not None and not isinstance(since, datetime):
        raise TypeError(f"since: {since!r}, expected a datetime")
    started_at = datetime.now(UTC)
    files, nothing = list_files(spark, paths_given("paths", given["paths"]))
    if since is not None:
        # A time without a zone is local.
        start = since.astimezone(UTC)
        files = [file for file in files if file.modified >= start]
    outcomes = run_job(spark, files, request, tasks)
    return Report.of(verb, outcomes, nothing, started_at)
