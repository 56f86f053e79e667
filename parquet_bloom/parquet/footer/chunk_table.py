"""The numbers that one scan of the footer collects for every row group and column chunk, without decoding
any: there can be a million."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate

from parquet_bloom.native import _kernel
from parquet_bloom.parallel import read_once

# The positions of a row group and a leaf column, which identify a column chunk.
ChunkKey = tuple[int, int]

_WIDTH = len(_kernel.CHUNK_FIELDS)
_PLACE = {name: place for place, name in enumerate(_kernel.CHUNK_FIELDS)}
# Fields of the ColumnMetaData start here; those before belong to the ColumnChunk around it.
_META_DATA = _PLACE["meta_start"]
_FILE_PATH, _CRYPTO = _PLACE["has_file_path"], _PLACE["has_crypto_metadata"]

_ABSENT = _kernel.ABSENT
_ABSENT_BYTES = array("q", [_ABSENT]).tobytes()


def known(number: int) -> int | None:
    """A number of the table; None where the footer lacks it."""
    return None if number == _ABSENT else number


class ChunkTable:
    """_kernel.CHUNK_FIELDS of each chunk, row group by row group."""

    def __init__(self, text: bytes, starts: array[int], num_columns: int) -> None:
        """`starts`: where the list of the `num_columns` chunks of each row group begins in `text`.
        Raises _kernel.ScanError."""
        self._numbers = _kernel.chunks(text, starts, num_columns)
        self._num_columns = num_columns

    def every(self, field: str) -> array[int]:
        """One field of all chunks; _kernel.ABSENT where the footer lacks it."""
        return self._numbers[_PLACE[field] :: _WIDTH]

    def lacking(self, field: str) -> Sequence[int]:
        """The chunks, counted row group by row group, for which the footer lacks a field."""
        numbers = self.every(field)
        # Much quicker than to look at each.
        if _ABSENT_BYTES not in numbers.tobytes():
            return ()
        return [index for index, number in enumerate(numbers) if number == _ABSENT]

    def part(self, field: str, row_group: int) -> array[int]:
        """One field of the chunks of a row group."""
        start = row_group * self._num_columns * _WIDTH
        return self._numbers[start + _PLACE[field] : start + self._num_columns * _WIDTH : _WIDTH]

    def ranges(self, end: int, *kinds: str) -> _kernel.Ranges:
        """What the chunks use of a file whose footer starts at `end`."""
        return _kernel.Ranges(self._numbers, end, *kinds)

    def one(self, field: str, row_group: int, column: int) -> int:
        """One field of one chunk."""
        return self._numbers[(row_group * self._num_columns + column) * _WIDTH + _PLACE[field]]

    def chunk(self, row_group: int, column: int) -> tuple[bool, bool, list[int | None]]:
        """has_file_path, has_crypto_metadata, and the fields of one chunk's ColumnMetaData, from
        `meta_start` on; None for missing ones."""
        start = (row_group * self._num_columns + column) * _WIDTH
        found = self._numbers[start : start + _WIDTH].tolist()
        meta_data = [None if number == _ABSENT else number for number in found[_META_DATA:]]
        return found[_FILE_PATH] != 0, found[_CRYPTO] != 0, meta_data

    def take_meta_data(self, row_group: int, column: int, other: ChunkTable, index: int) -> None:
        """Take the ColumnMetaData fields of one chunk from chunk `index` of `other`."""
        numbers = other._numbers[index * _WIDTH + _META_DATA : (index + 1) * _WIDTH]
        end = (row_group * self._num_columns + column + 1) * _WIDTH
        self._numbers[end - len(numbers) : end] = numbers


class GroupTable:
    """By row group: where its list of `columns` begins, its `num_rows`, 0 if that is missing, and its
    `ordinals`; _kernel.ABSENT for what is missing of the others."""

    def __init__(self, raw: bytes, starts: array[int]) -> None:
        """`starts`: where each RowGroup begins in `raw`. Raises _kernel.ScanError."""
        self.columns, self.num_rows, self.ordinals = _kernel.row_groups(raw, starts)

    @read_once
    def first_rows(self) -> Sequence[int]:
        """How many rows are in those before each."""
        try:
            return array("q", accumulate(self.num_rows, initial=0))
        except OverflowError:
            # No file has so many, but a footer can say so.
            return list(accumulate(self.num_rows, initial=0))
