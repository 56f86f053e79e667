"""The report as one self-contained HTML page: no script, no font, no network.

What comes from the file is untrusted. All text is escaped for HTML, invisible characters are written
as escapes, and the page forbids itself to load anything (Content-Security-Policy). A file may have
any number of columns and findings; the page shows some and says how many more there are.
"""

from __future__ import annotations

import os.path
import shlex
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain, groupby
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from parquet_bloom import __version__
from parquet_bloom.container import UNITS, number_of
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import quoted_name
from parquet_bloom.filters.occupancy import FPP_PROBES
from parquet_bloom.filters.rates import percent
from parquet_bloom.render import charts
from parquet_bloom.render.budget import budget_lines
from parquet_bloom.render.calls import Call, advised_for, widest
from parquet_bloom.render.engine_use import in_words, users
from parquet_bloom.render.findings import (
    FindingGroup,
    grouped_by_rule,
    next_commands,
    summary,
)
from parquet_bloom.render.hints import (
    command,
    hint_for,
    in_options,
    stripping,
    united,
    with_hint,
)
from parquet_bloom.render.shell_words import for_shells
from parquet_bloom.render.wording import shortened, size, where
from parquet_bloom.rules.finding import Finding
from parquet_bloom.rules.rule import rules
from parquet_bloom.verbs.advise import AdviceReport, ColumnAdvice, to_do
from parquet_bloom.verbs.advised_builds import replacing
from parquet_bloom.verbs.inspect import FileInspection
from parquet_bloom.verbs.occupancy import FilterOccupancy
from parquet_bloom.verbs.report import ColumnOverview, FileReport, FilterPicture
from parquet_bloom.verbs.several import Failure
from parquet_bloom.vocabulary import AdviceVerdict

MOST_COLUMNS = 250
MOST_PLACES = 20
MOST_STEPS = 5
# No file says who chose its rates.
IF_CHOSEN = (
    "If a budget chose the rates of those that are too small, say so: --budget of pbloom report, or max-fpp of the"
    " column in pbloom.toml."
)
# Of filters that lack values, or have others.
ONLY_TRACE = (
    "Until it is known why they do not agree with the values, these filters stay: they may be the only trace of"
    " values that have changed. No command here replaces them: where one names FILE, take other files."
)
# Of filters with a rate that nobody would choose but for their bytes.
_HIGH_FPP = "PB302"
# Of a step that another has done.
ABOVE = "A command above does this, too."
NO_COMMAND = "No command mends this: see Findings."
# Longer texts are somebody's joke; column names that people use come nowhere near.
MOST_CHARACTERS = 1000
# The most pictures of filters that are all unfolded; beyond, only those of columns with trouble, and
# of the first.
MOST_UNFOLDED = 12


@dataclass(frozen=True, slots=True)
class Step:
    """Something to be done: `word`, a severity or a verdict; `text`, and in how many places; the `part` of the page
    that says more; the `commands` that do it, if any do; and a `note` on them."""

    word: str
    text: str
    extent: str
    part: str
    commands: Sequence[str] = ()
    note: str = ""

    @property
    def has_commands(self) -> bool:
        """And not only help in words."""
        return any(map(_is_command, self.commands))


@dataclass(frozen=True, slots=True)
class Broken:
    """A broken rule: the `first` finding, in how many places, the `commands` that help, and a `note` on them."""

    first: Finding
    extent: str
    commands: Sequence[str]
    note: str = ""


@dataclass(frozen=True, slots=True)
class ColumnPictures:
    """The filters of one leaf column that the page shows; `trouble` is `error`, `warning` or ""."""

    column: str
    trouble: str
    unfolded: bool
    pictures: Sequence[FilterPicture]


def render_report(report: FileReport, build: Sequence[str] = (), why_not: str = "") -> str:
    """The page. `build`: the words that a command needs besides the name to change the file, none where none can, and
    `why_not`."""
    inspection = report.inspection
    tables = [report.advice] if report.advice else []
    advice = report.advice.columns if report.advice else ()
    findings = as_advised(report.validation.findings, tables)
    verdicts = {each.column: each for each in advice}
    to_do = _to_do(report, verdicts)
    wanted = _wanted(report, to_do)
    traced = {each.column for each in findings if each.may_be_only_trace}
    wanted, held = sparing(wanted, traced)
    to_build = _to_build(report, wanted, build)
    groups = grouped_by_rule(findings)
    verdict = _verdict(report)
    advised = [*map(Call.of, to_build)]
    steps = [
        *_steps_about_unread(report),
        *steps_of(_open(groups, tables), wanted, advised, why_not),
        *steps_held(held),
    ]
    return template("report.html").render(
        report=report,
        file=inspection,
        name=os.path.basename(inspection.path) or inspection.path,
        version=__version__,
        verdict=verdict,
        summary=file_summary(report),
        columns=_columns(report.columns, verdicts),
        most_columns=MOST_COLUMNS,
        widest=max((max(one.chunk_bytes, one.filter_bytes) for one in report.columns), default=0),
        to_do=to_do,
        wrong=wrong_by(_broken_columns(report)),
        to_build=to_build,
        to_strip=to_strip(advice, [report.path], traced, build),
        rules=groups,
        steps=steps,
        most_steps=MOST_STEPS,
        nothing=why_nothing(
            verdict, steps, tables, is_open=bool(wanted) or report.validation.is_unknown
        ),
        most_places=MOST_PLACES,
        pictures=list(_pictures(report)),
        advice=in_order(advice),
        on_budget=[*lines_on_budget(report.advice)] if report.advice else [],
        chosen=_chosen(inspection),
        probes=FPP_PROBES,
        most_measured=_most_measured(report.columns),
        shades=charts.SHADES,
        scale=[level / charts.SHADES - 1e-9 for level in range(1, charts.SHADES + 1)],
    )


def _verdict(report: FileReport) -> str:
    if report.unread:
        return "error"
    found = _trouble(report.validation.findings)
    return found or ("fine" if report.validation.checked.filters else "nothing")


def _chosen(inspection: FileInspection) -> str:
    """The row groups that were asked for; empty for all."""
    places = [part.place for part in inspection.parts]
    return where(None, places) if len(places) < inspection.num_parts else ""


def _most_measured(columns: Sequence[ColumnOverview]) -> int | None:
    """The most filters of a column whose FPP was measured; None if all were."""
    if all(column.num_measured == column.num_filters for column in columns):
        return None
    return max(column.num_measured for column in columns)


def _trouble(findings: Iterable[Finding]) -> str:
    """`error` or `warning`, whichever is worst; empty if there is neither."""
    found = {finding.severity for finding in findings}
    return next((severity for severity in ("error", "warning") if severity in found), "")


def _columns(
    columns: Sequence[ColumnOverview], verdicts: Mapping[str, ColumnAdvice]
) -> Sequence[ColumnOverview]:
    """In schema order; if there are too many, first those with filters, then those that deserve
    them."""

    def interest(column: ColumnOverview) -> int:
        advice = verdicts.get(column.column)
        if column.num_filters:
            return 0
        return 1 if advice and advice.verdict != "skip" else 2

    return sorted(columns, key=interest) if len(columns) > MOST_COLUMNS else columns


def _to_do(report: FileReport, verdicts: Mapping[str, ColumnAdvice]) -> dict[str, str]:
    """The verdict of the advice by column; but if filters should be built and are there, `keep`, or
    `rebuild` if they are broken."""
    broken = _broken_columns(report)
    return {
        column: to_do(advice, is_broken=column in broken) for column, advice in verdicts.items()
    }


def _broken_columns(report: FileReport) -> dict[str, list[str]]:
    """Those with filters that are wrong, with the rules that say so."""
    found: dict[str, set[str]] = {}
    for each in report.validation.findings:
        if each.is_against_filter and each.column is not None:
            found.setdefault(each.column, set()).add(each.rule)
    return {column: sorted(rules) for column, rules in found.items()}


def wrong_by(broken: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Why filters that are there are no good, by column: what the advice, which knows only how large they are, cannot
    say."""
    known = rules()
    return {
        column: f"filters that are there are wrong: {', '.join(known[each].heading for each in ids)}"
        for column, ids in broken.items()
    }


def _wanted(report: FileReport, to_do: Mapping[str, str]) -> list[ColumnAdvice]:
    """What is advised and missing or too small."""
    if report.advice is None or report.advice.obstacles:
        return []
    return [
        each
        for each in report.advice.columns
        if to_do[each.column] == "build" or (each.verdict == "build" and each.too_small)
    ]


def _to_build(
    report: FileReport, wanted: Iterable[ColumnAdvice], options: Sequence[str]
) -> list[str]:
    """The commands that build that, one for all columns of the same rate."""
    if not options:
        return []
    return united(
        command(
            *("build", report.path, "-c", quoted_name(each.column), "--fpp", repr(each.fpp)),
            *(*options, *replacing([each])),
        )
        for each in wanted
    )


def to_strip(
    advice: Iterable[ColumnAdvice],
    names: Sequence[str],
    traced: Container[str | None],
    options: Sequence[str],
) -> dict[str, str]:
    """By column, the commands that strip filters which are of no use to any reader, and are `traced` to no pages that
    have changed; none where single columns cannot be stripped, as in tables."""
    if not options or "--table" in options:
        return {}
    return {
        each.column: command("strip", *names, "-c", quoted_name(each.column), *options)
        for each in advice
        if each.is_needless and each.column not in traced
    }


def as_advised(findings: Iterable[Finding], advice: Sequence[AdviceReport]) -> list[Finding]:
    """With commands that strip filters in place of those that build better ones, of columns that deserve none in any
    of the tables which the advice is on; without those about rates that a budget keeps."""
    may_have = {each.column: False for table in advice for each in table.columns}
    for each in (each for table in advice for each in table.columns):
        may_have[each.column] |= each.verdict != "skip" or not each.eligible

    def next_of(found: Finding) -> str | None:
        if found.next is None or found.column is None:
            return found.next
        if is_within_budget(found, advice):
            return None
        return found.next if may_have.get(found.column, True) else stripping(found.next)

    return [replace(each, next=next_of(each)) for each in findings]


def is_within_budget(found: Finding, advice: Iterable[AdviceReport]) -> bool:
    """Whether a filter is only too full for the usual rate, and a budget keeps it."""
    plans = [each.budget for each in advice if each.budget is not None]
    return found.rule == _HIGH_FPP and any(
        found.column == each.column for plan in plans for each in plan.kept
    )


def why_nothing(
    verdict: str, steps: Sequence[Step], advice: Sequence[AdviceReport], *, is_open: bool
) -> str:
    """Why nothing is to be done next; empty if something is, or may be, as something `is_open`. Nothing is wrong, or
    nothing but what a budget keeps."""
    if not advice or is_open:
        return ""
    if verdict == "fine" or (verdict == "warning" and not steps):
        return "all filters that are advised are there, and right"
    are_spared = all(
        each.verdict in ("optional", "skip") for table in advice for each in table.columns
    )
    return (
        "there are no filters, and none is advised" if verdict == "nothing" and are_spared else ""
    )


def _open(
    rules: Iterable[Sequence[FindingGroup]], advice: Sequence[AdviceReport]
) -> Iterator[Broken]:
    """The rules about which something is to be done, see is_within_budget."""
    for groups in rules:
        if not all(is_within_budget(each.first, advice) for each in groups):
            yield _broken(groups)


def _broken(groups: Sequence[FindingGroup]) -> Broken:
    found = [each for group in groups for each in group.findings]
    return Broken(found[0], number_of(len(found), "time"), _commands(groups), on_traces(found))


def on_traces(findings: Iterable[Finding]) -> str:
    """What to know before any of their filters goes."""
    return ONLY_TRACE if any(each.may_be_only_trace for each in findings) else ""


def sparing(
    wanted: Iterable[ColumnAdvice], traced: Container[str | None]
) -> tuple[list[ColumnAdvice], list[ColumnAdvice]]:
    """What is advised without new filters for those columns whose filters may be `traced` to pages that have changed;
    and what is not to be done for now."""
    held = [each for each in wanted if each.column in traced and each.too_small]
    kept = (replace(each, too_small=0) if each in held else each for each in wanted)
    return [each for each in kept if each.missing or each.too_small], held


def steps_held(held: Iterable[ColumnAdvice]) -> Iterator[Step]:
    if names := [*dict.fromkeys(quoted_name(each.column) for each in held)]:
        text = f"Filters that are too small stay for now: {shortened(names)}"
        yield Step("build", text, "", "advice", note=ONLY_TRACE)


def with_unread_values(number: int) -> str:
    """`2 files with values that could not be read`"""
    return f"{number_of(number, 'file')} with values that could not be read"


def step_about_values(text: str, unread: Sequence[Failure]) -> Step:
    """The files whose values could not all be read: why, and what helps."""
    whys = [f"{each.message}." for each in unread[:MOST_STEPS]]
    if len(unread) == 1:
        whys = [sentence(each.message.removeprefix(f"{each.path}: ")) for each in unread]
    # What the reason offers itself is no other copy.
    helps = dict.fromkeys(hint_for(each.message.partition("; ")[0]) for each in unread)
    note = " ".join([*whys, *map(sentence, filter(None, helps))])
    return Step("error", text, "", "advice", note=note)


def sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def _steps_about_unread(report: FileReport) -> Iterator[Step]:
    """Unless a finding says so already."""
    reason = report.unread
    if reason and not any(each.message in reason for each in report.validation.findings):
        failure = Failure(report.path, f"{report.path}: {reason}")
        yield step_about_values("Values could not be read", [failure])


def file_summary(report: FileReport) -> str:
    """What was found, in a line."""
    found = summary(report.validation)
    if report.unread is None:
        return found
    return f"{found.rpartition(': ')[0]}; values could not be read: not ok"


def _steps_against(broken: Iterable[Broken], to_build: Sequence[Call]) -> list[Step]:
    """What to do about rules: errors before warnings, and first what is wrong with filters that are there, as rows
    may be lost by them. Each command, but no help in words, once, and in its place the one that does it and more, if
    there is any, first of those `to_build`, at their rates."""
    told = [each for each in broken if each.first.severity != "note"]
    told.sort(key=lambda each: _urgency(each.first))
    calls = {
        each: Call.of(each)
        for each in chain.from_iterable(map(_helps_of, told))
        if _is_command(each)
    }

    def wider(call: Call) -> Call:
        # What is advised stays, where a rule has the same in other words.
        return widest(call, [each for each in calls.values() if not each.is_done_by(call)])

    def in_place_of(help: str) -> list[str]:
        if help not in calls:
            return [help]
        return [wider(each).text for each in advised_for(calls[help], to_build)]

    done: set[str] = set()
    steps = []
    for each in told:
        helps = _helps_of(each)
        instead = dict.fromkeys(chain.from_iterable(map(in_place_of, helps)))
        new = [help for help in instead if help not in done]
        done.update(filter(_is_command, new))
        note = joined("" if new else ABOVE if helps else NO_COMMAND, each.note)
        title = each.first.definition.title
        steps.append(Step(each.first.severity, title, each.extent, "findings", new, note))
    return steps


def _is_command(help: str) -> bool:
    return help.startswith("pbloom ")


def _helps_of(broken: Broken) -> list[str]:
    return [each.removeprefix("next: ") for each in broken.commands]


def _urgency(first: Finding) -> tuple[int, bool]:
    return -first.severity.rank, not first.is_against_filter


def steps_of(
    broken: Iterable[Broken],
    wanted: Sequence[ColumnAdvice],
    to_build: Sequence[Call],
    why_not: str,
    note: str = "",
) -> list[Step]:
    """What to do about rules, then about the advice, with a `note` on it, or `why_not`. A command that does both
    stands where the rule does, at the rate that is advised, and no other step says so again."""
    steps, done = [], list[Call]()
    for step in _steps_against(broken, to_build):
        if both := [each for each in to_build if each.text in step.commands]:
            done += both
            texts = [each.text for each in both]
            notes = _on_replacing(texts, _built_by(both, wanted), note)
            step = replace(step, note=joined(step.note, notes))
        steps.append(step)
    built = _built_by(done, wanted)
    # Of a column that several commands build, some files are left.
    rest = [each for each in wanted if each not in built] or wanted
    commands = [each.text for each in to_build if each not in done]
    notes = why_not or _on_replacing(commands, rest, note)
    return [*steps, *_steps_to_build(rest, commands, why_not, notes)]


def joined(*notes: str) -> str:
    return " ".join(filter(None, notes))


def _on_replacing(commands: Iterable[str], wanted: Iterable[ColumnAdvice], note: str) -> str:
    """What to know where filters that are there go, with the `note` on the advice."""
    are_replacing = any("--existing" in shlex.split(each) for each in commands)
    return joined(_on_rates(wanted), note) if are_replacing else ""


def _built_by(calls: Iterable[Call], wanted: Iterable[ColumnAdvice]) -> list[ColumnAdvice]:
    names = set[str]().union(*(each.done for each in calls))
    return [each for each in wanted if each.column in names]


def _on_rates(wanted: Iterable[ColumnAdvice]) -> str:
    return IF_CHOSEN if any(each.too_small for each in wanted) else ""


def _steps_to_build(
    wanted: Sequence[ColumnAdvice], commands: Sequence[str], why_not: str, note: str
) -> Iterator[Step]:
    """The filters that are advised and missing or too small, if commands build them, or it can be said `why_not`."""
    if commands or (wanted and why_not):
        names = shortened([*dict.fromkeys(quoted_name(each.column) for each in wanted)])
        few = "Filters that are advised are missing or too small"
        yield Step("build", f"{few}: {names}", "", "advice", commands, note)


def in_order(advice: Sequence[ColumnAdvice]) -> Sequence[ColumnAdvice]:
    """What to do first, what not to do last."""
    order: Sequence[AdviceVerdict] = ("build", "left out", "optional", "skip")
    return sorted(advice, key=lambda one: order.index(one.verdict))


def lines_on_budget(advice: AdviceReport) -> Iterator[str]:
    """What it is spent on, if there is one."""
    if advice.budget is not None:
        yield from budget_lines(advice.budget, UNITS[advice.format].group, in_full=False)


def _pictures(report: FileReport) -> Iterator[ColumnPictures]:
    """By leaf column, in schema order."""
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


def _commands(groups: Sequence[FindingGroup]) -> list[str]:
    """The commands that help about the findings of one rule."""
    return next_commands(finding for group in groups for finding in group.findings)


def _cells(occupancy: FilterOccupancy) -> str:
    """`512 cells of 128 blocks`"""
    cells, blocks = len(occupancy.map), occupancy.num_blocks
    each = "1 block" if cells == blocks else f"{blocks / cells:,.4g} blocks"
    return f"{number_of(cells, 'cell')} of {each}"


def _engines(advice: ColumnAdvice) -> str:
    """Which engines use such filters, and why others do not."""
    searching = advice.searching_dictionaries
    using = ", ".join(map(in_words, users(advice)))
    instead = f"{', '.join(searching)}: search the dictionaries, which have all values"
    others = [use for use in advice.engines if not use.uses]
    refusals = "; ".join(
        f"{', '.join(use.engine for use in others if use.reason == reason)}: {reason}"
        for reason in dict.fromkeys(use.reason for use in others)
    )
    not_by = "; ".join(filter(None, (instead * bool(searching), refusals)))
    return f"Used by {using or 'no engine'}. {not_by}".strip()


@cache
def template(name: str) -> Template:
    """A page of this room, with what pages are made of."""
    environment = Environment(
        loader=PackageLoader("parquet_bloom", "render"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"size": size, "percent": percent, "of": number_of}
    environment.filters["with_hint"] = lambda message: with_hint(in_options(message))
    environment.filters["number"] = "{:,.0f}".format
    environment.globals |= {
        "map_chart": charts.map_chart,
        "histogram_chart": charts.histogram_chart,
        "strip_chart": charts.strip_chart,
        "cells": _cells,
        "commands": _commands,
        "engines": _engines,
    }
    return environment.get_template(name)


def _shown(value: Any) -> Any:
    """Texts as the page shows them; HTML is left alone."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return visible(value if len(value) <= MOST_CHARACTERS else value[:MOST_CHARACTERS] + "…")


def visible(text: str) -> str:
    """`text` with invisible characters escaped: control characters, line ends, changes of the
    writing direction, surrogates of names that are not UTF-8. In commands, as shells take them."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in for_shells(text)
    )
