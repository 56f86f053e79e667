"""Add Bloom filters to an ORC file; no data stream is rewritten.

stripe   | row index, new filters of a column | row index, ... | data: as it was | footer |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import groupby
from typing import Final

from parquet_bloom.container import BuildChange, BuiltFilters, LeftChunk
from parquet_bloom.errors import RewriteError, UnsupportedError
from parquet_bloom.options import DEFAULT_FPP, BuildOptions, refuse
from parquet_bloom.orc import writers
from parquet_bloom.orc.build import BuiltStreams, OrcFilterBuilder, OrcSize
from parquet_bloom.orc.chunk import OrcChunk
from parquet_bloom.orc.file import OrcFile
from parquet_bloom.orc.injection import UTF8_AND_UTC, FilterStreams, check_indexed
from parquet_bloom.orc.keys.key_hashes import never_absent
from parquet_bloom.orc.stripe import BLOOM_FILTER, BLOOM_FILTER_UTF8
from parquet_bloom.orc.values import reason_unreadable
from parquet_bloom.orc.writer import Offsets, Streams, StripesChange
from parquet_bloom.parallel import Progress, of_all
from parquet_bloom.storage.new_version import Version
from parquet_bloom.vocabulary import HAS_ONE, OrcStreams

# What is written for each choice, in the order in which readers expect it.
_KINDS: Final = {"utf8": (BLOOM_FILTER_UTF8,), "both": (BLOOM_FILTER, BLOOM_FILTER_UTF8)}
USUAL_STREAMS: Final[OrcStreams] = "utf8"

_NOT_OF_ORC = ("max_bytes", "exact_blocks", "expose_filter_location", "dialect")


class OrcBuild(StripesChange, BuildChange):
    """Filters for the columns that `options` name, one for each index group."""

    def __init__(
        self, file: OrcFile, options: BuildOptions, progress: Progress | None = None
    ) -> None:
        refuse(file.path, options, _NOT_OF_ORC, "an ORC file")
        super().__init__(file)
        self.filters = []
        self.skipped = []
        self._wanted = self._planned(options)
        self._size = size_of(file, options)
        self._force = options.force
        kinds = _KINDS[options.orc_streams or USUAL_STREAMS]
        self._builder = OrcFilterBuilder(file, self._size, kinds, options.threads)
        self._progress = of_all(progress, self._wanted)
        self._written: dict[int, tuple[OrcChunk, BuiltStreams]] = {}
        self._has_changes = False
        self._done = 0

    @property
    def is_idle(self) -> bool:
        return not self._has_changes and self._done == len(self._wanted)

    def _planned(self, options: BuildOptions) -> list[OrcChunk]:
        """The chunks that are to get filters; the others are skipped. Raises ColumnError,
        UnsupportedError, FilterError, RewriteError."""
        wanted = []
        columns = self.file.named_columns(options.columns)
        for index in self.file.stripes(options.parts):
            for chunk in self.file.chunks(index, columns):
                reason = _reason_to_skip(self.file, chunk, options)
                if reason:
                    self.skipped.append(LeftChunk(chunk.place, chunk.column.name, reason))
                    continue
                check_indexed(chunk.stripe, chunk.column)
                if unreadable := reason_unreadable(self.file.tail.columns, chunk.column):
                    raise UnsupportedError(
                        f"{self.file.path}: column {chunk.column.name}: {unreadable}"
                    )
                wanted.append(chunk)
        return wanted

    def compose(self, version: Version) -> None:
        with closing(self._builder.built(self._wanted)) as built:
            self._of_stripes = groupby(built, key=lambda each: each[0].stripe.index)
            self._ahead = next(self._of_stripes, None)
            super().compose(version)
        self.notes = tuple(_notes(self.file, self.filters))

    def streams_of(self, stripe: int) -> Streams:
        streams: dict[int, FilterStreams] = {}
        self._written = {}
        if self._ahead is None or self._ahead[0] != stripe:
            return streams
        for chunk, built in self._ahead[1]:
            reason = built if isinstance(built, str) else self._reason_against(built)
            if not isinstance(built, str) and not reason:
                self._written[chunk.column.id] = chunk, built
                streams[chunk.column.id] = built.streams
            else:
                self.skipped.append(LeftChunk(chunk.place, chunk.column.name, reason))
                # Filters that are to be replaced go in any case.
                if chunk.has_filters:
                    streams[chunk.column.id] = {}
            self._done += 1
            self._progress(self._done)
        self._ahead = next(self._of_stripes, None)
        self._has_changes |= bool(streams)
        return streams

    def _reason_against(self, built: BuiltStreams) -> str:
        return "" if self._force else self._size.reason_against(built)

    def placed(self, stripe: int, offsets: Offsets) -> None:
        for column, (chunk, built) in self._written.items():
            first = min(offsets[column, kind] for kind in built.streams)
            self.filters.append(_reported(chunk, built, first))


def size_of(file: OrcFile, options: BuildOptions) -> OrcSize:
    """The size of filters that is asked for; by default, for as many values as an index group has
    rows."""
    fpp = DEFAULT_FPP if options.fpp is None else options.fpp
    return OrcSize(fpp, options.ndv or max(1, file.tail.row_index_stride))


def _reason_to_skip(file: OrcFile, chunk: OrcChunk, options: BuildOptions) -> str | None:
    if reason := never_absent(chunk.column):
        return reason
    if options.existing == "replace" or not chunk.has_filters:
        return None
    if options.existing == "error":
        raise RewriteError(f"{chunk.where}: {HAS_ONE}")
    return HAS_ONE


def _reported(chunk: OrcChunk, built: BuiltStreams, offset: int) -> BuiltFilters:
    return BuiltFilters(
        place=chunk.place,
        column=chunk.column.name,
        num_values=built.num_values,
        num_filters=built.index_groups,
        num_bytes=built.num_bits // 8,
        fpp=built.fpp,
        offset=offset,
        length=sum(map(len, built.streams.values())),
        num_bits=built.num_bits,
        num_hashes=built.num_hashes,
    )


def _notes(file: OrcFile, filters: Iterable[BuiltFilters]) -> Iterator[str]:
    """Which readers will not look at what was built."""
    for name in dict.fromkeys(built.column for built in filters):
        column = file.column(name)
        for line in writers.ignored(file.generation, column, BLOOM_FILTER_UTF8, UTF8_AND_UTC):
            yield f"{name}: {line}"
