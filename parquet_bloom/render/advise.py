"""What `pbloom advise` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloom.render.terminal import Row, percent, size, write_line, write_table

if TYPE_CHECKING:
    from parquet_bloom.verbs.advise import AdviceReport, ColumnAdvice


def write_advice(report: AdviceReport) -> None:
    """One line about the file, then one row per column."""
    names = ", ".join(report.recommended) or "no column"
    write_line(
        f"{report.path}: {report.num_rows:,} rows in {report.num_row_groups} row groups,"
        f" {size(report.size)}; build filters for {names}"
    )
    write_table(
        ("column", "type", "verdict", "NDV", "filters", "of the file", "row groups read", "reason"),
        [_row(advice) for advice in report.columns],
    )


def _row(advice: ColumnAdvice) -> Row:
    return (
        advice.column,
        advice.logical_type or advice.physical_type,
        advice.verdict,
        _ndv(advice),
        size(advice.filter_bytes) if advice.filter_bytes else "",
        percent(advice.filter_share) if advice.filter_bytes else "",
        _row_groups(advice),
        advice.reason,
    )


def _ndv(advice: ColumnAdvice) -> str:
    """`1,024`, or `5,000,000 ± 0.78 %`."""
    if advice.ndv is None:
        return ""
    error = "" if advice.ndv_error is None else f" ± {percent(advice.ndv_error)}"
    return f"{advice.ndv:,}{error}"


def _row_groups(advice: ColumnAdvice) -> str:
    """`8.00 → 1.01`: by min/max statistics, and with filters."""
    if advice.row_groups_statistics is None or advice.row_groups_filter is None:
        return ""
    return f"{advice.row_groups_statistics:.2f} → {advice.row_groups_filter:.2f}"


def write_details(report: AdviceReport) -> None:
    """For each column that may have a filter: who uses it, and what to tell writers."""
    for advice in report.columns:
        if advice.verdict == "skip":
            continue
        write_line("")
        write_line(f"{advice.column}: {advice.reason}")
        for use in advice.engines:
            does = "uses it" if use.uses else "does not use it"
            write_line(f"  {use.engine} {does}{f': {use.reason}' if use.reason else ''}")
        for settings in advice.settings:
            write_line(f"  {settings.writer}:")
            for line in settings.text.splitlines():
                write_line(f"    {line}")
