"""What `pbloom strip` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloom.container import number_of
from parquet_bloom.render.chunks import lines_by_reason
from parquet_bloom.render.terminal import write_line
from parquet_bloom.render.wording import size

if TYPE_CHECKING:
    from parquet_bloom.verbs.strip import StripReport


def write_strip(report: StripReport) -> None:
    """What was removed from one file; what was left, by reason."""
    target = report.output or f"{report.path} (dry run)"
    write_line(
        f"{target}: {number_of(report.num_filters, 'filter')} removed,"
        f" {size(report.bytes_removed)} less, {report.seconds:.2f} s"
    )
    for line in lines_by_reason("left", report.left):
        write_line(line)
