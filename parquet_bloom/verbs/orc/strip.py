"""Remove filters from an ORC file: their streams, and all that stripe footers say of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from parquet_bloom.orc.file import OrcFile
from parquet_bloom.orc.injection import FilterStreams, check_injectable
from parquet_bloom.orc.stripe import FILTER_KINDS
from parquet_bloom.orc.writer import rewriting
from parquet_bloom.storage.new_version import Target


@dataclass(frozen=True, slots=True)
class RemovedOrcFilters:
    """The filters of one column in one stripe, one for each of its index groups: a stream of this
    kind, in the old file."""

    stripe: int
    column: str
    stream: str
    index_groups: int
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class OrcStripReport:
    """What strip did to one file. Sizes in bytes; `output` is None for a dry run."""

    path: str
    output: str | None
    removed: tuple[RemovedOrcFilters, ...]
    bytes_removed: int
    size_before: int
    size_after: int
    seconds: float

    @property
    def num_filters(self) -> int:
        """Those of all index groups that were removed."""
        return sum(each.index_groups for each in self.removed)


def strip_orc(
    file: OrcFile,
    target: Target | None,
    *,
    columns: Sequence[str] | None,
    stripes: Sequence[int] | None,
    verify: bool,
) -> OrcStripReport:
    """Write `file` without the filters of `columns` (all for None) in `stripes` to `target`; without
    one nothing is written.

    Raises ColumnError, UnsupportedError for files with encrypted columns, FormatError,
    RewriteError, OSError.
    """
    started = time.perf_counter()
    check_injectable(file.tail)
    wanted = {column.id: column for column in file.named_columns(columns)}
    removed = tuple(
        RemovedOrcFilters(
            stripe=index,
            column=wanted[stream.column].name,
            stream=stream.name,
            index_groups=file.stripe(index).num_index_groups,
            offset=stream.offset,
            length=stream.length,
        )
        for index in file.stripes(stripes)
        for stream in file.stripe(index).streams
        if stream.kind in FILTER_KINDS and stream.column in wanted
    )
    is_idle = target is not None and target.in_place and not removed
    size_after = file.source.size
    with rewriting(file, None if is_idle else target, verify) as rewrite:
        for index in range(file.num_stripes):
            names = {each.column for each in removed if each.stripe == index}
            gone: dict[int, FilterStreams] = {
                column.id: {} for column in wanted.values() if column.name in names
            }
            rewrite.write_stripe(index, gone)
        if not is_idle:
            rewrite.finish()
            size_after = rewrite.size
    return OrcStripReport(
        path=file.path,
        output=None if target is None else target.name,
        removed=removed,
        bytes_removed=file.source.size - size_after,
        size_before=file.source.size,
        size_after=size_after,
        seconds=time.perf_counter() - started,
    )
