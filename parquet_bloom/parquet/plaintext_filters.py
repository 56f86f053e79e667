"""Filters of encrypted columns that lie in plaintext: which of their bytes nobody else has.

Whoever takes the pointer to such a filter away overwrites its bits, but for the bytes that the
footer gives to something that stays: pages, page indexes, another filter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from parquet_bloom.errors import EncryptionError, FilterError
from parquet_bloom.native import _kernel
from parquet_bloom.parquet import bloom
from parquet_bloom.parquet.file import ParquetFile
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.footer import FilterPlace
from parquet_bloom.parquet.footer.layout import Range, without


@dataclass(frozen=True, slots=True)
class Leak:
    """A filter in plaintext that loses its pointer: the `erasable` ranges of its bytes, and those
    that have to stay."""

    chunk: ColumnChunk
    erasable: tuple[Range, ...]
    staying: tuple[Range, ...]

    @property
    def remains(self) -> str:
        """What is still to be seen of it, in words; empty if nothing is."""
        if not self.staying:
            return ""
        places = ", ".join(f"bytes {start} to {end - 1}" for start, end in self.staying)
        return f"of its filter in plaintext {places} stay, which are in use otherwise"


def leaks(file: ParquetFile, places: Mapping[ChunkKey, FilterPlace | None]) -> list[Leak]:
    """Of the chunks that get other `places`, those whose filter lies in plaintext now."""
    found = [
        (chunk, (stored.offset, min(_end(stored), file.footer.start)))
        for chunk, stored in _leaked(file, places)
    ]
    if not found:
        return []
    staying = list(_staying_filters(file, places))
    return [_leak(file, chunk, of_bits, staying) for chunk, of_bits in found]


def _leaked(
    file: ParquetFile, places: Mapping[ChunkKey, FilterPlace | None]
) -> Iterator[tuple[ColumnChunk, bloom.StoredFilter]]:
    for row_group, column in places:
        chunk = file.footer.chunk(row_group, file.footer.leaves[column])
        stored = _header(file, chunk) if chunk.has_crypto_metadata else None
        if stored is not None and bloom.is_leaked(chunk, stored):
            yield chunk, stored


def _header(file: ParquetFile, chunk: ColumnChunk) -> bloom.StoredFilter | None:
    try:
        return bloom.read_header(file.source, file.footer, chunk)
    except (FilterError, EncryptionError):
        return None


def _end(stored: bloom.StoredFilter) -> int:
    """Where the filter ends by its header, or if that has no size, by the footer."""
    return stored.end if stored.num_bytes > 0 else stored.offset + max(stored.length or 0, 0)


def _leak(file: ParquetFile, chunk: ColumnChunk, of_bits: Range, filters: list[Range]) -> Leak:
    taken = [*filters, *file.footer.layout.data_in(*of_bits)]
    erasable = tuple(without(of_bits, taken))
    return Leak(chunk, erasable, tuple(without(of_bits, erasable)))


def _staying_filters(
    file: ParquetFile, places: Mapping[ChunkKey, FilterPlace | None]
) -> Iterator[Range]:
    """Where the new footer has filters in what is there now."""
    width = len(file.footer.leaves)
    for index, offset in enumerate(file.footer.chunks.every("bloom_filter_offset")):
        key = divmod(index, width)
        if offset != _kernel.ABSENT and key not in places:
            yield offset, _known_end(file, *key)
    for place in places.values():
        if place is not None:
            yield place.offset, place.offset + place.length


def _known_end(file: ParquetFile, row_group: int, column: int) -> int:
    """Where a filter ends by its header, by the footer if that cannot be read; if nobody knows, it
    may take all that follows."""
    chunk = file.footer.chunk(row_group, file.footer.leaves[column])
    stored = _header(file, chunk)
    if stored is not None:
        return _end(stored)
    length = chunk.bloom_filter_length
    return file.footer.start if length is None else (chunk.bloom_filter_offset or 0) + length
