"""Where filters go in a file: after its data, or before the pages of their chunks.

    footer   | pages, page indexes, filters: as they were | new filters | footer |
    chunk    | new | pages of a chunk | new | pages | ... | page indexes, moved | the rest | footer |

Everything after an inserted filter moves, and with it the offsets in the footer, in offset indexes
and in our own notes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from itertools import pairwise

from parquet_bloom.container import BuiltFilters, LeftChunk
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import FooterError, UnsupportedError
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.legacy.murmur3 import headers
from parquet_bloom.legacy.murmur3.dialect import Murmur3
from parquet_bloom.legacy.murmur3.pointers import Note
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.edit.change import Built, built_filter
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.footer import Footer
from parquet_bloom.parquet.footer.layout import Range
from parquet_bloom.parquet.footer.moved import Cuts, Moves, moved_offset_index
from parquet_bloom.parquet.open_file import OpenFile
from parquet_bloom.storage.change import Version
from parquet_bloom.storage.source import Source


@dataclass(frozen=True, slots=True)
class Added:
    """What has been written so far.

    `digests`: of header and bitset; `inserted`: pairs of a place and a size, negative where bytes in
    front of it are cut out; `copied`: triples of
    start and end in the old file and start in the new one; `lengths`: the new lengths of offset
    indexes, by their old offsets.
    """

    filters: list[BuiltFilters] = field(default_factory=list)
    skipped: list[LeftChunk] = field(default_factory=list)
    notes: dict[ChunkKey, Note] = field(default_factory=dict)
    digests: dict[ChunkKey, int] = field(default_factory=dict)
    inserted: list[tuple[int, int]] = field(default_factory=list)
    copied: list[tuple[int, int, int]] = field(default_factory=list)
    lengths: dict[int, int] = field(default_factory=dict)

    @property
    def moves(self) -> Moves:
        """Of everything that was there before."""
        return Moves.of(self.inserted)

    def copy(self, source: Source, start: int, end: int, out: Version) -> None:
        self.copied.append((start, end, out.size))
        out.append_from(source, start, end)

    def copy_without(self, source: Source, at: int, cuts: Cuts, out: Version) -> None:
        """Copy everything from `at` to the footer but what is cut out."""
        for start, end in cuts.ranges:
            self.copy(source, at, start, out)
            self.inserted.append((end, start - end))
            at = end
        self.copy(source, at, cuts.end, out)

    def append(
        self, chunk: ColumnChunk, filter: SplitBlockBloomFilter, out: Version, dialect: Murmur3
    ) -> int:
        """Write a filter; returns its size with the header."""
        data = headers.encode(dialect.header_layout, filter.num_bytes) + filter.to_bytes()
        offset = out.append(data)
        self.digests[chunk.key] = _kernel.xxh64(data)
        self.notes[chunk.key] = Note(
            offset=offset,
            length=len(data),
            pages=chunk.pages_start or 0,
            header=dialect.header_layout,
            hash="MURMUR3",
            seed=dialect.seed,
            selection="mask",
        )
        self.filters.append(built_filter(chunk, filter, offset, len(data)))
        return len(data)


def write_filters(
    file: OpenFile,
    out: Version,
    filters: Iterable[Built],
    dialect: Murmur3,
    progress: Callable[[int], None],
    cuts: Cuts,
    is_inserted: bool,
) -> Added:
    """Write filters one after the other. If they are to be inserted, they come in the order of their
    chunks' pages, each is put before these, and everything around them is written, too, without the
    `cuts` behind the data.

    `out` has everything before the first of them, or before the cuts. Raises FooterError for a damaged
    offset index.
    """
    added = Added()
    at = out.size
    if not is_inserted:
        added.copy_without(file.source, at, cuts, out)
    for done, (chunk, filter) in enumerate(filters, 1):
        if isinstance(filter, str):
            added.skipped.append(LeftChunk(chunk.place, chunk.leaf.name, filter))
        elif is_inserted:
            start = chunk.pages_start or 0
            added.copy(file.source, at, start, out)
            added.inserted.append((start, added.append(chunk, filter, out, dialect)))
            at = start
        else:
            added.append(chunk, filter, out, dialect)
        progress(done)
    if is_inserted:
        _copy_the_rest(file, at, out, added, cuts)
    return added


def _copy_the_rest(file: OpenFile, at: int, out: Version, added: Added, cuts: Cuts) -> None:
    """From `at` to the footer, with moved offset indexes."""
    moves = added.moves
    for start, end in offset_indexes(file.footer):
        added.copy(file.source, at, start, out)
        try:
            index = moved_offset_index(file.source.read_at(start, end - start), moves)
        except _kernel.ScanError as error:
            problem = f"no offset index at {start}: {error.problem}"
            raise FooterError(f"{file.path}: {problem}") from None
        out.append(index)
        added.lengths[start] = len(index)
        added.inserted.append((end, len(index) - (end - start)))
        at = end
    added.copy_without(file.source, at, cuts, out)


def offset_indexes(footer: Footer) -> list[Range]:
    """The ranges of the offset indexes, in order."""
    pairs = zip(
        footer.chunks.every("offset_index_offset"),
        footer.chunks.every("offset_index_length"),
        strict=True,
    )
    return sorted({(start, start + length) for start, length in pairs if start > 0 and length > 0})


def in_order_of_pages(file: OpenFile, chunks: Sequence[ColumnChunk]) -> list[ColumnChunk]:
    """`chunks` in the order of their pages. Raises UnsupportedError if filters cannot be inserted."""
    ordered = sorted(chunks, key=lambda chunk: chunk.pages_start or 0)
    with_pages = [chunk for chunk in ordered if chunk.num_values]
    last = 0
    for chunk in with_pages:
        start = chunk.pages_start or 0
        around = file.footer.layout.data_in(start - 1, start + 1)
        if start == last or any(begin < start < end for begin, end in around):
            raise UnsupportedError(
                f"{file.path}: {chunk.where}: its pages overlap others: expected pages that a"
                " filter can be placed before"
            )
        last = start
    indexes = offset_indexes(file.footer)
    if indexes and indexes[0][0] < last:
        raise UnsupportedError(
            f"{file.path}: page indexes lie before pages: expected them behind all pages"
        )
    behind = (file.footer.start, file.footer.start)
    if any(end > start for (_, end), (start, _) in pairwise([*indexes, behind])):
        raise UnsupportedError(f"{file.path}: offset indexes overlap each other")
    return ordered
