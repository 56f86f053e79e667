"""What `pbloom validate` prints for people: one line for what is wrong the same way in many places.

A file of 1,000 row groups has everything 1,000 times. Findings of one rule in one leaf column are a
group if their messages differ in numbers only.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from parquet_bloom.container import Place, number_of
from parquet_bloom.diagnosis.diagnosis import Diagnosis
from parquet_bloom.render.terminal import write_line
from parquet_bloom.render.wording import numbered
from parquet_bloom.rules.finding import Finding
from parquet_bloom.rules.rule import Severity, rules
from parquet_bloom.verbs.validate import ValidationReport

_NUMBER = re.compile(r"\d+([.,]\d+)*")


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """One rule broken in one leaf column, or where it is about all; never empty."""

    findings: tuple[Finding, ...]

    @property
    def first(self) -> Finding:
        return self.findings[0]

    @property
    def heading(self) -> str:
        """`error PB111 length-missing`"""
        return f"{self.first.severity} {rule_title(self.first.rule)}"

    @property
    def text(self) -> str:
        """Where, and what: `column user_id, row groups 0, 1: the message (expected 47, found 12)`.

        Where they differ, the first stands for all, and says so.
        """
        where, what = place_of(self.findings), statement(self.first)
        if any(statement(other) != what for other in self.findings):
            where += " (the first of them)"
        return f"{where}: {what}" if where else what

    @property
    def diagnosis(self) -> str | None:
        """What the writer seems to have done instead, counted over all of the group."""
        found = [item.diagnosis for item in self.findings if item.diagnosis is not None]
        if not found:
            return None
        hits, tried = sum(one.hits for one in found), sum(one.tried for one in found)
        return explanation(Diagnosis(found[0].hypothesis, found[0].explanation, hits, tried))

    @property
    def lines(self) -> list[str]:
        """All of it, the diagnosis on a line of its own."""
        lines = [f"{self.heading}: {self.text}"]
        return lines if self.diagnosis is None else [*lines, f"    {self.diagnosis}"]


def grouped(findings: Iterable[Finding]) -> list[FindingGroup]:
    """The most severe first, otherwise in the order of their first findings."""
    groups: dict[tuple[str | None, ...], list[Finding]] = {}
    for finding in findings:
        groups.setdefault(_likeness(finding), []).append(finding)
    return sorted(
        (FindingGroup(tuple(members)) for members in groups.values()),
        key=lambda group: -group.first.rank,
    )


def _likeness(finding: Finding) -> tuple[str | None, ...]:
    return (
        finding.severity,
        finding.rule,
        finding.column,
        _NUMBER.sub("#", finding.message),
        None if finding.diagnosis is None else finding.diagnosis.hypothesis,
    )


def rule_title(rule: str) -> str:
    """`PB111 length-missing`"""
    return rules()[rule].heading


def place_of(findings: Sequence[Finding]) -> str:
    """Where findings of one column, or of none, are; empty for what is about the whole file."""
    return where(findings[0].column, [each.place for each in findings if each.place])


def where(column: str | None, places: Sequence[Place]) -> str:
    """`column user_id, row groups 0, 1`; `column user_id, stripe 0, index groups 3, 4`"""
    words = [] if column is None else [f"column {column}"]
    parts = {place.part for place in places}
    groups = [place.group for place in places if place.group is not None]
    if places:
        words.append(numbered(places[0].units.part, parts))
    if groups and len(parts) == 1:
        words.append(numbered(places[0].units.group, groups))
    elif groups:
        words.append(number_of(len(groups), places[0].units.group))
    return ", ".join(words)


def statement(finding: Finding) -> str:
    """The message with what was expected and found, and for example."""
    if not finding.examples:
        return finding.statement
    return f"{finding.statement}; for example {', '.join(finding.examples)}"


def explanation(diagnosis: Diagnosis) -> str:
    """`dictionary values were never inserted: 12 of 12 values are found that way`"""
    if not diagnosis.tried:
        return diagnosis.explanation
    return (
        f"{diagnosis.explanation.rstrip('.')}: {diagnosis.hits:,} of {diagnosis.tried:,} values"
        " are found that way"
    )


def summary(report: ValidationReport) -> str:
    """`a.parquet: 3 errors, 1 note in 8 filters and 1,000,000 values: not ok`"""
    counts = Counter(item.severity for item in report.findings)
    found = [
        number_of(counts[str(severity)], str(severity))
        for severity in sorted(Severity, reverse=True)
        if counts[str(severity)]
    ]
    return (
        f"{report.path}: {', '.join(found) or 'no findings'}"
        f" in {number_of(report.checked.filters, 'filter')}"
        f" and {number_of(report.checked.values, 'value')}: {'ok' if report.ok else 'not ok'}"
    )


def write_validation(report: ValidationReport) -> None:
    """One line about the file, then one for each group of findings."""
    write_line(summary(report))
    for group in grouped(report.findings):
        for line in group.lines:
            write_line(f"  {line}")
