"""Which column chunks get a filter, and which do not, for what reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from parquet_bloom.container import LeftChunk
from parquet_bloom.errors import RewriteError
from parquet_bloom.options import BuildOptions
from parquet_bloom.parquet.build import reason_for_none
from parquet_bloom.parquet.file import ParquetFile
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.pages.pages import check_readable, located
from parquet_bloom.vocabulary import HAS_ONE, NO_KEY


@dataclass(frozen=True, slots=True)
class Plan:
    """Chunks that are to get a filter, in file order, and those that are not."""

    chunks: list[ColumnChunk] = field(default_factory=list)
    skipped: list[LeftChunk] = field(default_factory=list)

    @property
    def replaced(self) -> dict[ChunkKey, ColumnChunk]:
        """Those to which a footer leads now."""
        return {chunk.key: chunk for chunk in self.chunks if chunk.has_filters}


def plan_of(
    file: ParquetFile, options: BuildOptions, has_one: Callable[[ColumnChunk], bool]
) -> Plan:
    """What there is to build, where `has_one` tells which chunks have a filter of the dialect.

    Raises ColumnError, UnsupportedError, RewriteError and, if there is no key for anything,
    MissingKeyError.
    """
    plan = Plan()
    leaves = file.leaves(options.columns)
    for row_group in file.row_groups(options.parts):
        for leaf in leaves:
            chunk = file.footer.chunk(row_group, leaf)
            reason = _reason_to_skip(file, chunk, options, has_one)
            if reason:
                plan.skipped.append(LeftChunk(chunk.place, leaf.name, reason))
                continue
            with located(file.footer, chunk):
                check_readable(file.footer, chunk)
                chunk.modules.check_writable()
            plan.chunks.append(chunk)
    if not plan.chunks:
        _check_any_key(file, options)
    return plan


def _reason_to_skip(
    file: ParquetFile,
    chunk: ColumnChunk,
    options: BuildOptions,
    has_one: Callable[[ColumnChunk], bool],
) -> str | None:
    """Why a chunk gets no filter. Raises RewriteError if it must have none, and has one."""
    if chunk.is_locked:
        return NO_KEY
    if reason := reason_for_none(chunk.leaf.type):
        return reason
    if options.existing == "replace" or not has_one(chunk):
        return None
    if options.existing == "error":
        raise RewriteError(f"{file.path}: {chunk.where}: {HAS_ONE}")
    return HAS_ONE


def _check_any_key(file: ParquetFile, options: BuildOptions) -> None:
    """Raise MissingKeyError if all that was asked for is encrypted, and there is no key."""
    leaves = file.leaves(options.columns)
    chunks = [
        file.footer.chunk(row_group, leaf)
        for row_group in range(file.num_row_groups)
        for leaf in leaves
    ]
    if chunks and all(chunk.is_locked for chunk in chunks):
        with located(file.footer, chunks[0]):
            chunks[0].modules.check_readable()
