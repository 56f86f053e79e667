"""What `pbloom recover` prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from parquet_bloom.render.many_files import FileSummary
from parquet_bloom.render.terminal import write_text
from parquet_bloom.render.wording import size

if TYPE_CHECKING:
    from parquet_bloom.verbs.recover import RecoveryReport


def write_recovery(report: RecoveryReport, verbose: bool = False) -> None:
    """What was done about one file."""
    dry = " (dry run)" if report.dry_run else ""
    write_text(f"{report.path}{dry}: {_done(report)}")


def summarize_recovery(report: RecoveryReport) -> FileSummary:
    """The same of one of many files."""
    numbers = {"bytes": report.size_before - report.size_after, "dry": report.dry_run}
    state = "without a journal" if report.action == "nothing" else report.action
    return FileSummary(state, _done(report), (), numbers)


def total_recovered(numbers: Mapping[str, int]) -> str:
    """`12.3 MiB cut off`"""
    dry = "; dry run: nothing was written" if numbers["dry"] else ""
    return f"{size(numbers['bytes'])} cut off{dry}"


def write_nothing() -> None:
    """For folders without journals."""
    write_text("no journals: nothing to recover")


def _done(report: RecoveryReport) -> str:
    if report.action == "cut back":
        return f"cut back from {report.size_before:,} to {report.size_after:,} bytes"
    if report.action == "journal removed":
        return "journal removed; nothing had been appended"
    return "nothing to recover"
