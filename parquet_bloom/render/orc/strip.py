"""What `pbloom strip` prints of an ORC file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloom.render.terminal import size, write_line

if TYPE_CHECKING:
    from parquet_bloom.verbs.orc.strip import OrcStripReport


def write_orc_strip(report: OrcStripReport) -> None:
    """What was removed from one file."""
    target = report.output or f"{report.path} (dry run)"
    write_line(
        f"{target}: filters of {len(report.removed)} column streams removed,"
        f" {size(report.bytes_removed)} less, {report.seconds:.2f} s"
    )
