"""All that can be said of a file's filters, gathered for one page: what there is, whether it is
right, what it looks like, what would be better."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloom.errors import ParquetBloomError, UnsupportedError
from parquet_bloom.parallel import Progress
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.membership import measured_fpp
from parquet_bloom.rules.catalogue import Finding, Severity, ValidationReport
from parquet_bloom.rules.policy import Policy
from parquet_bloom.verbs.advise import AdviceReport, advise
from parquet_bloom.verbs.inspect import ColumnInspection, FileInspection, FilterInspection, inspect
from parquet_bloom.verbs.occupancy import FilterOccupancy, filter_occupancy, inspected_filters
from parquet_bloom.verbs.validate import validate

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys

# Of so many filters the page shows every block; of the others, what they come to in their columns.
MAX_PICTURES = 48

# So many columns are advised on, those with filters first; `advise` reads all values of each.
MAX_ADVISED = 100

NOT_DEEP = "not asked for: it needs the values, and only footer and filters were read"


@dataclass(frozen=True, slots=True)
class ColumnSummary:
    """One leaf column over all row groups. Sizes in bytes, `filter_bytes` with headers.

    `filters`: by row group, True where there is one that can be used. FPPs are None without any;
    `ndv_estimate` is that of the row group with the most values, None too if a filter has every bit
    set; `reason` is why most of the other row groups have no filter that can be used.
    """

    column: str
    physical_type: str
    logical_type: str | None
    filters: tuple[bool, ...]
    chunk_bytes: int
    filter_bytes: int
    worst_fpp: float | None
    mean_fpp: float | None
    worst_measured_fpp: float | None
    mean_measured_fpp: float | None
    ndv_estimate: float | None
    reason: str | None

    @property
    def num_filters(self) -> int:
        return sum(self.filters)


@dataclass(frozen=True, slots=True)
class FilterPicture:
    """One filter: what is stored, and how its bits lie."""

    stored: FilterInspection
    occupancy: FilterOccupancy


@dataclass(frozen=True, slots=True)
class FileReport:
    """One file. `advice` is about up to MAX_ADVISED columns, or None for the reason in `no_advice`.

    `pictures`: of up to MAX_PICTURES of the `num_filters` filters, those with errors and warnings
    before others, in the order of columns and row groups.
    """

    inspection: FileInspection
    validation: ValidationReport
    advice: AdviceReport | None
    no_advice: str | None
    deep: bool
    columns: tuple[ColumnSummary, ...]
    pictures: tuple[FilterPicture, ...]
    num_filters: int


def report(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    deep: bool = True,
    fpp: float = 0.01,
    policy: Policy | None = None,
    threads: int | None = None,
    keys: Keys | None = None,
    progress: Progress | None = None,
) -> FileReport:
    """Inspect, validate and advise on `columns` (dotted leaf paths; default: all) of one file.

    deep: look up every stored value, and advise; otherwise only footer and filters are read. fpp:
    the target of the advice, 0 to 1, exclusive. policy: as for validate. progress: called with (done, in all) of filters
    checked, then of chunks read for the advice. keys: for encrypted files.

    Raises ColumnError, FormatError for a footer that cannot be read, UnsupportedError, OSError,
    EncryptionError for what does not open.
    """
    inspection = inspect(path, columns=columns, keys=keys)
    if inspection.format == "orc":
        raise UnsupportedError(
            f"{inspection.path}: an ORC file: pages are about Parquet files, expected one; inspect,"
            " validate and advise tell the same of ORC"
        )
    validation = validate(
        path,
        columns=columns,
        deep=deep,
        diagnose=deep,
        policy=policy,
        threads=threads,
        keys=keys,
        progress=progress,
    )
    advice, no_advice = (
        _advice(inspection, fpp, threads, keys, progress) if deep else (None, NOT_DEEP)
    )
    chosen = _chosen(inspection, validation.findings)
    measured: dict[ChunkKey, float] = {}
    pictures = {}
    for found in inspected_filters(inspection, keys):
        key = found.row_group, found.column
        if key in chosen:
            occupancy = filter_occupancy(found)
            pictures[key] = FilterPicture(found.stored, occupancy)
            measured[key] = occupancy.measured_fpp
        else:
            measured[key] = measured_fpp(found.bits)
    return FileReport(
        inspection=inspection,
        validation=validation,
        advice=advice,
        no_advice=no_advice,
        deep=deep,
        columns=tuple(_summaries(inspection, measured)),
        pictures=tuple(pictures[key] for key in sorted(pictures, key=lambda key: key[::-1])),
        num_filters=len(measured),
    )


def _advised(inspection: FileInspection) -> list[str]:
    """The columns to advise on, most wanted first."""
    filters = Counter(
        column.column
        for group in inspection.row_groups
        for column in group.columns
        if column.filter
    )
    names = [column.column for group in inspection.row_groups[:1] for column in group.columns]
    return sorted(names, key=lambda name: -filters[name])[:MAX_ADVISED]


def _advice(
    inspection: FileInspection,
    fpp: float,
    threads: int | None,
    keys: Keys | None,
    progress: Progress | None,
) -> tuple[AdviceReport | None, str | None]:
    """The advice, or why there is none: pages that validate makes findings of are errors here."""
    path, columns = inspection.path, _advised(inspection)
    try:
        report = advise(
            path, columns=columns, fpp=fpp, threads=threads, keys=keys, progress=progress
        )
        assert report.format == "parquet"
        return report, None
    except ParquetBloomError as error:
        return None, str(error).removeprefix(f"{path}: ")


def _chosen(inspection: FileInspection, findings: Sequence[Finding]) -> set[ChunkKey]:
    """Row group and place of the filters to look at closely, the troubled ones first."""
    trouble = {
        (finding.row_group, finding.column): finding.rank
        for finding in sorted(findings, key=lambda finding: finding.rank)
        if finding.rank > Severity.NOTE
    }
    ranked = sorted(
        (-trouble.get((group.row_group, column.column), 0), group.row_group, place)
        for group in inspection.row_groups
        for place, column in enumerate(group.columns)
        if column.filter
    )
    return {(row_group, place) for _, row_group, place in ranked[:MAX_PICTURES]}


def _summaries(
    inspection: FileInspection, measured: Mapping[ChunkKey, float]
) -> Iterator[ColumnSummary]:
    """One for each column that was inspected."""
    for place, chunks in enumerate(
        zip(*(group.columns for group in inspection.row_groups), strict=True)
    ):
        yield _summary(
            chunks,
            [
                measured[group.row_group, place]
                for group in inspection.row_groups
                if (group.row_group, place) in measured
            ],
        )


def _summary(chunks: Sequence[ColumnInspection], measured: Sequence[float]) -> ColumnSummary:
    stored = [chunk.filter for chunk in chunks if chunk.filter]
    estimates = [found.ndv_estimate for found in stored if found.ndv_estimate is not None]
    reasons = Counter(chunk.reason for chunk in chunks if chunk.reason)
    return ColumnSummary(
        column=chunks[0].column,
        physical_type=chunks[0].physical_type,
        logical_type=chunks[0].logical_type,
        filters=tuple(chunk.filter is not None for chunk in chunks),
        chunk_bytes=sum(chunk.chunk_bytes or 0 for chunk in chunks),
        filter_bytes=sum(found.stored_bytes for found in stored),
        worst_fpp=max((found.fpp for found in stored), default=None),
        mean_fpp=_mean([found.fpp for found in stored]),
        worst_measured_fpp=max(measured, default=None),
        mean_measured_fpp=_mean(measured),
        ndv_estimate=max(estimates) if estimates and len(estimates) == len(stored) else None,
        reason=reasons.most_common(1)[0][0] if reasons else None,
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
