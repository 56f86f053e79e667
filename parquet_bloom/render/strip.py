"""What `pbloom strip` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloom.render.terminal import size, write_line

if TYPE_CHECKING:
    from parquet_bloom.verbs.strip import StripReport


def write_strip(report: StripReport) -> None:
    target = report.output or f"{report.path} (dry run)"
    write_line(
        f"{target}: {len(report.removed)} filters removed, {size(report.bytes_removed)} less,"
        f" {report.seconds:.2f} s"
    )
