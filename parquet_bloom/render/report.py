"""The report as one HTML page that needs nothing else: no script, no font, no network.

What comes from the file is untrusted. Every text is escaped for HTML, characters that do not show
are written as escapes, and the page forbids itself to load anything (Content-Security-Policy).
A file may have any number of columns and findings; the page shows some and says how many more.
"""

from __future__ import annotations

import os.path
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any, Generic, TypeVar

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from parquet_bloom import __version__
from parquet_bloom.filters.occupancy import FPP_PROBES
from parquet_bloom.render import charts
from parquet_bloom.render.findings import FindingGroup, grouped, summary
from parquet_bloom.render.terminal import write_line
from parquet_bloom.render.wording import percent, size
from parquet_bloom.rules.finding import Finding
from parquet_bloom.rules.rule import Rule, rules
from parquet_bloom.verbs.advise import ColumnAdvice
from parquet_bloom.verbs.occupancy import FilterOccupancy
from parquet_bloom.verbs.report import ColumnSummary, FileReport, FilterPicture

MOST_COLUMNS = 250
MOST_PLACES = 20
# Longer texts are somebody's joke; no name of a column that people use comes near.
MOST_CHARACTERS = 1000
# So many pictures of columns are unfolded; of a column with trouble, or the first, in any case.
MOST_UNFOLDED = 12

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Excerpt(Generic[Item]):
    """What the page shows of a list, and how many items it leaves out."""

    shown: Sequence[Item]
    left_out: int


def _excerpt(items: Sequence[Item], most: int) -> Excerpt[Item]:
    return Excerpt(items[:most], max(0, len(items) - most))


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """All findings of one rule, like ones together."""

    rule: Rule
    severity: str
    num_findings: int
    groups: Excerpt[FindingGroup]


@dataclass(frozen=True, slots=True)
class ColumnPictures:
    """The filters of one leaf column that the page shows; `trouble` is `error`, `warning` or ""."""

    column: str
    trouble: str
    unfolded: bool
    pictures: Sequence[FilterPicture]


def render_report(report: FileReport) -> str:
    """The page."""
    inspection, validation = report.inspection, report.validation
    verdicts = {advice.column: advice for advice in report.advice.columns} if report.advice else {}
    return _template().render(
        report=report,
        file=inspection,
        name=os.path.basename(inspection.path) or inspection.path,
        version=__version__,
        verdict=_trouble(validation.findings) or "fine",
        summary=_summary(report),
        columns=_columns(report.columns, verdicts),
        widest=max((max(one.chunk_bytes, one.filter_bytes) for one in report.columns), default=0),
        to_do=_to_do(report, verdicts),
        rules=list(_broken_rules(validation.findings)),
        pictures=list(_pictures(report)),
        advice=_advice(report),
        probes=FPP_PROBES,
        most_measured=_most_measured(report.columns),
        shades=charts.SHADES,
        scale=[level / charts.SHADES - 1e-9 for level in range(1, charts.SHADES + 1)],
    )


def write_report(report: FileReport, output: str, num_bytes: int) -> None:
    """One line about a page that was written."""
    write_line(f"{output}: {size(num_bytes)}; {_summary(report)}")


def _most_measured(columns: Sequence[ColumnSummary]) -> int | None:
    """Of how many filters of a column the FPP was measured at most; None if of all."""
    if all(column.num_measured == column.num_filters for column in columns):
        return None
    return max(column.num_measured for column in columns)


def _summary(report: FileReport) -> str:
    """`3 errors in 8 filters and 1,000,000 values: not ok`"""
    return summary(report.validation).removeprefix(f"{report.validation.path}: ")


def _trouble(findings: Iterable[Finding]) -> str:
    """`error` or `warning`, whatever is worst; empty if there is neither."""
    found = {finding.severity for finding in findings}
    return next((severity for severity in ("error", "warning") if severity in found), "")


def _columns(
    columns: Sequence[ColumnSummary], verdicts: Mapping[str, ColumnAdvice]
) -> Excerpt[ColumnSummary]:
    """In the order of the schema; if there are too many, first those with filters, then those that
    deserve them."""
    if len(columns) > MOST_COLUMNS:
        columns = sorted(columns, key=lambda one: _interest(one, verdicts.get(one.column)))
    return _excerpt(columns, MOST_COLUMNS)


def _interest(column: ColumnSummary, advice: ColumnAdvice | None) -> int:
    if column.num_filters:
        return 0
    return 1 if advice and advice.verdict != "skip" else 2


def _to_do(report: FileReport, verdicts: Mapping[str, ColumnAdvice]) -> dict[str, str]:
    """For each column that was advised on the verdict; or, where there are filters to build and
    they are there, whether they will do: `keep` or `rebuild`."""
    findings = report.validation.findings
    broken = {finding.column for finding in findings if finding.severity == "error"}
    filters = {column.column: column.num_filters for column in report.columns}
    return {
        column: _verdict(advice, filters.get(column, 0), column in broken)
        for column, advice in verdicts.items()
    }


def _verdict(advice: ColumnAdvice, num_filters: int, is_broken: bool) -> str:
    if advice.verdict != "build":
        return advice.verdict
    if is_broken:
        return "rebuild"
    return "keep" if num_filters >= advice.groups else "build"


def _broken_rules(findings: Sequence[Finding]) -> Iterator[BrokenRule]:
    """The most severe first."""
    by_rule: dict[str, list[FindingGroup]] = {}
    for group in grouped(findings):
        by_rule.setdefault(group.first.rule, []).append(group)
    for rule, groups in by_rule.items():
        yield BrokenRule(
            rule=rules()[rule],
            severity=groups[0].first.severity,
            num_findings=sum(len(group.findings) for group in groups),
            groups=_excerpt(groups, MOST_PLACES),
        )


def _pictures(report: FileReport) -> Iterator[ColumnPictures]:
    """By leaf column, in the order of the schema."""
    few = len(report.pictures) <= MOST_UNFOLDED
    findings: dict[tuple[int | None, str | None], list[Finding]] = {}
    for finding in report.validation.findings:
        findings.setdefault((finding.row_group, finding.column), []).append(finding)
    by_column = groupby(report.pictures, lambda picture: picture.occupancy.column)
    for place, (column, found) in enumerate(by_column):
        pictures = list(found)
        shown = [(picture.occupancy.row_group, column) for picture in pictures]
        trouble = _trouble(finding for key in shown for finding in findings.get(key, ()))
        yield ColumnPictures(column, trouble, few or place == 0 or bool(trouble), pictures)


def _advice(report: FileReport) -> Excerpt[ColumnAdvice]:
    """What to do first, what not to do last."""
    order = {"build": 0, "optional": 1, "skip": 2}
    found = report.advice.columns if report.advice else ()
    shown = sorted(found, key=lambda advice: order[advice.verdict])
    return Excerpt(shown, len(report.columns) - len(shown))


def _cells(occupancy: FilterOccupancy) -> str:
    """`512 cells of 128 blocks`"""
    cells, blocks = len(occupancy.map), occupancy.num_blocks
    each = "1 block" if cells == blocks else f"{blocks / cells:,.4g} blocks"
    return f"{cells:,} cell{'' if cells == 1 else 's'} of {each}"


def _engines(advice: ColumnAdvice) -> str:
    """Who asks such filters, and who does not, in words."""
    users = ", ".join(use.engine for use in advice.engines if use.uses)
    others = [use for use in advice.engines if not use.uses]
    refusals = "; ".join(
        f"{', '.join(use.engine for use in others if use.reason == reason)}: {reason}"
        for reason in dict.fromkeys(use.reason for use in others)
    )
    return f"Asked by {users or 'no engine'}. {refusals}".strip()


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("parquet_bloom", "render"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"size": size, "percent": percent, "number": _number}
    environment.globals |= {
        "map_chart": charts.map_chart,
        "histogram_chart": charts.histogram_chart,
        "strip_chart": charts.strip_chart,
        "cells": _cells,
        "engines": _engines,
    }
    return environment.get_template("report.html")


def _shown(value: Any) -> Any:
    """Texts as the page shows them; what is HTML already is not touched."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return visible(value if len(value) <= MOST_CHARACTERS else value[:MOST_CHARACTERS] + "…")


def visible(text: str) -> str:
    """`text` with what does not show as escapes: control characters, line ends, what turns the
    direction of writing, surrogates of names that are not UTF-8."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )


def _number(value: float) -> str:
    """`1,234,567`"""
    return f"{value:,.0f}"
