"""Build filters into an ORC file: new ones, or others in place of those to repair."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from typing import Final

from parquet_bloom.container import BuildChange, BuiltFilters, LeftChunk, RepairChange, Repairs
from parquet_bloom.engines.reading import ColumnKind, lost_rows
from parquet_bloom.errors import RewriteError, UnsupportedError
from parquet_bloom.options import DEFAULT_FPP, BuildOptions, RepairOptions, refuse
from parquet_bloom.orc import writers
from parquet_bloom.orc.build import (
    BuiltStreams,
    OrcFilterBuilder,
    OrcSize,
    TolerantOrcFilterBuilder,
    without_place,
)
from parquet_bloom.orc.footers import FilterStreams, check_indexed, check_writable
from parquet_bloom.orc.keys.key_hashes import never_absent
from parquet_bloom.orc.reader import OrcReader
from parquet_bloom.orc.stripe import BLOOM_FILTER, BLOOM_FILTER_UTF8, FILTER_KINDS, OrcChunk
from parquet_bloom.orc.writer import Streams, StripesChange
from parquet_bloom.parallel import Progress, of_all
from parquet_bloom.storage.change import Version
from parquet_bloom.vocabulary import HAS_ONE, OrcStreams

# The kinds of streams for each choice, in the order in which readers expect them.
_KINDS: Final = {"utf8": (BLOOM_FILTER_UTF8,), "both": FILTER_KINDS}
USUAL_STREAMS: Final[OrcStreams] = "utf8"

_PARQUET_ONLY = (
    *(
        "append_in_place",
        "drop_foreign_fields",
        "fpp_of",
        "keeps_ends",
        "max_bytes",
        "exact_blocks",
        "expose_filter_location",
        "layout",
    ),
    "dialect",
)


class BuiltChange(StripesChange):
    """Filters for the chunks `wanted`, built while the file is written. `dropped` chunks lose their
    filters even if no others can be built."""

    def __init__(
        self,
        builder: OrcFilterBuilder,
        wanted: Sequence[OrcChunk],
        dropped: Iterable[OrcChunk],
        progress: Progress | None = None,
    ) -> None:
        super().__init__(builder.file)
        self._builder = builder
        self._wanted = wanted
        self._num_wanted = Counter(chunk.stripe.index for chunk in wanted)
        self._dropped: dict[int, list[int]] = {}
        for chunk in dropped:
            self._dropped.setdefault(chunk.stripe.index, []).append(chunk.column.id)
        self._progress = of_all(progress, wanted)
        self._done = 0
        self._written: list[tuple[OrcChunk, BuiltStreams]] = []

    @abstractmethod
    def add(self, chunk: OrcChunk, built: BuiltStreams, offset: int, length: int) -> None:
        """Called with the new filters of a chunk, and where they are."""

    @abstractmethod
    def skip(self, chunk: OrcChunk, reason: str) -> None:
        """Called with the reason why a chunk gets no filters."""

    def compose(self, version: Version) -> None:
        with closing(self._builder.built(self._wanted)) as self._built:
            super().compose(version)

    def streams_of(self, stripe: int) -> Streams:
        streams: dict[int, FilterStreams] = {id: {} for id in self._dropped.get(stripe, ())}
        self._written = []
        for chunk, built in islice(self._built, self._num_wanted[stripe]):
            if isinstance(built, str):
                self.skip(chunk, built)
            else:
                self._written.append((chunk, built))
                streams[chunk.column.id] = built.streams
            self._done += 1
            self._progress(self._done)
        return streams

    def placed(self, stripe: int, offsets: Mapping[int, int]) -> None:
        for chunk, built in self._written:
            length = sum(map(len, built.streams.values()))
            self.add(chunk, built, offsets[chunk.column.id], length)


class OrcBuild(BuiltChange, BuildChange):
    """Filters for the columns that `options` name, one for each index group."""

    def __init__(
        self, file: OrcReader, options: BuildOptions, progress: Progress | None = None
    ) -> None:
        refuse(file.path, options, _PARQUET_ONLY, "an ORC file")
        check_writable(file.tail)
        self.filters = []
        self.skipped = []
        wanted = list(self._planned(file, options))
        fpp = DEFAULT_FPP if options.fpp is None else options.fpp
        size = OrcSize(fpp, options.ndv) if options.ndv else OrcSize.usual(fpp, file.tail)
        kinds = _KINDS[options.orc_streams or USUAL_STREAMS]
        builder = OrcFilterBuilder(file, size, kinds, options.threads, options.force)
        replaced = (chunk for chunk in wanted if chunk.has_filters)
        super().__init__(builder, wanted, replaced, progress)

    @property
    def is_idle(self) -> bool:
        is_done = self._done == len(self._wanted)
        return is_done and not self.filters and not self._dropped

    def _planned(self, file: OrcReader, options: BuildOptions) -> Iterator[OrcChunk]:
        """The chunks that should get filters; the others are skipped. Raises ColumnError, FilterError,
        RewriteError."""
        columns = file.select(options.columns)
        if options.parts is None:
            file.will_read_stripes(range(file.num_stripes))
        for index in file.select_parts(options.parts):
            for chunk in file.chunks(index, columns):
                if reason := _reason_to_skip(chunk, options):
                    self.skip(chunk, reason)
                    continue
                yield chunk

    def compose(self, version: Version) -> None:
        super().compose(version)
        self.notes = tuple(_notes(self.file, self.filters))

    def skip(self, chunk: OrcChunk, reason: str) -> None:
        self.skipped.append(LeftChunk(chunk.place, chunk.column.name, reason))

    def add(self, chunk: OrcChunk, built: BuiltStreams, offset: int, length: int) -> None:
        filters = BuiltFilters(
            place=chunk.place,
            column=chunk.column.name,
            num_values=built.num_values,
            num_filters=built.index_groups,
            num_bytes=built.num_bits // 8,
            fpp=built.fpp,
            offset=offset,
            length=length,
            num_bits=built.num_bits,
            num_hashes=built.num_hashes,
        )
        self.filters.append(filters)


def _reason_to_skip(chunk: OrcChunk, options: BuildOptions) -> str | None:
    if reason := never_absent(chunk.column):
        return reason
    try:
        check_indexed(chunk.stripe, chunk.column)
    except UnsupportedError as error:
        return without_place(error, chunk)
    if options.existing == "replace" or not chunk.has_filters:
        return None
    if options.existing == "error":
        raise RewriteError(f"{chunk.where}: {HAS_ONE}")
    return HAS_ONE


def _notes(file: OrcReader, filters: Iterable[BuiltFilters]) -> Iterator[str]:
    """Whom the filters that were built will not help, and who loses rows by them."""
    if doubt := file.tail.row_count_doubt:
        yield f"{doubt}: `probe` will answer `unknown`"
    for name in dict.fromkeys(built.column for built in filters):
        column = file.column(name)
        for line in writers.ignored(file.generation, column, BLOOM_FILTER_UTF8, writers.UTF8_UTC):
            yield f"{name}: {line}"
        for lost in lost_rows(ColumnKind(column.kind)):
            yield f"{name}: {lost}"


class OrcRepair(BuiltChange, RepairChange):
    """Other filters, or none, for the chunks to repair."""

    def __init__(self, file: OrcReader, repairs: Repairs, options: RepairOptions) -> None:
        refuse(file.path, options, ("layout",), "an ORC file")
        size = OrcSize.usual(options.fpp or DEFAULT_FPP, file.tail)
        streams = (stream for chunk in repairs.rebuilt for stream in chunk.filter_streams)
        # Readers older than ORC 1.3 keep theirs.
        had_old = any(stream.kind == BLOOM_FILTER for stream in streams)
        kinds = _KINDS["both" if had_old else "utf8"]
        builder = TolerantOrcFilterBuilder(file, size, kinds, options.threads)
        super().__init__(builder, repairs.rebuilt, repairs.dropped)
        self._repairs = repairs
        self.built: dict[tuple[int, int], tuple[int, int]] = {}
        self.not_built: dict[tuple[int, int], str] = {}

    @property
    def is_idle(self) -> bool:
        return self._repairs.is_idle

    def skip(self, chunk: OrcChunk, reason: str) -> None:
        self.not_built[chunk.key] = reason

    def add(self, chunk: OrcChunk, built: BuiltStreams, offset: int, length: int) -> None:
        self.built[chunk.key] = offset, length
