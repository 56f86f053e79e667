"""PB614: the values of a column in a stripe, against what statistics say of them: those of index groups in the row
index, of the stripe in the metadata, and of the file in the footer.

Readers skip what statistics exclude, and never look at the values. Statistics may be wider than these, but not
narrower.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from parquet_bloom.container import STRIPES, Place, number_of
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import ParquetBloomError
from parquet_bloom.orc.columns import above
from parquet_bloom.orc.extremes import (
    Bound,
    Bounds,
    Extreme,
    Extremes,
    bounds_in,
    ends_there,
    extremes_of,
    is_before,
)
from parquet_bloom.orc.keys import literals
from parquet_bloom.orc.writers import CPP, JAVA
from parquet_bloom.rules.finding import Finding, finding
from parquet_bloom.values.literals import as_examples

if TYPE_CHECKING:
    from parquet_bloom.orc.arrays import Values
    from parquet_bloom.orc.file import OrcContainer
    from parquet_bloom.orc.stripe import OrcChunk
    from parquet_bloom.orc.values import GroupValues
    from parquet_bloom.orc.wire import Message

_IN_INDEX: Final = "in the row index"
_OF_STRIPE: Final = "of the stripe in the metadata"
_OF_FILE: Final = "of the file in the footer"


@dataclass(frozen=True, slots=True)
class _Told:
    """Statistics, where they are, and what they are about."""

    where: str
    place: Place
    statistics: Message
    bounds: Bounds


class _Held(NamedTuple):
    """An index group: its values, and those at the ends of their order."""

    group: int
    values: GroupValues
    extremes: Extremes | None


def check_statistics(
    file: OrcContainer, chunk: OrcChunk, groups: Iterable[GroupValues | None]
) -> Iterator[Finding]:
    """`groups`: all of the chunk in order; None for one whose values were not read. Raises as these."""
    check = _ChunkCheck(file, chunk)
    for index, values in enumerate(groups):
        if values is not None:
            yield from check.group(index, values)
    yield from check.counts()


class _ChunkCheck:
    """The check of one chunk."""

    def __init__(self, file: OrcContainer, chunk: OrcChunk) -> None:
        self._file, self._chunk = file, chunk
        self._in_index = self._read_row_index()
        self._of_more = [*self._read_more()]
        # ORC C++ takes a UNION that is null for a value of its first variant.
        parents = above(file.tail.columns, chunk.column)
        self._is_in_union = any(each.kind == "UNION" for each in parents)
        self._usual_ends = self._ends_of_any()
        self._num_groups = self._num_values = self._num_nulls = 0
        # What one index group has shown of larger parts, the others need not show again.
        self._said: set[tuple[str, str]] = set()

    def group(self, index: int, values: GroupValues) -> Iterator[Finding]:
        held = _Held(index, values, self._extremes_of(values.distinct))
        self._num_groups += 1
        self._num_values += values.num_values
        self._num_nulls += values.num_nulls
        if (told := self._in_index[index]) is not None:
            place = Place(self._chunk.stripe.index, index, STRIPES)
            of_group = self._told(_IN_INDEX, place, told)
            yield from self._check_counts(of_group, values.num_values, values.num_nulls)
            yield from self._check_ends(of_group, held)
            yield from self._check_bounds(of_group, held)
        for of_more in self._of_more:
            yield from self._check_bounds(of_more, held)

    def counts(self) -> Iterator[Finding]:
        """Of the stripe, if all of its index groups were read, and as far as one stripe tells of the file."""
        if self._num_groups < self._chunk.stripe.num_index_groups:
            return
        for told in self._of_more:
            yield from self._check_counts(told, self._num_values, self._num_nulls)

    def _extremes_of(self, values: Values) -> Extremes | None:
        return extremes_of(self._chunk.column, values, self._chunk.stripe.writer_timezone)

    def _read_row_index(self) -> list[Message | None]:
        """By index group."""
        chunk = self._chunk
        try:
            found = self._file.group_statistics(chunk.stripe.index, chunk.column)
        except ParquetBloomError:
            # Another rule says so.
            found = None
        return [None] * chunk.stripe.num_index_groups if found is None else found

    def _read_more(self) -> Iterator[_Told]:
        file, chunk = self._file, self._chunk
        if file.gained_bytes:
            # Its tail may be that of another file.
            return
        if found := file.stripe_statistics(chunk.stripe.index, chunk.column):
            yield self._told(_OF_STRIPE, chunk.place, found)
        if found := file.file_statistics(chunk.column):
            yield self._told(_OF_FILE, chunk.place, found)

    def _told(self, where: str, place: Place, statistics: Message) -> _Told:
        bounds = bounds_in(self._file.generation, self._chunk.column, statistics)
        return _Told(where, place, statistics, bounds)

    # --------------------------------------------------------------------------------------------

    def _check_counts(self, told: _Told, num_values: int, num_nulls: int) -> Iterator[Finding]:
        statistics = told.statistics
        # What is missing reads as zero; a message of nothing at all says nothing.
        if statistics.ByteSize():
            said = statistics.numberOfValues
            # Other stripes have values, too.
            may_be_more = told.where == _OF_FILE or self._is_in_union
            is_wrong = said < num_values if may_be_more else said != num_values
            # ORC Java collects none where it writes no row index.
            if is_wrong and (said or self._chunk.stripe.has_row_index):
                at_least = "at least " if may_be_more else ""
                yield self._finding(
                    told, "numberOfValues", "is another", f"{at_least}{num_values}", said
                )
        if statistics.HasField("hasNull") and not statistics.hasNull and num_nulls:
            nulls = number_of(num_nulls, "null")
            yield self._finding(told, "hasNull", f"is false, though there are {nulls}")

    def _ends_of_any(self) -> tuple[bool, bool]:
        """Whether any statistics of the column have a minimum, and a maximum. Only ORC's own writers always write
        both: others leave out those of long texts."""
        if self._file.generation.writer not in (JAVA, CPP):
            return False, False
        every = [*self._in_index, *(each.statistics for each in self._of_more)]
        ends = [ends_there(self._chunk.column, each) or (False, False) for each in every if each]
        return any(low for low, _ in ends), any(high for _, high in ends)

    def _check_ends(self, told: _Told, held: _Held) -> Iterator[Finding]:
        """Readers take what is missing for a group without values."""
        there = ends_there(self._chunk.column, told.statistics)
        if held.extremes is None or there is None:
            return
        for name, is_there, is_usual in zip(
            ("minimum", "maximum"), there, self._usual_ends, strict=True
        ):
            if is_usual and not is_there:
                yield self._finding(told, f"the {name}", "is missing, though there are values")

    def _check_bounds(self, told: _Told, held: _Held) -> Iterator[Finding]:
        if held.extremes is None:
            return
        comes_before = partial(is_before, self._chunk.column)
        (least, greatest), (low, high) = held.extremes, told.bounds
        if low is not None and comes_before(least.key, low.key):
            yield from self._excluded(told, "minimum", "above", low, held)
        if high is not None and comes_before(high.key, greatest.key):
            yield from self._excluded(told, "maximum", "below", high, held)

    def _excluded(
        self, told: _Told, name: str, side: str, bound: Bound, held: _Held
    ) -> Iterator[Finding]:
        if told.where != _IN_INDEX:
            if (told.where, name) in self._said:
                return
            self._said.add((told.where, name))
        # Those that are held are without the rows that repeat a value.
        extremes = self._extremes_of(held.values.values)
        assert extremes is not None
        value = extremes.least if name == "minimum" else extremes.greatest
        stripe = self._chunk.stripe
        first_row = stripe.first_row + stripe.group_first_row(held.group)
        yield self._finding(
            told,
            f"the {name}",
            f"is {side} the value in row {first_row + int(held.values.rows[value.position])}",
            found=next(iter(as_examples([bound.show()])), None),
            examples=as_examples(self._literals(value, held.values.values)),
        )

    def _literals(self, value: Extreme, values: Values) -> tuple[str, ...]:
        if self._chunk.column.kind in ("FLOAT", "BOOLEAN"):
            # As bounds are shown: the FLOAT nearest to 0.1 is above 0.1.
            return (str(value.key).lower(),)
        return literals(self._chunk.column, values.take(np.array([value.position])))

    def _finding(
        self,
        told: _Told,
        name: str,
        what: str,
        expected: object = None,
        found: object = None,
        examples: tuple[str, ...] = (),
    ) -> Finding:
        return finding(
            "PB614",
            f"{name} {told.where} {what}",
            place=told.place,
            column=self._chunk.column.name,
            expected=expected,
            found=found,
            examples=examples,
        )
