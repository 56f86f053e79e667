"""What one page says about many files: sizes and rates by column and by partition, the worst files, the findings
by rule, the advice.

Files are looked at one by one, and what is kept of them does not grow with their number: sums, and some of the
worst.
"""

from __future__ import annotations

import heapq
import os
import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import chain, islice, takewhile
from threading import Lock
from typing import TYPE_CHECKING, Final

from parquet_bloom.advice.table import table_key
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import ParquetBloomError
from parquet_bloom.options import AdviseOptions, InspectOptions, ValidateOptions
from parquet_bloom.rules.finding import Finding
from parquet_bloom.rules.rule import Severity
from parquet_bloom.verbs.advise import ANY_FILE, MAX_IN_NEED, AdviceReport, TableAdvisor
from parquet_bloom.verbs.documents import document_of
from parquet_bloom.verbs.inspect import FileInspection, inspect_file
from parquet_bloom.verbs.inspect_summary import (
    ColumnSummary,
    InspectionSummarizer,
    InspectionSummary,
)
from parquet_bloom.verbs.several import Failure, message_of
from parquet_bloom.verbs.validate import ValidationReport, validate_file
from parquet_bloom.vocabulary import NULL_PARTITION

if TYPE_CHECKING:
    from parquet_bloom.container.protocols import Container
    from parquet_bloom.encryption.keys import Keys

# What is kept of files, of those that failed, of partitions, of places that break one rule, and of the different ways
# to break it, each with a place.
MAX_FILES: Final = 25
MAX_FAILURES: Final = 50
MAX_PARTITIONS: Final = 1000
MAX_EXAMPLES: Final = 5
MAX_WAYS: Final = 50
# And of the files in which a filter of a column may be the only trace of changed pages.
MAX_TRACES: Final = 50
# So many of the files without filters for a column are shown.
MAX_WITHOUT: Final = 3

# A value of a partition that is a number; of more digits, it is rather a key.
_INTEGER: Final = re.compile(r"-?[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class FileOverview:
    """One of the worst files. Sizes in bytes; `worst_fpp`: None without a filter that can be used;
    `first`: the first of its most severe findings, None if it has none."""

    path: str
    size: int
    num_filters: int
    filter_bytes: int
    worst_fpp: float | None
    errors: int
    warnings: int
    first: Finding | None


@dataclass(slots=True)
class PartitionOverview:
    """The files of one partition, or in one folder; of `name` None, those of all that were met after
    MAX_PARTITIONS. Counts of files, findings, filters; sizes in bytes."""

    name: str | None
    files: int = 0
    with_filters: int = 0
    size: int = 0
    num_filters: int = 0
    filter_bytes: int = 0
    worst_fpp: float | None = None
    errors: int = 0
    warnings: int = 0

    def add(self, file: FileOverview) -> None:
        self.files += 1
        self.with_filters += file.num_filters > 0
        self.size += file.size
        self.num_filters += file.num_filters
        self.filter_bytes += file.filter_bytes
        self.errors += file.errors
        self.warnings += file.warnings
        if file.worst_fpp is not None:
            self.worst_fpp = max(file.worst_fpp, self.worst_fpp or 0.0)


@dataclass(slots=True)
class BrokenRule:
    """The findings of one rule and severity: how many, in how many files and which columns; with the path, the first
    of each column that says something else, and others of the first files; `helped`: by command, in which the file is
    called FILE, the first files that it helps with, up to one more than MAX_IN_NEED;
    `stripped`: the columns of which all filters are to go from some file."""

    findings: int = 0
    files: int = 0
    columns: set[str] = field(default_factory=set)
    examples: list[tuple[str, Finding]] = field(default_factory=list)
    helped: dict[str, list[str]] = field(default_factory=dict)
    stripped: set[str] = field(default_factory=set)
    _ways: set[tuple[object, ...]] = field(default_factory=set)

    def add(self, path: str, findings: Sequence[Finding]) -> None:
        self.findings += len(findings)
        self.files += 1
        self.columns.update(each.column for each in findings if each.column is not None)
        to_strip = (each.column for each in findings if each.is_to_be_stripped)
        self.stripped.update(column for column in to_strip if column is not None)
        for command in {each.next: None for each in findings if each.next}:
            of_any = _for_any(command, path)
            if of_any in self.helped or len(self.helped) < MAX_WAYS:
                _keep_few(self.helped.setdefault(of_any, []), path)
        firsts: dict[tuple[object, ...], Finding] = {}
        for each in findings:
            firsts.setdefault((each.column, each.is_to_be_looked_at, *each.likeness), each)
        new = [way for way in firsts if way not in self._ways][: MAX_WAYS - len(self._ways)]
        self._ways.update(new)
        if new:
            self.examples += [(path, firsts[way]) for way in new]
        elif len(self.examples) < MAX_EXAMPLES:
            self.examples.append((path, findings[0]))

    @property
    def num_files_unnamed(self) -> int:
        """How many files there are of which no place is among the examples."""
        return self.files - len({path for path, _ in self.examples})

    @property
    def num_columns_unnamed(self) -> int:
        """The same of columns."""
        return len(self.columns) - len({each.column for _, each in self.examples} - {None})


@dataclass(frozen=True, slots=True)
class InSomeFiles:
    """A column of which some files have filters, and others none: by the keys of their tables, the first of these,
    up to one more than MAX_IN_NEED, are `without`."""

    column: ColumnSummary
    without: Mapping[str, tuple[str, ...]]

    @property
    def shown(self) -> tuple[str, ...]:
        """Some of the files that have none."""
        return tuple(islice(chain.from_iterable(self.without.values()), MAX_WITHOUT))

    @property
    def num_not_shown(self) -> int:
        """How many others have none."""
        return self.column.files - self.column.files_with_filters - len(self.shown)


@dataclass(frozen=True, slots=True)
class LakeReport:
    """Many files. `names`: as they were asked for; `failures`: some of the `num_failed` files that could not be read;
    `worst`: the most severe findings first, then the highest rate; `num_troubled`: how many have errors or warnings;
    `lacking`: the columns that some files do not have; `broken`: the most severe first; `broken_columns`: by the key
    of a table, those with filters that are wrong in its files, with the rules that say so; `with_filters`: by column,
    the first files that have any, up to one more than MAX_IN_NEED; `traces`: by column, the first files in which a
    filter may be the only trace of pages that have changed, up to one more than MAX_TRACES; `filters` and `values`:
    how many were checked; `num_unknown`: files with encrypted columns that there is no key for; `advice`: a report
    for all files with the same columns; `in_need`: by the key of a table and column, the first files in which filters
    are missing or too small, up to one more than MAX_IN_NEED; `not_advised`: some of the `num_not_advised` files with
    values that could not be read, of which no filters are built."""

    names: tuple[str, ...]
    deep: bool
    ok: bool
    summary: InspectionSummary
    severities: Counter[str]
    filters: int
    values: int
    num_unknown: int
    failures: tuple[Failure, ...]
    num_failed: int
    partitions: tuple[PartitionOverview, ...]
    worst: tuple[FileOverview, ...]
    num_troubled: int
    lacking: frozenset[str]
    in_some: tuple[InSomeFiles, ...]
    broken: tuple[BrokenRule, ...]
    broken_columns: Mapping[str, Mapping[str, tuple[str, ...]]]
    with_filters: Mapping[str, tuple[str, ...]]
    traces: Mapping[str, tuple[str, ...]]
    advice: tuple[AdviceReport, ...]
    in_need: Mapping[tuple[str, str], tuple[str, ...]]
    not_advised: tuple[Failure, ...]
    num_not_advised: int

    @property
    def unread(self) -> frozenset[str]:
        """The paths of `failures` and `not_advised`."""
        return frozenset(each.path for each in (*self.failures, *self.not_advised))


@dataclass(frozen=True, slots=True)
class FileLookedAt:
    """What is known of one file; `no_advice`: why it has no part in the advice, behind its path; `table`: the key of
    those that are judged with it, empty where none are judged; `columns`: the names of those that were looked at."""

    validation: ValidationReport
    inspection: FileInspection
    no_advice: str | None
    table: str = ""
    columns: tuple[str, ...] = ()


class LakeReporter:
    """Looks at files, in several threads if need be, and takes what was found, in one."""

    def __init__(
        self,
        names: tuple[str, ...],
        options: ValidateOptions,
        advised: AdviseOptions,
        keys: Keys | None = None,
    ) -> None:
        self._names = names
        self._options = options
        self._looked_at = InspectOptions(columns=options.columns, parts=options.parts)
        self._advisor = TableAdvisor(advised, keys)
        self._advising = Lock()
        self._summarizer = InspectionSummarizer()
        self._ok = True
        self._severities: Counter[str] = Counter()
        self._checked: Counter[str] = Counter()
        self._failed: list[Failure] = []
        self._not_advised: list[Failure] = []
        self._counts: Counter[str] = Counter()
        self._partitions: dict[str | None, PartitionOverview] = {}
        self._worst: list[tuple[tuple[int, int, float], int, FileOverview]] = []
        self._broken: dict[tuple[Severity, str], BrokenRule] = {}
        self._broken_columns: dict[str, dict[str, set[str]]] = {}
        self._traces: dict[str, dict[str, None]] = {}
        self._with_filters: dict[str, list[str]] = {}
        self._without: dict[str, dict[str, list[str]]] = {}
        self._files_with: Counter[str] = Counter()

    def look_at(self, file: Container, threads: int | None = None) -> FileLookedAt:
        """Raises as validate, inspect and advise."""
        options = replace(self._options, threads=threads)
        validation = validate_file(file, options)
        inspection = inspect_file(file, replace(self._looked_at, threads=threads))
        columns = file.select(options.columns)
        names = tuple(each.name for each in columns)
        if not options.deep:
            return FileLookedAt(validation, inspection, None, columns=names)
        # None that lacks all that are asked about is judged.
        no_advice = self._advise(file) if columns else None
        return FileLookedAt(validation, inspection, no_advice, table_key(file, columns), names)

    def _advise(self, file: Container) -> str | None:
        """Why not: damage that validate reports as a finding is an error here."""
        try:
            with self._advising:
                self._advisor.add_file(file)
        except ParquetBloomError as error:
            return message_of(file.path, error)
        return None

    def add(self, path: str, found: FileLookedAt) -> None:
        """What was found in the next file."""
        findings = found.validation.findings
        file = _overview(path, found)
        self._add_to_columns(path, found)
        self._ok = self._ok and found.validation.ok and found.no_advice is None
        self._severities.update(each.severity for each in findings)
        self._checked["filters"] += found.validation.checked.filters
        self._checked["values"] += found.validation.checked.values or 0
        self._checked["unknown"] += bool(found.validation.checked.encrypted_chunks)
        self._add_to_partition(path, file)
        self._add_to_worst(file)
        by_rule: dict[tuple[Severity, str], list[Finding]] = {}
        for each in findings:
            by_rule.setdefault((each.severity, each.rule), []).append(each)
            # The advice is about the other files.
            if each.is_against_filter and each.column is not None and found.no_advice is None:
                of_table = self._broken_columns.setdefault(found.table, {})
                of_table.setdefault(each.column, set()).add(each.rule)
            if each.may_be_only_trace and each.column is not None:
                paths = self._traces.setdefault(each.column, {})
                if len(paths) <= MAX_TRACES:
                    paths[path] = None
        for key, alike in by_rule.items():
            self._broken.setdefault(key, BrokenRule()).add(path, alike)
        if found.no_advice is not None:
            self._keep(self._not_advised, "not advised", path, found.no_advice)

    def add_failed(self, path: str, message: str) -> None:
        """A file that could not be read; `message` names it."""
        self._ok = False
        self._keep(self._failed, "failed", path, message)

    def _keep(self, failures: list[Failure], kind: str, path: str, message: str) -> None:
        self._counts[kind] += 1
        if len(failures) < MAX_FAILURES:
            failures.append(Failure(path, message))

    def _add_to_columns(self, path: str, found: FileLookedAt) -> None:
        """Which are in this file, and have filters, or none."""
        self._files_with.update(found.columns)
        for column in self._summarizer.add(document_of(found.inspection)):
            _keep_few(self._without.setdefault(column, {}).setdefault(found.table, []), path)
        chunks = (chunk for part in found.inspection.parts for chunk in part.columns)
        for column in {chunk.column for chunk in chunks if chunk.filter_bytes}:
            _keep_few(self._with_filters.setdefault(column, []), path)

    def _add_to_partition(self, path: str, file: FileOverview) -> None:
        name: str | None = _partition_of(path)
        if name not in self._partitions and len(self._partitions) >= MAX_PARTITIONS:
            name = None
        self._partitions.setdefault(name, PartitionOverview(name)).add(file)

    def _add_to_worst(self, file: FileOverview) -> None:
        badness = file.errors, file.warnings, file.worst_fpp or 0.0
        # Of files that are equally bad, the first.
        self._counts["read"] += 1
        self._counts["troubled"] += file.errors + file.warnings > 0
        item = badness, -self._counts["read"], file
        if len(self._worst) < MAX_FILES:
            heapq.heappush(self._worst, item)
        else:
            heapq.heappushpop(self._worst, item)

    def report(self) -> LakeReport:
        """All that was added."""
        broken = sorted(self._broken.items(), key=lambda item: -item[0][0].rank)
        summary = self._summarizer.summary()
        advice = tuple(self._advisor.tables()) if self._options.deep else ()
        key_of = {key: each.key for each in advice for key in each.keys}
        return LakeReport(
            names=self._names,
            deep=self._options.deep,
            ok=self._ok,
            summary=summary,
            severities=self._severities,
            filters=self._checked["filters"],
            values=self._checked["values"],
            num_unknown=self._checked["unknown"],
            failures=tuple(self._failed),
            num_failed=self._counts["failed"],
            partitions=tuple(_named(self._partitions.values())),
            worst=tuple(file for *_, file in sorted(self._worst, key=lambda item: item[:2])[::-1]),
            num_troubled=self._counts["troubled"],
            lacking=frozenset(
                column for column, files in self._files_with.items() if files < summary.files
            ),
            in_some=tuple(
                InSomeFiles(each, _of_reports(self._without[each.column], key_of))
                for each in summary.columns
                if 0 < each.files_with_filters < each.files
            ),
            broken=tuple(each for _, each in broken),
            broken_columns=_broken_in_reports(self._broken_columns, key_of),
            with_filters=_as_tuples(self._with_filters),
            traces=_as_tuples(self._traces),
            advice=advice,
            in_need={key: tuple(paths) for key, paths in self._advisor.in_need.items()},
            not_advised=tuple(self._not_advised),
            num_not_advised=self._counts["not advised"],
        )


def _for_any(command: str, path: str) -> str:
    words = (ANY_FILE if word == path else word for word in shlex.split(command))
    return shlex.join(words)


def _keep_few(paths: list[str], path: str) -> None:
    if len(paths) <= MAX_IN_NEED:
        paths.append(path)


def _of_reports(
    paths: Mapping[str, Iterable[str]], key_of: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    """By the key of a report, the paths by the keys of files with the same columns; few, as they were."""
    found: dict[str, list[str]] = {}
    for table, of_table in paths.items():
        for path in of_table:
            _keep_few(found.setdefault(key_of.get(table, table), []), path)
    return _as_tuples(found)


def _broken_in_reports(
    broken: Mapping[str, Mapping[str, Collection[str]]], key_of: Mapping[str, str]
) -> dict[str, dict[str, tuple[str, ...]]]:
    """The same of columns that are broken, with the rules that say so."""
    found: dict[str, dict[str, set[str]]] = {}
    for table, columns in broken.items():
        for column, rules in columns.items():
            of_report = found.setdefault(key_of.get(table, table), {})
            of_report.setdefault(column, set()).update(rules)
    return {
        table: {column: tuple(sorted(rules)) for column, rules in columns.items()}
        for table, columns in found.items()
    }


def _as_tuples(paths: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(found) for name, found in paths.items()}


def _overview(path: str, found: FileLookedAt) -> FileOverview:
    inspection, findings = found.inspection, found.validation.findings
    severities = Counter(each.severity for each in findings)
    chunks = (chunk for part in inspection.parts for chunk in part.columns)
    rates = [chunk.filter.worst_fpp for chunk in chunks if chunk.filter is not None]
    return FileOverview(
        path=path,
        size=inspection.size,
        num_filters=inspection.num_filters,
        filter_bytes=inspection.filter_bytes,
        worst_fpp=max(rates, default=None),
        errors=severities[Severity.ERROR],
        warnings=severities[Severity.WARNING],
        first=max(findings, key=lambda each: each.severity, default=None),
    )


def _partition_of(path: str) -> str:
    """`country=DE/day=7`, as the names of folders say it; the folder, if they say none."""
    folder = os.path.dirname(path)
    return "/".join(each for each in folder.split("/") if "=" in each) or folder


def _named(partitions: Iterable[PartitionOverview]) -> Iterator[PartitionOverview]:
    """By name, see _in_order; folders without what is common to all of them."""
    given = list(partitions)
    ordered = _in_order([each.name for each in given if each.name is not None])
    place = {name: at for at, name in enumerate(ordered)}
    found = sorted(given, key=lambda each: len(place) if each.name is None else place[each.name])
    names = [name.split("/") for name in ordered]
    alike = list(takewhile(lambda parts: len({*parts}) == 1, zip(*names, strict=False)))
    if len(names) > 1 and not any("=" in parts[0] for parts in alike):
        for each in found:
            if each.name is not None:
                each.name = "/".join(each.name.split("/")[len(alike) :]) or "."
    yield from found


def _in_order(names: Iterable[str]) -> list[str]:
    """Names of partitions and folders; their values as numbers where all values of a partition column are integers,
    so that `day=2` is before `day=10`; null first."""
    parts = {name: [_label_and_value(each) for each in name.split("/")] for name in names}
    texts = {
        (depth, label)
        for labelled in parts.values()
        for depth, (label, value) in enumerate(labelled)
        if value != NULL_PARTITION and not _INTEGER.fullmatch(value)
    }

    def order(name: str) -> list[tuple[str, bool, int, str]]:
        return [
            (label, value != NULL_PARTITION, _number(value, (depth, label) not in texts), value)
            for depth, (label, value) in enumerate(parts[name])
        ]

    return sorted(parts, key=order)


def _number(value: str, is_of_numbers: bool) -> int:
    return int(value) if is_of_numbers and value != NULL_PARTITION else 0


def _label_and_value(folder: str) -> tuple[str, str]:
    """Of a folder that is named as one of a partition; else without a label."""
    label, sign, value = folder.partition("=")
    return (label, value) if sign else ("", folder)
