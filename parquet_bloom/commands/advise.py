"""pbloom advise"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from parquet_bloom.advice.samples import read_value_sample
from parquet_bloom.commands import file_options
from parquet_bloom.commands import options as option
from parquet_bloom.commands.check_options import notes_on_policy, policy_of
from parquet_bloom.commands.inputs import Answers, Inputs
from parquet_bloom.commands.key_options import arguments_of
from parquet_bloom.commands.parameters import FILE
from parquet_bloom.commands.sections import Command, output_option, values_option
from parquet_bloom.container import UNITS, Units, number_of, without_numbers
from parquet_bloom.container.in_commands import MOST_JUDGED, AsTable, InCommands, command_for
from parquet_bloom.dataclass import dataclass
from parquet_bloom.engines.reading import engines_named
from parquet_bloom.errors import quoted_name
from parquet_bloom.filters.rates import exact_percent, percent, percent_beyond
from parquet_bloom.filters.sizing import LARGE_SHARE, dominates
from parquet_bloom.options import DEFAULT_FPP, AdviseOptions
from parquet_bloom.program import options_again
from parquet_bloom.render.budget import budget_lines
from parquet_bloom.render.engine_use import in_words, limits, notes, users
from parquet_bloom.render.hints import (
    for_all,
    on_replaced_too,
    united,
    with_key_hint,
    would_refuse,
)
from parquet_bloom.render.palette import painted
from parquet_bloom.render.reports import FileSummary, Remark, SummarizedView, Summary
from parquet_bloom.render.schemas import MOST_IN_FULL, differences
from parquet_bloom.render.shell_words import for_shells
from parquet_bloom.render.terminal import (
    Cells,
    is_cut,
    progress,
    write_line,
    write_table,
    write_text,
)
from parquet_bloom.render.wording import (
    MOST_SHOWN,
    in_one,
    listed,
    shortened,
    size,
)
from parquet_bloom.values.types import literal
from parquet_bloom.verbs.advise import (
    AdviceReport,
    Advisor,
    ColumnAdvice,
    RateOffer,
    TableAdvisor,
)
from parquet_bloom.verbs.advised_builds import (
    Builds,
    InNeed,
    builds_of_tables,
    choosing,
    files_in_need,
    in_one_call,
    replaced_too,
    replacing,
    spares_some,
)

if TYPE_CHECKING:
    from parquet_bloom.advice.shares import HeaviestFiles
    from parquet_bloom.encryption.keys import Keys


@click.command(cls=Command)
@file_options.files_together
@option.columns()
@option.engines
@option.row_groups
@file_options.union_by_name
@option.fpp_to_advise
@option.max_bytes
@option.filter_budget
@option.ignore_checksums
@values_option(
    "--value-sample",
    type=FILE,
    help="Values that queries really look up: CSV with the names of columns in line 1, or, of a single --column, one"
    " per line.",
)
@output_option(
    "--details",
    is_flag=True,
    help="Also show what each of several rates would cost and save, which engines use each filter, and settings for"
    " writers.",
)
@option.which_policy
@option.answered()
@option.threads
@option.access
def advise(
    answers: Answers, columns: tuple[str, ...] | None, value_sample: Path | None, details: bool,
    config: Path | None, no_config: bool, keys: Keys | None, **given: Any,
) -> None:  # fmt: skip
    """Say which columns deserve a filter, and what it would save.

    For each column: how large its filters would be, and how many row groups (index groups in ORC files) a point
    look-up reads, with min/max statistics alone and with a filter, judged by the stored values or by
    --value-sample. Files with the same columns, of those that -c names if it is given, are judged together, as one
    table, and all files of a --table, whatever columns they lack. NDV is the number of distinct values. Behind ±, NDV
    has its standard error, which is no bound: one estimate in three is further off.

    A pbloom.toml, or pyproject.toml, in the working folder or the nearest above, is heeded as by `pbloom validate`:
    columns that it requires are among those to build, and rates are not above its max-fpp; --no-config leaves it out.

    The verdict, with the reason, is one of these; --json has it as `to_do`:

    \b
      build     worth filters, and some row groups have none
      rebuild   worth filters, and some are too small, or cannot be used
      keep      worth filters, and every row group has one already
      left out  worth filters, but --budget has no room for them
      optional  filters help few look-ups, or take more than the column
      skip      filters would save nothing, or the column can have none

    \b
    Examples:
      pbloom advise events.parquet
      pbloom advise lake/ --details
      pbloom advise lake/ --budget 2GiB
      pbloom advise lake/ --engine spark,trino
    """
    texts = read_value_sample(value_sample, columns or ()) if value_sample else {}
    inputs, as_json = answers.inputs, answers.as_json
    inputs.take_once()
    inputs.check_columns((*texts, *(columns or ())))
    sample = {name: list(map(literal, each)) for name, each in texts.items()}
    policy = policy_of(config, no_config)
    options = AdviseOptions(
        columns=columns, value_sample=sample or None, rates=details, **policy.for_advice(), **given
    )
    if options.union_by_name:
        inputs.check_some_have(columns or (), keys)
    # Only documents are about single files.
    of_files = Advisor(options, keys) if as_json else None
    advisor = of_files or TableAdvisor(options, keys)
    # The options that commands which change the files need besides.
    missing_keys: dict[tuple[str, ...], None] = {}
    # By column, those with which they read it in files that lack its key: others have it, so that it may be advised.
    column_keys: dict[str, dict[tuple[str, ...], None]] = {}

    def work(path: str) -> None:
        with progress(path) as show, inputs.open(path, keys) as file:
            advisor.add_file(file, show)
            missing_keys[file.missing_key_arguments] = None
            for name, arguments in file.missing_column_keys(columns).items():
                column_keys.setdefault(name, {})[arguments] = None

    code = inputs.each(work, complaints=inputs.complaints(answers.at_once))
    reports = list(of_files.reports() if of_files else advisor.tables())
    view = AdviceView(len(inputs.unread), engines_named(options.engines))
    of_readers = inputs.notes_on_readers() if details and reports and not as_json else ()
    if len(reports) < 2 or answers.at_once or details:
        for report in reports:
            answers.write(report, view)
            if details and not as_json:
                _write_details(report, options, answers.verbose, bool(of_readers))
    else:
        _write_several(reports, view)
    for line in ["", "in the table:"] * bool(of_readers):
        write_line(line)
    for line in of_readers:
        write_text(f"  {line}")
    if not as_json:
        different = list(differences(reports))
        for line in [""] * bool(details and different) + different:
            write_text(line)
        judging = (*choosing(options), *policy.arguments)
        to_build = _to_build(reports, options, inputs, judging, advisor.in_need)
        lighter = list(_to_lighten(reports, inputs))
        steps = [*_to_repair(reports), *to_build]
        for each in chain.from_iterable(_all_to_build(_judged(report)) for report in reports):
            missing_keys |= column_keys.get(each.column, {})
        of_keys = (*arguments_of(keys), *chain.from_iterable(missing_keys))
        lines = _next_lines(reports, options, inputs, [*steps, *lighter], of_keys)
        write_next = write_line if answers.verbose else write_text
        on_share = () if lighter else _on_share(reports, steps, advisor.heaviest)
        judged = (each.column for report in reports for each in report.columns)
        lines = [*notes_on_policy(policy, judged), *on_share, *lines]
        for line in [""] * bool(details and lines) + lines:
            write_next(line)
    inputs.tell_lacking(options.union_by_name)
    sys.exit(code)


def _write_several(reports: Sequence[AdviceReport], view: AdviceView) -> None:
    """What is alike in them once, and a total below."""
    summary = Summary(len(reports), view, "schema")
    for report in reports:
        summary.add(report.path, view.summarize(report))
        if len(reports) <= MOST_IN_FULL:
            view.write_columns(report)
    summary.finish()


HEADER = ("column", "type", "verdict", "NDV", "filters", "of the file", "{}s read", "reason")
# For terminals of 80 characters.
NARROW = ("column", "type", "verdict", "NDV", "filters", "of file", "groups read")
# Of many columns.
BY_VERDICT = ("verdict", "columns", "filters", "of file", "groups read")
_BY_VERDICT_GIVES = ("of file", "of files")
# What a share is of, where several files are judged together.
_OF_SEVERAL = {"of the file": "of all files", "of file": "of files"}
VERDICTS = ("build", "rebuild", "keep", "left out", "optional", "skip")
# Those whose columns the heading names.
_IN_HEADING = ("build", "rebuild", "keep")
# What gives way there: what a filter costs and saves stays.
_GIVES = ("type…", "type", "column…", "NDV", "filters")


class AdviceView(SummarizedView[AdviceReport]):
    """The advice on tables. `num_failed`: of how many files there is none; `engines`: for which it is,
    none for all."""

    def __init__(self, num_failed: int = 0, engines: Sequence[str] = ()) -> None:
        self._num_failed = num_failed
        self._engines = engines

    def summarize(self, report: AdviceReport) -> FileSummary:
        judged = _judged(report)
        return FileSummary(
            state=f"with{'' if _all_to_build(judged) else 'out'} columns to build",
            line=_heading(report, judged, self._engines, in_full=False),
            remarks=[Remark("budget", line, line) for line in _on_budget(report, in_full=False)],
            numbers={"files": report.files},
            is_answer=bool(_all_to_build(judged)),
        )

    def total(self, numbers: Mapping[str, int]) -> str:
        files = number_of(numbers["files"] + self._num_failed, "file")
        failed = f", {self._num_failed:,} of them {painted('failed')}" * bool(self._num_failed)
        return files + failed

    def hint(self, states: Mapping[str, int], numbers: Mapping[str, int]) -> str:
        is_in_full = sum(states.values()) <= MOST_IN_FULL
        return "" if is_in_full else "--verbose shows the columns of each schema, and why"

    def write(self, report: AdviceReport, verbose: bool = False) -> None:
        """One line about the files, then one row per column, or where these are too many for a terminal, per
        verdict; on a terminal, the reasons follow below."""
        heading = _heading(report, _judged(report), self._engines, verbose)
        write_text(f"{report.path}: {heading}")
        for line in _on_budget(report, in_full=verbose or not is_cut(len(report.columns))):
            write_text(line)
        self.write_columns(report, verbose)

    def write_columns(self, report: AdviceReport, verbose: bool = False) -> None:
        """What stands below that line."""
        judged = _judged(report)
        for line in would_refuse(report.obstacles):
            write_text(line)
        if judged:
            self._write_rows(report, judged, verbose)
        for line in self._notes(judged):
            write_text(line)

    def _notes(self, judged: Sequence[_Judged]) -> Iterator[str]:
        """The engines that lose rows of columns which are to have filters, or may have them, as `build` notes them;
        and when those that are asked about use the filters that are to be, if not always."""
        wanted, optional = _all_with_filters(judged), _all_to(judged, "optional")
        yield from notes(
            (note, each)
            for each in wanted
            for note in (*self._losses(each), *limits(each, self._engines))
        )
        yield from notes((note, each) for each in optional for note in self._losses(each))

    def _losses(self, advice: ColumnAdvice) -> Iterator[str]:
        asked = self._engines or [use.engine for use in advice.engines]
        yield from (use.loses for use in advice.engines if use.loses and use.engine in asked)

    def _write_rows(self, report: AdviceReport, judged: Sequence[_Judged], verbose: bool) -> None:
        unit, cells = UNITS[report.format].group, list(map(_row, judged))
        if not sys.stdout.isatty():
            write_table([name.format(unit) for name in _head(HEADER, report)], cells)
            return
        is_summed_up = is_cut(len(cells)) and not verbose
        if is_summed_up:
            head = _head(BY_VERDICT, report)
            write_table(head, list(_by_verdict(judged)), _BY_VERDICT_GIVES)
        else:
            rows = [row[: len(NARROW)] for row in cells]
            write_table(_head(NARROW, report), rows, _GIVES, verbose)
        for line in _reasons(judged, verbose):
            write_text(line)
        if is_summed_up:
            write_text("-c NAME shows a column, --verbose shows all.")


def _on_budget(report: AdviceReport, in_full: bool) -> Iterator[str]:
    """What it is spent on, if there is one; see budget_lines."""
    if report.budget is not None:
        yield from budget_lines(report.budget, UNITS[report.format].group, in_full)


def _head(names: Sequence[str], report: AdviceReport) -> list[str]:
    return [_OF_SEVERAL.get(name, name) if report.files > 1 else name for name in names]


@dataclass(frozen=True, slots=True)
class _Judged:
    """What is to be done with a column: one of VERDICTS; and the figures of the filters to build, or of those to
    keep; none where a budget leaves the column out."""

    verdict: str
    advice: ColumnAdvice
    filter_bytes: int
    filter_share: float
    groups_filter: float | None


def _judged(report: AdviceReport) -> list[_Judged]:
    """In place of `build`, `keep` where no group lacks a filter, and `rebuild` where one is too small."""
    return [_judged_column(advice, report.size) for advice in report.columns]


def _judged_column(advice: ColumnAdvice, size: int) -> _Judged:
    verdict = advice.to_do
    if verdict == "keep" and advice.groups_filter_there is not None:
        there = advice.filter_bytes_there
        return _Judged(verdict, advice, there, there / size, advice.groups_filter_there)
    if verdict == "left out":
        # Nothing is built.
        return _Judged(verdict, advice, 0, 0.0, None)
    return _Judged(verdict, advice, advice.filter_bytes, advice.filter_share, advice.groups_filter)


def _by_verdict(judged: Sequence[_Judged]) -> Iterator[Cells]:
    """What is to be done first comes first; what a look-up reads is the mean over columns."""
    for verdict in VERDICTS:
        if alike := [each for each in judged if each.verdict == verdict]:
            num_bytes = sum(each.filter_bytes for each in alike)
            read = [
                (each.advice.groups_statistics, each.groups_filter)
                for each in alike
                if each.advice.groups_statistics is not None and each.groups_filter is not None
            ]
            means = (sum(column) / len(read) for column in zip(*read, strict=True))
            yield (
                verdict,
                f"{len(alike):,}",
                size(num_bytes) if num_bytes else "",
                percent(sum(each.filter_share for each in alike)) if num_bytes else "",
                _read(*means) if read else "",
            )


def _reasons(judged: Sequence[_Judged], verbose: bool) -> Iterator[str]:
    """The verdict and why, column by column; unless `verbose`, once for all columns where it differs only in numbers,
    and a clause that would come again, in a note behind."""
    if verbose:
        for each in judged:
            yield f"{painted(each.verdict)} {each.advice.column}: {with_key_hint(each.advice.reason)}"
        return
    alike: dict[tuple[str, str], list[ColumnAdvice]] = {}
    for each in judged:
        likeness = each.verdict, without_numbers(each.advice.reason)
        alike.setdefault(likeness, []).append(each.advice)
    told = Counter(chain.from_iterable(map(_common, alike.values())))
    repeated: dict[str, list[ColumnAdvice]] = {}
    for (verdict, _), those in sorted(alike.items(), key=lambda item: VERDICTS.index(item[0][0])):
        again = [clause for clause in _common(those) if told[clause] > 1]
        for clause in again:
            repeated.setdefault(clause, []).extend(those)
        why = in_one(_without(each.reason, again) for each in those)
        yield f"{painted(verdict)} {_those(verdict, those, judged)}: {with_key_hint(why)}"
    for names, clauses in _by_columns(repeated, len(judged)):
        yield f"note: {names}: {'; '.join(clauses)}"


def _those(verdict: str, those: Sequence[ColumnAdvice], judged: Sequence[_Judged]) -> str:
    """Their names, if the heading has not named as many of them already."""
    are_named = verdict in _IN_HEADING and len(those) > MOST_SHOWN
    if are_named and len(those) == len(_all_to(judged, verdict)):
        return f"all {len(those):,}"
    return shortened([quoted_name(each.column) for each in those])


def _common(those: Sequence[ColumnAdvice]) -> list[str]:
    """The clauses that all their reasons have. The first one is the reason of the verdict, and stays with it."""
    first, *others = (each.reason.split("; ")[1:] for each in those)
    return [clause for clause in first if all(clause in each for each in others)]


def _without(reason: str, clauses: Sequence[str]) -> str:
    first, *others = reason.split("; ")
    return "; ".join([first, *(each for each in others if each not in clauses)])


def _by_columns(
    repeated: Mapping[str, Sequence[ColumnAdvice]], num_columns: int
) -> Iterator[tuple[str, list[str]]]:
    """The clauses that are about the same columns, of so many, together."""
    clauses: dict[tuple[str, ...], list[str]] = {}
    for clause, those in repeated.items():
        clauses.setdefault(tuple(quoted_name(each.column) for each in those), []).append(clause)
    for names, each in clauses.items():
        are_all = len(names) == num_columns > MOST_SHOWN
        yield f"all {num_columns:,} columns" if are_all else f"columns {shortened(names)}", each


def _heading(
    report: AdviceReport, judged: Sequence[_Judged], engines: Sequence[str], in_full: bool
) -> str:
    """`engines`: for which it is, none for all; `in_full`: with the names of all columns to build, not some."""
    unit = UNITS[report.format].group
    rows, groups = number_of(report.num_rows, "row"), number_of(report.num_groups, unit)
    rates = _rates(report)
    built = listed([_named(each, rates) for each in _all_to(judged, "build")], in_full)
    again = listed([_named(each, rates) for each in _all_to(judged, "rebuild")], in_full)
    kept = listed([quoted_name(each.column) for each in _all_to(judged, "keep")], in_full)
    to_build = f"build filters for {built}" if built else ""
    to_rebuild = f"rebuild the filters of {again}" if again else ""
    to_keep = f"keep the filters of {kept}" if kept else ""
    # For others, there may be some.
    for_whom = f" for {', '.join(engines)}" * bool(engines)
    none = f"no filter recommended{for_whom}"
    if _all_to(judged, "left out"):
        none = "the budget is too small"
    if not report.columns:
        none = "none of the columns that were asked about"
    summary = "; ".join(filter(None, (to_build, to_rebuild, to_keep))) or none
    return f"{rows} in {groups}, {size(report.size)}; {summary}"


def _all_to(judged: Sequence[_Judged], verdict: str) -> list[ColumnAdvice]:
    return [each.advice for each in judged if each.verdict == verdict]


def _all_to_build(judged: Sequence[_Judged]) -> list[ColumnAdvice]:
    """Those there are again, too."""
    return [*_all_to(judged, "build"), *_all_to(judged, "rebuild")]


def _all_with_filters(judged: Sequence[_Judged]) -> list[ColumnAdvice]:
    """Those to build, and those to keep."""
    return [*_all_to_build(judged), *_all_to(judged, "keep")]


def _rates(report: AdviceReport) -> dict[str, str]:
    """By column, the rate to build at if that is not the usual one."""
    return {
        each.column: exact_percent(each.fpp)
        for each in report.columns
        if each.fpp not in (None, DEFAULT_FPP)
    }


def _named(advice: ColumnAdvice, rates: Mapping[str, str]) -> str:
    rate = rates.get(advice.column)
    name = quoted_name(advice.column)
    return f"{name} (at {rate})" if rate else name


def _row(judged: _Judged) -> Cells:
    advice = judged.advice
    return (
        advice.column,
        advice.logical_type or advice.physical_type,
        judged.verdict,
        _ndv(advice),
        size(judged.filter_bytes) if judged.filter_bytes else "",
        percent(judged.filter_share) if judged.filter_bytes else "",
        _read(advice.groups_statistics, judged.groups_filter),
        with_key_hint(advice.reason),
    )


def _ndv(advice: ColumnAdvice) -> str:
    """`1,024`, or `5,000,000 ± 0.78 %`."""
    if advice.ndv is None:
        return ""
    error = "" if advice.ndv_error is None else f" ± {percent(advice.ndv_error)}"
    return f"{advice.ndv:,}{error}"


def _read(by_statistics: float | None, with_filter: float | None) -> str:
    """`8.00 → 1.01`: by min/max statistics, and with filters."""
    if by_statistics is None or with_filter is None:
        return ""
    return f"{by_statistics:.2f} → {with_filter:.2f}"


def _write_details(
    report: AdviceReport, options: AdviseOptions, verbose: bool, has_notes: bool
) -> None:
    """What each of several rates would be for all columns to build; then for each column that may deserve a
    filter, on a terminal for the first ten unless `verbose`: its rates, which engines use it, and settings for
    writers. `has_notes`: below it is said which engines do otherwise, as the files are those of a table."""
    # Nothing is recommended where a rate was asked for.
    is_asked = options.fpp is not None
    judged = _judged(report)
    _write_rates(judged, UNITS[report.format], sums_up=not is_asked, in_full=verbose)
    here = "as asked" if is_asked else "recommended"
    deserving = [each for each in judged if each.verdict != "skip"]
    shown = deserving if verbose or not sys.stdout.isatty() else deserving[:MOST_SHOWN]
    for each in shown:
        advice = each.advice
        write_line("")
        write_line(f"{advice.column}: {painted(each.verdict)}")
        for offer in advice.rates or ():
            is_to_build = is_asked or each.verdict in ("build", "rebuild")
            is_it = offer.fpp == advice.fpp and is_to_build
            mark = f" ({here})" * is_it
            write_line(
                f"  at {exact_percent(offer.fpp)}: {size(offer.filter_bytes)},"
                f" {percent(offer.filter_share)} of all files;"
                f" {offer.groups_filter:,.2f} {UNITS[report.format].group}s read{mark}"
            )
        for line in (*_alike(advice, UNITS[report.format]), *_used(advice, has_notes)):
            write_line(f"  {line}")
        for settings in advice.settings:
            write_line(f"  {settings.writer}:")
            # Ends of lines in names are none of the text.
            for line in for_shells(settings.text).split("\n"):
                write_line(f"    {line}")
    if left := len(deserving) - len(shown):
        write_text(f"And {number_of(left, 'more column')}: -c NAME shows one, --verbose shows all.")


def _write_rates(judged: Sequence[_Judged], units: Units, sums_up: bool, in_full: bool) -> None:
    """A row per rate, over all columns to build: their filters together, and what a look-up in one of them reads on
    average. `sums_up`: one more for each column at the rate that is recommended for it. `in_full`: with the names of
    all."""
    chosen = [each for each in _all_to(judged, "build") if each.rates]
    if not chosen:
        return

    def row(name: str, offers: Sequence[RateOffer]) -> Cells:
        return (
            name,
            size(sum(each.filter_bytes for each in offers)),
            percent(sum(each.filter_share for each in offers)),
            f"{sum(each.groups_filter for each in offers) / len(chosen):,.2f}",
        )

    by_rate: dict[float, list[RateOffer]] = {}
    for offer in (offer for each in chosen for offer in each.rates or ()):
        by_rate.setdefault(offer.fpp, []).append(offer)
    advised = [offer for each in chosen for offer in each.rates or () if offer.fpp == each.fpp]
    # A budget has rates that are told of some columns only.
    rows = [
        row(exact_percent(rate), offers)
        for rate, offers in by_rate.items()
        if len(offers) == len(chosen)
    ]
    if sums_up and len(advised) == len(chosen):
        rows.append(row("as recommended", advised))
    without = sum(each.groups_statistics or 0.0 for each in chosen) / len(chosen)
    rows.insert(0, ("no filters", "", "", f"{without:,.2f}"))
    write_line("")
    write_text(
        f"{number_of(len(chosen), 'column')} to build: "
        f"{listed([quoted_name(each.column) for each in chosen], in_full)}"
    )
    write_table(("rate", "filters", "of all files", f"{units.group}s read"), rows)
    sizes = [sum(each.filter_bytes for each in offers) for offers in by_rate.values()]
    # As in _alike, of all columns at once.
    if not units.has_groups and len({*sizes}) < len(sizes):
        write_text(
            "Where rates have the same size, the filters are the same: each has a power of two for its size."
        )


def _alike(advice: ColumnAdvice, units: Units) -> Iterator[str]:
    """`the same filters at 1 % and 0.1 %`, where those of one size keep several rates; those of ORC have any size."""
    for num_bytes, offers in groupby(advice.rates or (), attrgetter("filter_bytes")):
        rates = [exact_percent(each.fpp) for each in offers]
        if num_bytes and len(rates) > 1 and not units.has_groups:
            yield f"the same filters at {', '.join(rates[:-1])} and {rates[-1]}"


def _used(advice: ColumnAdvice, has_notes: bool) -> Iterator[str]:
    """`used by Spark, DuckDB`, and a line for each that does not."""
    if those := users(advice):
        in_table = "; in the table, as said below" * has_notes
        yield f"used by {', '.join(map(in_words, those))}{in_table}"
    if others := advice.searching_dictionaries:
        yield f"not used by {', '.join(others)}: all values are in dictionaries, which are searched instead"
    yield from (
        f"not used by {each.engine}: {each.reason}" for each in advice.engines if not each.uses
    )


# ------------------------------------------------------------------------------------------------
# The commands that build what is recommended


@dataclass(frozen=True, slots=True)
class _Next:
    """A verb and its options: those that choose, with the columns, if these are named, and others; `files`: the only
    ones to change, none for all; `replaced_too`: columns with good filters, which it builds again."""

    verb: str
    choosing: str
    columns: str
    others: tuple[str, ...]
    files: Sequence[str] = ()
    replaced_too: Sequence[str] = ()


# What says which of the files that names mean, and is called the same where these are changed.
_WHICH_FILES: Final = frozenset(("--since", "--where"))


def _next_lines(
    reports: Sequence[AdviceReport], options: AdviseOptions, inputs: Inputs, steps: Sequence[_Next],
    keys: Sequence[str],
) -> list[str]:  # fmt: skip
    """None if only some row groups were judged, or `build` would refuse. `keys`: the options that files are opened
    and changed with."""
    is_refused = (
        inputs.are_of_tables or inputs.are_read_only or any(each.obstacles for each in reports)
    )
    if not steps or options.parts or is_refused:
        return []
    named, tables = _as_judged(inputs)
    is_one = len(inputs.files) == 1
    which = tuple(options_again(click.get_current_context(), _WHICH_FILES))
    commands = []
    for each in steps:
        command = f"pbloom {each.verb} FILE {each.choosing} --in-place"
        limits = which if tables or not (is_one or each.files) else ()
        again = (*each.others, *limits, *_as_for_advice(options), *keys)
        found = command_for(named, command, {"COLUMN": each.columns}, again)
        if found is not None:
            names = tables or each.files or inputs.narrowed_read_names
            commands.append(found if is_one else for_all(found, named.place, names, MOST_JUDGED))
    notes = _notes_on(steps) if commands else ()
    return [*notes, *(f"next: {each}" for each in united(commands))]


def _notes_on(steps: Iterable[_Next]) -> Iterator[str]:
    if names := [*dict.fromkeys(name for each in steps for name in each.replaced_too)]:
        yield f"note: {on_replaced_too(names)}"


def _first_read(inputs: Inputs) -> str:
    return next((each.path for each in inputs.files if each.path not in inputs.unread), "")


def _as_judged(inputs: Inputs) -> tuple[InCommands, list[str]]:
    """How commands name the first file that was read; if that is one of a table, with small files if any is, and the
    places of all tables that take the same options, else none."""
    named = inputs.in_commands(_first_read(inputs))
    if not isinstance(named, AsTable):
        return named, []
    read = (
        inputs.in_commands(each.path) for each in inputs.files if each.path not in inputs.unread
    )
    alike = [each for each in read if isinstance(each, AsTable) and each.changing == named.changing]
    is_small = any(each.is_small for each in alike)
    return replace(named, is_small=is_small), [*dict.fromkeys(each.place for each in alike)]


def _to_repair(reports: Sequence[AdviceReport]) -> Iterator[_Next]:
    """Where filters cannot be read. Those of columns that get new ones in any case need no repair."""
    for each in (each for report in reports for each in _all_to_build(_judged(report))):
        if each.unreadable and not each.too_small:
            yield _Next("repair", "--rebuild -c COLUMN", quoted_name(each.column), _at_rate(each))


def _at_rate(advice: ColumnAdvice) -> tuple[str, ...]:
    return () if advice.fpp in (None, DEFAULT_FPP) else ("--fpp", repr(advice.fpp))


def _to_build(
    reports: Sequence[AdviceReport],
    options: AdviseOptions,
    inputs: Inputs,
    judging: Sequence[str],
    in_need: InNeed,
) -> Iterator[_Next]:
    """Those of one table are named, so that nothing is judged again, unless they are many. Several tables have
    columns of their own, and within a budget each column has a rate of its own; where that would replace filters that
    are to stay, or files lack a column, they are named all the same, of several tables only those to replace.
    `judging`: the options by which columns are chosen; `in_need`: that of the advisor."""
    wanted = [
        each
        for report in reports
        for each in _all_to_build(_judged(report))
        if each.missing or each.too_small
    ]
    if not wanted:
        return
    builds = _builds(reports, options, inputs, wanted, in_need)
    asked = options.columns or ()

    def auto(
        columns: Sequence[ColumnAdvice], among: Sequence[str], *others: str
    ) -> Iterator[_Next]:
        # By the values that are looked up, nothing can be judged there.
        if columns and not options.value_sample:
            names = ",".join(map(quoted_name, among))
            which = f"--auto{' -c COLUMN' * bool(names)}"
            meant = among or [each.column for report in reports for each in report.columns]
            spoiled = replaced_too(reports, meant) if others else ()
            by_name = _by_name(among, reports, inputs)
            yield _Next("build", which, names, (*judging, *others, *by_name), (), spoiled)

    for each, files in builds.named:
        again = replacing([each])
        by_name = () if files else _by_name([each.column], reports, inputs)
        spoiled = replaced_too(reports, [each.column]) if again and not files else ()
        others = (*_at_rate(each), *again, *by_name)
        yield _Next("build", "-c COLUMN", quoted_name(each.column), others, files, spoiled)
    among = dict.fromkeys(each.column for each in builds.again) if builds.are_named else asked
    yield from auto(builds.again, [*among], *replacing(builds.again))
    # What it finds missing is then missing in the end: nothing is built and replaced.
    yield from auto(builds.by_auto, asked)


def _to_lighten(reports: Sequence[AdviceReport], inputs: Inputs) -> Iterator[_Next]:
    """Where filters take so much of the files that `validate` sends its reader here: filters of ORC without the room
    that no index group needs, in place of those that have it; and none that are of no use, or larger than the column.
    Those to build anyway are left to that, and of several tables, or a table that is named as one, no command strips
    single columns."""
    if len(reports) != 1 or isinstance(inputs.in_commands(_first_read(inputs)), AsTable):
        return
    for each in (each for report in reports if _is_heavy(report) for each in report.columns):
        name = quoted_name(each.column)
        if each.to_do in ("build", "rebuild"):
            continue
        if each.lighter_ndv is not None and each.verdict != "skip":
            if each.missing:
                # Where there are none, it would add some.
                continue
            others = ("--ndv", str(each.lighter_ndv), *_at_rate(each), "--existing", "replace")
            yield _Next("build", "-c COLUMN", name, others)
        elif each.already and (each.is_needless or each.is_too_large):
            yield _Next("strip", "-c COLUMN", name, ())


def _is_heavy(report: AdviceReport) -> bool:
    there = sum(each.filter_bytes_there for each in report.columns)
    return dominates(there // report.files, report.size // report.files)


def _on_share(
    reports: Sequence[AdviceReport], steps: Sequence[_Next], heaviest: HeaviestFiles
) -> Iterator[str]:
    """What to know of filters that take so much, or will, where none of them is to go and `steps` are all that is to
    be done."""
    if any(each.verb != "build" for each in steps):
        return
    none_is_too_large = "by this advice, none is too large for what it saves"
    way_out = 'makes them smaller, and ignore = ["PB309"] in pbloom.toml accepts them'
    if len(reports) == 1 and _is_heavy(reports[0]):
        (report,) = reports
        of_what = "files" if report.files > 1 else "file"
        there = sum(each.filter_bytes_there for each in report.columns)
        share = percent_beyond(LARGE_SHARE, there / report.size)
        and_new = " those to build come on top," * bool(steps)
        yield (
            f"note: filters take {share} of the {of_what},{and_new} and {none_is_too_large}: build --existing replace"
            f" with a higher --fpp {way_out}"
        )
        return
    for report in reports if steps else ():
        to_build = _all_to_build(_judged(report))
        rates = {each.column: each.fpp or report.fpp for each in to_build}
        if file := heaviest.among(report.keys, rates):
            share = percent_beyond(LARGE_SHARE, file.share(rates))
            # The reason has the number.
            is_roomy = any(" with --ndv " in each.reason for each in to_build)
            smaller = "the --ndv that is named above" if is_roomy else "a higher --fpp"
            yield (
                f"note: once they are built, filters take up to {share} of {file.path}, which validate warns of"
                f" (PB309); {none_is_too_large}: building with {smaller} {way_out}"
            )
            return


def _builds(
    reports: Sequence[AdviceReport],
    options: AdviseOptions,
    inputs: Inputs,
    wanted: Sequence[ColumnAdvice],
    in_need: InNeed,
) -> Builds:
    if len(reports) > 1:
        is_table = isinstance(inputs.in_commands(_first_read(inputs)), AsTable)
        return builds_of_tables(reports, wanted, in_need, names_files=not is_table)
    is_short = options.budget is None and (options.value_sample or len(wanted) <= MOST_SHOWN)
    if not (is_short or spares_some(reports, wanted)):
        return in_one_call(wanted)
    (report,) = reports
    return Builds(named=[(each, files_in_need(each, report, in_need)) for each in wanted])


def _by_name(
    columns: Collection[str], reports: Sequence[AdviceReport], inputs: Inputs
) -> tuple[str, ...]:
    """With which `build` leaves the files that lack columns, where names mean these, too; tables need none."""
    if not columns:
        return ()
    judged = [{each.column for each in report.columns} for report in reports]
    known = set[str]().union(*judged)
    is_lacking = any(known.intersection(columns) - each for each in judged)
    is_table = isinstance(inputs.in_commands(_first_read(inputs)), AsTable)
    is_needed = not is_table and is_lacking
    return ("--union-by-name",) if is_needed or _are_some_lacking(inputs) else ()


def _are_some_lacking(inputs: Inputs) -> bool:
    """Whether names mean files, too, that were not judged, as they lack a column."""
    are_meant = {*inputs.narrowed_read_names} - {each.path for each in inputs.files}
    return bool(are_meant) and inputs.are_lacking


def _as_for_advice(options: AdviseOptions) -> Iterator[str]:
    """Those by which filters are built and files are read."""
    if options.max_bytes is not None:
        yield from ("--max-bytes", str(options.max_bytes))
    if options.ignore_checksums:
        yield "--ignore-checksums"
