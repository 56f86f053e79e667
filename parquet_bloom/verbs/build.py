"""Add Bloom filters to a file that already exists; no page is rewritten.

    | pages, page indexes: as they were | new filters | FileMetaData with pointers | length | PAR1 |

Column chunks are read by several threads and their filters written in order, row group by row
group, while the unchanged part of the file is copied by the kernel. Before the new file takes its
name it is opened again and compared with what it must be.

Spec: parquet-format, BloomFilter.md "File Format"; the order is parquet-java's.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from parquet_bloom.errors import UnsupportedError
from parquet_bloom.files import open as open_file
from parquet_bloom.files import open_parquet
from parquet_bloom.filters.sizing import MAX_BYTES, Size
from parquet_bloom.parallel import Progress, of_all
from parquet_bloom.parquet.file import ParquetFile
from parquet_bloom.parquet.filter_builder import (
    HAS_ONE,
    Built,
    BuiltFilter,
    FilterBuilder,
    SkippedChunk,
    append_filters,
)
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.footer import FilterPlace
from parquet_bloom.parquet.plaintext_filters import leaks
from parquet_bloom.parquet.writer import check_end, check_rewritable, kept_end, rewriting
from parquet_bloom.storage.new_version import Target, resolve_target
from parquet_bloom.verbs.build_plan import BuildOptions, Existing, plan_of

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.legacy.murmur3.dialect import Murmur3
    from parquet_bloom.legacy.statistics.dialect import StatisticsFilter
    from parquet_bloom.verbs.orc.build import OrcBuildReport, OrcStreams

OF_DUCKDB = "DuckDB, up to 2.0, does not read encrypted columns that have a filter"
OF_KEPT = "filters that are there already are not shown: to expose where they lie, replace them"
OF_CTR = "pages in AES-CTR have no tag: whoever changed a value there has changed the filter"

# Filters for chunks that want one, or why they get none.
ChunkFilters = Callable[[ParquetFile, Sequence[ColumnChunk]], Iterable[Built]]


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What build did to one file. Sizes in bytes; `output` is None for a dry run. `notes`: what to
    know about filters of encrypted columns, and of older dialects."""

    path: str
    output: str | None
    filters: tuple[BuiltFilter, ...]
    skipped: tuple[SkippedChunk, ...]
    bytes_added: int
    size_before: int
    size_after: int
    seconds: float
    notes: tuple[str, ...] = ()

    @property
    def num_filters(self) -> int:
        return len(self.filters)


def build(
    source: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    columns: Sequence[str],
    fpp: float = 0.01,
    ndv: int | None = None,
    max_bytes: int = MAX_BYTES,
    exact_blocks: bool = False,
    existing: Existing = "keep",
    row_groups: Sequence[int] | None = None,
    threads: int | None = None,
    in_place: bool = False,
    overwrite: bool = False,
    force: bool = False,
    dry_run: bool = False,
    verify: bool = True,
    keys: Keys | None = None,
    expose_filter_location: bool = False,
    orc_streams: OrcStreams = "utf8",
    dialect: Murmur3 | StatisticsFilter | None = None,
    progress: Progress | None = None,
) -> BuildReport | OrcBuildReport:
    """Write `source` with Bloom filters for `columns` (dotted leaf paths) to `output`.

    fpp: the target false positive rate, 0 to 1, exclusive. Each filter is as small as it allows.
    ndv: size for this many distinct values per chunk instead. max_bytes: the limit of a bitset,
    64 to 134,217,728. exact_blocks: block counts that are not powers of two, smaller, but refused
    by Arrow C++. existing: what to do with filters that are there. force: write filters that miss
    the target, too. in_place: replace `source` itself. overwrite: replace an existing `output`.
    dry_run: build, but write nothing. keys: for encrypted files, that of the footer and those of
    `columns`, whose filters are encrypted like them; a column without a key is skipped.
    expose_filter_location: let a plaintext footer say where they lie, and so how large they are;
    Arrow C++ finds those of columns with the footer's key only there. progress: called with (chunks
    done, chunks in all).

    Of an ORC file, `columns` are dotted names, `row_groups` are stripes, and each index group gets a
    filter for as many values as it has rows, or for `ndv`; orc_streams: `both` writes them for
    readers from before ORC 1.3, too.

    dialect: write filters of an older dialect, which readers pass over unless it is told otherwise,
    to a Parquet file that is not encrypted. A StatisticsFilter says itself how large they are, so that
    fpp, ndv and max_bytes are refused.

    Raises ColumnError, FormatError for damage in what is read, UnsupportedError for codecs,
    encodings and options without a meaning, EncryptionError for what does not open or if there is no
    key at all, RewriteError for outputs that must not be written, OSError.
    """
    size = Size(fpp, max_bytes, ndv, exact_blocks)
    wanted = BuildOptions(
        columns=columns,
        size=size,
        existing=existing,
        row_groups=row_groups,
        in_place=in_place,
        force=force,
        verify=verify,
        expose_filter_location=expose_filter_location,
        progress=progress,
    )
    target = None if dry_run else resolve_target(source, output, in_place, overwrite)
    with open_file(source, keys) as file:
        if file.format == "orc":
            given = {
                "max_bytes": max_bytes != MAX_BYTES,
                "exact_blocks": exact_blocks,
                "expose_filter_location": expose_filter_location,
                "dialect": dialect is not None,
            }
            _check_options(file.path, given, "an ORC file")
            # Only here are protobuf and pyarrow needed.
            from parquet_bloom.verbs.orc.build import OrcBuildOptions, build_orc

            options = OrcBuildOptions(
                columns, fpp, ndv, existing, row_groups, orc_streams, force, threads
            )
            return build_orc(file, target, options, verify=verify, progress=progress)
        _check_options(file.path, {"orc_streams": orc_streams != "utf8"}, "a Parquet file")
        if dialect is not None:
            given = {
                "exact_blocks": exact_blocks,
                "expose_filter_location": expose_filter_location,
                "force": force,
            }
            _check_options(file.path, given, "filters of this dialect")
            return _build_older(file, target, dialect, wanted, threads)
        return _build_parquet(
            lambda file, chunks: FilterBuilder(file, size, threads).built(chunks),
            file,
            target,
            wanted,
        )


def _check_options(path: str, given: Mapping[str, bool], what: str) -> None:
    """Raise UnsupportedError for an option that is given and has no meaning for `what`."""
    for name, is_given in given.items():
        if is_given:
            raise UnsupportedError(f"{path}: {name}: has no meaning for {what}")


def build_with(
    built: ChunkFilters, path: str | os.PathLike[str], options: BuildOptions, *, dry_run: bool
) -> BuildReport:
    """As build in place, with filters from elsewhere: `built` gives them for chunks that want one."""
    target = None if dry_run else resolve_target(path, None, True, False)
    with open_parquet(path) as file:
        return _build_parquet(built, file, target, options)


def _build_older(
    file: ParquetFile,
    target: Target | None,
    dialect: Murmur3 | StatisticsFilter,
    options: BuildOptions,
    threads: int | None,
) -> BuildReport:
    # Only here is numpy needed.
    from parquet_bloom.verbs.build_older import build_older

    started = time.perf_counter()
    built = build_older(file, target, dialect, options, threads)
    return BuildReport(
        path=file.path,
        output=None if target is None else target.name,
        filters=tuple(built.filters),
        skipped=tuple(built.skipped),
        bytes_added=built.size - file.source.size,
        size_before=file.source.size,
        size_after=built.size,
        seconds=time.perf_counter() - started,
        notes=built.notes,
    )


def _build_parquet(
    built: ChunkFilters, file: ParquetFile, target: Target | None, options: BuildOptions
) -> BuildReport:
    started = time.perf_counter()
    check_rewritable(file)
    file.footer.check_row_counts()
    plan = plan_of(file, options.columns, options.row_groups, options.existing)
    replaced = plan.replaced
    check_end(file, replaced)
    # Most files of a lake that is built every day lack nothing, and need not be copied.
    is_idle = options.in_place and not plan.chunks
    with rewriting(
        file, None if is_idle else target, kept_end(file, replaced), options.verify
    ) as rewrite:
        appended = append_filters(
            file,
            built(file, plan.chunks),
            rewrite,
            (lambda filter: "") if options.force else options.size.reason_against,
            of_all(options.progress, plan.chunks),
        )
        # A filter that is to be replaced goes in any case: its bytes may be overwritten.
        is_shown = options.expose_filter_location
        places = dict.fromkeys(replaced) | _shown(appended.places, is_shown)
        # An object that is replaced is not there any more to be looked at.
        remains = tuple(_remains(file, places))
        size_after = file.source.size
        if places or not options.in_place:
            rewrite.finish(places, appended.digests)
            size_after = rewrite.size
    return BuildReport(
        path=file.path,
        output=None if target is None else target.name,
        filters=tuple(appended.filters),
        skipped=tuple(sorted([*plan.skipped, *appended.skipped], key=lambda skip: skip.row_group)),
        bytes_added=size_after - file.source.size,
        size_before=file.source.size,
        size_after=size_after,
        seconds=time.perf_counter() - started,
        notes=(
            *_notes(file, appended.filters),
            *remains,
            *_not_shown(file, plan.skipped, options.expose_filter_location),
        ),
    )


def _notes(file: ParquetFile, filters: Sequence[BuiltFilter]) -> tuple[str, ...]:
    """What readers make of filters of encrypted columns. Source: docs/encryption.md."""
    if not any(file.chunk(built.row_group, built.column).has_crypto_metadata for built in filters):
        return ()
    if file.footer.protection.has_untagged_pages:
        return (OF_DUCKDB, OF_CTR)
    return (OF_DUCKDB,)


def _not_shown(
    file: ParquetFile, skipped: Sequence[SkippedChunk], is_shown: bool
) -> tuple[str, ...]:
    """What was asked to be shown, and is of filters that stay as they are."""
    kept = (file.chunk(skip.row_group, skip.column) for skip in skipped if skip.reason == HAS_ONE)
    return (OF_KEPT,) if is_shown and any(chunk.has_crypto_metadata for chunk in kept) else ()


def _remains(file: ParquetFile, places: Mapping[ChunkKey, FilterPlace | None]) -> list[str]:
    """What is still in plaintext of filters that were replaced."""
    return [f"{leak.chunk.where}: {leak.remains}" for leak in leaks(file, places) if leak.remains]


def _shown(
    places: Mapping[ChunkKey, FilterPlace | None], is_shown: bool
) -> dict[ChunkKey, FilterPlace | None]:
    return {key: place and replace(place, is_shown=is_shown) for key, place in places.items()}
