"""What `pbloom build`, `strip` and `repair` print about the files that they change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from parquet_bloom.container import BuiltFilters, LeftChunk, number_of
from parquet_bloom.render.terminal import Row, write_line, write_table
from parquet_bloom.render.wording import percent, size, where, without_numbers

if TYPE_CHECKING:
    from parquet_bloom.verbs.build import BuildReport
    from parquet_bloom.verbs.repair import LeftFilter, RepairedFilter, RepairReport
    from parquet_bloom.verbs.strip import StripReport

_BUILT = ("column", "filters", "bytes", "largest", "bits of each", "hashes", "highest FPP")


def write_build(report: BuildReport) -> None:
    """What was added to one file, by column; what was skipped, by reason."""
    _write_heading(
        report,
        f"{number_of(report.num_filters, 'filter')}, {size(report.bytes_added)} added"
        f" ({percent(report.bytes_added / report.size_before)})",
    )
    by_column: dict[str, list[BuiltFilters]] = {}
    for built in report.filters:
        by_column.setdefault(built.column, []).append(built)
    if by_column:
        write_table(_BUILT, [_column_row(*item) for item in by_column.items()])
    _write_reasons("skipped", report.skipped)
    for note in report.notes:
        write_line(f"note: {note}")


def write_strip(report: StripReport) -> None:
    """What was removed from one file; what was left, by reason."""
    removed = f"{number_of(report.num_filters, 'filter')} removed"
    _write_heading(report, f"{removed}, {size(report.bytes_removed)} less")
    _write_reasons("left", report.left)


def write_repair(report: RepairReport) -> None:
    """What was repaired in one file and what was left, alike filters in one line."""
    added = report.bytes_added
    change = f"{size(-added)} removed" if added < 0 else f"{size(added)} added"
    repaired = f"{number_of(len(report.repaired), 'filter')} repaired"
    _write_heading(report, f"{repaired}, {len(report.left):,} left, {change}")
    done = [(item.action, item) for item in report.repaired]
    for line in _repair_lines([*done, *(("left", item) for item in report.left)]):
        write_line(line)


def _write_heading(report: BuildReport | StripReport | RepairReport, what: str) -> None:
    target = report.output or f"{report.path} (dry run)"
    write_line(f"{target}: {what}, {report.seconds:.2f} s")


def _column_row(column: str, filters: Sequence[BuiltFilters]) -> Row:
    first = filters[0]
    largest = size(max(built.num_bytes for built in filters))
    return (
        column,
        str(sum(built.num_filters for built in filters)),
        size(sum(built.length for built in filters)),
        largest if first.num_bits is None else None,
        None if first.num_bits is None else str(first.num_bits),
        None if first.num_hashes is None else str(first.num_hashes),
        percent(max(built.fpp for built in filters)),
    )


def _write_reasons(what: str, chunks: Sequence[LeftChunk]) -> None:
    """A line for all chunks of a column with the same reason; `what` was done to them."""
    alike: dict[tuple[str, str], list[LeftChunk]] = {}
    for chunk in chunks:
        alike.setdefault((chunk.column, chunk.reason), []).append(chunk)
    for (column, reason), those in alike.items():
        place = where(None, [chunk.place for chunk in those])
        write_line(f"{what} {column}, {place}: {reason}")


def _repair_lines(items: Sequence[tuple[str, RepairedFilter | LeftFilter]]) -> Iterator[str]:
    """A line for all items of a column whose reasons differ only in numbers."""
    from parquet_bloom.rules.rule import rules

    groups: dict[tuple[str | None, ...], list[RepairedFilter | LeftFilter]] = {}
    for what, item in items:
        likeness = (what, item.column, item.rule, without_numbers(item.reason))
        groups.setdefault(likeness, []).append(item)
    for (action, *_), members in groups.items():
        first = members[0]
        place = where(first.column, [item.place for item in members if item.place])
        is_example = len({item.reason for item in members}) > 1 or len(first.groups or ()) > 1
        example = "for example " if is_example else ""
        yield f"{action}: {place}: {rules()[first.rule].heading}: {example}{first.reason}"
