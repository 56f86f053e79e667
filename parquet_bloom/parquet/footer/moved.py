"""Bytes that are inserted into a file, or go from it: what moves, and the offsets in the footer and in
offset indexes that say where it is.

    old    | prefix | cut | stays | cut | stays | footer |
    new    | prefix | stays | stays | footer |

    before | pages A | pages B | column indexes, offset indexes, filters | footer |
    after  | new | pages A | new | pages B | the same, with the offsets of pages moved | footer |

Whatever starts at or after an insertion moves by its size. An offset of 0, or one inside the magic,
means that there is nothing, and is kept.

These offsets are moved: ColumnChunk file_offset, offset_index_offset, column_index_offset;
ColumnMetaData data_page_offset, index_page_offset, dictionary_page_offset, bloom_filter_offset;
RowGroup file_offset. Every other byte is kept, except headers of Thrift fields after a change.

Spec: parquet-format, parquet.thrift, PageIndex.md.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import field
from itertools import accumulate, pairwise

from parquet_bloom.dataclass import dataclass
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.footer.layout import MAGIC_BYTES, Range, without

_OFFSET_INDEX_OFFSET, _OFFSET_INDEX_LENGTH = 4, 5


@dataclass(frozen=True, slots=True)
class _Struct:
    """The ids of the fields of a struct that hold offsets, and of those with structs that do: one,
    or a list of them."""

    offsets: tuple[int, ...] = ()
    nested: Mapping[int, _Struct] = field(default_factory=dict)


_META_DATA = _Struct((9, 10, 11, 14))
_COLUMN_CHUNK = _Struct((2, 4, 6), {3: _META_DATA})
_ROW_GROUP = _Struct((5,), {1: _COLUMN_CHUNK})
_FILE = _Struct((), {4: _ROW_GROUP})
_PAGE_LOCATION = _Struct((1,))
_OFFSET_INDEX = _Struct((), {1: _PAGE_LOCATION})


@dataclass(frozen=True, slots=True)
class Moves:
    """Insertions: `places` in order, and the total size inserted up to and including each. Sizes
    may be negative, to move back."""

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
    return _moved(index, 0, _OFFSET_INDEX, moves, {})


def moved_footer(raw: bytes, moves: Moves, index_lengths: Mapping[int, int]) -> bytes:
    """FileMetaData with all offsets moved. `index_lengths`: new lengths of offset indexes, by their
    offsets in `raw`; the others keep their length."""
    return _moved(raw, 0, _FILE, moves, index_lengths)


def _moved(
    data: bytes, start: int, struct: _Struct, moves: Moves, index_lengths: Mapping[int, int]
) -> bytes:
    fields: dict[int, tuple[int, bytes] | None] = {}
    found = list(_kernel.fields(data, start))
    for number, kind, _, value, end in found:
        if number in struct.offsets and kind == compact.TYPE_I64:
            offset = compact.read_zigzag(data, value)
            if moves(offset) != offset:
                fields[number] = kind, compact.zigzag(moves(offset))
        nested = struct.nested.get(number)
        if nested and kind == compact.TYPE_STRUCT:
            fields[number] = kind, _moved(data, value, nested, moves, index_lengths)
        elif nested and kind == compact.TYPE_LIST:
            starts = _kernel.elements(data, value)[:-1]
            elements = (_moved(data, each, nested, moves, index_lengths) for each in starts)
            header = data[value : starts[0]] if starts else data[value:end]
            fields[number] = kind, header + b"".join(elements)
    places = {number: value for number, _, _, value, _ in found}
    if struct is _COLUMN_CHUNK and {_OFFSET_INDEX_OFFSET, _OFFSET_INDEX_LENGTH} <= places.keys():
        length = index_lengths.get(compact.read_zigzag(data, places[_OFFSET_INDEX_OFFSET]))
        if length is not None:
            fields[_OFFSET_INDEX_LENGTH] = compact.TYPE_I32, compact.zigzag(length)
    return compact.splice(data, start, fields)


@dataclass(frozen=True, slots=True)
class Cuts:
    """The `ranges` that go, in order, of the bytes before `end`, where the old footer begins."""

    end: int
    ranges: tuple[Range, ...] = ()

    @classmethod
    def behind(cls, start: int, end: int, staying: Iterable[Range]) -> Cuts:
        """All of [start, end) goes but what is staying."""
        return cls(end, tuple(without((start, end), staying)))

    @property
    def prefix(self) -> int:
        """How many bytes stay in their place."""
        return self.ranges[0][0] if self.ranges else self.end

    @property
    def moved(self) -> tuple[Range, ...]:
        """What stays behind the prefix."""
        return tuple(without((self.prefix, self.end), self.ranges))

    @property
    def moves(self) -> Moves:
        return Moves.of((end, start - end) for start, end in self.ranges)

    def covers(self, start: int, end: int) -> bool:
        """Whether none of these bytes stays."""
        return not any(without((start, end), self.ranges))
