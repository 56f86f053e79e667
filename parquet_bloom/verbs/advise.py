"""Which columns deserve Bloom filters, at what size, and what that would save.

One pass over the values of each column counts the distinct ones and samples them; min/max statistics
tell which groups (row groups, or index groups in ORC) a reader can skip without a filter. Both lead
to the verdict (see advice.verdict). Files with the same columns are judged as one table.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from parquet_bloom.advice.survey import Subject
from parquet_bloom.advice.table import (
    JudgedColumn,
    SurveyedColumn,
    SurveyedFile,
    SurveyedTable,
)
from parquet_bloom.arguments import (
    PATH_OR_URL,
    SomeNames,
    SomeNumbers,
    path_given,
)
from parquet_bloom.container import WHERE_KNOWN
from parquet_bloom.container.room import (
    OF_COLUMN,
    TO_ADVISE,
    check_columns_room,
    check_groups_room,
    check_room,
)
from parquet_bloom.dataclass import dataclass
from parquet_bloom.engines.reading import EngineUse
from parquet_bloom.engines.settings import WriterSettings
from parquet_bloom.files import FORMATS, open_file
from parquet_bloom.options import AdviseOptions
from parquet_bloom.parallel import Progress
from parquet_bloom.storage import with_options
from parquet_bloom.verbs.documents import VerbReport
from parquet_bloom.vocabulary import AdviceBasis, AdviceVerdict, Format

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.storage.traffic import Requests


@dataclass(frozen=True, slots=True)
class ColumnAdvice:
    """One column. If it cannot have a filter, what was not counted is None or 0.

    In this file: `num_values`, with nulls in Parquet but not in ORC; `already`: groups with a filter;
    `ndv`: distinct non-null values of the whole column; `ndv_error`: relative standard error of
    `ndv`, None if exact; `group_ndv`: the highest of any group; `only_dictionary`: whether all values
    are in dictionary pages, None in ORC; `filter_bytes`: all bitsets that `build` would write;
    `filter_share`: their share of the file, 0 to 1.

    In all files that were judged together: `groups` with a non-null value; `groups_*`: how many of
    them a look-up reads on average, by min/max statistics alone, with filters, and with filters if
    the value is not stored; `basis`: which values are looked up; `values_stored` of `values_asked`
    are stored.
    """

    column: str
    physical_type: str
    logical_type: str | None
    num_values: int
    chunk_bytes: int
    already: int
    engines: tuple[EngineUse, ...]
    reason: str
    verdict: AdviceVerdict = "skip"
    eligible: bool = False
    ndv: int | None = None
    ndv_exact: bool = False
    ndv_error: float | None = None
    group_ndv: int | None = None
    only_dictionary: bool | None = None
    filter_bytes: int = 0
    filter_share: float = 0.0
    groups: int = 0
    groups_statistics: float | None = None
    groups_filter: float | None = None
    groups_filter_absent: float | None = None
    basis: AdviceBasis = "stored values"
    values_asked: int = 0
    values_stored: int = 0
    settings: tuple[WriterSettings, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class AdviceReport(VerbReport):
    """The advice on one file; `size` in bytes; `fpp`: the target; `files`: how many were judged
    together, including this one; `recommended`: the columns whose verdict is `build`; `obstacles`: what
    `build` would refuse the file for, or some of its columns, None for nothing; `requests`: sent to
    the object store that has the file, None for other files."""

    _rows: ClassVar = ("columns",)

    path: str
    format: Format
    files: int
    num_rows: int
    num_groups: int
    size: int
    fpp: float
    recommended: tuple[str, ...]
    columns: tuple[ColumnAdvice, ...]
    obstacles: tuple[str, ...] | None = field(default=None, metadata=WHERE_KNOWN)
    requests: Requests | None = field(default=None, metadata=WHERE_KNOWN)


def advise(
    path: str | os.PathLike[str],
    *,
    columns: SomeNames | None = None,
    row_groups: SomeNumbers | None = None,
    fpp: float | None = None,
    max_bytes: int | None = None,
    value_sample: Mapping[str, Any] | None = None,
    ignore_checksums: bool = False,
    threads: int | None = None,
    keys: Keys | None = None,
    storage_options: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> AdviceReport:
    """Judge each of `columns` (dotted paths; default: all) of one file, by the values in `row_groups`
    (default: all), which are the stripes of an ORC file.

    fpp: the target false positive rate, 0 to 1, exclusive; default 0.01. max_bytes: the limit of a
    bitset, 64 to 134,217,728 (the default); not for ORC. value_sample: by column, the values that
    are really looked up, repeated as often as they are, given as for probe. progress: called with
    (chunks done, chunks in all). ignore_checksums as for build, all others as for inspect.

    Raises ColumnError, ValueTypeError for values that the column cannot hold, UnsupportedError
    for an option that the format does not support, FormatError for damage in what is read,
    EncryptionError if a file cannot be decrypted, OSError. A column that cannot be read for lack of
    a codec, an encoding or a key is not an error: its `reason` says so.
    """
    advisor = Advisor(AdviseOptions.of(locals()), keys)
    advisor.add(with_options(path, storage_options), progress)
    (report,) = advisor.reports()
    return report


class Advisor:
    """Judges files. Those with the same columns are judged together, as one table."""

    def __init__(self, options: AdviseOptions | None = None, keys: Keys | None = None) -> None:
        """See `advise`."""
        self._options = options or AdviseOptions()
        self._keys = keys
        # By the format and the columns, with their types.
        self._tables: dict[tuple[Format, tuple[Any, ...]], SurveyedTable] = {}
        self._files: dict[str, tuple[SurveyedTable, int]] = {}

    def add(self, path: str | os.PathLike[str], progress: Progress | None = None) -> None:
        """Read a file, unless it was added before. Raises as `advise`."""
        name = path_given("path", path, PATH_OR_URL)
        if name not in self._files:
            with open_file(name, self._keys) as file:
                self._files[name] = self._read(file, progress)

    def add_file(self, file: Any, progress: Progress | None = None) -> None:
        """The same for an open file."""
        if file.path not in self._files:
            self._files[file.path] = self._read(file, progress)

    def _read(self, file: Any, progress: Progress | None) -> tuple[SurveyedTable, int]:
        """The table that a file belongs to, and its index there."""
        options = self._options
        if options.ignore_checksums:
            file.ignore_checksums()
        surveyor = FORMATS[file.format].surveyor(file, options)
        columns = file.select(options.columns)
        check_columns_room(file, columns, OF_COLUMN)
        check_room(file, columns, options.parts, TO_ADVISE)
        check_groups_room(file, len(columns) * surveyor.num_groups, TO_ADVISE)
        key = file.format, tuple((column.name, column.type) for column in columns)
        table = self._tables.get(key) or SurveyedTable(
            surveyor, columns, options.value_sample or {}
        )
        table.add(surveyor, columns, options.threads, progress)
        self._tables[key] = table
        return table, len(table.files) - 1

    def reports(self) -> Iterator[AdviceReport]:
        """One for each file, in the order they were added."""
        judged = {id(table): table.judge() for table in self._tables.values()}
        for table, place in self._files.values():
            file = table.files[place]
            yield self._report(table, file, judged[id(table)], file.path)

    def tables(self) -> Iterator[AdviceReport]:
        """One for each table, with all its files as one."""
        for table in self._tables.values():
            yield self._report(table, table.whole(), table.judge(), table.files[0].path)

    def _report(
        self, table: SurveyedTable, file: SurveyedFile, judged: Sequence[JudgedColumn], path: str
    ) -> AdviceReport:
        """About one file, or all as one; `path`: the input that the settings name."""
        columns = tuple(
            _advice(subject, column, found, file.size, path)
            for subject, column, found in zip(table.subjects, file.columns, judged, strict=True)
        )
        return AdviceReport(
            path=file.path,
            format=table.format,
            files=len(table.files),
            num_rows=file.num_rows,
            num_groups=file.num_groups,
            size=file.size,
            fpp=self._options.target_fpp,
            recommended=tuple(each.column for each in columns if each.verdict == "build"),
            columns=columns,
            obstacles=file.obstacles or None,
            requests=file.requests,
        )


def _advice(
    subject: Subject, column: SurveyedColumn, judged: JudgedColumn, file_size: int, path: str
) -> ColumnAdvice:
    counts, reads = column.counts, judged.reads
    known = ColumnAdvice(
        column=subject.column.name,
        physical_type=subject.column.physical_type,
        logical_type=subject.column.logical_type,
        num_values=counts.num_values,
        chunk_bytes=counts.chunk_bytes,
        already=counts.already,
        engines=subject.engines,
        reason=column.reason,
    )
    if column.reason:
        return known
    return replace(
        known,
        eligible=True,
        ndv=column.ndv,
        ndv_exact=column.ndv_error is None,
        ndv_error=column.ndv_error,
        group_ndv=counts.group_ndv,
        only_dictionary=counts.only_dictionary if counts.groups else None,
        filter_bytes=counts.filter_bytes,
        filter_share=counts.filter_bytes / file_size,
        groups=judged.groups,
        groups_statistics=reads.by_statistics if reads else None,
        groups_filter=reads.with_filter if reads else None,
        groups_filter_absent=reads.with_filter_if_absent if reads else None,
        basis=judged.basis,
        values_asked=reads.num_values if reads else 0,
        values_stored=reads.num_stored if reads else 0,
        verdict=judged.verdict,
        reason=judged.reason,
        settings=subject.settings(path, counts) if counts.filter_bytes else (),
    )
