"""Findings as workflow commands, which GitHub shows beside the files of a pull request.

    ::error file=a.parquet,title=PB111 length-missing::column user_id, row group 0: …

GitHub shows ten of each severity per step, so each rule that a file breaks is one command, however
often it is broken.

Source: https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands and the
escaping of `command.ts` in github.com/actions/toolkit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from parquet_bloom.render.findings import FindingGroup, grouped_by_rule, next_commands, summary
from parquet_bloom.render.terminal import printable, write_line
from parquet_bloom.verbs.validate import Failure, ValidationReport

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}

# Nobody reads more, and runners limit the length of a message.
MAX_LINES = 20
MAX_COMMANDS = 3


def github_annotations(report: ValidationReport) -> Iterator[str]:
    """One command for each rule that the file breaks, the most severe first."""
    for groups in grouped_by_rule(report.findings):
        first = groups[0].first
        title, lines = first.definition.heading, _message_lines(groups)
        yield _command(_COMMANDS[first.severity], report.path, title, lines)


def write_github(report: ValidationReport) -> None:
    """The commands, and a line about the file for those who read the log."""
    for line in github_annotations(report):
        write_line(line)
    # A file name could be a command if it came first.
    write_line(f"pbloom: {report.path}: {summary(report)}")


def write_github_failures(failures: Sequence[Failure]) -> None:
    """One command for each file that could not be checked."""
    for failure in failures:
        write_line(_command("error", failure.path, "not checked", [failure.message]))


def _message_lines(groups: Sequence[FindingGroup]) -> list[str]:
    lines = [line for group in groups for line in (group.text, group.diagnosis) if line is not None]
    if len(lines) > MAX_LINES:
        lines = [*lines[:MAX_LINES], f"… and {len(lines) - MAX_LINES:,} more"]
    commands = next_commands(item for group in groups for item in group.findings)
    return [*lines, *commands[:MAX_COMMANDS]]


def _command(name: str, path: str, title: str, lines: Sequence[str]) -> str:
    message = "%0A".join(_escaped(line) for line in lines)
    return f"::{name} file={_escaped_property(path)},title={_escaped_property(title)}::{message}"


def _escaped(text: str) -> str:
    """`text` as data of a command; line breaks are already escaped as for people."""
    return printable(text).replace("%", "%25")


def _escaped_property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
