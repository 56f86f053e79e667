"""Repair the filters of an ORC file: other streams of filters, or none, in the stripes that need them.

stripe   | row index, new filters or none | ... | data: as it was | footer |
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing

from parquet_bloom.container import RepairChange, Repairs
from parquet_bloom.options import DEFAULT_FPP, RepairOptions
from parquet_bloom.orc.build import BuiltStreams, OrcSize, TolerantOrcFilterBuilder
from parquet_bloom.orc.chunk import OrcChunk
from parquet_bloom.orc.file import OrcFile
from parquet_bloom.orc.injection import FilterStreams
from parquet_bloom.orc.stripe import BLOOM_FILTER, BLOOM_FILTER_UTF8, FILTER_KINDS
from parquet_bloom.orc.writer import Offsets, Streams, StripesChange
from parquet_bloom.storage.new_version import Version


class OrcRepair(StripesChange, RepairChange):
    """Stripes with other filters, or with fewer."""

    def __init__(self, file: OrcFile, repairs: Repairs, options: RepairOptions) -> None:
        super().__init__(file)
        self._repairs = repairs
        self._threads = options.threads
        self._size = OrcSize(options.fpp or DEFAULT_FPP, max(1, file.tail.row_index_stride))
        self._dropped = self._of_stripes(repairs.dropped)
        self._rebuilt = self._of_stripes(repairs.rebuilt)
        self._streams: dict[int, FilterStreams] = {}
        self.built: dict[tuple[int, int], tuple[int, int]] = {}
        self.not_built: dict[tuple[int, int], str] = {}

    @property
    def is_idle(self) -> bool:
        return self._repairs.is_idle

    def _of_stripes(self, chunks: Sequence[OrcChunk]) -> list[list[OrcChunk]]:
        found: list[list[OrcChunk]] = [[] for _ in range(self.file.num_stripes)]
        for chunk in chunks:
            found[chunk.stripe.index].append(chunk)
        return found

    def compose(self, version: Version) -> None:
        with closing(self._all_built()) as self._new:
            super().compose(version)

    def _all_built(self) -> Generator[BuiltStreams | str]:
        """The filters of each chunk that is to get some, or why it gets none."""
        chunks = self._repairs.rebuilt
        if not chunks:
            return
        builder = TolerantOrcFilterBuilder(self.file, self._size, _kinds(chunks), self._threads)
        with closing(builder.built(chunks)) as all_built:
            for _, built in all_built:
                reason = built if isinstance(built, str) else self._size.reason_against(built)
                yield reason or built

    def streams_of(self, stripe: int) -> Streams:
        self._streams = {chunk.column.id: {} for chunk in self._dropped[stripe]}
        for chunk in self._rebuilt[stripe]:
            built = next(self._new)
            if isinstance(built, str):
                self.not_built[chunk.key] = built
            else:
                self._streams[chunk.column.id] = built.streams
        return self._streams

    def placed(self, stripe: int, offsets: Offsets) -> None:
        for column, streams in self._streams.items():
            if streams:
                offset = min(offsets[column, kind] for kind in streams)
                self.built[stripe, column] = offset, sum(map(len, streams.values()))


def _kinds(chunks: Sequence[OrcChunk]) -> tuple[int, ...]:
    """Those of the streams to write: for readers of before ORC 1.3, too, if they had any."""
    for chunk in chunks:
        if chunk.stripe.streams_of(chunk.column.id, (BLOOM_FILTER,)):
            return FILTER_KINDS
    return (BLOOM_FILTER_UTF8,)
