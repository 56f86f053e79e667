"""Build filters into an ORC file: new ones, or others in place of those to repair.

They are built of many columns of many stripes, by several threads and in file order, while the file is
written. As with ORC's own writers, all filters of a column have one size, whatever its index groups hold: with
room for as many values as an index group has rows. Where the times of a stripe have several keys each, its
filters have room for those, if they need it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import field, replace
from itertools import islice
from math import ceil, isfinite
from operator import attrgetter
from types import MappingProxyType
from typing import Final, Self

from parquet_bloom.container import (
    BuildChange,
    BuiltFilters,
    LeftChunk,
    RepairChange,
    Repairs,
    number_of,
    of_columns,
)
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import (
    FormatError,
    RewriteError,
    UnsupportedError,
    quoted_name,
    without_place,
)
from parquet_bloom.filters.k_hash import KHashFilter, KHashFilters, hive_size, hive_target
from parquet_bloom.filters.rates import percent
from parquet_bloom.filters.sizing import (
    LARGE_SHARE_OF_COLUMN,
    MUCH_LESS_ROOM,
    TOLERANCE,
    USELESS_FPP,
    bytes_with_room,
    room_for_fewer,
)
from parquet_bloom.options import DEFAULT_FPP, BuildOptions, RepairOptions, refuse
from parquet_bloom.orc import writers
from parquet_bloom.orc.bloom import (
    FILTER_BYTES,
    OrcKeyForm,
    StoredIndex,
    encode_filters,
    size_of_most,
)
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.compression import Compression
from parquet_bloom.orc.keys import insert_values, never_absent
from parquet_bloom.orc.reader import OrcReader, value_ranges
from parquet_bloom.orc.row_index import num_ignored
from parquet_bloom.orc.stripe import BLOOM_FILTER, BLOOM_FILTER_UTF8, FILTER_KINDS, OrcChunk
from parquet_bloom.orc.tail import Tail
from parquet_bloom.orc.values import ValueBatch, batches, room_for_values
from parquet_bloom.orc.writer import FilterStreams, Streams, StripesChange
from parquet_bloom.parallel import Progress, check_fits, of_all, work_in_order
from parquet_bloom.storage.change import Version
from parquet_bloom.threads import threads_for_values
from parquet_bloom.vocabulary import HAS_ONE, NO_VALUES, OLD_ONE_STAYS, UNREAD_STAYS, OrcStreams

# The kinds of streams for each choice, in the order in which readers expect them.
_KINDS: Final = {"utf8": (BLOOM_FILTER_UTF8,), "both": FILTER_KINDS}
USUAL_STREAMS: Final[OrcStreams] = "utf8"

_PARQUET_ONLY = (
    *(
        "append_in_place",
        "drop_foreign_fields",
        "kept_ends",
        "max_bytes",
        "exact_blocks",
    ),
    *("expose_filter_location", "layout", "dialect"),
)

# A filter at its size has half of its bits set, and no codec makes that smaller: zstd, LZ4 and
# deflate gain less than a tenth between these.
INCOMPRESSIBLE_FILL = (0.3, 0.7)


@dataclass(frozen=True, slots=True)
class OrcSize:
    """The size of each filter. `entries`: values to size for; `fpp`: the target for so many.

    Raises ValueError for numbers that no filter has.
    """

    fpp: float
    entries: int

    def __post_init__(self) -> None:
        hive_size(self.entries, self.fpp)

    @classmethod
    def usual(cls, fpp: float, tail: Tail) -> OrcSize:
        """For the rows of an index group, as ORC Java does; for those of the stripes, if it claims groups
        that no filter is large enough for. Raises FormatError if they do, too."""
        try:
            return cls(fpp, max(1, tail.row_index_stride))
        except ValueError:
            num_rows = sum(place.num_rows for place in tail.stripes)
        try:
            return cls(fpp, max(1, min(tail.row_index_stride, num_rows)))
        except ValueError as error:
            raise FormatError(f"{tail.where}: footer: rowIndexStride: {error}") from None

    @classmethod
    def of(cls, num_bits: int, num_hashes: int) -> OrcSize | None:
        """That of such filters; None if the formula leads to none."""
        target = hive_target(num_bits, num_hashes)
        return target and cls(fpp=target[1], entries=target[0])

    def empty_filter(self) -> KHashFilter:
        return KHashFilter.empty(*hive_size(self.entries, self.fpp))

    def empty_filters(self, count: int) -> KHashFilters:
        return KHashFilters(count, *hive_size(self.entries, self.fpp))

    def times(self, keys: float) -> OrcSize:
        """For values that have so many keys each. Raises UnsupportedError for numbers that no filter has."""
        try:
            return OrcSize(self.fpp, ceil(self.entries * keys))
        except ValueError as error:
            raise UnsupportedError(str(error)) from None

    def allows(self, fpp: float) -> bool:
        """Whether filters of which none has a higher FPP should be written."""
        return fpp <= TOLERANCE * self.fpp


@dataclass(frozen=True, slots=True)
class FiltersStay:
    """The filters that a chunk has stay, and why no others are built."""

    reason: str


@dataclass(frozen=True, slots=True)
class BuiltStreams:
    """The filters of a column in a stripe. `num_bytes`: of all streams before they are compressed; `fpp`: the highest
    of the index groups, computed from the bits."""

    streams: FilterStreams = field(repr=False)
    num_bytes: int
    num_values: int
    num_bits: int
    num_hashes: int
    index_groups: int
    fpp: float
    ndv: float


@dataclass(frozen=True, slots=True)
class _Compared:
    """The filters of a stream that is `there`, and others of their size, `today`, with the values that are stored."""

    there: StoredIndex
    today: KHashFilters

    @classmethod
    def empty(cls, there: StoredIndex) -> Self | None:
        """Before any value is inserted; None where filters differ in size, as no writer makes them."""
        sizes = {(each.num_bits, each.num_hashes) for each in there.filters}
        if len(sizes) != 1:
            return None
        return cls(there, KHashFilters(len(there.filters), *sizes.pop()))

    def insert(self, column: OrcColumn, batch: ValueBatch) -> None:
        key_form = self.there.key_form
        insert_values(self.today, batch.groups, column, batch.values, batch.counts, key_form)

    @property
    def lacks_some(self) -> bool:
        """Whether values may be missing from the filters that are there."""
        pairs = zip(self.today.filters, self.there.filters, strict=True)
        # Most are the same, and to import numpy takes longer than all else.
        return any(
            bytes(today.bitset) != bytes(there.bitset) and today.bits_outside(there)
            for today, there in pairs
        )


# What filters of small files take is no matter, whatever the share: values of a sequence are compressed to nothing.
_LARGE_BYTES: Final = 64 << 10


@dataclass(slots=True)
class _Room:
    """Of a column: how many values each of its `num_filters` has room for, and the most that one seems to have; bytes
    of the filters as they are stored, of the bits of each, of what is around the bits before it is compressed, and of
    the values."""

    entries: int
    ndv: float = 0.0
    num_filters: int = 0
    filter_bytes: int = 0
    bitset_bytes: int = 0
    other_bytes: int = 0
    column_bytes: int = 0

    def note(self) -> str | None:
        """What makes them smaller, if they are large for a room that they do not need."""
        if self.filter_bytes < _LARGE_BYTES:
            return None
        share = self.filter_bytes / self.column_bytes if self.column_bytes else 0.0
        if share <= LARGE_SHARE_OF_COLUMN or not isfinite(self.ndv):
            return None
        needed = room_for_fewer(ceil(self.ndv), self.entries)
        if needed is None:
            return None
        smaller = self.num_filters * bytes_with_room(self.bitset_bytes, needed, self.entries)
        smaller += self.other_bytes
        # Bits of which few are set may be compressed as well.
        if smaller > MUCH_LESS_ROOM * self.filter_bytes:
            return None
        return (
            f"the filters are {percent(share)} of its size, as each has room for {number_of(self.entries, 'value')},"
            f" and {percent(smaller / self.column_bytes)} with --ndv {needed}, which is enough for each index group"
        )


class BuiltChange(StripesChange):
    """Filters for the chunks `wanted`, in streams of these kinds. `dropped` chunks lose theirs even if no
    others can be built, but for those of which `instead` says that they stay."""

    # Whether filters are written even if they are too full.
    force = False
    # By the names of columns, before the size of all others.
    size_of: Mapping[str, OrcSize] = MappingProxyType({})

    def __init__(
        self,
        file: OrcReader,
        size: OrcSize,
        kinds: Sequence[int],
        threads: int | None,
        wanted: Sequence[OrcChunk],
        dropped: Iterable[OrcChunk],
        progress: Progress | None = None,
    ) -> None:
        super().__init__(file)
        self._size, self._kinds, self._threads = size, kinds, threads
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

    def instead(self, chunk: OrcChunk, fpp: float, reason: str) -> FiltersStay | str:
        """What becomes of a chunk whose new filters would miss the target, as the highest FPP is so high."""
        return reason

    def stay(self, chunk: OrcChunk) -> None:
        """Called with a chunk whose filters stay."""
        return

    def compared(self, chunk: OrcChunk) -> Sequence[_Compared]:
        """The filters that are there, into whose likes its values are inserted, too."""
        return ()

    def compose(self, version: Version) -> None:
        source, wanted = self.file.source, self._wanted
        source.will_read(value_ranges(wanted))
        threads = threads_for_values(self._threads, source, len(wanted))
        work = work_in_order(wanted, self._build_or_reason, self._room, threads)
        with closing(work) as self._built:
            super().compose(version)

    def streams_of(self, stripe: int) -> Streams:
        streams: dict[int, FilterStreams] = {id: {} for id in self._dropped.get(stripe, ())}
        self._written = []
        for chunk, built in islice(self._built, self._num_wanted[stripe]):
            if isinstance(built, FiltersStay):
                del streams[chunk.column.id]
                self.stay(chunk)
                self.skip(chunk, built.reason)
            elif isinstance(built, str):
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

    def _room(self, chunk: OrcChunk) -> int:
        num_filters = chunk.stripe.num_index_groups * len(self._kinds)
        size = self._wanted_size(chunk)
        return room_for_values(self.file, chunk) + size.empty_filter().num_bytes * num_filters

    def _wanted_size(self, chunk: OrcChunk) -> OrcSize:
        return self.size_of.get(chunk.column.name, self._size)

    def _build_or_reason(self, chunk: OrcChunk) -> BuiltStreams | FiltersStay | str:
        """The filters of a chunk, or why it gets none. Raises FormatError for damaged values, UnsupportedError for
        those that cannot be read."""
        return self._build(chunk, self._wanted_size(chunk))

    def _build(self, chunk: OrcChunk, size: OrcSize) -> BuiltStreams | FiltersStay | str:
        stripe = chunk.stripe
        num_filters = stripe.num_index_groups * len(self._kinds)
        check_fits(
            f"{chunk.where}: {num_filters} filters take",
            # In memory, as a message, and compressed.
            num_filters * (3 * size.empty_filter().num_bytes + FILTER_BYTES),
        )
        empty = {kind: size.empty_filters(stripe.num_index_groups) for kind in self._kinds}
        key_forms = {
            kind: OrcKeyForm(utf8=kind == BLOOM_FILTER_UTF8, writer_timezone=stripe.writer_timezone)
            for kind in self._kinds
        }
        compared = self.compared(chunk)
        counts: list[int] = []
        most_keys = 1.0
        for batch in batches(self.file, chunk):
            counts += batch.num_values
            for kind, key_form in key_forms.items():
                keys = insert_values(
                    empty[kind], batch.groups, chunk.column, batch.values, batch.counts, key_form
                )
                most_keys = max(most_keys, keys)
            for each in compared:
                each.insert(chunk.column, batch)
        if not any(counts):
            return NO_VALUES
        filters = {kind: of_kind.filters for kind, of_kind in empty.items()}
        first = filters[self._kinds[0]]
        fills = {kind: [filter.fill for filter in built] for kind, built in filters.items()}
        fpp = max(fills[self._kinds[0]]) ** first[0].num_hashes
        if most_keys > 1 and size is self._wanted_size(chunk) and not size.allows(fpp):
            return self._build(chunk, size.times(most_keys))
        if not (self.force or size.allows(fpp)):
            return self.instead(
                chunk,
                fpp,
                f"FPP {percent(fpp, 3)}: the largest index group has {max(counts)} values, and filters are sized"
                f" for {size.entries}; --ndv sizes them for more",
            )
        compression = self.file.tail.compression
        messages = {kind: encode_filters(filters[kind], kind) for kind in self._kinds}
        return BuiltStreams(
            streams={
                kind: _stream(message, fills[kind], compression)
                for kind, message in messages.items()
            },
            num_bytes=sum(map(len, messages.values())),
            num_values=sum(counts),
            num_bits=first[0].num_bits,
            num_hashes=first[0].num_hashes,
            index_groups=len(first),
            fpp=fpp,
            ndv=max(filter.ndv_estimate for filter in first),
        )


def _stream(data: bytes, fills: Sequence[float], compression: Compression) -> bytes:
    low, high = INCOMPRESSIBLE_FILL
    if low < sum(fills) / len(fills) < high:
        return compression.stored(data)
    return compression.compressed(data)


class OrcBuild(BuiltChange, BuildChange):
    """Filters for the columns that `options` name, one for each index group."""

    def __init__(
        self, file: OrcReader, options: BuildOptions, progress: Progress | None = None
    ) -> None:
        refuse(file.path, options, _PARQUET_ONLY, "an ORC file")
        file.check_writable()
        self.filters = []
        self.skipped = []
        wanted = list(self._planned(file, options))
        fpp = DEFAULT_FPP if options.fpp is None else options.fpp
        size = OrcSize(fpp, options.ndv) if options.ndv else OrcSize.usual(fpp, file.tail)
        self.size_of = {name: replace(size, fpp=fpp) for name, fpp in options.fpp_of}
        kinds = _KINDS[options.orc_streams or USUAL_STREAMS]
        self.force = options.force
        self._room_of: dict[str, _Room] = {}
        self._is_sized = options.ndv is not None
        replaced = [chunk for chunk in wanted if chunk.has_filters]
        self.replaced: set[tuple[int, str]] = {
            (chunk.place.part, chunk.column.name) for chunk in replaced
        }
        # By the keys of chunks that are being built; and those of `replaced` that may lack values.
        self._being_compared: dict[tuple[int, int], Sequence[_Compared]] = {}
        self._lacking: list[tuple[int, str]] = []
        super().__init__(file, size, kinds, options.threads, wanted, replaced, progress)

    @property
    def is_idle(self) -> bool:
        is_done = self._done == len(self._wanted)
        return is_done and not self.filters and not self.replaced

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
        doubts = self.judge(self._lacking) if self.judge and self._lacking else ()
        self.notes = *doubts, *_notes(self.file, self.filters), *self.too_full(), *self._too_roomy()

    def _too_roomy(self) -> Iterator[str]:
        """The columns whose filters would do with much less, unless somebody has said how much they need."""
        for name, room in self._room_of.items():
            if not self._is_sized and (note := room.note()):
                yield f"column {quoted_name(name)}: {note}"

    def skip(self, chunk: OrcChunk, reason: str) -> None:
        self.skipped.append(LeftChunk(chunk.place, chunk.column.name, reason))

    def instead(self, chunk: OrcChunk, fpp: float, reason: str) -> FiltersStay | str:
        """Filters that are there stay, if they let less pass and no value is missing in them."""
        from parquet_bloom.orc.membership import are_complete

        if chunk.has_filters and are_complete(self.file, chunk, fpp):
            return FiltersStay(f"{reason}; {OLD_ONE_STAYS}")
        return reason

    def _build_or_reason(self, chunk: OrcChunk) -> BuiltStreams | FiltersStay | str:
        """Filters that are there stay where the values cannot be read: nobody knows that they are wrong, unless they
        are damaged themselves."""
        try:
            # Readers ask a filter by way of it. Raises FormatError for one that is damaged.
            self.file.row_index(chunk.stripe.index, chunk.column)
            built = super()._build_or_reason(chunk)
        except UnsupportedError as error:
            self._being_compared.pop(chunk.key, None)
            reason = _reason(error, chunk)
            stays = chunk.has_filters and not self._are_damaged(chunk)
            return FiltersStay(f"{reason}; {UNREAD_STAYS}") if stays else reason
        compared = self._being_compared.pop(chunk.key, ())
        if not isinstance(built, FiltersStay) and any(each.lacks_some for each in compared):
            self._lacking.append((chunk.place.part, chunk.column.name))
        return built

    def compared(self, chunk: OrcChunk) -> Sequence[_Compared]:
        """Where a filter goes for good that lacks values, it may be the only trace of some that were others."""
        if self.judge is None or not chunk.has_filters:
            return ()
        try:
            streams = [
                self.file.filters_in(chunk.stripe, chunk.column, stream)
                for stream in chunk.filter_streams
            ]
        except (FormatError, UnsupportedError):
            return ()
        found = [each for each in map(_Compared.empty, streams) if each is not None]
        self._being_compared[chunk.key] = found
        return found

    def _are_damaged(self, chunk: OrcChunk) -> bool:
        """Whether no reader can take them. Too little memory to look says nothing of them."""
        try:
            self.file.filters(chunk.stripe.index, chunk.column)
        except FormatError:
            return True
        except UnsupportedError:
            return False
        return False

    def stay(self, chunk: OrcChunk) -> None:
        self.replaced.discard((chunk.place.part, chunk.column.name))

    def _room(self, chunk: OrcChunk) -> int:
        # Those that are there are compared with others of their size, and read where no others are worth writing.
        there = sum(stream.length for stream in chunk.filter_streams)
        return super()._room(chunk) + 3 * there

    def add(self, chunk: OrcChunk, built: BuiltStreams, offset: int, length: int) -> None:
        name = chunk.column.name
        room = self._room_of.setdefault(name, _Room(self._wanted_size(chunk).entries))
        room.ndv = max(room.ndv, built.ndv)
        room.filter_bytes += length
        num_filters = built.index_groups * len(self._kinds)
        room.num_filters += num_filters
        room.bitset_bytes = max(room.bitset_bytes, built.num_bits // 8)
        room.other_bytes += built.num_bytes - num_filters * (built.num_bits // 8)
        room.column_bytes += chunk.stored_bytes
        filters = BuiltFilters(
            place=chunk.place,
            column=name,
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
        chunk.stripe.check_indexed(chunk.column)
    except UnsupportedError as error:
        return _reason(error, chunk)
    if options.existing == "replace" or not chunk.has_filters:
        return None
    if options.existing == "error":
        raise RewriteError(f"{chunk.where}: {HAS_ONE}")
    return HAS_ONE


def _notes(file: OrcReader, filters: Sequence[BuiltFilters]) -> Iterator[str]:
    """Whom the filters that were built will not help, and who loses rows by them."""
    if doubt := file.tail.row_count_doubt:
        yield f"{doubt}: `probe` will answer `unknown`"
    columns: dict[str, list[str]] = {}
    for name in dict.fromkeys(built.column for built in filters):
        column = file.column(name)
        ignored = writers.ignored(file.generation, column, BLOOM_FILTER_UTF8, writers.UTF8_UTC)
        ignored = ignored or writers.ignored_groups(_num_ignored(file, column, filters))
        for line in (*ignored, *file.lost_rows_of(column)):
            columns.setdefault(line, []).append(name)
    for line, names in columns.items():
        yield of_columns(names, line)


def _num_ignored(file: OrcReader, column: OrcColumn, filters: Iterable[BuiltFilters]) -> int:
    """How many index groups have a filter of the column that readers do not consult; numbers alone have a NaN."""
    if column.kind not in ("FLOAT", "DOUBLE"):
        return 0
    parts = [each.place.part for each in filters if each.column == column.name]
    return sum(num_ignored(file.row_index(part, column) or ()) for part in parts)


def _reason(error: FormatError | UnsupportedError, chunk: OrcChunk) -> str:
    """What is damaged, or not supported, without the names of file, stripe and column."""
    return without_place(error, chunk.where, chunk.stripe.where.partition(": stripe")[0])


class OrcRepair(BuiltChange, RepairChange):
    """Other filters, or none, for the chunks to repair; none for those that are damaged or cannot have any. Unless a
    rate is asked for, they are as large as those that were there, as far as that is of use: somebody chose it."""

    def __init__(self, file: OrcReader, repairs: Repairs, options: RepairOptions) -> None:
        refuse(file.path, options, ("layout",), "an ORC file")
        size = OrcSize.usual(options.fpp or DEFAULT_FPP, file.tail)
        streams = (stream for chunk in repairs.rebuilt for stream in chunk.filter_streams)
        # Readers older than ORC 1.3 keep theirs.
        had_old = any(stream.kind == BLOOM_FILTER for stream in streams)
        kinds = _KINDS["both" if had_old else "utf8"]
        super().__init__(file, size, kinds, options.threads, repairs.rebuilt, repairs.dropped)
        self._repairs = repairs
        self._keeps_size = options.fpp is None
        self.built: dict[tuple[int, int], tuple[int, int]] = {}
        self.not_built: dict[tuple[int, int], str] = {}
        self.damaged: set[tuple[int, int]] = set()

    @property
    def is_idle(self) -> bool:
        return self._repairs.is_idle

    def skip(self, chunk: OrcChunk, reason: str) -> None:
        self.not_built[chunk.key] = reason

    def add(self, chunk: OrcChunk, built: BuiltStreams, offset: int, length: int) -> None:
        self.built[chunk.key] = offset, length

    def _build_or_reason(self, chunk: OrcChunk) -> BuiltStreams | FiltersStay | str:
        if reason := never_absent(chunk.column):
            return reason
        try:
            chunk.stripe.check_indexed(chunk.column)
            return self._built_as_before(chunk) or super()._build_or_reason(chunk)
        except FormatError as error:
            self.damaged.add(chunk.key)
            return _reason(error, chunk)
        except UnsupportedError as error:
            return _reason(error, chunk)

    def _built_as_before(self, chunk: OrcChunk) -> BuiltStreams | None:
        """Filters of the size that those there have; None if nobody knows it, or it is not enough for the values."""
        size = self._size_there(chunk) if self._keeps_size else None
        built = None if size is None else self._build(chunk, size)
        return built if isinstance(built, BuiltStreams) and built.fpp <= USELESS_FPP else None

    def _size_there(self, chunk: OrcChunk) -> OrcSize | None:
        stream = max(chunk.filter_streams, key=attrgetter("kind"), default=None)
        if stream is None:
            return None
        where = f"{chunk.where}: {stream.name}"
        try:
            found = size_of_most(self.file.read_stream(chunk.stripe, stream), stream.kind, where)
        except (FormatError, UnsupportedError):
            return None
        return found and OrcSize.of(*found)

    def _room(self, chunk: OrcChunk) -> int:
        # As large as those there, which are read before.
        return super()._room(chunk) + 3 * sum(stream.length for stream in chunk.filter_streams)
