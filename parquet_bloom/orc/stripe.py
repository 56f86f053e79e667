"""One stripe: its footer and the location of its streams.

    | index streams | encrypted ones | data streams | encrypted ones | stripe footer |
    ^ offset                         ^ data_start                    ^ footer_start

The footer lists the streams in file order, without gaps or offsets, index streams first. If the two
sorts are mixed, or the lengths do not add up to those of the stripe, readers disagree on where a
stream is, and the index is unusable.

Spec: apache/orc-format, specification/ORCv1.md "Stripes"; orc-core, StripePlanner.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from parquet_bloom.errors import FilterError, FooterError
from parquet_bloom.orc.proto import orc_pb2
from parquet_bloom.orc.tail import StripePlace, Tail, decode, expand, text_of

if TYPE_CHECKING:
    from parquet_bloom.storage.source import Source

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
_INDEX_KINDS: Final = {4, ROW_INDEX, BLOOM_FILTER, BLOOM_FILTER_UTF8, 9}

ENCODINGS = ("DIRECT", "DICTIONARY", "DIRECT_V2", "DICTIONARY_V2")

# Reached only by groups of fewer than ten rows in the largest stripe, which no writer makes; lists
# of groups must not exhaust memory.
MAX_INDEX_GROUPS: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class OrcStream:
    """One stream: `length` bytes from `offset` in the file; `column` is the column's id."""

    kind: int
    column: int
    offset: int
    length: int

    @property
    def name(self) -> str:
        """The format's name for the kind, or its number."""
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
    footer: Any = field(repr=False)
    footer_raw: bytes = field(repr=False)

    @property
    def num_rows(self) -> int:
        return self.place.num_rows

    @cached_property
    def streams(self) -> tuple[OrcStream, ...]:
        """The streams that are not encrypted, in the order of the footer."""
        return tuple(self._locate_streams())

    def _locate_streams(self) -> Iterator[OrcStream]:
        """Where readers look for streams: index streams from the start of the stripe, then the
        others."""
        data_at = self.place.offset + sum(stream.length for stream in self._index_streams())
        index_at = self.place.offset
        for stored in self.footer.streams:
            is_index = stored.kind in _INDEX_KINDS
            yield OrcStream(stored.kind, stored.column, index_at if is_index else data_at,
                            stored.length)  # fmt: skip
            if is_index:
                index_at += stored.length
            else:
                data_at += stored.length

    def _stored_streams(self) -> Iterator[Any]:
        yield from self.footer.streams
        for variant in self.footer.encryption:
            yield from variant.streams

    def _index_streams(self) -> Iterator[Any]:
        return (stream for stream in self._stored_streams() if stream.kind in _INDEX_KINDS)

    @cached_property
    def doubt(self) -> str:
        """Why the index cannot be trusted; empty if it can."""
        kinds = [stream.kind in _INDEX_KINDS for stream in self.footer.streams]
        if kinds != sorted(kinds, reverse=True):
            return "an index stream is listed after a data stream"
        index_length = sum(stream.length for stream in self._index_streams())
        if index_length != self.place.index_length:
            return f"index streams of {index_length} bytes, expected {self.place.index_length}"
        length = sum(stream.length for stream in self._stored_streams())
        expected = self.place.index_length + self.place.data_length
        return f"streams of {length} bytes, expected {expected}" if length > expected else ""

    def check_index(self) -> None:
        """Raise FilterError if the location of the index streams is in doubt."""
        if self.doubt:
            raise FilterError(f"{self.where}: {self.doubt}")

    def streams_of(self, column: int, kinds: Iterable[int]) -> tuple[OrcStream, ...]:
        """The streams of these kinds of one column, in the order of the footer."""
        wanted = set(kinds)
        return tuple(stream for stream in self.all_streams_of(column) if stream.kind in wanted)

    def all_streams_of(self, column: int) -> Sequence[OrcStream]:
        """All streams of one column, in the order of the footer."""
        return self._column_streams.get(column, ())

    @cached_property
    def _column_streams(self) -> dict[int, list[OrcStream]]:
        found: dict[int, list[OrcStream]] = {}
        for stream in self.streams:
            found.setdefault(stream.column, []).append(stream)
        return found

    def check_distinct(self, streams: Sequence[OrcStream]) -> None:
        """Raise FilterError if two streams of a column have the same kind: which one is meant is
        undefined."""
        if len({stream.kind for stream in streams}) < len(streams):
            names = ", ".join(stream.name for stream in streams)
            raise FilterError(f"{self.where}: column {streams[0].column} has the streams {names}")

    @cached_property
    def has_row_index(self) -> bool:
        """Whether readers can skip index groups."""
        return self.row_index_stride > 0 and any(
            stream.kind == ROW_INDEX for stream in self.streams
        )

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
        kind = int(self.footer.columns[column].kind)
        return ENCODINGS[kind] if kind < len(ENCODINGS) else str(kind)

    def bloom_encoding(self, column: int) -> int:
        """The encoding of the keys in a column's filters, from the stripe footer."""
        if column >= len(self.footer.columns):
            return 0
        return int(self.footer.columns[column].bloomEncoding)

    @property
    def writer_timezone(self) -> str:
        """A time zone of the IANA database; empty if not recorded."""
        return text_of(self.footer.writerTimezone)


def read_stripe(source: Source, tail: Tail, index: int) -> Stripe:
    """Read the footer of a stripe.

    Raises FooterError if it is damaged or has too many index groups, UnsupportedError.
    """
    place = tail.stripes[index]
    where = f"{tail.where}: stripe {index}"
    stored = source.read_at(place.footer_start, place.footer_length)
    raw = expand(tail.compression, stored, f"{where}: footer")
    footer = decode(orc_pb2.StripeFooter, raw, f"{where}: footer")
    first_row = tail.first_rows[index]
    stripe = Stripe(where, index, place, first_row, tail.row_index_stride, footer, raw)
    if stripe.num_index_groups > MAX_INDEX_GROUPS:
        raise FooterError(
            f"{where}: {stripe.num_index_groups} index groups, expected at most {MAX_INDEX_GROUPS}"
        )
    return stripe


def read_stream(source: Source, tail: Tail, stripe: Stripe, stream: OrcStream) -> bytes:
    """A decompressed index stream. Raises FilterError if the stripe's index cannot be trusted,
    FooterError if the stream is damaged, UnsupportedError."""
    stripe.check_index()
    stored = source.read_at(stream.offset, stream.length)
    where = f"{stripe.where}: {stream.name} of column {stream.column}"
    return expand(tail.compression, stored, where)
