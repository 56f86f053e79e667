"""Change the filters in an ORC file: what build, repair and strip share.

    old   | header | index, data, footer | index, data, footer | ... | metadata | footer | postscript |
    new   | header | index, data, footer | index, data, footer | ... | metadata | footer | postscript |
                     ^ changed     ^ changed, if a filter is                       ^ changed  ^ changed

Nothing in a file says where a stream begins, so filters can only stand where readers look for them:
in the index region of each stripe, behind the row index of their column. All stripes move, and so
the whole file is copied: data streams, row indexes and statistics byte for byte. Padding between
stripes is left out.

Spec: apache/orc-format, specification/ORCv1.md; orc-core, StripePlanner for the order of streams.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from xxhash import xxh3_64_intdigest

from parquet_bloom.container import STRIPES, Place, RemovedFilters, StripChange
from parquet_bloom.errors import FormatError, RewriteError, UnsupportedError, without_place
from parquet_bloom.options import Selection
from parquet_bloom.orc import wire
from parquet_bloom.orc.reader import OrcReader
from parquet_bloom.orc.stripe import FILTER_KINDS, ROW_INDEX, OrcStream, Stripe
from parquet_bloom.orc.tail import MAX_POSTSCRIPT_BYTES, StripePlace, Tail
from parquet_bloom.orc.writers import UTF8_UTC
from parquet_bloom.storage.change import Change, Version
from parquet_bloom.storage.source import Source

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
        file.check_writable()
        self.file = file
        self._places: list[StripePlace] = []
        self._digests: list[Digests] = []
        self._footer_digest = 0

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
        start, edited = version.size, footer(tail, self._places)
        self._footer_digest = xxh3_64_intdigest(edited)
        if edited == tail.footer_raw:
            # Another compressor's chunks would be of another size.
            version.append_from(source, tail.footer_start, tail.postscript_start)
        else:
            version.append(tail.compression.compressed(edited))
        end = postscript(tail, version.size - start)
        version.append(end + bytes([len(end)]))

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
        edited = tail.compression.compressed(stripe_footer(stripe, streams))
        version.append(edited)
        self.placed(index, offsets)
        return replace(old, offset=start, index_length=index_length, footer_length=len(edited))

    def verify(self, written: Source) -> None:
        """Data, row indexes and statistics must be the old ones, the filters those that were built."""
        new = OrcReader(written)
        self.file.source.will_read(self._compared())
        _verify_tail(self.file, new)
        if xxh3_64_intdigest(new.tail.footer_raw) != self._footer_digest:
            raise RewriteError("the footer differs from what was written")
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


class OrcStrip(StripesChange, StripChange):
    """No filters for what is selected."""

    def __init__(self, file: OrcReader, selection: Selection) -> None:
        super().__init__(file)
        names = {column.id: column.name for column in file.select(selection.columns)}
        self._gone: dict[int, dict[int, FilterStreams]] = {}
        self.removed: list[RemovedFilters] = []
        wanted = file.select_parts(selection.parts)
        file.will_read_stripes(wanted)
        for index in wanted:
            stripe = file.stripe(index)
            for stream in stripe.streams:
                if stream.kind not in FILTER_KINDS or stream.column not in names:
                    continue
                self._gone.setdefault(index, {})[stream.column] = {}
                removed = RemovedFilters(
                    place=Place(index, units=STRIPES),
                    column=names[stream.column],
                    num_filters=stripe.num_index_groups,
                    offset=stream.offset,
                    stream=stream.name,
                    length=stream.length,
                )
                self.removed.append(removed)

    @property
    def is_idle(self) -> bool:
        return not self.removed

    def streams_of(self, stripe: int) -> Streams:
        return self._gone.get(stripe, {})

    def verify(self, written: Source) -> None:
        super().verify(written)
        self.notes = [*self._damaged_indexes()]

    def _damaged_indexes(self) -> Iterator[str]:
        """Where `validate` says PB613 of filters, and nothing once they are gone. The row indexes have just
        been compared, so that nothing more is read of any but the largest."""
        for index, gone in self._gone.items():
            for column in gone:
                try:
                    self.file.row_index(index, self.file.tail.columns[column])
                except UnsupportedError:
                    continue
                except FormatError as error:
                    reason = without_place(error, self.file.path)
                    yield (
                        f"{reason}: readers that skip by the row index may fail (PB613), and without filters nothing"
                        " tells: take another copy of the file"
                    )


def _header_length(tail: Tail) -> int:
    """The size of what precedes the stripes."""
    return tail.stripes[0].offset if tail.stripes else tail.statistics_start


def _digests(streams: Streams) -> Digests:
    return {
        column: {kind: xxh3_64_intdigest(data) for kind, data in of_column.items()}
        for column, of_column in streams.items()
    }


def _verify_tail(old: OrcReader, new: OrcReader) -> None:
    if footer_without_places(new.tail) != footer_without_places(old.tail):
        raise RewriteError("the footer differs in more than the places of stripes")
    found, expected = map(postscript_without_length, (new.tail, old.tail))
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
    found, kept = (stripe_footer_without_filters(each, expected) for each in (stripe, before))
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


# ------------------------------------------------------------------------------------------------
# Footers, edited as bytes, so that unknown fields stay as they are


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


def stripe_footer_without_filters(stripe: Stripe, changed: Collection[int]) -> bytes:
    """A stripe's footer without what it says about the filters of the columns with these ids."""

    def kept(index: int, payload: bytes) -> Iterable[bytes]:
        return [payload] if _stays(stripe.streams[index], changed) else []

    def plain(column: int, payload: bytes) -> Iterable[bytes]:
        return [wire.replaced(payload, {_BLOOM_ENCODING: b""}) if column in changed else payload]

    return _edited(_edited(stripe.footer_raw, _STREAMS, kept), _ENCODINGS, plain)


def footer_without_places(tail: Tail) -> bytes:
    """The file's footer without the places of stripes."""

    def unmoved(index: int, payload: bytes) -> Iterable[bytes]:
        return [wire.replaced(payload, {_OFFSET: b"", _INDEX_LENGTH: b"", _FOOTER_LENGTH: b""})]

    return wire.replaced(_edited(tail.footer_raw, _STRIPES, unmoved), {_CONTENT_LENGTH: b""})


def postscript_without_length(tail: Tail) -> bytes:
    """The postscript without the footer's length."""
    return wire.replaced(tail.postscript_raw, {_TAIL_LENGTH: b""})
