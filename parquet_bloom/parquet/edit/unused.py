"""Filters that nothing points to any more: replaced or removed, while their bytes stayed.

    | pages | unused | pages, page indexes | bytes of others | unused | earlier footer | filter | footer |
                                                  known from  ^

Behind the data, what is known is a filter of the footer, an earlier footer of the file, a filter in a chain that
leads to one of them, or a filter of an earlier footer if nothing else is there. In front of that may be bytes of
another program, which stay.

A filter goes if its header and the footer agree where it is. One with a damaged header goes if all bytes behind the
data are known: then no others can be where the footer says that it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from types import MappingProxyType

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import EncryptionError, FilterError
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.edit.ends import earlier_ends, hides_filters
from parquet_bloom.parquet.filters import bloom
from parquet_bloom.parquet.filters.ahead import header_ranges
from parquet_bloom.parquet.filters.chain import filters_up_to
from parquet_bloom.parquet.filters.plaintext import readable_header
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.layout import MAGIC_BYTES, Range, without
from parquet_bloom.parquet.open_file import OpenFile

# The filters that a footer points to.
Used = dict[ChunkKey, Range]


@dataclass(frozen=True, slots=True)
class Known:
    """What is known behind the data, which ends at `data_end`: from `start` to the footer, the filters in `used`,
    those in `unused` of which not even one of the `ends` knows, and these ends, the latest first."""

    data_end: int
    start: int
    used: Used
    unused: tuple[Range, ...] = ()
    ends: tuple[OpenFile, ...] = ()


def known_behind_data(file: OpenFile, more: Iterable[Range] = ()) -> Known:
    """`more`: of filters that are known in another way. Nothing but the used filters where keys are missing,
    or one of these filters has no certain place. Raises OSError."""
    noted: dict[int, int] = dict(more)
    used, footer_start = used_filters(file, noted), file.footer.start
    layout = file.footer.layout
    data_end = max(layout.pages.last, layout.indexes.last, MAGIC_BYTES)
    if used is None or hides_filters(file):
        return Known(data_end, footer_start, used or {})
    ends = tuple(earlier_ends(file))
    taken = [*used.values(), *noted.items(), *((end.footer.start, end.source.size) for end in ends)]
    found = [
        filter
        for gap in without((data_end, footer_start), taken)
        for filter in filters_up_to(file.source, *gap, file.is_encrypted)
    ]
    start = _start_of_what_leads_to(footer_start, [*taken, *found])
    of_ends = {place for end in ends for place in (used_filters(end) or {}).values()}
    if ends and of_ends.issuperset(without((data_end, footer_start), [*taken, *found])):
        # What only the footer of an end knows has no header by which it would be among the found ones.
        start = data_end
    behind = {key: place for key, place in used.items() if place[0] >= start}
    unused = tuple(sorted(each for each in found if each[0] >= start and each not in of_ends))
    return Known(data_end, start, behind, unused, ends)


def used_filters(file: OpenFile, more: Mapping[int, int] = MappingProxyType({})) -> Used | None:
    """The filters of the footer behind the data; None if it is uncertain where one of them ends. `more`: where
    those end that are known in another way."""
    layout, used = file.footer.layout, Used()
    data_end = max(layout.pages.last, layout.indexes.last)
    for key, offset, length in pointers(file):
        if not data_end <= offset < file.footer.start:
            # It is among the data, or nowhere.
            continue
        end = more.get(offset, offset + length)
        if length <= 0 and offset not in more:
            stored = readable_header(file, file.chunk_at(key))
            end = 0 if stored is None else stored.end
        if not offset < end <= file.footer.start:
            return None
        used[key] = offset, end
    return used


def by_header(file: OpenFile, chunks: Mapping[ChunkKey, ColumnChunk]) -> Used:
    """The filters whose headers can be used, so that it is certain enough where they are to drop their bytes."""
    file.source.will_read(header_ranges(file, list(chunks.values())))
    found = Used()
    for key, chunk in chunks.items():
        with suppress(FilterError, EncryptionError):
            stored = bloom.read_usable_header(file.source, file.footer, chunk)
            if stored is not None:
                found[key] = stored.offset, stored.end
    return found


def by_footer(file: OpenFile, chunks: Mapping[ChunkKey, ColumnChunk], known: Known) -> Used:
    """The filters of which the footer says it as certainly, whatever their headers are."""
    if known.start > known.data_end:
        return {}
    return {
        key: known.used[key]
        for key, chunk in chunks.items()
        if key in known.used and _is_named(file, chunk, known.used[key])
    }


def _is_named(file: OpenFile, chunk: ColumnChunk, place: Range) -> bool:
    """Whether the footer says of a filter where it begins and how long it is, and gives these bytes to nothing else.
    A plaintext filter of an encrypted column is overwritten, which takes its bytes to stay."""
    return (
        not chunk.has_crypto_metadata
        and (chunk.bloom_filter_length or 0) > 0
        and chunk.foreign_pointer is None
        and file.footer.layout.is_alone(*place)
    )


def pointers(file: OpenFile) -> Iterator[tuple[ChunkKey, int, int]]:
    """The chunks that have a bloom_filter_offset, it, and the bloom_filter_length, _kernel.ABSENT if there
    is none."""
    width = len(file.footer.leaves)
    fields = map(file.footer.chunks.every, ("bloom_filter_offset", "bloom_filter_length"))
    for index, (offset, length) in enumerate(zip(*fields, strict=True)):
        if offset != _kernel.ABSENT:
            yield divmod(index, width), offset, length


def unused_in_data(file: OpenFile) -> list[Range]:
    """Filters in gaps between pages or page indexes that nothing points to: each chain fills a gap up to its
    end. Raises OSError."""
    if hides_filters(file):
        return []
    layout = file.footer.layout
    end = min(max(layout.pages.last, layout.indexes.last), file.footer.start)
    taken = layout.everything.sharing(MAGIC_BYTES, end)
    legacy_end = file.legacy.filter_end if file.legacy else None
    return [
        filter
        for gap in without((MAGIC_BYTES, end), taken)
        for filter in filters_up_to(file.source, *gap, file.is_encrypted, legacy_end)
    ]


def _start_of_what_leads_to(end: int, ranges: Iterable[Range]) -> int:
    """Where a range begins from which on there is nothing but ranges, up to `end`."""
    for start, range_end in sorted(ranges, key=lambda each: each[1], reverse=True):
        if range_end < end:
            break
        end = min(end, start)
    return end
