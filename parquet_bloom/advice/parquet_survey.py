"""Surveys the column chunks of a Parquet file, and the ranges that min/max statistics give its row groups.

The filter of each chunk is built as `build` does it, so that its size and FPP are known rather than
guessed; the values are counted and sampled on their way into it.

Bounds, in the order that `value_order` tells, need not be stored values: writers shorten long ones, minima
down and maxima up. The deprecated fields `min` and `max` compare all types as signed, so they count only
where that is right.

Spec: parquet-format, parquet.thrift `Statistics` and `ColumnOrder`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.advice.budget import highest_rate, rates_of
from parquet_bloom.advice.lookups import MinMax, make_bounds
from parquet_bloom.advice.ndv import DistinctHashes, distinct
from parquet_bloom.advice.order import KEY_BYTES, Keys
from parquet_bloom.advice.samples import LIMIT, GivenValue, Sample, SamplePart
from parquet_bloom.advice.sketch import ColumnCounts, GroupSurvey, Rung, Subject
from parquet_bloom.advice.verdict import seldom_asked
from parquet_bloom.engines.reading import ELEMENTS, engine_uses
from parquet_bloom.engines.settings import WantedFilter
from parquet_bloom.errors import FormatError, ParquetBloomError, UnsupportedError
from parquet_bloom.filters.sizing import (
    BLOCK_BYTES,
    MAX_BYTES,
    MIN_BYTES,
    Size,
    expected_fpp,
    min_blocks,
)
from parquet_bloom.filters.split_block import SettledFilter
from parquet_bloom.native import _kernel
from parquet_bloom.options import AdviseOptions
from parquet_bloom.parallel import read_once
from parquet_bloom.parquet.edit.lost_bytes import telling_what_is_lost
from parquet_bloom.parquet.file import ParquetContainer
from parquet_bloom.parquet.filters.ahead import survey_ranges
from parquet_bloom.parquet.filters.bloom import bits, read_header, read_usable_header, stored_size
from parquet_bloom.parquet.filters.clear import is_clear_from
from parquet_bloom.parquet.filters.field import Elsewhere
from parquet_bloom.parquet.filters.insertion import build_filter, reason_for_none
from parquet_bloom.parquet.footer import shredded, value_order
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.column_kind import column_kind
from parquet_bloom.parquet.footer.schema import LeafColumn
from parquet_bloom.parquet.footer.shredded import ShreddedField
from parquet_bloom.parquet.footer.value_order import Key, KeyOf, is_bytewise, is_signed, number_kind
from parquet_bloom.parquet.pages.chunk_values import dictionary_bytes
from parquet_bloom.parquet.pages.pages import (
    ChunkRun,
    check_readable,
    chunk_runs,
    located,
    pages_room,
)
from parquet_bloom.parquet.pages.runs import FixedRun, Run
from parquet_bloom.parquet.thrift.ttypes import Encoding, Statistics
from parquet_bloom.values.encode import Encodings
from parquet_bloom.values.literals import encode_given
from parquet_bloom.values.types import LeafType

# The most memory that counting and sampling one chunk takes.
HASHES_BYTES: Final = 12 << 20

ENCODED: Final = "part of a VARIANT that holds encoded values: no predicate asks for their bytes"

# How much of a value is read to place it in the order; a value can have gigabytes.
READ_BYTES: Final = 64 << 10


# Of the length before each value of BYTE_ARRAY.
LENGTH_BYTES: Final = 4


class ParquetSurveyor:
    """Reads one file; see survey.Surveyor."""

    num_drawn: Final = LIMIT

    def __init__(self, file: ParquetContainer, options: AdviseOptions) -> None:
        """Raises ColumnError, FooterError if row groups are missing from the footer."""
        file.footer.check_row_counts()
        self.file = file
        self.parts = file.select_parts(options.parts)
        self._max_bytes = options.max_bytes or MAX_BYTES
        self._options = options

    @property
    def num_groups(self) -> int:
        return len(self.parts)

    @property
    def num_rows(self) -> int:
        return sum(map(self.file.footer.row_group_num_rows, self.parts))

    @property
    def largest_filter(self) -> tuple[int, str]:
        return self._max_bytes, f"within {self._max_bytes:,} bytes"

    @read_once
    def _fields(self) -> dict[int, ShreddedField]:
        return shredded.fields_of(self.file.footer.leaves)

    def subject(self, leaf: LeafColumn) -> Subject:
        kind = column_kind(leaf)
        if not kind.nesting:
            extension = self.file.footer.arrow_extensions.get(leaf.name, "")
            kind = replace(kind, in_arrow=extension)
        return Subject(
            name=leaf.name,
            physical_type=leaf.physical_type,
            logical_type=leaf.logical_type,
            engines=engine_uses(kind),
            seldom_asked=ELEMENTS if kind.nesting == ELEMENTS else seldom_asked(leaf.type),
            wanted=WantedFilter(
                path="",
                column_path=leaf.called_path,
                index=leaf.index if leaf.is_shared and not leaf.called else None,
                fpp=self._options.target_for(leaf.name),
                digits=kind.digits,
                is_encrypted=self.file.is_encrypted,
                keys=(*self.file.key_arguments, *self.file.missing_key_arguments),
            ),
            max_bytes=self._max_bytes,
        )

    def is_ordered(self, leaf: LeafColumn) -> bool:
        return key_of(leaf.type) is not None

    def given(self, leaf: LeafColumn, value: object) -> GivenValue:
        return given_value(encode_given(leaf.type, value), key_of(leaf.type))

    def reason_for_none(self, leaf: LeafColumn) -> str:
        if shredded.is_in_variant(leaf) and not shredded.is_typed(leaf):
            return ENCODED
        return reason_for_none(leaf.type) or ""

    def num_values(self, leaf: LeafColumn) -> int:
        return sum(self.file.footer.chunk(part, leaf).num_values or 0 for part in self.parts)

    def count(self, counts: ColumnCounts, chunk: ColumnChunk) -> None:
        counts.chunk_bytes += chunk.total_compressed_size or 0
        counts.already += chunk.has_filters
        counts.bytes_there += self.bytes_there(chunk)
        rows = self.file.footer.row_group_num_rows(chunk.row_group)
        counts.group_rows = max(counts.group_rows, rows)
        if (field := self._fields.get(chunk.leaf.index)) is not None:
            counts.not_shredded += bool(Elsewhere(self.file, field, chunk.row_group).counts)
        counts.dictionary_bytes = max(counts.dictionary_bytes, _most_in_dictionary(chunk))

    def bytes_there(self, chunk: ColumnChunk) -> int:
        return _bytes_there(self.file, chunk)[0]

    def will_read(self, chunks: Sequence[ColumnChunk]) -> None:
        self.file.source.will_read(survey_ranges(self.file, chunks))

    def room(self, chunk: ColumnChunk) -> int:
        filter = BLOCK_BYTES * self._finest(chunk.leaf).blocks_for(_max_values(chunk))
        pages = pages_room(self.file.source, self.file.footer, chunk)
        return filter + HASHES_BYTES + pages

    def _finest(self, leaf: LeafColumn) -> Size:
        """For the lowest rate of the column's ladder."""
        return Size(min(rates_of(self._options, leaf.name)), self._max_bytes)

    def read(self, chunk: ColumnChunk, sample: Sample) -> tuple[GroupSurvey]:
        """Raises PageError for damage, UnsupportedError for codecs, encodings and encryption, and where
        the footer contradicts itself."""
        if chunk.is_locked:
            raise UnsupportedError(chunk.no_key)
        if doubt := self.file.footer.doubt_about_plaintext(chunk.leaf, [chunk.row_group]):
            raise UnsupportedError(doubt)
        file, options, type = self.file, self._options, chunk.leaf.type
        found = GroupSurvey(chunk.num_values or 0, DistinctHashes(), sample.begin())
        with telling_what_is_lost(file), located(file.footer, chunk):
            try:
                check_readable(file.footer, chunk)
            except FormatError as error:
                # What the footer says of this column is impossible; the others may be sound.
                raise UnsupportedError(str(error)) from None
        meta_data = file.footer.column_meta_data(chunk)
        if file.footer.is_ordered(chunk.leaf) is not False:
            found.bounds = bounds(type, meta_data.statistics)
        with telling_what_is_lost(file), located(file.footer, chunk):
            filter = build_filter(
                lambda: _watched(
                    chunk_runs(file.source, file.footer, chunk, only_used=True), found, sample, type
                ),
                type,
                _max_values(chunk),
                self._finest(chunk.leaf),
            )
        found.rungs = [_rung(chunk, filter, rate) for rate in rates_of(options, chunk.leaf.name)]
        wanted = _rung(chunk, filter, options.target_for(chunk.leaf.name))
        found.bitset_bytes, found.filter_bytes = wanted.num_bytes, wanted.stored_bytes
        found.fpp = wanted.fpp
        found.dictionary_bytes = dictionary_bytes(file.footer, chunk)
        found.has_filter = chunk.has_filters
        highest = highest_rate(options, chunk.leaf.name)
        found.has_too_small = _has_too_small(chunk, found.ndv, filter, highest)
        found.has_unreadable = _has_unusable(file, chunk, found.ndv)
        blocks = _bytes_there(file, chunk)[1] // BLOCK_BYTES
        if blocks and not found.has_unreadable:
            found.fpp_there = _fpp_of_size(found, blocks)
        found.in_alp = Encoding.ALP in (meta_data.encodings or ())
        return (found,)


def _has_too_small(
    chunk: ColumnChunk, ndv: int, filter: SettledFilter | None, highest: float
) -> bool:
    """Whether the length of the filter that is there tells that more absent values pass it than at the `highest` rate
    that is good enough. `filter`: that of the values at the lowest."""
    length = chunk.bloom_filter_length
    if not chunk.has_filters or length is None:
        return False
    # Its header takes less than a block, unless it is encrypted.
    blocks = length // BLOCK_BYTES
    # The NDV may be an estimate; what is as large as what would be built in its place is not too small.
    wanted = _rung(chunk, filter, highest).num_bytes // BLOCK_BYTES
    return blocks < min(min_blocks(ndv, highest), wanted)


def _fpp_of_size(found: GroupSurvey, blocks: int) -> float:
    """That of a filter of which only the length is known: of the one that `build` would write, if it is as long."""
    built = {each.num_bytes // BLOCK_BYTES: each.fpp for each in found.rungs}
    return built[blocks] if blocks in built else expected_fpp(found.ndv, blocks)


def _has_unusable(file: ParquetContainer, chunk: ColumnChunk, ndv: int) -> bool:
    """Whether no reader can use the filter that is there, or loses all rows by it, as no bit is set. Its header is
    read, and bits until one is set, mostly together: they are not proved."""
    try:
        stored = read_usable_header(file.window, file.footer, chunk)
        if stored is None or not ndv:
            return False
        # What is sealed is opened whole, or cannot be.
        return is_clear_from(bits(file.window, stored), 0, stored.num_bytes)
    except ParquetBloomError:
        return True


def _most_in_dictionary(chunk: ColumnChunk) -> int:
    """The most bytes that a dictionary of all values can take. Where they have a fixed length, DuckDB writes it
    before each all the same."""
    is_fixed = chunk.leaf.physical_type == "FIXED_LEN_BYTE_ARRAY"
    lengths = LENGTH_BYTES * (chunk.num_values or 0) if is_fixed else 0
    return (chunk.total_uncompressed_size or 0) + lengths


def _bytes_there(file: ParquetContainer, chunk: ColumnChunk) -> tuple[int, int]:
    """The size of a chunk's filter, with its header, and of its bitset alone."""
    length = chunk.bloom_filter_length
    if not chunk.has_filters:
        return 0, 0
    if length is not None and not chunk.has_crypto_metadata:
        there = max(0, length)
        return there, there // BLOCK_BYTES * BLOCK_BYTES
    try:
        stored = read_header(file.source, file.footer, chunk)
    except ParquetBloomError:
        # Nobody can read it; it takes its place all the same.
        there = max(0, length or 0)
        return there, there
    return (stored.end - stored.offset, stored.num_bytes) if stored else (0, 0)


def _rung(chunk: ColumnChunk, filter: SettledFilter | None, rate: float) -> Rung:
    """What `build` would write at this rate, which is that filter or a fold of it."""
    if filter is None or filter.fpp > rate:
        return Rung.none(rate)
    folded = filter.fold_to_fpp(rate, MIN_BYTES // BLOCK_BYTES)
    return Rung(rate, folded.num_bytes, stored_size(chunk, folded.num_bytes), folded.fpp)


def _watched(
    runs: Iterator[ChunkRun], found: GroupSurvey, sample: Sample, leaf: LeafType
) -> Iterator[ChunkRun]:
    """The same runs, counted and sampled: all of a chunk, or all of it again."""
    entries, has_others = 0, False
    for each in runs:
        for part in each.run.parts():
            hashes = part.hashes()
            smallest = found.distinct.add(hashes)
            found.sample.add(hashes, smallest, partial(keys_at, part, leaf))
            if each.is_dictionary:
                entries += hashes.size
            elif hashes.size:
                has_others = True
        found.dictionary = 0 if has_others else entries
        if each.dictionary is not None:
            found.in_dictionary = _entries(
                each.dictionary, sample.begin_entries(found.bounds), leaf
            )
        yield each


def _entries(dictionary: Run, found: SamplePart, leaf: LeafType) -> SamplePart:
    """What a search of all of them finds."""
    for part in dictionary.parts():
        hashes = part.hashes()
        found.add(hashes, distinct(hashes), partial(keys_at, part, leaf))
    return found


def keys_at(run: Run, leaf: LeafType, positions: NDArray[np.intp]) -> Keys:
    """What `key_of` gives for the values at some positions of a run, many at a time."""
    kind = number_kind(leaf)
    if kind and isinstance(run, FixedRun):
        return Keys.of_numbers(run.numbers(kind)[positions])
    if is_bytewise(leaf):
        return Keys.of(list(run.take(positions.data, KEY_BYTES)))
    key = key_of(leaf)
    stored = run.take(positions.data, READ_BYTES)
    return Keys.of([key(each) if key else None for each in stored])


def _max_values(chunk: ColumnChunk) -> int:
    return max(1, chunk.num_values or 0)


def given_value(value: Encodings, key_of: KeyOf | None) -> GivenValue:
    """A value that is looked up, by its stored bytes."""
    if value.unknown and not value.plain:
        return GivenValue.without_hashes(value.unknown)
    return GivenValue(
        hashes=[_kernel.xxh64(plain) for plain in value.plain],
        key=key_of(value.plain[0]) if key_of and value.plain else None,
        is_unknown=bool(value.unknown),
    )


# ------------------------------------------------------------------------------------------------
# Min/max statistics


def key_of(leaf: LeafType) -> KeyOf | None:
    """The keys of stored bytes, of which a sketch keeps the beginning; None if the type has no reliable order."""
    key = value_order.key_of(leaf)
    return None if key is None else partial(_cut_key, key)


def _cut_key(key: KeyOf, stored: bytes) -> Key | None:
    found = key(stored)
    return found[:KEY_BYTES] if isinstance(found, bytes) else found


def bounds(leaf: LeafType, statistics: Statistics | None) -> MinMax | None:
    """The bounds in the statistics of a chunk; None if there are none to rely on."""
    key = key_of(leaf)
    if key is None or statistics is None:
        return None
    stored = [(statistics.min_value, statistics.max_value)]
    if is_signed(leaf) and leaf.physical in ("INT32", "INT64", "FLOAT", "DOUBLE"):
        stored.append((statistics.min, statistics.max))
    for low, high in stored:
        if isinstance(low, bytes) and isinstance(high, bytes):
            return make_bounds(key(low), key(high))
    return None
