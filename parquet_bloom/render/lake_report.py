"""The page about many files, as render.report writes the one about a file: no script, no font, no network."""

from __future__ import annotations

import os.path
import shlex
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

from parquet_bloom import __version__
from parquet_bloom.container import number_of
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import quoted_name
from parquet_bloom.options import names_in
from parquet_bloom.render.calls import Call, is_in
from parquet_bloom.render.findings import (
    FindingGroup,
    findings_in,
    next_commands,
    nothing_checked,
)
from parquet_bloom.render.hints import (
    MOST_NAMES,
    TAKES_IN_OTHERS,
    by_name,
    command,
    concerned_of,
    for_all,
    for_any,
    for_many,
    hint_for,
    is_rebuilding,
    is_replacing,
    on_others,
    on_replaced_too,
    united,
)
from parquet_bloom.render.inspect import chunk_of
from parquet_bloom.render.report import (
    MOST_COLUMNS,
    MOST_PLACES,
    MOST_STEPS,
    Broken,
    Step,
    as_advised,
    in_order,
    is_within_budget,
    joined,
    lines_on_budget,
    on_traces,
    sentence,
    sparing,
    step_about_values,
    steps_held,
    steps_of,
    template,
    to_strip,
    why_nothing,
    with_unread_values,
    wrong_by,
)
from parquet_bloom.render.wording import shortened
from parquet_bloom.rules.finding import Finding
from parquet_bloom.storage.source import has_wildcard
from parquet_bloom.verbs.advise import (
    ANY_FILE,
    MAX_IN_NEED,
    AdviceReport,
    ColumnAdvice,
    to_do,
)
from parquet_bloom.verbs.advised_builds import (
    Builds,
    builds_of_tables,
    files_in_need,
    replaced_too,
    replacing,
)
from parquet_bloom.verbs.inspect_summary import ColumnSummary
from parquet_bloom.verbs.lake_report import MAX_TRACES, BrokenRule, InSomeFiles, LakeReport
from parquet_bloom.verbs.report import NOT_DEEP
from parquet_bloom.verbs.several import Failure

MOST_PARTITIONS = 250
MOST_TABLES = 5
# Where a folder is named for all of its files.
_FAILS_FOR_UNREAD = "For files that could not be read, this fails until other copies are there."
# Where the rate of a command is what a number of bytes allows.
_OF_OTHERS = "other files may take other rates: pbloom validate has all commands"


@dataclass(frozen=True, slots=True)
class Choice:
    """How `build --auto` chooses columns as a page does: among those that were `asked` about, of none all, by the
    options `judging`, which say nothing of columns that an option of the page `required`."""

    asked: Sequence[str] = ()
    judging: Sequence[str] = ()
    required: Sequence[str] = ()


_OF_ALL: Final = Choice()


def render_lake_report(
    report: LakeReport,
    names: Sequence[str] = (),
    narrowed: Sequence[str] = (),
    build: Sequence[str] = (),
    why_not: str = "",
    said: Sequence[str] = (),
    choice: Choice = _OF_ALL,
) -> str:
    """The page. `names`: the words with which a command means all of the files, if there are any; `narrowed`: those
    that mean them beside the words of `build`, which a command needs to change all these files,
    none where none can, and `why_not`; `said`: what to know of folders that are
    those of tables; `choice`: how a command that chooses columns does so as the page."""
    report = replace(report, broken=_as_advised(report))
    first, *others = report.names
    last = os.path.basename(first.rstrip("/"))
    name = first if not last or has_wildcard(last) else last
    verdicts = _to_do(report)
    verdict, wanted = _verdict(report), _wanted(report)
    wanted, held = _sparing(report, wanted, build)
    readable, to_change = _readable(report, names), _to_change(report, narrowed)
    to_build = _to_build(report, wanted, to_change, build, choice)
    incomplete = [*_incomplete(report, to_change, build)]
    # Those that are wanted have a step of their own, and optional ones need none.
    in_some = [
        each
        for each in incomplete
        if each.column not in {each.column for each in wanted} and not each.is_optional
    ]

    stripping = _to_strip(report, to_change, build)

    def commands(rule: BrokenRule) -> list[str]:
        found = _commands(rule, readable, report, stripping)
        if said and why_not:
            # Files of a table are not changed as such, nor are others beside them by the same command.
            kept = [each for each in found if "--in-place" not in each.split()]
            return kept or [f"next: {why_not}"]
        if not found and why_not and rule.examples[0][1].definition.command:
            # What would help is not to be had here.
            return [f"next: {why_not}"]
        return found

    broken = (
        Broken(
            *(rule.examples[0][1], _extent(rule), commands(rule)),
            on_traces(each for _, each in rule.examples),
        )
        for rule in report.broken
        if not all(is_within_budget(each, report.advice) for _, each in rule.examples)
    )
    steps = [
        *_steps_about_unread(report),
        *steps_of(broken, wanted, to_build.calls, why_not, to_build.note),
        *steps_held(held),
        *_steps_to_complete(in_some, _to_complete(report, in_some, build)),
    ]
    steps = [_noting_unread(report, each) for each in steps]
    is_hidden = report.num_unknown > 0 and not report.filters
    is_open = bool(wanted or in_some) or is_hidden
    return template("lake_report.html").render(
        report=report,
        all=report.summary,
        name=f"{name} and {len(others):,} more" if others else name,
        most_names=MOST_NAMES,
        version=__version__,
        said=said,
        verdict=verdict,
        summary=lake_summary(report),
        columns=_columns(report.summary.columns, verdicts),
        chunk=chunk_of(report.summary).capitalize(),
        most_columns=MOST_COLUMNS,
        partitions=report.partitions,
        most_partitions=MOST_PARTITIONS,
        most_tables=MOST_TABLES,
        to_do=verdicts,
        wrong_in=lambda table: wrong_by(report.broken_columns.get(table.key, {})),
        to_do_in=lambda table: _to_do_in(report, table),
        to_do_without=lambda column: _to_do_without(report, column),
        in_order=in_order,
        on_budget=lambda table: [*lines_on_budget(table)],
        no_advice="the files have no values" if report.deep else NOT_DEEP,
        to_build=[each.text for each in to_build.calls],
        to_strip=stripping,
        steps=steps,
        most_steps=MOST_STEPS,
        most_places=MOST_PLACES,
        nothing=why_nothing(verdict, steps, report.advice, is_open=is_open),
        group=lambda finding: FindingGroup((finding,)),
        commands=commands,
        extent=_extent,
        to_complete=_completing(report, incomplete, wanted, to_build.calls, build),
    )


def _as_advised(report: LakeReport) -> tuple[BrokenRule, ...]:
    """The rules with the commands that as_advised gives their examples."""

    def examples(rule: BrokenRule) -> list[tuple[str, Finding]]:
        paths = [path for path, _ in rule.examples]
        found = as_advised((each for _, each in rule.examples), report.advice)
        return list(zip(paths, found, strict=True))

    return tuple(replace(rule, examples=examples(rule)) for rule in report.broken)


def lake_summary(report: LakeReport) -> str:
    """`3 errors, 1 note in 800 filters and 1,000,000 values; 1 file could not be read: not ok`"""
    numbers = {
        **report.severities, "filters": report.filters, "values": report.values, "deep": report.deep,
        "pages": 0,
    }  # fmt: skip
    num_unread = report.num_failed + report.num_not_advised
    if not report.filters and not any(report.severities.values()) and not num_unread:
        return nothing_checked()
    unread = f"; {number_of(report.num_failed, 'file')} could not be read" * bool(report.num_failed)
    if report.num_not_advised:
        unread += f"; {with_unread_values(report.num_not_advised)}"
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
    if report.severities["error"] or report.num_failed or report.num_not_advised:
        return "error"
    if report.severities["warning"]:
        return "warning"
    return "fine" if report.filters else "nothing"


def _steps_about_unread(report: LakeReport) -> Iterator[Step]:
    """The files that could not be read: what is said about filters is not about them."""
    if report.num_failed:
        paths = shortened([each.path for each in report.failures], report.num_failed)
        what = f"{number_of(report.num_failed, 'file')} could not be read: {paths}"
        yield Step("error", what, "", "unread", note=" ".join(_helps(report.failures)))
    if report.num_not_advised:
        paths = shortened([each.path for each in report.not_advised], report.num_not_advised)
        what = f"{with_unread_values(report.num_not_advised)}: {paths}"
        yield step_about_values(what, report.not_advised)


def _helps(failures: Sequence[Failure]) -> Iterator[str]:
    """What helps with each, a sentence for all if it is the same. Some messages say it themselves."""
    helps: dict[str, list[str]] = {}
    for each in failures:
        said = each.message.removeprefix(f"{each.path}: ")
        helps.setdefault(hint_for(each.message) or said, []).append(each.path)
    for help, paths in [*helps.items()][:MOST_STEPS]:
        if len(helps) > 1:
            yield f"{shortened(paths)}: {help}."
        else:
            yield sentence(help)


def _to_do(report: LakeReport) -> dict[str, str]:
    """The advice by column, of the table with the most files that has it."""
    found: dict[str, str] = {}
    for table in sorted(report.advice, key=lambda each: -each.files)[::-1]:
        found.update(_to_do_in(report, table))
    return found


def _to_do_in(report: LakeReport, table: AdviceReport) -> dict[str, str]:
    """The advice on one table by column; what is wrong is that in its own files."""
    broken = report.broken_columns.get(table.key, {})
    return {each.column: to_do(each, is_broken=each.column in broken) for each in table.columns}


def _to_do_without(report: LakeReport, in_some: InSomeFiles) -> list[str]:
    """What the advice on the tables of the files without filters is, each word once."""
    words = (
        _to_do_in(report, table).get(in_some.column.column)
        for table in report.advice
        if table.key in in_some.without
    )
    return [*dict.fromkeys(filter(None, words))]


def _wanted(report: LakeReport) -> list[ColumnAdvice]:
    """What is advised and missing or too small, even where other filters of the column are wrong."""
    return [
        each
        for table in report.advice
        for each in table.columns
        if each.verdict == "build" and (each.missing or each.too_small)
    ]


def _sparing(
    report: LakeReport, wanted: Sequence[ColumnAdvice], options: Sequence[str]
) -> tuple[list[ColumnAdvice], list[ColumnAdvice]]:
    """As sparing, where it cannot be said which files are to be changed."""
    traced = {each.column for each in wanted if each.column in report.traces}
    if len(report.advice) > 1 and report.traces:
        # Filters of all columns that are advised would be built again.
        traced = {each.column for each in wanted}
    elif "--table" not in options:
        traced = {column for column in traced if not _to_replace(report, column)}
    return sparing(wanted, traced)


def _to_replace(report: LakeReport, column: str) -> list[str]:
    """The files whose filters of a column may be built again, where others may be the only trace of pages that have
    changed; any, called FILE, if they are too many to be named."""
    of_tables = (paths for (_, name), paths in report.in_need.items() if name == column)
    in_need = [*chain.from_iterable(of_tables)]
    return _untraced(report, column, in_need) if len(in_need) <= MAX_IN_NEED else [ANY_FILE]


def _untraced(report: LakeReport, column: str | None, paths: Iterable[str]) -> list[str]:
    """Those in which no filter of a column, or of any, may be such a trace; none if others are not all known."""
    traces = report.traces.values() if column is None else [report.traces.get(column, ())]
    are_known = all(len(each) <= MAX_TRACES for each in traces)
    return [path for path in paths if are_known and not any(path in each for each in traces)]


@dataclass(frozen=True, slots=True)
class _ToBuild:
    """The commands that build what is advised, and what to know of them."""

    calls: Sequence[Call] = ()
    note: str = ""


def _to_build(
    report: LakeReport,
    wanted: Sequence[ColumnAdvice],
    names: Sequence[str],
    options: Sequence[str],
    choice: Choice,
) -> _ToBuild:
    """In all files; one command for all columns of the same rate. Of several tables, each has its own columns and
    rates, see builds_of_tables."""
    if not options or not wanted:
        return _ToBuild()
    builds = _builds(report, wanted, names, options)

    def auto(columns: Sequence[ColumnAdvice], among: Sequence[str], *others: str) -> Iterator[Call]:
        if columns:
            named = ("-c", ",".join(map(quoted_name, among))) if among else ()
            found = command("build", *names, "--auto", *named, *choice.judging, *options, *others)
            yield Call.of(_by_name(found, report.lacking), _chosen(report, among, others, choice))

    def build(each: ColumnAdvice, files: Sequence[str]) -> str:
        found = command(
            *("build", *(files or names)),
            *("-c", quoted_name(each.column), "--fpp", repr(each.fpp)),
            *(*options, *replacing([each])),
        )
        return found if files else _by_name(found, report.lacking)

    among = (
        dict.fromkeys(each.column for each in builds.again) if builds.are_named else choice.asked
    )
    calls = [
        *map(Call.of, united(build(*each) for each in builds.named)),
        *auto(builds.again, [*among], *replacing(builds.again)),
        # What it finds missing is then missing in the end: nothing is built and replaced.
        *auto(builds.by_auto, choice.asked),
    ]
    return _ToBuild(calls, _on_replaced_too(report, builds))


def _chosen(
    report: LakeReport, among: Collection[str], others: Sequence[str], choice: Choice
) -> set[str]:
    """Those of the columns, of none of all, that `build --auto` chooses in each table that has them; with options by
    which it replaces filters, in each that has any."""
    advice = [each for table in report.advice for each in table.columns]
    found = {each.column for each in advice if each.verdict == "build"}
    left = {
        each.column for each in advice if each.verdict != "build" and (each.already or not others)
    }
    return found.intersection(among or found) - left.union(choice.required)


def _builds(
    report: LakeReport,
    wanted: Sequence[ColumnAdvice],
    names: Sequence[str],
    options: Sequence[str],
) -> Builds:
    # A table is named for its files.
    names_files = "--table" not in options
    if len(report.advice) > 1:
        return builds_of_tables(report.advice, wanted, report.in_need, names_files=names_files)
    (table,) = report.advice
    means_unread = _means_unread(report, names)

    def files(each: ColumnAdvice) -> Sequence[str]:
        if not names_files:
            return ()
        if each.column in report.traces and replacing([each]):
            return _to_replace(report, each.column)
        paths = report.in_need.get((table.key, each.column), ())
        # A command for a folder would fail for what is in it and could not be read, unless only a column was missing.
        if means_unread and each.column not in report.lacking and len(paths) <= MAX_IN_NEED:
            return paths
        return files_in_need(each, table, report.in_need)

    return Builds(named=[(each, files(each)) for each in wanted])


def _on_replaced_too(report: LakeReport, builds: Builds) -> str:
    wide = {each.column for each, files in builds.named if each.too_small and not files}
    if builds.again:
        tables = (table.columns for table in report.advice)
        every = builds.again if builds.are_named else chain.from_iterable(tables)
        wide.update(each.column for each in every)
    names = dict.fromkeys(replaced_too(report.advice, wide))
    return sentence(on_replaced_too([*names])) if names else ""


def _to_strip(report: LakeReport, names: Sequence[str], options: Sequence[str]) -> dict[str, str]:
    """As to_strip, of the columns whose filters are of no use in any of the tables; of those that only some files
    have, by the names of files with filters, as `strip` fails for the others; any, called FILE, if these are many."""
    advice = [each for table in report.advice for each in table.columns]
    useful = {each.column for each in advice if each.verdict != "skip"}
    needless = [each for each in advice if each.column not in useful]

    def files(column: str) -> Sequence[str]:
        paths = report.with_filters.get(column, ())
        return paths if len(paths) <= MAX_IN_NEED else [ANY_FILE]

    found: dict[str, str] = {}
    for each in needless:
        of_column = files(each.column) if each.column in report.lacking else names
        found.update(to_strip([each], of_column, report.traces, options))
    return found


@dataclass(frozen=True, slots=True)
class _Incomplete:
    """A column of which only some files have filters, and what means the others that are to have some, too."""

    column: str
    names: Sequence[str]
    is_optional: bool


def _incomplete(
    report: LakeReport, names: Sequence[str], options: Sequence[str]
) -> Iterator[_Incomplete]:
    """Those that the advice does not spare in all files without filters, and no finding strips. Where it spares some
    of these files, or their values could not be read, the others are named, up to as many as _to_build names; a table
    cannot be named for some of its files."""
    stripped = set[str]().union(*(rule.stripped for rule in report.broken))
    advice = {(table.key, each.column): each for table in report.advice for each in table.columns}
    spared = {key for key, each in advice.items() if _is_spared(report, each)}
    for in_some in report.in_some:
        column = in_some.column.column
        wanted = [table for table in in_some.without if (table, column) not in spared]
        without = [path for table in wanted for path in in_some.without[table]]
        paths = [path for path in without if path not in report.unread]
        spares_some = len(wanted) < len(in_some.without) or len(paths) < len(without)
        if paths and column not in stripped and not (spares_some and "--table" in options):
            few = paths if len(paths) <= MAX_IN_NEED else [ANY_FILE]
            found = [advice.get((table, column)) for table in wanted]
            is_optional = all(each is not None and each.verdict == "optional" for each in found)
            yield _Incomplete(column, few if spares_some else names, is_optional)


def _is_spared(report: LakeReport, advice: ColumnAdvice) -> bool:
    """Whether a column of a table is to have no more filters: they are of no use, or larger than the column, or a
    budget does not pay for them."""
    is_of_budget = any(table.budget is not None for table in report.advice)
    is_left = advice.verdict in ("skip", "left out") or advice.is_too_large
    return is_left or (is_of_budget and advice.verdict == "optional")


def _completing(
    report: LakeReport,
    columns: Sequence[_Incomplete],
    wanted: Iterable[ColumnAdvice],
    to_build: Sequence[Call],
    options: Sequence[str],
) -> list[str]:
    """The commands for all of these columns: for those that are `wanted`, the ones that build what is advised, at its
    rates and within its budget."""
    are_wanted = {each.column for each in wanted}.intersection(each.column for each in columns)
    advised = [
        each.text
        for each in to_build
        if are_wanted and (not each.columns or are_wanted & each.columns)
    ]
    rest = [each for each in columns if each.column not in are_wanted]
    return [*advised, *_to_complete(report, rest, options)]


def _to_complete(
    report: LakeReport, columns: Iterable[_Incomplete], options: Sequence[str]
) -> list[str]:
    """The commands that build the filters that only some files have; none where none can, as for _to_build."""
    if not options:
        return []
    build = united(
        command("build", *each.names, "-c", quoted_name(each.column), *options) for each in columns
    )
    return [_by_name(each, report.lacking) for each in build]


def _steps_to_complete(
    columns: Sequence[_Incomplete], to_complete: Sequence[str]
) -> Iterator[Step]:
    if columns:
        shown = shortened([quoted_name(each.column) for each in columns])
        text = f"Some files have filters for a column, and others have none: {shown}"
        yield Step("note", text, "", "findings", to_complete)


def _to_change(report: LakeReport, names: Sequence[str]) -> list[str]:
    """What means all files in commands that change them: any, called FILE, where the names are too many."""
    names = _readable(report, names)
    return names if len(names) <= MOST_NAMES else [ANY_FILE]


def _means_unread(report: LakeReport, names: Iterable[str]) -> bool:
    """Whether any of the names means a file, too, that could not be read, or not all of its values."""
    return any(has_wildcard(name) or is_in(path, name) for path in report.unread for name in names)


def _noting_unread(report: LakeReport, step: Step) -> Step:
    """A step with what to know of commands that build filters in files which could not be read, too."""
    calls = [Call.of(each) for each in step.commands if each.startswith("pbloom build ")]
    failing = [each for each in calls if ("--union-by-name",) not in each.others]
    if any(_means_unread(report, each.names) for each in failing):
        return replace(step, note=joined(step.note, _FAILS_FOR_UNREAD))
    return step


def _readable(report: LakeReport, names: Sequence[str]) -> list[str]:
    """Without the names of files that could not be read, or not all of their values."""
    return [name for name in names if name not in report.unread]


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


def _commands(
    rule: BrokenRule, names: Sequence[str], report: LakeReport, stripping: Mapping[str, str]
) -> list[str]:
    """What helps about all of its columns and files; first where somebody has to look. `stripping`: that of the
    advice, by column, which many files take."""
    if rule.files == 1:
        return next_commands(each for _, each in rule.examples)
    paths = list(dict.fromkeys(path for path, _ in rule.examples))
    named = paths if len(paths) == rule.files else []
    concerned = concerned_of(named, names, rule.files == report.summary.files, bool(report.unread))

    def help_of(path: str, each: Finding) -> str:
        assert each.next is not None
        of_all = stripping.get(each.column or "")
        if of_all and not named and each.is_to_be_stripped:
            return of_all
        if _is_of_so_many_values(each.next) or (some_come_first and is_rebuilding(each.next)):
            return for_all(each.next, path, _helped(rule, path, each.next))
        if each.is_to_be_looked_at:
            return for_many(each.next, path, names, _helped(rule, path, each.next))
        spared = [*report.traces] if each.column is None else [each.column]
        if is_replacing(each.next) and not report.traces.keys().isdisjoint(spared):
            return for_many(each.next, path, (), _untraced(report, each.column, named))
        helped = rule.helped.get(for_any(each.next, path))
        if helped and report.unread and is_replacing(each.next):
            # Where pages of the column cannot be read, this would fail.
            return for_many(each.next, path, names, [each for each in concerned if each in helped])
        return for_many(each.next, path, names, concerned)

    examples = sorted(rule.examples, key=lambda example: not example[1].is_to_be_looked_at)
    some_come_first = examples[0][1].is_to_be_looked_at
    helps = (help_of(path, each) for path, each in examples if each.next)
    by_hand = dict.fromkeys(each.by_hand for _, each in examples if each.by_hand)
    commands = [_by_name(each, report.lacking) for each in united(helps)]
    is_for_others = any(each.is_of_no_column for _, each in examples)
    ordered = [*commands, *by_hand] if is_for_others else [*by_hand, *commands]
    if any(map(_is_of_so_many_values, commands)):
        ordered.append(_OF_OTHERS)
    elif any(on_others(each, names, concerned) for each in commands):
        ordered.append(TAKES_IN_OTHERS)
    return [f"next: {each}" for each in ordered]


def _helped(rule: BrokenRule, path: str, command: str) -> Sequence[str]:
    """The files that the same command helps with, and no others: what is to be looked at is not repaired yet."""
    return rule.helped.get(for_any(command, path), (path,))


def _by_name(command: str, lacking: Container[str]) -> str:
    """A command; if it builds filters, one that does not fail for files that lack some of the columns."""
    words = shlex.split(command)
    columns = names_in(words[words.index("-c") + 1]) if "-c" in words else ()
    return by_name(command) if any(each in lacking for each in columns) else command


def _is_of_so_many_values(command: str) -> bool:
    """Whether its rate is the one that a number of bytes allows in a file: in others, not all of which are among the
    examples, it may allow none, and the filters that are there would go."""
    return " --max-bytes " in command
