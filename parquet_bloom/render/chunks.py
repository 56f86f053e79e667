"""What several commands say of column chunks, or columns of stripes, to which something was not done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from parquet_bloom.render.terminal import numbered

if TYPE_CHECKING:
    from parquet_bloom.parquet.filter_builder import SkippedChunk
    from parquet_bloom.verbs.orc.build import SkippedStripeColumn
    from parquet_bloom.verbs.strip import StayingFilter


def lines_by_reason(what: str, chunks: Sequence[SkippedChunk | StayingFilter]) -> list[str]:
    """A line for the chunks of one column that have one reason; `what` begins it."""
    return _by_reason(
        what,
        "row group",
        [(chunk.column, chunk.reason, chunk.row_group) for chunk in chunks],
    )


def stripe_lines_by_reason(what: str, skipped: Sequence[SkippedStripeColumn]) -> list[str]:
    """The same of an ORC file."""
    return _by_reason(
        what,
        "stripe",
        [(skip.column, skip.reason, skip.stripe) for skip in skipped],
    )


def _by_reason(what: str, noun: str, skipped: Sequence[tuple[str, str, int]]) -> list[str]:
    groups: dict[tuple[str, str], list[int]] = {}
    for column, reason, number in skipped:
        groups.setdefault((column, reason), []).append(number)
    return [
        f"{what} {column}, {numbered(noun, numbers)}: {reason}"
        for (column, reason), numbers in groups.items()
    ]
