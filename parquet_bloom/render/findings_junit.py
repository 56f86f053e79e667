"""Findings as JUnit XML, which CI servers show as tests.

    testsuites > testsuite (a file) > testcase (a rule) > failure | skipped | system-out

Findings that fail the file are failures; others are output of a test that passed. A file that cannot
be checked is an error.

Source: the attributes and elements that Jenkins' junit-10.xsd and
https://docs.gitlab.com/ci/testing/unit_test_reports have in common.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Sequence

from parquet_bloom.render.findings import FindingGroup, grouped, next_commands
from parquet_bloom.render.terminal import printable
from parquet_bloom.rules.finding import Finding
from parquet_bloom.rules.policy import Policy
from parquet_bloom.rules.rule import rules_of
from parquet_bloom.verbs.validate import Failure, ValidationReport

# What XML 1.0 cannot have, not even as a reference: https://www.w3.org/TR/xml/#charsets
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

# Attributes of a suite, and the elements that they count.
_COUNTED = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}


def junit_xml(
    reports: Sequence[ValidationReport], failures: Sequence[Failure], policy: Policy
) -> bytes:
    """The document in UTF-8, with the rules that are for the format of each file. What `policy`
    ignores is skipped."""
    root = ET.Element("testsuites", {"name": "pbloom validate"})
    root.extend(_suite(report, policy) for report in reports)
    root.extend(_failed_suite(failure) for failure in failures)
    _count(root, "tests", "failures", "errors")
    ET.indent(root)
    document: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _suite(report: ValidationReport, policy: Policy) -> ET.Element:
    by_rule: dict[str, list[Finding]] = defaultdict(list)
    for finding in report.findings:
        by_rule[finding.rule].append(finding)
    suite = ET.Element("testsuite", {"name": _xml(report.path)})
    for rule in rules_of(report.format):
        case = _case(suite, report.path, rule.heading)
        if by_rule[rule.id]:
            _add_findings(case, by_rule[rule.id], policy)
        elif rule.id in policy.ignore:
            ET.SubElement(case, "skipped", {"message": "ignored"})
        elif rule.needs_values and not report.checked.values:
            ET.SubElement(case, "skipped", {"message": "no value was looked up"})
    _count(suite, *_COUNTED)
    return suite


def _failed_suite(failure: Failure) -> ET.Element:
    suite = ET.Element("testsuite", {"name": _xml(failure.path)})
    case = _case(suite, failure.path, "can be checked")
    message = _xml(failure.message)
    ET.SubElement(case, "error", {"type": "error", "message": message}).text = message
    _count(suite, *_COUNTED)
    return suite


def _case(suite: ET.Element, path: str, name: str) -> ET.Element:
    return ET.SubElement(suite, "testcase", {"name": name, "classname": _xml(path)})


def _add_findings(case: ET.Element, findings: Sequence[Finding], policy: Policy) -> None:
    failing = grouped(item for item in findings if policy.fails(item))
    others = grouped(item for item in findings if not policy.fails(item))
    if failing:
        # Some viewers show only the message, others only the text.
        about = {"type": failing[0].first.severity, "message": _xml(failing[0].text)}
        ET.SubElement(case, "failure", about).text = _lines(failing)
    if others:
        ET.SubElement(case, "system-out").text = _lines(others)


def _lines(groups: Sequence[FindingGroup]) -> str:
    lines = [line for group in groups for line in group.lines]
    lines += next_commands(item for group in groups for item in group.findings)
    return "\n".join(map(_xml, lines))


def _count(element: ET.Element, *names: str) -> None:
    """Set the attributes of these names."""
    for name in names:
        element.set(name, str(sum(1 for _ in element.iter(_COUNTED[name]))))


def _xml(text: str) -> str:
    """`text` with everything escaped that is not printable or not XML."""
    return _NO_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", printable(text))
