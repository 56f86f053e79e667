"""What `pbloom advise` prints."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from parquet_bloom.container import UNITS, number_of
from parquet_bloom.render.terminal import Row, write_line, write_table
from parquet_bloom.render.wording import percent, size

if TYPE_CHECKING:
    from parquet_bloom.advice.engines import EngineUse
    from parquet_bloom.verbs.advise import AdviceReport, ColumnAdvice

HEADER = ("column", "type", "verdict", "NDV", "filters", "of the file", "{}s read", "reason")
# For terminals of 80 characters.
NARROW = ("column", "type", "verdict", "NDV", "filters", "of file", "groups read")


def write_advice(report: AdviceReport) -> None:
    """One line about the files, then one row per column; on a terminal, the reasons follow below."""
    unit = UNITS[report.format].group
    rows, groups = number_of(report.num_rows, "row"), number_of(report.num_groups, unit)
    names = ", ".join(report.recommended)
    summary = f"build filters for {names}" if names else "no filter recommended"
    write_line(f"{report.path}: {rows} in {groups}, {size(report.size)}; {summary}")
    cells = [_row(advice) for advice in report.columns]
    if not sys.stdout.isatty():
        write_table([name.format(unit) for name in HEADER], cells)
        return
    write_table(NARROW, [row[: len(NARROW)] for row in cells])
    for advice in report.columns:
        write_line(f"{advice.column}: {advice.reason}")


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
