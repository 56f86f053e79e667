"""What one scan of the footer finds of every column chunk: some numbers each, nothing decoded."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

from parquet_bloom.native import _kernel

# A row group and a leaf column, by their positions: names one column chunk of a file.
ChunkKey = tuple[int, int]

_WIDTH = len(_kernel.CHUNK_FIELDS)
_PLACE = {name: place for place, name in enumerate(_kernel.CHUNK_FIELDS)}
# From here on, what a ColumnMetaData has; before it, what the ColumnChunk has around it.
_META_DATA = _PLACE["meta_start"]
_FILE_PATH, _CRYPTO = _PLACE["has_file_path"], _PLACE["has_crypto_metadata"]

_ABSENT = _kernel.ABSENT


class ChunkTable:
    """The numbers of _kernel.CHUNK_FIELDS for each chunk, row group by row group."""

    def __init__(self, row_groups: Iterable[array[int]], num_columns: int) -> None:
        """`row_groups`: for each, the numbers of its `num_columns` chunks in a row."""
        self._numbers = array("q")
        for numbers in row_groups:
            self._numbers.extend(numbers)
        self._num_columns = num_columns

    def every(self, field: str) -> array[int]:
        """One field of all chunks."""
        return self._numbers[_PLACE[field] :: _WIDTH]

    def one(self, field: str, row_group: int, column: int) -> int:
        """One field of one chunk."""
        return self._numbers[(row_group * self._num_columns + column) * _WIDTH + _PLACE[field]]

    def of(self, row_group: int, column: int) -> dict[str, int]:
        """All fields of one chunk; what the footer lacks is _kernel.ABSENT."""
        start = (row_group * self._num_columns + column) * _WIDTH
        return dict(zip(_kernel.CHUNK_FIELDS, self._numbers[start : start + _WIDTH], strict=True))

    def meta_data(self, row_group: int, column: int) -> list[int | None]:
        """What a ColumnMetaData has of one chunk, from `meta_start` on, None for what it lacks."""
        end = (row_group * self._num_columns + column + 1) * _WIDTH
        found = self._numbers[end - _WIDTH + _META_DATA : end]
        return [None if number == _ABSENT else number for number in found]

    def flags(self, row_group: int, column: int) -> tuple[bool, bool]:
        """has_file_path, has_crypto_metadata"""
        start = (row_group * self._num_columns + column) * _WIDTH
        return self._numbers[start + _FILE_PATH] != 0, self._numbers[start + _CRYPTO] != 0

    def span(self, row_group: int, column: int) -> tuple[int, int]:
        """Where the ColumnChunk of one chunk begins and ends."""
        start = (row_group * self._num_columns + column) * _WIDTH
        return self._numbers[start + _PLACE["start"]], self._numbers[start + _PLACE["end"]]

    def take_meta_data(self, row_group: int, column: int, other: ChunkTable, index: int) -> None:
        """What is in the ColumnMetaData of one chunk is what the chunk `index` of `other` has."""
        numbers = other._numbers[index * _WIDTH + _META_DATA : (index + 1) * _WIDTH]
        end = (row_group * self._num_columns + column + 1) * _WIDTH
        self._numbers[end - len(numbers) : end] = numbers
