"""Adjust the offsets in the footer and in offset indexes when bytes are inserted into a file.

    before | pages A | pages B | column indexes, offset indexes, filters | footer |
    after  | new | pages A | new | pages B | the same, with the offsets of pages moved | footer |

Whatever started at or after an insertion moves by its size. An offset of 0, or one inside the magic,
means that there is nothing, and is kept.

These offsets are moved: ColumnChunk file_offset, offset_index_offset, column_index_offset;
ColumnMetaData data_page_offset, index_page_offset, dictionary_page_offset, bloom_filter_offset;
RowGroup file_offset. Every other byte is kept, except headers of Thrift fields after a change.

Spec: parquet-format, parquet.thrift, PageIndex.md.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Final

from parquet_bloom.native import _kernel
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.footer.layout import MAGIC_BYTES

# Thrift fields to set in a struct, as compact.splice takes them.
_Fields = dict[int, tuple[int, bytes] | None]

# Ids of the fields that hold offsets.
_META_DATA_OFFSETS: Final = (9, 10, 11, 14)
_CHUNK_OFFSETS: Final = (2, 4, 6)
_ROW_GROUP_OFFSETS: Final = (5,)
_PAGE_LOCATION_OFFSETS: Final = (1,)

_ROW_GROUPS, _COLUMNS, _META_DATA, _PAGE_LOCATIONS = 4, 1, 3, 1
_OFFSET_INDEX_OFFSET, _OFFSET_INDEX_LENGTH = 4, 5


@dataclass(frozen=True, slots=True)
class Moves:
    """Insertions: `places` in order, and the total size inserted up to and including each. Sizes may
    be negative, to move back."""

    places: tuple[int, ...] = ()
    totals: tuple[int, ...] = ()

    @classmethod
    def of(cls, inserted: Iterable[tuple[int, int]]) -> Moves:
        """`inserted`: pairs of place and size."""
        ordered = sorted(inserted)
        return cls(
            tuple(place for place, _ in ordered), tuple(accumulate(size for _, size in ordered))
        )

    @property
    def back(self) -> Moves:
        """The reverse: from new places to old ones."""
        sizes = [new - old for old, new in pairwise((0, *self.totals))]
        # What started at a place now starts after the bytes inserted there.
        starts = [place + total for place, total in zip(self.places, self.totals, strict=True)]
        return Moves.of(zip(starts, (-size for size in sizes), strict=True))

    def __call__(self, offset: int) -> int:
        """The new offset for `offset`."""
        before = bisect_right(self.places, offset)
        if before == 0 or offset < MAGIC_BYTES:
            return offset
        return offset + self.totals[before - 1]


def moved_offset_index(index: bytes, moves: Moves) -> bytes:
    """An OffsetIndex with the offsets of its pages moved. Raises ScanError if it is malformed."""

    def location(start: int) -> bytes:
        return compact.splice(index, start, _moved(index, start, _PAGE_LOCATION_OFFSETS, moves))

    return compact.splice(index, 0, _rewritten(index, 0, _PAGE_LOCATIONS, location))


def moved_footer(raw: bytes, moves: Moves, index_lengths: Mapping[int, int]) -> bytes:
    """FileMetaData with all offsets moved. `index_lengths`: new lengths of offset indexes, by their
    offsets in `raw`; the others keep their length."""

    def meta_data(start: int) -> bytes:
        return compact.splice(raw, start, _moved(raw, start, _META_DATA_OFFSETS, moves))

    def chunk(start: int) -> bytes:
        fields = {
            **_moved(raw, start, _CHUNK_OFFSETS, moves),
            **_index_length(raw, start, index_lengths),
        }
        for number, kind, _, value, _ in _kernel.fields(raw, start):
            if (number, kind) == (_META_DATA, compact.TYPE_STRUCT):
                fields[_META_DATA] = compact.TYPE_STRUCT, meta_data(value)
        return compact.splice(raw, start, fields)

    def row_group(start: int) -> bytes:
        fields = _moved(raw, start, _ROW_GROUP_OFFSETS, moves)
        return compact.splice(raw, start, fields | _rewritten(raw, start, _COLUMNS, chunk))

    return compact.splice(raw, 0, _rewritten(raw, 0, _ROW_GROUPS, row_group))


def _moved(data: bytes, start: int, numbers: tuple[int, ...], moves: Moves) -> _Fields:
    """The new values of those offset fields that change."""
    fields: _Fields = {}
    for number, kind, _, value, _ in _kernel.fields(data, start):
        if number in numbers and kind == compact.TYPE_I64:
            offset = compact.read_zigzag(data, value)
            if moves(offset) != offset:
                fields[number] = compact.TYPE_I64, compact.zigzag(moves(offset))
    return fields


def _index_length(data: bytes, start: int, lengths: Mapping[int, int]) -> _Fields:
    found = {number: value for number, _, _, value, _ in _kernel.fields(data, start)}
    if not {_OFFSET_INDEX_OFFSET, _OFFSET_INDEX_LENGTH} <= found.keys():
        return {}
    length = lengths.get(compact.read_zigzag(data, found[_OFFSET_INDEX_OFFSET]))
    if length is None:
        return {}
    return {_OFFSET_INDEX_LENGTH: (compact.TYPE_I32, compact.zigzag(length))}


def _rewritten(data: bytes, start: int, number: int, element: Callable[[int], bytes]) -> _Fields:
    """The list field `number` of the struct at `start`, with each element replaced by
    `element(start)`."""
    for found, kind, _, value, end in _kernel.fields(data, start):
        if (found, kind) == (number, compact.TYPE_LIST):
            starts = _kernel.elements(data, value)[:-1]
            header = data[value : starts[0]] if starts else data[value:end]
            return {number: (kind, header + b"".join(map(element, starts)))}
    return {}
