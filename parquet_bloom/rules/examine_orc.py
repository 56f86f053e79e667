"""How the filters of an ORC file are examined: those of each column in a stripe, which are one stream,
and in it those of each index group."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final

from parquet_bloom.container import STRIPES, Place
from parquet_bloom.diagnosis.diagnosis import Diagnosis
from parquet_bloom.errors import FormatError, ParquetBloomError, UnsupportedError
from parquet_bloom.filters.k_hash import KHashFilter
from parquet_bloom.options import ValidateOptions
from parquet_bloom.orc import writers
from parquet_bloom.orc.arrow_values import literals
from parquet_bloom.orc.build import room_of_values
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.file import OrcFile
from parquet_bloom.orc.keys.key_hashes import never_absent
from parquet_bloom.orc.membership import GroupMembership, check_groups, stores_values
from parquet_bloom.orc.row_index import IndexEntry
from parquet_bloom.orc.stripe import FILTER_KINDS, OrcChunk
from parquet_bloom.rules import portability, security, structure_orc
from parquet_bloom.rules.finding import (
    Finding,
    chunk_finding,
    not_checked,
    without_place,
)
from parquet_bloom.rules.policy import Policy
from parquet_bloom.rules.structure_orc import IndexFilters, StoredChunk
from parquet_bloom.rules.view import FilterView, Look, Opening
from parquet_bloom.values.literals import LONGEST

MAX_EXAMPLES: Final = 5

# Without an end, the streams of a damaged file could take all of the memory.
_ROOM_FOR_STREAMS: Final = 4


@dataclass
class OrcExamination:
    """See view.Examination; an item is a StoredChunk."""

    file: OrcFile
    options: ValidateOptions
    policy: Policy

    @cached_property
    def _columns(self) -> tuple[OrcColumn, ...]:
        return self.file.select(self.options.columns)

    # --------------------------------------------------------------------------------------------
    # Footers

    def opening(self) -> Opening:
        opening = Opening()
        for index in range(self.file.num_stripes):
            stripe = self.file.stripe(index)
            opening.findings += structure_orc.check_streams(self.file, stripe, self._columns)
        for column in self._columns:
            if self.file.tail.is_encrypted_column(column):
                chunks = (self._chunk(index, column) for index in range(self.file.num_stripes))
                opening.findings += (
                    security.not_encrypted(chunk) for chunk in chunks if chunk.has_filters
                )
        return opening

    def _chunk(self, stripe: int, column: OrcColumn) -> OrcChunk:
        return OrcChunk(self.file.stripe(stripe), column)

    def items(self) -> list[StoredChunk]:
        """The streams whose bits can be looked at."""
        return [
            item
            for index in range(self.file.num_stripes)
            if not self.file.stripe(index).doubt
            for column in self._columns
            if not self.file.tail.is_encrypted_column(column)
            for item in _streams_of(self._chunk(index, column))
        ]

    # --------------------------------------------------------------------------------------------
    # Filters

    def room(self, item: StoredChunk) -> int:
        return room_of_values(self.file, item.chunk) + _ROOM_FOR_STREAMS * item.stream.length

    def look(self, item: StoredChunk) -> Look:
        chunk = item.chunk
        index, findings = structure_orc.read_index(self.file, item)
        if index is None:
            return Look(findings)
        entries = self._row_index(chunk)
        if item.is_asked:
            findings += self._check_readers(item, entries)
        sizes = [(each.num_bits, each.num_hashes) for each in index.filters if each is not None]
        findings += portability.check_evenness(chunk, sizes)
        memberships, problems = self._look_up(chunk, index)
        known = _non_null(entries, chunk.stripe.num_index_groups)
        views = [
            self._view(chunk, index, group, filter, memberships[group], known[group])
            for group, filter in enumerate(index.filters)
            if filter is not None
        ]
        return Look(findings, views, problems, num_filters=len(views))

    def _check_readers(
        self, item: StoredChunk, entries: Sequence[IndexEntry] | None
    ) -> Iterator[Finding]:
        """Where there are two streams, the one that is not asked is for readers of before ORC 1.3."""
        generation, chunk = self.file.generation, item.chunk
        ignored = writers.ignored(
            generation,
            chunk.column,
            item.stream.kind,
            chunk.stripe.bloom_encoding(chunk.column.id),
            # That there is no row index is another rule.
            has_statistics=all(entry.statistics for entry in entries or ()),
        )
        return portability.check_readers(chunk, ignored, generation.created_by)

    def _look_up(
        self, chunk: OrcChunk, index: IndexFilters
    ) -> tuple[Sequence[GroupMembership | None], list[Finding]]:
        """What the values say of each index group; nothing, and why, if they cannot be looked up."""
        nothing: list[GroupMembership | None] = [None] * len(index.filters)
        if not self.options.deep or never_absent(chunk.column):
            return nothing, []
        places = chunk.where, chunk.stripe.where
        try:
            found = check_groups(self.file, chunk, index.filters, index.key_form, index.is_marked)
            return list(found), []
        except UnsupportedError as error:
            return nothing, [not_checked(chunk, without_place(error, *places))]
        except FormatError as error:
            return nothing, [chunk_finding("PB611", chunk, without_place(error, *places))]

    def _view(
        self,
        chunk: OrcChunk,
        index: IndexFilters,
        group: int,
        filter: KHashFilter,
        membership: GroupMembership | None,
        known: int | None,
    ) -> FilterView:
        if membership is not None:
            num_values: int | None = membership.num_values
        else:
            num_values = None if never_absent(chunk.column) else known
        return FilterView(
            chunk=chunk,
            place=Place(chunk.stripe.index, group, STRIPES),
            bits=filter,
            policy=self.policy.for_column(chunk.column.name),
            num_values=num_values,
            membership=membership,
            examples=partial(_examples, chunk.column, membership),
            diagnose=partial(self._diagnosis, chunk, index, group, membership),
        )

    def _diagnosis(
        self, chunk: OrcChunk, index: IndexFilters, group: int, membership: GroupMembership | None
    ) -> Diagnosis | None:
        """What the writer did instead, where values are missing."""
        if membership is None or not self.options.diagnose:
            return None
        from parquet_bloom.diagnosis.orc_writers import Lacking, diagnose

        filter, stripe = index.filters[group], chunk.stripe
        assert filter is not None
        return diagnose(
            Lacking(
                column=chunk.column,
                key_form=index.key_form,
                generation=self.file.generation,
                filter=filter,
                values=membership.values,
                is_missing=membership.is_missing,
                first_row=stripe.first_row + stripe.group_first_row(group),
                num_rows=stripe.group_num_rows(group),
            )
        )

    # --------------------------------------------------------------------------------------------
    # Columns, and the file

    def about_writer(self, right: Collection[Any]) -> list[Finding]:
        """Each filter is told by rules of its own."""
        return []

    def columns(self) -> Sequence[OrcColumn]:
        return self._columns

    def column(self, name: str) -> OrcColumn | None:
        return {column.name: column for column in self.file.tail.columns[1:]}.get(name)

    def parts_without(self, column: OrcColumn) -> list[int]:
        stripes = range(self.file.num_stripes)
        return [index for index in stripes if not self._chunk(index, column).has_filters]

    def has_values(self, part: int, column: OrcColumn) -> bool:
        """Where the row index does not tell, the column does, if it may be read."""
        chunk = self._chunk(part, column)
        known = _non_null(self._row_index(chunk), chunk.stripe.num_index_groups)
        if None not in known:
            return any(known)
        if not self.options.deep:
            return True
        try:
            return stores_values(self.file, chunk)
        except (FormatError, UnsupportedError):
            return True

    def deserves_filters(self, part: int, column: OrcColumn) -> bool:
        return self.has_values(part, column)

    def is_hidden(self, part: int, column: OrcColumn) -> bool:
        return False

    def filter_bytes(self) -> int:
        return sum(
            stream.length
            for index in range(self.file.num_stripes)
            for stream in self.file.stripe(index).streams
            if stream.kind in FILTER_KINDS
        )

    def closing(self) -> list[Finding]:
        return []

    def _row_index(self, chunk: OrcChunk) -> Sequence[IndexEntry] | None:
        """By index group; None where there is none that can be read."""
        try:
            return self.file.row_index(chunk.stripe.index, chunk.column)
        except ParquetBloomError:
            return None


def _streams_of(chunk: OrcChunk) -> Iterator[StoredChunk]:
    latest = max((stream.kind for stream in chunk.filter_streams), default=None)
    for stream in chunk.filter_streams:
        yield StoredChunk(chunk, stream, is_asked=stream.kind == latest)


def _non_null(entries: Sequence[IndexEntry] | None, num_index_groups: int) -> list[int | None]:
    """By index group, how many values are not null; None where the row index does not tell."""
    if entries is None:
        return [None] * num_index_groups
    return [entry.statistics.num_values if entry.statistics else None for entry in entries]


def _examples(column: OrcColumn, membership: GroupMembership | None) -> tuple[str, ...]:
    if membership is None:
        return ()
    texts = literals(column, membership.examples(MAX_EXAMPLES))
    return tuple(text if len(text) <= LONGEST else f"{text[:LONGEST]}…" for text in texts)
