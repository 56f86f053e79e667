"""Repair the filters of a Parquet file: a new footer, and in front of it the rebuilt filters.

    replace | pages, page indexes, filters: as they were | rebuilt filters | FileMetaData | … | PAR1 |
    append  | the whole file, up to its last end         | rebuilt filters | FileMetaData | … | PAR1 |

No byte before the old footer changes, except that plaintext filters of encrypted columns are
overwritten; where all ends are kept, a file with such filters is refused.
"""

from __future__ import annotations

from parquet_bloom.container import RepairChange, Repairs
from parquet_bloom.filters.sizing import MAX_BYTES, Size
from parquet_bloom.options import DEFAULT_FPP, RepairOptions
from parquet_bloom.parallel import Progress
from parquet_bloom.parquet.edit.change import FilterChange, NewFilters, bitset_digest
from parquet_bloom.parquet.edit.kept import Kept, check_end, check_last
from parquet_bloom.parquet.filters import bloom
from parquet_bloom.parquet.filters.builder import TolerantFilterBuilder
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.footer import FilterPlace
from parquet_bloom.parquet.open_file import OpenFile
from parquet_bloom.storage.change import Version


class ParquetRepair(FilterChange, RepairChange):
    """Filters without pointers, with another length, or rebuilt."""

    def __init__(
        self, file: OpenFile, repairs: Repairs, options: RepairOptions, progress: Progress | None
    ) -> None:
        size = Size(options.fpp or DEFAULT_FPP, options.max_bytes or MAX_BYTES)
        places: dict[ChunkKey, FilterPlace | None] = {each.key: None for each in repairs.dropped}
        digests: dict[ChunkKey, int] = {}
        for chunk in repairs.resized:
            stored = bloom.read_header(file.source, file.footer, chunk)
            assert stored is not None
            places[chunk.key] = FilterPlace(stored.offset, stored.end - stored.offset)
            digests[chunk.key] = bitset_digest(file, stored)
        is_appended = (options.layout or options.usual_layout) == "append"
        if repairs.rebuilt or is_appended:
            check_end(file, places)
        if is_appended:
            check_last(file, places)
        builder = TolerantFilterBuilder(file, size, options.threads)
        new = NewFilters(
            chunks=repairs.rebuilt,
            built=builder.built,
            reason_against=builder.reason_against,
            progress=progress,
        )
        kept = Kept(
            file.source.size if is_appended else file.footer.start,
            ends=options.kept_ends or "none",
        )
        super().__init__(file, kept, places, new, digests)
        self.resized = {
            key: (place.offset, place.length) for key, place in places.items() if place is not None
        }
        self.built = {}
        self.not_built = {}
        self.damaged = builder.damaged
        self._keys = {(each.place, each.leaf.name): each.key for each in repairs.rebuilt}

    def compose(self, version: Version) -> None:
        super().compose(version)
        self.built = {key: (place.offset, place.length) for key, place in self.appended.items()}
        self.not_built = {self._keys[each.place, each.column]: each.reason for each in self.skipped}
        self.remains = self.remaining()
