"""What several commands say of column chunks to which something was not done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from parquet_bloom.render.terminal import shortened

if TYPE_CHECKING:
    from parquet_bloom.filter_builder import SkippedChunk
    from parquet_bloom.verbs.strip import StayingFilter


def lines_by_reason(what: str, chunks: Sequence[SkippedChunk | StayingFilter]) -> list[str]:
    """A line for the chunks of one column that have one reason; `what` begins it."""
    groups: dict[tuple[str, str], list[str]] = {}
    for chunk in chunks:
        groups.setdefault((chunk.column, chunk.reason), []).append(str(chunk.row_group))
    return [
        f"{what} {column}, row groups {shortened(row_groups)}: {reason}"
        for (column, reason), row_groups in groups.items()
    ]
