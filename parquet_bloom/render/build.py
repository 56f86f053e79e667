"""What `pbloom build` prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from parquet_bloom.container import BuiltFilters, number_of
from parquet_bloom.render.chunks import lines_by_reason
from parquet_bloom.render.terminal import Row, write_line, write_table
from parquet_bloom.render.wording import percent, size

if TYPE_CHECKING:
    from parquet_bloom.verbs.build import BuildReport

_HEADER = ("column", "filters", "bytes", "largest", "bits of each", "hashes", "highest FPP")


def write_build(report: BuildReport) -> None:
    """What was added to one file, by column; what was skipped, by reason."""
    target = report.output or f"{report.path} (dry run)"
    write_line(
        f"{target}: {number_of(report.num_filters, 'filter')}, {size(report.bytes_added)} added"
        f" ({percent(report.bytes_added / report.size_before)}), {report.seconds:.2f} s"
    )
    of_columns: dict[str, list[BuiltFilters]] = {}
    for built in report.filters:
        of_columns.setdefault(built.column, []).append(built)
    if of_columns:
        rows = [_column_row(column, filters) for column, filters in of_columns.items()]
        write_table(_HEADER, rows)
    for line in lines_by_reason("skipped", report.skipped):
        write_line(line)
    for note in report.notes:
        write_line(f"note: {note}")


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
