"""Remove filters from a Parquet file: always the pointers, and the bytes of those behind the data, with the
bytes of all that nothing points to any more. A file to which filters were appended is cut where it is as
it was, if it has such an end: then it is the old file, byte for byte."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

from parquet_bloom.container import LeftChunk, RemovedFilters, StripChange, number_of
from parquet_bloom.container.room import TO_CHANGE
from parquet_bloom.native import _kernel
from parquet_bloom.options import Selection
from parquet_bloom.parallel import check_fits
from parquet_bloom.parquet.edit.change import FieldsChange, check_rewritable
from parquet_bloom.parquet.edit.stripped import Gone, rest_without
from parquet_bloom.parquet.filters.plaintext import leaks
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.footer import NO_POINTER
from parquet_bloom.parquet.footer.layout import Range
from parquet_bloom.parquet.footer.moved import Moves
from parquet_bloom.parquet.open_file import OpenFile
from parquet_bloom.parquet.pages.pages import located
from parquet_bloom.parquet.sealed.opened_chunks import Fields
from parquet_bloom.storage.change import Version
from parquet_bloom.vocabulary import NO_KEY


@dataclass(frozen=True, slots=True)
class LegacyRemoval:
    """Private legacy filters to remove: the `edits` of chunks that do, the `offsets` of each chunk's
    filters, the `ranges` of their bytes. `staying`: of those that a note leads to and that stay, None if
    that is uncertain; `moved` returns the edits of their notes."""

    edits: Mapping[ChunkKey, Fields] = field(default_factory=dict)
    offsets: Mapping[ChunkKey, tuple[int | None, ...]] = field(default_factory=dict)
    ranges: Collection[Range] = ()
    staying: Collection[Range] | None = ()
    moved: Callable[[Moves], Mapping[ChunkKey, Fields]] = lambda moves: {}


NO_LEGACY = LegacyRemoval()

# What the footer says of chunks that have filters, or may have.
_TELLING = ("bloom_filter_offset", "bloom_filter_length", "has_crypto_metadata")


class ParquetStrip(FieldsChange, StripChange):
    """No filters for the selected chunks. Without a selection of columns, those that are encrypted
    and have no key are left as they are."""

    def __init__(
        self, file: OpenFile, selection: Selection, legacy: LegacyRemoval = NO_LEGACY
    ) -> None:
        check_rewritable(file)
        chunks = {chunk.key: chunk for chunk in _with_filters(file, selection, legacy)}
        locked = [
            chunk for chunk in chunks.values() if selection.columns is None and chunk.is_locked
        ]
        left = {chunk.key for chunk in locked}
        pointing = {
            key: chunk for key, chunk in chunks.items() if key not in left and _may_point(chunk)
        }
        for chunk in pointing.values():
            with located(file.footer, chunk):
                chunk.modules.check_writable()
        edits: dict[ChunkKey, Fields] = dict.fromkeys(pointing, NO_POINTER)
        for key, edit in legacy.edits.items():
            edits[key] = {**edits.get(key, {}), **edit}
        gone = Gone(pointing, legacy.ranges, legacy.staying)
        rest = rest_without(file, selection, gone, has_edits=bool(legacy.edits))
        self._is_cut, self._legacy = rest.is_end, legacy
        super().__init__(file, rest.cuts, edits)
        self.unused_filters = len(rest.unused)
        self.unused_bytes = sum(end - start for start, end in rest.unused)
        self.leaks = leaks(file, dict.fromkeys(pointing))
        self.removed = tuple(_removed(chunks, pointing, legacy))
        self.left = (
            *(LeftChunk(chunk.place, chunk.leaf.name, NO_KEY) for chunk in locked),
            *(LeftChunk(chunk.place, chunk.leaf.name, why) for chunk, why in self.remaining()),
        )

    def compose(self, version: Version) -> None:
        if not self._is_cut:
            super().compose(version)

    def all_edits(self) -> dict[ChunkKey, Fields]:
        if self._is_cut:
            return self.edits
        found = super().all_edits()
        for key, edit in self._legacy.moved(self._cuts.moves).items():
            found[key] = {**found.get(key, {}), **edit}
        return found


def _with_filters(
    file: OpenFile, selection: Selection, legacy: LegacyRemoval
) -> Iterator[ColumnChunk]:
    """The chunks of the selection that may have filters. The others are not even decoded: a file can
    have very many."""
    columns, table = file.select(selection.columns), file.footer.chunks
    found: list[ChunkKey] = []
    for part in file.select_parts(selection.parts):
        offsets, lengths, encrypted = (table.part(field, part) for field in _TELLING)
        for index in (leaf.index for leaf in columns):
            points = {offsets[index], lengths[index]} != {_kernel.ABSENT}
            if points or encrypted[index] or (part, index) in legacy.offsets:
                found.append((part, index))
    chunks = number_of(len(found), "column chunk")
    check_fits(f"{file.path}: {chunks} with filters take", TO_CHANGE * len(found))
    return map(file.chunk_at, found)


def _may_point(chunk: ColumnChunk) -> bool:
    """Whether the footer mentions a filter, or its key would be needed to see that."""
    return (
        chunk.bloom_filter_offset is not None
        or chunk.bloom_filter_length is not None
        or chunk.is_locked
    )


def _removed(
    chunks: Mapping[ChunkKey, ColumnChunk], pointing: Collection[ChunkKey], legacy: LegacyRemoval
) -> Iterator[RemovedFilters]:
    """Each filter once, in file order."""
    for key, chunk in chunks.items():
        offsets, own = legacy.offsets.get(key, ()), chunk.bloom_filter_offset
        if key in pointing:
            offsets = (own, *(each for each in offsets if each is None or each != own))
        for offset in offsets:
            yield RemovedFilters(chunk.place, chunk.leaf.name, 1, offset)
