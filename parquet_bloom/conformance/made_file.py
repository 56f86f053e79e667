"""Parquet files made by hand, byte by byte the same everywhere.

    PAR1 | pages of group 0 | pages of group 1 | … | filters | footer | its length | PAR1

The pages of some row groups can be destroyed: whoever reads them all the same cannot answer.

Spec: parquet-format, README.md, parquet.thrift, Encodings.md
"""

from __future__ import annotations

import struct as packing
from collections.abc import Mapping, Sequence
from typing import Final

from parquet_bloom.conformance.split_block import BLOCK, bitset, header
from parquet_bloom.conformance.thrift import (
    Field,
    binary,
    i32,
    i32s,
    i64,
    struct,
    structs,
    texts,
    varint,
    within,
)
from parquet_bloom.dataclass import dataclass

PHYSICAL: Final = {
    "BOOLEAN": 0,
    "INT32": 1,
    "INT64": 2,
    "INT96": 3,
    "FLOAT": 4,
    "DOUBLE": 5,
    "BYTE_ARRAY": 6,
    "FIXED_LEN_BYTE_ARRAY": 7,
}
CREATED_BY: Final = "parquet-bloom-conformance version 1.0.0 (build 1)"

# Of parquet.thrift.
PLAIN, PLAIN_DICTIONARY, RLE, RLE_DICTIONARY = 0, 2, 3, 8
_DATA_PAGE, _DICTIONARY_PAGE, _DATA_PAGE_V2 = 0, 2, 3


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf column. `levels`: the highest definition and repetition level."""

    path: tuple[str, ...]
    physical: str
    levels: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Chunk:
    """What a column chunk holds: the stored values without nulls; levels, if it has any; minimum and
    maximum, if the footer has them."""

    values: tuple[bytes, ...]
    definition: tuple[int, ...] = ()
    repetition: tuple[int, ...] = ()
    bounds: tuple[bytes, bytes] | None = None

    @property
    def num_values(self) -> int:
        return len(self.definition) or len(self.values)


@dataclass(frozen=True, slots=True)
class Filter:
    """What stands for a filter in the file, and what the footer says of it. `offset`: where it is said to be,
    None for where it is; `length`: None if the footer has none, -1 for the right one."""

    data: bytes
    offset: int | None = None
    length: int | None = -1


def right(
    values: Sequence[bytes], blocks: int = 8, *more: Field, length: int | None = -1
) -> Filter:
    """A filter as it should be."""
    return Filter(header(BLOCK * blocks, *more) + bitset(values, blocks), None, length)


@dataclass(frozen=True, slots=True)
class MadeFile:
    """`elements`: SchemaElements but for the root's; `groups`: of each row group, its chunks; `filters`: by row
    group and leaf; `encoding`: of all leaves but the first, which has the row numbers; `version`: of data pages."""

    elements: tuple[bytes, ...]
    leaves: tuple[Leaf, ...]
    groups: tuple[tuple[Chunk, ...], ...]
    filters: Mapping[tuple[int, int], Filter]
    columns: int = 2
    encoding: int = PLAIN
    version: int = 1
    filters_first: bool = False

    def data(self, *, filtered: bool, damaged: Sequence[int] = ()) -> bytes:
        """The file, with its filters or without, the pages of some row groups destroyed or not."""
        return _Writer(self, filtered, damaged).data()


class _Writer:
    def __init__(self, file: MadeFile, filtered: bool, damaged: Sequence[int]) -> None:
        self._file, self._damaged = file, frozenset(damaged)
        self._filters = file.filters if filtered else {}
        self._out = bytearray(b"PAR1")
        self._of_filter: dict[tuple[int, int], list[Field]] = {}

    def data(self) -> bytes:
        file = self._file
        if file.filters_first:
            self._put_filters()
        groups = [self._group(number, chunks) for number, chunks in enumerate(file.groups)]
        if not file.filters_first:
            self._put_filters()
        footer = struct(
            i32(1, 2),
            structs(2, [struct(binary(4, "schema"), i32(5, file.columns)), *file.elements]),
            i64(3, sum(chunks[0].num_values for chunks in file.groups)),
            structs(4, [self._group_meta(*group) for group in enumerate(groups)]),
            binary(6, CREATED_BY),
            structs(7, [struct(within(1))] * len(file.leaves)),
        )
        return bytes(self._out) + footer + packing.pack("<I", len(footer)) + b"PAR1"

    def _put_filters(self) -> None:
        for place, filter in self._filters.items():
            offset = len(self._out) if filter.offset is None else filter.offset
            fields = [i64(14, offset)]
            if filter.length is not None:
                fields.append(i32(15, len(filter.data) if filter.length < 0 else filter.length))
            self._of_filter[place] = fields
            self._out += filter.data

    def _group(self, number: int, chunks: Sequence[Chunk]) -> list[tuple[int, int, int]]:
        """Of each chunk: where it is, how long, and the dictionary before its data page."""
        start = len(self._out)
        places: list[tuple[int, int, int]] = []
        for leaf, chunk in zip(self._file.leaves, chunks, strict=True):
            encoding = self._file.encoding if places else PLAIN
            dictionary = b"" if encoding == PLAIN else _dictionary_page(leaf, chunk, encoding)
            page = _data_page(leaf, chunk, encoding, self._file.version)
            places.append((len(self._out), len(dictionary) + len(page), len(dictionary)))
            self._out += dictionary + page
        if number in self._damaged:
            self._out[start:] = b"\xff" * (len(self._out) - start)
        return places

    def _group_meta(self, number: int, places: Sequence[tuple[int, int, int]]) -> bytes:
        chunks = self._file.groups[number]
        metas = [
            struct(i64(2, 0), within(3, *self._chunk_meta(number, column, place)))
            for column, place in enumerate(places)
        ]
        size = sum(size for _, size, _ in places)
        rows = i64(3, chunks[0].num_values)
        return struct(structs(1, metas), i64(2, size), rows, i64(5, places[0][0]), i64(6, size))

    def _chunk_meta(self, number: int, column: int, place: tuple[int, int, int]) -> list[Field]:
        start, size, dictionary = place
        leaf, chunk = self._file.leaves[column], self._file.groups[number][column]
        encodings = [self._file.encoding, RLE] if dictionary else [RLE]
        fields = [
            i32(1, PHYSICAL[leaf.physical]),
            i32s(2, [PLAIN, *encodings]),
            texts(3, leaf.path),
            i32(4, 0),
            i64(5, chunk.num_values),
            i64(6, size),
            i64(7, size),
            i64(9, start + dictionary),
        ]
        if dictionary:
            fields.append(i64(11, start))
        statistics = [i64(3, chunk.num_values - len(chunk.values))]
        if chunk.bounds:
            least, most = chunk.bounds
            statistics += [binary(5, most), binary(6, least)]
        if chunk.bounds or leaf.levels[0]:
            fields.append(within(12, *statistics))
        if dictionary:
            # That all data pages have indices, for readers that look into a dictionary before its pages.
            encoding = self._file.encoding
            plain = PLAIN_DICTIONARY if encoding == PLAIN_DICTIONARY else PLAIN
            data_page = _DATA_PAGE if self._file.version == 1 else _DATA_PAGE_V2
            pages = (_DICTIONARY_PAGE, plain), (data_page, encoding)
            fields.append(structs(13, [struct(i32(1, a), i32(2, b), i32(3, 1)) for a, b in pages]))
        return fields + self._of_filter.get((number, column), [])


def _plain(leaf: Leaf, values: Sequence[bytes]) -> bytes:
    if leaf.physical == "BYTE_ARRAY":
        return b"".join(packing.pack("<I", len(value)) + value for value in values)
    return b"".join(values)


def _runs(numbers: Sequence[int], width: int) -> bytes:
    """Run-length encoded; `width` in bits."""
    out, at = bytearray(), 0
    while at < len(numbers):
        end = at + 1
        while end < len(numbers) and numbers[end] == numbers[at]:
            end += 1
        out += varint(end - at << 1) + numbers[at].to_bytes((width + 7) // 8, "little")
        at = end
    return bytes(out)


def _dictionary(chunk: Chunk) -> list[bytes]:
    return list(dict.fromkeys(chunk.values))


def _dictionary_page(leaf: Leaf, chunk: Chunk, encoding: int) -> bytes:
    distinct = _dictionary(chunk)
    body = _plain(leaf, distinct)
    plain = PLAIN_DICTIONARY if encoding == PLAIN_DICTIONARY else PLAIN
    sizes = i32(2, len(body)), i32(3, len(body))
    return (
        struct(i32(1, _DICTIONARY_PAGE), *sizes, within(7, i32(1, len(distinct)), i32(2, plain)))
        + body
    )


def _data_page(leaf: Leaf, chunk: Chunk, encoding: int, version: int) -> bytes:
    if encoding == PLAIN:
        values = _plain(leaf, chunk.values)
    else:
        distinct = _dictionary(chunk)
        width = max(1, (len(distinct) - 1).bit_length())
        indices = [distinct.index(value) for value in chunk.values]
        values = bytes([width]) + _runs(indices, width)
    levels = [
        _runs(given, most.bit_length()) if most else b""
        for given, most in zip((chunk.repetition, chunk.definition), leaf.levels[::-1], strict=True)
    ]
    count = i32(1, chunk.num_values)
    if version == 1:
        body = b"".join(packing.pack("<I", len(each)) + each for each in levels if each) + values
        kind, detail = _DATA_PAGE, within(5, count, i32(2, encoding), i32(3, RLE), i32(4, RLE))
    else:
        body = b"".join(levels) + values
        nulls = i32(2, chunk.num_values - len(chunk.values))
        rows = i32(3, chunk.repetition.count(0) if chunk.repetition else chunk.num_values)
        repetition, definition = map(len, levels)
        lengths = i32(5, definition), i32(6, repetition), (7, 2, b"")
        kind, detail = _DATA_PAGE_V2, within(8, count, nulls, rows, i32(4, encoding), *lengths)
    return struct(i32(1, kind), i32(2, len(body)), i32(3, len(body)), detail) + body
