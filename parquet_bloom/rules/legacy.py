"""PB7xx: legacy filters, wherever they are.

Their places are checked without a look at values. What their bits say takes values in any case: they
tell the hash, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from parquet_bloom.errors import FilterError, FormatError, UnsupportedError
from parquet_bloom.legacy.chunk_filters import headers_at
from parquet_bloom.legacy.membership import LegacyMembership, check_membership
from parquet_bloom.legacy.murmur3 import block_filter
from parquet_bloom.legacy.murmur3.block_filter import FIELD_POINTER, NOTE_POINTER, Place
from parquet_bloom.legacy.murmur3.dialect import ON_PUBLISHED
from parquet_bloom.legacy.murmur3.pointers import Note, note_of
from parquet_bloom.legacy.statistics import stored as statistics
from parquet_bloom.legacy.statistics.dialect import NAMES_TODAY
from parquet_bloom.rules.finding import Finding, chunk_finding, not_checked, without_place


@dataclass(frozen=True, slots=True)
class LegacyFilters:
    """What is known of a chunk's legacy filters before values are looked at.

    `places`: every way to read the one that bloom_filter_offset or a note leads to, the likeliest
    first, and the one that the note says alone in `noted`. `stored`: the one in Statistics.
    """

    findings: list[Finding] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    noted: Place | None = None
    stored: statistics.StoredStatisticsFilter | None = None

    @property
    def num_filters(self) -> int:
        return bool(self.places) + (self.stored is not None)


def look_at(file: Any, chunk: Any) -> LegacyFilters:
    """What the footer and headers say of the legacy filters of a chunk that is not encrypted."""
    found = LegacyFilters()
    note = _note(file, chunk, found)
    offset = chunk.bloom_filter_offset
    if headers_at(file, chunk):
        found.findings.append(published(file, chunk))
        found = _with_places(file, chunk, found, FIELD_POINTER, offset or 0, note)
    if note is not None and note.offset != offset:
        found = _with_places(file, chunk, found, NOTE_POINTER, note.offset, note)
    return _with_statistics(file, chunk, found)


def published(file: Any, chunk: Any) -> Finding:
    """That bloom_filter_offset leads to one."""
    layout = headers_at(file, chunk)[0].layout
    return chunk_finding(
        "PB701",
        chunk,
        f"bloom_filter_offset leads to a legacy filter: {ON_PUBLISHED}",
        expected="a header of today",
        found=f"a {layout} header",
    )


def _note(file: Any, chunk: Any, found: LegacyFilters) -> Note | None:
    try:
        return note_of(file.footer, chunk)
    except FilterError as error:
        found.findings.append(_none_readable(file, chunk, error))
        return None


def _none_readable(file: Any, chunk: Any, error: FilterError) -> Finding:
    return chunk_finding("PB702", chunk, without_place(error, file.path, chunk.where))


def _with_places(
    file: Any, chunk: Any, legacy: LegacyFilters, pointer: str, offset: int, note: Note | None
) -> LegacyFilters:
    try:
        found = block_filter.headers_in_place(file, chunk, pointer, offset)
        if note is not None and note.offset == offset:
            noted = block_filter.noted_place(file, chunk, note, found)
            places = [noted, *block_filter.places(pointer, offset, found)]
            return replace(legacy, places=places, noted=noted)
    except FilterError as error:
        legacy.findings.append(_none_readable(file, chunk, error))
        return legacy
    if not all(header.is_power_of_two for header in found):
        legacy.findings.append(
            chunk_finding(
                "PB703",
                chunk,
                "the size of a legacy bitset is not a power of two, and a mask selects its blocks",
                expected="a power of two",
                found=found[0].num_bytes,
            )
        )
        return legacy
    return replace(legacy, places=block_filter.places(pointer, offset, found), noted=None)


def _with_statistics(file: Any, chunk: Any, legacy: LegacyFilters) -> LegacyFilters:
    try:
        stored = statistics.read_stored(file.footer, chunk)
    except FilterError as error:
        legacy.findings.append(_none_readable(file, chunk, error))
        return legacy
    if stored is None:
        return legacy
    if stored.field_id in NAMES_TODAY:
        legacy.findings.append(
            chunk_finding(
                "PB704",
                chunk,
                f"a struct is stored where {NAMES_TODAY[stored.field_id]} belongs today: polars and"
                " DataFusion do not open the file",
                expected=f"no struct in field {stored.field_id} of Statistics",
            )
        )
    return replace(legacy, stored=stored)


# ------------------------------------------------------------------------------------------------
# Values


@dataclass(slots=True)
class LookedUp:
    """What the values say: findings, and how many values were looked up."""

    findings: list[Finding] = field(default_factory=list)
    num_values: int = 0


def look_up(file: Any, chunk: Any, legacy: LegacyFilters) -> LookedUp:
    """Look up every stored value in each of the filters."""
    looked = LookedUp()
    for check in (_check_blocks, _check_statistics):
        try:
            looked.findings += check(file, chunk, legacy, looked)
        except UnsupportedError as error:
            reason = without_place(error, file.path, chunk.where)
            looked.findings.append(not_checked(chunk, reason))
        except FormatError as error:
            message = without_place(error, file.path, chunk.where)
            looked.findings.append(chunk_finding("PB116", chunk, message))
    return looked


def _check_blocks(
    file: Any, chunk: Any, legacy: LegacyFilters, looked: LookedUp
) -> Iterator[Finding]:
    if not legacy.places:
        return
    if legacy.noted is not None:
        yield from _check_noted(file, chunk, legacy, looked)
        return
    try:
        filter = block_filter.fitting(file, chunk, legacy.places).reading
    except FilterError as error:
        yield _unknown_hash(file, chunk, error)
        return
    membership = _membership(file, chunk, filter, looked)
    if membership.missing:
        yield _false_negatives(chunk, filter, membership)


def _check_noted(
    file: Any, chunk: Any, legacy: LegacyFilters, looked: LookedUp
) -> Iterator[Finding]:
    noted, *others = legacy.places
    filter = block_filter.read(file, chunk, noted)
    membership = _membership(file, chunk, filter, looked)
    if not membership.missing:
        return
    try:
        other = block_filter.fitting(file, chunk, others).checked()
    except FilterError:
        other = filter
    if other.hash == filter.hash:
        yield _false_negatives(chunk, filter, membership)
        return
    yield chunk_finding(
        "PB707",
        chunk,
        "the note names another hash than the one that finds the values",
        expected=other.hash,
        found=filter.hash,
    )


def _check_statistics(
    file: Any, chunk: Any, legacy: LegacyFilters, looked: LookedUp
) -> Iterator[Finding]:
    if legacy.stored is None:
        return
    filter = statistics.said(legacy.stored, chunk.leaf.type)
    if filter is None:
        try:
            filter = statistics.fitting(file, chunk, legacy.stored).reading
        except FilterError as error:
            yield _unknown_hash(file, chunk, error)
            return
    membership = _membership(file, chunk, filter, looked)
    if membership.missing:
        yield _false_negatives(chunk, filter, membership)


def _unknown_hash(file: Any, chunk: Any, error: FilterError) -> Finding:
    return chunk_finding("PB706", chunk, without_place(error, file.path, chunk.where))


def _membership(file: Any, chunk: Any, filter: Any, looked: LookedUp) -> LegacyMembership:
    """`looked` counts the values. Raises PageError, UnsupportedError."""
    membership = check_membership(file, chunk, filter)
    looked.num_values += membership.num_values
    return membership


def _false_negatives(chunk: Any, filter: Any, membership: LegacyMembership) -> Finding:
    return chunk_finding(
        "PB705",
        chunk,
        f"{membership.missing:,} of {membership.num_values:,} stored values are not in the"
        f" {filter.dialect} filter ({filter.hash}): readers that ask it lose their rows",
        expected=0,
        found=membership.missing,
        examples=tuple(membership.examples),
    )
