"""Add split block filters of before parquet-format 2.7.0 to a Parquet file.

The hashes of a chunk are kept until its distinct values have been counted, so that its pages are
read once.

Spec: parquet-format before 2.7.0, BloomFilter.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing

import numpy as np

from parquet_bloom.container import BuildChange
from parquet_bloom.errors import UnsupportedError
from parquet_bloom.filters.hashers import Hashes, distinct
from parquet_bloom.filters.sizing import BLOCK_BYTES, MAX_BYTES
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.legacy.buildable import check_buildable
from parquet_bloom.legacy.murmur3.dialect import Murmur3, num_bytes_for
from parquet_bloom.legacy.murmur3.footer import FooterEdit, check_version, new_footer
from parquet_bloom.legacy.murmur3.places import in_order_of_pages, write_filters
from parquet_bloom.legacy.murmur3.pointers import every_note
from parquet_bloom.options import DEFAULT_FPP, BuildOptions
from parquet_bloom.parallel import Progress, check_fits, of_all, work_in_order
from parquet_bloom.parquet.edit.build import plan_of
from parquet_bloom.parquet.edit.change import ParquetChange
from parquet_bloom.parquet.edit.kept import check_end
from parquet_bloom.parquet.edit.strip import Gone, cuts_without
from parquet_bloom.parquet.filters.builder import made_or_reason
from parquet_bloom.parquet.filters.insertion import with_specials
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.moved import Cuts
from parquet_bloom.parquet.open_file import OpenFile
from parquet_bloom.parquet.pages.pages import chunk_runs, pages_room
from parquet_bloom.parquet.pages.runs import PART_VALUES
from parquet_bloom.storage.change import Version
from parquet_bloom.vocabulary import NO_VALUES


class Murmur3Build(ParquetChange, BuildChange):
    """Filters of `dialect` for the column chunks that `options` name."""

    def __init__(
        self,
        file: OpenFile,
        dialect: Murmur3,
        options: BuildOptions,
        progress: Progress | None = None,
    ) -> None:
        check_buildable(file, options, "murmur3 filters")
        super().__init__(file)
        self._dialect = dialect
        self._options = options
        self._notes = {chunk.key: note for chunk, note in every_note(file.footer)}
        plan = plan_of(file, options, self._has_one)
        self._is_inserted = dialect.placement == "chunk" and bool(plan.chunks)
        if self._is_inserted and file.footer.has_file_references:
            raise UnsupportedError(
                f"{file.path}: has a column of type FILE, whose values may refer to bytes of the"
                " file: filters in front of the pages would move them"
            )
        self._chunks = in_order_of_pages(file, plan.chunks) if self._is_inserted else plan.chunks
        self._progress = of_all(progress, self._chunks)
        self._edit: FooterEdit | None = None
        self.filters = []
        self.skipped = plan.skipped
        self._cuts = self._cuts_for(self._chunks)
        self.prefix = self._cuts.prefix
        if self._is_inserted:
            self.prefix = self._chunks[0].pages_start or 0

    @property
    def is_idle(self) -> bool:
        return not self._chunks if self._edit is None else not self._edit.keys

    def _has_one(self, chunk: ColumnChunk) -> bool:
        """Whether the chunk has a filter of the dialect, or another one in its place."""
        is_taken = self._dialect.publish_offset and chunk.has_filters
        return is_taken or chunk.key in self._notes

    def _cuts_for(self, chunks: Sequence[ColumnChunk]) -> Cuts:
        """What of the bytes behind the data goes: filters that are replaced, or that nothing uses."""
        if not chunks:
            return Cuts(self.file.footer.start)
        keys = {chunk.key for chunk in chunks}
        gone = [note for key, note in self._notes.items() if key in keys]
        offsets = {note.offset for note in gone}
        pointing = {
            chunk.key: chunk
            for chunk in chunks
            if self._dialect.publish_offset or chunk.bloom_filter_offset in offsets
        }
        check_end(self.file, pointing)
        staying = [(note.offset, note.end) for note in self._notes.values() if note not in gone]
        ranges = Gone(pointing, [(note.offset, note.end) for note in gone], staying)
        return cuts_without(self.file, ranges)

    def compose(self, version: Version) -> None:
        filters = work_in_order(self._chunks, self._filter, self._room, self._options.threads)
        with closing(filters):
            added = write_filters(
                *(self.file, version, filters, self._dialect, self._progress),
                *(self._cuts, self._is_inserted),
            )
        replaced = {
            chunk.key: self._notes[chunk.key] for chunk in self._chunks if chunk.key in self._notes
        }
        self._edit = FooterEdit(self.file, self._dialect, added, replaced)
        footer = new_footer(self._edit, version.size)
        self.append_tail(version, footer.protection.tail(footer.raw))
        self.filters = added.filters
        self.skipped += added.skipped
        self.notes = self._dialect.notes if added.filters else ()

    def _room(self, chunk: ColumnChunk) -> int:
        """All hashes, twice, and pages."""
        hashes = 16 * (chunk.num_values or 0)
        return hashes + pages_room(self.file.source, self.file.footer, chunk)

    def _filter(self, chunk: ColumnChunk) -> SplitBlockBloomFilter | str:
        """The chunk's filter, or why there is none. Raises PageError, UnsupportedError."""
        return made_or_reason(self.file.footer, chunk, self._built)

    def _built(self, chunk: ColumnChunk) -> SplitBlockBloomFilter | str:
        file, options, scheme = self.file, self._options, self._dialect.scheme
        runs = chunk_runs(file.source, file.footer, chunk, only_used=True)
        parts = (part for run in with_specials(runs, chunk.leaf.type) for part in run.parts())
        hashes: Iterable[Hashes] = map(scheme.raw_hashes, parts)
        ndv = options.ndv
        if ndv is None:
            hashes = [_all_distinct(hashes, pages_room(file.source, file.footer, chunk))]
            ndv = max(1, hashes[0].size)
        fpp = DEFAULT_FPP if options.fpp is None else options.fpp
        max_bytes = MAX_BYTES if options.max_bytes is None else options.max_bytes
        num_blocks = num_bytes_for(ndv, fpp, max_bytes) // BLOCK_BYTES
        filter = SplitBlockBloomFilter.empty(num_blocks)
        for some in hashes:
            filter.insert_hashes(scheme.aligned(some, num_blocks))
        return filter if filter.bits_set else NO_VALUES

    def check(self, new: OpenFile) -> None:
        if self._edit is not None:
            check_version(self._edit, new)


def _all_distinct(hashes: Iterable[Hashes], held: int) -> Hashes:
    """The hashes, each once. Raises UnsupportedError if they do not fit the memory budget beside the
    `held` bytes of pages."""
    kept, ahead = np.empty(0, np.uint64), 0
    waiting: list[Hashes] = []
    for some in hashes:
        waiting.append(distinct(some))
        ahead += waiting[-1].size
        if ahead > max(PART_VALUES, kept.size):
            # Sorting takes as much again.
            check_fits("its pages and hashes take", held + 2 * (kept.nbytes + 8 * ahead))
            kept, ahead = distinct(np.concatenate([kept, *waiting])), 0
            waiting = []
    return distinct(np.concatenate([kept, *waiting]))
