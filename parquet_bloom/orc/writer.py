"""Change the filters in an ORC file: what build, repair and strip share.

    old   | header | index, data, footer | index, data, footer | ... | metadata | footer | postscript |
    new   | header | index, data, footer | index, data, footer | ... | metadata | footer | postscript |
                     ^ changed     ^ changed, if a filter is                       ^ changed  ^ changed

Nothing in a file says where a stream begins, so filters can only stand where readers look for them:
in the index region of each stripe, behind the row index of their column. All stripes move, and so
the whole file is copied: data streams, row indexes and statistics byte for byte. Padding between
stripes is left out.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from xxhash import xxh3_64_intdigest

from parquet_bloom.errors import RewriteError
from parquet_bloom.orc import footers
from parquet_bloom.orc.footers import FilterStreams
from parquet_bloom.orc.reader import OrcReader
from parquet_bloom.orc.stripe import FILTER_KINDS, ROW_INDEX, OrcStream, Stripe
from parquet_bloom.orc.tail import StripePlace, Tail
from parquet_bloom.orc.writers import UTF8_UTC
from parquet_bloom.storage.change import Change, Version
from parquet_bloom.storage.source import Source

# Of what was copied, this much is compared at either end: the rest was copied in the same calls.
COMPARED_BYTES = 64 << 10

# The new filter streams of a stripe, by column id; columns that are not here keep theirs.
Streams = Mapping[int, FilterStreams]

# The XXH3 of each new stream, by column id and kind. The streams of a large file are too much to keep.
Digests = Mapping[int, Mapping[int, int]]


class StripesChange(Change):
    """Other filters in the stripes of `file`, all of which is written anew. Raises UnsupportedError
    if its filters cannot be changed."""

    def __init__(self, file: OrcReader) -> None:
        footers.check_writable(file.tail)
        self.file = file
        self._places: list[StripePlace] = []
        self._digests: list[Digests] = []

    @abstractmethod
    def streams_of(self, stripe: int) -> Streams:
        """The filters to change in a stripe. Asked once per stripe, in order."""

    def placed(self, stripe: int, offsets: Mapping[int, int]) -> None:
        """Called with the offset of the new filters in a stripe, by column id."""
        return

    def compose(self, version: Version) -> None:
        tail, source = self.file.tail, self.file.source
        # Which has all values, too, if it is fetched.
        version.will_append_from(source, [(0, tail.postscript_start)])
        version.append_from(source, 0, _header_length(tail))
        for index in range(len(tail.stripes)):
            streams = self.streams_of(index)
            self._places.append(self._compose_stripe(version, index, streams))
            self._digests.append(_digests(streams))
        version.append_from(source, tail.statistics_start, tail.footer_start)
        start, footer = version.size, footers.footer(tail, self._places)
        if footer == tail.footer_raw:
            # Another compressor's chunks would be of another size.
            version.append_from(source, tail.footer_start, tail.postscript_start)
        else:
            version.append(tail.compression.compressed(footer))
        postscript = footers.postscript(tail, version.size - start)
        version.append(postscript + bytes([len(postscript)]))

    def _compose_stripe(self, version: Version, index: int, streams: Streams) -> StripePlace:
        tail, source = self.file.tail, self.file.source
        old, start = tail.stripes[index], version.size
        if not streams:
            version.append_from(source, old.offset, old.end)
            return replace(old, offset=start)
        stripe = self.file.stripe(index)
        stripe.check_index()
        offsets = {}
        # Not yet copied: what follows is, in one go, until something is left out or put between.
        at = old.offset
        for stream in stripe.streams:
            if not stream.is_index or stream.column not in streams:
                continue
            end = stream.offset + stream.length
            if not _stays(stream, streams):
                version.append_from(source, at, stream.offset)
                at = end
            elif stream.kind == ROW_INDEX:
                version.append_from(source, at, end)
                at = end
                offsets[stream.column] = version.size
                for data in streams[stream.column].values():
                    version.append(data)
        index_length = version.size + old.data_start - at - start
        version.append_from(source, at, old.footer_start)
        footer = tail.compression.compressed(footers.stripe_footer(stripe, streams))
        version.append(footer)
        self.placed(index, offsets)
        return replace(old, offset=start, index_length=index_length, footer_length=len(footer))

    def verify(self, written: Source) -> None:
        """Data, row indexes and statistics must be the old ones, the filters those that were built."""
        new = OrcReader(written)
        self.file.source.will_read(self._compared())
        _verify_tail(self.file, new)
        for index, expected in enumerate(self._digests):
            stripe = new.read_stripe(index)
            if expected:
                _verify_changed(self.file, new, stripe, expected)
            else:
                _verify_unchanged(self.file, new, stripe)

    def _compared(self) -> Iterator[tuple[int, int]]:
        """Which ranges of the old file `verify` reads; all are near the footers of stripes."""
        tail = self.file.tail
        yield from _ends(0, _header_length(tail))
        yield from _ends(tail.statistics_start, tail.footer_start)
        for index, (old, changed) in enumerate(zip(tail.stripes, self._digests, strict=True)):
            if changed:
                for stream in self.file.stripe(index).streams:
                    if stream.is_index and _stays(stream, changed):
                        yield from _ends(stream.offset, stream.offset + stream.length)
                yield from _ends(old.data_start, old.footer_start)
            else:
                yield from _ends(old.offset, old.end)
            yield old.footer_start, old.end


def _header_length(tail: Tail) -> int:
    """The size of what precedes the stripes."""
    return tail.stripes[0].offset if tail.stripes else tail.statistics_start


def _digests(streams: Streams) -> Digests:
    return {
        column: {kind: xxh3_64_intdigest(data) for kind, data in of_column.items()}
        for column, of_column in streams.items()
    }


def _verify_tail(old: OrcReader, new: OrcReader) -> None:
    if footers.footer_without_places(new.tail) != footers.footer_without_places(old.tail):
        raise RewriteError("the footer differs in more than the places of stripes")
    found, expected = map(footers.postscript_without_length, (new.tail, old.tail))
    if found != expected:
        raise RewriteError("the postscript differs in more than the footer's length")
    _verify_bytes(old, 0, new, 0, _header_length(old.tail), "the first bytes")
    start, end = old.tail.statistics_start, old.tail.footer_start
    _verify_bytes(old, start, new, new.tail.statistics_start, end - start, "metadata")


def _verify_unchanged(old: OrcReader, new: OrcReader, stripe: Stripe) -> None:
    """A stripe that was copied as a whole."""
    before, now = old.tail.stripes[stripe.index], stripe.place
    length = before.end - before.offset
    if now.end - now.offset != length:
        raise RewriteError(f"{stripe.where}: {now.end - now.offset} bytes, expected {length}")
    _verify_bytes(old, before.offset, new, now.offset, length, stripe.where)


def _verify_changed(old: OrcReader, new: OrcReader, stripe: Stripe, expected: Digests) -> None:
    """Footer, index and data of one stripe."""
    before = old.stripe(stripe.index)
    stripe.check_index()
    found, kept = map(footers.stripe_footer_without_filters, (stripe, before))
    if found != kept:
        raise RewriteError(f"{stripe.where}: the footer differs in more than the filters")
    was = [each for each in before.streams if _stays(each, expected)]
    now = [each for each in stripe.streams if _stays(each, expected)]
    if [replace(each, offset=0) for each in was] != [replace(each, offset=0) for each in now]:
        raise RewriteError(f"{stripe.where}: the streams are not the old ones")
    for one, other in zip(was, now, strict=True):
        if one.is_index:
            where = f"{stripe.where}: {one.name} of column {one.column}"
            _verify_bytes(old, one.offset, new, other.offset, one.length, where)
    _verify_filters(stripe, new, expected)
    length, where = before.place.data_length, f"{stripe.where}: data"
    _verify_bytes(old, before.place.data_start, new, stripe.place.data_start, length, where)


def _stays(stream: OrcStream, changed: Collection[int]) -> bool:
    return stream.kind not in FILTER_KINDS or stream.column not in changed


def _verify_filters(stripe: Stripe, new: OrcReader, expected: Digests) -> None:
    """New streams must be as they were built, and where readers look for them."""
    for column, streams in expected.items():
        if stripe.bloom_encoding(column) != (UTF8_UTC if streams else 0):
            raise RewriteError(f"{stripe.where}: column {column} has an unexpected bloomEncoding")
        found = stripe.streams_of(column, FILTER_KINDS)
        if [each.kind for each in found] != list(streams):
            raise RewriteError(f"{stripe.where}: column {column} has unexpected filter streams")
        for stream in found:
            data = new.source.read_at(stream.offset, stream.length)
            if xxh3_64_intdigest(data) != streams[stream.kind]:
                raise RewriteError(
                    f"{stripe.where}: {stream.name} of column {column} differs from what was built"
                )


def _verify_bytes(
    old: OrcReader, old_start: int, new: OrcReader, new_start: int, length: int, where: str
) -> None:
    """Compare both ends of a range that was copied, which may be all of it."""
    moved = new_start - old_start
    for start, end in _ends(old_start, old_start + length):
        before = old.source.read_at(start, end - start)
        if before != new.source.read_at(start + moved, end - start):
            raise RewriteError(f"{where}: the copy differs")


def _ends(start: int, end: int) -> Iterable[tuple[int, int]]:
    """What is compared of a range."""
    compared = min(end - start, COMPARED_BYTES)
    return dict.fromkeys(((start, start + compared), (end - compared, end)))
