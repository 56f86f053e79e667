"""What build is asked for: which column chunks get a filter, and which do not, for what reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from parquet_bloom.errors import RewriteError
from parquet_bloom.filters.sizing import Size
from parquet_bloom.parallel import Progress
from parquet_bloom.parquet.build import reason_for_none
from parquet_bloom.parquet.file import NO_KEY, ParquetFile
from parquet_bloom.parquet.filter_builder import HAS_ONE, SkippedChunk
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.schema import LeafColumn
from parquet_bloom.parquet.pages.pages import check_readable, located

# What to do with filters that are there.
Existing = Literal["keep", "replace", "error"]


def check_existing(existing: str) -> None:
    """Raise ValueError unless it is one of what can be done with filters that are there."""
    if existing not in get_args(Existing):
        raise ValueError(f"existing: {existing}, expected {', '.join(get_args(Existing))}")


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """What is to be built in a Parquet file, as verbs.build.build takes it. Raises ValueError."""

    columns: Sequence[str]
    size: Size
    existing: Existing = "keep"
    row_groups: Sequence[int] | None = None
    in_place: bool = False
    force: bool = False
    verify: bool = True
    expose_filter_location: bool = False
    progress: Progress | None = None

    def __post_init__(self) -> None:
        check_existing(self.existing)


@dataclass(frozen=True, slots=True)
class Plan:
    """Chunks that are to get a filter, in file order, and those that are not."""

    chunks: list[ColumnChunk]
    skipped: list[SkippedChunk]

    @property
    def replaced(self) -> dict[ChunkKey, ColumnChunk]:
        """Those that have a filter of today now."""
        return {chunk.key: chunk for chunk in self.chunks if chunk.bloom_filter_offset is not None}


def plan_of(
    file: ParquetFile, columns: Sequence[str], row_groups: Sequence[int] | None, existing: Existing
) -> Plan:
    """What build has to do. Raises ColumnError, UnsupportedError, RewriteError and, if there is no
    key for anything, MissingKeyError."""

    def reason_to_skip(chunk: ColumnChunk) -> str | None:
        if chunk.is_locked:
            return NO_KEY
        has_one = chunk.bloom_filter_offset is not None
        return reason_for_none(chunk.leaf.type) or reason_to_keep(file, chunk, has_one, existing)

    plan = plan_without(file, columns, row_groups, reason_to_skip)
    if not plan.chunks:
        _check_any_key(file, file.leaves(columns))
    return plan


def plan_without(
    file: ParquetFile,
    columns: Sequence[str],
    row_groups: Sequence[int] | None,
    reason_to_skip: Callable[[ColumnChunk], str | None],
) -> Plan:
    """All chunks but those for which there is a reason. Raises as plan_of, and MissingKeyError for a
    chunk that there is no key to."""
    plan = Plan([], [])
    leaves = file.leaves(columns)
    for row_group in file.row_groups(row_groups):
        for leaf in leaves:
            chunk = file.footer.chunk(row_group, leaf)
            reason = reason_to_skip(chunk)
            if reason:
                plan.skipped.append(SkippedChunk(row_group, leaf.name, reason))
                continue
            with located(file.footer, chunk):
                check_readable(file.footer, chunk)
                chunk.modules.check_writable()
            plan.chunks.append(chunk)
    return plan


def reason_to_keep(
    file: ParquetFile, chunk: ColumnChunk, has_one: bool, existing: Existing
) -> str | None:
    """Why a chunk keeps the filter that it has; None if it has none, or it is to be replaced.

    Raises RewriteError if there must be none.
    """
    if not has_one or existing == "replace":
        return None
    if existing == "error":
        raise RewriteError(f"{file.path}: {chunk.where}: {HAS_ONE}")
    return HAS_ONE


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
