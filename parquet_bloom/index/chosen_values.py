"""What of the values of a file an index may have: readers around the reader of the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.container.protocols import Chunk, Column, Container
from parquet_bloom.index.hash_key import HashKey
from parquet_bloom.index.values_reader import AnyValuesReader, FoundFilter
from parquet_bloom.vocabulary import IN_THE_OPEN


def chosen(
    reader: AnyValuesReader, include_encrypted: bool, key: HashKey | None
) -> AnyValuesReader:
    """A reader that leaves out columns that are encrypted, unless they are wanted, and that hashes with a key."""
    if not include_encrypted:
        reader = _WithoutEncrypted(reader)
    return reader if key is None else _Keyed(reader, key)


class _Around:
    """A reader around another one."""

    def __init__(self, reader: AnyValuesReader) -> None:
        self._reader = reader

    @property
    def file(self) -> Container:
        return self._reader.file

    def kind(self, column: Column) -> str:
        return self._reader.kind(column)

    def is_encrypted(self, column: Column) -> bool:
        return self._reader.is_encrypted(column)

    def reason_for_none(self, column: Column) -> str:
        return self._reader.reason_for_none(column)

    def room(self, chunk: Chunk) -> int:
        return self._reader.room(chunk)

    def hashes(self, chunk: Chunk) -> Iterator[NDArray[np.uint64]]:
        return self._reader.hashes(chunk)

    def hashes_by_page(self, chunk: Chunk) -> Iterator[NDArray[np.uint64]]:
        return self._reader.hashes_by_page(chunk)

    def filters(self, column: Column) -> Sequence[FoundFilter | str]:
        return self._reader.filters(column)


class _WithoutEncrypted(_Around):
    def reason_for_none(self, column: Column) -> str:
        return IN_THE_OPEN if self.is_encrypted(column) else super().reason_for_none(column)


class _Keyed(_Around):
    def __init__(self, reader: AnyValuesReader, key: HashKey) -> None:
        super().__init__(reader)
        self._key = key

    def hashes(self, chunk: Chunk) -> Iterator[NDArray[np.uint64]]:
        return map(self._key.of_many, super().hashes(chunk))

    def hashes_by_page(self, chunk: Chunk) -> Iterator[NDArray[np.uint64]]:
        return map(self._key.of_many, super().hashes_by_page(chunk))
