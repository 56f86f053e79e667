"""One filter's header and bitset, as stored or in a form that other tools read."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass

import numpy as np

from parquet_bloom.errors import FilterError
from parquet_bloom.files import open as open_file
from parquet_bloom.filters.sizing import WORDS_PER_BLOCK
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.parquet import bloom


@dataclass(frozen=True, slots=True)
class DumpedFilter:
    """`header` and `bitset` are the bytes in the file; `stored` is what the header says."""

    path: str
    row_group: int
    column: str
    stored: bloom.StoredFilter
    header: bytes
    bitset: bytes

    def to_npy(self) -> bytes:
        """The words in numpy's .npy format: shape (blocks, 8), dtype uint32."""
        out = io.BytesIO()
        words = SplitBlockBloomFilter.from_bytes(self.bitset).words
        np.save(out, words.reshape(-1, WORDS_PER_BLOCK), allow_pickle=False)
        return out.getvalue()


def dump(path: str | os.PathLike[str], column: str, row_group: int) -> DumpedFilter:
    """Read one filter. Raises ColumnError, FilterError if there is none that can be used."""
    with open_file(path) as file:
        chunk = file.chunk(row_group, column)
        stored = bloom.read_usable_header(file.source, file.footer, chunk)
        if stored is None:
            raise FilterError(f"{file.path}: {chunk.where}: no filter")
        data = file.source.read_at(stored.offset, stored.header_bytes + stored.num_bytes)
        return DumpedFilter(
            file.path,
            row_group,
            chunk.leaf.name,
            stored,
            data[: stored.header_bytes],
            data[stored.header_bytes :],
        )
