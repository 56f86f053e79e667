"""Filters of encrypted columns that were written in plaintext.

Removing the pointer to such a filter also overwrites its bits, except for bytes that the footer
also assigns to something that stays: pages, page indexes, another filter.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import EncryptionError, FilterError
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.filters import bloom
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.footer import FilterPlace
from parquet_bloom.parquet.footer.layout import Range, without
from parquet_bloom.parquet.open_file import OpenFile

# The new places of filters; None for those that are removed.
Places = Mapping[ChunkKey, FilterPlace | None]


@dataclass(frozen=True, slots=True)
class Leak:
    """A plaintext filter that loses its pointer: which ranges of it are `erasable`, and which have
    to stay."""

    chunk: ColumnChunk
    erasable: tuple[Range, ...]
    staying: tuple[Range, ...]

    @property
    def remains(self) -> str:
        """What can still be read of it, in words; empty if nothing can."""
        if not self.staying:
            return ""
        places = ", ".join(f"bytes {start} to {end - 1}" for start, end in self.staying)
        return f"{places} of its plaintext filter remain, because something else uses them"


def leaks(file: OpenFile, places: Places) -> list[Leak]:
    """Those of the chunks in `places` whose present filter is in plaintext."""
    found = []
    for chunk in map(file.chunk_at, places):
        stored = readable_header(file, chunk) if chunk.has_crypto_metadata else None
        if stored is not None and stored.is_leaked:
            found.append((chunk, (stored.offset, min(_end(stored), file.footer.start))))
    if not found:
        return []
    staying = [
        (offset, _known_end(file, file.chunk_at(key)))
        for key, offset in other_filters(file, places)
    ]
    staying += [(new.offset, new.offset + new.length) for new in places.values() if new is not None]
    return [_leak(file, chunk, whole, staying) for chunk, whole in found]


def _leak(file: OpenFile, chunk: ColumnChunk, whole: Range, filters: list[Range]) -> Leak:
    erasable = tuple(without(whole, [*filters, *file.footer.layout.data_in(*whole)]))
    return Leak(chunk, erasable, tuple(without(whole, erasable)))


def other_filters(file: OpenFile, chunks: Container[ChunkKey]) -> Iterator[tuple[ChunkKey, int]]:
    """The chunks other than `chunks` that have a filter, and its offset."""
    width = len(file.footer.leaves)
    for index, offset in enumerate(file.footer.chunks.every("bloom_filter_offset")):
        if offset != _kernel.ABSENT and (key := divmod(index, width)) not in chunks:
            yield key, offset


def readable_header(file: OpenFile, chunk: ColumnChunk) -> bloom.StoredFilter | None:
    """As bloom.read_header; also None if the header cannot be read."""
    try:
        return bloom.read_header(file.source, file.footer, chunk)
    except (FilterError, EncryptionError):
        return None


def _end(stored: bloom.StoredFilter) -> int:
    """Where the filter ends by its header or, if that has no size, by the footer."""
    return stored.end if stored.num_bytes > 0 else stored.offset + max(stored.length or 0, 0)


def _known_end(file: OpenFile, chunk: ColumnChunk) -> int:
    """Where a filter ends by its header or, if that cannot be read, by the footer; otherwise it may
    take everything up to the footer."""
    stored = readable_header(file, chunk)
    if stored is not None:
        return _end(stored)
    length = chunk.bloom_filter_length
    return file.footer.start if length is None else (chunk.bloom_filter_offset or 0) + length
