"""Read an ORC file: its columns and stripes, and the filters and statistics of index groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeVar

from parquet_bloom.container import by_name, one_of
from parquet_bloom.errors import (
    ColumnError,
    FooterError,
    FormatError,
    ParquetBloomError,
    UnsupportedError,
    no_column,
    quoted_name,
    without_place,
)
from parquet_bloom.orc.bloom import OrcKeyForm, StoredIndex, is_marked, read_filters
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.gained_bytes import gained_bytes
from parquet_bloom.orc.proto import orc_pb2
from parquet_bloom.orc.stripe import (
    BLOOM_FILTER_UTF8,
    FILTER_KINDS,
    MAX_INDEX_GROUPS,
    ROW_INDEX,
    OrcChunk,
    OrcStream,
    Stripe,
)
from parquet_bloom.orc.tail import decode, expand, read_tail
from parquet_bloom.orc.writers import read_generation
from parquet_bloom.parallel import check_fits
from parquet_bloom.vocabulary import ENCRYPTED, NO_FILTER

if TYPE_CHECKING:
    from parquet_bloom.orc.row_index import IndexEntry
    from parquet_bloom.orc.tail import StripePlace
    from parquet_bloom.orc.wire import Message
    from parquet_bloom.storage.source import Source

# All indexes of a stripe, of all columns, that cost less to read than another request takes.
_INDEX_BYTES: Final = 128 << 10


_Read = TypeVar("_Read")


class OrcReader:
    """An ORC file whose columns, stripes and filters can be read."""

    def __init__(self, source: Source) -> None:
        """Read the footer. Raises FormatError for a file that is damaged or not ORC,
        UnsupportedError for an unknown codec."""
        self.source = source
        self.tail = read_tail(source)
        self.generation = read_generation(self.tail)
        self._stripes: dict[int, Stripe] = {}
        # Index groups, by whoever reads rows.
        self.pages_read = 0
        # Columns of other files, null in this one.
        self._of_others: frozenset[str] = frozenset()

    @property
    def path(self) -> str:
        return self.source.path

    @property
    def num_stripes(self) -> int:
        return len(self.tail.stripes)

    @cached_property
    def gained_bytes(self) -> str:
        """See gained_bytes."""
        return gained_bytes(self.source, self.tail)

    @property
    def doubt_about_rows(self) -> str:
        """Why rows of the file may be in none of its stripes; empty for a sound one."""
        return self.tail.row_count_doubt or self.gained_bytes

    def check_writable(self) -> None:
        """Raise UnsupportedError for a file whose filters cannot be changed, FooterError for one that has gained
        bytes: nobody could tell any more, or get at them."""
        self.tail.check_not_encrypted()
        self._check_nothing_is_gained()

    def _check_nothing_is_gained(self) -> None:
        if self.gained_bytes:
            raise FooterError(f"{self.path}: {self.gained_bytes}")

    @property
    def columns(self) -> tuple[str, ...]:
        """The dotted names of all columns but the root, by id. Raises FooterError."""
        return tuple(column.name for column in self.tail.columns[1:])

    @property
    def top_columns(self) -> tuple[str, ...]:
        """The names of whole columns, with all that is nested in them."""
        root, columns = self.tail.columns[0], self.tail.columns
        if root.kind != "STRUCT":
            return ()
        return tuple(columns[child].name for child in root.children)

    def column(self, name: str) -> OrcColumn:
        """The only column with this dotted name. Raises ColumnError, suggesting similar names, or if several are
        called so: what one of them says is not true of the others."""
        found = self._all_called(name)
        if len(found) > 1:
            which = (
                f"{len(found)} columns are named {quoted_name(name)}, and nothing tells them apart"
            )
            raise ColumnError(f"{self.path}: {which}")
        return found[0]

    @cached_property
    def _by_name(self) -> dict[str, list[OrcColumn]]:
        """All columns but the root, which has no name: a file may have thousands, and be asked for each."""
        found: dict[str, list[OrcColumn]] = {}
        for column in self.tail.columns[1:]:
            found.setdefault(column.name, []).append(column)
        return found

    def columns_called(self, name: str) -> Sequence[OrcColumn]:
        """Those of this dotted name, by id; none, or several, as names may be shared."""
        return self._by_name.get(name, ())

    def _all_called(self, name: str) -> Sequence[OrcColumn]:
        """At least one. Raises ColumnError, suggesting similar names."""
        if found := self.columns_called(name):
            return found
        raise ColumnError(f"{self.path}: {no_column(name, self.columns, path=self.path)}")

    def is_without(self, name: str) -> bool:
        in_structs = (
            column.name
            for column in self.tail.columns[1:]
            if not (column.is_in_list and self.tail.columns[column.parent or 0].is_in_list)
        )
        return by_name.is_without(name, in_structs, self.path)

    def unite_by_name(self, names: Iterable[str]) -> None:
        self._of_others = frozenset(name for name in names if self.is_without(name))

    def lacks(self, name: str) -> bool:
        """No table opens ORC files, only other files may have the column."""
        return name in self._of_others

    def is_of_partition(self, name: str) -> bool:
        return False

    def select(self, names: Sequence[str] | None) -> tuple[OrcColumn, ...]:
        """These columns by id, without repetition and without those that the file lacks; all but the root for None.
        Of one name, all that have it. Raises ColumnError."""
        if names is None:
            return self.tail.columns[1:]
        wanted = {
            each.id for name in names if not self.lacks(name) for each in self._all_called(name)
        }
        return tuple(column for column in self.tail.columns if column.id in wanted)

    def lost_rows_of(self, column: OrcColumn) -> tuple[str, ...]:
        # Only builds ask.
        from parquet_bloom.engines.reading import ColumnKind, lost_rows

        return tuple(map(str, lost_rows(ColumnKind(column.kind))))

    def select_parts(self, wanted: Sequence[int] | None) -> tuple[int, ...]:
        """These stripes in order, checked; all of them for None. Raises as stripe."""
        for index in wanted or ():
            self.stripe(index)
        return tuple(range(self.num_stripes)) if wanted is None else tuple(sorted(set(wanted)))

    def will_read_stripes(self, parts: Sequence[int]) -> None:
        """Fetch the footers of these stripes ahead, if the file is remote, but for those that were read
        before."""
        places = [self.tail.stripes[part] for part in parts if part not in self._stripes]
        if places:
            self.source.will_read(
                (each.footer_start, each.footer_start + each.footer_length) for each in places
            )

    def stripe(self, index: int) -> Stripe:
        """One stripe, read once. Raises ColumnError if there is no such stripe, and as
        read_stripe."""
        if not 0 <= index < self.num_stripes:
            expected = one_of(self.num_stripes, "stripes", "file")
            raise ColumnError(f"{self.path}: stripe {index}: {expected}")
        if index not in self._stripes:
            self._stripes[index] = self.read_stripe(index)
        return self._stripes[index]

    def read_stripe(self, index: int) -> Stripe:
        """Read the footer of a stripe. Raises FooterError if it is damaged or has too many index
        groups, UnsupportedError."""
        tail, where = self.tail, f"{self.path}: stripe {index}"
        place = tail.stripes[index]
        check_fits(f"{where}: footer: takes", place.footer_length)
        stored = self.source.read_at(place.footer_start, place.footer_length)
        try:
            raw = expand(tail.compression, stored, f"{where}: footer")
            footer = decode(orc_pb2.StripeFooter, raw, f"{where}: footer")
        except FooterError:
            # What is read for the footer of a stripe then is beside the point.
            self._check_nothing_is_gained()
            raise
        first_row = tail.first_rows[index]
        stripe = Stripe(where, index, place, first_row, tail.row_index_stride, footer, raw)
        if stripe.num_index_groups > MAX_INDEX_GROUPS:
            raise FooterError(
                f"{where}: {stripe.num_index_groups} index groups, expected at most"
                f" {MAX_INDEX_GROUPS}"
            )
        return stripe

    def chunks(self, part: int, columns: Sequence[OrcColumn]) -> Iterator[OrcChunk]:
        """The chunks of these columns in one stripe."""
        return (OrcChunk(self.stripe(part), column) for column in columns)

    def filters(self, stripe: int, column: OrcColumn) -> StoredIndex | None:
        """The filters of a column in a stripe that readers take; None if it has none.

        Raises UnsupportedError if the column is encrypted, FilterError for unusable filters,
        FooterError for damage.
        """
        read = self._checked(stripe, column)
        stream = read.stream_of(column.id, FILTER_KINDS)
        return None if stream is None else self.filters_in(read, column, stream)

    def _checked(self, stripe: int, column: OrcColumn) -> Stripe:
        """The stripe. Raises UnsupportedError if the column is encrypted."""
        read = self.stripe(stripe)
        if self.tail.is_encrypted_column(column):
            raise UnsupportedError(f"{read.where}, column {column.name}: {ENCRYPTED}")
        return read

    def usable_filters(self, stripe: int, column: OrcColumn) -> tuple[StoredIndex | None, str]:
        """The filters of a column in a stripe, or why there are none that can be used."""
        if self.tail.is_encrypted_column(column):
            return None, ENCRYPTED
        try:
            stored = self.filters(stripe, column)
        except ParquetBloomError as error:
            return None, self.why(error, stripe, column)
        # A stripe without rows has a stream without filters.
        return (stored, "") if stored and stored.filters else (None, NO_FILTER)

    def why(self, error: ParquetBloomError, stripe: int, column: OrcColumn) -> str:
        """What is wrong, without its place, for which answers and reports have fields."""
        where = f"stripe {stripe}"
        return without_place(error, self.path, f"{where}, column {column.name}", where)

    def filters_in(self, stripe: Stripe, column: OrcColumn, stream: OrcStream) -> StoredIndex:
        """The filters in one stream of the stripe. Raises as filters."""
        data = self.read_stream(stripe, stream)
        where = f"{stripe.where}, column {column.name}: {stream.name}"
        filters = read_filters(data, stream.kind, stripe.num_index_groups, where)
        marked = is_marked(data)
        key_form = self.key_form(stripe, stream, marked)
        return StoredIndex(stream, stripe.bloom_encoding(column.id), key_form, filters, marked)

    def key_form(self, stripe: Stripe, stream: OrcStream, marked: bool) -> OrcKeyForm:
        """The key form of the filters in a stream; `marked`: pbloom built them."""
        return OrcKeyForm(
            utf8=stream.kind == BLOOM_FILTER_UTF8,
            logical_shifts=self.generation.has_logical_shifts and not marked,
            writer_timezone=stripe.writer_timezone,
        )

    def row_index(self, stripe: int, column: OrcColumn) -> tuple[IndexEntry, ...] | None:
        """Positions and statistics of each index group; None if the column has none.

        Raises as filters.
        """
        from parquet_bloom.orc.row_index import read_row_index

        return self._read_row_index(stripe, column, read_row_index)

    def group_statistics(self, stripe: int, column: OrcColumn) -> list[Message | None] | None:
        """The same statistics as they are stored. Raises as filters."""
        from parquet_bloom.orc.row_index import read_statistics

        return self._read_row_index(stripe, column, read_statistics)

    def _read_row_index(
        self, stripe: int, column: OrcColumn, read: Callable[[bytes, int, str], _Read]
    ) -> _Read | None:
        checked = self._checked(stripe, column)
        stream = checked.stream_of(column.id, (ROW_INDEX,))
        if stream is None:
            return None
        where = f"{checked.where}, column {column.name}: ROW_INDEX"
        return read(self.read_stream(checked, stream), checked.num_index_groups, where)

    def stripe_statistics(self, stripe: int, column: OrcColumn) -> Message | None:
        """The ColumnStatistics of a chunk in the metadata of the file; None if there are none that can be read."""
        stripes = self._metadata.stripeStats if self._metadata else ()
        # Who puts files together may have those of some stripes only.
        columns = stripes[stripe].colStats if len(stripes) == self.num_stripes else ()
        return columns[column.id] if column.id < len(columns) else None

    def file_statistics(self, column: OrcColumn) -> Message | None:
        """Those of all stripes, in the footer."""
        columns = self.tail.footer.statistics
        return columns[column.id] if column.id < len(columns) else None

    @cached_property
    def _metadata(self) -> Message | None:
        where, start = f"{self.path}: metadata", self.tail.metadata_start
        try:
            check_fits(f"{where}: takes", self.tail.footer_start - start)
            stored = self.source.read_at(start, self.tail.footer_start - start)
            return decode(orc_pb2.Metadata, expand(self.tail.compression, stored, where), where)
        except (FormatError, UnsupportedError):
            return None

    def read_stream(self, stripe: Stripe, stream: OrcStream) -> bytes:
        """A decompressed index stream. Raises FilterError if the stripe's index cannot be trusted,
        FooterError if the stream is damaged, UnsupportedError."""
        stripe.check_index()
        where = f"{stripe.where}: {stream.name} of column {stream.column}"
        check_fits(f"{where}: takes", stream.length)
        stored = self.source.read_at(stream.offset, stream.length)
        return expand(self.tail.compression, stored, where)


# ------------------------------------------------------------------------------------------------
# Which ranges will be read, for a source that fetches them ahead


def footers_with_indexes(places: Sequence[StripePlace]) -> list[tuple[int, int]] | None:
    """The indexes and footers of stripes, in one request for the footer of each and the index of the next
    one behind it; None if that would be more than footers are worth."""
    if any(place.index_length > _INDEX_BYTES for place in places):
        return None
    return [
        bounds
        for place in places
        for bounds in ((place.offset, place.data_start), (place.footer_start, place.end))
    ]


def index_ranges(
    file: OrcReader, parts: Iterable[int], columns: Sequence[OrcColumn], kinds: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """The row indexes of these columns, and filters of these kinds; a damaged stripe has none."""
    for part in parts:
        try:
            stripe = file.stripe(part)
        except ParquetBloomError:
            continue
        for column in columns:
            for stream in stripe.streams_of(column.id, (ROW_INDEX, *kinds)):
                yield stream.offset, stream.offset + stream.length


def value_ranges(chunks: Iterable[OrcChunk]) -> Iterator[tuple[int, int]]:
    """All streams of these chunks, without those of columns above and below."""
    for chunk in chunks:
        for stream in chunk.stripe.streams_of(chunk.column.id):
            yield stream.offset, stream.offset + stream.length
