"""Remove filters from a Parquet file: the pointers always, the bytes where they are the last before
the footer."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from parquet_bloom.container import LeftChunk, RemovedFilters, StripChange
from parquet_bloom.options import Selection
from parquet_bloom.parquet.file import ParquetFile
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.footer import NO_POINTER
from parquet_bloom.parquet.footer.layout import Range
from parquet_bloom.parquet.pages.pages import located
from parquet_bloom.parquet.plaintext_filters import leaks
from parquet_bloom.parquet.sealed.opened_chunks import Fields
from parquet_bloom.parquet.writer import FieldsChange, check_rewritable, kept_end
from parquet_bloom.vocabulary import NO_KEY


@dataclass(frozen=True, slots=True)
class LegacyRemoval:
    """What is removed of filters to which bloom_filter_offset does not lead.

    `edits` of chunks take them away, whose `offsets` are these, one for each filter; their bytes are
    in `ranges`, and the others like them end by `kept_end`.
    """

    edits: Mapping[ChunkKey, Fields] = field(default_factory=dict)
    offsets: Mapping[ChunkKey, tuple[int | None, ...]] = field(default_factory=dict)
    ranges: Collection[Range] = ()
    kept_end: int = 0


NO_LEGACY = LegacyRemoval()


class ParquetStrip(FieldsChange, StripChange):
    """No filters for what is selected. By default, what there is no key to is left."""

    def __init__(
        self, file: ParquetFile, selection: Selection, legacy: LegacyRemoval = NO_LEGACY
    ) -> None:
        check_rewritable(file)
        chunks = selected(file, selection)
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
        edits = {
            key: {**(NO_POINTER if key in pointing else {}), **legacy.edits.get(key, {})}
            for key in {**pointing, **legacy.edits}
        }
        super().__init__(file, kept_end(file, pointing, legacy.ranges, legacy.kept_end), edits)
        self._leaks = leaks(file, dict.fromkeys(pointing))
        self.removed = tuple(_removed(chunks, pointing, legacy))
        self.left = (
            *(LeftChunk(chunk.place, chunk.leaf.name, NO_KEY) for chunk in locked),
            *(
                LeftChunk(leak.chunk.place, leak.chunk.leaf.name, leak.remains)
                for leak in self._leaks
                if leak.remains
            ),
        )

    def erased(self) -> Iterator[Range]:
        for leak in self._leaks:
            yield from leak.erasable


def selected(file: ParquetFile, selection: Selection) -> dict[ChunkKey, ColumnChunk]:
    """The chunks that are meant, in file order. Raises ColumnError."""
    leaves = file.leaves(selection.columns)
    chunks = (
        file.footer.chunk(row_group, leaf)
        for row_group in file.row_groups(selection.parts)
        for leaf in leaves
    )
    return {chunk.key: chunk for chunk in chunks}


def _may_point(chunk: ColumnChunk) -> bool:
    """Whether the footer says anything of a filter, or nobody knows."""
    return (
        chunk.bloom_filter_offset is not None
        or chunk.bloom_filter_length is not None
        or chunk.is_locked
    )


def _removed(
    chunks: Mapping[ChunkKey, ColumnChunk],
    pointing: Collection[ChunkKey],
    legacy: LegacyRemoval,
) -> Iterator[RemovedFilters]:
    """Each filter once, in file order."""
    for key, chunk in chunks.items():
        offsets = list(legacy.offsets.get(key, ()))
        if key in pointing:
            offsets = [
                chunk.bloom_filter_offset,
                *(each for each in offsets if each is None or each != chunk.bloom_filter_offset),
            ]
        for offset in offsets:
            yield RemovedFilters(chunk.place, chunk.leaf.name, 1, offset)
