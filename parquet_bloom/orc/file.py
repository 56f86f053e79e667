"""An open ORC file: columns, stripes, index groups, their filters, and what these exclude.

A verdict is about one index group, which is what readers skip. Whatever is dubious about a filter
makes it `unknown`, never `absent`: see writers.doubt for what some of them get wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from parquet_bloom.container import STRIPES, Answer, NoFilters, Place, ReadFilter, Units
from parquet_bloom.container.descriptions import PartDescription
from parquet_bloom.errors import (
    ColumnError,
    FilterError,
    ParquetBloomError,
    UnsupportedError,
    ValueTypeError,
)
from parquet_bloom.orc import writers
from parquet_bloom.orc.bloom import StoredIndex, is_marked, read_filters
from parquet_bloom.orc.chunk import OrcChunk
from parquet_bloom.orc.columns import OrcColumn, find_column
from parquet_bloom.orc.describe import describe, stored_filter
from parquet_bloom.orc.keys.key_form import KeyForm
from parquet_bloom.orc.probe import Asked, StripeProber, asked_literal, asked_value
from parquet_bloom.orc.row_index import IndexEntry, read_row_index
from parquet_bloom.orc.stripe import (
    BLOOM_FILTER_UTF8,
    FILTER_KINDS,
    ROW_INDEX,
    OrcStream,
    Stripe,
    read_stream,
    read_stripe,
)
from parquet_bloom.orc.tail import read_tail
from parquet_bloom.orc.whole_filters import described
from parquet_bloom.vocabulary import NO_FILTER

if TYPE_CHECKING:
    from parquet_bloom.container.descriptions import ChunkDescription, Look, StoredFilter
    from parquet_bloom.orc.column_filter import OrcColumnFilter
    from parquet_bloom.storage.source import Source
    from parquet_bloom.vocabulary import Dialect, LiteralType

ENCRYPTED = "encrypted"


class OrcFile:
    """An open ORC file. Use as a context manager, or call close()."""

    format: Literal["orc"] = "orc"

    def __init__(self, source: Source) -> None:
        """Read the footer. Raises FormatError if it is no ORC file, or a damaged one,
        UnsupportedError for a codec that there is no library for."""
        self.source = source
        self.tail = read_tail(source)
        self.generation = writers.generation_of(self.tail)
        self._stripes: dict[int, Stripe] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self.source.close()

    @property
    def path(self) -> str:
        return self.source.path

    @property
    def units(self) -> Units:
        return STRIPES

    @property
    def created_by(self) -> str:
        return self.generation.created_by

    @property
    def is_encrypted(self) -> bool:
        return self.tail.is_encrypted

    @property
    def unverified(self) -> None:
        """Footers of ORC files are not signed."""
        return None

    @property
    def num_rows(self) -> int:
        return self.tail.num_rows

    @property
    def num_parts(self) -> int:
        return self.num_stripes

    def parts(self, wanted: Sequence[int] | None) -> tuple[int, ...]:
        """These stripes in order, checked; all of them for None. Raises as stripe."""
        return self.stripes(wanted)

    def select(self, names: Sequence[str] | None) -> tuple[OrcColumn, ...]:
        """These columns by id, without repetition; all but the root for None. Raises ColumnError."""
        return self.named_columns(names)

    def chunks(self, part: int, columns: Sequence[OrcColumn]) -> Iterator[OrcChunk]:
        """The chunks of these columns in one stripe."""
        return (OrcChunk(self.stripe(part), column) for column in columns)

    @property
    def num_stripes(self) -> int:
        return len(self.tail.stripes)

    @property
    def columns(self) -> tuple[str, ...]:
        """The dotted names of all columns but the root, by id. Raises FooterError."""
        return tuple(column.name for column in self.tail.columns[1:])

    def column(self, name: str) -> OrcColumn:
        """The column with this dotted name. Raises ColumnError, naming the close ones."""
        try:
            return find_column(self.tail.columns, name)
        except ColumnError as error:
            raise ColumnError(f"{self.path}: {error}") from None

    def named_columns(self, names: Sequence[str] | None) -> tuple[OrcColumn, ...]:
        """These columns by id, without repetition; all but the root for None."""
        if names is None:
            return self.tail.columns[1:]
        wanted = {self.column(name).id for name in names}
        return tuple(column for column in self.tail.columns if column.id in wanted)

    def stripe(self, index: int) -> Stripe:
        """One stripe; its footer is read once. Raises ColumnError if there is no such stripe,
        FooterError, UnsupportedError."""
        if not 0 <= index < self.num_stripes:
            raise ColumnError(f"{self.path}: stripe {index}: expected 0 to {self.num_stripes - 1}")
        if index not in self._stripes:
            self._stripes[index] = read_stripe(self.source, self.tail, index)
        return self._stripes[index]

    def stripes(self, wanted: Sequence[int] | None) -> tuple[int, ...]:
        """These stripes in order, checked; all of them for None. Raises as stripe."""
        for index in wanted or ():
            self.stripe(index)
        return tuple(range(self.num_stripes)) if wanted is None else tuple(sorted(set(wanted)))

    def filter_stream(self, stripe: int, column: OrcColumn) -> OrcStream | None:
        """The stream of filters that readers would take: of both kinds, BLOOM_FILTER_UTF8."""
        streams = self.stripe(stripe).streams_of(column.id, FILTER_KINDS)
        self.stripe(stripe).check_distinct(streams)
        return max(streams, key=lambda stream: stream.kind, default=None)

    def filters(self, stripe: int, column: OrcColumn) -> StoredIndex | None:
        """The filters of a column in a stripe; None if it has none.

        Raises UnsupportedError if the column is encrypted, FilterError for filters that cannot be
        used, FooterError for bytes that are none.
        """
        read = self.stripe(stripe)
        where = f"{read.where}, column {column.name}"
        if self.tail.is_encrypted_column(column):
            raise UnsupportedError(f"{where}: {ENCRYPTED}")
        stream = self.filter_stream(stripe, column)
        return None if stream is None else self.filters_in(read, column, stream)

    def usable_filters(self, stripe: int, column: OrcColumn) -> tuple[StoredIndex | None, str]:
        """The filters of a column in a stripe, or why there are none that can be used."""
        if self.tail.is_encrypted_column(column):
            return None, ENCRYPTED
        try:
            stored = self.filters(stripe, column)
        except ParquetBloomError as error:
            return None, str(error)
        # A stripe without rows has a stream without filters.
        return (stored, "") if stored and stored.filters else (None, NO_FILTER)

    def filters_in(self, stripe: Stripe, column: OrcColumn, stream: OrcStream) -> StoredIndex:
        """The filters in one stream of the stripe. Raises as filters."""
        data = read_stream(self.source, self.tail, stripe, stream)
        where = f"{stripe.where}, column {column.name}: {stream.name}"
        filters = read_filters(data, stream.kind, stripe.num_index_groups, where)
        marked = is_marked(data)
        form = self.form(stripe, stream, marked)
        return StoredIndex(stream, stripe.bloom_encoding(column.id), form, filters, marked)

    def form(self, stripe: Stripe, stream: OrcStream, marked: bool) -> KeyForm:
        """How the keys of the filters in a stream were made, which are ours if it is marked."""
        return KeyForm(
            utf8=stream.kind == BLOOM_FILTER_UTF8,
            logical_shifts=self.generation.has_logical_shifts and not marked,
            writer_timezone=stripe.writer_timezone,
        )

    def row_index(self, stripe: int, column: OrcColumn) -> tuple[IndexEntry, ...] | None:
        """Positions and statistics of each index group; None if the column has none.

        Raises as filters.
        """
        read = self.stripe(stripe)
        where = f"{read.where}, column {column.name}: ROW_INDEX"
        if self.tail.is_encrypted_column(column):
            raise UnsupportedError(f"{where}: {ENCRYPTED}")
        streams = read.streams_of(column.id, (ROW_INDEX,))
        if not streams:
            return None
        read.check_distinct(streams)
        data = read_stream(self.source, self.tail, read, streams[-1])
        return read_row_index(data, read.num_index_groups, where)

    def bloom_filter(self, stripe: int, index_group: int, column: str) -> OrcColumnFilter:
        """The filter of one index group.

        Raises ColumnError if there is no such column, stripe or index group, FilterError if it has
        no filter that can be used.
        """
        found = self.column(column)
        where = f"{self.path}: stripe {stripe}, index group {index_group}"
        num_index_groups = self.stripe(stripe).num_index_groups
        if not 0 <= index_group < num_index_groups:
            raise ColumnError(f"{where}: expected 0 to {num_index_groups - 1}")
        stored = self.filters(stripe, found)
        if stored is None:
            raise FilterError(f"{where}, column {column}: {NO_FILTER}")
        # Only who asks about values needs pyarrow imported.
        from parquet_bloom.orc.column_filter import OrcColumnFilter

        prober = StripeProber(self, self.stripe(stripe), found, stored)
        return OrcColumnFilter(stored.filters[index_group], found, prober, index_group)

    def probe(self, column: str, value: Any) -> tuple[Answer, ...]:
        """Whether `value`, a Python or numpy value of the column's type, is in each index group.

        Raises ColumnError, and ValueTypeError if the column cannot hold the value.
        """
        found = self.column(column)
        asked = self.encode(found, value)
        return tuple(answer for each in self.probers(found) for answer in each.answers(asked))

    def encode(self, column: OrcColumn, value: Any) -> Asked:
        """A Python or numpy value, to ask probers about. Raises ValueTypeError."""
        return asked_value(column, value)

    def read_literal(
        self, column: OrcColumn, text: str, read_as: LiteralType | None = None
    ) -> Asked:
        """A literal, likewise. Raises ValueTypeError, naming file and column."""
        try:
            return asked_literal(column, text, read_as)
        except ValueTypeError as error:
            raise ValueTypeError(f"{self.path}: column {column.name}: {error}") from None

    def probers(
        self, column: OrcColumn, dialect: Dialect | None = None, seed: int | None = None
    ) -> Iterator[StripeProber]:
        """For each stripe what asks the filters of its index groups. Raises UnsupportedError for a
        dialect, FooterError for a damaged stripe footer."""
        self._check_dialect(dialect)
        stripes = range(self.num_stripes)
        return (StripeProber(self, self.stripe(index), column) for index in stripes)

    @property
    def row_index_stride(self) -> int:
        """Rows of an index group; 0: there is no index."""
        return self.tail.row_index_stride

    @property
    def compression(self) -> str:
        """The codec of everything in the file."""
        return self.tail.compression.name

    def check_has_blocks(self, what: str) -> None:
        """Raise UnsupportedError: filters of ORC files have no blocks."""
        raise UnsupportedError(
            f"{self.path}: {what} is not supported for ORC files, whose filters have no blocks"
        )

    def check_has_groups(self) -> None:
        """Stripes have index groups."""

    def describe_part(self, part: int) -> PartDescription:
        """A stripe, without its columns."""
        stripe = self.stripe(part)
        return PartDescription(
            Place(part, units=STRIPES),
            stripe.num_rows,
            offset=stripe.place.offset,
            num_groups=stripe.num_index_groups,
            writer_timezone=stripe.writer_timezone,
        )

    def describe(
        self, chunk: OrcChunk, groups: bool = False, look: Look | None = None
    ) -> ChunkDescription:
        """What there is of filters, or why there is none; `groups`: each index group, too. `look`
        gets the bits of every filter."""
        return describe(self, chunk, groups, look)

    def stored_filter(
        self,
        column: str,
        part: int,
        group: int | None = None,
        dialect: Dialect | None = None,
        seed: int | None = None,
        decrypt: bool = False,
    ) -> StoredFilter:
        """The bytes of one filter, that of the first index group if `group` is None.

        Raises ColumnError, FilterError if there is none that can be used, FooterError,
        UnsupportedError for a dialect.
        """
        self._check_dialect(dialect)
        found = self.column(column)
        return stored_filter(self, OrcChunk(self.stripe(part), found), group or 0)

    def _check_dialect(self, dialect: Dialect | None) -> None:
        if dialect is not None:
            raise UnsupportedError(f"{self.path}: dialect is not supported for ORC files")

    def read_filters(self, part: int, column: OrcColumn) -> Sequence[ReadFilter] | NoFilters:
        """The filters of a chunk, by index group."""
        num_index_groups = self.stripe(part).num_index_groups
        if self.tail.is_encrypted_column(column):
            # Whether it has filters is encrypted, too.
            return NoFilters(ENCRYPTED, num_index_groups)
        try:
            stored = self.filters(part, column)
        except ParquetBloomError as error:
            return NoFilters(str(error).removeprefix(f"{self.path}: "), num_index_groups)
        return NoFilters(NO_FILTER) if stored is None else described(stored)

    def private_filters(self, columns: Sequence[OrcColumn]) -> Mapping[str, int]:
        """ORC has no filters but its own."""
        return {}
