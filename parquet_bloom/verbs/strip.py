"""Remove filters: the pointers always, the bytes where they are the last before the footer."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloom.files import open as open_file
from parquet_bloom.legacy.presence import OlderFilters, may_have_hidden
from parquet_bloom.parquet.file import NO_KEY, ParquetFile
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.pages.pages import located
from parquet_bloom.parquet.plaintext_filters import leaks
from parquet_bloom.parquet.writer import check_rewritable, kept_end, rewriting
from parquet_bloom.storage.new_version import Target, resolve_target

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.verbs.orc.strip import OrcStripReport


@dataclass(frozen=True, slots=True)
class RemovedFilter:
    """`offset` is None for a filter that was in the footer."""

    row_group: int
    column: str
    offset: int | None


@dataclass(frozen=True, slots=True)
class StayingFilter:
    """A filter, or what there is of it in plaintext, that could not be removed; or there may be one
    and nobody knows."""

    row_group: int
    column: str
    reason: str


@dataclass(frozen=True, slots=True)
class StripReport:
    """What strip did to one file. Sizes in bytes; `output` is None for a dry run."""

    path: str
    output: str | None
    removed: tuple[RemovedFilter, ...]
    left: tuple[StayingFilter, ...]
    bytes_removed: int
    size_before: int
    size_after: int
    seconds: float

    @property
    def num_filters(self) -> int:
        """Those that were removed."""
        return len(self.removed)


def strip(
    source: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    columns: Sequence[str] | None = None,
    row_groups: Sequence[int] | None = None,
    in_place: bool = False,
    overwrite: bool = False,
    dry_run: bool = False,
    verify: bool = True,
    keys: Keys | None = None,
) -> StripReport | OrcStripReport:
    """Write `source` without the filters of `columns` (default: all) in `row_groups`.

    Those of older dialects go, too. A filter that cannot be read loses its pointer, and its bytes
    stay. keys: for encrypted files, that of the footer and those of `columns`; by default, what
    there is no key to is left. Of an ORC file, `row_groups` are stripes.

    Raises ColumnError, FormatError, UnsupportedError, EncryptionError, RewriteError, OSError.
    """
    target = None if dry_run else resolve_target(source, output, in_place, overwrite)
    with open_file(source, keys) as file:
        if file.format == "orc":
            # Only here is protobuf needed.
            from parquet_bloom.verbs.orc.strip import strip_orc

            return strip_orc(file, target, columns=columns, stripes=row_groups, verify=verify)
        return _strip_parquet(file, target, columns, row_groups, in_place, verify)


def _strip_parquet(
    file: ParquetFile,
    target: Target | None,
    columns: Sequence[str] | None,
    row_groups: Sequence[int] | None,
    in_place: bool,
    verify: bool,
) -> StripReport:
    started = time.perf_counter()
    check_rewritable(file)
    chunks = {
        (row_group, leaf.index): file.footer.chunk(row_group, leaf)
        for row_group in file.row_groups(row_groups)
        for leaf in file.leaves(columns)
    }
    locked = {key: chunk for key, chunk in chunks.items() if columns is None and chunk.is_locked}
    pointing = {
        key: chunk for key, chunk in chunks.items() if key not in locked and _may_point(chunk)
    }
    for chunk in pointing.values():
        with located(file.footer, chunk):
            chunk.modules.check_writable()
    older = _older_filters(file, chunks.values())
    # An object that is replaced is not there any more to be looked at.
    remaining = [leak for leak in leaks(file, dict.fromkeys(pointing)) if leak.remains]
    # Most files of a lake may have none, and need not be copied.
    is_idle = in_place and not pointing and not older.keys
    size_after = (
        file.source.size if is_idle else _write_without(file, target, pointing, older, verify)
    )
    return StripReport(
        path=file.path,
        output=None if target is None else target.name,
        removed=tuple(_removed(chunks, pointing, older)),
        left=(
            *(_left(chunk, NO_KEY) for chunk in locked.values()),
            *(_left(leak.chunk, leak.remains) for leak in remaining),
        ),
        bytes_removed=file.source.size - size_after,
        size_before=file.source.size,
        size_after=size_after,
        seconds=time.perf_counter() - started,
    )


def _older_filters(file: ParquetFile, chunks: Collection[ColumnChunk]) -> OlderFilters:
    if not may_have_hidden(file.footer, chunks):
        return OlderFilters()
    # Only here is numpy needed, which takes longer to import than most files take to strip.
    from parquet_bloom.verbs.strip_older import older_filters

    return older_filters(file, chunks)


def _write_without(
    file: ParquetFile,
    target: Target | None,
    pointing: Mapping[ChunkKey, ColumnChunk],
    older: OlderFilters,
    verify: bool,
) -> int:
    """Write the file without the filters that the footer points to, and without those of older
    dialects; returns its size."""
    if older.keys:
        from parquet_bloom.verbs.strip_older import strip_older

        return strip_older(file, target, pointing, older, verify)
    with rewriting(file, target, kept_end(file, pointing), verify) as rewrite:
        rewrite.finish(dict.fromkeys(pointing), {})
        return rewrite.size


def _removed(
    chunks: Mapping[ChunkKey, ColumnChunk], pointing: Container[ChunkKey], older: OlderFilters
) -> Iterator[RemovedFilter]:
    """Each filter once, in file order."""
    for key, chunk in chunks.items():
        row_group, column = chunk.row_group, chunk.leaf.name
        if key in pointing:
            yield RemovedFilter(row_group, column, chunk.bloom_filter_offset or 0)
        place = older.noted.get(key)
        if key in older.noted and (place is None or place[0] != chunk.bloom_filter_offset):
            yield RemovedFilter(row_group, column, place[0] if place else 0)
        if key in older.in_statistics:
            yield RemovedFilter(row_group, column, None)


def _may_point(chunk: ColumnChunk) -> bool:
    """Whether the footer says anything of a filter, or nobody knows."""
    return (
        chunk.bloom_filter_offset is not None
        or chunk.bloom_filter_length is not None
        or chunk.is_locked
    )


def _left(chunk: ColumnChunk, reason: str) -> StayingFilter:
    return StayingFilter(chunk.row_group, chunk.leaf.name, reason)
