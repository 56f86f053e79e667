"""What is said of a column of all files of a table, whatever their format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from parquet_bloom.advice.engines import EngineUse
from parquet_bloom.advice.lookups import ExpectedReads
from parquet_bloom.advice.table import TableSurvey
from parquet_bloom.advice.verdict import Evidence, Verdict, judge

Basis = Literal["stored values", "value sample"]


@dataclass(frozen=True, slots=True)
class Subject:
    """What the format says of a column: see Evidence. `is_measured`: the user gives the values that
    are looked up."""

    engines: tuple[EngineUse, ...]
    seldom_asked: str
    limit: str
    unit: str
    is_measured: bool


@dataclass(frozen=True, slots=True)
class ColumnJudgement:
    """What is said of a column of all files of a table."""

    row_groups: int
    engines: tuple[EngineUse, ...]
    basis: Basis
    reads: ExpectedReads | None
    verdict: Verdict
    reason: str


def judge_column(survey: TableSurvey, place: int, subject: Subject) -> ColumnJudgement:
    """The verdict on the column at this place in the survey."""
    column = survey.column(place)
    reads = survey.expected_reads(place)
    judgement = judge(
        Evidence(
            files=len(survey.files),
            row_groups=column.counts.row_groups,
            ndv=column.distinct.ndv if column.distinct else 0,
            filters=column.counts.filters,
            filter_bytes=column.counts.filter_bytes,
            chunk_bytes=column.counts.chunk_bytes,
            only_dictionary=column.counts.only_dictionary,
            seldom_asked=subject.seldom_asked,
            has_engine=any(use.uses for use in subject.engines),
            already=column.counts.already,
            limit=subject.limit,
            is_measured=subject.is_measured,
            reads=reads,
            unit=subject.unit,
        )
    )
    return ColumnJudgement(
        row_groups=column.counts.row_groups,
        engines=subject.engines,
        basis="value sample" if subject.is_measured else "stored values",
        reads=reads,
        verdict=judgement.verdict,
        reason=judgement.reason,
    )
