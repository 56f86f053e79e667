"""PB7xx: legacy filters, wherever they are.

Their places can be checked without the values. To check their bits takes the values in any case: they
also reveal the hash.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Unpack

from parquet_bloom.dataclass import dataclass
from parquet_bloom.engines.reading import engine_note
from parquet_bloom.errors import FilterError, FormatError, UnsupportedError, without_place
from parquet_bloom.legacy.chunk_filters import headers_at
from parquet_bloom.legacy.membership import LegacyMembership, check_membership
from parquet_bloom.legacy.murmur3 import block_filter
from parquet_bloom.legacy.murmur3.block_filter import FIELD_POINTER, NOTE_POINTER, BlockFilterPlace
from parquet_bloom.legacy.murmur3.pointers import Note, note_of
from parquet_bloom.legacy.statistics import stored as statistics
from parquet_bloom.legacy.statistics.dialect import NAMES_TODAY
from parquet_bloom.options import ValidateOptions
from parquet_bloom.rules.finding import (
    Details,
    Finding,
    chunk_finding,
    diagnosed,
    not_checked,
)
from parquet_bloom.rules.view import Examined

if TYPE_CHECKING:
    from parquet_bloom.parquet.file import ParquetContainer
    from parquet_bloom.parquet.filters.legacy_kind import LegacyFilter
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk

UNDIAGNOSED = "no diagnosis: legacy filters are only read as their dialects define them"


def published(file: ParquetContainer, chunk: ColumnChunk) -> Finding:
    """The finding that bloom_filter_offset leads to a legacy filter."""
    layout = headers_at(file, chunk)[0].layout
    return chunk_finding(
        "PB701",
        chunk,
        f"bloom_filter_offset leads to a legacy filter: {engine_note('a published murmur3 filter')}",
        expected="a header of today's format",
        found=f"a {layout} header",
    )


def examine(file: ParquetContainer, chunk: ColumnChunk, options: ValidateOptions) -> Examined:
    """Check the legacy filters of a chunk that is not encrypted."""
    filters = _LegacyFilters(file, chunk, options.diagnose)
    filters.find()
    examined = filters.examined
    examined.num_filters = bool(filters.places) + (filters.stored is not None)
    if options.deep:
        filters.look_up()
    return examined


@dataclass(slots=True)
class _LegacyFilters:
    """The legacy filters of one chunk, and what is wrong with them.

    `places`: every way to read the one that bloom_filter_offset or a note leads to, the likeliest
    first; only `noted` if there is a note. `stored`: the one in the Statistics.
    """

    file: ParquetContainer
    chunk: ColumnChunk
    may_diagnose: bool
    examined: Examined = field(default_factory=Examined)
    places: list[BlockFilterPlace] = field(default_factory=list)
    noted: BlockFilterPlace | None = None
    stored: statistics.StoredStatisticsFilter | None = None

    def _report(self, rule: str, message: str, **details: Unpack[Details]) -> None:
        self.examined.findings.append(chunk_finding(rule, self.chunk, message, **details))

    @contextmanager
    def _filter_errors_as(self, rule: str) -> Iterator[None]:
        try:
            yield
        except FilterError as error:
            self._report(rule, without_place(error, self.file.path, self.chunk.where))

    # --------------------------------------------------------------------------------------------
    # Without the values

    def find(self) -> None:
        """Find them, by the footer and by headers."""
        note, offset = None, self.chunk.bloom_filter_offset
        with self._filter_errors_as("PB702"):
            note = note_of(self.file.footer, self.chunk)
        if headers_at(self.file, self.chunk):
            self.examined.findings.append(published(self.file, self.chunk))
            with self._filter_errors_as("PB702"):
                self._find_blocks(FIELD_POINTER, offset or 0, note)
        if note is not None and note.offset != offset:
            with self._filter_errors_as("PB702"):
                self._find_blocks(NOTE_POINTER, note.offset, note)
        with self._filter_errors_as("PB702"):
            self._find_statistics()

    def _find_blocks(self, pointer: str, offset: int, note: Note | None) -> None:
        found = block_filter.headers_in_place(self.file, self.chunk, pointer, offset)
        places = block_filter.places(pointer, offset, found)
        if note is not None and note.offset == offset:
            self.noted = block_filter.noted_place(self.file, self.chunk, note, found)
            self.places = [self.noted, *places]
        elif all(header.is_power_of_two for header in found):
            self.places = places
        else:
            self._report(
                "PB703",
                "the size of a legacy bitset is not a power of two, but a mask selects its blocks",
                expected="a power of two",
                found=found[0].num_bytes,
            )

    def _find_statistics(self) -> None:
        self.stored = statistics.read_stored(self.file.footer, self.chunk)
        if self.stored is not None and self.stored.field_id in NAMES_TODAY:
            self._report(
                "PB704",
                f"a struct is stored where {NAMES_TODAY[self.stored.field_id]} belongs today:"
                f" {engine_note('a struct in Statistics')}",
                expected=f"no struct in field {self.stored.field_id} of Statistics",
            )

    # --------------------------------------------------------------------------------------------
    # With the values

    def look_up(self) -> None:
        """ItemView up every stored value in each of the filters."""
        for check in (self._check_blocks, self._check_statistics):
            try:
                check()
            except UnsupportedError as error:
                reason = without_place(error, self.file.path, self.chunk.where)
                self.examined.findings.append(not_checked(self.chunk, reason))
            except FormatError as error:
                self._report("PB116", without_place(error, self.file.path, self.chunk.where))

    def _check_blocks(self) -> None:
        if self.noted is not None:
            self._check_noted(self.noted)
        elif self.places:
            filter = None
            with self._filter_errors_as("PB706"):
                filter = block_filter.fitting(self.file, self.chunk, self.places).reading
            if filter is not None:
                self._check_values(filter)

    def _check_noted(self, noted: BlockFilterPlace) -> None:
        filter = block_filter.read(self.file, self.chunk, noted)
        membership = self._membership(filter)
        if not membership.missing:
            return
        try:
            other = block_filter.fitting(self.file, self.chunk, self.places[1:]).checked()
        except FilterError:
            other = filter
        if other.hash == filter.hash:
            self._report_missing(filter, membership)
            return
        self._report(
            "PB707",
            "the note does not name the hash that finds the values",
            expected=other.hash,
            found=filter.hash,
        )

    def _check_statistics(self) -> None:
        if self.stored is None:
            return
        filter = statistics.said(self.stored, self.chunk.leaf.type)
        if filter is None:
            with self._filter_errors_as("PB706"):
                filter = statistics.fitting(self.file, self.chunk, self.stored).reading
        if filter is not None:
            self._check_values(filter)

    def _check_values(self, filter: LegacyFilter) -> None:
        membership = self._membership(filter)
        if membership.missing:
            self._report_missing(filter, membership)

    def _membership(self, filter: LegacyFilter) -> LegacyMembership:
        membership = check_membership(self.file, self.chunk, filter)
        self.examined.num_values += membership.num_values
        return membership

    def _report_missing(self, filter: LegacyFilter, membership: LegacyMembership) -> None:
        self._report(
            "PB705",
            f"{membership.missing:,} of {membership.num_values:,} stored values"
            f" {'is' if membership.missing == 1 else 'are'} not in the"
            f" {filter.dialect} filter ({filter.hash}): readers that use it lose their rows",
            expected=0,
            found=membership.missing,
            rows=membership.rows,
            examples=membership.examples,
            **diagnosed(UNDIAGNOSED if self.may_diagnose else None),
        )
