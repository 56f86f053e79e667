"""PB7xx: filters of older dialects, wherever they lie.

Their places are checked without a look at values. What their bits say takes values in any case: they
tell the hash, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from parquet_bloom.errors import FilterError, FormatError, UnsupportedError
from parquet_bloom.legacy.chunk_filters import headers_at
from parquet_bloom.legacy.murmur3 import block_filter
from parquet_bloom.legacy.murmur3.block_filter import FIELD_POINTER, NOTE_POINTER, Place
from parquet_bloom.legacy.murmur3.dialect import ON_PUBLISHED
from parquet_bloom.legacy.murmur3.pointers import Note, note_of
from parquet_bloom.legacy.recognise import recognised, sample_of
from parquet_bloom.legacy.statistics import stored as statistics
from parquet_bloom.legacy.statistics.dialect import NAMES_TODAY
from parquet_bloom.parquet.file import ParquetFile
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.legacy_kind import LegacyFilter
from parquet_bloom.parquet.membership import MAX_EXAMPLES
from parquet_bloom.parquet.pages.pages import chunk_runs, located, used_entries
from parquet_bloom.rules.catalogue import Finding
from parquet_bloom.rules.view import chunk_finding, not_checked, without_place
from parquet_bloom.values.show import shown


@dataclass(frozen=True, slots=True)
class Older:
    """What is known of a chunk's older filters before values are looked at.

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


def look_at(file: ParquetFile, chunk: ColumnChunk) -> Older:
    """What the footer and headers say of the older filters of a chunk that is not encrypted."""
    older = Older()
    note = _note(file, chunk, older)
    offset = chunk.bloom_filter_offset
    if headers_at(file, chunk):
        older.findings.append(published(file, chunk))
        older = _with_places(file, chunk, older, FIELD_POINTER, offset or 0, note)
    if note is not None and note.offset != offset:
        older = _with_places(file, chunk, older, NOTE_POINTER, note.offset, note)
    return _with_statistics(file, chunk, older)


def published(file: ParquetFile, chunk: ColumnChunk) -> Finding:
    """That there is one."""
    form = headers_at(file, chunk)[0].form
    return chunk_finding(
        "PB701", chunk, "bloom_filter_offset leads to a filter of an older dialect:"
        f" {ON_PUBLISHED}", expected="a header of today", found=f"a {form} header",
    )  # fmt: skip


def _note(file: ParquetFile, chunk: ColumnChunk, older: Older) -> Note | None:
    try:
        return note_of(file.footer, chunk)
    except FilterError as error:
        older.findings.append(chunk_finding("PB702", chunk, without_place(error, file, chunk)))
        return None


def _with_places(
    file: ParquetFile,
    chunk: ColumnChunk,
    older: Older,
    pointer: str,
    offset: int,
    note: Note | None,
) -> Older:
    try:
        found = block_filter.find(file, chunk, pointer, offset)
        if note is not None and note.offset == offset:
            noted = block_filter.noted_place(file, chunk, note, found)
            places = [noted, *block_filter.places(pointer, offset, found, None)]
            return Older(older.findings, places, noted)
    except FilterError as error:
        older.findings.append(chunk_finding("PB702", chunk, without_place(error, file, chunk)))
        return older
    if not all(header.is_power_of_two for header in found):
        older.findings.append(
            chunk_finding(
                "PB703", chunk, "the bitset of an older filter is not a power of two: a mask selects"
                " its blocks", expected="a power of two", found=found[0].num_bytes,
            )
        )  # fmt: skip
        return older
    return Older(older.findings, list(block_filter.places(pointer, offset, found, None)))


def _with_statistics(file: ParquetFile, chunk: ColumnChunk, older: Older) -> Older:
    try:
        stored = statistics.read_stored(file.footer, chunk)
    except FilterError as error:
        older.findings.append(chunk_finding("PB702", chunk, without_place(error, file, chunk)))
        return older
    if stored is None:
        return older
    if stored.field_id in NAMES_TODAY:
        older.findings.append(
            chunk_finding(
                "PB704", chunk, f"a struct stands where {NAMES_TODAY[stored.field_id]} stands today:"
                " polars and DataFusion do not open the file",
                expected=f"no struct in field {stored.field_id} of Statistics",
            )
        )  # fmt: skip
    return Older(older.findings, older.places, older.noted, stored)


# ------------------------------------------------------------------------------------------------
# Values


@dataclass(slots=True)
class Looked:
    """What the values say: findings, and how many values were looked up."""

    findings: list[Finding] = field(default_factory=list)
    num_values: int = 0


def look_up(file: ParquetFile, chunk: ColumnChunk, older: Older) -> Looked:
    """Look up every stored value in each of the filters."""
    looked = Looked()
    for check in (_check_blocks, _check_statistics):
        try:
            looked.findings += check(file, chunk, older, looked)
        except UnsupportedError as error:
            looked.findings.append(not_checked(chunk, without_place(error, file, chunk)))
        except FormatError as error:
            looked.findings.append(chunk_finding("PB116", chunk, without_place(error, file, chunk)))
    return looked


def _check_blocks(
    file: ParquetFile, chunk: ColumnChunk, older: Older, looked: Looked
) -> Iterator[Finding]:
    if not older.places:
        return
    leaf = chunk.leaf.type
    if older.noted is not None:
        filter = block_filter.read(file, older.noted, leaf)
        missing = _missing(file, chunk, filter, looked)
        if not missing.count:
            return
        readings = (block_filter.read(file, place, leaf) for place in older.places[1:])
        with located(file.footer, chunk):
            fitting = recognised(readings, sample_of(file, chunk))
        if fitting is not None and fitting.is_complete and fitting.reading.hash != filter.hash:
            yield chunk_finding(
                "PB707", chunk, "the note says another hash than the one that finds the values",
                expected=fitting.reading.hash, found=filter.hash,
            )  # fmt: skip
            return
        yield _false_negatives(chunk, filter, missing)
        return
    try:
        with located(file.footer, chunk):
            fitting = block_filter.fitting(file, chunk, older.places)
    except FilterError as error:
        yield _unknown_hash(file, chunk, error)
        return
    missing = _missing(file, chunk, fitting.reading, looked)
    if missing.count:
        yield _false_negatives(chunk, fitting.reading, missing)


def _check_statistics(
    file: ParquetFile, chunk: ColumnChunk, older: Older, looked: Looked
) -> Iterator[Finding]:
    if older.stored is None:
        return
    filter = statistics.said(older.stored, chunk.leaf.type)
    if filter is None:
        try:
            filter = statistics.fitting(file, chunk, older.stored).reading
        except FilterError as error:
            yield _unknown_hash(file, chunk, error)
            return
    missing = _missing(file, chunk, filter, looked)
    if missing.count:
        yield _false_negatives(chunk, filter, missing)


def _unknown_hash(file: ParquetFile, chunk: ColumnChunk, error: FilterError) -> Finding:
    return chunk_finding("PB706", chunk, without_place(error, file, chunk))


@dataclass(slots=True)
class _Missing:
    """Values that are stored and not found: how many of how many, and some of them."""

    count: int = 0
    total: int = 0
    examples: list[bytes] = field(default_factory=list)


def _missing(
    file: ParquetFile, chunk: ColumnChunk, filter: LegacyFilter, looked: Looked
) -> _Missing:
    """`looked` counts the values. Raises PageError, UnsupportedError."""
    missing = _Missing()
    with located(file.footer, chunk):
        for part in chunk_runs(file.source, file.footer, chunk):
            absent = ~filter.check_run(part.run)
            missing.total += absent.size
            if part.is_dictionary and absent.any():
                # What no row refers to need not be found.
                used = used_entries(file.source, file.footer, chunk, absent.size)
                absent &= np.frombuffer(used, np.bool_)
            missing.count += int(absent.sum())
            places = np.flatnonzero(absent)[: MAX_EXAMPLES - len(missing.examples)]
            missing.examples += part.run.take(places.tolist())
    looked.num_values += missing.total
    return missing


def _false_negatives(chunk: ColumnChunk, filter: LegacyFilter, missing: _Missing) -> Finding:
    return chunk_finding(
        "PB705", chunk, f"{missing.count:,} of {missing.total:,} stored values are not in the"
        f" {filter.dialect} filter ({filter.hash}): who asks it loses their rows",
        expected=0, found=missing.count,
        examples=tuple(shown(chunk.leaf.type, plain) for plain in missing.examples),
    )  # fmt: skip
