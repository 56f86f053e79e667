"""Which columns deserve Bloom filters, at what size, and what that would save.

One pass over the pages of each column counts distinct values and draws some of them; the footer's
min/max statistics tell which row groups a reader leaves out without a filter. The verdict follows
from the two (see parquet_bloom.advice.verdict).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Literal

from parquet_bloom.advice.engines import EngineUse, engine_uses
from parquet_bloom.advice.settings import WantedFilter, WriterSettings, writer_settings
from parquet_bloom.advice.survey import ChunkSurvey, ColumnSurvey
from parquet_bloom.advice.verdict import Evidence, Verdict, judge
from parquet_bloom.chunk_filter import Size
from parquet_bloom.chunk_pool import Progress, work_in_order
from parquet_bloom.errors import ColumnError, UnsupportedError, ValueTypeError
from parquet_bloom.files import NO_KEY, ParquetFile
from parquet_bloom.files import open as open_file
from parquet_bloom.filters.sizing import MAX_BYTES, MIN_BYTES
from parquet_bloom.literals import encode_literal
from parquet_bloom.parquet.footer import ColumnChunk
from parquet_bloom.parquet.schema import LeafColumn
from parquet_bloom.values import Encodings

if TYPE_CHECKING:
    from parquet_bloom.parquet.keys import Keys

Basis = Literal["stored values", "value sample"]


@dataclass(frozen=True, slots=True)
class ColumnAdvice:
    """One column. What nobody counted, because the column cannot have a filter, is None or 0.

    `ndv`: distinct non-null values of the whole column; `ndv_error`: its relative standard error,
    None if it is exact; `row_group_ndv`: the most that one row group has. `filter_bytes`: the
    bitsets that `build` would write, all row groups together; `filter_share`: of the file.
    `already`: chunks with a filter. `row_groups`: those with a non-null value; `row_groups_*`: how
    many of them a look-up reads on average, by min/max statistics alone, with filters, and with
    filters if the value is not stored. `basis`: whose look-ups these are; `values_stored` of
    `values_asked` are in the file.
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
    """What is advised for one file; `size` in bytes, `fpp` is the target."""

    path: str
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
    damage in what is read, EncryptionError for what does not open, OSError. A column that cannot be read for want of a codec, an encoding
    or a key is not an error: its `reason` says so.
    """
    size = _checked_size(fpp, max_bytes)
    with open_file(path, keys) as file:
        file.footer.check_row_counts()
        leaves = file.leaves(columns)
        given = _encoded_sample(file, leaves, value_sample or {})
        advisor = _Advisor(file, size, given, threads or len(os.sched_getaffinity(0)))
        return AdviceReport(
            path=file.path,
            num_rows=file.num_rows,
            num_row_groups=file.num_row_groups,
            size=file.source.size,
            fpp=fpp,
            columns=tuple(advisor.advise(leaves, progress)),
        )


def _checked_size(fpp: float, max_bytes: int) -> Size:
    if not 0 < fpp < 1:
        raise ValueError(f"fpp: {fpp}, expected more than 0 and less than 1")
    if not MIN_BYTES <= max_bytes <= MAX_BYTES:
        raise ValueError(f"max_bytes: {max_bytes}, expected {MIN_BYTES} to {MAX_BYTES}")
    return Size(fpp, max_bytes)


def _encoded_sample(
    file: ParquetFile, leaves: Sequence[LeafColumn], sample: Mapping[str, Sequence[str]]
) -> dict[int, list[Encodings]]:
    """The stored bytes of the values of each column, by leaf index."""
    encoded = {}
    for column, values in sample.items():
        leaf = file.leaf(column)
        if leaf not in leaves:
            raise ColumnError(f"{file.path}: value sample: column {column} is not asked about")
        try:
            encoded[leaf.index] = [encode_literal(leaf.type, value) for value in values]
        except ValueTypeError as error:
            raise ValueTypeError(f"{file.path}: value sample: column {column}: {error}") from None
    return encoded


class _Advisor:
    def __init__(
        self, file: ParquetFile, size: Size, given: Mapping[int, list[Encodings]], threads: int
    ) -> None:
        self._file = file
        self._size = size
        self._given = given
        self._threads = threads
        self._surveys: dict[int, ColumnSurvey] = {}

    def advise(
        self, leaves: Sequence[LeafColumn], progress: Progress | None
    ) -> Iterator[ColumnAdvice]:
        """The advice on each column, one after the other."""
        chunks = []
        for leaf in leaves:
            if not self._reason_against(leaf):
                given = self._given.get(leaf.index, ())
                self._surveys[leaf.index] = ColumnSurvey(self._file, leaf, self._size, given)
                chunks += self._chunks(leaf)
        found = work_in_order(chunks, self._read, self._room, self._threads)
        done = count(1)
        for leaf in leaves:
            reason = self._reason_against(leaf)
            for _ in range(0 if reason else self._file.num_row_groups):
                chunk, part = next(found)
                if isinstance(part, ChunkSurvey):
                    self._surveys[leaf.index].add(chunk, part)
                else:
                    reason = part
                if progress:
                    progress(next(done), len(chunks))
            survey = self._surveys.pop(leaf.index, None)
            if survey is None or reason:
                yield self._without_filter(leaf, reason)
            else:
                yield self._advice(leaf, survey)

    def _reason_against(self, leaf: LeafColumn) -> str:
        """Why `build` gives the column no filter whatever its values are; empty if it does."""
        if leaf.type.physical == "BOOLEAN":
            return "BOOLEAN: two values need no filter"
        return NO_KEY if any(chunk.is_locked for chunk in self._chunks(leaf)) else ""

    def _chunks(self, leaf: LeafColumn) -> list[ColumnChunk]:
        groups = range(self._file.num_row_groups)
        return [self._file.footer.chunk(row_group, leaf) for row_group in groups]

    def _read(self, chunk: ColumnChunk) -> ChunkSurvey | str:
        """What is in a chunk, or why it cannot be read."""
        try:
            return self._surveys[chunk.leaf.index].read(chunk)
        except UnsupportedError as error:
            return str(error)

    def _room(self, chunk: ColumnChunk) -> int:
        return self._surveys[chunk.leaf.index].room(chunk)

    def _without_filter(self, leaf: LeafColumn, reason: str) -> ColumnAdvice:
        """A column that can have no filter, of which only the footer is known."""
        chunks = self._chunks(leaf)
        return ColumnAdvice(
            column=leaf.name,
            physical_type=leaf.type.physical,
            logical_type=str(leaf.type.logical) if leaf.type.logical else None,
            num_values=sum(chunk.num_values or 0 for chunk in chunks),
            chunk_bytes=sum(chunk.total_compressed_size or 0 for chunk in chunks),
            already=sum(chunk.bloom_filter_offset is not None for chunk in chunks),
            engines=engine_uses(leaf),
            reason=reason,
        )

    def _advice(self, leaf: LeafColumn, survey: ColumnSurvey) -> ColumnAdvice:
        """A column that has been read."""
        known = self._without_filter(leaf, "")
        is_measured = leaf.index in self._given
        reads = survey.expected_reads()
        groups = survey.row_groups
        filter_bytes = sum(group.filter_bytes for group in groups)
        judgement = judge(
            Evidence(
                row_groups=len(groups),
                ndv=survey.ndv,
                filters=sum(group.filter_bytes > 0 for group in groups),
                filter_bytes=filter_bytes,
                chunk_bytes=known.chunk_bytes,
                only_dictionary=survey.only_dictionary,
                is_float=leaf.type.is_float,
                has_engine=any(use.uses for use in known.engines),
                already=known.already,
                max_bytes=self._size.max_bytes,
                is_measured=is_measured,
                reads=reads,
            )
        )
        return replace(
            known,
            eligible=True,
            ndv=survey.ndv,
            ndv_exact=survey.ndv_error is None,
            ndv_error=survey.ndv_error,
            row_group_ndv=max((group.ndv for group in groups), default=0),
            only_dictionary=survey.only_dictionary,
            filter_bytes=filter_bytes,
            filter_share=filter_bytes / self._file.source.size,
            row_groups=len(groups),
            row_groups_statistics=reads.by_statistics if reads else None,
            row_groups_filter=reads.with_filter if reads else None,
            row_groups_filter_absent=reads.with_filter_if_absent if reads else None,
            basis="value sample" if is_measured else "stored values",
            values_asked=reads.num_values if reads else 0,
            values_stored=reads.num_stored if reads else 0,
            verdict=judgement.verdict,
            reason=judgement.reason,
            settings=self._settings(leaf, survey) if filter_bytes else (),
        )

    def _settings(self, leaf: LeafColumn, survey: ColumnSurvey) -> tuple[WriterSettings, ...]:
        chunks = self._chunks(leaf)
        return writer_settings(
            WantedFilter(
                path=self._file.path,
                column=leaf.name,
                fpp=self._size.fpp,
                ndv=max(group.ndv for group in survey.row_groups),
                num_bytes=max(group.filter_bytes for group in survey.row_groups),
                dictionary_bytes=max(chunk.total_uncompressed_size or 0 for chunk in chunks),
                only_dictionary=survey.only_dictionary,
            )
        )
