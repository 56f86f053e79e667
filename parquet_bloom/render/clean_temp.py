"""What `pbloom clean-temp` prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from parquet_bloom.container import number_of
from parquet_bloom.render.terminal import write_text
from parquet_bloom.render.wording import size

if TYPE_CHECKING:
    from parquet_bloom.verbs.clean_temp import CleaningReport, FoundLeftover

_BEGAN = {"temporary file": "last written", "upload": "begun"}
_DONE = {"temporary file": "removed", "upload": "aborted"}


def write_cleaning(report: CleaningReport) -> None:
    """A line for each leftover that is gone, or would be."""
    for left in report.leftovers:
        if left.problem is None:
            write_text(f"{left.file}: {_line(left, report.dry_run)}")


def _line(left: FoundLeftover, dry_run: bool) -> str:
    done = f"would be {_DONE[left.kind]}" if dry_run else _DONE[left.kind]
    since = left.since.replace("T", " ").replace("Z", " UTC")
    return f"{left.kind} of {size(left.num_bytes)}, {_BEGAN[left.kind]} {since}: {done}"


def write_total(reports: Sequence[CleaningReport]) -> None:
    """`2 temporary files, 1 upload: 12.3 MiB`"""
    gone = [left for report in reports for left in report.leftovers if left.problem is None]
    if not gone:
        if not any(report.leftovers for report in reports):
            write_text("nothing is left to remove")
        return
    counts = [(kind, sum(left.kind == kind for left in gone)) for kind in _DONE]
    kinds = ", ".join(number_of(count, kind) for kind, count in counts if count)
    dry = "; dry run: nothing was removed" if any(report.dry_run for report in reports) else ""
    write_text(f"{kinds}; {size(sum(left.num_bytes for left in gone))}{dry}")
