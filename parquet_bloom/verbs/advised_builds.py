"""The calls of `build` that do what is advised: which columns and files each of them names, so that filters which are
good enough stay where they can."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import NamedTuple

from parquet_bloom.options import AdviseOptions
from parquet_bloom.verbs.advise import MAX_IN_NEED, AdviceReport, ColumnAdvice

# By the key of a table and column; see TableAdvisor.in_need.
InNeed = Mapping[tuple[str, str], Sequence[str]]


def replacing(wanted: Iterable[ColumnAdvice]) -> tuple[str, ...]:
    """The options with which `build` builds these columns anew where filters are too small:
    it keeps what is there."""
    return ("--existing", "replace") if any(each.too_small for each in wanted) else ()


def choosing(options: AdviseOptions) -> tuple[str, ...]:
    """The options with which `build --auto` chooses columns and rates as advice with these does, but for those that
    stand for a policy."""
    given = {
        "--engine": ",".join(options.engines),
        "--fpp": options.fpp,
        "--budget": options.budget,
    }
    return tuple(str(each) for pair in given.items() if pair[1] for each in pair)


def replaced_too(reports: Iterable[AdviceReport], columns: Container[str]) -> list[str]:
    """Those of the columns with filters that are good enough, which `build` would build anew if it is to replace
    theirs in all files."""
    found = (each for report in reports for each in report.columns)
    return [
        each.column
        for each in found
        if each.column in columns and each.verdict == "build" and each.already > each.too_small
    ]


def spares_some(reports: Iterable[AdviceReport], wanted: Iterable[ColumnAdvice]) -> bool:
    """Whether columns that deserve filters have only such as are good enough, which `build --auto` would build anew
    if it is to replace those of the columns that are `wanted`."""
    return bool(replacing(wanted)) and any(
        each.already and not each.too_small
        for report in reports
        for each in report.columns
        if each.verdict in ("build", "left out")
    )


def files_in_need(advice: ColumnAdvice, report: AdviceReport, in_need: InNeed) -> Sequence[str]:
    """The files to name where filters of the column are built again, as those that are good enough are, too, wherever
    there are any; none where all files of the report, which is the only one, are to be named, as these are too many,
    or `build` keeps what is good enough."""
    paths = in_need.get((report.key, advice.column), ())
    is_few = len(paths) < report.files and len(paths) <= MAX_IN_NEED
    return paths if is_few and replacing([advice]) else ()


class Builds(NamedTuple):
    """`by_auto`: columns for a call that chooses them itself, and keeps what is there; `named`: a call for each of
    these, with the only files to name, none for all; `again`: those for a call that chooses among them and replaces
    what is there, or, unless they `are_named`, among all."""

    by_auto: Sequence[ColumnAdvice] = ()
    named: Sequence[tuple[ColumnAdvice, Sequence[str]]] = ()
    again: Sequence[ColumnAdvice] = ()
    are_named: bool = True


def in_one_call(wanted: Sequence[ColumnAdvice]) -> Builds:
    """That chooses the columns itself."""
    return Builds(again=wanted, are_named=False) if replacing(wanted) else Builds(by_auto=wanted)


def builds_of_tables(
    reports: Sequence[AdviceReport],
    wanted: Sequence[ColumnAdvice],
    in_need: InNeed,
    *,
    names_files: bool,
) -> Builds:
    """For the columns that are `wanted` in several tables. Where none is to be spared, one call does it all. Else
    columns whose filters are replaced are named, with their files if these are few in each table and can be named;
    without, if all tables that have the column want this at one rate, since whoever names a column means all of them;
    and for others, `build` judges again what each table is to have."""
    if not spares_some(reports, wanted):
        return in_one_call(wanted)
    named: list[tuple[ColumnAdvice, Sequence[str]]] = []
    again: list[ColumnAdvice] = []
    for column, too_small in {each.column: each for each in wanted if each.too_small}.items():
        judged = [
            (report, each) for report in reports for each in report.columns if each.column == column
        ]
        of_files = [
            (each, in_need[report.key, column])
            for report, each in judged
            if each.to_do == "rebuild" and each.too_small
        ]
        if names_files and all(len(paths) <= MAX_IN_NEED for _, paths in of_files):
            named += of_files
        elif len({(each.to_do, each.fpp) for _, each in judged}) == 1:
            named.append((too_small, ()))
        else:
            again.append(too_small)
    if again and any(report.budget is not None for report in reports):
        # Only all columns together share it as advised.
        return in_one_call(wanted)
    done = {each.column for each in again}
    by_auto = [each for each in wanted if not each.too_small and each.column not in done]
    return Builds(by_auto, named, again)
