"""What `pbloom advise` prints."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from parquet_bloom.container import UNITS, number_of
from parquet_bloom.filters.rates import percent
from parquet_bloom.render.hints import would_refuse
from parquet_bloom.render.many_files import FileSummary
from parquet_bloom.render.terminal import Row, write_line, write_table, write_text
from parquet_bloom.render.wording import shortened, size, without_numbers

if TYPE_CHECKING:
    from parquet_bloom.engines.reading import EngineUse
    from parquet_bloom.verbs.advise import AdviceReport, ColumnAdvice

HEADER = ("column", "type", "verdict", "NDV", "filters", "of the file", "{}s read", "reason")
# For terminals of 80 characters.
NARROW = ("column", "type", "verdict", "NDV", "filters", "of file", "groups read")
# What gives way there.
_GIVES = ("type…", "of file", "filters", "column…", "NDV")


def write_advice(report: AdviceReport, verbose: bool = False) -> None:
    """One line about the files, then one row per column; on a terminal, the reasons follow below,
    their first clauses unless `verbose`."""
    unit = UNITS[report.format].group
    write_text(f"{report.path}: {_heading(report)}")
    for line in would_refuse(report.obstacles):
        write_text(line)
    cells = [_row(advice) for advice in report.columns]
    if not sys.stdout.isatty():
        write_table([name.format(unit) for name in HEADER], cells)
        return
    write_table(NARROW, [row[: len(NARROW)] for row in cells], _GIVES, verbose)
    for line in _reasons(report.columns, verbose):
        write_text(line)


def _reasons(columns: Sequence[ColumnAdvice], verbose: bool) -> Iterator[str]:
    """Why, column by column; unless `verbose`, only the first clause, and once for all columns where
    it differs only in numbers."""
    if verbose:
        yield from (f"{advice.column}: {advice.reason}" for advice in columns)
        return
    alike: dict[str, list[ColumnAdvice]] = {}
    for advice in columns:
        alike.setdefault(without_numbers(_clause(advice)), []).append(advice)
    for those in alike.values():
        example = "for example " if len({_clause(each) for each in those}) > 1 else ""
        yield f"{shortened([each.column for each in those])}: {example}{_clause(those[0])}"


def _clause(advice: ColumnAdvice) -> str:
    first, more, _ = advice.reason.partition("; ")
    return f"{first} …" if more else first


def summarize_advice(report: AdviceReport) -> FileSummary:
    """About one of many tables."""
    return FileSummary(
        state="with columns to build" if report.recommended else "without",
        line=_heading(report),
        numbers={"files": report.files},
        is_answer=bool(report.recommended),
    )


def total_advised(numbers: Mapping[str, int]) -> str:
    """`300 files`"""
    return number_of(numbers["files"], "file")


def _heading(report: AdviceReport) -> str:
    unit = UNITS[report.format].group
    rows, groups = number_of(report.num_rows, "row"), number_of(report.num_groups, unit)
    names = shortened(report.recommended)
    summary = f"build filters for {names}" if names else "no filter recommended"
    return f"{rows} in {groups}, {size(report.size)}; {summary}"


def _row(advice: ColumnAdvice) -> Row:
    return (
        advice.column,
        advice.logical_type or advice.physical_type,
        advice.verdict,
        _ndv(advice),
        size(advice.filter_bytes) if advice.filter_bytes else "",
        percent(advice.filter_share) if advice.filter_bytes else "",
        _read(advice.groups_statistics, advice.groups_filter),
        advice.reason,
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


def write_details(report: AdviceReport) -> None:
    """For each column that may deserve a filter: which engines use it, and settings for writers."""
    for advice in report.columns:
        if advice.verdict == "skip":
            continue
        write_line("")
        write_line(f"{advice.column}: {advice.verdict}")
        for use in advice.engines:
            write_line(f"  {use.engine} {_does(use)}")
        for settings in advice.settings:
            write_line(f"  {settings.writer}:")
            for line in settings.text.split("\n"):
                write_line(f"    {line}")


def _does(use: EngineUse) -> str:
    if use.uses:
        return f"uses it, but {use.reason}" if use.reason else "uses it"
    return f"does not use it: {use.reason}"
