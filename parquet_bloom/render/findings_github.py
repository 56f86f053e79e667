"""Findings as workflow commands, which GitHub shows beside the files of a pull request.

    ::error file=a.parquet,title=PB111 length-missing::column user_id, row group 0: …

GitHub shows ten of each severity per step, so a rule is one command however often a file breaks it.

Source: https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands and the
escaping of `command.ts` in github.com/actions/toolkit.
"""

from __future__ import annotations

from collections.abc import Sequence

from parquet_bloom.render.findings import FindingGroup, grouped, rule_title, summary
from parquet_bloom.render.terminal import printable, write_line
from parquet_bloom.verbs.validate import Failure, ValidationReport

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}

# More is not read, and a runner takes no message of any length.
MAX_LINES = 20


def github_annotations(report: ValidationReport) -> list[str]:
    """One command for each rule that the file breaks, the most severe first."""
    rules: dict[tuple[str, str], list[FindingGroup]] = {}
    for group in grouped(report.findings):
        rules.setdefault((group.first.severity, group.first.rule), []).append(group)
    return [
        _command(_COMMANDS[severity], report.path, rule_title(rule), _message_lines(groups))
        for (severity, rule), groups in rules.items()
    ]


def github_failures(failures: Sequence[Failure]) -> list[str]:
    """One command for each file that could not be checked."""
    return [
        _command("error", failure.path, "not checked", [failure.message]) for failure in failures
    ]


def write_github(report: ValidationReport) -> None:
    """The commands, and for those who read the log a line about the file."""
    for line in github_annotations(report):
        write_line(line)
    # The name of a file could be a command if it came first.
    write_line(f"pbloom: {summary(report)}")


def write_github_failures(failures: Sequence[Failure]) -> None:
    for line in github_failures(failures):
        write_line(line)


def _message_lines(groups: Sequence[FindingGroup]) -> list[str]:
    lines = [
        line
        for group in groups
        for line in (group.text, *([] if group.diagnosis is None else [group.diagnosis]))
    ]
    if len(lines) <= MAX_LINES:
        return lines
    return [*lines[:MAX_LINES], f"… and {len(lines) - MAX_LINES:,} more"]


def _command(name: str, path: str, title: str, lines: Sequence[str]) -> str:
    message = "%0A".join(_escaped(line) for line in lines)
    return f"::{name} file={_escaped_property(path)},title={_escaped_property(title)}::{message}"


def _escaped(text: str) -> str:
    """As data of a command; a line break in `text` is shown as an escape, as everywhere."""
    return printable(text).replace("%", "%25")


def _escaped_property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
