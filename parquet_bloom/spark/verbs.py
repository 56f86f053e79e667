"""The verbs over a lake: each is one job, done when the function returns."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from pyspark.sql import SparkSession

from parquet_bloom.arguments import (
    PATH_OR_URL,
    SomeNames,
    columns_needed,
    files_given,
    flag_given,
    number_if_given,
    path_given,
)
from parquet_bloom.encryption.keys_file import KeyReferences
from parquet_bloom.engines.reading import engines_named
from parquet_bloom.options import (
    FILES_PER_COMMIT,
    AdviseOptions,
    BuildOptions,
    Destination,
    InspectOptions,
    ProbeOptions,
    StripOptions,
    TableOptions,
    ValidateOptions,
    engines_given,
    values_given,
)
from parquet_bloom.parallel import Progress
from parquet_bloom.rules.policy import Policy, policy_given
from parquet_bloom.spark.job import audit_given, run_id_given, run_job
from parquet_bloom.spark.listing import Paths, names_for_executors
from parquet_bloom.spark.manifests import GivenManifest, manifest_named
from parquet_bloom.spark.outcome import READING, Report
from parquet_bloom.spark.plan import BOUNDS
from parquet_bloom.spark.planning import Search
from parquet_bloom.spark.request import Request
from parquet_bloom.spark.tables import build_on_spark
from parquet_bloom.spark.versions import is_frame, session_given
from parquet_bloom.tables.table import MIN_FILE_SIZE
from parquet_bloom.values.given import show_values
from parquet_bloom.verbs.build_table import TableBuildReport
from parquet_bloom.verbs.table_folders import warn_of_tables
from parquet_bloom.verbs.table_runner import least_size_given
from parquet_bloom.vocabulary import Dialect, Existing, FailOn, FileLayout, OrcStreams, TableChoice


def build(
    spark: SparkSession,
    paths: Paths | None = None,
    *,
    columns: SomeNames | None = None,
    advice: Report | None = None,
    fpp: float | None = None,
    ndv: int | None = None,
    max_bytes: int | None = None,
    exact_blocks: bool = False,
    existing: Existing = "keep",
    force: bool = False,
    expose_filter_location: bool = False,
    orc_streams: OrcStreams | None = None,
    layout: FileLayout | None = None,
    union_by_name: bool = False,
    verify: bool = True,
    unconditional: bool = False,
    dry_run: bool = False,
    only_missing: bool = False,
    ignore_checksums: bool = False,
    manifest: str | os.PathLike[str] | None = None,
    since: datetime | None = None,
    keys_file: str | None = None,
    keys: Mapping[str, object] | None = None,
    max_files: int | None = None,
    max_input: int | None = None,
    audit: str | None = None,
    run_id: str | None = None,
    progress: Progress | None = None,
) -> Report:
    """Add filters for `columns` to every file, in place, or for those that `advice` recommends, which is
    what `advise` said of the same files, perhaps within a budget; files of no table that it judged are
    skipped.

    paths: files, folders and globs, also a DataFrame's `inputFiles()`. manifest: instead, a file that lists
    the files, as for `pbloom --manifest`, local or behind a URL; executors read it, and no folder is listed.
    union_by_name: files may lack columns, which are null there, if one of them has them; executors look for one
    first, and ColumnError says that there is none. only_missing: leave files alone in which each column has a filter
    in some row group or stripe. since: only files changed since then. max_files, max_input: only the first so many
    files, or as many as have so many bytes, for a trial. keys_file: for encrypted files, a JSON file of keys that the
    executors can read. The others as for parquet_bloom.build; with max_bytes or exact_blocks, which are not supported
    for ORC files, these are refused.

    audit: a folder, local or behind a URL, in which executors keep their account of the run, also if
    the driver dies; a Parquet file for each task, to which later runs add theirs. With it, files that an
    earlier run with the same arguments left as they are to be are not opened again. run_id: of this run,
    such as that of a scheduler; one that died is continued under its id. Without `audit`, the account
    is in a temporary folder, on a cluster in the folder of the first of `paths`.

    progress: called with (bytes of files done, bytes in all) as tasks end, from other threads, too; with (0, 0)
    while files are listed, and with no bytes done until the end if Spark does not tell how far it is.

    Raises TypeError and ValueError for arguments that cannot be, ConfigError and EncryptionError for
    `keys` that cannot be, or that are secrets, FileNotFoundError if no name stands for a file, SparkError if the job
    fails as a whole. What happens to single files, also to all of them, and that one name among others stands for
    none, is in the report; where parquet_bloom.build raises, `ok` is false, and `summary` has the reasons.
    """
    given = locals()
    if advice is None:
        options = BuildOptions.of(given, columns=columns_needed(columns), threads=1)
    elif columns is not None or not isinstance(advice, Report):
        raise TypeError(f"advice: {advice!r}, expected what advise returned, without columns")
    elif flag_given("union_by_name", union_by_name):
        raise TypeError(
            "union_by_name: expected columns, not advice, which is on those of each file"
        )
    else:
        options = BuildOptions.of(given, columns=(), threads=1)
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
    since: datetime | int | str | None = None,
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
    set_properties: bool = False,
    dry_run: bool = False,
    verify: bool = True,
    unconditional: bool = False,
    ignore_checksums: bool = False,
    keys_file: str | None = None,
    keys: Mapping[str, object] | None = None,
    progress: Progress | None = None,
) -> TableBuildReport:
    """Add filters for `columns` to the live files of a table, in place, and record their new sizes:
    what parquet_bloom.build_table does, with its report, in one job for each commit. The table is read
    and committed to here, with the credentials of this process; executors append to its files with
    theirs. `table`: its folder, or a URL as Spark has it; in a catalog, its identifier. `keys_file` and
    `keys` as for build. progress: as there, of the files of each commit in turn.

    Raises what parquet_bloom.build_table raises, and SparkError if the first job fails as a whole; then
    nothing is committed. If a later one does, that is what the files that are left have failed of.
    """
    given = locals()
    options = BuildOptions.of(given, threads=1)
    of_table = TableOptions.of(given, min_file_size=least_size_given(min_file_size))
    references = KeyReferences.of(keys, keys_file)
    place = path_given("table", table, PATH_OR_URL) if catalog is None else os.fspath(table)
    return build_on_spark(spark, place, options, of_table, keys=references, progress=progress)


def strip(
    spark: SparkSession,
    paths: Paths | None = None,
    *,
    columns: SomeNames | None = None,
    union_by_name: bool = False,
    verify: bool = True,
    unconditional: bool = False,
    dry_run: bool = False,
    manifest: str | os.PathLike[str] | None = None,
    since: datetime | None = None,
    keys_file: str | None = None,
    keys: Mapping[str, object] | None = None,
    max_files: int | None = None,
    max_input: int | None = None,
    audit: str | None = None,
    run_id: str | None = None,
    progress: Progress | None = None,
) -> Report:
    """Remove the filters of `columns` (default: all) from every file, in place. See build."""
    given = locals()
    return _report("strip", StripOptions.of(given), given)


def inspect(
    spark: SparkSession,
    paths: Paths | None = None,
    *,
    columns: SomeNames | None = None,
    manifest: str | os.PathLike[str] | None = None,
    since: datetime | None = None,
    keys_file: str | None = None,
    keys: Mapping[str, object] | None = None,
    max_files: int | None = None,
    max_input: int | None = None,
    audit: str | None = None,
    run_id: str | None = None,
    progress: Progress | None = None,
) -> Report:
    """Describe the filters of every file. See build, and spark.read.format("bloom") for more."""
    given = locals()
    return _report("inspect", InspectOptions.of(given, threads=1), given)


def validate(
    spark: SparkSession,
    paths: Paths | None = None,
    *,
    columns: SomeNames | None = None,
    deep: bool = True,
    diagnose: bool = False,
    union_by_name: bool = False,
    policy: Policy | None = None,
    require: SomeNames = (),
    max_fpp: float | None = None,
    max_bytes: int | None = None,
    fail_on: FailOn | None = None,
    ignore: SomeNames = (),
    no_values: bool = False,
    ignore_checksums: bool = False,
    manifest: str | os.PathLike[str] | None = None,
    since: datetime | None = None,
    keys_file: str | None = None,
    keys: Mapping[str, object] | None = None,
    max_files: int | None = None,
    max_input: int | None = None,
    audit: str | None = None,
    run_id: str | None = None,
    progress: Progress | None = None,
) -> Report:
    """Check the filters of every file. policy, and what extends it: as for parquet_bloom.validate. `ok` of the report
    says whether all files are right, `ok` of an outcome whether its file is. See build, and
    parquet_bloom.validate."""
    given = locals()
    required = policy_given(policy).with_options(
        require=require, max_fpp=max_fpp, max_bytes=max_bytes, fail_on=fail_on, ignore=ignore,
        no_values=no_values,
    )  # fmt: skip
    options = ValidateOptions.of(given, policy=required, threads=1)
    return _report("validate", options, given)


def probe(
    spark: SparkSession,
    paths: Paths | None,
    columns: SomeNames,
    values: object,
    *,
    dialect: Dialect | None = None,
    seed: int | None = None,
    union_by_name: bool = False,
    manifest: str | os.PathLike[str] | None = None,
    since: datetime | None = None,
    keys_file: str | None = None,
    keys: Mapping[str, object] | None = None,
    max_files: int | None = None,
    max_input: int | None = None,
    audit: str | None = None,
    run_id: str | None = None,
    progress: Progress | None = None,
) -> Report:
    """Ask the filters of each of `columns` in every file about the same values, given as for
    parquet_bloom.probe. An outcome's `document` has a line for each column; of more than 100 values, it has the
    `results` of those that are not like most, and in `num_absent` how many the file has not, or in `others` what is
    said of all others, which are unknown. `asked` of the report: all of them. See build."""
    given = locals()
    if is_frame(values):
        raise TypeError(
            "values: a DataFrame of Spark, expected values, such as those of a column of its toPandas(); an index "
            "tells of the values of a DataFrame, see files_for"
        )
    # As a tuple, they are encoded once for all files of a task.
    asked = tuple(values_given(values))
    if not asked:
        raise ValueError("values: none, expected at least one")
    options = tuple(
        ProbeOptions.of(given, column=name, values=asked, threads=1)
        for name in dict.fromkeys(columns_needed(columns))
    )
    return replace(_report("probe", options, given), asked=tuple(show_values(asked)))


def advise(
    spark: SparkSession,
    paths: Paths | None = None,
    *,
    columns: SomeNames | None = None,
    engines: SomeNames = (),
    fpp: float | None = None,
    max_bytes: int | None = None,
    budget: int | str | None = None,
    existing: Existing = "keep",
    policy: Policy | None = None,
    ignore_checksums: bool = False,
    manifest: str | os.PathLike[str] | None = None,
    since: datetime | None = None,
    keys_file: str | None = None,
    keys: Mapping[str, object] | None = None,
    max_files: int | None = None,
    max_input: int | None = None,
    audit: str | None = None,
    run_id: str | None = None,
    progress: Progress | None = None,
) -> Report:
    """Say which columns deserve filters; all files with the same columns are judged together, as one
    table, whose report is in `documents()`. engines: judge for these alone, such as Spark; for all by default.
    budget: bytes that the filters of all tables may take, or a share of those of all files, such as "1%"; existing:
    what build will do with filters that are there, which a budget pays for if they stay. policy: as for
    parquet_bloom.advise. See build."""
    given = locals()
    named = engines_named(engines_given(engines))
    options = AdviseOptions.of(given, engines=named, threads=1, **policy_given(policy).for_advice())
    return _report("advise", options, given)


def _report(verb: str, options: object, given: Mapping[str, Any]) -> Report:
    """Do a verb with every file. `given`: the arguments of its function, by name."""
    paths, manifest = given["paths"], given["manifest"]
    if (paths is None) == (manifest is None):
        # Files stand in the place of a session that was forgotten.
        session_given(given["spark"])
        raise TypeError("paths, manifest: expected one of them")
    request = Request(
        verb,
        options,
        KeyReferences.of(given["keys"], given["keys_file"]),
        Destination.of(given, in_place=True),
        given.get("only_missing", False),
        *_advised(given.get("advice")),
    )
    since, audit = given["since"], audit_given(given["audit"])
    run_id = run_id_given(given["run_id"], audit)
    if since is not None and not isinstance(since, datetime):
        raise TypeError(f"since: {since!r}, expected a datetime")
    names = () if paths is None else files_given("paths", paths)
    if verb in READING:
        warn_of_tables(
            names,
            f'parquet_bloom.{verb} with table="{{}}", or here a manifest of them,',
            besides="",
        )
    search = Search(
        names=tuple(names_for_executors(names)),
        manifest=_manifest(manifest),
        # A time without a zone is local.
        since=None if since is None else since.timestamp(),
        most_files=_positive("max_files", given["max_files"]),
        most_bytes=_positive("max_input", given["max_input"]),
        bounds=BOUNDS,
        skips_complete=audit is not None and request.leaves_alone_what_is_done,
    )
    return run_job(
        given["spark"], request, search, audit=audit, run_id=run_id, progress=given["progress"]
    )


def _manifest(manifest: object) -> GivenManifest | None:
    if manifest is None:
        return None
    return manifest_named(path_given("manifest", manifest, PATH_OR_URL))


def _advised(advice: Report | None) -> tuple[Any, ...]:
    """What a request says of it."""
    if advice is None:
        return ()
    judged = advice.advice[0].judged if advice.advice else None
    return {each.key: each.columns for each in advice.advice}, judged


def _positive(argument: str, number: int | None) -> int | None:
    """Raises TypeError, ValueError for anything but a positive number or None."""
    if (number := number_if_given(argument, number)) is not None and number < 1:
        raise ValueError(f"{argument}: {number}, expected 1 or more")
    return number
