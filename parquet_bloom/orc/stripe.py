"""One stripe: its footer, and where its streams are.

    | index streams | encrypted ones | data streams | encrypted ones | stripe footer |
    ^ offset                         ^ data_start                    ^ footer_start

The footer lists the streams in file order without their offsets, index streams first. If index and
data streams are mixed, or their lengths do not add up to those of the stripe, readers disagree on
where a stream is, and the index is unusable.

Spec: apache/orc-format, specification/ORCv1.md "Stripes"; orc-core, StripePlanner.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field
from functools import cached_property
from itertools import chain
from typing import Final

from parquet_bloom.container import STRIPES, Place
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import FilterError, UnsupportedError
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.tail import StripePlace
from parquet_bloom.orc.wire import Message, decode_text

ROW_INDEX: Final = 6
BLOOM_FILTER: Final = 7
BLOOM_FILTER_UTF8: Final = 8
FILTER_KINDS: Final = (BLOOM_FILTER, BLOOM_FILTER_UTF8)

STREAM_NAMES = {
    0: "PRESENT",
    1: "DATA",
    2: "LENGTH",
    3: "DICTIONARY_DATA",
    4: "DICTIONARY_COUNT",
    5: "SECONDARY",
    ROW_INDEX: "ROW_INDEX",
    BLOOM_FILTER: "BLOOM_FILTER",
    BLOOM_FILTER_UTF8: "BLOOM_FILTER_UTF8",
    9: "ENCRYPTED_INDEX",
    10: "ENCRYPTED_DATA",
}
# Only groups of fewer than ten rows in the largest stripe reach this, and no writer makes those.
# Lists of groups must not exhaust memory.
MAX_INDEX_GROUPS: Final = 1 << 20

_INDEX_KINDS: Final = {4, ROW_INDEX, BLOOM_FILTER, BLOOM_FILTER_UTF8, 9}

ENCODINGS = ("DIRECT", "DICTIONARY", "DIRECT_V2", "DICTIONARY_V2")


@dataclass(frozen=True, slots=True)
class OrcStream:
    """One stream: `length` bytes from `offset` in the file; `column` is the column's id."""

    kind: int
    column: int
    offset: int
    length: int

    @property
    def name(self) -> str:
        """The kind's name in the format, or its number."""
        return STREAM_NAMES.get(self.kind, str(self.kind))

    @property
    def is_index(self) -> bool:
        return self.kind in _INDEX_KINDS


@dataclass(frozen=True)
class Stripe:
    """One stripe; `where` names file and stripe, `first_row` counts from the start of the file.

    `footer_raw` (decompressed) is what `footer` was decoded from, for lossless edits.
    """

    where: str
    index: int
    place: StripePlace
    first_row: int
    row_index_stride: int
    footer: Message = field(repr=False)
    footer_raw: bytes = field(repr=False)

    @property
    def num_rows(self) -> int:
        return self.place.num_rows

    @cached_property
    def streams(self) -> tuple[OrcStream, ...]:
        """The streams that are not encrypted, in the order of the footer, where readers look for
        them: the index streams from the start of the stripe, then the others."""
        ends = {True: self.place.offset, False: self.place.offset + self._num_bytes(index=True)}
        streams = []
        for stored in self.footer.streams:
            is_index = stored.kind in _INDEX_KINDS
            streams.append(OrcStream(stored.kind, stored.column, ends[is_index], stored.length))
            ends[is_index] += stored.length
        return tuple(streams)

    def _num_bytes(self, index: bool) -> int:
        """The size of all index or data streams, the encrypted ones included."""
        encrypted = (variant.streams for variant in self.footer.encryption)
        stored = chain(self.footer.streams, *encrypted)
        return sum(each.length for each in stored if (each.kind in _INDEX_KINDS) == index)

    @cached_property
    def doubt(self) -> str:
        """Why the index cannot be trusted; empty if it can."""
        kinds = [stream.kind in _INDEX_KINDS for stream in self.footer.streams]
        if kinds != sorted(kinds, reverse=True):
            return "an index stream is listed after a data stream"
        index_length = self._num_bytes(index=True)
        if index_length != self.place.index_length:
            return f"index streams of {index_length} bytes, expected {self.place.index_length}"
        length = index_length + self._num_bytes(index=False)
        expected = self.place.index_length + self.place.data_length
        return f"streams of {length} bytes, expected {expected}" if length > expected else ""

    def check_index(self) -> None:
        """Raise FilterError if it is uncertain where the index streams are."""
        if self.doubt:
            raise FilterError(f"{self.where}: {self.doubt}")

    def check_indexed(self, column: OrcColumn) -> None:
        """Raise UnsupportedError if no reader could skip an index group of this column, FilterError if
        it is uncertain where the index is."""
        self.check_index()
        where = f"{self.where}, column {column.name}"
        if self.row_index_stride == 0 or not self.streams_of(column.id, (ROW_INDEX,)):
            raise UnsupportedError(f"{where}: no row index, without which readers ignore filters")
        if column.id >= len(self.footer.columns):
            raise UnsupportedError(f"{where}: no encoding in the footer")

    def streams_of(self, column: int, kinds: Collection[int] | None = None) -> list[OrcStream]:
        """The streams of one column, of these kinds or of all, in the order of the footer."""
        streams = self._column_streams.get(column, [])
        return [each for each in streams if kinds is None or each.kind in kinds]

    @cached_property
    def _column_streams(self) -> dict[int, list[OrcStream]]:
        found: dict[int, list[OrcStream]] = {}
        for stream in self.streams:
            found.setdefault(stream.column, []).append(stream)
        return found

    def stream_of(self, column: int, kinds: Collection[int]) -> OrcStream | None:
        """The stream of the highest of these kinds, which is the one that readers take. Raises
        FilterError if two have the same kind: which of them is meant is undefined."""
        streams = self.streams_of(column, kinds)
        if len({stream.kind for stream in streams}) < len(streams):
            names = ", ".join(stream.name for stream in streams)
            raise FilterError(f"{self.where}: column {column} has two streams of one kind: {names}")
        return max(streams, key=lambda stream: stream.kind, default=None)

    @cached_property
    def has_row_index(self) -> bool:
        """Whether readers can skip index groups."""
        return self.row_index_stride > 0 and any(each.kind == ROW_INDEX for each in self.streams)

    @property
    def num_index_groups(self) -> int:
        """Without an index, the whole stripe is one group."""
        if not self.has_row_index:
            return min(1, self.num_rows)
        return -(-self.num_rows // self.row_index_stride)

    def group_first_row(self, index_group: int) -> int:
        """The first row of a group, counted from the start of the stripe."""
        return index_group * self.row_index_stride if self.has_row_index else 0

    def group_num_rows(self, index_group: int) -> int:
        left = self.num_rows - self.group_first_row(index_group)
        return min(left, self.row_index_stride) if self.has_row_index else left

    def encoding(self, column: int) -> str:
        """The encoding of a column's values: DIRECT_V2, ...; empty if not recorded."""
        if column >= len(self.footer.columns):
            return ""
        kind = self.footer.columns[column].kind
        return ENCODINGS[kind] if kind < len(ENCODINGS) else str(kind)

    def bloom_encoding(self, column: int) -> int:
        """The encoding of the keys in a column's filters; 0 if not recorded."""
        columns = self.footer.columns
        return int(columns[column].bloomEncoding) if column < len(columns) else 0

    @property
    def writer_timezone(self) -> str:
        """A time zone of the IANA database; empty if not recorded."""
        return decode_text(self.footer.writerTimezone)


@dataclass(frozen=True, slots=True)
class OrcChunk:
    """One column in one stripe, which has one filter per index group."""

    stripe: Stripe
    column: OrcColumn

    @property
    def key(self) -> tuple[int, int]:
        """Identifies the chunk in the file: stripe and column id."""
        return self.stripe.index, self.column.id

    @property
    def place(self) -> Place:
        return Place(self.stripe.index, units=STRIPES)

    @property
    def where(self) -> str:
        """Names file, stripe and column."""
        return f"{self.stripe.where}, column {self.column.name}"

    @property
    def filter_streams(self) -> list[OrcStream]:
        """Its filter streams of both kinds, in the order of the footer."""
        return self.stripe.streams_of(self.column.id, FILTER_KINDS)

    @property
    def stored_bytes(self) -> int:
        """The size of its data streams."""
        streams = self.stripe.streams_of(self.column.id)
        return sum(stream.length for stream in streams if not stream.is_index)

    @property
    def has_filters(self) -> bool:
        return bool(self.filter_streams)

    @property
    def num_filters(self) -> int:
        return self.stripe.num_index_groups
