"""Which column chunks build gives a filter, and which it does not, for what reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from parquet_bloom.chunk_filter import reason_for_none
from parquet_bloom.errors import RewriteError
from parquet_bloom.files import NO_KEY, ParquetFile
from parquet_bloom.filter_builder import HAS_ONE, SkippedChunk
from parquet_bloom.parquet.chunk_table import ChunkKey
from parquet_bloom.parquet.column_chunk import ColumnChunk
from parquet_bloom.parquet.pages import check_readable, located
from parquet_bloom.parquet.schema import LeafColumn

# What to do with filters that are there.
Existing = Literal["keep", "replace", "error"]


def check_existing(existing: str) -> None:
    """Raise ValueError unless it is one of what can be done with filters that are there."""
    if existing not in get_args(Existing):
        raise ValueError(f"existing: {existing}, expected {', '.join(get_args(Existing))}")


@dataclass(frozen=True, slots=True)
class Plan:
    """Chunks that are to get a filter, in file order; `replaced` are those of them that have a filter now."""

    chunks: list[ColumnChunk]
    replaced: dict[ChunkKey, ColumnChunk]
    skipped: list[SkippedChunk]


def plan_of(
    file: ParquetFile, columns: Sequence[str], row_groups: Sequence[int] | None, existing: Existing
) -> Plan:
    """What build has to do. Raises ColumnError, UnsupportedError, RewriteError and, if there is no
    key for anything, MissingKeyError."""
    plan = Plan([], {}, [])
    leaves = file.leaves(columns)
    for row_group in file.row_groups(row_groups):
        for leaf in leaves:
            chunk = file.footer.chunk(row_group, leaf)
            reason = _reason_to_skip(file, chunk, existing)
            if reason:
                plan.skipped.append(SkippedChunk(row_group, leaf.name, reason))
                continue
            with located(file.footer, chunk):
                check_readable(file.footer, chunk)
                chunk.modules.check_writable()
            plan.chunks.append(chunk)
            if chunk.bloom_filter_offset is not None:
                plan.replaced[row_group, leaf.index] = chunk
    if not plan.chunks:
        _check_any_key(file, leaves)
    return plan


def _check_any_key(file: ParquetFile, leaves: Sequence[LeafColumn]) -> None:
    """Raise MissingKeyError if all that was asked for is encrypted, and there is no key."""
    chunks = [
        file.footer.chunk(row_group, leaf)
        for row_group in range(file.num_row_groups)
        for leaf in leaves
    ]
    if chunks and all(chunk.is_locked for chunk in chunks):
        with located(file.footer, chunks[0]):
            chunks[0].modules.check_readable()


def _reason_to_skip(file: ParquetFile, chunk: ColumnChunk, existing: Existing) -> str | None:
    reason = NO_KEY if chunk.is_locked else reason_for_none(chunk.leaf.type)
    if reason is not None:
        return reason
    if chunk.bloom_filter_offset is None:
        return None
    if existing == "error":
        raise RewriteError(f"{file.path}: {chunk.where}: {HAS_ONE}")
    return HAS_ONE if existing == "keep" else None
