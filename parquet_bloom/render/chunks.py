"""What several commands say of chunks to which something was not done."""

from __future__ import annotations

from collections.abc import Sequence

from parquet_bloom.container import LeftChunk
from parquet_bloom.render.wording import numbered


def lines_by_reason(what: str, chunks: Sequence[LeftChunk]) -> list[str]:
    """A line for the chunks of one column that have one reason; `what` begins it."""
    alike: dict[tuple[str, str], list[LeftChunk]] = {}
    for chunk in chunks:
        alike.setdefault((chunk.column, chunk.reason), []).append(chunk)
    return [
        f"{what} {column}, {_places(those)}: {reason}" for (column, reason), those in alike.items()
    ]


def _places(chunks: Sequence[LeftChunk]) -> str:
    return numbered(chunks[0].place.units.part, [chunk.place.part for chunk in chunks])
