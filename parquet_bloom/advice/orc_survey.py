"""One pass over the columns of an ORC file, to say what is in each index group.

Filters are built as `build` does it, and thrown away. Stripes are read by several threads; what
each finds is given in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.advice.ndv import DistinctHashes, distinct
from parquet_bloom.advice.orc_statistics import OrderedValues, group_bounds
from parquet_bloom.advice.samples import ALL_HASHES, Sample, SampledChunk
from parquet_bloom.advice.statistics import Bounds
from parquet_bloom.advice.survey import ColumnSurvey
from parquet_bloom.errors import UnsupportedError
from parquet_bloom.orc.build import OrcSize, room_of_values
from parquet_bloom.orc.chunk import OrcChunk
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.file import OrcFile
from parquet_bloom.orc.injection import check_indexed, check_injectable
from parquet_bloom.orc.keys.key_form import KeyForm
from parquet_bloom.orc.keys.key_hashes import insertion_hashes, never_absent
from parquet_bloom.orc.stripe import FILTER_KINDS
from parquet_bloom.orc.values import group_values, reason_unreadable
from parquet_bloom.parallel import Progress, work_in_order

# Distinct stored values that are drawn from each column: there are many index groups, each of which
# is asked for all of them.
DRAWN: Final = 1024

# The steps of MurmurHash3's finalizer.
_SHIFT: Final = np.uint64(33)
_FACTORS: Final = (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53))


def spread(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The same hashes, as many different ones, spread evenly over 64 bits: those of small numbers
    are not, and distinct values are counted by how densely hashes lie."""
    for factor in _FACTORS:
        hashes = (hashes ^ (hashes >> _SHIFT)) * factor
    return hashes ^ (hashes >> _SHIFT)


@dataclass(frozen=True, slots=True)
class IndexGroupSurvey:
    """What is found in one index group; see survey.Surveyed."""

    distinct: DistinctHashes
    sample: SampledChunk
    num_values: int
    filter_bytes: int
    fpp: float
    bounds: Bounds | None
    only_dictionary: bool = False

    @property
    def ndv(self) -> int:
        return min(self.distinct.count, self.num_values)

    @property
    def ndv_is_exact(self) -> bool:
        return self.distinct.is_exact


class OrcSurvey:
    """Reads `columns` of one file; `samples`: one for each of them."""

    def __init__(
        self, file: OrcFile, columns: Sequence[OrcColumn], samples: Sequence[Sample], size: OrcSize
    ) -> None:
        self._file = file
        self._columns = columns
        self._size = size
        self._samples = {column.id: sample for column, sample in zip(columns, samples, strict=True)}

    def surveys(
        self, threads: int | None, progress: Progress | None
    ) -> Iterator[tuple[ColumnSurvey, str]]:
        """Each column, and why it can have no filters, one after the other."""
        stripes = range(self._file.num_stripes)
        reasons = {column.id: self._reason_for_none(column) for column in self._columns}
        ahead = [
            OrcChunk(self._file.stripe(stripe), column)
            for column in self._columns
            if not reasons[column.id]
            for stripe in stripes
        ]
        found = work_in_order(ahead, self._read, self._room, threads)
        done = count(1)
        for column in self._columns:
            reason = reasons[column.id]
            survey = self._footer_survey(column)
            for _, part in islice(found, 0 if reason else len(stripes)):
                if isinstance(part, str):
                    reason = reason or part
                elif not reason:
                    _add(survey, part)
                if progress:
                    progress(next(done), len(ahead))
            if reason:
                survey.counts.num_values = self._noted_values(column)
            yield survey, reason

    def _reason_for_none(self, column: OrcColumn) -> str:
        try:
            check_injectable(self._file.tail)
        except UnsupportedError as error:
            return self._without_path(error)
        return never_absent(column) or reason_unreadable(self._file.tail.columns, column) or ""

    def _without_path(self, error: UnsupportedError) -> str:
        return str(error).removeprefix(f"{self._file.path}: ")

    def _footer_survey(self, column: OrcColumn) -> ColumnSurvey:
        """What the stripe footers say of a column."""
        survey = ColumnSurvey(self._samples[column.id])
        for index in range(self._file.num_stripes):
            stripe = self._file.stripe(index)
            survey.counts.chunk_bytes += sum(
                stream.length
                for stream in stripe.streams
                if stream.column == column.id and not stream.is_index
            )
            if stripe.streams_of(column.id, FILTER_KINDS):
                survey.counts.already += stripe.num_index_groups
        return survey

    def _noted_values(self, column: OrcColumn) -> int:
        """Non-null values, as the footer says; 0 if it does not."""
        noted = self._file.tail.footer.statistics
        return int(noted[column.id].numberOfValues) if column.id < len(noted) else 0

    def _room(self, item: OrcChunk) -> int:
        return room_of_values(self._file, item)

    def _read(self, item: OrcChunk) -> list[IndexGroupSurvey] | str:
        """What is in the index groups of a stripe, or why the column can have no filters there."""
        try:
            check_indexed(item.stripe, item.column)
            return self._index_groups(item)
        except UnsupportedError as error:
            return self._without_path(error)

    def _index_groups(self, item: OrcChunk) -> list[IndexGroupSurvey]:
        column = item.column
        # One form for all: the same value has the same hash in every file.
        form = KeyForm(writer_timezone=item.stripe.writer_timezone)
        entries = self._file.row_index(item.stripe.index, column) or ()
        smallest = _Smallest()
        groups = []
        for entry, values in zip(
            entries, group_values(self._file, item.stripe.index, column), strict=True
        ):
            filter = self._size.empty_filter()
            inserted = insertion_hashes(column, values, form)
            filter.insert_hashes(inserted)
            # Behind the first hash of each value come others that some of them have.
            hashes = spread(inserted[: len(values)])
            sample = self._samples[column.id].begin(smallest.below)
            sample.add(OrderedValues(column, values), hashes)
            once = distinct(hashes)
            smallest.add(once)
            counted = DistinctHashes()
            counted.add(once)
            groups.append(
                IndexGroupSurvey(
                    distinct=counted,
                    sample=sample,
                    num_values=len(values),
                    filter_bytes=filter.num_bytes,
                    fpp=filter.fpp,
                    bounds=group_bounds(column, entry.statistics),
                )
            )
        return self._as_built(groups)

    def _as_built(self, groups: list[IndexGroupSurvey]) -> list[IndexGroupSurvey]:
        """The same; without filters if `build` would write none into such a stripe."""
        has_values = any(group.num_values for group in groups)
        if has_values and self._size.allows(max(group.fpp for group in groups)):
            return groups
        return [replace(group, filter_bytes=0, fpp=1.0) for group in groups]


class _Smallest:
    """The smallest hashes of the index groups so far: greater ones are not among those of all."""

    def __init__(self) -> None:
        self._hashes = np.empty(0, np.uint64)
        self.below = ALL_HASHES

    def add(self, hashes: NDArray[np.uint64]) -> None:
        """Add hashes that are ascending and distinct."""
        new = hashes[: np.searchsorted(hashes, np.uint64(self.below))]
        self._hashes = distinct(np.concatenate([self._hashes, new]))[:DRAWN]
        if self._hashes.size == DRAWN:
            self.below = int(self._hashes[-1]) + 1


def _add(survey: ColumnSurvey, groups: Sequence[IndexGroupSurvey]) -> None:
    for group in groups:
        survey.counts.num_values += group.num_values
        if group.num_values:
            survey.add(group, group.bounds)
        else:
            survey.counts.filter_bytes += group.filter_bytes
