"""Which columns of ORC files deserve Bloom filters, and what these would save.

As for Parquet (see verbs.advise), by index groups, which is what readers skip. All filters have one
size, that of as many distinct values as an index group has rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from parquet_bloom.advice.engines import EngineUse, seldom_asked
from parquet_bloom.advice.judgement import Basis, ColumnJudgement, Subject, judge_column
from parquet_bloom.advice.orc_engines import orc_engine_uses
from parquet_bloom.advice.orc_statistics import is_ordered, order_keys
from parquet_bloom.advice.orc_survey import DRAWN, OrcSurvey, spread
from parquet_bloom.advice.samples import GivenValue, StoredSample
from parquet_bloom.advice.settings import WantedOrcFilters, WriterSettings, orc_writer_settings
from parquet_bloom.advice.statistics import OrderKey
from parquet_bloom.advice.table import SurveyedColumn, SurveyedFile, TableSurvey, limit_for
from parquet_bloom.advice.value_sample import given_samples
from parquet_bloom.advice.verdict import Verdict
from parquet_bloom.orc.build import OrcSize
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.file import OrcFile
from parquet_bloom.orc.keys.key_form import KeyForm
from parquet_bloom.orc.keys.key_hashes import encode_literal, never_absent
from parquet_bloom.orc.stored_values import leaf_type, stored_value
from parquet_bloom.parallel import Progress
from parquet_bloom.values.literals import encode_literal as read_literal


@dataclass(frozen=True, slots=True)
class OrcColumnAdvice:
    """One column. What nobody counted, because the column cannot have filters, is None or 0.

    Of the file: `num_values`: nulls not counted; `column_bytes`: its data streams; `already`: index
    groups with a filter; `ndv`: distinct values of the whole column; `ndv_error`: its relative
    standard error, None if it is exact; `index_group_ndv`: the most that one index group has.
    `filter_bytes`: the bitsets that `build` would write, all index groups together; `filter_share`:
    of the file.

    Of all files of the table that were judged together: `index_groups`: those with a value;
    `index_groups_*`: how many of them a look-up reads on average, by min/max statistics alone, with
    filters, and with filters if the value is not stored. `basis`: whose look-ups these are;
    `values_stored` of `values_asked` are stored. `verdict` and `reason` follow from these.
    """

    column: str
    type: str
    num_values: int
    column_bytes: int
    already: int
    engines: tuple[EngineUse, ...]
    reason: str
    verdict: Verdict = "skip"
    eligible: bool = False
    ndv: int | None = None
    ndv_exact: bool = False
    ndv_error: float | None = None
    index_group_ndv: int | None = None
    filter_bytes: int = 0
    filter_share: float = 0.0
    index_groups: int = 0
    index_groups_statistics: float | None = None
    index_groups_filter: float | None = None
    index_groups_filter_absent: float | None = None
    basis: Basis = "stored values"
    values_asked: int = 0
    values_stored: int = 0
    settings: tuple[WriterSettings, ...] = ()


@dataclass(frozen=True, slots=True)
class OrcAdviceReport:
    """What is advised for one file; `size` in bytes, `fpp` is the target; `files` of the table were
    judged together, this one counted."""

    path: str
    format: Literal["orc"]
    files: int
    num_rows: int
    num_index_groups: int
    size: int
    fpp: float
    columns: tuple[OrcColumnAdvice, ...]

    @property
    def recommended(self) -> tuple[str, ...]:
        """The columns whose verdict is `build`."""
        return tuple(advice.column for advice in self.columns if advice.verdict == "build")


class OrcTable:
    """ORC files that are judged together."""

    def __init__(
        self,
        file: OrcFile,
        columns: Sequence[OrcColumn],
        fpp: float,
        value_sample: Mapping[str, Sequence[str]],
    ) -> None:
        """A table that begins with this file. Raises ColumnError, ValueTypeError."""
        places = {column.id: place for place, column in enumerate(columns)}
        given = given_samples(
            file.path,
            value_sample,
            lambda column: places.get(file.column(column).id),
            lambda place, literal: _given_value(columns[place], literal),
        )
        limit = limit_for(DRAWN, len(columns))
        self.survey = TableSurvey(
            [
                given.get(place) or StoredSample(_itself if is_ordered(column) else None, limit)
                for place, column in enumerate(columns)
            ]
        )
        self._columns = columns
        self._engines = [
            orc_engine_uses(file.generation, file.tail.columns, column) for column in columns
        ]
        self._with_dots = {
            column.id for column in columns if column.name.count(".") >= _depth(file, column)
        }
        self._fpp = fpp
        self._entries = 0
        self._measured = frozenset(given)

    def add(
        self,
        file: OrcFile,
        columns: Sequence[OrcColumn],
        threads: int | None,
        progress: Progress | None,
    ) -> None:
        """Read `columns` of a file, which are those of the table as they lie there.

        Raises FormatError for damage.
        """
        size = OrcSize(self._fpp, max(1, file.tail.row_index_stride))
        num_groups = sum(file.stripe(index).num_index_groups for index in range(file.num_stripes))
        about = SurveyedFile(file.path, file.num_rows, num_groups, file.source.size)
        reading = OrcSurvey(file, columns, self.survey.samples, size)
        self.survey.add(about, reading.surveys(threads, progress))
        self._entries = max(self._entries, size.entries)

    def judgements(self) -> list[ColumnJudgement]:
        """One for each column."""
        return [
            judge_column(
                self.survey,
                place,
                Subject(
                    engines=self._engines[place],
                    seldom_asked="" if never_absent(column) else seldom_asked(leaf_type(column)),
                    limit=f"in filters that are sized for {self._entries:,} values",
                    unit="index group",
                    is_measured=place in self._measured,
                ),
            )
            for place, column in enumerate(self._columns)
        ]

    def report(
        self, file: SurveyedFile, path: str, judgements: Sequence[ColumnJudgement]
    ) -> OrcAdviceReport:
        """What is said of one file, or of all as one; `path` is what settings read."""
        return OrcAdviceReport(
            path=file.path,
            format="orc",
            files=len(self.survey.files),
            num_rows=file.num_rows,
            num_index_groups=file.num_row_groups,
            size=file.size,
            fpp=self._fpp,
            columns=tuple(
                self._advice(column, surveyed, judgement, path, file.size)
                for column, surveyed, judgement in zip(
                    self._columns, file.columns, judgements, strict=True
                )
            ),
        )

    def _advice(
        self,
        column: OrcColumn,
        surveyed: SurveyedColumn,
        judgement: ColumnJudgement,
        path: str,
        file_size: int,
    ) -> OrcColumnAdvice:
        counts, distinct, reads = surveyed.counts, surveyed.distinct, judgement.reads
        known = OrcColumnAdvice(
            column=column.name,
            type=column.type,
            num_values=counts.num_values,
            column_bytes=counts.chunk_bytes,
            already=counts.already,
            engines=judgement.engines,
            reason=surveyed.reason,
        )
        if distinct is None:
            return known
        return replace(
            known,
            eligible=True,
            ndv=distinct.ndv,
            ndv_exact=distinct.error is None,
            ndv_error=distinct.error,
            index_group_ndv=counts.row_group_ndv,
            filter_bytes=counts.filter_bytes,
            filter_share=counts.filter_bytes / file_size,
            index_groups=judgement.row_groups,
            index_groups_statistics=reads.by_statistics if reads else None,
            index_groups_filter=reads.with_filter if reads else None,
            index_groups_filter_absent=reads.with_filter_if_absent if reads else None,
            basis=judgement.basis,
            values_asked=reads.num_values if reads else 0,
            values_stored=reads.num_stored if reads else 0,
            verdict=judgement.verdict,
            reason=judgement.reason,
            settings=self._settings(column, path) if counts.filter_bytes else (),
        )

    def _settings(self, column: OrcColumn, path: str) -> tuple[WriterSettings, ...]:
        return orc_writer_settings(
            WantedOrcFilters(
                path=path,
                id=column.id,
                name=column.name,
                kind=column.kind,
                is_plain=column.id not in self._with_dots,
                fpp=self._fpp,
            )
        )


def _itself(key: OrderKey | None) -> OrderKey | None:
    """Values of ORC are taken as their places in the order."""
    return key


def _depth(file: OrcFile, column: OrcColumn) -> int:
    """How many columns are above it, the root counted."""
    depth = 0
    parent = column.parent
    while parent is not None:
        depth += 1
        parent = file.tail.columns[parent].parent
    return depth


def _given_value(column: OrcColumn, literal: str) -> GivenValue:
    """What is looked up by a literal. Raises ValueTypeError."""
    found = encode_literal(column, literal, KeyForm())
    key = None
    if not found.unknown and is_ordered(column):
        plain = read_literal(leaf_type(column), literal).plain[0]
        (key,) = order_keys(column, stored_value(column, plain))
    hashes = spread(np.array(found.hashes, np.uint64)).tolist()
    return GivenValue(hashes, key, bool(found.unknown))
