"""What `pbloom spark` prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from parquet_bloom.render.inspect import write_inspection_summary
from parquet_bloom.render.terminal import Cells, write_table, write_text
from parquet_bloom.render.wording import size
from parquet_bloom.verbs.inspect_summary import InspectionSummarizer

if TYPE_CHECKING:
    from parquet_bloom.spark.outcome import Outcome, Report

# How the message of an outcome begins if nothing was written.
DRY_RUN = "dry run"

# What gives way on a narrow terminal.
_GIVES = ("reason…", "finding…", "column…", "severity", "file…", "value…")


def write_spark(report: Report) -> None:
    """One line about all files, and a table that depends on the verb."""
    counts = ", ".join(f"{count:,} {status}" for status, count in report.counts.items())
    write_text(f"{report.verb}: {counts or 'no files'}; {report.seconds:.1f} s")
    if report.verb == "inspect":
        summarizer = InspectionSummarizer()
        for document in report.documents():
            summarizer.add(document)
        write_inspection_summary(summarizer.summary())
        return
    header, rows = _TABLES.get(report.verb, _by_status)(report)
    if rows:
        write_table(header, rows, _GIVES)


def _by_status(report: Report) -> tuple[Cells, Sequence[Cells]]:
    """What was done to how many files, and why nothing was done to others."""

    def key(outcome: Outcome) -> tuple[str, str]:
        message = outcome.message or ""
        if outcome.status in ("unchanged", "skipped"):
            return outcome.status, message
        return outcome.status, DRY_RUN if message.startswith(DRY_RUN) else ""

    done = [each for each in report.outcomes if each not in report.troubles]
    rows = []
    for (status, reason), alike in groupby(sorted(done, key=key), key):
        files = list(alike)
        grown = sum(each.bytes for each in files)
        rows.append(
            (status, f"{len(files):,}", f"{sum(e.filters for e in files):,}", size(grown), reason)
        )
    return ("status", "files", "filters", "bytes", "reason"), rows


def _removed(report: Report) -> tuple[Cells, Sequence[Cells]]:
    removed = [each for each in report.outcomes if each.status == "removed"]
    return ("file", "bytes"), [(each.path, size(-each.bytes)) for each in removed]


def _findings(report: Report) -> tuple[Cells, Sequence[Cells]]:
    """The findings of each file, equal ones about several row groups in one line."""
    keys = ("rule", "severity", "column", "message")
    rows = Counter(
        (document["path"], *(finding[key] or "" for key in keys))
        for document in report.documents()
        for finding in document["findings"]
    )
    header = ("file", "rule", "severity", "column", "finding", "times")
    return header, [(*row, str(times)) for row, times in rows.items()]


def _remaining(report: Report) -> tuple[Cells, Sequence[Cells]]:
    """The files that may have a value."""
    documents = list(report.documents())
    has_several = len({document["column"] for document in documents}) > 1
    rows = [
        (
            document["path"],
            document["column"] if has_several else None,
            result["value"],
            result["verdict"],
            f"{result['rows_to_read']:,}",
        )
        for document in documents
        for result in document["results"]
        if result["verdict"] != "absent"
    ]
    return ("file", "column", "value", "verdict", "rows to read"), rows


def _advice(report: Report) -> tuple[Cells, Sequence[Cells]]:
    """By column and verdict: how many files, and the reason for the first of them."""
    advised: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for document in report.documents():
        for column in document["columns"]:
            advised.setdefault((column["column"], column["verdict"]), []).append(column)
    rows = [
        (
            column,
            verdict,
            f"{len(files):,}",
            size(sum(each["filter_bytes"] for each in files)),
            files[0]["reason"],
        )
        for (column, verdict), files in advised.items()
    ]
    return ("column", "verdict", "files", "filters take", "reason"), rows


_TABLES = {
    "advise": _advice,
    "clean-temp": _removed,
    "probe": _remaining,
    "validate": _findings,
}
