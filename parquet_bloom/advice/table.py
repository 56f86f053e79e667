"""Files that a look-up searches together: those with the same leaf columns are one table.

Many writers make files of one row group, and what a filter in one of them spares shows only beside
the others. A file is read once, column by column; of its values only those numbers stay that the
table is judged by (see `survey`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice

from parquet_bloom.advice import ndv
from parquet_bloom.advice.lookups import ExpectedReads
from parquet_bloom.advice.samples import Sample
from parquet_bloom.advice.survey import (
    ChunkSurvey,
    ColumnCounts,
    ColumnSurvey,
    Distinct,
    survey_chunk,
    survey_room,
)
from parquet_bloom.chunk_filter import Size, reason_for_none
from parquet_bloom.chunk_pool import Progress, work_in_order
from parquet_bloom.errors import UnsupportedError
from parquet_bloom.files import NO_KEY, ParquetFile
from parquet_bloom.parquet.column_chunk import ColumnChunk
from parquet_bloom.parquet.schema import LeafColumn

# Of more columns than that, fewer values and hashes are kept each.
MANY_COLUMNS = 256
LEAST_KEPT = 256


def limit_for(limit: int, num_columns: int) -> int:
    """The part of `limit`, which holds for up to MANY_COLUMNS, that each of so many may keep."""
    return max(LEAST_KEPT, limit * MANY_COLUMNS // max(MANY_COLUMNS, num_columns))


@dataclass(frozen=True, slots=True)
class SurveyedColumn:
    """One column. With a `reason` why it can have no filter, only `counts` of the footer."""

    counts: ColumnCounts
    distinct: Distinct | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SurveyedFile:
    """One file; `size` in bytes, `columns` those of the table."""

    path: str
    num_rows: int
    num_row_groups: int
    size: int
    columns: tuple[SurveyedColumn, ...]


class TableSurvey:
    """What is known of the columns `leaves` of some files; `samples`: one for each of them."""

    def __init__(self, leaves: Sequence[LeafColumn], samples: Sequence[Sample]) -> None:
        self.leaves = leaves
        self.files: list[SurveyedFile] = []
        self._samples = samples
        self._limit = limit_for(ndv.LIMIT, len(leaves))
        self._columns = [ColumnSurvey(sample, self._limit) for sample in samples]

    def add(
        self,
        file: ParquetFile,
        leaves: Sequence[LeafColumn],
        size: Size,
        threads: int | None,
        progress: Progress | None,
    ) -> None:
        """Read `leaves` of a file, which are the columns of the table as they lie there.

        Raises FormatError for damage; nothing but the sample has learnt of such a file.
        """
        reading = _Reading(file, leaves, self._samples, size)
        columns, parts = [], []
        for survey, reason in reading.surveys(threads, progress):
            columns.append(
                SurveyedColumn(survey.counts, None if reason else survey.distinct, reason)
            )
            part = ColumnSurvey(survey.sample, self._limit)
            if not reason:
                part.merge(survey)
            part.pack()
            parts.append(part)
        for whole, part in zip(self._columns, parts, strict=True):
            whole.merge(part)
        self.files.append(
            SurveyedFile(
                file.path, file.num_rows, file.num_row_groups, file.source.size, tuple(columns)
            )
        )

    def column(self, place: int) -> SurveyedColumn:
        """A column of all files together, at least one."""
        files = [file.columns[place] for file in self.files]
        if len(files) == 1:
            return files[0]
        if all(column.reason for column in files):
            counts = ColumnCounts()
            for column in files:
                counts.merge(column.counts)
            return SurveyedColumn(counts, None, files[0].reason)
        survey = self._columns[place]
        return SurveyedColumn(survey.counts, survey.distinct)

    def expected_reads(self, place: int) -> ExpectedReads | None:
        """Row groups of all files that a look-up in a column reads; None if nothing can be looked
        up."""
        return self._columns[place].expected_reads()


class _Reading:
    """One pass over the columns of one file."""

    def __init__(
        self, file: ParquetFile, leaves: Sequence[LeafColumn], samples: Sequence[Sample], size: Size
    ) -> None:
        self._file = file
        self._leaves = leaves
        self._size = size
        self._samples = {leaf.index: sample for leaf, sample in zip(leaves, samples, strict=True)}

    def surveys(
        self, threads: int | None, progress: Progress | None
    ) -> Iterator[tuple[ColumnSurvey, str]]:
        """Each column, and why it can have no filter, one after the other."""
        chunks = {leaf.index: self._chunks(leaf) for leaf in self._leaves}
        ahead = [
            chunk
            for leaf in self._leaves
            if not reason_for_none(leaf.type)
            for chunk in chunks[leaf.index]
        ]
        found = work_in_order(ahead, self._read, self._room, threads)
        done = count(1)
        for leaf in self._leaves:
            survey = ColumnSurvey(self._samples[leaf.index])
            reason = reason_for_none(leaf.type) or ""
            for chunk in chunks[leaf.index]:
                survey.counts.see(chunk)
            for chunk, part in islice(found, 0 if reason else len(chunks[leaf.index])):
                if isinstance(part, str):
                    reason = reason or part
                elif not reason:
                    survey.add(self._file, chunk, part)
                if progress:
                    progress(next(done), len(ahead))
            yield survey, reason

    def _chunks(self, leaf: LeafColumn) -> list[ColumnChunk]:
        groups = range(self._file.num_row_groups)
        return [self._file.footer.chunk(row_group, leaf) for row_group in groups]

    def _read(self, chunk: ColumnChunk) -> ChunkSurvey | str:
        """What is in a chunk, or why it cannot be read."""
        if chunk.is_locked:
            return NO_KEY
        sample = self._samples[chunk.leaf.index].begin()
        try:
            return survey_chunk(self._file, chunk, self._size, sample)
        except UnsupportedError as error:
            return str(error).removeprefix(f"{self._file.path}: ")

    def _room(self, chunk: ColumnChunk) -> int:
        return survey_room(chunk, self._size)
