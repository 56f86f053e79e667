"""What `pbloom build` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloom.render.chunks import lines_by_reason
from parquet_bloom.render.terminal import Row, percent, size, write_line, write_table

if TYPE_CHECKING:
    from parquet_bloom.parquet.filter_builder import BuiltFilter
    from parquet_bloom.verbs.build import BuildReport


def write_build(report: BuildReport) -> None:
    """What was added to one file, by column; what was skipped, by reason."""
    target = report.output or f"{report.path} (dry run)"
    write_line(
        f"{target}: {len(report.filters)} filters, {size(report.bytes_added)} added"
        f" ({percent(report.bytes_added / report.size_before)}), {report.seconds:.2f} s"
    )
    if report.filters:
        write_table(
            ("column", "filters", "bytes", "largest", "highest FPP"),
            [
                _column_row(column, [item for item in report.filters if item.column == column])
                for column in dict.fromkeys(item.column for item in report.filters)
            ],
        )
    for line in lines_by_reason("skipped", report.skipped):
        write_line(line)
    for note in report.notes:
        write_line(f"note: {note}")


def _column_row(column: str, filters: list[BuiltFilter]) -> Row:
    return (
        column,
        str(len(filters)),
        size(sum(item.length for item in filters)),
        size(max(item.num_bytes for item in filters)),
        percent(max(item.fpp for item in filters)),
    )
