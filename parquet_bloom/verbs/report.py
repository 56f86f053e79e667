"""Everything about the filters of a file, for one page: what they are, whether they are right, what
they look like, what would be better."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from parquet_bloom.arguments import SomeNames, SomeNumbers
from parquet_bloom.container import WHERE_KNOWN, FilterDescription, Place, number_of
from parquet_bloom.container.descriptions import ChunkDescription, GetBits
from parquet_bloom.container.room import TO_REPORT, check_room
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import ParquetBloomError
from parquet_bloom.filters.occupancy import measured_fpp
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.options import AdviseOptions, InspectOptions, TableView, ValidateOptions
from parquet_bloom.parallel import Progress
from parquet_bloom.rules.finding import Finding
from parquet_bloom.rules.policy import Policy, policy_given
from parquet_bloom.rules.rule import Severity
from parquet_bloom.verbs.advise import AdviceReport, Advisor
from parquet_bloom.verbs.documents import VerbReport
from parquet_bloom.verbs.inspect import FileInspection, inspect_file
from parquet_bloom.verbs.occupancy import FilterOccupancy, occupancy_of
from parquet_bloom.verbs.several import one_of, read_each, reads_several
from parquet_bloom.verbs.validate import ValidationReport, unite, validate_file

if TYPE_CHECKING:
    from parquet_bloom.container.protocols import Container
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.storage.traffic import Requests
    from parquet_bloom.vocabulary import Format, TableChoice

# The page shows every block of this many filters, and summarizes the others by column.
MAX_PICTURES = 48

# The FPP of this many filters is measured, shared out among the columns; each takes up to 1 ms.
MAX_MEASURED = 512

# Advice covers this many columns, those with filters first: `advise` reads all their values.
MAX_ADVISED = 100

NOT_DEEP = "not asked for: it needs the values, and only footer and filters were read"


@dataclass(frozen=True, slots=True)
class ColumnOverview:
    """One leaf column over all row groups. Sizes in bytes, `filter_bytes` with headers.

    `filters`: by row group or stripe, True if a filter can be used. FPPs are None if none can be used;
    `num_measured`: how many were measured, in ORC files none. `ndv_estimate`: the highest of any row group, None
    too if a filter has every bit set. `reason`: why most of the other row groups have no usable
    filter. `findings`: the ids of the rules that are broken there, the most severe first.
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
    num_measured: int
    ndv_estimate: float | None
    reason: str | None
    findings: tuple[str, ...]

    @property
    def num_filters(self) -> int:
        return sum(self.filters)


@dataclass(frozen=True, slots=True)
class FilterPicture:
    """One filter: what is stored, and how its bits are distributed."""

    stored: FilterDescription
    occupancy: FilterOccupancy


@dataclass(frozen=True, slots=True, repr=False)
class FileReport(VerbReport):
    """One file. `advice` covers up to MAX_ADVISED columns, or is None for the reason in `no_advice`.
    `requests`: sent for all of them to the object store that has it; those of `inspection`,
    `validation` and `advice` are None.

    `pictures`: up to MAX_PICTURES of the `num_filters` filters, preferably those with errors and
    warnings, in the order of columns and row groups; none of ORC files, whose filters have no blocks, and of which
    `num_filters` counts each index group.
    """

    _rows: ClassVar = ("columns",)
    _shown_first: ClassVar = (
        "column",
        "filters",
        "findings",
        "reason",
        "filter_bytes",
        "worst_fpp",
    )

    inspection: FileInspection
    validation: ValidationReport
    advice: AdviceReport | None
    no_advice: str | None
    deep: bool
    columns: tuple[ColumnOverview, ...]
    pictures: tuple[FilterPicture, ...]
    num_filters: int
    requests: Requests | None = field(default=None, metadata=WHERE_KNOWN)

    @property
    def path(self) -> str:
        return self.inspection.path

    @property
    def format(self) -> Format:
        return self.inspection.format

    @property
    def unread(self) -> str | None:
        """Why values could not be read, if they were to be."""
        return self.no_advice if self.deep else None

    @property
    def ok(self) -> bool:
        """That of `validation`."""
        return self.validation.ok

    @property
    def state(self) -> str:
        """That of `validation`."""
        return self.validation.state

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Those of `validation`."""
        return self.validation.findings

    @property
    def worst(self) -> Finding | None:
        """That of `validation`."""
        return self.validation.worst

    def __repr__(self) -> str:
        filters = (
            f"{number_of(self.num_filters, 'filter')} in {number_of(len(self.columns), 'column')}"
        )
        unread = f"; values not read: {self.unread}" if self.unread else ""
        return (
            f"<FileReport {self.path}: {self.state}: {self.validation.counts}; {filters}{unread}>"
        )

    def _page_notes(self) -> Sequence[str]:
        return [each.line for each in _worst_first(self.validation.findings)]

    def _page_rows(self) -> Iterator[dict[str, Any]]:
        for row, column in zip(self._items(), self.columns, strict=True):
            of_groups = f"{column.num_filters:,} of {len(column.filters):,}"
            yield row | {"filters": of_groups}

    def _as_row(self) -> dict[str, Any]:
        """That of `validation`, and how many filters were looked at for it."""
        row = self.validation._as_row()
        return row | {"columns": len(self.columns), "num_filters": self.num_filters}

    @staticmethod
    def _in_total(reports: Sequence[FileReport]) -> str:
        """`40 filters`"""
        return number_of(sum(report.num_filters for report in reports), "filter")


@reads_several
def report(
    path: Any,
    *,
    columns: SomeNames | None = None,
    row_groups: SomeNumbers | None = None,
    deep: bool = True,
    fpp: float | None = None,
    budget: int | str | None = None,
    policy: Policy | None = None,
    union_by_name: bool = False,
    ignore_checksums: bool = False,
    threads: int | None = None,
    table: TableChoice | TableView | None = None,
    keys: Keys | None = None,
    storage_options: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> FileReport:
    """Inspect, validate and advise on `columns` (dotted leaf paths; default: all) of one file, in
    `row_groups` (default: all), which are the stripes of an ORC file. The HTML page about that is written by the
    command, `pbloom report FILE -o PAGE.html`.

    A list of paths, a folder, a glob, and a URL that ends with / stand for several files: then this returns a
    FilesReport, with the report on each, and the errors of files that failed.

    deep: look up every stored value, and advise; otherwise only footer and filters are read. fpp:
    the target of the advice, and budget, as for advise. progress: called with (done, in all), first of the
    filters to check, then of the chunks to read for the advice; or, of several files, with (files done, files in
    all). All others as for validate.

    Raises ColumnError, FormatError for a footer that cannot be read, UnsupportedError, OSError,
    EncryptionError if a key is wrong, ValueError for an impossible fpp.
    """
    given = locals()
    # What is wrong is refused before the file is opened.
    required = policy_given(policy)
    to_advise = AdviseOptions.of(given, **required.for_advice())
    options = ValidateOptions.of(given, diagnose=deep, policy=required)
    looked_at = InspectOptions.of(given)
    is_one = table is None and one_of(path) is not None

    def read(file: Container, wanted: ValidateOptions) -> FileReport:
        return report_file(
            file,
            wanted,
            replace(looked_at, threads=wanted.threads),
            replace(to_advise, threads=wanted.threads),
            progress if is_one else None,
        )

    found: FileReport = read_each(
        path, options, read, table=table, keys=keys, storage_options=storage_options,
        progress=None if is_one else progress,
    )  # fmt: skip
    return found


def report_file(
    file: Container,
    options: ValidateOptions,
    looked_at: InspectOptions,
    to_advise: AdviseOptions,
    progress: Progress | None = None,
) -> FileReport:
    """The same for an open file."""
    unite(file, options)
    check_room(file, file.select(options.columns), options.parts, TO_REPORT)
    validation = validate_file(file, options, progress)
    seen = _Seen(validation.findings, len(file.select(options.columns)))
    # There are pictures of filters with blocks alone.
    has_blocks = not file.units.has_groups
    inspection = inspect_file(file, looked_at, seen.take if has_blocks else None)
    advised = replace(to_advise, columns=_advised(inspection))
    advice, no_advice = _advice(file, advised, progress) if options.deep else (None, NOT_DEEP)
    requests = file.source.requests
    chunks = zip(*(part.columns for part in inspection.parts), strict=True)
    broken = _broken(validation.findings)
    summaries = tuple(
        _summary(found, seen.measured.get(position, ()), broken)
        for position, found in enumerate(chunks)
    )
    return FileReport(
        inspection=replace(inspection, requests=None),
        validation=replace(validation, requests=None),
        advice=advice and replace(advice, requests=None),
        no_advice=no_advice,
        deep=options.deep,
        columns=summaries,
        pictures=seen.pictures(),
        num_filters=sum(
            each.filter.num_filters
            for part in inspection.parts
            for each in part.columns
            if each.filter
        ),
        requests=requests,
    )


class _Seen:
    """What is kept of filters that pass by one at a time: pictures of the troubled ones and of the
    first, and the measured FPP of some in each column."""

    def __init__(self, findings: Sequence[Finding], num_columns: int) -> None:
        self.measured: dict[int, list[float]] = defaultdict(list)
        self._most_measured = max(1, MAX_MEASURED // max(1, num_columns))
        # By the rank of the worst finding, then by the position of the column and the row group.
        self._pictures: dict[int, dict[tuple[int, int], FilterPicture]] = defaultdict(dict)
        self._ranks = {
            (finding.row_group, finding.column): finding.severity.rank
            for finding in sorted(findings, key=lambda finding: finding.severity)
            if finding.severity > Severity.NOTE
        }

    def take(self, place: Place, position: int, found: ChunkDescription, read: GetBits) -> None:
        """Look at a filter, while its bits are in memory; at those of the first few only."""
        assert found.filter is not None
        alike = self._pictures[self._ranks.get((place.part, found.column), 0)]
        measured = self.measured[position]
        if len(alike) < MAX_PICTURES:
            occupancy = occupancy_of(place, found.column, read())
            alike[position, place.part] = FilterPicture(found.filter, occupancy)
            measured.append(occupancy.measured_fpp)
        elif len(measured) < self._most_measured:
            bits = read()
            assert isinstance(bits, SplitBlockBloomFilter)
            measured.append(measured_fpp(bits))

    def pictures(self) -> tuple[FilterPicture, ...]:
        """The most troubled ones, up to MAX_PICTURES, in the order of columns and row groups."""
        ranks = sorted(self._pictures, reverse=True)
        items = [item for rank in ranks for item in self._pictures[rank].items()]
        chosen = dict(items[:MAX_PICTURES])
        return tuple(chosen[key] for key in sorted(chosen))


def _advised(inspection: FileInspection) -> tuple[str, ...]:
    """The columns to advise on, those with the most filters first."""
    filters = Counter(
        column.column for part in inspection.parts for column in part.columns if column.filter
    )
    names = [column.column for part in inspection.parts[:1] for column in part.columns]
    return tuple(sorted(names, key=lambda name: -filters[name])[:MAX_ADVISED])


def _advice(
    file: Any, options: AdviseOptions, progress: Progress | None
) -> tuple[AdviceReport | None, str | None]:
    """The advice, or why there is none: damage that validate reports as a finding is an error here."""
    advisor = Advisor(options)
    try:
        advisor.add_file(file, progress)
    except ParquetBloomError as error:
        return None, str(error).removeprefix(f"{file.path}: ")
    (report,) = advisor.reports()
    return report, None


def _broken(findings: Iterable[Finding]) -> Mapping[str | None, dict[str, None]]:
    """The ids of the rules that are broken in each column, the most severe first."""
    rules: dict[str | None, dict[str, None]] = defaultdict(dict)
    for each in _worst_first(findings):
        rules[each.column][each.rule] = None
    return rules


def _worst_first(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda each: -each.severity.rank)


def _summary(
    chunks: Sequence[ChunkDescription],
    measured: Sequence[float],
    broken: Mapping[str | None, Iterable[str]],
) -> ColumnOverview:
    name = chunks[0].column
    stored = [chunk.filter for chunk in chunks if chunk.filter]
    estimates = [found.ndv_estimate for found in stored if found.ndv_estimate is not None]
    reasons = Counter(chunk.reason for chunk in chunks if chunk.reason)
    return ColumnOverview(
        column=name,
        physical_type=chunks[0].physical_type,
        logical_type=chunks[0].logical_type,
        filters=tuple(chunk.filter is not None for chunk in chunks),
        chunk_bytes=sum(chunk.chunk_bytes or 0 for chunk in chunks),
        filter_bytes=sum(found.stored_bytes for found in stored),
        worst_fpp=max((found.worst_fpp for found in stored), default=None),
        mean_fpp=_mean([found.fpp for found in stored]),
        worst_measured_fpp=max(measured, default=None),
        mean_measured_fpp=_mean(measured),
        num_measured=len(measured),
        ndv_estimate=max(estimates) if estimates and len(estimates) == len(stored) else None,
        reason=reasons.most_common(1)[0][0] if reasons else None,
        findings=tuple(broken.get(name, ())),
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
