"""pbloom validate"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from parquet_bloom.commands import check_options as check
from parquet_bloom.commands import options as option
from parquet_bloom.commands.inputs import Answers, Inputs, Write
from parquet_bloom.commands.key_options import GivenKeys, arguments_of, key_options
from parquet_bloom.commands.sections import Command, output_option
from parquet_bloom.commands.store_options import stores
from parquet_bloom.program import FINE, NO
from parquet_bloom.vocabulary import FindingsFormat, words

if TYPE_CHECKING:
    from parquet_bloom.render.hints import NextLines
    from parquet_bloom.rules.policy import Policy
    from parquet_bloom.verbs.validate import Failure, ValidationReport


@click.command(cls=Command)
@option.files
@option.columns()
@option.row_groups
@check.checks
@check.ignore_checksums
@output_option(
    "--format",
    "findings_format",
    type=click.Choice(words(FindingsFormat)),
    default="text",
    show_default=True,
    help="github: annotations, as workflow commands.",
)
@option.as_json
@option.answers
@option.verbose
@option.threads
@option.memory
@stores
@key_options
def validate(
    inputs: Inputs, findings_format: FindingsFormat, as_json: bool, policy: Policy,
    columns: tuple[str, ...] | None, keys: GivenKeys, verbose: bool, **given: Any,
) -> None:  # fmt: skip
    """Prove filters right, or say what is wrong with them.

    Checks structure, portability, quality, security, and the truth: every stored value is looked
    up. `pbloom rule` explains each rule. Exit code 1: a finding is at or above --fail-on.

    \b
    Example:
      pbloom validate events.bloom.parquet --require user_id --max-fpp 0.02
    """
    from parquet_bloom.options import ValidateOptions
    from parquet_bloom.render.findings import summarize_validation, total_validated
    from parquet_bloom.render.terminal import progress
    from parquet_bloom.verbs.validate import Failure, validate_file

    if as_json and findings_format not in ("text", "json"):
        raise click.UsageError("expected at most one of --json and --format")
    inputs.check_columns(columns or ())
    options = ValidateOptions(columns=columns, policy=policy, **given)
    output_format: FindingsFormat = "json" if as_json else findings_format
    reports: list[ValidationReport] = []
    failures: list[Failure] = []

    def work(path: str) -> ValidationReport:
        with progress(path) as show, inputs.open(path, keys) as file:
            reports.append(validate_file(file, options, show))
        return reports[-1]

    in_text = output_format == "text"
    answers = Answers(
        inputs,
        _writer(output_format, inputs.next_lines(arguments_of(keys))),
        (summarize_validation, total_validated) if in_text else None,
        as_json=output_format == "json",
        verbose=verbose or not in_text,
    )
    code = answers.each(work, lambda *failed: failures.append(Failure(*failed)))
    _write_all(output_format, reports, failures, policy)
    sys.exit(code or (FINE if all(report.ok for report in reports) else NO))


def _writer(output_format: FindingsFormat, next_lines: NextLines) -> Write:
    """Writes the report on one file, if the format allows it."""
    if output_format == "github":
        from parquet_bloom.render.findings_github import write_github

        return lambda report, verbose: write_github(report)
    if output_format in ("text", "json"):
        from parquet_bloom.render.findings import write_validation

        return partial(write_validation, next_lines=next_lines)
    return lambda report, verbose: None


def _write_all(
    output_format: FindingsFormat,
    reports: list[ValidationReport],
    failures: list[Failure],
    policy: Policy,
) -> None:
    """Write what can only be written once all files are done."""
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
