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
from parquet_bloom.vocabulary import FindingsFormat, words

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.rules.policy import Policy
    from parquet_bloom.verbs.validate import Failure, ValidationReport


@click.command()
@files_argument
@columns_option()
@demand_options
@click.option(
    "--format", "findings_format", type=click.Choice(words(FindingsFormat)), default="text",
    show_default=True, help="github: annotations, as workflow commands.",
)  # fmt: skip
@json_option
@config_options
@threads_option
@key_options
def validate(
    files: tuple[str, ...], columns: tuple[str, ...], deep: bool, diagnose: bool,
    findings_format: FindingsFormat, as_json: bool, config: Path | None, no_config: bool,
    threads: int | None, keys: Keys | None, **demands: Any,
) -> None:  # fmt: skip
    """Prove filters right, or say what is wrong with them.

    Structure, portability, quality, security, and the truth: every stored value is looked up.
    `pbloom rule` explains each rule. Exit code 1: a finding is at or above --fail-on.

    \b
    Example:
      pbloom validate events.bloom.parquet --require user_id --max-fpp 0.02
    """
    from parquet_bloom.files import open as open_file
    from parquet_bloom.options import ValidateOptions
    from parquet_bloom.render.terminal import progress
    from parquet_bloom.verbs.validate import Failure, validate_file

    check_diagnosable(deep, diagnose)
    if as_json and findings_format not in ("text", "json"):
        raise click.UsageError("expected at most one of --json and --format")
    options = ValidateOptions(
        columns=columns or None,
        deep=deep,
        diagnose=diagnose,
        policy=policy_of(config, no_config).with_options(**demands),
        threads=threads,
    )
    output_format: FindingsFormat = "json" if as_json else findings_format
    write = _writer(output_format)
    reports: list[ValidationReport] = []
    failures: list[Failure] = []

    def work(path: str) -> None:
        with progress(path) as show, open_file(path, keys) as file:
            report = validate_file(file, options, show)
        reports.append(report)
        write(report)

    def failed(path: str, message: str) -> None:
        failures.append(Failure(path, message))

    code = Inputs(files).each(work, failed)
    _write_all(output_format, reports, failures, options.policy)
    sys.exit(code or (FINE if all(report.ok for report in reports) else NO))


def _writer(output_format: FindingsFormat) -> Callable[[Any], None]:
    """What writes the report of one file."""
    from parquet_bloom.render.findings import write_validation
    from parquet_bloom.render.findings_github import write_github
    from parquet_bloom.render.terminal import write_json
    from parquet_bloom.verbs.documents import document_of

    writers: dict[FindingsFormat, Callable[[Any], None]] = {
        "text": write_validation,
        "json": lambda report: write_json(document_of(report)),
        "github": write_github,
    }
    return writers.get(output_format, lambda report: None)


def _write_all(
    output_format: FindingsFormat,
    reports: list[ValidationReport],
    failures: list[Failure],
    policy: Policy,
) -> None:
    """What can be written only when all files are done."""
    from parquet_bloom.render.terminal import write_bytes, write_json

    if output_format == "github":
        from parquet_bloom.render.findings_github import write_github_failures

        write_github_failures(failures)
    elif output_format == "sarif":
        from parquet_bloom.render.findings_sarif import sarif_log

        write_json(sarif_log(reports, failures))
    elif output_format == "junit":
        from parquet_bloom.render.findings_junit import junit_xml

        write_bytes(junit_xml(reports, failures, policy))
