"""Files that a look-up searches together: those with the same leaf columns are one table.

Many writers make files of one row group, and what a filter in one of them spares shows only beside
the others. A file is read once, column by column; of its values only those numbers stay that the
table is judged by (see `survey`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from parquet_bloom.advice import ndv
from parquet_bloom.advice.lookups import ExpectedReads
from parquet_bloom.advice.samples import Sample
from parquet_bloom.advice.survey import ColumnCounts, ColumnSurvey, Distinct

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
    """One file; `size` in bytes, `columns` those of the table. Of ORC, `num_row_groups` are index
    groups."""

    path: str
    num_rows: int
    num_row_groups: int
    size: int
    columns: tuple[SurveyedColumn, ...] = ()


class TableSurvey:
    """What is known of the columns of some files; `samples`: one for each column."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        self.files: list[SurveyedFile] = []
        self.samples = samples
        self._limit = limit_for(ndv.LIMIT, len(samples))
        self._columns = [ColumnSurvey(sample, self._limit) for sample in samples]

    def add(self, file: SurveyedFile, surveys: Iterator[tuple[ColumnSurvey, str]]) -> None:
        """Take what was found in each column of a file, whose own `columns` are none yet, or why it
        can have no filter. What `surveys` raises is raised; nothing but the samples has learnt of
        such a file.
        """
        columns, parts = [], []
        for survey, reason in surveys:
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
        self.files.append(replace(file, columns=tuple(columns)))

    def whole(self) -> SurveyedFile:
        """All files as one."""
        first, *others = self.files
        return SurveyedFile(
            path=f"{first.path} and {len(others):,} more" if others else first.path,
            num_rows=sum(file.num_rows for file in self.files),
            num_row_groups=sum(file.num_row_groups for file in self.files),
            size=sum(file.size for file in self.files),
            columns=tuple(map(self.column, range(len(self.samples)))),
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
