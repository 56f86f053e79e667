"""Edit the footers of an ORC file: what they say about filters, and where stripes are.

They are edited as bytes, so that unknown fields stay as they are.

Spec: apache/orc-format, specification/ORCv1.md; orc-core, StripePlanner for the order of streams.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from parquet_bloom.errors import RewriteError, UnsupportedError
from parquet_bloom.orc import wire
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.stripe import FILTER_KINDS, ROW_INDEX, Stripe
from parquet_bloom.orc.tail import MAX_POSTSCRIPT_BYTES, StripePlace, Tail
from parquet_bloom.orc.writers import UTF8_UTC

# Fields of StripeFooter, ColumnEncoding, Footer, StripeInformation, PostScript, Stream.
_STREAMS, _ENCODINGS = 1, 2
_BLOOM_ENCODING: Final = 3
_CONTENT_LENGTH, _STRIPES = 2, 3
_OFFSET, _INDEX_LENGTH, _FOOTER_LENGTH = 1, 2, 4
_TAIL_LENGTH: Final = 1
_KIND, _COLUMN, _LENGTH = 1, 2, 3

# A column's new filter streams, compressed, in order of their kinds. If there are none, the column
# loses those that it has.
FilterStreams = Mapping[int, bytes]


def check_writable(tail: Tail) -> None:
    """Raise UnsupportedError for a file whose filters cannot be changed."""
    if tail.is_encrypted:
        raise UnsupportedError(
            f"{tail.where}: has encrypted columns: the filters of such ORC files cannot be changed"
        )


def check_indexed(stripe: Stripe, column: OrcColumn) -> None:
    """Raise UnsupportedError if no reader could skip an index group of this column, FilterError if
    it is uncertain where the index is."""
    stripe.check_index()
    if stripe.row_index_stride == 0 or not stripe.streams_of(column.id, (ROW_INDEX,)):
        raise UnsupportedError(
            f"{stripe.where}, column {column.name}: no row index, without which readers ignore"
            " filters"
        )
    if column.id >= len(stripe.footer.columns):
        raise UnsupportedError(f"{stripe.where}, column {column.name}: no encoding in the footer")


def stripe_footer(stripe: Stripe, changes: Mapping[int, FilterStreams]) -> bytes:
    """The footer of a stripe in which the columns with the ids in `changes` have these filter
    streams and no others."""

    def listed(index: int, payload: bytes) -> Iterable[bytes]:
        stream = stripe.streams[index]
        if stream.kind in FILTER_KINDS and stream.column in changes:
            return
        yield payload
        if stream.kind == ROW_INDEX:
            for kind, data in changes.get(stream.column, {}).items():
                yield stream_message(kind, stream.column, len(data))

    def encoded(column: int, payload: bytes) -> Iterable[bytes]:
        if column not in changes:
            return [payload]
        value = wire.number_field(_BLOOM_ENCODING, UTF8_UTC) if changes[column] else b""
        return [wire.replaced(payload, {_BLOOM_ENCODING: value})]

    return _edited(_edited(stripe.footer_raw, _STREAMS, listed), _ENCODINGS, encoded)


def stream_message(kind: int, column: int, length: int) -> bytes:
    """An encoded Stream."""
    return b"".join(_fields({_KIND: kind, _COLUMN: column, _LENGTH: length}).values())


def _fields(numbers: Mapping[int, int]) -> dict[int, bytes]:
    return {number: wire.number_field(number, value) for number, value in numbers.items()}


def _edited(data: bytes, number: int, edit: Callable[[int, bytes], Iterable[bytes]]) -> bytes:
    """A message with its fields of this number edited: `edit` takes the index and the payload of each,
    and returns the payloads of those that replace it."""
    parts: list[bytes] = []
    count = 0
    for field in wire.fields(data):
        # Readers take a field with another wire type for an unknown one.
        if field.number != number or field.wire_type != wire.BYTES:
            parts.append(data[field.start : field.end])
            continue
        edited = edit(count, data[field.value : field.end])
        parts += [wire.bytes_field(number, payload) for payload in edited]
        count += 1
    return b"".join(parts)


def footer(tail: Tail, places: Sequence[StripePlace]) -> bytes:
    """The file's footer with its stripes at `places`."""

    def moved(index: int, payload: bytes) -> Iterable[bytes]:
        place = places[index]
        numbers = {
            _OFFSET: place.offset,
            _INDEX_LENGTH: place.index_length,
            _FOOTER_LENGTH: place.footer_length,
        }
        return [wire.replaced(payload, _fields(numbers))]

    edited = _edited(tail.footer_raw, _STRIPES, moved)
    if not places:
        return edited
    # ORC Java counts from the start of the file, ORC C++ from the first stripe.
    length = max(0, tail.footer.contentLength + places[-1].end - tail.stripes[-1].end)
    return wire.replaced(edited, _fields({_CONTENT_LENGTH: length}))


def postscript(tail: Tail, footer_length: int) -> bytes:
    """The postscript for a footer of this length. Raises RewriteError if it is too long."""
    edited = wire.replaced(tail.postscript_raw, _fields({_TAIL_LENGTH: footer_length}))
    if len(edited) > MAX_POSTSCRIPT_BYTES:
        raise RewriteError(
            f"{tail.where}: postscript: would have {len(edited)} bytes, expected at most"
            f" {MAX_POSTSCRIPT_BYTES}"
        )
    return edited


# ------------------------------------------------------------------------------------------------
# What no change may touch


def stripe_footer_without_filters(stripe: Stripe) -> bytes:
    """A stripe's footer without what it says about filters."""

    def kept(index: int, payload: bytes) -> Iterable[bytes]:
        return [] if stripe.streams[index].kind in FILTER_KINDS else [payload]

    def plain(column: int, payload: bytes) -> Iterable[bytes]:
        return [wire.replaced(payload, {_BLOOM_ENCODING: b""})]

    return _edited(_edited(stripe.footer_raw, _STREAMS, kept), _ENCODINGS, plain)


def footer_without_places(tail: Tail) -> bytes:
    """The file's footer without the places of stripes."""

    def unmoved(index: int, payload: bytes) -> Iterable[bytes]:
        return [wire.replaced(payload, {_OFFSET: b"", _INDEX_LENGTH: b"", _FOOTER_LENGTH: b""})]

    return wire.replaced(_edited(tail.footer_raw, _STRIPES, unmoved), {_CONTENT_LENGTH: b""})


def postscript_without_length(tail: Tail) -> bytes:
    """The postscript without the footer's length."""
    return wire.replaced(tail.postscript_raw, {_TAIL_LENGTH: b""})
