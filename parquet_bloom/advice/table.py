"""Files that are searched together: those with the same columns are one table.

Many writers put one row group into each file, and only together with the others can it be seen what
a filter there saves. A file is read once, column by column; all that is kept of its values are the
numbers by which the table is judged (see `survey`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from parquet_bloom.advice import ndv
from parquet_bloom.advice.lookups import ExpectedReads
from parquet_bloom.advice.samples import StoredSample
from parquet_bloom.advice.survey import (
    ColumnCounts,
    ColumnSurvey,
    Distinct,
    Surveyor,
    survey_columns,
)
from parquet_bloom.advice.value_sample import given_samples
from parquet_bloom.advice.verdict import Evidence, Judgement, judge
from parquet_bloom.container.protocols import Column, Container
from parquet_bloom.options import AdviseOptions
from parquet_bloom.parallel import Progress
from parquet_bloom.vocabulary import AdviceBasis, Format

# With more columns than this, fewer values and hashes are kept of each.
MANY_COLUMNS = 256
LEAST_KEPT = 256


def limit_for(limit: int, num_columns: int) -> int:
    """How much of `limit`, which is for up to MANY_COLUMNS, each of so many columns may keep."""
    return max(LEAST_KEPT, limit * MANY_COLUMNS // max(MANY_COLUMNS, num_columns))


def surveyor_of(file: Container, options: AdviseOptions) -> Surveyor:
    """The reader for files of this format. Raises UnsupportedError for an option that the format
    does not support, FooterError."""
    return _SURVEYORS[file.format](file, options)


def _of_parquet(file: Any, options: AdviseOptions) -> Surveyor:
    from parquet_bloom.advice.parquet_survey import ParquetSurveyor

    return ParquetSurveyor(file, options)


def _of_orc(file: Any, options: AdviseOptions) -> Surveyor:
    from parquet_bloom.advice.orc_survey import OrcSurveyor

    return OrcSurveyor(file, options)


_SURVEYORS: Final[Mapping[Format, Callable[[Any, AdviseOptions], Surveyor]]] = {
    "parquet": _of_parquet,
    "orc": _of_orc,
}


@dataclass(frozen=True, slots=True)
class SurveyedColumn:
    """One column. With a `reason` why it cannot have a filter, `counts` is what the footer says."""

    counts: ColumnCounts
    distinct: Distinct | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SurveyedFile:
    """One file; `size` in bytes, `columns` those of the table."""

    path: str
    num_rows: int
    num_groups: int
    size: int
    columns: tuple[SurveyedColumn, ...]


@dataclass(frozen=True, slots=True)
class JudgedColumn:
    """The verdict on a column in all files of a table; `groups`: those with values."""

    groups: int
    basis: AdviceBasis
    reads: ExpectedReads | None
    judgement: Judgement


class Table:
    """Files that are judged together; `subjects`: their columns."""

    def __init__(
        self,
        surveyor: Surveyor,
        columns: Sequence[Column],
        value_sample: Mapping[str, Sequence[str]],
    ) -> None:
        """For files like this one, which is yet to be added. Raises ColumnError, ValueTypeError."""
        self.files: list[SurveyedFile] = []
        self.subjects = [surveyor.subject(column) for column in columns]
        given = given_samples(surveyor.file, self.subjects, value_sample)
        drawn = limit_for(surveyor.num_drawn, len(columns))
        self._samples = [
            given.get(place) or StoredSample(subject.key_of, drawn)
            for place, subject in enumerate(self.subjects)
        ]
        self._measured = frozenset(given)
        self._limit = limit_for(ndv.LIMIT, len(columns))
        self._columns = [ColumnSurvey(sample, self._limit) for sample in self._samples]
        self._largest = surveyor.largest_filter
        self.format = surveyor.file.format
        self._unit = surveyor.file.units.group

    def add(
        self,
        surveyor: Surveyor,
        columns: Sequence[Column],
        threads: int | None,
        progress: Progress | None,
    ) -> None:
        """Read a file, whose `columns` are those of the table.

        Raises FormatError for damage; then the file leaves no trace but in the samples.
        """
        of_file, parts = [], []
        for survey, reason in survey_columns(surveyor, columns, self._samples, threads, progress):
            of_file.append(
                SurveyedColumn(survey.counts, None if reason else survey.distinct, reason)
            )
            part = ColumnSurvey(survey.sample, self._limit)
            if not reason:
                part.merge(survey)
            part.pack()
            parts.append(part)
        for whole, part in zip(self._columns, parts, strict=True):
            whole.merge(part)
        self._largest = max(self._largest, surveyor.largest_filter)
        file = surveyor.file
        self.files.append(
            SurveyedFile(
                file.path, file.num_rows, surveyor.num_groups, file.source.size, tuple(of_file)
            )
        )

    def whole(self) -> SurveyedFile:
        """All files as one."""
        first, *others = self.files
        return SurveyedFile(
            path=f"{first.path} and {len(others):,} more" if others else first.path,
            num_rows=sum(file.num_rows for file in self.files),
            num_groups=sum(file.num_groups for file in self.files),
            size=sum(file.size for file in self.files),
            columns=tuple(map(self._column, range(len(self.subjects)))),
        )

    def _column(self, place: int) -> SurveyedColumn:
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

    def judge(self) -> list[JudgedColumn]:
        """The verdict on each column."""
        return [self._judged(place) for place in range(len(self.subjects))]

    def _judged(self, place: int) -> JudgedColumn:
        column, subject = self._column(place), self.subjects[place]
        counts, is_measured = column.counts, place in self._measured
        reads = self._columns[place].expected_reads()
        judgement = judge(
            Evidence(
                files=len(self.files),
                groups=counts.groups,
                ndv=column.distinct.ndv if column.distinct else 0,
                filters=counts.filters,
                filter_bytes=counts.filter_bytes,
                chunk_bytes=counts.chunk_bytes,
                only_dictionary=bool(counts.only_dictionary),
                seldom_asked=subject.seldom_asked,
                has_engine=any(use.uses for use in subject.engines),
                already=counts.already,
                limit=self._largest.words,
                is_measured=is_measured,
                reads=reads,
                unit=self._unit,
            )
        )
        basis: AdviceBasis = "value sample" if is_measured else "stored values"
        return JudgedColumn(counts.groups, basis, reads, judgement)
