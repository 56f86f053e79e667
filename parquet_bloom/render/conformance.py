"""What `pbloom conformance` prints for people: how much is right in each group, and what is not."""

from __future__ import annotations

from collections.abc import Mapping

from parquet_bloom.conformance.case import Level
from parquet_bloom.conformance.report import News, Report
from parquet_bloom.render.terminal import write_line, write_table, write_text


def write_report(report: Report, level: Level, known: Mapping[str, str]) -> None:
    """The groups, then a line for each case that is not as the level wants it, and what is news."""
    inside = f" ({report.inside})" if report.inside else ""
    title = f"{report.engine} {report.version}".rstrip()
    right, of = report.tally("must")
    write_text(f"{title}{inside}: {right} of {of} as they must be, suite {report.suite}")
    rows = [_row(report, group) for group in (*report.groups, "")]
    write_table(("group", "must", "should", "uses filters", "not applicable"), rows)
    for each in report.broken(level):
        write_line(
            f"{each.verdict}: {each.id}: {each.found}" + (" (known)" if each.id in known else "")
        )
    if known:
        news = report.news(known, level)
        write_text(_about(news))
        for item in news:
            write_line(f"{item.id}: expected {item.known}, found {item.found}")


def _row(report: Report, group: str) -> tuple[str | None, ...]:
    def share(counts: tuple[int, int]) -> str:
        return f"{counts[0]}/{counts[1]}" if counts[1] else ""

    aside = sum(not each.applies for each in report.of(group))
    uses = share(report.uses(group)) if report.kind == "read" else None
    must, should = share(report.tally("must", group)), share(report.tally("should", group))
    return group or "all", must, should, uses, str(aside or "")


def _about(news: list[News]) -> str:
    if not news:
        return "As expected."
    return f"{len(news)} not as expected:"
