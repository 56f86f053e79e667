"""Mend what is wrong with a file's filters by a new footer; on request build them again.

    | pages, page indexes, filters: as they were | filters built again | FileMetaData | … | PAR1 |

No byte before the footer changes. A pointer that leads to nothing, or to a filter that makes values
seem absent that are there, is dropped; a missing or wrong length is set. See `mends` for what is
decided how.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from parquet_bloom.errors import UnsupportedError
from parquet_bloom.files import open as open_file
from parquet_bloom.filters.sizing import MAX_BYTES, Size
from parquet_bloom.parallel import Progress
from parquet_bloom.parquet.file import ParquetFile
from parquet_bloom.parquet.filter_builder import TolerantFilterBuilder
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.footer import FilterPlace
from parquet_bloom.parquet.writer import (
    FilterChange,
    NewFilters,
    bitset_digest,
    check_end,
    check_pages,
    check_rewritable,
)
from parquet_bloom.rules.catalogue import Finding
from parquet_bloom.rules.mends import (
    Examined,
    examine,
    examine_values,
    locked,
    mended_places,
    settle,
)
from parquet_bloom.storage.new_version import Target, resolve_target, write_version

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.verbs.orc.repair import OrcRepairReport

Action = Literal["length set", "length removed", "pointer dropped", "rebuilt"]


@dataclass(frozen=True, slots=True)
class RepairedFilter:
    """What was done for one column chunk, and the rule that was broken, with the words for it.

    `offset` and `length` say where its filter lies now, None if it has none.
    """

    row_group: int
    column: str
    action: Action
    rule: str
    reason: str
    offset: int | None
    length: int | None


@dataclass(frozen=True, slots=True)
class LeftFilter:
    """A rule that is still broken; `reason` says what is wrong, and what would mend it."""

    row_group: int
    column: str
    rule: str
    reason: str


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What repair did to one file. Sizes in bytes, `bytes_added` is less than 0 if the footer got
    shorter; `output` is None for a dry run."""

    path: str
    output: str | None
    repaired: tuple[RepairedFilter, ...]
    left: tuple[LeftFilter, ...]
    bytes_added: int
    size_before: int
    size_after: int
    seconds: float


def repair(
    source: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    columns: Sequence[str] | None = None,
    row_groups: Sequence[int] | None = None,
    drop_bad: bool = False,
    rebuild: bool = False,
    fpp: float = 0.01,
    max_bytes: int = MAX_BYTES,
    in_place: bool = False,
    overwrite: bool = False,
    dry_run: bool = False,
    verify: bool = True,
    threads: int | None = None,
    keys: Keys | None = None,
    progress: Progress | None = None,
) -> RepairReport | OrcRepairReport:
    """Write `source` with the filters of `columns` (dotted leaf paths; default: all) mended.

    By default no value is read, and what only values could prove right is dropped. drop_bad: look
    up every stored value; filters with false negatives are dropped. rebuild: the same, and whatever
    was dropped, or is right but trips readers, is built again from the data; fpp and max_bytes are
    as for build. Other options as for build. progress: called with (chunks done, chunks in all),
    for the values that are looked up and for the filters that are built.

    Nothing in an ORC file points to a filter: without drop_bad or rebuild nothing is mended in it,
    and the report says what would. Of it, row_groups are stripes.

    Raises ColumnError, FormatError for a footer that contradicts itself or is damaged,
    EncryptionError for what does not open or cannot be sealed again, UnsupportedError, RewriteError
    for outputs that must not be written, OSError.
    """
    started = time.perf_counter()
    size = Size(fpp, max_bytes)
    target = (
        Target(None, in_place=in_place)
        if dry_run
        else resolve_target(source, output, in_place, overwrite)
    )
    with open_file(source, keys) as file:
        if file.format == "orc":
            if max_bytes != MAX_BYTES:
                raise UnsupportedError(f"{file.path}: max_bytes: has no meaning for an ORC file")
            # Only here are protobuf and pyarrow needed.
            from parquet_bloom.verbs.orc.repair import OrcRepairOptions, repair_orc

            options = OrcRepairOptions(columns, row_groups, drop_bad, rebuild, fpp, threads)
            return repair_orc(file, target, options, verify=verify, progress=progress)
        check_rewritable(file)
        file.footer.check_row_counts()
        check_pages(file)
        wanted = _wanted(file, columns, row_groups)
        filters = examine(file, wanted)
        if drop_bad or rebuild:
            examine_values(file, filters, threads, progress)
        settle(file, filters)
        mended = mended_places(filters)
        wanting = _wanting(filters) if rebuild else []
        if wanting:
            check_end(file, mended)
        change = FilterChange(
            file,
            file.footer.start,
            mended,
            NewFilters(
                chunks=wanting,
                built=TolerantFilterBuilder(file, size, threads).built,
                reason_against=size.reason_against,
                progress=progress,
            ),
            _digests(file, filters),
        )
        size_after = write_version(file.source, target, change, verify)
        outcomes = _Outcomes(change)
        return RepairReport(
            path=file.path,
            output=target.name,
            repaired=tuple(done for each in filters for done in outcomes.repaired(each)),
            left=(
                *(left for each in filters for left in outcomes.left(each)),
                *_remains(change),
                *(_left(chunk, why, "") for chunk, why in locked(file, wanted)),
            ),
            bytes_added=size_after - file.source.size,
            size_before=file.source.size,
            size_after=size_after,
            seconds=time.perf_counter() - started,
        )


def _wanted(
    file: ParquetFile, columns: Sequence[str] | None, row_groups: Sequence[int] | None
) -> set[ChunkKey]:
    leaves = file.leaves(columns)
    return {(group, leaf.index) for group in file.row_groups(row_groups) for leaf in leaves}


def _wanting(filters: Sequence[Examined]) -> list[ColumnChunk]:
    """The chunks that had a filter and need another one."""
    return [each.chunk for each in filters if each.had_filter and (each.fatal or each.shortcoming)]


def _digests(file: ParquetFile, filters: Sequence[Examined]) -> dict[ChunkKey, int]:
    """Of the bits of the filters whose length is set."""
    return {
        each.key: bitset_digest(file, each.stored)
        for each in filters
        if each.stored and each.length and not each.fatal
    }


def _remains(change: FilterChange) -> Iterator[LeftFilter]:
    """What is still in plaintext of encrypted columns' filters that nobody points to any more."""
    for leak in change.leaks:
        if leak.remains:
            yield LeftFilter(leak.chunk.row_group, leak.chunk.leaf.name, "PB501", leak.remains)


class _Outcomes:
    """What became of each chunk, in words."""

    def __init__(self, change: FilterChange) -> None:
        self._places = change.appended
        self._skipped = {(skip.row_group, skip.column): skip.reason for skip in change.skipped}

    def repaired(self, each: Examined) -> Iterator[RepairedFilter]:
        """What was done."""
        place = self._places.get(each.key)
        wanting = each.fatal or each.shortcoming
        if place is not None and wanting is not None:
            yield _repaired(each.chunk, "rebuilt", wanting, place)
        elif each.fatal is not None:
            lost: Action = (
                "length removed" if each.chunk.bloom_filter_offset is None else "pointer dropped"
            )
            yield _repaired(each.chunk, lost, each.fatal, None, self._why_not(each))
        elif each.length is not None:
            yield _repaired(each.chunk, "length set", each.length, each.place)

    def left(self, each: Examined) -> Iterator[LeftFilter]:
        """What is still wrong."""
        if each.fatal is not None or each.key in self._places:
            return
        if each.shortcoming is not None:
            more = self._why_not(each) or "; rebuild mends it"
            yield _left(each.chunk, each.shortcoming, more)
        if each.unread is not None:
            stays = "; the filter stays, right or wrong: strip removes it"
            yield _left(each.chunk, each.unread, stays)

    def _why_not(self, each: Examined) -> str:
        """Why a filter was not built again; empty if nobody tried."""
        reason = self._skipped.get((each.chunk.row_group, each.chunk.leaf.name))
        return f"; not rebuilt: {reason}" if reason else ""


def _repaired(
    chunk: ColumnChunk, action: Action, why: Finding, place: FilterPlace | None, more: str = ""
) -> RepairedFilter:
    return RepairedFilter(
        row_group=chunk.row_group,
        column=chunk.leaf.name,
        action=action,
        rule=why.rule,
        reason=why.statement + more,
        offset=None if place is None else place.offset,
        length=None if place is None else place.length,
    )


def _left(chunk: ColumnChunk, why: Finding, more: str) -> LeftFilter:
    return LeftFilter(chunk.row_group, chunk.leaf.name, why.rule, why.statement + more)
