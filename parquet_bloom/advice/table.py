"""Files that are searched together: those with the same columns are one table.

Many writers put one row group into each file, and only with the others in view can it be told what
a filter there saves. A file is read once, column by column; all that is kept of its values are the
numbers by which the table is judged (see `survey`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from parquet_bloom.advice import ndv
from parquet_bloom.advice.lookups import ExpectedReads
from parquet_bloom.advice.samples import GivenSample, StoredSample
from parquet_bloom.advice.survey import (
    AnySurveyor,
    ColumnCounts,
    ColumnSurvey,
    Subject,
    survey_columns,
)
from parquet_bloom.advice.verdict import Evidence, judge
from parquet_bloom.container.protocols import Column, Container
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import ColumnError, ValueTypeError
from parquet_bloom.parallel import Progress
from parquet_bloom.storage.traffic import Requests, in_all
from parquet_bloom.vocabulary import AdviceBasis, AdviceVerdict

# With more columns than this, fewer values and hashes are kept of each.
MANY_COLUMNS = 256
LEAST_KEPT = 256


def limit_for(limit: int, num_columns: int) -> int:
    """How much each of so many columns may keep; `limit` is for up to MANY_COLUMNS."""
    return max(LEAST_KEPT, limit * MANY_COLUMNS // max(MANY_COLUMNS, num_columns))


@dataclass(frozen=True, slots=True)
class SurveyedColumn:
    """One column: `ndv` and `ndv_error` as ColumnSurvey.ndv. With a `reason` why it cannot have a
    filter, only `counts` is known, from the footer."""

    counts: ColumnCounts
    reason: str
    ndv: int = 0
    ndv_error: float | None = None


@dataclass(frozen=True, slots=True)
class SurveyedFile:
    """One file, or all files of a table; `size` in bytes, `columns` as the table has them; `obstacles`:
    what `build` would refuse; `requests`: sent to object stores to survey it, None where nobody counts them."""

    path: str
    num_rows: int
    num_groups: int
    size: int
    columns: tuple[SurveyedColumn, ...]
    obstacles: tuple[str, ...]
    requests: Requests | None


@dataclass(frozen=True, slots=True)
class JudgedColumn:
    """The verdict on a column in all files of a table; `groups`: those with values."""

    groups: int
    basis: AdviceBasis
    reads: ExpectedReads | None
    verdict: AdviceVerdict
    reason: str


class SurveyedTable:
    """Files that are judged together; `subjects`: their columns."""

    def __init__(
        self,
        surveyor: AnySurveyor,
        columns: Sequence[Column],
        value_sample: Mapping[str, Sequence[object]],
    ) -> None:
        """For files like this one, which is yet to be added. Raises ColumnError, ValueTypeError."""
        self.files: list[SurveyedFile] = []
        self.subjects = [surveyor.subject(column) for column in columns]
        given = _given_samples(surveyor.file, self.subjects, value_sample)
        drawn = limit_for(surveyor.num_drawn, len(columns))
        self._samples = [
            given.get(place) or StoredSample(subject.is_ordered, drawn)
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
        surveyor: AnySurveyor,
        columns: Sequence[Column],
        threads: int | None,
        progress: Progress | None,
    ) -> None:
        """Read a file, whose `columns` are those of the table.

        Raises FormatError for damage; then the file leaves no trace but in the samples.
        """
        of_file: list[SurveyedColumn] = []
        read: list[tuple[ColumnSurvey, ColumnSurvey]] = []
        surveys = survey_columns(surveyor, columns, self._samples, threads, progress)
        for whole, (survey, reason) in zip(self._columns, surveys, strict=True):
            if reason:
                of_file.append(SurveyedColumn(survey.counts, reason))
            else:
                of_file.append(SurveyedColumn(survey.counts, "", *survey.ndv))
                survey.pack(self._limit)
                read.append((whole, survey))
        for whole, survey in read:
            whole.merge(survey)
        self._largest = max(self._largest, surveyor.largest_filter)
        source = surveyor.file.source
        self.files.append(
            SurveyedFile(
                path=surveyor.file.path,
                num_rows=surveyor.num_rows,
                num_groups=surveyor.num_groups,
                size=source.size,
                columns=tuple(of_file),
                obstacles=surveyor.file.obstacles,
                requests=source.requests,
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
            obstacles=tuple(dict.fromkeys(each for file in self.files for each in file.obstacles)),
            requests=in_all(file.requests for file in self.files),
        )

    def _column(self, place: int) -> SurveyedColumn:
        """A column of all files together, at least one."""
        first, *others = (file.columns[place] for file in self.files)
        if not others:
            return first
        if first.reason and all(column.reason for column in others):
            counts = ColumnCounts()
            for column in (first, *others):
                counts.merge(column.counts)
            return SurveyedColumn(counts, first.reason)
        survey = self._columns[place]
        return SurveyedColumn(survey.counts, "", *survey.ndv)

    def judge(self) -> list[JudgedColumn]:
        """The verdict on each column."""
        return [self._judged(place) for place in range(len(self.subjects))]

    def _judged(self, place: int) -> JudgedColumn:
        column, subject = self._column(place), self.subjects[place]
        is_measured = place in self._measured
        reads = self._columns[place].expected_reads()
        verdict, reason = judge(
            Evidence(
                files=len(self.files),
                counts=column.counts,
                ndv=column.ndv,
                limit=self._largest[1],
                users=tuple(use.engine for use in subject.engines if use.uses),
                seldom_asked=subject.seldom_asked,
                is_measured=is_measured,
                reads=reads,
                unit=self._unit,
            )
        )
        basis: AdviceBasis = "value sample" if is_measured else "stored values"
        return JudgedColumn(column.counts.groups, basis, reads, verdict, reason)


def _given_samples(
    file: Container, subjects: Sequence[Subject], value_sample: Mapping[str, Sequence[object]]
) -> dict[int, GivenSample]:
    """The values to look up, by the position of their column in `subjects`.

    Raises ColumnError, ValueTypeError.
    """
    columns = [subject.column for subject in subjects]
    given: dict[int, GivenSample] = {}
    for name, asked in value_sample.items():
        where = f"{file.path}: value sample: column {name}"
        (column,) = file.select([name])
        if column not in columns:
            raise ColumnError(f"{where} is not one of the columns to judge")
        if not len(asked):
            raise ColumnError(f"{where}: no values, expected at least one")
        # By their types, too: 1, 1.0 and True are equal.
        times = Counter((type(value), value) for value in asked)
        place = columns.index(column)
        try:
            values = [subjects[place].value_of(value) for _, value in times]
        except ValueTypeError as error:
            raise ValueTypeError(f"{where}: {error}") from None
        given[place] = GivenSample(values, list(times.values()))
    return given
