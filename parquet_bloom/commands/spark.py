"""pbloom spark"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parquet_bloom.commands.options import (
    check_diagnosable,
    column_option,
    columns_option,
    config_options,
    demand_options,
    dry_run_option,
    filter_options,
    fpp_option,
    json_option,
    max_bytes_option,
    no_verify_option,
    policy_of,
    read_as_option,
)
from parquet_bloom.errors import SparkError
from parquet_bloom.program import FINE, NO, TROUBLE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from parquet_bloom.spark.outcome import Report

Job = Callable[["SparkSession"], "Report"]

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_age(ctx: click.Context, param: click.Parameter, text: str | None) -> timedelta | None:
    """`90s`, `30m`, `12h`, `2d`, `1w`."""
    if text is None:
        return None
    matched = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw])", text)
    if matched is None:
        raise click.BadParameter(f"{text}: expected a number and s, m, h, d or w, such as 2d")
    return timedelta(**{_UNITS[matched[2]]: float(matched[1])})


def parse_since(ctx: click.Context, param: click.Parameter, text: str | None) -> datetime | None:
    """A time, or how long ago it was."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        age = parse_age(ctx, param, text)
        return None if age is None else datetime.now(UTC) - age
    return moment.astimezone(UTC)


def _settings(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    settings = dict(text.partition("=")[::2] for text in texts)
    if not all("=" in text for text in texts) or "" in settings:
        raise click.BadParameter("expected NAME=VALUE")
    return settings


paths_argument = click.argument("paths", nargs=-1, required=True, metavar="PATH...")
since_option = click.option(
    "--since", callback=parse_since, metavar="TIME|AGE",
    help="Only files changed since then: 2026-11-20, 2026-11-20T06:00Z, 2d, 12h.",
)  # fmt: skip
keys_option = click.option(
    "--keys", "keys_file", metavar="FILE",
    help="JSON file of keys that the executors can read, for encrypted files.",
)  # fmt: skip


def _on_spark(command: Any) -> Any:
    """The options of every verb; the command gives a Job, which is done, reported and judged."""

    @wraps(command)
    def done(
        master: str | None, remote: str | None, conf: dict[str, str], report_to: str | None,
        ship: bool, as_json: bool, **given: Any,
    ) -> None:  # fmt: skip
        from parquet_bloom.render.spark import write_spark
        from parquet_bloom.render.terminal import complain, progress, write_line

        _check_pyspark()
        from parquet_bloom.spark.outcome import append_report
        from parquet_bloom.spark.progress import shown
        from parquet_bloom.spark.session import session
        from parquet_bloom.spark.shipping import ship as ship_package

        if master is not None and remote is not None:
            raise click.UsageError("expected at most one of --master and --remote")
        job: Job = command(**given)
        with session(master, remote, conf) as spark:
            if ship:
                ship_package(spark)
            with progress(click.get_current_context().info_name or "") as show, shown(spark, show):
                report = job(spark)
            for outcome in report.troubles:
                complain(outcome.message or outcome.path)
            if as_json:
                for outcome in report.outcomes:
                    if outcome.document is not None:
                        write_line(outcome.document)
            else:
                write_spark(report)
            if report_to is not None:
                append_report(spark, report, report_to)
        sys.exit(_code(report))

    for option in (
        json_option,
        click.option(
            "--ship", is_flag=True, help="Send this package to executors that do not have it."
        ),
        click.option(
            "--report", "report_to", metavar="DIR", help="Append the outcomes here, as Parquet."
        ),
        click.option(
            "--tasks", type=click.IntRange(1),
            help="How many run at the same time.  [default: what Spark says]",
        ),
        click.option(
            "--conf", multiple=True, callback=_settings, metavar="NAME=VALUE",
            help="Configuration of Spark (repeatable).",
        ),
        click.option("--remote", metavar="URL", help="Spark Connect server: sc://host:15002."),
        click.option(
            "--master", metavar="URL", help="Cluster: spark://host:7077, yarn.  [default: local[*]]"
        ),
    ):  # fmt: skip
        done = option(done)
    return done


def _check_pyspark() -> None:
    """Raise SparkError if PySpark is missing."""
    if find_spec("pyspark") is None:
        expected = "expected PySpark: pip install 'parquet-bloom[spark]'"
        raise SparkError(f"No module named 'pyspark': {expected}")


def _code(report: Report) -> int:
    """The exit code, as the local verb has it."""
    if report.troubles:
        return TROUBLE
    if report.verb == "validate" and not all(each["ok"] for each in report.documents()):
        return NO
    if report.verb == "probe" and all(map(_is_absent, report.documents())):
        return NO
    return FINE


def _is_absent(document: dict[str, Any]) -> bool:
    return all(result["verdict"] == "absent" for result in document["results"])


@click.group()
def spark() -> None:
    """The verbs over a lake, on Spark.

    PATH is a file, a folder or a glob, as Spark reads it; several at a time. Files, Parquet and ORC,
    are listed with Spark's credentials, and worked on by its executors, each once, in its place.

    \b
    Example:
      pbloom spark build /lake/events -c user_id
      pbloom spark validate /lake/events --master spark://host:7077
    """


@spark.command()
@paths_argument
@columns_option(required=True)
@filter_options
@click.option(
    "--only-missing", is_flag=True,
    help="Leave files alone in which each column has a filter in some row group or stripe.",
)  # fmt: skip
@since_option
@dry_run_option
@no_verify_option
@keys_option
@_on_spark
def build(paths: tuple[str, ...], no_verify: bool, **options: Any) -> Job:
    """Add Bloom filters to files, in their place.

    A file that has them is left as it is, so this can run again at any time.

    \b
    Example:
      pbloom spark build /lake/events -c user_id --since 2d --report /lake/_pbloom
    """
    from parquet_bloom.spark.verbs import build

    return lambda spark: build(spark, paths, verify=not no_verify, **options)


@spark.command()
@paths_argument
@columns_option()
@since_option
@dry_run_option
@no_verify_option
@keys_option
@_on_spark
def strip(paths: tuple[str, ...], columns: tuple[str, ...], no_verify: bool, **options: Any) -> Job:
    """Remove Bloom filters from files, in their place."""
    from parquet_bloom.spark.verbs import strip

    return lambda spark: strip(
        spark, paths, columns=columns or None, verify=not no_verify, **options
    )


@spark.command()
@paths_argument
@columns_option()
@since_option
@keys_option
@_on_spark
def inspect(paths: tuple[str, ...], columns: tuple[str, ...], **options: Any) -> Job:
    """Describe the filters of files; --json for all there is to know."""
    from parquet_bloom.spark.verbs import inspect

    return lambda spark: inspect(spark, paths, columns=columns or None, **options)


@spark.command()
@paths_argument
@columns_option()
@demand_options
@config_options
@since_option
@keys_option
@_on_spark
def validate(
    paths: tuple[str, ...], columns: tuple[str, ...], deep: bool, diagnose: bool,
    config: Path | None, no_config: bool, since: datetime | None, keys_file: str | None,
    tasks: int | None, **demands: Any,
) -> Job:  # fmt: skip
    """Prove filters right, or say what is wrong with them.

    Exit code 1: a finding is at or above --fail-on.
    """
    from parquet_bloom.spark.verbs import validate

    check_diagnosable(deep, diagnose)
    policy = policy_of(config, no_config).with_options(**demands)
    return lambda spark: validate(
        spark, paths, columns=columns or None, deep=deep, diagnose=diagnose, policy=policy,
        since=since, keys_file=keys_file, tasks=tasks,
    )  # fmt: skip


@spark.command()
@paths_argument
@columns_option()
@fpp_option
@max_bytes_option
@since_option
@keys_option
@_on_spark
def advise(paths: tuple[str, ...], columns: tuple[str, ...], **options: Any) -> Job:
    """Say which columns deserve a filter; files of one task are judged together."""
    from parquet_bloom.spark.verbs import advise

    return lambda spark: advise(spark, paths, columns=columns or None, **options)


@spark.command()
@paths_argument
@column_option
@click.option("-v", "--value", "values", multiple=True, required=True, help="Literal.")
@read_as_option
@since_option
@keys_option
@_on_spark
def probe(paths: tuple[str, ...], column: str, values: tuple[str, ...], **options: Any) -> Job:
    """Ask the filters whether values can be in files.

    Exit code 1: every value is absent from every file.
    """
    from parquet_bloom.spark.verbs import probe

    return lambda spark: probe(spark, paths, column, values, **options)


@spark.command("clean-temp")
@paths_argument
@click.option(
    "--older-than", callback=parse_age, default="1h", show_default=True, metavar="AGE",
    help="Only what nobody has written to for so long.",
)  # fmt: skip
@_on_spark
def clean_temp(paths: tuple[str, ...], older_than: timedelta, tasks: int | None) -> Job:
    """Remove temporary files that killed attempts have left."""
    from parquet_bloom.spark.cleaning import clean_temp

    return lambda spark: clean_temp(
        spark, paths, older_than=older_than.total_seconds(), tasks=tasks
    )
