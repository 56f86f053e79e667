"""Findings in the formats that CI systems read: annotations for GitHub, JUnit XML, SARIF."""

from __future__ import annotations

import os
import posixpath
import re
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, metadata
from typing import Any, Final
from urllib.parse import quote

from parquet_bloom import __version__
from parquet_bloom.container import number_of
from parquet_bloom.dataclass import dataclass
from parquet_bloom.render import junit
from parquet_bloom.render.findings import (
    FindingGroup,
    explanation,
    findings_in,
    grouped,
    grouped_by_rule,
    next_commands,
    numbers_of,
    place_of,
    statement,
    summary,
)
from parquet_bloom.render.hints import concerned_of
from parquet_bloom.render.reports import Remark, ReportView, about_alike, without_path
from parquet_bloom.render.shell_words import in_short
from parquet_bloom.render.terminal import printable, write_line
from parquet_bloom.render.wording import files_named
from parquet_bloom.rules.finding import Finding
from parquet_bloom.rules.policy import Policy
from parquet_bloom.rules.rule import rules, rules_of
from parquet_bloom.storage.source import is_url, local_path
from parquet_bloom.verbs.several import Failure
from parquet_bloom.verbs.validate import ValidationReport


class NoView(ReportView[ValidationReport]):
    """Shows nothing about a file by itself: what is written is about all."""

    def write(self, report: ValidationReport, verbose: bool = False) -> None: ...


# ------------------------------------------------------------------------------------------------
# Findings as workflow commands, which GitHub shows beside the files of a pull request.
#
#     ::error file=a.parquet,title=PB111 length-missing::column user_id, row group 0: …
#
# GitHub shows ten of each severity per step, so each rule that a file breaks is one command, however
# often it is broken, and one for all files that break it alike:
#
#     ::error file=a.parquet,title=PB310 required-missing::100 files: column user_id: …
#
# Source: https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands and the
# escaping of `command.ts` in github.com/actions/toolkit.

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}

# Nobody reads more, and runners limit the length of a message.
MAX_LINES = 20
MAX_COMMANDS = 3


@dataclass(frozen=True, slots=True)
class _Broken:
    """A rule that a file breaks: the groups of its findings, never none."""

    path: str
    groups: tuple[FindingGroup, ...]

    @property
    def remarks(self) -> list[Remark]:
        """What is said of it where several files break it alike, below the rule as title."""
        return [group.remark(self.path)._replace(what=group.columns) for group in self.groups]


def write_github(
    reports: Sequence[ValidationReport],
    failures: Sequence[Failure],
    names: Sequence[str] = (),
    there: str = "",
) -> None:
    """The commands, first those about files of which nothing is known, and a line for those who read the log: about
    the file, or in total. `names`: what means all files of the reports; `there`: see wording.asked_for."""
    num_files = len(reports) + len(failures)
    for command in (
        *_annotated_failures(failures, num_files),
        *github_annotations(reports, num_files, names),
    ):
        write_line(command)
    # A file name could be a command if it came first.
    write_line(f"pbloom: {_in_total(reports, num_files, there)}")


def github_annotations(
    reports: Sequence[ValidationReport], num_files: int, names: Sequence[str] = ()
) -> Iterator[str]:
    """One command for each rule that files break alike, the most severe first."""
    alike: dict[tuple[object, ...], list[_Broken]] = {}
    for report in reports:
        for groups in grouped_by_rule(report.findings):
            broken = _Broken(report.path, tuple(groups))
            likeness = groups[0].first.rule, *(each.likeness for each in broken.remarks)
            alike.setdefault(likeness, []).append(broken)
    for those in sorted(alike.values(), key=lambda those: -those[0].groups[0].first.severity.rank):
        first = those[0].groups[0].first
        lines = _message_lines(those[0].groups)
        if len(those) > 1:
            lines = _merged_lines(those, names, len(reports), num_files)
        yield _command(_COMMANDS[first.severity], those[0].path, first.definition.heading, lines)


def _annotated_failures(failures: Sequence[Failure], num_files: int) -> Iterator[str]:
    """One command for the files that could not be checked for the same reason."""
    alike: dict[str, list[Failure]] = {}
    for failure in failures:
        alike.setdefault(without_path(failure.message, failure.path)[1], []).append(failure)
    for reason, those in alike.items():
        message = those[0].message
        if len(those) > 1:
            message = f"{files_named([each.path for each in those], num_files)}: {reason}"
        yield _command("error", those[0].path, "not checked", [message])


def _in_total(reports: Sequence[ValidationReport], num_files: int, there: str) -> str:
    """`a.parquet: 1 note in 8 filters: ok`; `3 files: 1 ok, 1 not ok, 1 failed; 1 error in 16 filters`"""
    if num_files == len(reports) == 1:
        return f"{reports[0].path}: {summary(reports[0], there)}"
    states = Counter(report.state for report in reports)
    numbers = sum(map(numbers_of, reports), Counter[str]())
    counts = [f"{count:,} {state}" for state, count in states.most_common()]
    if failed := num_files - len(reports):
        counts.append(f"{failed:,} failed")
    done = f"{number_of(num_files, 'file')}: {', '.join(counts)}"
    return f"{done}; {findings_in(numbers)}" if reports else done


def _merged_lines(
    those: Sequence[_Broken], names: Sequence[str], num_read: int, num_files: int
) -> list[str]:
    """Which files they are, then what is said of all of them. `names`: what means all that could be read, so many."""
    paths = list(dict.fromkeys(each.path for each in those))
    concerned = concerned_of(paths, names, len(paths) == num_read, num_read < num_files)
    alike = zip(*(each.remarks for each in those), strict=True)
    lines = [about_alike(remarks, names, concerned) for remarks in alike]
    return _cut([f"{files_named(paths, num_files)}: {lines[0]}", *lines[1:]])


def _message_lines(groups: Sequence[FindingGroup]) -> list[str]:
    lines = [line for group in groups for line in (group.text, group.diagnosis) if line is not None]
    commands = next_commands(item for group in groups for item in group.findings)
    return [*_cut(lines), *commands[:MAX_COMMANDS]]


def _cut(lines: Sequence[str]) -> list[str]:
    more = len(lines) - MAX_LINES
    return [*lines] if more <= 0 else [*lines[:MAX_LINES], f"… and {more:,} more"]


# What GitHub escapes in properties, the escape itself first.
_OF_PROPERTIES: Final = {"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"}


def _command(name: str, path: str, title: str, lines: Sequence[str]) -> str:
    message = "%0A".join(_escaped(in_short(line, "--format json has all")) for line in lines)
    return f"::{name} file={_escaped_property(path)},title={_escaped_property(title)}::{message}"


def _escaped(text: str) -> str:
    """`text` as data of a command; line breaks are already escaped as for people."""
    return printable(text).replace("%", "%25")


def _escaped_property(text: str) -> str:
    """The same as a property, which GitHub reads back, as it does line breaks."""
    for special, escape in _OF_PROPERTIES.items():
        text = text.replace(special, escape)
    return printable(text)


# ------------------------------------------------------------------------------------------------
# Findings as JUnit XML: a suite for each file, a test for each rule.
#
# Findings that fail the file are failures; others are output of a test that passed. With `--fail-on never`,
# failures are those without it: `never` is for the exit code, not for what is wrong. A file that cannot be checked is
# an error.


def junit_xml(
    reports: Sequence[ValidationReport], failures: Sequence[Failure], policy: Policy
) -> bytes:
    """The document in UTF-8, with the rules that are for the format of each file. What `policy`
    ignores is skipped."""
    policy = policy.but_for_never
    suites = [_suite(report, policy) for report in reports]
    suites += [_failed_suite(failure) for failure in failures]
    return junit.document("pbloom validate", suites)


def _suite(report: ValidationReport, policy: Policy) -> ET.Element:
    by_rule: dict[str, list[Finding]] = defaultdict(list)
    for finding in report.findings:
        by_rule[finding.rule].append(finding)
    suite = junit.suite(report.path)
    for rule in rules_of(report.format):
        case = junit.case(suite, rule.heading)
        if by_rule[rule.id]:
            _add_findings(case, by_rule[rule.id], policy)
        elif rule.id in policy.ignore:
            junit.skip(case, "ignored")
        elif rule.needs_values and not report.checked.values:
            junit.skip(case, "no value was looked up")
        elif rule.needs_pages and not report.checked.pages:
            junit.skip(case, "no page was decoded")
    return suite


def _failed_suite(failure: Failure) -> ET.Element:
    suite = junit.suite(failure.path)
    junit.err(junit.case(suite, "can be checked"), failure.message)
    return suite


def _add_findings(case: ET.Element, findings: Sequence[Finding], policy: Policy) -> None:
    failing = grouped(item for item in findings if policy.fails(item))
    others = grouped(item for item in findings if not policy.fails(item))
    if failing:
        junit.fail(case, failing[0].first.severity, failing[0].text, _lines_of(failing))
    if others:
        junit.tell(case, _lines_of(others))


def _lines_of(groups: Sequence[FindingGroup]) -> list[str]:
    lines = [line for group in groups for line in group.lines]
    return [*lines, *next_commands(item for group in groups for item in group.findings)]


# ------------------------------------------------------------------------------------------------
# Findings as SARIF 2.1.0, which code scanning and editors read.
#
#     version, runs: [ tool.driver: name, version, rules     the rules that are broken
#                      invocations: toolExecutionNotifications     files that could not be checked
#                      artifacts                             files that were
#                      results: ruleId, level, message, locations, partialFingerprints ]
#
# GitHub refuses runs of more than 25,000 results, requires a region even for files without lines, and
# distinguishes alerts by the fingerprint `primaryLocationLineHash` alone.
#
# Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html;
# https://docs.github.com/en/code-security/reference/code-scanning/sarif-files/sarif-support

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)

# GitHub takes no more.
MAX_RESULTS = 25_000

# The working folder of the command, to which paths are relative.
_BASE = "%SRCROOT%"

# Reserved characters and existing escapes stay as they are in a URL.
_URL_CHARACTERS = ":/?#[]@!$&'()*+,;=%"

Object = dict[str, Any]


def sarif_log(reports: Sequence[ValidationReport], failures: Sequence[Failure]) -> Object:
    """One run over all files, the most severe results first. Results beyond MAX_RESULTS are left out,
    and a notification says so."""
    found = sorted(
        ((report.path, finding) for report in reports for finding in report.findings),
        key=lambda item: -item[1].severity.rank,
    )
    kept = found[:MAX_RESULTS]
    broken = sorted({finding.rule for _, finding in kept})
    # A file that is named twice is one artifact.
    artifacts = {
        location["uri"]: {"location": location, "roles": ["analysisTarget"]}
        for location in (_artifact_location(report.path) for report in reports)
    }
    driver = {
        "name": "pbloom",
        "version": __version__,
        "semanticVersion": __version__,
        **_where_it_lives(),
        "rules": [_rule(rule) for rule in broken],
    }
    base = {"description": _message("The folder that pbloom was run in.")}
    run = {
        "tool": {"driver": driver},
        "invocations": [_invocation(failures, len(found))],
        "originalUriBaseIds": {_BASE: base},
        "artifacts": list(artifacts.values()),
        "results": list(_results(kept, broken, list(artifacts))),
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


# In addresses of a package that nobody has released.
_NO_HOME: Final = "//OWNER"


def _where_it_lives() -> Object:
    """The documentation, as the metadata of the package has it; nothing of one that is not installed, or whose pages
    are nowhere yet."""
    with suppress(PackageNotFoundError):
        for each in metadata("parquet_bloom").get_all("Project-URL") or ():
            label, _, url = each.partition(", ")
            if label == "Documentation" and _NO_HOME not in url:
                return {"informationUri": url}
    return {}


def _rule(rule: str) -> Object:
    about = rules()[rule]
    return {
        "id": rule,
        "name": "".join(word.capitalize() for word in about.name.split("-")),
        "shortDescription": _message(f"{about.title}."),
        "fullDescription": _message(f"{about.title}."),
        "help": _message(about.plain_text) | {"markdown": about.text},
        "defaultConfiguration": {"level": str(about.severity)},
    }


def _invocation(failures: Sequence[Failure], num_findings: int) -> Object:
    notifications: list[Object] = [
        {
            "level": "error",
            "message": _message(_sentence(failure.message)),
            "locations": [
                {"physicalLocation": {"artifactLocation": _artifact_location(failure.path)}}
            ],
        }
        for failure in failures
    ]
    if num_findings > MAX_RESULTS:
        text = f"Of {num_findings:,} findings, only the {MAX_RESULTS:,} most severe are here."
        notifications.append({"level": "warning", "message": _message(text)})
    return {"executionSuccessful": not failures, "toolExecutionNotifications": notifications}


def _results(
    found: Sequence[tuple[str, Finding]], broken: Sequence[str], uris: Sequence[str]
) -> Iterator[Object]:
    rule_index = {rule: index for index, rule in enumerate(broken)}
    artifact_index = {uri: index for index, uri in enumerate(uris)}
    seen: Counter[str] = Counter()
    for path, finding in found:
        artifact = _artifact_location(path)
        artifact["index"] = artifact_index[artifact["uri"]]
        fingerprint = _fingerprint(artifact["uri"], finding)
        seen[fingerprint] += 1
        place = {"artifactLocation": artifact, "region": {"startLine": 1}}
        location: Object = {"physicalLocation": place}
        if where := place_of([finding]):
            location["logicalLocations"] = [{"fullyQualifiedName": where}]
        yield {
            "ruleId": finding.rule,
            "ruleIndex": rule_index[finding.rule],
            "level": finding.severity,
            "message": _message(_text(finding)),
            "locations": [location],
            "partialFingerprints": {
                "primaryLocationLineHash": f"{fingerprint}:{seen[fingerprint]}"
            },
            "properties": {
                "row_group": finding.row_group,
                "stripe": finding.stripe,
                "index_group": finding.index_group,
                "column": finding.column,
                "expected": finding.expected,
                "found": finding.found,
                "rows": None if finding.rows is None else asdict(finding.rows),
                "next": finding.next,
                "diagnosis": None if finding.diagnosis is None else asdict(finding.diagnosis),
            },
        }


def _text(finding: Finding) -> str:
    where = place_of([finding])
    text = _sentence(f"{where}: {statement(finding)}" if where else statement(finding))
    if finding.diagnosis is not None:
        text += f" Diagnosis: {_sentence(explanation(finding.diagnosis))}"
    elif finding.undiagnosed is not None:
        text += f" {_sentence(finding.undiagnosed.capitalize())}"
    helps = finding.next or finding.by_hand
    return text if helps is None else f"{text} Next: {helps}"


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def _message(text: str) -> Object:
    """A message of plain text; braces and links are escaped, which SARIF would interpret."""
    text = printable(text).replace("{", "{{").replace("}", "}}")
    return {"text": re.sub(r"\[(?=[^\]]*\]\()", r"\\[", text)}


def _artifact_location(path: str) -> Object:
    """A URL as it is; a path as a URI, and a relative one relative to the working folder."""
    if is_url(path):
        return {"uri": quote(os.fsencode(path), safe=_URL_CHARACTERS)}
    if local_path(path).is_absolute():
        return {"uri": local_path(path).as_uri()}
    # File names need not be UTF-8.
    return {"uri": quote(os.fsencode(posixpath.normpath(path))), "uriBaseId": _BASE}


def _fingerprint(uri: str, finding: Finding) -> str:
    """It depends on rule, file, column, and row group or stripe and index group, and nothing else."""
    group = finding.row_group if finding.stripe is None else (finding.stripe, finding.index_group)
    where = (finding.rule, uri, group, finding.column)
    return sha256(repr(where).encode("utf-8", "backslashreplace")).hexdigest()[:32]
