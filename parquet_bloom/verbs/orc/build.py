"""Add Bloom filters to an ORC file that already exists; no data stream is rewritten.

    stripe   | row index, new filters of a column | row index, ... | data: as it was | footer |

Stripes are worked on by several threads and written in order. Before the new file takes its name it
is opened again, and its data, its row indexes and its statistics are compared with the old ones.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal, get_args

from parquet_bloom.errors import RewriteError, UnsupportedError
from parquet_bloom.orc import writers
from parquet_bloom.orc.build import BuiltStreams, OrcFilterBuilder, OrcSize
from parquet_bloom.orc.chunk import OrcChunk
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.file import OrcFile
from parquet_bloom.orc.injection import UTF8_AND_UTC, FilterStreams, check_indexed, check_injectable
from parquet_bloom.orc.keys.key_hashes import never_absent
from parquet_bloom.orc.stripe import BLOOM_FILTER, BLOOM_FILTER_UTF8, FILTER_KINDS
from parquet_bloom.orc.values import reason_unreadable
from parquet_bloom.orc.writer import OrcRewrite, rewriting
from parquet_bloom.parallel import Progress, of_all
from parquet_bloom.parquet.filter_builder import HAS_ONE
from parquet_bloom.storage.new_version import Target

# Which streams are written: for every reader of today, or for those before ORC 1.3, too.
OrcStreams = Literal["utf8", "both"]
_KINDS = {"utf8": (BLOOM_FILTER_UTF8,), "both": (BLOOM_FILTER, BLOOM_FILTER_UTF8)}


@dataclass(frozen=True, slots=True)
class BuiltOrcFilters:
    """The filters of one column in one stripe, one for each index group.

    `num_values`: non-null values in the stripe; `fpp`: the highest of the index groups, computed
    from the bits; `offset` and `length`: of the stream, or of both.
    """

    stripe: int
    column: str
    num_values: int
    index_groups: int
    num_bits: int
    num_hashes: int
    fpp: float
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class SkippedStripeColumn:
    """A column of a stripe that got no filters, and why."""

    stripe: int
    column: str
    reason: str


@dataclass(frozen=True, slots=True)
class OrcBuildReport:
    """What build did to one file. Sizes in bytes; `output` is None for a dry run. `notes`: which
    readers will not look at the filters."""

    path: str
    output: str | None
    filters: tuple[BuiltOrcFilters, ...]
    skipped: tuple[SkippedStripeColumn, ...]
    bytes_added: int
    size_before: int
    size_after: int
    seconds: float
    notes: tuple[str, ...] = ()

    @property
    def num_filters(self) -> int:
        """Those of all index groups."""
        return sum(built.index_groups for built in self.filters)


@dataclass(frozen=True, slots=True)
class OrcBuildOptions:
    """As verbs.build.build takes them. `ndv`: values to size for, instead of the rows of an index
    group; `stripes`: None for all. Raises ValueError."""

    columns: Sequence[str]
    fpp: float
    ndv: int | None
    existing: str
    stripes: Sequence[int] | None
    streams: OrcStreams
    force: bool
    threads: int | None

    def __post_init__(self) -> None:
        if self.streams not in get_args(OrcStreams):
            raise ValueError(
                f"orc_streams: {self.streams}, expected {', '.join(get_args(OrcStreams))}"
            )

    @property
    def kinds(self) -> tuple[int, ...]:
        """Of the streams to write, in the order in which readers expect them."""
        return _KINDS[self.streams]


# A column of a stripe with its filters, or with why it gets none.
_Built = tuple[OrcChunk, BuiltStreams | str]


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is to get filters, in file order, and what is not."""

    wanted: list[OrcChunk] = field(default_factory=list)
    skipped: list[SkippedStripeColumn] = field(default_factory=list)


def build_orc(
    file: OrcFile,
    target: Target | None,
    options: OrcBuildOptions,
    *,
    verify: bool,
    progress: Progress | None,
) -> OrcBuildReport:
    """Write `file` with filters to `target`; without one nothing is written.

    Raises ColumnError, UnsupportedError for files and columns that cannot get filters, FormatError
    for damage in what is read, RewriteError, OSError.
    """
    started = time.perf_counter()
    check_injectable(file.tail)
    plan = _plan_of(file, options)
    # Most files of a lake that is built every day lack nothing, and need not be copied.
    is_idle = target is not None and target.in_place and not plan.wanted
    size = OrcSize(options.fpp, options.ndv or max(1, file.tail.row_index_stride))
    builder = OrcFilterBuilder(file, size, options.kinds, options.threads)
    with rewriting(file, None if is_idle else target, verify) as rewrite:
        writing = _Writing(file, rewrite, options, size)
        writing.write_all(builder.built(plan.wanted), of_all(progress, plan.wanted))
        size_after = file.source.size
        if writing.has_changes or target is None or not target.in_place:
            rewrite.finish()
            size_after = rewrite.size
    skipped = [*plan.skipped, *writing.skipped]
    return OrcBuildReport(
        path=file.path,
        output=None if target is None else target.name,
        filters=tuple(writing.filters),
        skipped=tuple(sorted(skipped, key=lambda skip: skip.stripe)),
        bytes_added=size_after - file.source.size,
        size_before=file.source.size,
        size_after=size_after,
        seconds=time.perf_counter() - started,
        notes=tuple(_notes(file, writing.filters)),
    )


def _plan_of(file: OrcFile, options: OrcBuildOptions) -> _Plan:
    """Raises ColumnError, UnsupportedError, FilterError, RewriteError."""
    plan = _Plan()
    columns = file.named_columns(options.columns)
    for index in file.stripes(options.stripes):
        for column in columns:
            reason = _reason_to_skip(file, index, column, options.existing)
            if reason:
                plan.skipped.append(SkippedStripeColumn(index, column.name, reason))
                continue
            check_indexed(file.stripe(index), column)
            if unreadable := reason_unreadable(file.tail.columns, column):
                raise UnsupportedError(f"{file.path}: column {column.name}: {unreadable}")
            plan.wanted.append(OrcChunk(file.stripe(index), column))
    return plan


def _reason_to_skip(file: OrcFile, stripe: int, column: OrcColumn, existing: str) -> str | None:
    if reason := never_absent(column):
        return reason
    if not _has_filters(file, stripe, column):
        return None
    if existing == "error":
        raise RewriteError(f"{file.path}: stripe {stripe}, column {column.name}: {HAS_ONE}")
    return HAS_ONE if existing == "keep" else None


def _has_filters(file: OrcFile, stripe: int, column: OrcColumn) -> bool:
    return bool(file.stripe(stripe).streams_of(column.id, FILTER_KINDS))


class _Writing:
    """Writes stripes as their filters come, and keeps what there is to report."""

    def __init__(
        self, file: OrcFile, rewrite: OrcRewrite, options: OrcBuildOptions, size: OrcSize
    ) -> None:
        self._file = file
        self._rewrite = rewrite
        self._reason_against = (lambda built: "") if options.force else size.reason_against
        self.has_changes = False
        self.filters: list[BuiltOrcFilters] = []
        self.skipped: list[SkippedStripeColumn] = []

    def write_all(self, built: Iterator[_Built], progress: Callable[[int], None]) -> None:
        """Write every stripe; `progress` is told how many columns of stripes are done."""
        done = 0
        of_stripes = groupby(built, key=lambda each: each[0].stripe.index)
        ahead = next(of_stripes, None)
        for index in range(self._file.num_stripes):
            if ahead is None or ahead[0] != index:
                self._rewrite.write_stripe(index, {})
                continue
            results = []
            for result in ahead[1]:
                results.append(result)
                done += 1
                progress(done)
            self._write(index, results)
            ahead = next(of_stripes, None)

    def _write(self, index: int, results: Sequence[_Built]) -> None:
        wanted: dict[int, tuple[OrcColumn, BuiltStreams]] = {}
        changes: dict[int, FilterStreams] = {}
        for item, built in results:
            reason = built if isinstance(built, str) else self._reason_against(built)
            if not isinstance(built, str) and not reason:
                wanted[item.column.id] = item.column, built
                changes[item.column.id] = built.streams
                continue
            self.skipped.append(SkippedStripeColumn(index, item.column.name, reason))
            # Filters that are to be replaced go in any case.
            if _has_filters(self._file, index, item.column):
                changes[item.column.id] = {}
        self.has_changes |= bool(changes)
        offsets = self._rewrite.write_stripe(index, changes)
        for column, built in wanted.values():
            first = min(offsets[column.id, kind] for kind in built.streams)
            self.filters.append(_reported(index, column, built, first))


def _reported(stripe: int, column: OrcColumn, built: BuiltStreams, offset: int) -> BuiltOrcFilters:
    return BuiltOrcFilters(
        stripe=stripe,
        column=column.name,
        num_values=built.num_values,
        index_groups=built.index_groups,
        num_bits=built.num_bits,
        num_hashes=built.num_hashes,
        fpp=built.fpp,
        offset=offset,
        length=sum(map(len, built.streams.values())),
    )


def _notes(file: OrcFile, filters: Sequence[BuiltOrcFilters]) -> Iterator[str]:
    """Which readers will not look at what was built."""
    for name in dict.fromkeys(built.column for built in filters):
        column = file.column(name)
        for line in writers.ignored(file.generation, column, BLOOM_FILTER_UTF8, UTF8_AND_UTC):
            yield f"{name}: {line}"
