"""What changes in an ORC file: the filters of each stripe, and so the places of all stripes.

What build, repair and strip share. Whoever changes filters says for each stripe which streams it is
to have; the data streams are copied as they are.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

from xxhash import xxh3_64_intdigest

from parquet_bloom.errors import RewriteError
from parquet_bloom.orc.file import OrcFile
from parquet_bloom.orc.injection import (
    FilterStreams,
    NewStripe,
    Piece,
    Span,
    changed_stripe,
    check_injectable,
    end_of_file,
    footer_without_places,
    header,
    postscript_without_lengths,
    size_of,
    stripe_footer_without_filters,
    unchanged_stripe,
)
from parquet_bloom.orc.stripe import FILTER_KINDS, OrcStream, Stripe, read_stripe
from parquet_bloom.orc.tail import StripePlace, Tail, read_tail
from parquet_bloom.storage.new_version import Change, Version
from parquet_bloom.storage.source import Source

# What is compared of both ends of what was copied.
COMPARED_BYTES = 64 << 10

# The filter streams that a stripe is to have, by column id.
Streams = Mapping[int, FilterStreams]

# Where new streams lie, by column id and kind.
Offsets = Mapping[tuple[int, int], int]

# The XXH3 of each stream, by column id and kind: of a large file the streams are too much to keep.
Digests = Mapping[int, Mapping[int, int]]


class StripesChange(Change):
    """Other filters in the stripes of `file`; all of it is written anew. Raises UnsupportedError for
    files that cannot get other filters."""

    def __init__(self, file: OrcFile) -> None:
        check_injectable(file.tail)
        self.file = file
        self._places: list[StripePlace] = []
        self._digests: list[Digests] = []

    @abstractmethod
    def streams_of(self, stripe: int) -> Streams:
        """The filters of a stripe, of the columns where they change. Asked once for each stripe, in
        order."""

    def placed(self, stripe: int, offsets: Offsets) -> None:
        """Told where they lie."""
        return

    def compose(self, version: Version) -> None:
        tail = self.file.tail
        self._append(version, header(tail))
        for index in range(self.file.num_stripes):
            streams = self.streams_of(index)
            start = version.size
            stripe = (
                changed_stripe(tail, self.file.stripe(index), streams)
                if streams
                else unchanged_stripe(tail.stripes[index])
            )
            for piece in stripe.pieces:
                self._append(version, piece)
            self._places.append(stripe.place(start))
            self._digests.append(_digests(streams))
            self.placed(index, _stream_offsets(stripe, streams, start))
        for piece in end_of_file(tail, self._places):
            self._append(version, piece)

    def _append(self, version: Version, piece: Piece) -> None:
        if isinstance(piece, Span):
            version.append_from(self.file.source, piece.start, piece.end)
        else:
            version.append(piece)

    def verify(self, written: Source) -> None:
        """Data, row indexes and statistics must be the old ones, and the filters those that were
        meant to be written."""
        new = read_tail(written)
        _verify_tail(self.file, new, written)
        for index, expected in enumerate(self._digests):
            verify_stripe = _verify_changed if expected else _verify_unchanged
            verify_stripe(self.file, read_stripe(written, new, index), written, expected)


def _digests(streams: Streams) -> Digests:
    return {
        column: {kind: xxh3_64_intdigest(data) for kind, data in of_column.items()}
        for column, of_column in streams.items()
    }


def _stream_offsets(stripe: NewStripe, streams: Streams, offset: int) -> Offsets:
    """Where each new stream lies of a stripe that begins at `offset`."""
    new = {
        id(data): (column, kind)
        for column, of_column in streams.items()
        for kind, data in of_column.items()
    }
    offsets = {}
    for piece in stripe.index:
        if id(piece) in new:
            offsets[new[id(piece)]] = offset
        offset += size_of(piece)
    return offsets


def _verify_tail(old: OrcFile, new: Tail, source: Source) -> None:
    if footer_without_places(new) != footer_without_places(old.tail):
        raise RewriteError("the footer differs in more than the places of stripes")
    if postscript_without_lengths(new) != postscript_without_lengths(old.tail):
        raise RewriteError("the postscript differs in more than the footer's length")
    _verify_bytes(old.source, 0, source, 0, size_of(header(old.tail)), "the first bytes")
    start, end = old.tail.statistics_start, old.tail.footer_start
    _verify_bytes(old.source, start, source, new.statistics_start, end - start, "metadata")


def _verify_unchanged(old: OrcFile, stripe: Stripe, source: Source, expected: Digests) -> None:
    """All of one stripe, of which nothing has to be known."""
    before, now = old.tail.stripes[stripe.index], stripe.place
    length = before.end - before.offset
    if now.end - now.offset != length:
        raise RewriteError(f"{stripe.where}: {now.end - now.offset} bytes, expected {length}")
    _verify_bytes(old.source, before.offset, source, now.offset, length, stripe.where)


def _verify_changed(old: OrcFile, stripe: Stripe, source: Source, expected: Digests) -> None:
    """Footer, index and data of one stripe."""
    before = old.stripe(stripe.index)
    stripe.check_index()
    if stripe_footer_without_filters(stripe) != stripe_footer_without_filters(before):
        raise RewriteError(f"{stripe.where}: the footer differs in more than the filters")
    kept = [each for each in before.streams if _stays(each, expected)]
    found = [each for each in stripe.streams if _stays(each, expected)]
    if [_named(each) for each in kept] != [_named(each) for each in found]:
        raise RewriteError(f"{stripe.where}: other streams than before")
    for one, other in zip(kept, found, strict=True):
        if one.is_index:
            where = f"{stripe.where}: {one.name} of column {one.column}"
            _verify_bytes(old.source, one.offset, source, other.offset, one.length, where)
    _verify_filters(stripe, source, expected)
    _verify_bytes(
        old.source,
        before.place.data_start,
        source,
        stripe.place.data_start,
        before.place.data_length,
        f"{stripe.where}: data",
    )


def _stays(stream: OrcStream, expected: Digests) -> bool:
    return stream.kind not in FILTER_KINDS or stream.column not in expected


def _named(stream: OrcStream) -> tuple[int, int, int]:
    return stream.kind, stream.column, stream.length


def _verify_filters(stripe: Stripe, source: Source, expected: Digests) -> None:
    """The streams that are new must be as they were built, and where readers look for them."""
    for column, streams in expected.items():
        if stripe.bloom_encoding(column) != (1 if streams else 0):
            raise RewriteError(f"{stripe.where}: another encoding of column {column}")
        found = stripe.streams_of(column, FILTER_KINDS)
        if [each.kind for each in found] != list(streams):
            raise RewriteError(f"{stripe.where}: other filters of column {column}")
        for stream in found:
            data = source.read_at(stream.offset, stream.length)
            if xxh3_64_intdigest(data) != streams[stream.kind]:
                raise RewriteError(
                    f"{stripe.where}: {stream.name} of column {column} differs from what was built"
                )


def _verify_bytes(
    old: Source, old_start: int, new: Source, new_start: int, length: int, where: str
) -> None:
    """That what was copied is at its place shows at both of its ends; the copy is the kernel's."""
    compared = min(length, COMPARED_BYTES)
    for at in (0, length - compared):
        if old.read_at(old_start + at, compared) != new.read_at(new_start + at, compared):
            raise RewriteError(f"{where}: differs from what was copied")
