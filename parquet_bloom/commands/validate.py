"""pbloom validate"""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import click

from parquet_bloom.commands import file_options
from parquet_bloom.commands import options as option
from parquet_bloom.commands.check_options import checks, tell_unchecked
from parquet_bloom.commands.inputs import Answers
from parquet_bloom.commands.key_options import arguments_of
from parquet_bloom.commands.sections import Command, checks_option, output_option
from parquet_bloom.errors import did_you_mean, quoted_name
from parquet_bloom.options import ValidateOptions
from parquet_bloom.program import FINE, NO
from parquet_bloom.render.findings import ValidationView
from parquet_bloom.render.hints import BY_NAME
from parquet_bloom.render.reports import ReportView
from parquet_bloom.render.terminal import complain, progress, write_bytes, write_json
from parquet_bloom.render.wording import asked_for, shortened
from parquet_bloom.rules.policy import Policy
from parquet_bloom.verbs.several import Failure
from parquet_bloom.verbs.validate import ValidationReport, required_besides, validate_file
from parquet_bloom.vocabulary import FindingsFormat, words

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys


@click.command(cls=Command)
@file_options.files
@option.columns()
@option.row_groups
@file_options.union_by_name
@checks
@checks_option(
    "--pages",
    is_flag=True,
    help="Decode every page of Parquet files, and compare counts, statistics, sizes and places; read all values of"
    " ORC files, of columns without filters, too, and compare them with the statistics.",
)
@option.ignore_checksums
@output_option(
    "--format",
    "findings_format",
    type=click.Choice(words(FindingsFormat)),
    default="text",
    show_default=True,
    help="github writes annotations for GitHub Actions; with --fail-on never, failures in junit are those without"
    " it.",
)
@option.answered()
@option.quiet
@option.threads
@option.access
def validate(
    answers: Answers, findings_format: FindingsFormat, policy: Policy, require: tuple[str, ...], quiet: bool,
    columns: tuple[str, ...] | None, keys: Keys | None, **given: Any,
) -> None:  # fmt: skip
    """Prove filters right, or say what is wrong with them.

    Checks structure, portability, quality, security, and the truth: every stored value is looked
    up. `pbloom rule` explains each rule. Exit code 1: a finding is at or above --fail-on. Requirements are also taken
    from a pbloom.toml, or pyproject.toml, in the working folder or the nearest above; --no-config leaves it out.

    \b
    Examples:
      pbloom validate events.bloom.parquet --require user_id --max-fpp 0.02
      pbloom validate lake/ --no-deep
      pbloom validate events.parquet --pages
      pbloom validate lake/ --format sarif -o findings.sarif
    """
    if answers.as_json and findings_format not in ("text", "json"):
        raise click.UsageError("expected at most one of --json and --format")
    option.check_quiet(
        quiet,
        {
            "--json": answers.as_json,
            "--verbose": answers.verbose,
            "--format": findings_format != "text",
        },
    )
    inputs = answers.inputs
    inputs.check_columns(columns or ())
    options = ValidateOptions(columns=columns, policy=policy, require=require, **given)
    checked = None if columns is None else (*columns, *require)
    if options.union_by_name:
        inputs.check_some_have((*(columns or ()), *options.required), keys)
    reports: list[ValidationReport] = []
    failures: list[Failure] = []
    there: set[str] = set()
    lacking: set[str] = set()
    unchecked: dict[str, None] = {}

    def work(path: str) -> ValidationReport:
        with progress(path) as show, inputs.open(path, keys) as file:
            # A page of `report` has the advice on all of them itself.
            file.stand_for(inputs.in_commands(path))
            there.update(file.columns, filter(file.lacks, policy.columns))
            there.update(policy.called_otherwise(file))
            if not options.union_by_name:
                lacking.update(filter(file.is_without, options.required))
            reports.append(validate_file(file, options, show))
            unchecked.update(dict.fromkeys(required_besides(file, options)))
        return reports[-1]

    next_lines = inputs.next_lines((*arguments_of(keys), *policy.arguments))
    view: ReportView[ValidationReport] = ValidationView(
        next_lines, checked, options.parts, policy.no_values
    )
    if findings_format == "json":
        answers = Answers(inputs, as_json=True, verbose=False)
    elif findings_format != "text":
        from parquet_bloom.render.findings_for_ci import NoView

        answers = Answers(inputs, as_json=False, verbose=True)
        view = NoView()
    elif quiet:
        answers = Answers(inputs, as_json=False, verbose=False, quiet=True)
    code = answers.each(work, view, lambda *failed: failures.append(Failure(*failed)))
    extent = asked_for(checked, options.parts)
    _write_all(findings_format, reports, failures, policy, inputs.read_names, extent)
    _tell_unheeded(policy, there)
    tell_unchecked([*unchecked])
    if not lacking.isdisjoint(there):
        complain(BY_NAME)
    else:
        inputs.tell_lacking(options.union_by_name)
    sys.exit(code or (FINE if all(report.ok for report in reports) else NO))


def _tell_unheeded(policy: Policy, there: Collection[str]) -> None:
    """Say which settings are for columns that are not in any file; `there`: those of all that could be read."""
    others = []
    for name in policy.columns_besides(there) if there else ():
        if hint := did_you_mean(name, there):
            complain(f"policy: column {quoted_name(name)}: no file has it{hint}")
        else:
            others.append(quoted_name(name))
    if others:
        columns = f"column{'s' * (len(others) > 1)} {shortened(others)}"
        complain(f"policy: {columns}: in no file; require = false for what may be missing")


def _write_all(
    findings_format: FindingsFormat,
    reports: list[ValidationReport],
    failures: list[Failure],
    policy: Policy,
    names: Sequence[str],
    there: str,
) -> None:
    """Write what can only be written once all files are done. `names`: what means those that could be read; `there`:
    what was asked for of them."""
    if findings_format in ("text", "json"):
        return
    from parquet_bloom.render.findings_for_ci import junit_xml, sarif_log, write_github

    if findings_format == "github":
        write_github(reports, failures, names, there)
    elif findings_format == "sarif":
        write_json(sarif_log(reports, failures))
    else:
        write_bytes(junit_xml(reports, failures, policy))
