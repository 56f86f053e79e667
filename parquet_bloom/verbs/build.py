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
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from typing import Literal

from xxhash import xxh3_64_intdigest

from parquet_bloom.chunk_filter import Size, build_filter
from parquet_bloom.errors import FooterError, RewriteError
from parquet_bloom.files import ParquetFile
from parquet_bloom.files import open as open_file
from parquet_bloom.filters.sizing import BLOCK_BYTES, MAX_BYTES, MIN_BYTES
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.parquet import bloom
from parquet_bloom.parquet.footer import ColumnChunk, FilterPlace
from parquet_bloom.parquet.pages import check_readable, chunk_runs, located
from parquet_bloom.rewrite import Rewrite, check_rewritable, kept_end, resolve_target, rewriting

Existing = Literal["keep", "replace", "error"]
Progress = Callable[[int, int], None]

# With this key DuckDB (2.0) looks for a normalized form of each INTERVAL, 60 days as 2 months.
DUCKDB_INTERVALS = "duckdb.interval_bloom_filter"

# Filters that are built or wait to be written, together: two large ones are built one by one.
MEMORY_BUDGET = 128 << 20


@dataclass(frozen=True, slots=True)
class BuiltFilter:
    """One filter that was added. `fpp` is computed from its bits."""

    row_group: int
    column: str
    num_values: int
    num_bytes: int
    fpp: float
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class SkippedChunk:
    """One column chunk that got no filter, and why."""

    row_group: int
    column: str
    reason: str


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What build did to one file. Sizes in bytes; `output` is None for a dry run."""

    path: str
    output: str | None
    filters: tuple[BuiltFilter, ...]
    skipped: tuple[SkippedChunk, ...]
    bytes_added: int
    size_before: int
    size_after: int
    seconds: float


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
    progress: Progress | None = None,
) -> BuildReport:
    """Write `source` with Bloom filters for `columns` (dotted leaf paths) to `output`.

    fpp: the target false positive rate, 0 to 1, exclusive. Each filter is as small as it allows.
    ndv: size for this many distinct values per chunk instead. max_bytes: the limit of a bitset,
    64 to 134,217,728. exact_blocks: block counts that are not powers of two, smaller, but refused
    by Arrow C++. existing: what to do with filters that are there. force: write filters that miss
    the target, too. in_place: replace `source` itself. overwrite: replace an existing `output`.
    dry_run: build, but write nothing. progress: called with (chunks done, chunks in all).

    Raises ColumnError, FormatError for damage in what is read, UnsupportedError for codecs,
    encodings and encryption, RewriteError for outputs that must not be written, OSError.
    """
    started = time.perf_counter()
    size = _checked_size(fpp, ndv, max_bytes, exact_blocks)
    target = None if dry_run else resolve_target(source, output, in_place, overwrite)
    with open_file(source) as file:
        check_rewritable(file)
        file.footer.check_row_counts()
        plan = _plan(file, columns, row_groups, existing)
        _check_end(file, plan)
        builder = _Builder(file, size, threads or len(os.sched_getaffinity(0)))
        with rewriting(file, target, kept_end(file, plan.replaced), verify) as rewrite:
            outcome = _append_filters(builder, plan, rewrite, force, progress)
            if outcome.places or not in_place:
                rewrite.finish(outcome.places, outcome.digests)
            size_after = rewrite.size if outcome.places or not in_place else file.source.size
        return BuildReport(
            path=file.path,
            output=rewrite.output,
            filters=tuple(outcome.filters),
            skipped=tuple(sorted(outcome.skipped, key=lambda skip: skip.row_group)),
            bytes_added=size_after - file.source.size,
            size_before=file.source.size,
            size_after=size_after,
            seconds=time.perf_counter() - started,
        )


def _checked_size(fpp: float, ndv: int | None, max_bytes: int, exact_blocks: bool) -> Size:
    if not 0 < fpp < 1:
        raise ValueError(f"fpp: {fpp}, expected more than 0 and less than 1")
    if ndv is not None and ndv < 1:
        raise ValueError(f"ndv: {ndv}, expected 1 or more")
    if not MIN_BYTES <= max_bytes <= MAX_BYTES:
        raise ValueError(f"max_bytes: {max_bytes}, expected {MIN_BYTES} to {MAX_BYTES}")
    return Size(fpp, max_bytes, ndv, exact_blocks)


@dataclass(frozen=True, slots=True)
class _Plan:
    """Chunks in file order; `replaced` are those of them that have a filter now."""

    chunks: list[ColumnChunk]
    replaced: dict[tuple[int, int], ColumnChunk]
    skipped: list[SkippedChunk]


def _plan(
    file: ParquetFile, columns: Sequence[str], row_groups: Sequence[int] | None, existing: Existing
) -> _Plan:
    plan = _Plan([], {}, [])
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
            plan.chunks.append(chunk)
            if chunk.bloom_filter_offset is not None:
                plan.replaced[row_group, leaf.index] = chunk
    return plan


def _check_end(file: ParquetFile, plan: _Plan) -> None:
    """Raise FooterError if something would take what is written behind the data for its own."""
    width = len(file.footer.leaves)
    replaced = [row_group * width + column for row_group, column in plan.replaced]
    if file.footer.layout.reaches_past_the_end(replaced):
        raise FooterError(
            f"{file.path}: footer: pages or a filter that reach past {file.footer.start}, where"
            " the data ends"
        )


def _reason_to_skip(file: ParquetFile, chunk: ColumnChunk, existing: Existing) -> str | None:
    if chunk.leaf.type.physical == "BOOLEAN":
        return "BOOLEAN: two values need no filter"
    if chunk.leaf.type.logical_name == "INTERVAL" and DUCKDB_INTERVALS in file.footer.keys:
        return f"INTERVAL in a file with the key {DUCKDB_INTERVALS}: DuckDB expects other values"
    if chunk.bloom_filter_offset is None:
        return None
    if existing == "error":
        raise RewriteError(f"{file.path}: {chunk.where}: has a filter already")
    return "has a filter already" if existing == "keep" else None


@dataclass(frozen=True, slots=True)
class _Task:
    """A chunk whose filter is being built; `room` is what that takes at most, in bytes."""

    chunk: ColumnChunk
    room: int
    filter: Future[SplitBlockBloomFilter | None]


class _Builder:
    """Builds filters of chunks, some at the same time, and yields them in order."""

    def __init__(self, file: ParquetFile, size: Size, threads: int) -> None:
        self._file = file
        self._size = size
        self._threads = threads

    def filters(
        self, chunks: Sequence[ColumnChunk]
    ) -> Iterator[tuple[ColumnChunk, SplitBlockBloomFilter | None]]:
        """The filter of each chunk in turn; None for a chunk without values.

        The next ones begin as far as there is room beside those that nobody has taken yet. Whoever
        keeps a filter when asking for another keeps its memory, too.
        """
        ahead = deque(chunks)
        begun: deque[_Task] = deque()
        with ThreadPoolExecutor(self._threads, thread_name_prefix="pbloom-build") as pool:
            try:
                while ahead or begun:
                    while ahead and self._has_room(begun, ahead[0]):
                        chunk = ahead.popleft()
                        future = pool.submit(self._build, chunk)
                        begun.append(_Task(chunk, self._room(chunk), future))
                    yield _taken(begun)
            finally:
                pool.shutdown(wait=True, cancel_futures=True)

    def _has_room(self, begun: Collection[_Task], chunk: ColumnChunk) -> bool:
        """Whether to begin with one more. What exceeds the budget alone may go alone."""
        if not begun:
            return True
        room = sum(task.room for task in begun) + self._room(chunk)
        return len(begun) < 2 * self._threads and room <= MEMORY_BUDGET

    def _room(self, chunk: ColumnChunk) -> int:
        return BLOCK_BYTES * self._size.blocks_for(self._size.ndv or self._max_values(chunk))

    def _build(self, chunk: ColumnChunk) -> SplitBlockBloomFilter | None:
        with located(self._file.footer, chunk):
            return build_filter(
                lambda: chunk_runs(self._file.source, self._file.footer, chunk),
                chunk.leaf.type,
                self._max_values(chunk),
                self._size,
            )

    def reason_against(self, filter: SplitBlockBloomFilter | None, force: bool) -> str:
        """Why a filter should not be written; empty if it should."""
        if filter is None:
            return "no non-null values"
        if force or self._size.ndv or filter.fpp <= self._size.fpp:
            return ""
        return (
            f"FPP {filter.fpp:.3g} at {filter.num_bytes} bytes, the most allowed: misses the"
            f" target {self._size.fpp:g}"
        )

    def _max_values(self, chunk: ColumnChunk) -> int:
        """The most distinct values that there can be, if the footer counts the nulls right."""
        statistics = self._file.footer.column_meta_data(chunk).statistics
        nulls = (statistics and statistics.null_count) or 0
        num_values = chunk.num_values or 0
        return max(1, num_values - nulls if 0 <= nulls <= num_values else num_values)


def _taken(begun: deque[_Task]) -> tuple[ColumnChunk, SplitBlockBloomFilter | None]:
    """The first of them, when it is ready; a function of its own, so that nothing else holds it."""
    task = begun.popleft()
    return task.chunk, task.filter.result()


@dataclass(frozen=True, slots=True)
class _Outcome:
    filters: list[BuiltFilter]
    skipped: list[SkippedChunk]
    places: dict[tuple[int, int], FilterPlace | None]
    digests: dict[tuple[int, int], int]


def _append_filters(
    builder: _Builder, plan: _Plan, rewrite: Rewrite, force: bool, progress: Progress | None
) -> _Outcome:
    # A filter that is to be replaced goes in any case: its bytes may be overwritten.
    outcome = _Outcome([], list(plan.skipped), dict.fromkeys(plan.replaced), {})
    done = count(1)
    for chunk, filter in builder.filters(plan.chunks):
        reason = builder.reason_against(filter, force)
        if filter is None or reason:
            outcome.skipped.append(SkippedChunk(chunk.row_group, chunk.leaf.name, reason))
        else:
            _append_filter(chunk, filter, rewrite, outcome)
        # It can take 128 MiB, and the next one begins when it is asked for.
        del filter
        if progress:
            progress(next(done), len(plan.chunks))
    return outcome


def _append_filter(
    chunk: ColumnChunk, filter: SplitBlockBloomFilter, rewrite: Rewrite, outcome: _Outcome
) -> None:
    header = bloom.encode_header(filter.num_bytes)
    offset = rewrite.append(header)
    rewrite.append(filter.bitset)
    length = len(header) + filter.num_bytes
    key = chunk.row_group, chunk.leaf.index
    outcome.places[key] = FilterPlace(offset, length)
    outcome.digests[key] = xxh3_64_intdigest(filter.bitset)
    outcome.filters.append(
        BuiltFilter(
            row_group=chunk.row_group,
            column=chunk.leaf.name,
            num_values=chunk.num_values or 0,
            num_bytes=filter.num_bytes,
            fpp=filter.fpp,
            offset=offset,
            length=length,
        )
    )
