"""Remove filters: the pointers always, the bytes where they are the last before the footer."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloom.files import NO_KEY
from parquet_bloom.files import open as open_file
from parquet_bloom.leaks import leaks
from parquet_bloom.parquet.column_chunk import ColumnChunk
from parquet_bloom.parquet.pages import located
from parquet_bloom.rewrite import check_rewritable, kept_end, resolve_target, rewriting

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.verbs.orc.strip import OrcStripReport


@dataclass(frozen=True, slots=True)
class RemovedFilter:
    row_group: int
    column: str
    offset: int


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

    A filter that cannot be read loses its pointer, and its bytes stay. keys: for encrypted files,
    that of the footer and those of `columns`; by default, what there is no key to is left. Of an ORC
    file, `row_groups` are stripes. Raises
    ColumnError, FormatError, UnsupportedError, EncryptionError, RewriteError, OSError.
    """
    started = time.perf_counter()
    target = None if dry_run else resolve_target(source, output, in_place, overwrite)
    with open_file(source, keys) as file:
        if file.format == "orc":
            # Only here is protobuf needed.
            from parquet_bloom.verbs.orc.strip import strip_orc

            return strip_orc(file, target, columns=columns, stripes=row_groups, verify=verify)
        check_rewritable(file)
        chunks = {
            (row_group, leaf.index): file.footer.chunk(row_group, leaf)
            for row_group in file.row_groups(row_groups)
            for leaf in file.leaves(columns)
        }
        locked = {
            key: chunk for key, chunk in chunks.items() if columns is None and chunk.is_locked
        }
        pointing = {
            key: chunk for key, chunk in chunks.items() if key not in locked and _may_point(chunk)
        }
        for chunk in pointing.values():
            with located(file.footer, chunk):
                chunk.modules.check_writable()
        places = dict.fromkeys(pointing)
        # An object that is replaced is not there any more to be looked at.
        remaining = [leak for leak in leaks(file, places) if leak.remains]
        size_after = file.source.size
        # Most files of a lake may have none, and need not be copied.
        is_idle = in_place and not pointing
        written = None if is_idle else target
        with rewriting(file, written, kept_end(file, pointing), verify) as rewrite:
            if pointing or not in_place:
                rewrite.finish(places, {})
                size_after = rewrite.size
        return StripReport(
            path=file.path,
            output=None if target is None else target.name,
            removed=tuple(
                RemovedFilter(chunk.row_group, chunk.leaf.name, chunk.bloom_filter_offset or 0)
                for chunk in pointing.values()
            ),
            left=(
                *(_left(chunk, NO_KEY) for chunk in locked.values()),
                *(_left(leak.chunk, leak.remains) for leak in remaining),
            ),
            bytes_removed=file.source.size - size_after,
            size_before=file.source.size,
            size_after=size_after,
            seconds=time.perf_counter() - started,
        )


def _may_point(chunk: ColumnChunk) -> bool:
    """Whether the footer says anything of a filter, or nobody knows."""
    return (
        chunk.bloom_filter_offset is not None
        or chunk.bloom_filter_length is not None
        or chunk.is_locked
    )


def _left(chunk: ColumnChunk, reason: str) -> StayingFilter:
    return StayingFilter(chunk.row_group, chunk.leaf.name, reason)
