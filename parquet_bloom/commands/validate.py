"""pbloom validate"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parquet_bloom.commands.options import (
    Inputs,
    check_diagnosable,
    columns_option,
    config_options,
    demand_options,
    files_argument,
    json_option,
    key_options,
    policy_of,
    threads_option,
)
from parquet_bloom.program import FINE, NO

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.rules.catalogue import ValidationReport
    from parquet_bloom.rules.failure import Failure
    from parquet_bloom.rules.policy import Policy


@click.command()
@files_argument
@columns_option()
@demand_options
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "sarif", "junit", "github"]),
    default="text", show_default=True, help="github: annotations, as workflow commands.",
)  # fmt: skip
@json_option
@config_options
@threads_option
@key_options
def validate(
    files: tuple[str, ...], columns: tuple[str, ...], deep: bool, diagnose: bool, form: str,
    as_json: bool, config: Path | None, no_config: bool, threads: int | None, keys: Keys | None,
    **options: Any,
) -> None:  # fmt: skip
    """Prove filters right, or say what is wrong with them.

    Structure, portability, quality, security, and the truth: every stored value is looked up.
    docs/rules.md explains each rule. Exit code 1: a finding is at or above --fail-on.

    \b
    Example:
      pbloom validate events.bloom.parquet --require user_id --max-fpp 0.02
    """
    from parquet_bloom.render.terminal import progress
    from parquet_bloom.rules.failure import Failure
    from parquet_bloom.verbs.validate import validate as validate_file

    check_diagnosable(deep, diagnose)
    if as_json and form not in ("text", "json"):
        raise click.UsageError("expected at most one of --json and --format")
    policy = policy_of(config, no_config).with_options(**options)
    form = "json" if as_json else form
    write = _writer(form)
    reports: list[ValidationReport] = []
    failures: list[Failure] = []

    def work(path: str) -> None:
        with progress(path) as show:
            report = validate_file(
                path, columns=columns or None, deep=deep, diagnose=diagnose, policy=policy,
                threads=threads, keys=keys, progress=show,
            )  # fmt: skip
        reports.append(report)
        write(report)

    def failed(path: str, message: str) -> None:
        failures.append(Failure(path, message))

    code = Inputs(files).each(work, failed)
    _write_all(form, reports, failures, policy)
    sys.exit(code or (FINE if all(report.ok for report in reports) else NO))


def _writer(form: str) -> Callable[[Any], None]:
    """What writes the report of one file."""
    from parquet_bloom.render.findings import write_validation
    from parquet_bloom.render.findings_github import write_github
    from parquet_bloom.render.terminal import write_json

    writers = {"text": write_validation, "json": write_json, "github": write_github}
    return writers.get(form, lambda report: None)


def _write_all(
    form: str, reports: list[ValidationReport], failures: list[Failure], policy: Policy
) -> None:
    """What can be written only when all files are done."""
    if form == "github":
        from parquet_bloom.render.findings_github import write_github_failures

        write_github_failures(failures)
    elif form == "sarif":
        from parquet_bloom.render.findings_sarif import write_sarif

        write_sarif(reports, failures)
    elif form == "junit":
        from parquet_bloom.render.findings_junit import write_junit

        write_junit(reports, failures, policy)
