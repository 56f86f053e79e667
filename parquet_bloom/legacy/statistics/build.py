"""Add filters inside Statistics to a Parquet file, from the values of column chunks to its new footer.

Spec: parquet-format, pull request 28, Statistics.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing

import numpy as np

from parquet_bloom.container import BuildChange, LeftChunk
from parquet_bloom.errors import RewriteError
from parquet_bloom.filters.hashers import Hashes, distinct
from parquet_bloom.filters.k_hash import KHashFilter
from parquet_bloom.legacy.buildable import check_buildable
from parquet_bloom.legacy.statistics.dialect import MAX_WORDS, StatisticsFilter
from parquet_bloom.legacy.statistics.edits import added
from parquet_bloom.legacy.statistics.filter_struct import WORD_BITS, StatisticsStruct, encode
from parquet_bloom.legacy.statistics.stored import has_filter, read_stored
from parquet_bloom.legacy.statistics.strategies import STRATEGIES
from parquet_bloom.options import BuildOptions, refuse
from parquet_bloom.parallel import Progress, check_fits, of_all, work_in_order
from parquet_bloom.parquet.edit.build import plan_of
from parquet_bloom.parquet.edit.change import FieldsChange, built_filter
from parquet_bloom.parquet.edit.kept import without_unused
from parquet_bloom.parquet.filters.builder import made_or_reason
from parquet_bloom.parquet.filters.insertion import with_specials
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.moved import Cuts
from parquet_bloom.parquet.open_file import OpenFile
from parquet_bloom.parquet.pages.pages import chunk_runs, pages_room
from parquet_bloom.storage.change import Version
from parquet_bloom.vocabulary import NO_VALUES

# The length of a footer is a 32-bit number, signed in most readers.
MAX_FOOTER_BYTES = (1 << 31) - 1

_IN_DIALECT = ("fpp", "ndv", "max_bytes")


class StatisticsBuild(FieldsChange, BuildChange):
    """Filters of `dialect` for the column chunks that `options` name."""

    def __init__(
        self,
        file: OpenFile,
        dialect: StatisticsFilter,
        options: BuildOptions,
        progress: Progress | None = None,
    ) -> None:
        what = "statistics filters"
        refuse(file.path, options, _IN_DIALECT, f"{what}: their size is set in StatisticsFilter")
        check_buildable(file, options, what)
        plan = plan_of(file, options, lambda chunk: has_filter(file.footer, chunk))
        super().__init__(file, without_unused(file) if plan.chunks else Cuts(file.footer.start))
        self.filters = []
        self.skipped = plan.skipped
        self._dialect = dialect
        self._strategy = STRATEGIES[dialect.strategy]
        self._threads = options.threads
        self._progress = of_all(progress, plan.chunks)
        self._ahead: Sequence[ColumnChunk] = plan.chunks

    @property
    def is_idle(self) -> bool:
        return not self.edits and not self._ahead

    def compose(self, version: Version) -> None:
        with closing(work_in_order(self._ahead, self._filter, self._room, self._threads)) as built:
            for done, (chunk, filter) in enumerate(built, 1):
                self._take(chunk, filter)
                self._progress(done)
        self._ahead = ()
        self.notes = self._dialect.notes if self.filters else ()
        super().compose(version)

    def _take(self, chunk: ColumnChunk, filter: KHashFilter | str) -> None:
        if isinstance(filter, str):
            self.skipped.append(LeftChunk(chunk.place, chunk.leaf.name, filter))
            return
        struct = StatisticsStruct(
            encoding=self._dialect.encoding,
            bitset=bytes(filter.bitset),
            num_bits=filter.num_bits,
            num_hashes=filter.num_hashes,
            strategy=self._strategy.number,
            name=self._strategy.name,
        )
        self.edits[chunk.key] = added(self.file.footer, chunk, self._dialect.field_id, struct)
        # Without an offset: the filter is part of the footer.
        self.filters.append(built_filter(chunk, filter, None, len(encode(struct))))

    def footer(self) -> bytes:
        raw = super().footer()
        if len(raw) > MAX_FOOTER_BYTES:
            raise RewriteError(
                f"{self.file.path}: a footer of {len(raw)} bytes, expected at most"
                f" {MAX_FOOTER_BYTES}: filters inside Statistics are a part of it"
            )
        return raw

    def check(self, new: OpenFile) -> None:
        super().check(new)
        for key in self.edits:
            read_stored(new.footer, new.chunk_at(key))

    def _room(self, chunk: ColumnChunk) -> int:
        """Hashes of 128 bits, twice, and pages."""
        hashes = 32 * (chunk.num_values or 0)
        return hashes + pages_room(self.file.source, self.file.footer, chunk)

    def _filter(self, chunk: ColumnChunk) -> KHashFilter | str:
        """The chunk's filter, or why there is none. Raises PageError, UnsupportedError."""
        return made_or_reason(self.file.footer, chunk, self._built)

    def _built(self, chunk: ColumnChunk) -> KHashFilter | str:
        leaf = chunk.leaf.type
        expected = self._dialect.expected_of(chunk.leaf.name)
        runs = chunk_runs(self.file.source, self.file.footer, chunk, only_used=True)
        hashes: Iterable[Hashes] = (
            self._strategy.hashes(leaf, part)
            for run in with_specials(runs, leaf)
            for part in run.parts()
        )
        entries = expected.entries
        if entries is None:
            held = pages_room(self.file.source, self.file.footer, chunk)
            hashes = _fitting(hashes, held)
            entries = _num_distinct(hashes)
        return self._filter_of(hashes, entries, expected.fpp)

    def _filter_of(self, hashes: Iterable[Hashes], entries: int, fpp: float) -> KHashFilter | str:
        if entries == 0:
            return NO_VALUES
        try:
            num_bits, num_hashes = self._strategy.size(entries, fpp)
        except ValueError as error:
            return str(error)
        if num_bits > MAX_WORDS * WORD_BITS:
            return (
                f"{num_bits // WORD_BITS} longs for {entries} values, expected at most {MAX_WORDS}"
                " in a footer"
            )
        filter = self._strategy.filter_class.empty(num_bits, num_hashes)
        for some in hashes:
            filter.insert_hashes(some)
        return filter if filter.bits_set else NO_VALUES


def _fitting(hashes: Iterable[Hashes], held: int) -> list[Hashes]:
    """All hashes. Raises UnsupportedError if counting them does not fit the memory budget beside the
    `held` bytes of pages."""
    kept: list[Hashes] = []
    num_bytes = 0
    for some in hashes:
        kept.append(some)
        num_bytes += some.nbytes
        check_fits("its pages and hashes take", held + 2 * num_bytes)
    return kept


def _num_distinct(hashes: Sequence[Hashes]) -> int:
    """How many of the hashes differ, in their first 64 bits if they have more."""
    first = [some.reshape(len(some), -1)[:, 0] for some in hashes if len(some)]
    return distinct(np.concatenate(first)).size if first else 0
