"""A new version of an ORC file, written stripe by stripe: the same data, other filters.

What build and strip share, as rewrite is what they share for Parquet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from xxhash import xxh3_64_intdigest

from parquet_bloom.errors import RewriteError
from parquet_bloom.orc.file import OrcFile
from parquet_bloom.orc.injection import (
    FilterStreams,
    NewStripe,
    Piece,
    Span,
    changed_stripe,
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
from parquet_bloom.storage.local_output import Output
from parquet_bloom.storage.new_version import Target, mode_of, verifying
from parquet_bloom.storage.open_source import open_source
from parquet_bloom.storage.source import Source

# What is compared of both ends of what was copied.
COMPARED_BYTES = 64 << 10

# The filter streams that a stripe is to have, by column id.
Changes = Mapping[int, FilterStreams]

# The XXH3 of each stream, by column id and kind: of a large file the streams are too much to keep.
Digests = Mapping[int, Mapping[int, int]]


class OrcRewrite(Protocol):
    """The new version while it grows; `output` is None if it is only imagined."""

    @property
    def output(self) -> str | None: ...

    @property
    def size(self) -> int:
        """Its bytes so far."""

    def write_stripe(self, index: int, changes: Changes) -> Mapping[tuple[int, int], int]:
        """Write the next stripe of the old file with other filters. Returns the offset of each new
        stream by column id and kind."""

    def finish(self) -> None:
        """Write the rest, verify, take the target's name."""


@dataclass
class _Layout:
    """What the new file is made of, so far."""

    file: OrcFile
    places: list[StripePlace] = field(default_factory=list)
    digests: list[Digests] = field(default_factory=list)

    def next_stripe(self, index: int, changes: Changes, offset: int) -> NewStripe:
        tail = self.file.tail
        stripe = (
            changed_stripe(tail, self.file.stripe(index), changes)
            if changes
            else unchanged_stripe(tail.stripes[index])
        )
        self.places.append(stripe.place(offset))
        self.digests.append(
            {
                column: {kind: xxh3_64_intdigest(data) for kind, data in streams.items()}
                for column, streams in changes.items()
            }
        )
        return stripe


def _stream_offsets(stripe: NewStripe, changes: Changes, offset: int) -> dict[tuple[int, int], int]:
    """Where each new stream lies of a stripe that begins at `offset`."""
    new = {
        id(data): (column, kind)
        for column, streams in changes.items()
        for kind, data in streams.items()
    }
    offsets = {}
    for piece in stripe.index:
        if id(piece) in new:
            offsets[new[id(piece)]] = offset
        offset += size_of(piece)
    return offsets


class DryOrcRewrite:
    """Sizes and offsets as they would be."""

    output: str | None = None

    def __init__(self, file: OrcFile) -> None:
        self._layout = _Layout(file)
        self.size = size_of(header(file.tail))

    def write_stripe(self, index: int, changes: Changes) -> Mapping[tuple[int, int], int]:
        start = self.size
        stripe = self._layout.next_stripe(index, changes, start)
        self.size += sum(map(size_of, stripe.pieces))
        return _stream_offsets(stripe, changes, start)

    def finish(self) -> None:
        tail = self._layout.file.tail
        self.size += sum(map(size_of, end_of_file(tail, self._layout.places)))


class OrcFileRewrite:
    """The new version in a temporary file."""

    def __init__(self, file: OrcFile, target: Target, written: Output) -> None:
        self.output: str | None = target.name
        self._file = file
        self._written = written
        self._layout = _Layout(file)
        self._append(header(file.tail))

    @property
    def size(self) -> int:
        return self._written.size

    def _append(self, piece: Piece) -> None:
        if isinstance(piece, Span):
            self._written.append_from(self._file.source, piece.start, piece.end)
        else:
            self._written.append(piece)

    def write_stripe(self, index: int, changes: Changes) -> Mapping[tuple[int, int], int]:
        start = self.size
        stripe = self._layout.next_stripe(index, changes, start)
        for piece in stripe.pieces:
            self._append(piece)
        return _stream_offsets(stripe, changes, start)

    def finish(self) -> None:
        for piece in end_of_file(self._file.tail, self._layout.places):
            self._append(piece)
        self._written.flush()
        with verifying(self.output, self._written):
            self.verify()
        self._file.source.check_unchanged()
        self._written.commit()

    def verify(self) -> None:
        """Open what was written and compare; nothing has the target's name yet."""
        _verify(self._file, self._written, self._layout.digests)


class UnverifiedOrcRewrite(OrcFileRewrite):
    """The same, taking what was written for granted."""

    def verify(self) -> None:
        return


@contextmanager
def rewriting(file: OrcFile, target: Target | None, verify: bool) -> Iterator[OrcRewrite]:
    """A rewrite; without finish() nothing remains of it. Without a target it is only imagined."""
    if target is None:
        yield DryOrcRewrite(file)
        return
    with target.output(mode_of(file.source), 0) as written:
        yield (OrcFileRewrite if verify else UnverifiedOrcRewrite)(file, target, written)


def _verify(old: OrcFile, written: Output, digests: list[Digests]) -> None:
    """Raise RewriteError unless the new file is the old one but for the filters in `digests`."""
    source = open_source(written.temporary)
    try:
        new = read_tail(source)
        if source.size != written.size:
            raise RewriteError(f"{source.size} bytes, expected {written.size}")
        _verify_tail(old, new, source)
        for index, expected in enumerate(digests):
            verify_stripe = _verify_changed if expected else _verify_unchanged
            verify_stripe(old, read_stripe(source, new, index), source, expected)
    finally:
        source.close()


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
