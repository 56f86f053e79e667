"""Parquet files made by hand, byte by byte the same everywhere.

    PAR1 | pages of group 0 | pages of group 1 | … | filters | footer | its length | PAR1

The pages of some row groups can be destroyed: whoever reads them all the same cannot answer.

Spec: parquet-format, README.md, parquet.thrift, Encodings.md
"""

from __future__ import annotations

import struct as packing
from collections.abc import Mapping, Sequence
from typing import Final

from parquet_bloom.conformance.sealing import (
    DATA_PAGE,
    DATA_PAGE_HEADER,
    DICTIONARY_PAGE,
    DICTIONARY_PAGE_HEADER,
    FILTER_BITSET,
    FILTER_HEADER,
    FOOTER,
    OVERHEAD,
    UNIQUE,
    Seal,
)
from parquet_bloom.conformance.split_block import BLOCK, bitset, header
from parquet_bloom.conformance.thrift import (
    Field,
    binary,
    i16,
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
class MadeLeaf:
    """A leaf column. `levels`: the highest definition and repetition level."""

    path: tuple[str, ...]
    physical: str
    levels: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class MadeChunk:
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
    group and leaf; `encoding`: of all leaves but the first, which has the row numbers; `version`: of data pages;
    `key`: of an encrypted file."""

    elements: tuple[bytes, ...]
    leaves: tuple[MadeLeaf, ...]
    groups: tuple[tuple[MadeChunk, ...], ...]
    filters: Mapping[tuple[int, int], Filter]
    columns: int = 2
    encoding: int = PLAIN
    version: int = 1
    filters_first: bool = False
    key: bytes = b""

    def data(self, *, filtered: bool, damaged: Sequence[int] = ()) -> bytes:
        """The file, with its filters or without, the pages of some row groups destroyed or not."""
        return _MadeFileWriter(self, filtered, damaged).data()


class _MadeFileWriter:
    def __init__(self, file: MadeFile, filtered: bool, damaged: Sequence[int]) -> None:
        self._file, self._damaged = file, frozenset(damaged)
        self._filters = file.filters if filtered else {}
        self._seal = Seal(file.key) if file.key else None
        self._out = bytearray(b"PARE" if file.key else b"PAR1")
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
        magic = b"PAR1"
        if self._seal:
            # FileCryptoMetaData stands before the footer.
            footer = struct(within(1, within(1, binary(2, UNIQUE)))) + self._seal(FOOTER, footer)
            magic = b"PARE"
        return bytes(self._out) + footer + packing.pack("<I", len(footer)) + magic

    def _put_filters(self) -> None:
        for place, filter in self._filters.items():
            offset = len(self._out) if filter.offset is None else filter.offset
            data = filter.data
            if self._seal:
                size = len(data) // BLOCK * BLOCK
                head, bits = data[:-size], data[-size:]
                data = self._seal(FILTER_HEADER, head, *place) + self._seal(
                    FILTER_BITSET, bits, *place
                )
            fields = [i64(14, offset)]
            if filter.length is not None:
                fields.append(i32(15, len(data) if filter.length < 0 else filter.length))
            self._of_filter[place] = fields
            self._out += data

    def _group(self, number: int, chunks: Sequence[MadeChunk]) -> list[tuple[int, int, int]]:
        """Of each chunk: where it is, how long, and the dictionary before its data page."""
        start = len(self._out)
        places: list[tuple[int, int, int]] = []
        for leaf, chunk in zip(self._file.leaves, chunks, strict=True):
            encoding = self._file.encoding if places else PLAIN
            at = number, len(places)
            dictionary = (
                b""
                if encoding == PLAIN
                else self._page(at, *_dictionary_page(leaf, chunk, encoding))
            )
            page = self._page(at, *_data_page(leaf, chunk, encoding, self._file.version))
            places.append((len(self._out), len(dictionary) + len(page), len(dictionary)))
            self._out += dictionary + page
        if number in self._damaged:
            self._out[start:] = b"\xff" * (len(self._out) - start)
        return places

    def _page(self, at: tuple[int, int], kind: int, body: bytes, detail: Field) -> bytes:
        """Header and body."""
        if not self._seal:
            return struct(i32(1, kind), i32(2, len(body)), i32(3, len(body)), detail) + body
        size = len(body) + OVERHEAD
        header = struct(i32(1, kind), i32(2, len(body)), i32(3, size), detail)
        if kind == _DICTIONARY_PAGE:
            sealed = self._seal(DICTIONARY_PAGE_HEADER, header, *at)
            return sealed + self._seal(DICTIONARY_PAGE, body, *at)
        # There is one data page, the first.
        return self._seal(DATA_PAGE_HEADER, header, *at, 0) + self._seal(DATA_PAGE, body, *at, 0)

    def _group_meta(self, number: int, places: Sequence[tuple[int, int, int]]) -> bytes:
        chunks = self._file.groups[number]
        # ENCRYPTION_WITH_FOOTER_KEY, and the ordinal that modules are bound to.
        sealed = [within(8, within(1))] if self._seal else []
        ordinal = [i16(7, number)] if self._seal else []
        metas = [
            struct(i64(2, 0), within(3, *self._chunk_meta(number, column, place)), *sealed)
            for column, place in enumerate(places)
        ]
        size = sum(size for _, size, _ in places)
        rows = i64(3, chunks[0].num_values)
        offsets = i64(5, places[0][0]), i64(6, size)
        return struct(structs(1, metas), i64(2, size), rows, *offsets, *ordinal)

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


def _plain(leaf: MadeLeaf, values: Sequence[bytes]) -> bytes:
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


def _dictionary(chunk: MadeChunk) -> list[bytes]:
    return list(dict.fromkeys(chunk.values))


def _dictionary_page(leaf: MadeLeaf, chunk: MadeChunk, encoding: int) -> tuple[int, bytes, Field]:
    distinct = _dictionary(chunk)
    plain = PLAIN_DICTIONARY if encoding == PLAIN_DICTIONARY else PLAIN
    detail = within(7, i32(1, len(distinct)), i32(2, plain))
    return _DICTIONARY_PAGE, _plain(leaf, distinct), detail


def _data_page(
    leaf: MadeLeaf, chunk: MadeChunk, encoding: int, version: int
) -> tuple[int, bytes, Field]:
    """Its type, its body, and the field of the header that is about it."""
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
        return _DATA_PAGE, body, within(5, count, i32(2, encoding), i32(3, RLE), i32(4, RLE))
    body = b"".join(levels) + values
    nulls = i32(2, chunk.num_values - len(chunk.values))
    rows = i32(3, chunk.repetition.count(0) if chunk.repetition else chunk.num_values)
    repetition, definition = map(len, levels)
    lengths = i32(5, definition), i32(6, repetition), (7, 2, b"")
    return _DATA_PAGE_V2, body, within(8, count, nulls, rows, i32(4, encoding), *lengths)
