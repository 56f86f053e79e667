"""What `pbloom build` prints of an ORC file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloom.render.chunks import stripe_lines_by_reason
from parquet_bloom.render.terminal import Row, percent, size, write_line, write_table

if TYPE_CHECKING:
    from parquet_bloom.verbs.orc.build import BuiltOrcFilters, OrcBuildReport


def write_orc_build(report: OrcBuildReport) -> None:
    """What was added to one file, by column; what was skipped, by reason."""
    target = report.output or f"{report.path} (dry run)"
    count = sum(built.index_groups for built in report.filters)
    write_line(
        f"{target}: {count} filters, {size(report.bytes_added)} added"
        f" ({percent(report.bytes_added / report.size_before)}), {report.seconds:.2f} s"
    )
    if report.filters:
        write_table(
            ("column", "filters", "bytes", "bits of each", "hashes", "highest FPP"),
            [
                _column_row(column, [built for built in report.filters if built.column == column])
                for column in dict.fromkeys(built.column for built in report.filters)
            ],
        )
    for line in stripe_lines_by_reason("skipped", report.skipped):
        write_line(line)
    for note in report.notes:
        write_line(f"note: {note}")


def _column_row(column: str, filters: list[BuiltOrcFilters]) -> Row:
    return (
        column,
        str(sum(built.index_groups for built in filters)),
        size(sum(built.length for built in filters)),
        str(filters[0].num_bits),
        str(filters[0].num_hashes),
        percent(max(built.fpp for built in filters)),
    )
