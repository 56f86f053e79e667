"""An open ORC file: columns, stripes, index groups, their filters, and what these exclude.

A verdict is about one index group, which is what readers skip. Whatever is dubious about a filter
makes it `unknown`, never `absent`: see writers.doubt for what some of them get wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from parquet_bloom.container import STRIPES, Units
from parquet_bloom.errors import ColumnError, FilterError, ParquetBloomError, UnsupportedError
from parquet_bloom.filters.verdict import NO_FILTER, Verdict
from parquet_bloom.orc import writers
from parquet_bloom.orc.bloom import StoredIndex, is_marked, read_filters
from parquet_bloom.orc.chunk import OrcChunk
from parquet_bloom.orc.columns import OrcColumn, find_column
from parquet_bloom.orc.keys.key_form import KeyForm
from parquet_bloom.orc.row_index import GroupStatistics, IndexEntry, fits, read_row_index
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

if TYPE_CHECKING:
    from parquet_bloom.filters.k_hash import KHashFilter
    from parquet_bloom.orc.keys.key_hashes import KeyHashes
    from parquet_bloom.storage.source import Source

ENCRYPTED = "encrypted"


@dataclass(frozen=True, slots=True)
class IndexGroupVerdict:
    """Whether a value is in one index group, which has `num_rows` rows from `first_row`, counted
    from the start of the file; `reason` says why it is `unknown`."""

    stripe: int
    index_group: int
    first_row: int
    num_rows: int
    verdict: Verdict
    reason: str | None


@dataclass(frozen=True, slots=True)
class Asked:
    """A value to look up: its hashes in filters of each form. `is_ascii`: it is no text, or one
    that is the same in every charset."""

    hashes: Callable[[KeyForm], KeyHashes] = field(repr=False)
    is_ascii: bool


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
    def columns(self) -> tuple[OrcColumn, ...]:
        """By id, the root first. Raises FooterError."""
        return self.tail.columns

    def column(self, name: str) -> OrcColumn:
        """The column with this dotted name. Raises ColumnError, naming the close ones."""
        try:
            return find_column(self.columns, name)
        except ColumnError as error:
            raise ColumnError(f"{self.path}: {error}") from None

    def named_columns(self, names: Sequence[str] | None) -> tuple[OrcColumn, ...]:
        """These columns by id, without repetition; all but the root for None."""
        if names is None:
            return self.columns[1:]
        wanted = {self.column(name).id for name in names}
        return tuple(column for column in self.columns if column.id in wanted)

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

    def bloom_filter(self, stripe: int, index_group: int, column: str) -> KHashFilter:
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
        return stored.filters[index_group]

    def probe(self, column: str, value: Any) -> tuple[IndexGroupVerdict, ...]:
        """Whether `value`, a Python or numpy value of the column's type, is in each index group.

        Raises ColumnError, and ValueTypeError if the column cannot hold the value.
        """
        # Only who asks about values needs pyarrow imported.
        from parquet_bloom.orc.keys.key_hashes import encode

        found = self.column(column)
        is_ascii = not isinstance(value, str | bytes) or value.isascii()
        asked = Asked(lambda form: encode(found, value, form), is_ascii)
        (verdicts,) = self.probe_asked(found, [asked])
        return verdicts

    def probe_asked(
        self, column: OrcColumn, values: Sequence[Asked]
    ) -> list[tuple[IndexGroupVerdict, ...]]:
        """The verdicts on each value; filters are read once for all of them.

        Raises ValueTypeError if the column cannot hold a value, even where nothing is to be asked;
        FooterError for a damaged stripe footer.
        """
        for value in values:
            value.hashes(KeyForm())
        verdicts: list[list[IndexGroupVerdict]] = [[] for _ in values]
        for index in range(self.num_stripes):
            probe = StripeProbe(self, self.stripe(index), column)
            for of_value, value in zip(verdicts, values, strict=True):
                of_value += probe.verdicts(value)
        return [tuple(of_value) for of_value in verdicts]


class StripeProbe:
    """Asks the filters of one column in one stripe, which are read for the first value."""

    def __init__(self, file: OrcFile, stripe: Stripe, column: OrcColumn) -> None:
        self._file = file
        self._stripe = stripe
        self._column = column

    def verdicts(self, value: Asked) -> list[IndexGroupVerdict]:
        """The verdict on a value for each index group."""
        return [
            IndexGroupVerdict(
                self._stripe.index,
                group,
                self._stripe.first_row + self._stripe.group_first_row(group),
                self._stripe.group_num_rows(group),
                *answer,
            )
            for group, answer in enumerate(self._answers(value))
        ]

    def _answers(self, value: Asked) -> list[tuple[Verdict, str | None]]:
        stored, keys = self.asked_with(value)
        if stored is None or keys.unknown:
            return [("unknown", keys.unknown)] * self._stripe.num_index_groups
        import numpy as np

        wanted = np.array(keys.hashes, np.uint64)
        return [
            ("maybe", None)
            if filter.check_hashes(wanted).any()
            else self._absent(stored, group, filter)
            for group, filter in enumerate(stored.filters)
        ]

    def asked_with(self, value: Asked) -> tuple[StoredIndex | None, KeyHashes]:
        """The filters, and the hashes to ask them for, or why there are none of these."""
        from parquet_bloom.orc.keys.key_hashes import KeyHashes

        stored, reason = self._stored
        if stored is None:
            return None, KeyHashes((), reason)
        keys = value.hashes(stored.form)
        doubt = self._doubt(stored, value)
        return stored, KeyHashes((), doubt) if doubt and not keys.unknown else keys

    @cached_property
    def _stored(self) -> tuple[StoredIndex | None, str]:
        return self._file.usable_filters(self._stripe.index, self._column)

    def _doubt(self, stored: StoredIndex, value: Asked) -> str:
        generation = self._file.generation
        if not value.is_ascii and writers.doubts_text(generation, self._column, stored):
            return f"text in a charset that {generation.created_by} did not note"
        return writers.doubt(generation, self._column, stored)

    def _absent(
        self, stored: StoredIndex, group: int, filter: KHashFilter
    ) -> tuple[Verdict, str | None]:
        """What it means that a filter does not have the bits of a value."""
        entries, doubt = self._row_index
        statistics = entries[group].statistics if entries else None
        doubt = doubt or self._doubt_about_group(stored, filter, statistics)
        return ("unknown", doubt) if doubt else ("absent", None)

    @cached_property
    def _row_index(self) -> tuple[tuple[IndexEntry, ...] | None, str]:
        """The entries, or why they cannot be read: then nothing here is as it should be."""
        try:
            return self._file.row_index(self._stripe.index, self._column), ""
        except ParquetBloomError as error:
            return None, str(error)

    def _doubt_about_group(
        self, stored: StoredIndex, filter: KHashFilter, statistics: GroupStatistics | None
    ) -> str:
        if statistics is not None and not fits(statistics, self._column):
            return f"{statistics.kind} statistics, which are not those of {self._column.type}"
        if statistics is not None and statistics.num_values == 0:
            return ""
        if filter.bits_set == 0:
            return "no bit is set, though the index group can have values"
        if not writers.doubts_before_1970(self._file.generation, self._column, stored):
            return ""
        low = statistics.min if statistics else None
        is_later = isinstance(low, int) and low >= 0
        return "" if is_later else "timestamps before 1970, which ORC C++ hashed as others"
