"""Other filters in an ORC file: what the new file is made of.

    old   | header | index, data, footer | index, data, footer | ... | metadata | footer | postscript |
    new   | header | index, data, footer | index, data, footer | ... | metadata | footer | postscript |
                     ^ changed     ^ changed, if a filter is                       ^ changed  ^ changed

Nothing in a file says where a stream begins, so filters can only stand where readers look for them:
in the index region of each stripe, behind the row index of their column. All stripes move, and so
the whole file is copied; the data streams, the row indexes and the statistics byte for byte. What
was between stripes to align them is left out.

Footers are edited as bytes: fields that nobody knows stay where they are.

Spec: apache/orc-format, specification/ORCv1.md; orc-core, StripePlanner for the order of streams.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from parquet_bloom.errors import RewriteError, UnsupportedError
from parquet_bloom.orc import wire
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.stripe import FILTER_KINDS, ROW_INDEX, OrcStream, Stripe
from parquet_bloom.orc.tail import MAX_POSTSCRIPT_BYTES, StripePlace, Tail

# Fields of StripeFooter, ColumnEncoding, Footer, StripeInformation, PostScript, Stream.
_STREAMS, _ENCODINGS = 1, 2
_BLOOM_ENCODING: Final = 3
_CONTENT_LENGTH, _STRIPES = 2, 3
_OFFSET, _INDEX_LENGTH, _FOOTER_LENGTH = 1, 2, 4
_TAIL_LENGTH: Final = 1
_KIND, _COLUMN, _LENGTH = 1, 2, 3

# ColumnEncoding.bloomEncoding: UTF-8, and timestamps in UTC.
UTF8_AND_UTC: Final = 1


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes [start, end) of the old file, which the new one has, too."""

    start: int
    end: int


Piece = Span | bytes

# The new filter streams of a column, in chunks, by kind and in order; none: it loses those it has.
FilterStreams = Mapping[int, bytes]


@dataclass(frozen=True, slots=True)
class NewStripe:
    """What a stripe is made of: its index region, its data and its footer."""

    index: tuple[Piece, ...]
    data: Span
    footer: Piece
    num_rows: int

    @property
    def pieces(self) -> Iterator[Piece]:
        yield from self.index
        yield self.data
        yield self.footer

    def place(self, offset: int) -> StripePlace:
        """Where it lies if it begins at `offset`."""
        return StripePlace(
            offset=offset,
            index_length=sum(map(size_of, self.index)),
            data_length=size_of(self.data),
            footer_length=size_of(self.footer),
            num_rows=self.num_rows,
        )


def size_of(piece: Piece) -> int:
    """In bytes."""
    return piece.end - piece.start if isinstance(piece, Span) else len(piece)


def check_injectable(tail: Tail) -> None:
    """Raise UnsupportedError for a file that is not to get other filters."""
    if tail.is_encrypted:
        raise UnsupportedError(
            f"{tail.where}: has encrypted columns: filters of ORC files like this are not written"
        )


def check_indexed(stripe: Stripe, column: OrcColumn) -> None:
    """Raise UnsupportedError where no reader could skip an index group of this column, FilterError
    where nobody knows how the index lies."""
    stripe.check_index()
    if stripe.row_index_stride == 0 or not stripe.streams_of(column.id, (ROW_INDEX,)):
        raise UnsupportedError(
            f"{stripe.where}, column {column.name}: no row index, without which readers do not look"
            " at filters"
        )
    if column.id >= len(stripe.footer.columns):
        raise UnsupportedError(f"{stripe.where}, column {column.name}: no encoding in the footer")


def header(tail: Tail) -> Span:
    """What is before the first stripe."""
    return Span(0, tail.stripes[0].offset if tail.stripes else tail.statistics_start)


def unchanged_stripe(place: StripePlace) -> NewStripe:
    """A stripe as it is."""
    return NewStripe(
        index=(Span(place.offset, place.data_start),),
        data=Span(place.data_start, place.footer_start),
        footer=Span(place.footer_start, place.end),
        num_rows=place.num_rows,
    )


def changed_stripe(tail: Tail, stripe: Stripe, changes: Mapping[int, FilterStreams]) -> NewStripe:
    """A stripe in which the columns with the ids in `changes` have these filter streams and no
    others. Raises FilterError if nobody knows how its index lies."""
    stripe.check_index()
    return NewStripe(
        index=tuple(_index(stripe, changes)),
        data=Span(stripe.place.data_start, stripe.place.footer_start),
        footer=tail.compression.compressed(_stripe_footer(stripe, changes)),
        num_rows=stripe.num_rows,
    )


def _index(stripe: Stripe, changes: Mapping[int, FilterStreams]) -> Iterator[Piece]:
    for stream in stripe.streams:
        if not stream.is_index or _is_dropped(stream, changes):
            continue
        yield Span(stream.offset, stream.offset + stream.length)
        if stream.kind == ROW_INDEX:
            yield from changes.get(stream.column, {}).values()


def _is_dropped(stream: OrcStream, changes: Mapping[int, FilterStreams]) -> bool:
    return stream.kind in FILTER_KINDS and stream.column in changes


def _stripe_footer(stripe: Stripe, changes: Mapping[int, FilterStreams]) -> bytes:
    streams = iter(stripe.streams)

    def edited(index: int, payload: bytes) -> Iterable[bytes]:
        stream = next(streams)
        if _is_dropped(stream, changes):
            return
        yield payload
        if stream.kind == ROW_INDEX:
            for kind, data in changes.get(stream.column, {}).items():
                yield _stream(kind, stream.column, len(data))

    def encoded(column: int, payload: bytes) -> Iterable[bytes]:
        if column not in changes:
            return [payload]
        value = wire.number_field(_BLOOM_ENCODING, UTF8_AND_UTC) if changes[column] else b""
        return [wire.replaced(payload, {_BLOOM_ENCODING: value})]

    return _each_edited(_each_edited(stripe.footer_raw, _STREAMS, edited), _ENCODINGS, encoded)


def _stream(kind: int, column: int, length: int) -> bytes:
    numbers = {_KIND: kind, _COLUMN: column, _LENGTH: length}
    return b"".join(wire.number_field(number, value) for number, value in numbers.items())


def _each_edited(data: bytes, number: int, edit: Callable[[int, bytes], Iterable[bytes]]) -> bytes:
    """A message in which each field with this number, counted from 0, has become those whose
    payloads `edit` gives for its own."""
    parts: list[bytes] = []
    count = 0
    for field in wire.fields(data):
        # Readers take a field of another wire type for one that they do not know.
        if field.number != number or field.wire_type != wire.BYTES:
            parts.append(data[field.start : field.end])
            continue
        edited = edit(count, data[field.value : field.end])
        parts += [wire.bytes_field(number, payload) for payload in edited]
        count += 1
    return b"".join(parts)


def end_of_file(tail: Tail, places: Sequence[StripePlace]) -> tuple[Piece, ...]:
    """What is behind the stripes, which lie at `places`. Raises RewriteError if there is no room
    for it in the format."""
    footer = _stored_footer(tail, places)
    postscript = wire.replaced(
        tail.postscript_raw, {_TAIL_LENGTH: wire.number_field(_TAIL_LENGTH, size_of(footer))}
    )
    if len(postscript) > MAX_POSTSCRIPT_BYTES:
        raise RewriteError(
            f"{tail.where}: postscript: would have {len(postscript)} bytes, expected at most"
            f" {MAX_POSTSCRIPT_BYTES}"
        )
    statistics = Span(tail.statistics_start, tail.footer_start)
    return statistics, footer, postscript, bytes([len(postscript)])


def _stored_footer(tail: Tail, places: Sequence[StripePlace]) -> Piece:
    footer = _footer(tail, places)
    if footer == tail.footer_raw:
        # Another compressor's chunks would be of another size.
        return Span(tail.footer_start, tail.postscript_start)
    return tail.compression.compressed(footer)


def _footer(tail: Tail, places: Sequence[StripePlace]) -> bytes:
    def moved(index: int, payload: bytes) -> Iterable[bytes]:
        place = places[index]
        numbers = {
            _OFFSET: place.offset,
            _INDEX_LENGTH: place.index_length,
            _FOOTER_LENGTH: place.footer_length,
        }
        edits = {number: wire.number_field(number, value) for number, value in numbers.items()}
        return [wire.replaced(payload, edits)]

    footer = _each_edited(tail.footer_raw, _STRIPES, moved)
    if not places:
        return footer
    # ORC Java counts from the start of the file, ORC C++ from the first stripe.
    length = max(0, tail.footer.contentLength + places[-1].end - tail.stripes[-1].end)
    return wire.replaced(footer, {_CONTENT_LENGTH: wire.number_field(_CONTENT_LENGTH, length)})


def footer_without_places(tail: Tail) -> bytes:
    """The footer but for what changes with the filters."""

    def unmoved(index: int, payload: bytes) -> Iterable[bytes]:
        return [wire.replaced(payload, {_OFFSET: b"", _INDEX_LENGTH: b"", _FOOTER_LENGTH: b""})]

    return wire.replaced(_each_edited(tail.footer_raw, _STRIPES, unmoved), {_CONTENT_LENGTH: b""})


def postscript_without_lengths(tail: Tail) -> bytes:
    """The postscript but for what changes with the filters."""
    return wire.replaced(tail.postscript_raw, {_TAIL_LENGTH: b""})


def stripe_footer_without_filters(stripe: Stripe) -> bytes:
    """A stripe's footer but for what says anything of filters."""
    streams = stripe.streams

    def kept(index: int, payload: bytes) -> Iterable[bytes]:
        return [] if streams[index].kind in FILTER_KINDS else [payload]

    def plain(column: int, payload: bytes) -> Iterable[bytes]:
        return [wire.replaced(payload, {_BLOOM_ENCODING: b""})]

    return _each_edited(_each_edited(stripe.footer_raw, _STREAMS, kept), _ENCODINGS, plain)
