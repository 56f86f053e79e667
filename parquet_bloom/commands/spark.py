"""pbloom spark"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from functools import wraps
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from parquet_bloom.commands import options as option
from parquet_bloom.commands.ages import age, older_than
from parquet_bloom.commands.build_options import expose_filter_location, filters, orc_streams
from parquet_bloom.commands.check_options import checks, ignore_checksums
from parquet_bloom.commands.key_options import executor_key_options
from parquet_bloom.commands.sections import (
    Command,
    Decorator,
    files_option,
    filters_option,
    output_option,
    spark_option,
    together,
)
from parquet_bloom.commands.spark_tables import build_in_tables, tables_or_files
from parquet_bloom.errors import SparkError
from parquet_bloom.program import FINE, NO, TROUBLE, Ordered

if TYPE_CHECKING:
    from parquet_bloom.options import TableOptions
    from parquet_bloom.spark.outcome import Report


def _time(ctx: click.Context, param: click.Parameter, text: str | None) -> datetime | None:
    """A time, or how long ago it was."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        try:
            return datetime.now(UTC) - age(text)
        except OverflowError:
            raise click.BadParameter(f"{text}: too long ago") from None
    return moment.astimezone(UTC)


def _settings(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    settings = dict(text.partition("=")[::2] for text in texts)
    if not all("=" in text for text in texts) or "" in settings:
        raise click.BadParameter("expected NAME=VALUE")
    return settings


# Which files, and the keys to them.
_inputs = together(
    files_option(
        "--since",
        callback=_time,
        metavar="TIME|AGE",
        help="Only files changed since then: 2026-11-20, 2026-11-20T06:00Z, 2d, 12h.",
    ),
    executor_key_options,
)
_job = together(
    spark_option(
        "--master", metavar="URL", help="Cluster: spark://host:7077, yarn.  [default: local[*]]"
    ),
    spark_option("--remote", metavar="URL", help="Spark Connect server: sc://host:15002."),
    spark_option(
        "--conf",
        multiple=True,
        callback=_settings,
        metavar="NAME=VALUE",
        help="Spark configuration; repeatable.",
    ),
    spark_option(
        "--tasks",
        type=click.IntRange(1),
        metavar="N",
        help="How many tasks run at the same time.  [default: what Spark reports]",
    ),
    output_option(
        "--report", "report_to", metavar="DIR", help="Append the outcomes here, as Parquet."
    ),
    spark_option(
        "--ship", is_flag=True, help="Send this package to executors that do not have it."
    ),
    option.as_json,
)


def _check_pyspark() -> None:
    """Raise SparkError if PySpark is missing."""
    if find_spec("pyspark") is None:
        expected = "expected PySpark: pip install 'parquet-bloom[spark]'"
        raise SparkError(f"No module named 'pyspark': {expected}")


@click.group(cls=Ordered)
def spark() -> None:
    """The same verbs over a lake, on Spark.

    PATH is a file, a folder or a glob, as Spark reads it; several at a time. Parquet and ORC files
    are listed with Spark's credentials, and its executors work on each of them once, in place.

    \b
    Example:
      pbloom spark build /lake/events -c user_id
      pbloom spark validate /lake/events --master spark://host:7077
    """


def _verb(*options: Decorator) -> Decorator:
    """A command that takes these options, besides the ones of every job, and runs the verb of the same
    name; the function itself only describes it."""

    def command_of(described: Any) -> Any:
        @spark.command(cls=Command)
        @option.file_argument("paths", nargs=-1, required=True, metavar="PATH...")
        @together(*options, _job)
        @wraps(described)
        def run(
            master: str | None, remote: str | None, conf: dict[str, str], report_to: str | None,
            ship: bool, as_json: bool, of_table: TableOptions | None = None, **given: Any,
        ) -> None:  # fmt: skip
            from parquet_bloom.render.terminal import progress

            _check_pyspark()
            from parquet_bloom.spark import cleaning, verbs
            from parquet_bloom.spark.progress import shown
            from parquet_bloom.spark.session import session
            from parquet_bloom.spark.shipping import ship as ship_package

            if master is not None and remote is not None:
                raise click.UsageError("expected at most one of --master and --remote")
            name = described.__name__
            verb = cleaning.clean_temp if name == "clean_temp" else getattr(verbs, name)
            with session(master, remote, conf) as connected:
                if ship:
                    ship_package(connected)
                label = click.get_current_context().info_name or ""
                with progress(label) as show, shown(connected, show):
                    if of_table is not None:
                        sys.exit(build_in_tables(connected, of_table, as_json, **given))
                    report = verb(connected, **given)
                _answer(connected, report, report_to, as_json)
            sys.exit(_code(report))

        return run

    return command_of


def _answer(connected: Any, report: Report, report_to: str | None, as_json: bool) -> None:
    from parquet_bloom.render.spark import write_spark
    from parquet_bloom.render.terminal import complain, write_line
    from parquet_bloom.spark.outcome import append_report

    for outcome in report.troubles:
        complain(outcome.message or outcome.path)
    if as_json:
        for line in report.lines():
            write_line(line)
    else:
        write_spark(report)
    if report_to is not None:
        append_report(connected, report, report_to)


def _code(report: Report) -> int:
    """The exit code, as of the local verb."""
    if report.troubles:
        return TROUBLE
    is_no = False
    if report.verb == "validate":
        is_no = not all(each["ok"] for each in report.documents())
    elif report.verb == "probe":
        results = (result for each in report.documents() for result in each["results"])
        is_no = all(result["verdict"] == "absent" for result in results)
    return NO if is_no else FINE


@_verb(option.columns(), option.fpp, option.max_bytes, ignore_checksums, _inputs)
def advise() -> None:
    """Say which columns deserve a filter, and what it would save.

    The files of one task are judged together.
    """


@_verb(
    option.columns(),
    tables_or_files,
    filters,
    filters_option(
        "--only-missing", is_flag=True,
        help="Skip files where each column has a filter in some row group or stripe.",
    ),
    orc_streams,
    expose_filter_location,
    ignore_checksums,
    _inputs,
    option.dry_run,
    option.no_verify,
    option.unconditional,
)  # fmt: skip
def build() -> None:
    """Add Bloom filters to files, in place.

    Existing filters are left as they are, so this can run again at any time.

    With --table, executors append them to the files of tables, each of which then gets one commit by
    this process that records the new sizes. Without --column, the table's properties say for which
    columns.

    \b
    Example:
      pbloom spark build /lake/events -c user_id --since 2d --report /lake/_pbloom
    """


@_verb(option.columns(), _inputs)
def inspect() -> None:
    """Show which columns have filters, and how good they are; --json has the details."""


@_verb(
    option.columns(required=True),
    option.literals,
    option.stored_dialect,
    _inputs,
)
def probe() -> None:
    """Ask the filters whether values can be in files.

    Exit code 1: every value is absent from every file.
    """


@_verb(option.columns(), checks, ignore_checksums, _inputs)
def validate() -> None:
    """Prove filters right, or say what is wrong with them.

    Exit code 1: a finding is at or above --fail-on.
    """


@_verb(option.columns(), _inputs, option.dry_run, option.no_verify, option.unconditional)
def strip() -> None:
    """Remove Bloom filters from files, in place."""


@_verb(older_than)
def clean_temp() -> None:
    """Remove temporary files that killed attempts have left."""
