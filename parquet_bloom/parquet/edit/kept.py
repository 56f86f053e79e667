"""How much of the old file a new version keeps.

    replace | pages, page indexes, bytes of others    |   filters that stay,  new filters, footer
    append  | the whole file, up to its first end     |   filters that stay,  new filters, footer
    in place| the whole file, with all of its ends    |                       new filters, footer

Removed filters behind the data go with their bytes, and so do those that were not used before, unless keys
are missing, or it is uncertain where one of them is.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import field
from operator import itemgetter
from typing import TYPE_CHECKING

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import FooterError
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.edit.ends import first_end, hides_filters
from parquet_bloom.parquet.edit.lost_bytes import check_nothing_is_lost
from parquet_bloom.parquet.edit.obstacles import check_indexes, check_pages
from parquet_bloom.parquet.edit.unused import by_footer, by_header, known_behind_data
from parquet_bloom.parquet.filters.plaintext import other_filters, readable_header
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.layout import Range
from parquet_bloom.parquet.footer.moved import Cuts
from parquet_bloom.parquet.open_file import OpenFile

if TYPE_CHECKING:
    from parquet_bloom.vocabulary import FileLayout, KeptEnds


@dataclass(frozen=True, slots=True)
class Kept:
    """The first `prefix` bytes of a file, and the filters behind them that stay, to be `moved`.
    `ends`: cut where the prefix ends (`one`), or at each of its earlier ends (`all`), whose readers need
    every byte, the new version is as the file was there."""

    prefix: int
    moved: Mapping[ChunkKey, Range] = field(default_factory=dict)
    ends: KeptEnds = "none"


def kept_bytes(
    file: OpenFile,
    replaced: Mapping[ChunkKey, ColumnChunk],
    layout: FileLayout | None,
    usual: FileLayout,
) -> Kept:
    """What stays of a file in which the filters of `replaced` are removed. By default, filters are
    appended to a file to which they were before; else the `usual` layout counts."""
    first = first_end(file)
    if layout == "replace" or (first is file and (layout or usual) == "replace"):
        return _replaced(file, replaced)
    if first is file:
        return Kept(file.source.size, ends="one")
    moved = _filters_behind(file, first.footer.start, replaced)
    if moved is None:
        return Kept(file.source.size, ends="one")
    return Kept(first.source.size, moved, "one")


def _replaced(file: OpenFile, replaced: Mapping[ChunkKey, ColumnChunk]) -> Kept:
    """What stays in the layout `replace`: of what is known behind the data, the filters that do."""
    known = known_behind_data(file)
    gone = [place for key, place in known.used.items() if key in replaced]
    cuts = Cuts.behind(
        known.start, file.footer.start,
        (place for key, place in known.used.items() if key not in replaced),
    )  # fmt: skip
    if not cuts.ranges:
        return Kept(_kept_end(file, replaced))
    moved = _filters_behind(file, cuts.prefix, replaced)
    certain = by_header(file, replaced) | by_footer(file, replaced, known)
    if moved is None or not set(certain.values()).issuperset(gone):
        return Kept(_kept_end(file, replaced))
    return Kept(cuts.prefix, moved)


def check_replaced(file: OpenFile, replaced: Mapping[ChunkKey, ColumnChunk]) -> None:
    """Raise PageError for a file that has lost bytes, or gained some, if one of the filters has no header that can be
    used: a new one would make the file look sound."""
    if len(by_header(file, replaced)) < len(replaced):
        check_nothing_is_lost(file)


def without_unused(file: OpenFile) -> Cuts:
    """Of what is known behind the data, only the filters stay."""
    known = known_behind_data(file)
    return Cuts.behind(known.start, file.footer.start, known.used.values())


def _filters_behind(
    file: OpenFile, start: int, replaced: Container[ChunkKey]
) -> dict[ChunkKey, Range] | None:
    """The filters behind `start` that are not replaced; None if it is uncertain where one is."""
    if hides_filters(file):
        return None
    found = {}
    for key, offset in other_filters(file, replaced):
        length = file.footer.chunks.one("bloom_filter_length", *key)
        if offset < start:
            continue
        if length <= 0 or not file.footer.layout.is_alone(offset, offset + length):
            return None
        found[key] = offset, offset + length
    return found


def check_end(file: OpenFile, replaced: Iterable[ChunkKey]) -> None:
    """Raise FooterError if the footer assigns bytes behind the data to pages, to a page index, or to a
    filter other than those of the `replaced` chunks: what is written there would be taken for them. Raise PageError
    if that is so because the file has lost bytes."""
    check_pages(file)
    check_indexes(file)
    width = len(file.footer.leaves)
    numbers = {row_group * width + column for row_group, column in replaced}
    number = file.footer.layout.filter_past_the_end(numbers)
    if number is not None:
        check_nothing_is_lost(file)
        chunk = file.chunk_at(divmod(number, width))
        raise FooterError(
            f"{file.path}: {chunk.where}: filter at {chunk.bloom_filter_offset}, which stays, extends past"
            f" {file.footer.start}, where the data ends: repair all column chunks first"
        )


def check_last(file: OpenFile, replaced: Container[ChunkKey]) -> None:
    """Raise FooterError if a filter that is kept reaches into the footer, although only its header says
    so: behind a footer that stays, it would pass for a whole one."""
    lengths = file.footer.chunks.every("bloom_filter_length")
    width = len(file.footer.leaves)
    offset, key = max(
        (
            (offset, key)
            for key, offset in other_filters(file, replaced)
            if lengths[key[0] * width + key[1]] == _kernel.ABSENT
        ),
        default=(0, (0, 0)),
    )
    if not offset:
        return
    # All others would overlap it.
    chunk = file.chunk_at(key)
    stored = readable_header(file, chunk)
    if stored is not None and stored.end > file.footer.start:
        raise FooterError(
            f"{file.path}: {chunk.where}: filter at {offset} extends to {stored.end}, past"
            f" {file.footer.start}, where the data ends: repair it first"
        )


def _kept_end(file: OpenFile, removed: Mapping[ChunkKey, ColumnChunk]) -> int:
    """Where the data that is kept ends: at the footer, or before removed filters in front of it."""
    end = file.footer.start
    if not removed:
        return end
    kept_filters_end = _kept_filters_end(file, removed)
    last = {
        key: chunk
        for key, chunk in removed.items()
        if kept_filters_end <= (chunk.bloom_filter_offset or 0) < end
    }
    certain = by_header(file, last).values()
    for found_start, found_end in sorted(certain, key=itemgetter(1), reverse=True):
        if found_end != end or found_start < kept_filters_end:
            break
        end = found_start
    return end


def _kept_filters_end(file: OpenFile, removed: Container[ChunkKey]) -> int:
    """Where the last filter ends that is not removed; 0 if there is none."""
    last = 0
    for key, offset in other_filters(file, removed):
        length = file.footer.chunks.one("bloom_filter_length", *key)
        if length == _kernel.ABSENT:
            stored = readable_header(file, file.chunk_at(key))
            end = file.footer.start if stored is None else stored.end
        else:
            # An offset alone counts as a byte: even where a length is invalid, something begins.
            end = offset + max(length, 1)
        last = max(last, end)
    return last
