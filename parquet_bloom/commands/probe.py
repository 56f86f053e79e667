"""pbloom probe"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from parquet_bloom.commands import file_options
from parquet_bloom.commands import options as option
from parquet_bloom.commands.inputs import Answers
from parquet_bloom.commands.key_options import arguments_of
from parquet_bloom.commands.sections import Command, output_option
from parquet_bloom.container import UNITS, number_of
from parquet_bloom.errors import quoted_name
from parquet_bloom.options import ProbeOptions
from parquet_bloom.program import FINE, NO, TROUBLE
from parquet_bloom.render.hints import NextLines, with_key_hint
from parquet_bloom.render.palette import painted
from parquet_bloom.render.reports import FileSummary, Remark, ReportView, SummarizedView
from parquet_bloom.render.stopwatch import Stopwatch
from parquet_bloom.render.terminal import (
    Cells,
    complain,
    is_cut,
    write_bytes,
    write_json,
    write_line,
    write_table,
    write_text,
)
from parquet_bloom.render.value_lines import taken_whole
from parquet_bloom.render.wording import (
    MOST_SHOWN,
    listed,
    place_cells,
    place_heads,
    places_word,
    shortened,
    size,
    where,
)
from parquet_bloom.values.given import show_value
from parquet_bloom.verbs.held_values import HeldAnswers, probe_held
from parquet_bloom.verbs.probe import ProbedValue, ProbedValues, ProbeReport, probe_file
from parquet_bloom.vocabulary import NO_FILTER

if TYPE_CHECKING:
    from parquet_bloom.container import Answer, Explanation
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.vocabulary import Verdict


@click.command(cls=Command)
@file_options.files
@option.columns(required=True)
@option.row_groups
@option.literals
@output_option("--explain", is_flag=True, help="Show the hash and bits of each value.")
@output_option(
    "--groups-to-read",
    "only_groups",
    is_flag=True,
    help="Of one --column, print only the row groups, or index groups of an ORC file, that remain to be read, in a"
    " line each: path, number of the row group, or of the stripe and of the index group in it, first row, number of"
    " rows, with tabs between. Not with --json, which says it of all of them.",
)
@output_option(
    "--by-value",
    is_flag=True,
    help="Show which files may hold each value, over all files; with --json, one document per column.",
)
@option.only_verdict
@option.answered("file and column", option.value_answer_options)
@file_options.union_by_name
@option.stored_dialect
@option.threads_to_read
@option.access
def probe(
    answers: Answers, columns: tuple[str, ...], explain: bool, only_groups: bool, by_value: bool,
    only: Verdict | None, keys: Keys | None, threads: int | None, **given: Any,
) -> None:  # fmt: skip
    """Ask the filters whether values can be in files.

    Reads the footer and, for each value, 32 bytes of each filter, or all of a filter that is
    encrypted or asked for many values; in an ORC file, the column's filter streams, and the verdicts
    are about index groups. A verdict is `absent` (certain), `maybe`, or `unknown` with the reason.
    With several columns, each is probed for the same values and has an answer of its own. Exit code 1:
    every value is absent everywhere; 0: a value may be in a file, or nobody knows.

    Only filters are asked: a value beyond the min/max of a row group may be `maybe`, too. `pbloom find` goes by both.

    \b
    Examples:
      pbloom probe events.bloom.parquet -c user_id -v 123456
      pbloom probe lake/ -c user_id --values-from ids.csv --by-value
      pbloom probe lake/ -c user_id --values-from ids.csv --only absent
      pbloom probe events.bloom.parquet -c user_id -v 123456 --explain
    """
    inputs, as_json = answers.inputs, answers.as_json
    if only_groups and (explain or as_json):
        raise click.UsageError("expected --groups-to-read without --explain and --json")
    if by_value and (explain or only_groups):
        raise click.UsageError("expected --by-value without --explain and --groups-to-read")
    if only and (explain or only_groups or as_json):
        raise click.UsageError("expected --only without --explain, --groups-to-read and --json")
    if (only_groups or only) and len(columns) > 1:
        name = "--only" if only else "--groups-to-read"
        raise click.UsageError(f"expected {name} with one --column")
    if answers.is_table and (not by_value or only or as_json or len(columns) > 1):
        expected = "expected --by-value and one --column, without --json and --only"
        raise click.UsageError(f"--output: a table of Parquet: {expected}")
    view: ReportView[ProbeReport] = ProbeView(inputs.next_lines(arguments_of(keys)))
    if explain:
        view = ExplanationView()
    elif only_groups:
        view = GroupsView()
    absent: list[bool] = []
    code = FINE
    at_a_time, of_each = inputs.threads_for(threads)
    inputs.check_columns(columns)
    if given["union_by_name"]:
        inputs.check_some_have(columns, keys)
    for column in (names := dict.fromkeys(columns)):
        options = ProbeOptions(column=column, explain=explain, threads=of_each, **given)

        def work(path: str, options: ProbeOptions = options) -> ProbeReport:
            with inputs.open(path, keys) as file:
                report = probe_file(file, options)
            absent.append(report.is_absent)
            return report

        def work_by_value(path: str, options: ProbeOptions = options) -> HeldAnswers:
            with inputs.open(path, keys) as file:
                held = probe_held(file, options)
            absent.append(held.report.is_absent)
            return held

        if by_value or only:
            code = max(code, _show_by_value(answers, options, work_by_value, at_a_time, only))
            continue
        if len(names) > 1 and len(inputs.files) > 1 and not as_json:
            write_line(f"column {quoted_name(column)}")
        code = max(code, answers.each(work, view, threads=at_a_time))
    inputs.tell_lacking(options.union_by_name)
    code = code or (NO if all(absent) else FINE)
    if code == NO and (hint := taken_whole(given["values"])):
        complain(hint)
    sys.exit(code)


def _show_by_value(
    answers: Answers,
    options: ProbeOptions,
    work: Callable[[str], HeldAnswers],
    at_a_time: int,
    only: Verdict | None,
) -> int:
    """The exit code. If all values are at fault, or nothing is there to ask, that is only complained about."""
    from parquet_bloom.commands.value_files import about_unknown, are_at_fault
    from parquet_bloom.render.by_value import (
        complain_of_unknown,
        totals,
        write_values,
        write_values_with,
    )
    from parquet_bloom.verbs.values_in_files import GatheredValues

    stopwatch = Stopwatch()
    complaints = answers.inputs.complaints()
    gathered = GatheredValues(options.column, options.values)

    not_held: dict[str, str] = {}

    def take(path: str, held: HeldAnswers) -> None:
        complaints.add_if_unverified(path, held.report)
        if held.problem:
            not_held[path] = held.problem
        gathered.add(held.report)

    code = answers.inputs.each(work, gathered.add_failed, complaints, take=take, threads=at_a_time)
    code = TROUBLE if not_held else code
    report = gathered.report()
    for line in about_unknown(not_held.items(), report.num_files, options.values):
        complain(line)
    took = stopwatch.so_far(report.num_files)
    reasons = [file.reason for file in report.files_unknown]
    if answers.is_table:
        from parquet_bloom.verbs.table_file import as_parquet

        table = report.to_arrow()
        write_bytes(as_parquet(table))
        counts, *by_chance = totals(report, took)
        answers.afterwards += (f"{number_of(table.num_rows, 'row')}; {counts}", *by_chance)
        complain_of_unknown(report.files_unknown, report.num_files)
    elif are_at_fault(options.values, reasons, report.num_files):
        return code
    elif answers.inputs.errors and not answers.inputs.files:
        # Nothing was found to ask: what is wrong is the question.
        return code
    elif answers.as_json:
        write_json(report)
    elif only:
        write_values_with(only, report.results, options.values, options.column)
        # The values are for another program.
        tell = answers.afterwards.append if answers.is_kept else complain
        for text in totals(report, took):
            tell(text)
        complain_of_unknown(report.files_unknown, report.num_files)
    else:
        write_values(report, answers.has_all_values, took)
    return code


_MORE: Final = "--verbose shows all"

# What helps where filters of many files say little.
_WITHOUT_FILTERS: Final = (
    "there are no filters to ask: `pbloom find` reads the column, `pbloom index build` makes an index of its values,"
    " `pbloom advise` tells whether filters pay off"
)
_OF_MANY_VALUES: Final = (
    "of so many values, most files may hold some: --by-value tells which may be where, `pbloom find` reads the rows,"
    " an index (`pbloom index build`) excludes more"
)


class ProbeView(SummarizedView[ProbeReport]):
    """Whether files have to be read, and where. `next_lines`: the commands that help next."""

    def __init__(self, next_lines: NextLines) -> None:
        self._next_lines = next_lines

    def summarize(self, report: ProbeReport) -> FileSummary:
        numbers = {"rows": 0, "bytes": report.bytes_read, "all": report.results.num_rows}
        if report.is_absent:
            return FileSummary(
                state="absent", line=painted("absent"), remarks=_caveats(report), numbers=numbers
            )
        results = report.results
        numbers["without filter"] = {reason for _, reason in results.doubts} == {NO_FILTER}
        numbers["of many values"] = len(results) > MOST_SHOWN
        to_read = results.left
        rows = numbers["rows"] = sum(each.num_rows for each in to_read)
        groups = places_word(UNITS[report.format], len(to_read))
        maybe = results.maybe
        which = ""
        if maybe and len(results) > 1:
            unknown = results.unknown
            others = f" (unknown: {_some_of(results, unknown)})" if unknown else ""
            which = f" {_some_of(results, maybe)}{others}:"
        line = (
            f"{painted('maybe' if maybe else 'unknown')}{which} {groups}"
            f" {shortened(_names(to_read))}, {number_of(rows, 'row')} to read"
        )
        return FileSummary(
            state="to read" if maybe else "unknown",
            line=line,
            remarks=[*_doubts(report), *_caveats(report)],
            numbers=numbers,
            is_answer=bool(maybe),
        )

    def total(self, numbers: Mapping[str, int]) -> str:
        rows = f"{numbers['rows']:,} of {number_of(numbers['all'], 'row')} to read"
        return f"{rows}; {size(numbers['bytes'])} read to find out"

    def hint(self, states: Mapping[str, int], numbers: Mapping[str, int]) -> str:
        num_files = sum(states.values())
        if numbers["without filter"] == num_files:
            return _WITHOUT_FILTERS
        if numbers["of many values"] and states.get("to read", 0) > num_files / 2:
            return _OF_MANY_VALUES
        return ""

    def write(self, report: ProbeReport, verbose: bool = False) -> None:
        """One row per value: the verdict, and the groups to read, such as `3`, or `0/3` in ORC; and
        the command that helps next."""
        to_read = f"{places_word(UNITS[report.format])} to read"
        write_text(f"{report.path}: {quoted_name(report.column)}, {report.bytes_read:,} bytes read")
        if is_cut(len(report.results)) and not verbose:
            write_text(_in_all(report.results))
        write_table(
            ("value", "verdict", to_read, "rows to read", "reason"),
            [
                (
                    show_value(result.value),
                    result.verdict,
                    listed(_names(_to_read(result)), verbose),
                    str(result.rows_to_read),
                    with_key_hint(
                        next((group.reason for group in result.groups if group.reason), "")
                    ),
                )
                for result in report.results
            ],
            ("reason…", f"{to_read}…", "value…"),
            verbose,
            more=_MORE,
        )
        _write_caveats(report)
        reasons = {group.reason for result in report.results for group in result.groups}
        if reasons == {NO_FILTER}:
            # And not build: in a sorted column, for one, a filter would save nothing.
            column = quoted_name(report.column)
            for line in self._next_lines.lines(report.path, "advise FILES -c COLUMN", column):
                write_line(line)


class GroupsView(ReportView[ProbeReport]):
    """Path, place, first row and number of rows of each group that may have any of the values."""

    def write(self, report: ProbeReport, verbose: bool = False) -> None:
        if report.caveat:
            complain(f"{report.path}: note: {report.caveat}")
        for group in report.results.left:
            place = place_cells(group.place)
            write_line(report.path, *place, str(group.first_row), str(group.num_rows))


# What gives way on a narrow terminal.
_EXPLANATION_GIVES = ("reason…", "stored bytes…", "value…", "stored bytes", "bits of words 0 to 7", "bits…",
                      "hash", "block")  # fmt: skip
# What a terminal shows above the rows if it is the same in all.
_OF_VALUE = (
    "value",
    "stored bytes",
    "hash",
    "block",
    "bits of words 0 to 7",
    "k",
    "of bits",
    "bits",
)


class ExplanationView(ReportView[ProbeReport]):
    """One row per group and hash of a value."""

    def write(self, report: ProbeReport, verbose: bool = False) -> None:
        write_text(f"{report.path}: {quoted_name(report.column)}")
        verdicts = {
            (show_value(result.value), group.place): group.verdict
            for result in report.results
            for group in result.groups
        }
        heads = (
            *place_heads(UNITS[report.format]), "value", "verdict", "stored bytes", "hash", "block",
            "bits of words 0 to 7", "clear in words", "k", "of bits", "bits", "clear", "reason",
        )  # fmt: skip
        rows: list[Cells] = [
            (*place_cells(each.place), *_cells(each, verdicts[show_value(each.value), each.place]))
            for each in report.explanations or ()
        ]
        alike = () if verbose or not sys.stdout.isatty() else _alike(heads, rows)
        for at in alike:
            write_text(f"{heads[at]}: {rows[0][at]}")
        kept = [at for at in range(len(heads)) if at not in alike]
        table = [[row[at] for at in kept] for row in rows]
        write_table([heads[at] for at in kept], table, _EXPLANATION_GIVES, verbose, more=_MORE)
        _write_caveats(report)


def _alike(heads: Sequence[str], rows: Sequence[Cells]) -> list[int]:
    """The columns about values that say something, and the same in all rows."""
    return [
        at
        for at, head in enumerate(heads)
        if head in _OF_VALUE and len(cells := {row[at] for row in rows}) == 1 and any(cells)
    ]


SEEMS_FULL = "all bits that were read are set, so filters may be full and exclude nothing: `pbloom validate` tells"


def _write_caveats(report: ProbeReport) -> None:
    for each in _caveats(report):
        write_line(each.text)


def _caveats(report: ProbeReport) -> list[Remark]:
    """What the verdicts are not about, and why they may be `maybe` wherever one looks."""
    note, caveats = painted("note"), []
    if report.caveat:
        caveats.append(Remark(note, report.caveat, f"{note}: {report.caveat}"))
    if full := report.results.full:
        line = f"{note}, {where(None, sorted(full))}: {SEEMS_FULL}"
        caveats.append(Remark(note, SEEMS_FULL, line))
    return caveats


def _doubts(report: ProbeReport) -> list[Remark]:
    """Why verdicts are `unknown`, or `maybe` although the filters have not got the values."""
    return [
        Remark(
            painted(verdict),
            with_key_hint(reason),
            f"{painted(verdict)}, {where(None, sorted(set(places)))}: {with_key_hint(reason)}",
        )
        for (verdict, reason), places in report.results.doubts.items()
    ]


def _in_all(results: ProbedValues) -> str:
    """`3,000 values: 2,910 absent, 90 maybe; 20,000 of 60,000 rows to read`"""
    verdicts = Counter(each.verdict for each in results)
    told = ", ".join(f"{count:,} {painted(verdict)}" for verdict, count in verdicts.most_common())
    rows = sum(each.num_rows for each in results.left)
    return f"{number_of(len(results), 'value')}: {told}; {rows:,} of {number_of(results.num_rows, 'row')} to read"


def _to_read(result: ProbedValue) -> list[Answer]:
    """The groups that may have a value, in order."""
    return [group for group in result.groups if group.verdict != "absent"]


def _some_of(results: ProbedValues, positions: Sequence[int]) -> str:
    return shortened(results.texts_of(positions[:MOST_SHOWN]), len(positions))


def _names(groups: Sequence[Answer]) -> list[str]:
    return ["/".join(place_cells(group.place)) for group in groups]


def _cells(item: Explanation, verdict: str) -> Cells:
    """Split block filters have blocks, with a bit in each word; others only bits."""
    selected, clear = (" ".join(map(str, numbers)) for numbers in (item.bits, item.clear))
    in_block: tuple[str | None, ...] = (None,) * 3
    in_filter: tuple[str | None, ...] = (None,) * 4
    if item.num_bits is not None:
        in_filter = (str(item.num_hashes), str(item.num_bits), selected, clear)
    elif item.bits:
        block = "" if item.block is None else f"{item.block} of {item.num_blocks}"
        in_block = (block, selected, clear)
    return (
        show_value(item.value), verdict, item.plain, item.hash, *in_block, *in_filter, item.reason or "",
    )  # fmt: skip
