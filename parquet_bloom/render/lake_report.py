"""The page about many files, as render.report writes the one about a file: no script, no font, no network."""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from parquet_bloom import __version__
from parquet_bloom.container import number_of
from parquet_bloom.errors import quoted_name
from parquet_bloom.render.findings import (
    FindingGroup,
    findings_in,
    next_commands,
    nothing_checked,
)
from parquet_bloom.render.hints import (
    MOST_NAMES,
    command,
    concerned_of,
    for_any,
    for_many,
    hint_for,
    is_rebuilding,
    united,
)
from parquet_bloom.render.report import (
    MOST_COLUMNS,
    MOST_STEPS,
    Step,
    as_advised,
    in_order,
    lines_on_budget,
    steps_of,
    template,
    wrong_by,
)
from parquet_bloom.render.wording import shortened
from parquet_bloom.rules.finding import Finding
from parquet_bloom.storage.source import has_wildcard
from parquet_bloom.verbs.advise import AdviceReport, ColumnAdvice, files_in_need, replacing, to_do
from parquet_bloom.verbs.inspect_summary import ColumnSummary
from parquet_bloom.verbs.lake_report import BrokenRule, LakeReport
from parquet_bloom.verbs.report import NOT_DEEP

MOST_PARTITIONS = 250
MOST_TABLES = 5


def render_lake_report(
    report: LakeReport, names: Sequence[str] = (), build: Sequence[str] = ()
) -> str:
    """The page. `names`: what means all of the files, if anything does; `build`: the words that a command needs besides the names to change all these files, none where none
    can."""
    report = replace(report, broken=_as_advised(report))
    first, *others = report.names
    last = os.path.basename(first.rstrip("/"))
    name = first if not last or has_wildcard(last) else last
    verdicts = _to_do(report)
    verdict, wanted = _verdict(report), _wanted(report)
    to_build = _to_build(report, wanted, build)
    incomplete = _to_be_in_all(report, verdicts)
    to_complete = _to_complete(report, incomplete, build)
    # Those that are wanted have a step of their own.
    others = [name for name in incomplete if name not in {each.column for each in wanted}]
    readable = _readable(report, names)

    def commands(rule: BrokenRule) -> list[str]:
        return _commands(rule, readable, report)

    broken = ((rule.examples[0][1], _extent(rule), commands(rule)) for rule in report.broken)
    return template("lake_report.html").render(
        report=report,
        all=report.summary,
        name=f"{name} and {len(others):,} more" if others else name,
        most_names=MOST_NAMES,
        version=__version__,
        verdict=verdict,
        summary=lake_summary(report),
        columns=_columns(report.summary.columns, verdicts),
        most_columns=MOST_COLUMNS,
        partitions=report.partitions,
        most_partitions=MOST_PARTITIONS,
        most_tables=MOST_TABLES,
        to_do=verdicts,
        wrong=wrong_by(report.broken_columns),
        to_do_in=lambda table: _to_do_in(report, table),
        in_order=in_order,
        on_budget=lambda table: [*lines_on_budget(table)],
        no_advice="the files have no values" if report.deep else NOT_DEEP,
        to_build=to_build,
        steps=[
            *_steps_about_unread(report),
            *steps_of(broken, wanted, to_build),
            *_steps_to_complete(others, _to_complete(report, others, build)),
        ],
        most_steps=MOST_STEPS,
        is_done=bool(report.advice and verdict == "fine")
        and not (wanted or incomplete or report.num_not_advised),
        group=lambda finding: FindingGroup((finding,)),
        commands=commands,
        extent=_extent,
        to_complete=to_complete,
    )


def _as_advised(report: LakeReport) -> tuple[BrokenRule, ...]:
    """The rules with the commands that as_advised gives their examples."""
    advice = [each for table in report.advice for each in table.columns]

    def examples(rule: BrokenRule) -> list[tuple[str, Finding]]:
        paths = [path for path, _ in rule.examples]
        found = as_advised((each for _, each in rule.examples), advice)
        return list(zip(paths, found, strict=True))

    return tuple(replace(rule, examples=examples(rule)) for rule in report.broken)


def lake_summary(report: LakeReport) -> str:
    """`3 errors, 1 note in 800 filters and 1,000,000 values; 1 file could not be read: not ok`"""
    numbers = {
        **report.severities, "filters": report.filters, "values": report.values, "deep": report.deep,
        "pages": 0,
    }  # fmt: skip
    if not report.filters and not any(report.severities.values()) and not report.num_failed:
        return nothing_checked()
    unread = f"; {number_of(report.num_failed, 'file')} could not be read" * bool(report.num_failed)
    if report.num_unknown:
        unread += f"; {number_of(report.num_unknown, 'file')} with encrypted columns, no key"
    return f"{findings_in(numbers)}{unread}: {_state(report)}"


def _state(report: LakeReport) -> str:
    """As of one file."""
    if not report.ok:
        return "not ok"
    if report.num_unknown:
        return "ok where readable" if report.filters else "unknown"
    return "ok"


def _verdict(report: LakeReport) -> str:
    if report.severities["error"] or report.num_failed:
        return "error"
    if report.severities["warning"]:
        return "warning"
    return "fine" if report.filters else "nothing"


def _steps_about_unread(report: LakeReport) -> Iterator[Step]:
    """The files that could not be read: what is said about filters is not about them."""
    if report.num_failed:
        paths = shortened([each.path for each in report.failures], report.num_failed)
        helps = {hint for each in report.failures if (hint := hint_for(each.message))}
        note = " ".join(f"{each[0].upper()}{each[1:]}." for each in sorted(helps))
        what = f"{number_of(report.num_failed, 'file')} could not be read: {paths}"
        yield Step("error", what, "", "unread", note=note)


def _to_do(report: LakeReport) -> dict[str, str]:
    """The advice by column, of the table with the most files that has it."""
    found: dict[str, str] = {}
    for table in sorted(report.advice, key=lambda each: -each.files)[::-1]:
        found.update(_to_do_in(report, table))
    return found


def _to_do_in(report: LakeReport, table: AdviceReport) -> dict[str, str]:
    """The advice on one table by column."""
    return {
        each.column: to_do(each, is_broken=each.column in report.broken_columns)
        for each in table.columns
    }


def _wanted(report: LakeReport) -> list[ColumnAdvice]:
    """What is advised and missing or too small, even where other filters of the column are wrong."""
    return [
        each
        for table in report.advice
        for each in table.columns
        if each.verdict == "build" and (each.missing or each.too_small)
    ]


def _to_build(
    report: LakeReport, wanted: Sequence[ColumnAdvice], options: Sequence[str]
) -> list[str]:
    """The commands that build that in all files; one for all columns of the same rate. Of several tables, each has its
    own columns and rates."""
    names = _readable(report, report.names)
    if not options or len(names) > MOST_NAMES:
        return []
    if len(report.advice) > 1 and wanted:
        budgets = {table.budget.bytes for table in report.advice if table.budget}
        within = [word for each in budgets for word in ("--budget", str(each))]
        return [command("build", *names, "--auto", *within, *options, *replacing(wanted))]
    # A table is named for its files.
    in_need = {} if "--table" in options else report.in_need
    return united(
        command(
            *("build", *(files_in_need(each, in_need, report.summary.files) or names)),
            *("-c", quoted_name(each.column), "--fpp", repr(each.fpp)),
            *(*options, *replacing([each])),
        )
        for each in wanted
    )


def _to_be_in_all(report: LakeReport, verdicts: Mapping[str, str]) -> list[str]:
    """The columns of which only some files have filters, unless the advice is to have none."""
    in_some = [each.column.column for each in report.in_some]
    return [name for name in in_some if verdicts.get(name) not in ("skip", "left out")]


def _to_complete(report: LakeReport, columns: Sequence[str], options: Sequence[str]) -> str | None:
    """The command that builds the filters of these columns that only some files have; None where none can, as for
    _to_build."""
    names = _readable(report, report.names)
    if not options or not columns or len(names) > MOST_NAMES:
        return None
    return command("build", *names, "-c", ",".join(map(quoted_name, columns)), *options)


def _steps_to_complete(columns: Sequence[str], to_complete: str | None) -> Iterator[Step]:
    if columns:
        text = f"Some files have filters for a column, and others have none: {shortened([*map(quoted_name, columns)])}"
        yield Step("note", text, "", "findings", [to_complete] if to_complete else ())


def _readable(report: LakeReport, names: Sequence[str]) -> list[str]:
    """Without the names of files that could not be read."""
    unread = {each.path for each in report.failures}
    return [name for name in names if name not in unread]


def _columns(
    columns: Sequence[ColumnSummary], verdicts: Mapping[str, str]
) -> Sequence[ColumnSummary]:
    """As they were met; if there are too many, first those with filters, then those that deserve them."""

    def interest(column: ColumnSummary) -> int:
        if column.num_filters:
            return 0
        return 1 if verdicts.get(column.column, "skip") != "skip" else 2

    return sorted(columns, key=interest) if len(columns) > MOST_COLUMNS else columns


def _extent(rule: BrokenRule) -> str:
    """`3 times in 2 files`"""
    return f"{number_of(rule.findings, 'time')} in {number_of(rule.files, 'file')}"


def _commands(rule: BrokenRule, names: Sequence[str], report: LakeReport) -> list[str]:
    """What helps about all of its columns and files; first where somebody has to look."""
    if rule.files == 1:
        return next_commands(each for _, each in rule.examples)
    paths = list(dict.fromkeys(path for path, _ in rule.examples))
    named = paths if len(paths) == rule.files else []
    concerned = concerned_of(
        named, names, rule.files == report.summary.files, report.num_failed > 0
    )
    examples = sorted(rule.examples, key=lambda example: not example[1].is_to_be_looked_at)
    some_come_first = examples[0][1].is_to_be_looked_at
    helps = (
        for_any(each.next, path)
        if (some_come_first and is_rebuilding(each.next)) or _is_of_so_many_values(each.next)
        else for_many(each.next, path, names, concerned)
        for path, each in examples
        if each.next
    )
    by_hand = dict.fromkeys(each.by_hand for _, each in examples if each.by_hand)
    return [f"next: {each}" for each in (*by_hand, *united(helps))]


def _is_of_so_many_values(command: str) -> bool:
    """Whether its rate is the one that a number of bytes allows in a file: in others, not all of which are among the
    examples, it may allow none, and the filters that are there would go."""
    return " --max-bytes " in command
