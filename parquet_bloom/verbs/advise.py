"""Which columns deserve Bloom filters, at what size, and what that would save.

One pass over the pages of each column counts distinct values and draws some of them; the footer's
min/max statistics tell which row groups a reader leaves out without a filter. The verdict follows
from the two (see parquet_bloom.advice.verdict). Files with the same columns are judged as one table.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from parquet_bloom.advice import samples
from parquet_bloom.advice.engines import EngineUse, engine_uses, seldom_asked
from parquet_bloom.advice.judgement import Basis, ColumnJudgement, Subject, judge_column
from parquet_bloom.advice.parquet_survey import ParquetSurvey
from parquet_bloom.advice.samples import GivenValue, StoredSample, given_values
from parquet_bloom.advice.settings import WantedFilter, WriterSettings, writer_settings
from parquet_bloom.advice.statistics import key_of
from parquet_bloom.advice.survey import ColumnCounts
from parquet_bloom.advice.table import SurveyedColumn, SurveyedFile, TableSurvey, limit_for
from parquet_bloom.advice.value_sample import given_samples
from parquet_bloom.advice.verdict import Verdict
from parquet_bloom.errors import UnsupportedError
from parquet_bloom.files import open as open_file
from parquet_bloom.filters.sizing import MAX_BYTES, Size
from parquet_bloom.parallel import Progress
from parquet_bloom.parquet.file import ParquetFile
from parquet_bloom.parquet.footer.schema import LeafColumn
from parquet_bloom.values.literals import encode_literal
from parquet_bloom.values.types import LeafType

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.orc.file import OrcFile
    from parquet_bloom.verbs.orc.advise import OrcAdviceReport, OrcTable


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
    format: Literal["parquet"]
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
) -> AdviceReport | OrcAdviceReport:
    """Judge each of `columns` (dotted leaf paths, of ORC dotted names; default: all) of one file.

    fpp: the target false positive rate, 0 to 1, exclusive. max_bytes: the limit of a bitset, 64 to
    134,217,728; has no meaning for an ORC file. value_sample: for some of the columns, literals that
    are really looked up, as often as they are. keys: for encrypted files. progress: called with
    (chunks done, chunks in all).

    Raises ColumnError, ValueTypeError for literals that the column cannot hold, UnsupportedError for
    an option that has no meaning, FormatError for damage in what is read, EncryptionError for what
    does not open, OSError. A column that cannot be read for want of a codec, an encoding or a key is
    not an error: its `reason` says so.
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
        self._of_parquet: dict[tuple[tuple[str, LeafType], ...], _Table] = {}
        self._of_orc: dict[tuple[tuple[str, str], ...], OrcTable] = {}
        self._files: dict[str, tuple[_Table | OrcTable, int]] = {}

    def add(self, path: str | os.PathLike[str], progress: Progress | None = None) -> None:
        """Read a file. One that was added already is not read again. Raises as `advise`."""
        if os.fspath(path) in self._files:
            return
        with open_file(path, self._keys) as file:
            table: _Table | OrcTable
            if file.format == "parquet":
                table = self._add_parquet(file, progress)
            else:
                table = self._add_orc(file, progress)
            self._files[os.fspath(path)] = table, len(table.survey.files) - 1

    def _add_parquet(self, file: ParquetFile, progress: Progress | None) -> _Table:
        file.footer.check_row_counts()
        leaves = file.leaves(self._columns)
        key = tuple((leaf.name, leaf.type) for leaf in leaves)
        table = self._of_parquet.get(key) or _Table(file, leaves, self._size, self._value_sample)
        table.add(file, leaves, self._threads, progress)
        self._of_parquet[key] = table
        return table

    def _add_orc(self, file: OrcFile, progress: Progress | None) -> OrcTable:
        from parquet_bloom.verbs.orc.advise import OrcTable

        if self._size.max_bytes != MAX_BYTES:
            raise UnsupportedError(f"{file.path}: max_bytes: has no meaning for an ORC file")
        columns = file.named_columns(self._columns)
        key = tuple((column.name, column.type) for column in columns)
        table = self._of_orc.get(key) or OrcTable(file, columns, self._size.fpp, self._value_sample)
        table.add(file, columns, self._threads, progress)
        self._of_orc[key] = table
        return table

    def reports(self) -> Iterator[AdviceReport | OrcAdviceReport]:
        """One for each file, in the order in which they were added."""
        judgements = {id(table): table.judgements() for table, _ in self._files.values()}
        for table, place in self._files.values():
            file = table.survey.files[place]
            yield table.report(file, file.path, judgements[id(table)])

    def tables(self) -> Iterator[AdviceReport | OrcAdviceReport]:
        """One for each table, all its files taken as one."""
        for table in {id(table): table for table, _ in self._files.values()}.values():
            yield table.report(table.survey.whole(), table.survey.files[0].path, table.judgements())


class _Table:
    """Parquet files that are judged together."""

    def __init__(
        self,
        file: ParquetFile,
        leaves: Sequence[LeafColumn],
        size: Size,
        value_sample: Mapping[str, Sequence[str]],
    ) -> None:
        """A table that begins with this file. Raises ColumnError, ValueTypeError."""
        places = {leaf.index: place for place, leaf in enumerate(leaves)}

        def value_of(place: int, literal: str) -> GivenValue:
            type = leaves[place].type
            (value,) = given_values([encode_literal(type, literal)], key_of(type))
            return value

        given = given_samples(
            file.path, value_sample, lambda column: places.get(file.leaf(column).index), value_of
        )
        limit = limit_for(samples.LIMIT, len(leaves))
        self.survey = TableSurvey(
            [
                given.get(place) or StoredSample(key_of(leaf.type), limit)
                for place, leaf in enumerate(leaves)
            ]
        )
        self._leaves = leaves
        self._size = size
        self._measured = frozenset(given)

    def add(
        self,
        file: ParquetFile,
        leaves: Sequence[LeafColumn],
        threads: int | None,
        progress: Progress | None,
    ) -> None:
        """Read `leaves` of a file, which are the columns of the table as they lie there.

        Raises FormatError for damage.
        """
        about = SurveyedFile(file.path, file.num_rows, file.num_row_groups, file.source.size)
        reading = ParquetSurvey(file, leaves, self.survey.samples, self._size)
        self.survey.add(about, reading.surveys(threads, progress))

    def judgements(self) -> list[ColumnJudgement]:
        """One for each column."""
        return [
            judge_column(
                self.survey,
                place,
                Subject(
                    engines=engine_uses(leaf),
                    seldom_asked=seldom_asked(leaf.type),
                    limit=f"within {self._size.max_bytes:,} bytes",
                    unit="row group",
                    is_measured=place in self._measured,
                ),
            )
            for place, leaf in enumerate(self._leaves)
        ]

    def report(
        self, file: SurveyedFile, path: str, judgements: Sequence[ColumnJudgement]
    ) -> AdviceReport:
        """What is said of one file, or of all as one; `path` is what settings read."""
        return AdviceReport(
            path=file.path,
            format="parquet",
            files=len(self.survey.files),
            num_rows=file.num_rows,
            num_row_groups=file.num_row_groups,
            size=file.size,
            fpp=self._size.fpp,
            columns=tuple(
                self._advice(leaf, column, judgement, path, file.size)
                for leaf, column, judgement in zip(
                    self._leaves, file.columns, judgements, strict=True
                )
            ),
        )

    def _advice(
        self,
        leaf: LeafColumn,
        column: SurveyedColumn,
        judgement: ColumnJudgement,
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
