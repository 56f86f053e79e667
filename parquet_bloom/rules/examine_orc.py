"""How the filters of an ORC file are examined: one stream per column and stripe, and in it one filter
per index group. PB60x, PB61x: whether a stripe has filters where its footer says, in a valid layout, and whether its
values are as statistics say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np

from parquet_bloom.container import STRIPES, Place
from parquet_bloom.dataclass import dataclass
from parquet_bloom.diagnosis.diagnosis import Diagnosis
from parquet_bloom.errors import (
    FilterError,
    FooterError,
    FormatError,
    ParquetBloomError,
    UnsupportedError,
    without_place,
)
from parquet_bloom.filters.k_hash import WORD_BITS, KHashFilter
from parquet_bloom.orc import writers
from parquet_bloom.orc.bloom import (
    PRE_RELEASE,
    OrcKeyForm,
    decoded_filters,
    is_marked,
    is_pre_release,
    stored_bitsets,
)
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.file import OrcContainer
from parquet_bloom.orc.keys import WITHOUT_KEYS, literals, most_hashes, never_absent
from parquet_bloom.orc.membership import GroupMembership, check_groups, stores_values
from parquet_bloom.orc.proto import orc_pb2
from parquet_bloom.orc.row_index import IndexEntry, num_ignored
from parquet_bloom.orc.stripe import (
    BLOOM_FILTER_UTF8,
    FILTER_KINDS,
    ROW_INDEX,
    OrcChunk,
    OrcStream,
    Stripe,
)
from parquet_bloom.orc.values import groups, room_for_values
from parquet_bloom.rules import portability, security
from parquet_bloom.rules.finding import (
    Finding,
    chunk_finding,
    finding,
    not_checked,
)
from parquet_bloom.rules.statistics_orc import check_statistics
from parquet_bloom.rules.view import Examination, Examined, FilterView, ItemView
from parquet_bloom.values.literals import as_examples

if TYPE_CHECKING:
    from parquet_bloom.diagnosis.orc_writers import Lacking
    from parquet_bloom.native.lazy import Array

MAX_EXAMPLES: Final = 5

# So that the streams of a damaged file cannot take all of the memory.
_ROOM_FOR_STREAMS: Final = 4

# Enough for an FPP of 10^-30, or for index groups of two rows.
MOST_HASHES: Final = 100

_WORD_BYTES: Final = WORD_BITS // 8


@dataclass(frozen=True, slots=True)
class ChunkStream:
    """The stream of filters of a column in a stripe. `is_asked`: today's readers take this one."""

    chunk: OrcChunk
    stream: OrcStream
    is_asked: bool


class ChunkValues(NamedTuple):
    """A column in a stripe, all values of which are read."""

    chunk: OrcChunk


Item: TypeAlias = "ChunkStream | ChunkValues"


@dataclass(frozen=True, slots=True)
class IndexFilters:
    """The filters in a stream by index group; None where there is no usable one."""

    filters: tuple[KHashFilter | None, ...]
    key_form: OrcKeyForm
    is_marked: bool


@dataclass
class OrcExamination(Examination[Item, OrcColumn]):
    """An item is a ChunkStream, or a chunk whose values are read. Of pages, these files have index groups."""

    file: OrcContainer

    # --------------------------------------------------------------------------------------------
    # Footers

    @cached_property
    def _stripes(self) -> list[Stripe]:
        return [self.file.stripe(index) for index in self.parts]

    def opening(self) -> Examined:
        opening = Examined()
        self.file.will_read_filters(self.parts, self.columns)
        if doubt := self.file.tail.row_count_doubt:
            opening.findings.append(finding("PB115", doubt))
        if gained := self.file.gained_bytes:
            opening.findings.append(finding("PB612", gained))
            opening.has_lost_bytes = True
        for stripe in self._stripes:
            opening.findings += check_streams(self.file, stripe, self.columns)
        encrypted = [*filter(self.file.tail.is_encrypted_column, self.columns)]
        opening.num_locked = len(encrypted) * len(self._stripes)
        chunks = (OrcChunk(stripe, column) for column in encrypted for stripe in self._stripes)
        opening.findings += [security.not_encrypted(chunk) for chunk in chunks if chunk.has_filters]
        return opening

    def items(self) -> list[Item]:
        """The streams whose bits can be read. Then the chunks whose values are to be read, whether or not they have
        filters: each is read by itself, as in Parquet files."""
        chunks = [*self._readable()]
        streams = [stream for chunk in chunks for stream in _filter_streams(chunk)]
        if self.options.pages:
            self.file.will_read_values(chunks)
            return [*streams, *map(ChunkValues, chunks)]
        if self.options.deep:
            self.file.will_read_values([item.chunk for item in streams])
        return [*streams]

    def _readable(self) -> Iterator[OrcChunk]:
        for stripe in self._stripes:
            for column in self.columns:
                if not (stripe.doubt or self.file.tail.is_encrypted_column(column)):
                    yield OrcChunk(stripe, column)

    # --------------------------------------------------------------------------------------------
    # Filters

    def room(self, item: Item) -> int:
        room = room_for_values(self.file, item.chunk)
        if isinstance(item, ChunkValues):
            return room
        return room + _ROOM_FOR_STREAMS * item.stream.length

    def view(self, item: Item) -> ItemView:
        if isinstance(item, ChunkValues):
            return self._read_values(item.chunk)
        chunk, column, generation = item.chunk, item.chunk.column, self.file.generation
        index, findings = read_index(self.file, item)
        if index is None:
            return ItemView(findings)
        entries = self._row_index(chunk)
        if item.is_asked and entries is None:
            findings += self._check_row_index(chunk)
        # If there are two streams, the other one is for readers from before ORC 1.3.
        if item.is_asked:
            encoding = chunk.stripe.bloom_encoding(column.id)
            # A missing row index breaks another rule.
            has_statistics = all(entry.statistics for entry in entries or ())
            ignored = writers.ignored(
                generation, column, item.stream.kind, encoding, has_statistics=has_statistics
            )
            if not ignored and entries and num_ignored(entries) == len(entries):
                ignored = (f"ignored by ORC Java and C++: {writers.NAN_SUM} in every index group",)
            findings += portability.check_readers(chunk, ignored, generation.created_by)
            findings += portability.check_look_ups(chunk, column.kind, generation.created_by)
        sizes = [(each.num_bits, each.num_hashes) for each in index.filters if each is not None]
        findings += portability.check_evenness(chunk, sizes)
        memberships, problems = self._look_up(chunk, index)
        if item.is_asked and not self.options.pages:
            findings += check_statistics(
                self.file, chunk, [each.group if each else None for each in memberships]
            )
        # Of a writer whose filters all readers ignore, another rule says so.
        is_trusted = index.is_marked or generation.has_unknown_shifts
        if not is_trusted and not any(each and each.missing for each in memberships):
            doubt = writers.doubt_about_writer(generation, column) if item.is_asked else ""
            was_right = None not in memberships
            findings += portability.check_trust(chunk, doubt, was_right, generation.created_by)
        known = _non_null(None if never_absent(column) else entries, chunk)
        views = [
            FilterView(
                chunk=chunk,
                place=Place(chunk.stripe.index, group, STRIPES),
                bits=filter,
                policy=self.policy.for_column(column.name),
                num_values=membership.num_values if membership else known[group],
                membership=membership,
                examples=partial(_examples, column, membership),
                missing_rows=partial(getattr, membership, "rows", None),
                diagnose=partial(self._diagnosis, chunk, index, group, membership),
                foreign_from=partial(self._foreign_from, chunk, index, group, membership),
                max_bits=partial(_most_bits, column, known[group], filter),
            )
            for group, (filter, membership) in enumerate(
                zip(index.filters, memberships, strict=True)
            )
            if filter is not None
        ]
        return ItemView(findings, views, problems, num_filters=len(views))

    def _read_values(self, chunk: OrcChunk) -> ItemView:
        seen = ItemView()
        if not chunk.has_filters:
            # Who looks at the filters says so of others.
            seen.findings += self._check_row_index(chunk)
        try:
            seen.findings += check_statistics(self.file, chunk, groups(self.file, chunk))
            seen.num_pages = seen.num_unsummed = chunk.stripe.num_index_groups
        except (FormatError, UnsupportedError) as error:
            seen.problems.append(_unread(chunk, error))
        return seen

    def _look_up(
        self, chunk: OrcChunk, index: IndexFilters
    ) -> tuple[Sequence[GroupMembership | None], list[Finding]]:
        """What the values of each index group say; or nothing and why they cannot be looked up."""
        nothing: list[GroupMembership | None] = [None] * len(index.filters)
        if not self.options.deep or chunk.column.kind in WITHOUT_KEYS:
            return nothing, []
        try:
            found = check_groups(self.file, chunk, index.filters, index.key_form, index.is_marked)
            return list(found), []
        except (FormatError, UnsupportedError) as error:
            return nothing, [_unread(chunk, error)]

    def _diagnosis(
        self, chunk: OrcChunk, index: IndexFilters, group: int, membership: GroupMembership | None
    ) -> Diagnosis | str | None:
        """What the writer did instead if values are missing, or what was tried; None if nobody asked."""
        if membership is None or membership.is_missing is None or not self.options.diagnose:
            return None
        from parquet_bloom.diagnosis.orc_writers import diagnose, unexplained

        lacking = self._lacking(chunk, index, group, membership, membership.is_missing)
        return diagnose(lacking) or unexplained(lacking)

    def _foreign_from(
        self, chunk: OrcChunk, index: IndexFilters, group: int, membership: GroupMembership | None
    ) -> str | None:
        """What the writer hashed beside the values, unless pbloom built the filters, or that bytes were overwritten;
        None if that is not known."""
        if membership is None:
            return None
        from parquet_bloom.diagnosis.orc_writers import overwritten, where_foreign_bits_are_from

        are_all = np.ones(len(membership.values), np.bool_)
        lacking = self._lacking(chunk, index, group, membership, are_all)
        return overwritten(lacking) if index.is_marked else where_foreign_bits_are_from(lacking)

    def _lacking(
        self,
        chunk: OrcChunk,
        index: IndexFilters,
        group: int,
        membership: GroupMembership,
        is_missing: Array,
    ) -> Lacking:
        from parquet_bloom.diagnosis.orc_writers import Lacking

        filter, stripe = index.filters[group], chunk.stripe
        assert filter is not None
        first_row = stripe.first_row + stripe.group_first_row(group)
        num_rows, rows = stripe.group_num_rows(group), membership.rows
        return Lacking(
            column=chunk.column,
            key_form=index.key_form,
            generation=self.file.generation,
            filter=filter,
            values=membership.values,
            is_missing=is_missing,
            foreign_bits=membership.foreign_bits,
            first_row=first_row,
            num_rows=num_rows,
            may_be_damage=rows is not None and rows.may_be_damage(first_row, num_rows),
        )

    # --------------------------------------------------------------------------------------------
    # Columns, and the file

    def columns_called(self, name: str) -> Sequence[OrcColumn]:
        return self.file.columns_called(name)

    def reason_for_none(self, column: OrcColumn) -> str | None:
        return never_absent(column)

    def why_not_asked(self, column: OrcColumn) -> str:
        built = BLOOM_FILTER_UTF8, writers.UTF8_UTC
        java, cpp = writers.ignored_by(self.file.generation, column, *built)
        return java if java == cpp and java else writers.not_asked(column)

    def room_for(self, name: str) -> int | None:
        """Of elements of lists and entries of maps, an index group may have more than rows."""
        chunks = (
            OrcChunk(stripe, column)
            for column in self.columns_called(name)
            for stripe in self._stripes
        )
        counts = (count for each in chunks for count in _non_null(self._row_index(each), each))
        most = max((count for count in counts if count is not None), default=0)
        return most if most > self.file.tail.row_index_stride > 0 else None

    def parts_without(self, column: OrcColumn) -> list[int]:
        return [
            stripe.index for stripe in self._stripes if not OrcChunk(stripe, column).has_filters
        ]

    def has_values(self, part: int, column: OrcColumn) -> bool:
        """As the row index says; if it does not and the column may be read, as that says."""
        chunk = OrcChunk(self.file.stripe(part), column)
        known = _non_null(self._row_index(chunk), chunk)
        if None not in known:
            return any(known)
        if not self.options.deep:
            return True
        try:
            return stores_values(self.file, chunk)
        except (FormatError, UnsupportedError):
            return True

    def filter_bytes(self) -> int:
        streams = (stream for stripe in self._stripes for stream in stripe.streams)
        return sum(stream.length for stream in streams if stream.kind in FILTER_KINDS)

    def _check_row_index(self, chunk: OrcChunk) -> Iterator[Finding]:
        try:
            self.file.row_index(chunk.stripe.index, chunk.column)
        except FormatError as error:
            reason = without_place(error, chunk.where, chunk.stripe.where)
            yield chunk_finding("PB613", chunk, reason)
        except UnsupportedError:
            return

    def _row_index(self, chunk: OrcChunk) -> Sequence[IndexEntry] | None:
        """By index group; None if there is none that can be read."""
        try:
            return self.file.row_index(chunk.stripe.index, chunk.column)
        except ParquetBloomError:
            return None


def _unread(chunk: OrcChunk, error: FormatError | UnsupportedError) -> Finding:
    """Why values could not be read."""
    reason = without_place(error, chunk.where, chunk.stripe.where)
    if isinstance(error, UnsupportedError):
        return not_checked(chunk, reason)
    return chunk_finding("PB611", chunk, reason)


def _filter_streams(chunk: OrcChunk) -> Iterator[ChunkStream]:
    latest = max((stream.kind for stream in chunk.filter_streams), default=None)
    for stream in chunk.filter_streams:
        yield ChunkStream(chunk, stream, is_asked=stream.kind == latest)


def _non_null(entries: Sequence[IndexEntry] | None, chunk: OrcChunk) -> list[int | None]:
    """The number of non-null values by index group; None where the row index does not tell."""
    if entries is None:
        return [None] * chunk.stripe.num_index_groups
    return [entry.statistics.num_values if entry.statistics else None for entry in entries]


def _most_bits(column: OrcColumn, num_values: int | None, filter: KHashFilter) -> int | None:
    """How many bits so many values can set; None if unknown."""
    hashes = None if num_values is None else most_hashes(column, num_values)
    return None if hashes is None else hashes * filter.num_hashes


def _examples(column: OrcColumn, membership: GroupMembership | None) -> tuple[str, ...]:
    if membership is None:
        return ()
    return as_examples(literals(column, membership.examples(MAX_EXAMPLES)))


# ------------------------------------------------------------------------------------------------
# The structure of a stripe


def check_streams(
    file: OrcContainer, stripe: Stripe, columns: Sequence[OrcColumn]
) -> Iterator[Finding]:
    """What the stripe's footer says about the filters of these columns as a whole."""
    streams = [stream for stream in stripe.streams if stream.kind in FILTER_KINDS]
    if not streams:
        return
    place = Place(stripe.index, units=STRIPES)
    if stripe.doubt:
        message = f"{stripe.doubt}: readers look for the filters in different bytes"
        yield finding("PB601", message, place=place)
    for stream in streams:
        if stream.column >= len(file.tail.columns):
            yield finding(
                "PB608",
                f"there is a {stream.name} stream for a column that the file does not have",
                place=place,
                expected=f"0 to {len(file.tail.columns) - 1}",
                found=stream.column,
            )
    for column in columns:
        yield from _check_column(OrcChunk(stripe, column))


def _check_column(chunk: OrcChunk) -> Iterator[Finding]:
    streams = chunk.filter_streams
    if streams and not chunk.stripe.streams_of(chunk.column.id, (ROW_INDEX,)):
        yield chunk_finding(
            "PB609", chunk, "there are filters but no row index, without which no reader asks them"
        )
    for name, number in Counter(stream.name for stream in streams).items():
        if number > 1:
            yield chunk_finding(
                "PB610",
                chunk,
                f"there are {number} {name} streams: readers differ in which one they take",
                expected=1,
                found=number,
            )


def read_index(file: OrcContainer, item: ChunkStream) -> tuple[IndexFilters | None, list[Finding]]:
    """The filters in a stream of a sound stripe, and what is wrong with them; None if nothing in it
    can be used."""
    chunk, stream = item.chunk, item.stream
    places = chunk.where, chunk.stripe.where
    try:
        data = file.read_stream(chunk.stripe, stream)
        if is_pre_release(data, stream.kind, chunk.where):
            message = f"{PRE_RELEASE}: today's readers lose nearly every row"
            return None, [chunk_finding("PB603", chunk, message)]
        stored = decoded_filters(orc_pb2.BloomFilterIndex, data, chunk.where)
    except UnsupportedError as error:
        return None, [not_checked(chunk, without_place(error, *places))]
    except FooterError as error:
        named = f"{stream.name} of column {stream.column}"
        message = f"the {stream.name} stream: {without_place(error, *places, named)}"
        return None, [chunk_finding("PB602", chunk, message)]
    if len(stored) != chunk.stripe.num_index_groups:
        problem = chunk_finding(
            "PB604",
            chunk,
            f"the {stream.name} stream does not have one filter per index group",
            expected=chunk.stripe.num_index_groups,
            found=len(stored),
        )
        return None, [problem]
    marked = is_marked(data)
    key_form = file.key_form(chunk.stripe, stream, marked)
    problems = [
        problem for group, each in enumerate(stored) for problem in _check_filter(item, group, each)
    ]
    return IndexFilters(tuple(map(_usable, stored)), key_form, marked), problems


def _usable(stored: Any) -> KHashFilter | None:
    """A filter whose bits can be read, whatever else is wrong."""
    words, text = stored_bitsets(stored)
    if words and text and words != text:
        return None
    try:
        return KHashFilter.from_bytes(words or text, stored.numHashFunctions)
    except FilterError:
        return None


def _check_filter(item: ChunkStream, group: int, stored: Any) -> Iterator[Finding]:
    words, text = stored_bitsets(stored)
    bitset = words or text
    report = partial(
        finding,
        place=Place(item.chunk.stripe.index, group, STRIPES),
        column=item.chunk.column.name,
    )
    if words and text and words != text:
        message = "bitset and utf8bitset differ: some readers take one, some the other"
        yield report("PB606", message)
    if not bitset or len(bitset) % _WORD_BYTES:
        yield report(
            "PB605",
            "the bitset is not a whole number of words",
            expected=f"a positive multiple of {_WORD_BYTES} bytes",
            found=len(bitset),
        )
    if not 1 <= stored.numHashFunctions <= MOST_HASHES:
        yield report(
            "PB607",
            "every look-up computes this many hashes, which no reasonable target needs",
            expected=f"1 to {MOST_HASHES} hashes",
            found=stored.numHashFunctions,
        )
    field, own = (
        ("utf8bitset", text) if item.stream.kind == BLOOM_FILTER_UTF8 else ("bitset", words)
    )
    present = {"numHashFunctions": stored.HasField("numHashFunctions"), field: own}
    lacking = [name for name, is_there in present.items() if not is_there]
    if bitset and lacking:
        yield report(
            "PB624",
            "ORC C++ ignores a filter without all of its fields",
            expected=f"numHashFunctions and {field}",
            found=f"no {' and no '.join(lacking)}",
        )
