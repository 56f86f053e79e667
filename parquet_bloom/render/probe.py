"""What `pbloom probe` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from parquet_bloom.container import UNITS, number_of
from parquet_bloom.options import quoted_name
from parquet_bloom.render.hints import OF_FILES, NextLines
from parquet_bloom.render.many_files import FileSummary, Remark
from parquet_bloom.render.terminal import complain, write_line, write_table, write_text
from parquet_bloom.render.wording import place_cells, place_heads, shortened, size, where
from parquet_bloom.vocabulary import NO_FILTER

if TYPE_CHECKING:
    from parquet_bloom.container import Answer, Explanation, Place
    from parquet_bloom.verbs.probe import ProbedValue, ProbeReport


# What gives way on a narrow terminal.
_EXPLANATION_GIVES = ("reason…", "stored bytes…", "value…", "stored bytes", "bits…")


def write_probe(
    report: ProbeReport, verbose: bool = False, next_lines: NextLines = OF_FILES
) -> None:
    """One row per value: the verdict, and the groups to read, such as `3`, or `0/3` in ORC; and
    the command that helps next."""
    group = UNITS[report.format].group
    write_text(f"{report.path}: {report.column}, {report.bytes_read:,} bytes read")
    write_table(
        ("value", "verdict", f"{group}s to read", "rows to read", "reason"),
        [
            (
                result.value,
                result.verdict,
                shortened(_names(_to_read([result]))),
                str(result.rows_to_read),
                next((group.reason for group in result.groups if group.reason), "") or "",
            )
            for result in report.results
        ],
        ("reason…", f"{group}s to read…", "value…"),
        verbose,
    )
    _write_caveat(report)
    reasons = {group.reason for result in report.results for group in result.groups}
    if reasons == {NO_FILTER}:
        column = quoted_name(report.column)
        for line in next_lines.lines(report.path, "build FILE -c COLUMN --in-place", column):
            write_line(line)


def _write_caveat(report: ProbeReport) -> None:
    if report.caveat:
        write_line(f"note: {report.caveat}")


def summarize_probe(report: ProbeReport) -> FileSummary:
    """Whether one of many files has to be read, and where."""
    numbers = {"rows": 0, "bytes": report.bytes_read, "all": report.results.num_rows}
    if report.is_absent:
        return FileSummary(state="absent", line="absent", remarks=_caveats(report), numbers=numbers)
    to_read = _to_read(report.results)
    rows = numbers["rows"] = sum(each.num_rows for each in to_read)
    group = UNITS[report.format].group
    maybe = [result.value for result in report.results if result.verdict == "maybe"]
    which = f" {shortened(maybe)}:" if maybe and len(report.results) > 1 else ""
    line = (
        f"{'maybe' if maybe else 'unknown'}{which} {group}{'s' * (len(to_read) > 1)}"
        f" {shortened(_names(to_read))}, {number_of(rows, 'row')} to read"
    )
    return FileSummary(
        state="to read" if maybe else "unknown",
        line=line,
        remarks=[*_doubts(report), *_caveats(report)],
        numbers=numbers,
        is_answer=bool(maybe),
    )


def total_probed(numbers: Mapping[str, int]) -> str:
    """`2,000 of 900,000 rows to read; 12.3 KiB read for that`"""
    rows = f"{numbers['rows']:,} of {number_of(numbers['all'], 'row')} to read"
    return f"{rows}; {size(numbers['bytes'])} read to find out"


def _caveats(report: ProbeReport) -> list[Remark]:
    if not report.caveat:
        return []
    return [Remark("note", report.caveat, f"note: {report.caveat}")]


def _doubts(report: ProbeReport) -> list[Remark]:
    """Why verdicts are `unknown`."""
    reasons: dict[str, list[Place]] = {}
    for result in report.results:
        for group in result.groups:
            if group.reason:
                reasons.setdefault(group.reason, []).append(group.place)
    return [
        Remark("unknown", reason, f"unknown, {where(None, sorted(set(places)))}: {reason}")
        for reason, places in reasons.items()
    ]


def _to_read(results: Sequence[ProbedValue]) -> list[Answer]:
    """The groups that may have any of the values, in order."""
    if len(results) == 1:
        return [group for group in results[0].groups if group.verdict != "absent"]
    groups = {
        group.place: group
        for result in results
        for group in result.groups
        if group.verdict != "absent"
    }
    return [group for _, group in sorted(groups.items())]


def _names(groups: Sequence[Answer]) -> list[str]:
    return ["/".join(place_cells(group.place)) for group in groups]


def write_groups_to_read(report: ProbeReport, verbose: bool = False) -> None:
    """Path, place, first row and number of rows of each group that may have any of the values."""
    if report.caveat:
        complain(f"{report.path}: note: {report.caveat}")
    for group in _to_read(report.results):
        place = place_cells(group.place)
        write_line(report.path, *place, str(group.first_row), str(group.num_rows))


def write_explanations(report: ProbeReport, verbose: bool = False) -> None:
    """One row per group and hash of a value."""
    write_line(report.path)
    heads = (
        *place_heads(UNITS[report.format]), "value", "stored bytes", "hash", "block",
        "bits of words 0 to 7", "clear in words", "k", "of bits", "bits", "clear", "reason",
    )  # fmt: skip
    rows = [(*place_cells(each.place), *_cells(each)) for each in report.explanations or ()]
    write_table(heads, rows, _EXPLANATION_GIVES, verbose)
    _write_caveat(report)


def _cells(item: Explanation) -> tuple[str | None, ...]:
    """Split block filters have blocks, with a bit in each word; others only bits."""
    selected, clear = (" ".join(map(str, numbers)) for numbers in (item.bits, item.clear))
    in_block: tuple[str | None, ...] = (None,) * 3
    in_filter: tuple[str | None, ...] = (None,) * 4
    if item.num_bits is not None:
        in_filter = (str(item.num_hashes), str(item.num_bits), selected, clear)
    elif item.bits:
        block = "" if item.block is None else f"{item.block} of {item.num_blocks}"
        in_block = (block, selected, clear)
    return item.value, item.plain, item.hash, *in_block, *in_filter, item.reason or ""
