"""Surveys the index groups of an ORC file, and the ranges that their statistics give.

Filters are built as `build` does it, and thrown away. All have the same size, with room for as many
distinct values as an index group has rows.

The order of values, and with it the values that statistics rule out:

| type                | order                                            |
|---------------------|--------------------------------------------------|
| BYTE SHORT INT LONG | as integers                                      |
| DATE                | as days since 1970                               |
| FLOAT DOUBLE        | as numbers; a NaN bound is none                  |
| DECIMAL             | as numbers                                       |
| STRING CHAR VARCHAR | the bytes of UTF-8; of a CHAR without its blanks |
| TIMESTAMP*          | as milliseconds since 1970 by the stored clock   |
| BINARY, others      | no minimum and maximum                           |

Index groups with text of more than 1,024 bytes have none either.

Spec: apache/orc-format, specification/ORCv1.md "Column Statistics".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from functools import partial
from math import isnan
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.advice.budget import highest_rate, rates_of
from parquet_bloom.advice.lookups import MinMax, make_bounds
from parquet_bloom.advice.ndv import DistinctHashes
from parquet_bloom.advice.order import KEY_BYTES, Keys, OrderKey
from parquet_bloom.advice.samples import GivenValue, Sample
from parquet_bloom.advice.sketch import ColumnCounts, GroupSurvey, Rung, Subject
from parquet_bloom.advice.verdict import seldom_asked
from parquet_bloom.engines.reading import EngineUse, orc_engine_uses
from parquet_bloom.engines.settings import WantedFilter
from parquet_bloom.errors import ParquetBloomError, UnsupportedError
from parquet_bloom.filters.k_hash import KHashFilter
from parquet_bloom.filters.sizing import MAX_BYTES, USELESS_FPP
from parquet_bloom.options import AdviseOptions, refuse
from parquet_bloom.orc import writers
from parquet_bloom.orc.arrays import Numbers, Texts, Times, Values
from parquet_bloom.orc.bloom import OrcKeyForm, stored_size
from parquet_bloom.orc.build import OrcSize
from parquet_bloom.orc.columns import OrcColumn, names_to
from parquet_bloom.orc.file import OrcContainer
from parquet_bloom.orc.keys import (
    AskedValues,
    insertion_hashes,
    keys_per_value,
    leaf_type,
    never_absent,
    spread,
    stored_values,
)
from parquet_bloom.orc.row_index import GroupStatistics, StatisticValue
from parquet_bloom.orc.stripe import BLOOM_FILTER_UTF8, OrcChunk
from parquet_bloom.orc.values import groups, reason_unreadable, room_for_values
from parquet_bloom.values.literals import encode_given


class OrcSurveyor:
    """Reads one file; see survey.Surveyor."""

    # There are many index groups, and every value is looked for in each.
    num_drawn: Final = 1024

    def __init__(self, file: OrcContainer, options: AdviseOptions) -> None:
        """Raises UnsupportedError for max_bytes: sizes follow from the rows of an index group;
        ColumnError, FooterError if stripes are missing from the footer."""
        refuse(file.path, options, ["max_bytes"], "ORC files")
        file.check_row_counts()
        self.file = file
        self.parts = file.select_parts(options.parts)
        file.will_read_stripes(self.parts)
        self._options = options
        # For as many values at any rate.
        self._entries = OrcSize.usual(options.target_fpp, file.tail).entries

    @property
    def num_groups(self) -> int:
        return sum(self.file.stripe(index).num_index_groups for index in self.parts)

    @property
    def num_rows(self) -> int:
        return sum(self.file.stripe(index).num_rows for index in self.parts)

    @property
    def largest_filter(self) -> tuple[int, str]:
        return self._entries, f"in filters sized for {self._entries:,} values"

    def subject(self, column: OrcColumn) -> Subject:
        file, columns = self.file, self.file.tail.columns
        return Subject(
            name=column.name,
            physical_type=column.physical_type,
            logical_type=column.logical_type,
            engines=uses_of(file.generation, column),
            seldom_asked="" if never_absent(column) else seldom_asked(leaf_type(column)),
            wanted=WantedFilter(
                path="",
                column_path=names_to(columns, column),
                fpp=self._options.target_for(column.name),
                column_id=column.id,
                type=column.kind,
            ),
            max_bytes=MAX_BYTES,
        )

    def is_ordered(self, column: OrcColumn) -> bool:
        return is_ordered(column)

    def given(self, column: OrcColumn, value: object) -> GivenValue:
        return _given_value(column, value)

    def reason_for_none(self, column: OrcColumn) -> str:
        try:
            self.file.tail.check_not_encrypted()
        except UnsupportedError as error:
            return str(error).removeprefix(f"{self.file.path}: ")
        return never_absent(column) or reason_unreadable(self.file, column) or ""

    def num_values(self, column: OrcColumn) -> int:
        if len(self.parts) < self.file.num_stripes:
            # The statistics are those of the whole file.
            return 0
        noted = self.file.tail.footer.statistics
        return int(noted[column.id].numberOfValues) if column.id < len(noted) else 0

    def count(self, counts: ColumnCounts, chunk: OrcChunk) -> None:
        counts.chunk_bytes += chunk.stored_bytes
        if chunk.has_filters:
            counts.already += chunk.stripe.num_index_groups
        counts.bytes_there += self.bytes_there(chunk)

    def bytes_there(self, chunk: OrcChunk) -> int:
        """As they are stored, whether or not anybody can read them."""
        return sum(stream.length for stream in chunk.filter_streams)

    def will_read(self, chunks: Sequence[OrcChunk]) -> None:
        self.file.will_read_values(chunks)

    def room(self, chunk: OrcChunk) -> int:
        return room_for_values(self.file, chunk)

    def read(self, chunk: OrcChunk, sample: Sample) -> list[GroupSurvey]:
        chunk.stripe.check_indexed(chunk.column)
        column = chunk.column
        # One key form for all: the same value has the same hash in every file.
        form = OrcKeyForm(writer_timezone=chunk.stripe.writer_timezone)
        entries = self.file.row_index(chunk.stripe.index, column) or ()
        rates = _rates_of(self._options, column.name)
        sizes = [OrcSize.usual(rate, self.file.tail) for rate in rates]
        target = rates.index(self._options.target_for(column.name))
        smallest = DistinctHashes(self.num_drawn)
        surveys: list[GroupSurvey] = []
        rungs: list[list[Rung]] = []
        for entry, group in zip(entries, groups(self.file, chunk), strict=True):
            values = group.values
            inserted = insertion_hashes(column, values, form)
            keys = keys_per_value(values, inserted)
            is_first = not rungs
            rungs.append([_rung(inserted, keys, size, is_first) for size in sizes])
            # The first hash of each value comes first, then the others that some values have.
            hashes = spread(inserted[: len(values)])
            part = sample.begin(smallest.below)
            counted = DistinctHashes()
            part.add(hashes, counted.add(hashes), partial(_keys_at, column, values))
            smallest.merge(counted)
            bounds = group_bounds(column, entry.statistics)
            surveys.append(GroupSurvey(len(values), counted, part, bounds))
        has_values = any(each.num_values for each in surveys)
        for place, size in enumerate(sizes):
            if not has_values or not size.allows(max(of_group[place].fpp for of_group in rungs)):
                # `build` would not write any filter into the stripe.
                for of_group in rungs:
                    of_group[place] = Rung.none(size.fpp)
                continue
            # The first takes the headers of the chunks that all are written in.
            num_bytes = sum(of_group[place].stored_bytes for of_group in rungs)
            more = self.file.tail.compression.most_bytes(num_bytes) - num_bytes
            first = rungs[0][place]
            rungs[0][place] = replace(first, stored_bytes=first.stored_bytes + more)
        for survey, ladder in zip(surveys, rungs, strict=True):
            wanted = ladder[target]
            survey.bitset_bytes, survey.filter_bytes = wanted.num_bytes, wanted.stored_bytes
            survey.fpp = wanted.fpp
            survey.room = self._entries
            survey.rungs = ladder
            survey.has_filter = chunk.has_filters
        highest = highest_rate(self._options, column.name)
        filters = _filters_there(self.file, chunk)
        for survey in surveys:
            survey.has_unreadable = filters is None
        for survey, there in zip(surveys, filters or (), strict=False):
            survey.has_unreadable = survey.num_values > 0 and there.bits_set == 0
            survey.fpp_there = 1.0 if survey.has_unreadable else there.fpp
            # The bits tell; what is no worse than may be built in its place is good enough,
            # if only nearly at its rate.
            may_be = (each.fpp for each in survey.rungs if each.rate <= highest and each.num_bytes)
            is_built = survey.filter_bytes > 0
            survey.has_too_small = is_built and there.fpp > max(highest, *may_be)
        for survey, entry in zip(surveys, entries, strict=True):
            if entry.statistics is not None and entry.statistics.is_filter_ignored:
                _is_ignored(survey)
        return surveys


def _rates_of(options: AdviseOptions, column: str) -> list[float]:
    """Without one that bits may exceed until the filter is an error, or no policy accepts it, unless it is asked
    for."""
    asked = options.target_for(column)
    most = min(USELESS_FPP, options.accepted_rate(column) or 1.0)
    return [rate for rate in rates_of(options, column) if rate < most or rate == asked]


def _is_ignored(survey: GroupSurvey) -> None:
    """It has the filters, and no reader asks them: none rules the group out."""
    survey.is_ignored = True
    survey.fpp = survey.fpp_there = 1.0
    survey.rungs = [replace(rung, fpp=1.0) for rung in survey.rungs]


def _filters_there(file: OrcContainer, chunk: OrcChunk) -> Sequence[KHashFilter] | None:
    """A chunk's filters, one for each index group; None if nobody can read them."""
    try:
        stored = file.filters(chunk.stripe.index, chunk.column) if chunk.has_filters else None
    except ParquetBloomError:
        return None
    return stored.filters if stored else ()


def _rung(hashes: NDArray[np.uint64], keys: float, size: OrcSize, is_first: bool) -> Rung:
    """A filter of this size, or of a larger one if it needs room for several keys of each value; `is_first`: of its
    stripe."""
    filter = size.empty_filter()
    filter.insert_hashes(hashes)
    if keys > 1 and not size.allows(filter.fpp):
        filter = size.times(keys).empty_filter()
        filter.insert_hashes(hashes)
    return Rung(size.fpp, filter.num_bytes, stored_size(filter, is_first), filter.fpp)


def _keys_at(column: OrcColumn, values: Values, positions: NDArray[np.intp]) -> Keys:
    return order_keys(column, values.take(positions))


def _given_value(column: OrcColumn, value: object) -> GivenValue:
    """A value or literal that is looked up. Raises ValueTypeError."""
    found = AskedValues(column, [value]).hashes(OrcKeyForm())
    if reason := found.unknown.get(0):
        return GivenValue.without_hashes(reason)
    key = None
    if is_ordered(column):
        plain = encode_given(leaf_type(column), value).plain[0]
        (key,) = order_keys(column, stored_values(column, [plain])).tolist()
    return GivenValue(spread(found.of(0)).tolist(), key, False)


def uses_of(generation: writers.Generation, column: OrcColumn) -> tuple[EngineUse, ...]:
    """Whether each engine uses filters that `build` adds to a column in a file of this writer."""
    java, cpp = writers.ignored_by(generation, column, BLOOM_FILTER_UTF8, writers.UTF8_UTC)
    not_asked = writers.not_asked(column)
    return orc_engine_uses(column.kind, {"Java": java or not_asked, "C++": cpp or not_asked})


# ------------------------------------------------------------------------------------------------
# Min/max statistics


_INTEGERS: Final = ("BYTE", "SHORT", "INT", "LONG")
_FLOATS: Final = ("FLOAT", "DOUBLE")
_TEXTS: Final = ("STRING", "CHAR", "VARCHAR")
_TIMESTAMPS: Final = ("TIMESTAMP", "TIMESTAMP_INSTANT")
_ORDERED: Final = {*_INTEGERS, *_FLOATS, *_TEXTS, *_TIMESTAMPS, "DATE", "DECIMAL"}

_UNIX_EPOCH: Final = date(1970, 1, 1).toordinal()


def is_ordered(column: OrcColumn) -> bool:
    """Whether statistics can rule out values of this column."""
    return column.kind in _ORDERED


def order_keys(column: OrcColumn, values: Values) -> Keys:
    """The places of values in the column's order, if it has one; NaN has none."""
    if isinstance(values, Times):
        return Keys.of_numbers(values.millis)
    if isinstance(values, Numbers):
        return Keys.of_numbers(values.numbers)
    if isinstance(values, Texts):
        return Keys.of([_text_key(column.kind, text) for text in values.tolist()])
    return Keys.of(values.tolist())


def _text_key(kind: str, text: bytes) -> bytes:
    return (text.rstrip(b" ") if kind == "CHAR" else text)[:KEY_BYTES]


def group_bounds(column: OrcColumn, statistics: GroupStatistics | None) -> MinMax | None:
    """The bounds in the statistics of an index group; None if there are none to rely on."""
    if statistics is None or not is_ordered(column):
        return None
    return make_bounds(_bound(column.kind, statistics.min), _bound(column.kind, statistics.max))


def _bound(kind: str, shown: StatisticValue) -> OrderKey | None:
    """A minimum or maximum as a key; None if it is missing or not a value of the type."""
    if shown is None:
        return None
    try:
        if kind == "DATE":
            if isinstance(shown, int):
                return shown
            return date.fromisoformat(str(shown)).toordinal() - _UNIX_EPOCH
        if kind in _FLOATS:
            return None if isnan(float(shown)) else float(shown)
        if kind in _TEXTS:
            return _text_key(kind, str(shown).encode(errors="surrogateescape"))
        return Decimal(str(shown)) if kind == "DECIMAL" else int(shown)
    except (ValueError, ArithmeticError):
        return None
