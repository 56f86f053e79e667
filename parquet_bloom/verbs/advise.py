"""Which columns deserve Bloom filters, at what size, and what that would save.

One pass over the pages of each column counts distinct values and draws some of them; the footer's
min/max statistics tell which row groups a reader leaves out without a filter. The verdict follows
from the two (see parquet_bloom.advice.verdict). Files with the same columns are judged as one table.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from parquet_bloom.advice import samples
from parquet_bloom.advice.engines import EngineUse, engine_uses, seldom_asked
from parquet_bloom.advice.lookups import ExpectedReads
from parquet_bloom.advice.samples import GivenSample, Sample, StoredSample
from parquet_bloom.advice.settings import WantedFilter, WriterSettings, writer_settings
from parquet_bloom.advice.statistics import key_of
from parquet_bloom.advice.survey import ColumnCounts
from parquet_bloom.advice.table import SurveyedColumn, SurveyedFile, TableSurvey, limit_for
from parquet_bloom.advice.verdict import Evidence, Verdict, judge
from parquet_bloom.chunk_filter import Size
from parquet_bloom.chunk_pool import Progress
from parquet_bloom.errors import ColumnError, ValueTypeError
from parquet_bloom.files import ParquetFile, open_parquet
from parquet_bloom.filters.sizing import MAX_BYTES
from parquet_bloom.leaf_type import LeafType
from parquet_bloom.literals import encode_literal
from parquet_bloom.parquet.schema import LeafColumn

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys

Basis = Literal["stored values", "value sample"]


@dataclass(frozen=True, slots=True)
class ColumnAdvice:
    """One column. What nobody counted, because the column cannot have a filter, is None or 0.

    Of the file: `ndv`: distinct non-null values of the whole column; `ndv_error`: its relative
    standard error, None if it is exact; `row_group_ndv`: the most that one row group has.
    `filter_bytes`: the bitsets that `build` would write, all row groups together; `filter_share`:
    of the file. `already`: chunks with a filter.

    Of all files of the table that were judged together: `row_groups`: those with a non-null value;
    `row_groups_*`: how many of them a look-up reads on average, by min/max statistics alone, with
    filters, and with filters if the value is not stored. `basis`: whose look-ups these are;
    `values_stored` of `values_asked` are stored. `verdict` and `reason` follow from these.
    """

    column: str
    physical_type: str
    logical_type: str | None
    num_values: int
    chunk_bytes: int
    already: int
    engines: tuple[EngineUse, ...]
    reason: str
    verdict: Verdict = "skip"
    eligible: bool = False
    ndv: int | None = None
    ndv_exact: bool = False
    ndv_error: float | None = None
    row_group_ndv: int | None = None
    only_dictionary: bool = False
    filter_bytes: int = 0
    filter_share: float = 0.0
    row_groups: int = 0
    row_groups_statistics: float | None = None
    row_groups_filter: float | None = None
    row_groups_filter_absent: float | None = None
    basis: Basis = "stored values"
    values_asked: int = 0
    values_stored: int = 0
    settings: tuple[WriterSettings, ...] = ()


@dataclass(frozen=True, slots=True)
class AdviceReport:
    """What is advised for one file; `size` in bytes, `fpp` is the target; `files` of the table were
    judged together, this one counted."""

    path: str
    files: int
    num_rows: int
    num_row_groups: int
    size: int
    fpp: float
    columns: tuple[ColumnAdvice, ...]

    @property
    def recommended(self) -> tuple[str, ...]:
        """The columns whose verdict is `build`."""
        return tuple(advice.column for advice in self.columns if advice.verdict == "build")


def advise(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    fpp: float = 0.01,
    max_bytes: int = MAX_BYTES,
    value_sample: Mapping[str, Sequence[str]] | None = None,
    threads: int | None = None,
    keys: Keys | None = None,
    progress: Progress | None = None,
) -> AdviceReport:
    """Judge each of `columns` (dotted leaf paths; default: all) of one file.

    fpp: the target false positive rate, 0 to 1, exclusive. max_bytes: the limit of a bitset, 64 to
    134,217,728. value_sample: for some of the columns, literals that are really looked up, as often
    as they are. keys: for encrypted files. progress: called with (chunks done, chunks in all).

    Raises ColumnError, ValueTypeError for literals that the column cannot hold, FormatError for
    damage in what is read, EncryptionError for what does not open, OSError. A column that cannot be
    read for want of a codec, an encoding or a key is not an error: its `reason` says so.
    """
    advisor = Advisor(
        columns=columns, fpp=fpp, max_bytes=max_bytes, value_sample=value_sample, threads=threads,
        keys=keys,
    )  # fmt: skip
    advisor.add(path, progress)
    (report,) = advisor.reports()
    return report


class Advisor:
    """Judges files; those with the same columns together, as look-ups search them together."""

    def __init__(
        self,
        *,
        columns: Sequence[str] | None = None,
        fpp: float = 0.01,
        max_bytes: int = MAX_BYTES,
        value_sample: Mapping[str, Sequence[str]] | None = None,
        threads: int | None = None,
        keys: Keys | None = None,
    ) -> None:
        """See `advise`."""
        self._columns = columns
        self._size = Size(fpp, max_bytes)
        self._value_sample = value_sample or {}
        self._threads = threads
        self._keys = keys
        self._tables: dict[tuple[tuple[str, LeafType], ...], _Table] = {}
        self._files: dict[str, tuple[_Table, int]] = {}

    def add(self, path: str | os.PathLike[str], progress: Progress | None = None) -> None:
        """Read a file. One that was added already is not read again. Raises as `advise`."""
        if os.fspath(path) in self._files:
            return
        with open_parquet(path, self._keys) as file:
            file.footer.check_row_counts()
            leaves = file.leaves(self._columns)
            key = tuple((leaf.name, leaf.type) for leaf in leaves)
            table = self._tables.get(key) or self._table(file, leaves)
            table.survey.add(file, leaves, self._size, self._threads, progress)
            self._tables[key] = table
            self._files[os.fspath(path)] = table, len(table.survey.files) - 1

    def reports(self) -> Iterator[AdviceReport]:
        """One for each file, in the order in which they were added."""
        judgements = {id(table): table.judgements() for table in self._tables.values()}
        for table, place in self._files.values():
            file = table.survey.files[place]
            yield table.report(file, file.path, judgements[id(table)])

    def tables(self) -> Iterator[AdviceReport]:
        """One for each table, all its files taken as one."""
        for table in self._tables.values():
            yield table.report(table.whole(), table.survey.files[0].path, table.judgements())

    def _table(self, file: ParquetFile, leaves: Sequence[LeafColumn]) -> _Table:
        """A table that begins with this file."""
        given = self._given(file, leaves)
        limit = limit_for(samples.LIMIT, len(leaves))
        survey = TableSurvey(
            leaves,
            [given.get(leaf.index) or StoredSample(key_of(leaf.type), limit) for leaf in leaves],
        )
        return _Table(survey, self._size, frozenset(given))

    def _given(self, file: ParquetFile, leaves: Sequence[LeafColumn]) -> dict[int, Sample]:
        """The values that the user looks up, by leaf index."""
        given: dict[int, Sample] = {}
        for column, literals in self._value_sample.items():
            leaf = file.leaf(column)
            where = f"{file.path}: value sample: column {column}"
            if leaf not in leaves:
                raise ColumnError(f"{where} is not asked about")
            if not literals:
                raise ColumnError(f"{where}: no values, expected at least one")
            times = Counter(literals)
            try:
                encodings = [encode_literal(leaf.type, literal) for literal in times]
            except ValueTypeError as error:
                raise ValueTypeError(f"{where}: {error}") from None
            given[leaf.index] = GivenSample(encodings, list(times.values()), key_of(leaf.type))
        return given


@dataclass(frozen=True, slots=True)
class _ColumnJudgement:
    """What is said of a column of all files of a table."""

    row_groups: int
    engines: tuple[EngineUse, ...]
    basis: Basis
    reads: ExpectedReads | None
    verdict: Verdict
    reason: str


class _Table:
    """Files that are judged together; `measured`: leaf indices, in the first of them, of columns
    whose look-ups the user has given."""

    def __init__(self, survey: TableSurvey, size: Size, measured: frozenset[int]) -> None:
        self.survey = survey
        self._size = size
        self._measured = measured

    def judgements(self) -> list[_ColumnJudgement]:
        """One for each column."""
        return [self._judgement(place) for place in range(len(self.survey.leaves))]

    def _judgement(self, place: int) -> _ColumnJudgement:
        leaf, column = self.survey.leaves[place], self.survey.column(place)
        engines = engine_uses(leaf)
        is_measured = leaf.index in self._measured
        reads = self.survey.expected_reads(place)
        judgement = judge(
            Evidence(
                files=len(self.survey.files),
                row_groups=column.counts.row_groups,
                ndv=column.distinct.ndv if column.distinct else 0,
                filters=column.counts.filters,
                filter_bytes=column.counts.filter_bytes,
                chunk_bytes=column.counts.chunk_bytes,
                only_dictionary=column.counts.only_dictionary,
                seldom_asked=seldom_asked(leaf.type),
                has_engine=any(use.uses for use in engines),
                already=column.counts.already,
                max_bytes=self._size.max_bytes,
                is_measured=is_measured,
                reads=reads,
            )
        )
        return _ColumnJudgement(
            row_groups=column.counts.row_groups,
            engines=engines,
            basis="value sample" if is_measured else "stored values",
            reads=reads,
            verdict=judgement.verdict,
            reason=judgement.reason,
        )

    def whole(self) -> SurveyedFile:
        """All files as one."""
        first, *others = self.survey.files
        return SurveyedFile(
            path=f"{first.path} and {len(others):,} more" if others else first.path,
            num_rows=sum(file.num_rows for file in self.survey.files),
            num_row_groups=sum(file.num_row_groups for file in self.survey.files),
            size=sum(file.size for file in self.survey.files),
            columns=tuple(map(self.survey.column, range(len(self.survey.leaves)))),
        )

    def report(
        self, file: SurveyedFile, path: str, judgements: Sequence[_ColumnJudgement]
    ) -> AdviceReport:
        """What is said of one file, or of all as one; `path` is what settings read."""
        return AdviceReport(
            path=file.path,
            files=len(self.survey.files),
            num_rows=file.num_rows,
            num_row_groups=file.num_row_groups,
            size=file.size,
            fpp=self._size.fpp,
            columns=tuple(
                self._advice(leaf, column, judgement, path, file.size)
                for leaf, column, judgement in zip(
                    self.survey.leaves, file.columns, judgements, strict=True
                )
            ),
        )

    def _advice(
        self,
        leaf: LeafColumn,
        column: SurveyedColumn,
        judgement: _ColumnJudgement,
        path: str,
        file_size: int,
    ) -> ColumnAdvice:
        counts, distinct, reads = column.counts, column.distinct, judgement.reads
        known = ColumnAdvice(
            column=leaf.name,
            physical_type=leaf.type.physical,
            logical_type=str(leaf.type.logical) if leaf.type.logical else None,
            num_values=counts.num_values,
            chunk_bytes=counts.chunk_bytes,
            already=counts.already,
            engines=judgement.engines,
            reason=column.reason,
        )
        if distinct is None:
            return known
        return replace(
            known,
            eligible=True,
            ndv=distinct.ndv,
            ndv_exact=distinct.error is None,
            ndv_error=distinct.error,
            row_group_ndv=counts.row_group_ndv,
            only_dictionary=counts.only_dictionary,
            filter_bytes=counts.filter_bytes,
            filter_share=counts.filter_bytes / file_size,
            row_groups=judgement.row_groups,
            row_groups_statistics=reads.by_statistics if reads else None,
            row_groups_filter=reads.with_filter if reads else None,
            row_groups_filter_absent=reads.with_filter_if_absent if reads else None,
            basis=judgement.basis,
            values_asked=reads.num_values if reads else 0,
            values_stored=reads.num_stored if reads else 0,
            verdict=judgement.verdict,
            reason=judgement.reason,
            settings=self._settings(leaf, counts, path) if counts.filter_bytes else (),
        )

    def _settings(
        self, leaf: LeafColumn, counts: ColumnCounts, path: str
    ) -> tuple[WriterSettings, ...]:
        return writer_settings(
            WantedFilter(
                path=path,
                column_path=leaf.path,
                fpp=self._size.fpp,
                max_bytes=self._size.max_bytes,
                ndv=counts.row_group_ndv,
                num_bytes=counts.largest_filter,
                dictionary_bytes=counts.dictionary_bytes,
                only_dictionary=counts.only_dictionary,
            )
        )
