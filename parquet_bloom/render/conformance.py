"""What `pbloom conformance` prints for people: how much is right in each group, and what is not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, TypeVar

from parquet_bloom.conformance.adapter import abridged
from parquet_bloom.conformance.case import LEVELS, Level
from parquet_bloom.conformance.report import BY_OTHERS, Failures, News, NotJudged, Report, Result
from parquet_bloom.container import number_of
from parquet_bloom.render.reports import FEW
from parquet_bloom.render.terminal import write_table, write_text
from parquet_bloom.render.wording import MOST_SHOWN, shortened

Each = TypeVar("Each")


def write_report(report: Report, level: Level, known: Failures | None) -> None:
    """The groups, then the cases that are not as the level wants them, and what is news, if anything is known."""
    inside = f" ({report.inside})" if report.inside else ""
    title = f"{report.engine} {report.version}".rstrip()
    right, of = report.tally("must")
    aside = f", {_num_not_judged(report)} not judged" if report.num_not_judged else ""
    write_text(f"{title}{inside}: {right} of {of} as they must be{aside}, suite {report.suite}")
    rows = [_row(report, group) for group in (*report.groups, "")]
    write_table(("group", "must", "should", "may", "uses filters", "not applicable"), rows)
    _write_not_judged(report)
    _write_partly_judged(report)
    _write_unused(report)
    _write_broken(report, level, known or {})
    _write_unasked(report, level)
    if known is not None:
        news = report.news(known, level)
        write_text(_about(news))
        _write_news(news, _most(report))


def _write_broken(report: Report, level: Level, known: Failures) -> None:
    """A line for each, or, of more than a few, for those of a group with one verdict."""
    broken = report.broken(level)
    most = _most(report)
    alike = _alike(broken, most, lambda each: (each.verdict, each.group, each.id in known))
    for (verdict, group, is_known, _), those in alike.items():
        first = f"{those[0].id}: {_found(those[0])}" + " (known)" * is_known
        of = sum(each.applies for each in report.of(group))
        such_as = f"{group}: {len(those):,} of {of:,}, such as " * (len(those) > 1)
        write_text(f"{verdict}: {such_as}{first}")
    if len(alike) < len(broken):
        what = "group" if report.kind == "read" else "column"
        write_text(f"--json shows all, --case {what.upper()} those of one {what}")


def _found(result: Result) -> str:
    """What is not as it should be, and what the case is there for: its name alone says that to few."""
    return f"{abridged(result.found)}; about: {result.about}"


def _write_news(news: Sequence[News], most: int) -> None:
    """The same."""
    alike = _alike(news, most, lambda each: (each.group, each.known, each.found))
    for (group, *_), those in alike.items():
        such_as = f"{group}: {len(those):,}, such as " * (len(those) > 1)
        first = those[0]
        write_text(f"{such_as}{first.id}: expected {first.known}, found {first.found}")


def _most(report: Report) -> int:
    """How many are shown one by one: all of a single group, for which somebody has asked."""
    return FEW if len(report.groups) > 1 else len(report.results)


def _alike(
    items: Sequence[Each], most: int, likeness: Callable[[Each], tuple[Any, ...]]
) -> dict[tuple[Any, ...], list[Each]]:
    """Each by itself, or, of more than `most`, those that are alike together."""
    alike: dict[tuple[Any, ...], list[Each]] = {}
    for number, each in enumerate(items):
        alone = number if len(items) <= most else None
        alike.setdefault((*likeness(each), alone), []).append(each)
    return alike


def _write_not_judged(report: Report) -> None:
    """Where the adapter, or what was written, is at fault, or the engine without any filter."""
    found = report.not_judged
    if not found:
        return
    write_text(f"{_num_not_judged(report)} not judged:")
    _write_reasons(found)


def _write_reasons(found: Sequence[NotJudged]) -> None:
    for each in found[:MOST_SHOWN]:
        write_text(f"  {reason_of(each)}")
    if len(found) > MOST_SHOWN:
        write_text(f"  and for {len(found) - MOST_SHOWN:,} other reasons: --json shows all")


def _write_partly_judged(report: Report) -> None:
    """Whose table looks as if all of it were right."""
    if found := report.partly_judged:
        count = sum(len(each.names) for each in found)
        write_text(f"{number_of(count, 'column')} judged in part:")
        _write_reasons(found)


def _write_unused(report: Report) -> None:
    """Rows are right in these, so that no line below names them."""
    of = report.uses()[1]
    for what, where, those in (
        ("filters not used", "they can be", report.unused),
        (BY_OTHERS, "filters can", report.excluded_otherwise),
    ):
        if those:
            cases = f"{len(those):,} of {number_of(of, 'case')}"
            write_text(f"{what} in {cases} where {where}: {shortened(those)}")


def _num_not_judged(report: Report) -> str:
    return number_of(report.num_not_judged, "case" if report.kind == "read" else "column")


def _write_unasked(report: Report, level: Level) -> None:
    """How many more fail at each level below, which the table counts and no line shows."""
    for asked, lower in pairwise(LEVELS[LEVELS.index(level) :]):
        if more := len(report.broken(lower)) - len(report.broken(asked)):
            failures = number_of(more, "more failure")
            write_text(f"{failures} with --level {lower}, which shows what was found")


def reason_of(found: NotJudged) -> str:
    """`legal/absent, …, legal/large, … (71 in all): no such table`"""
    return f"{shortened(found.names)}: {abridged(found.reason)}"


def _row(report: Report, group: str) -> tuple[str | None, ...]:
    def share(counts: tuple[int, int]) -> str:
        return f"{counts[0]}/{counts[1]}" if counts[1] else ""

    aside = sum(not each.applies for each in report.of(group))
    uses = share(report.uses(group)) if report.kind == "read" else None
    must, should = share(report.tally("must", group)), share(report.tally("should", group))
    may = share(report.tally("may", group)) if report.tally("may")[1] else None
    return group or "all", must, should, may, uses, str(aside or "")


def _about(news: list[News]) -> str:
    if not news:
        return "As expected."
    return f"{len(news)} not as expected:"
