"""Add Bloom filters to an existing file, without rewriting a page or data stream.

Several threads read column chunks; their filters are written in file order, while the kernel copies
the unchanged part of the file. The new file is opened again and checked before it takes its name.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from parquet_bloom.arguments import SomeNames, SomeNumbers, columns_needed
from parquet_bloom.container import (
    WHERE_KNOWN,
    BuildChange,
    BuiltFilters,
    LeftChunk,
    Units,
    number_of,
)
from parquet_bloom.container.protocols import Container
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import RewriteError, quoted_name
from parquet_bloom.files import FORMATS
from parquet_bloom.options import BuildOptions, Destination, RepairOptions, ValidateOptions
from parquet_bloom.parallel import Progress
from parquet_bloom.rules.damage import MAY_HAVE_CHANGED
from parquet_bloom.storage.new_version import check_appendable
from parquet_bloom.verbs.documents import VerbReport
from parquet_bloom.verbs.file_runner import (
    Changing,
    changing,
    changing_opened,
    lacking,
    take_by_name,
)
from parquet_bloom.verbs.several import FilesReport, change_each, changes_several
from parquet_bloom.vocabulary import (
    REMOVED,
    REPLACED,
    Dialect,
    Existing,
    FileLayout,
    Format,
    OrcStreams,
)

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.legacy.murmur3.dialect import Murmur3
    from parquet_bloom.legacy.statistics.dialect import StatisticsFilter
    from parquet_bloom.storage.traffic import Requests
    from parquet_bloom.verbs.advise import AdviceReport

# Yields filters that were built elsewhere, see container.BuildChange.take.
TakeFilters = Callable[[Container, Sequence[Any]], Generator[tuple[Any, Any]]]


@dataclass(frozen=True, slots=True, repr=False)
class BuildReport(VerbReport):
    """What build did to one file. Sizes in bytes; `output`: the file that was written, in place the same as `path`;
    None where none was, in a `dry_run` and in place where nothing was to change. `notes`: what to know about the
    filters, such as which readers will ignore them, and about the file."""

    _rows: ClassVar = ("filters",)
    _told_below: ClassVar = ("skipped",)

    path: str
    format: Format
    output: str | None
    filters: tuple[BuiltFilters, ...]
    skipped: tuple[LeftChunk, ...]
    bytes_added: int
    size_before: int
    size_after: int
    dry_run: bool
    seconds: float
    notes: tuple[str, ...] = ()
    requests: Requests | None = field(default=None, metadata=WHERE_KNOWN)

    @property
    def num_filters(self) -> int:
        """How many were added, counting each index group."""
        return sum(built.num_filters for built in self.filters)

    @property
    def state(self) -> str:
        """`built`, `skipped`, `unchanged`, or `stripped` in place of filters that went, with none in their place."""
        if self.filters:
            return "built"
        if self.bytes_added and self.output in (None, self.path):
            return "stripped"
        return "skipped" if self.skipped else "unchanged"

    @staticmethod
    def _in_total(reports: Sequence[BuildReport]) -> str:
        """`40 filters`"""
        return number_of(sum(report.num_filters for report in reports), "filter")


@changes_several
def build(
    source: Any,
    output: str | os.PathLike[str] | None = None,
    *,
    columns: SomeNames | None = None,
    advice: AdviceReport | FilesReport[AdviceReport] | None = None,
    fpp: float | None = None,
    ndv: int | None = None,
    max_bytes: int | None = None,
    exact_blocks: bool = False,
    existing: Existing = "keep",
    row_groups: SomeNumbers | None = None,
    union_by_name: bool = False,
    threads: int | None = None,
    ignore_checksums: bool = False,
    in_place: bool = False,
    append_in_place: bool = False,
    overwrite: bool = False,
    resume: bool = False,
    force: bool = False,
    dry_run: bool = False,
    verify: bool = True,
    unconditional: bool = False,
    keys: Keys | None = None,
    storage_options: Mapping[str, str] | None = None,
    expose_filter_location: bool = False,
    drop_foreign_fields: bool = False,
    orc_streams: OrcStreams | None = None,
    layout: FileLayout | None = None,
    dialect: Murmur3 | StatisticsFilter | Dialect | None = None,
    progress: Progress | None = None,
) -> BuildReport:
    """Write `source` with Bloom filters for `columns` (dotted leaf paths) to `output`, or for those that `advice`
    recommends, which is what `advise` said of the same files, perhaps within a budget: each column at its rate. Of
    several tables, each file gets what the report on those with its columns recommends;
    one that there is none on fails.

    A list of paths, a folder, a glob, and a URL that ends with / stand for several files: then this returns a
    FilesReport, with the report on each, and the errors of files that failed. `output` is then the folder of the new
    files.

    fpp: the target false positive rate, 0 to 1, exclusive; 0.01 if None. Each filter is as small as it allows. ndv:
    size for this many distinct values per chunk instead; such filters, and those of ORC, may have up to twice the
    rate, as hashes can be unlucky. max_bytes: the limit of a bitset, 64 to 134,217,728 (the default). exact_blocks:
    allow block counts that are not powers of two; such filters are mostly smaller, but some readers refuse them, and
    others lose rows (PB201). existing: what to do with existing filters. union_by_name: several
    files are those of one schema: one that has no such column, in upper or lower case, gets filters for the others,
    if any file has it. force: also write filters that miss the target. ignore_checksums: read pages even if their
    checksums are wrong; checksums that are all 0 count as missing anyway. in_place: replace `source` itself.
    overwrite: replace an existing `output`. resume: of several files, leave out those whose outputs exist, as of
    a run that was stopped. dry_run: build, but write nothing; what would be refused is, but behind URLs. verify: read
    back what was written. unconditional: replace an object without conditional writes, or a file without locks, where
    a concurrent change could be lost. progress: called with (chunks done, chunks in all); of several files, with
    (files done, files in all).

    keys: for encrypted files, the keys of the footer and of `columns`, whose filters are encrypted
    with them; a column without a key is skipped. expose_filter_location: let a plaintext footer show
    where these filters are, and so how large; for columns with the footer's key, Arrow C++ looks
    nowhere else.

    drop_foreign_fields: drop what another writer has put into a Parquet file's footer where an edit
    would contradict it, such as a second footer, or needs its place, such as a list in the fields of a
    filter's pointer; with `layout` replace.

    storage_options: for the object store behind a URL, such as {"region": "eu-west-1"}.

    In an ORC file, `columns` are dotted names, `row_groups` are stripes, and filters have room
    for as many values as a full index group has rows, mostly 10,000, or for `ndv`; orc_streams: `utf8`, the default,
    or `both`, for readers before ORC 1.3, too.

    layout: `replace` puts filters and a new footer where the old footer was; `append` puts them
    behind the old file, which stays whole, so that whoever recorded its size still reads it as it
    was, and `strip` gives it back byte for byte. By default, `append` for a file to which filters
    were appended before, and for what is changed in place behind a URL, else `replace`. Such a file
    is cut back to its first end before new ones are appended, with those that are kept.

    append_in_place: instead of `output` and in_place, for a local Parquet file that no reader
    has open: with `layout` append, and only the new end is written, behind the last one. A journal
    beside the file says what it was; see recover for what a kill leaves.

    dialect: write filters of a legacy dialect to an unencrypted Parquet file; readers ignore them
    unless the dialect publishes them. Its name stands for its usual settings. A StatisticsFilter has
    its own size options, and fpp, ndv and max_bytes are refused with it.

    Raises ColumnError, FormatError for damage in what is read, UnsupportedError for codecs,
    encodings and options that are not supported, EncryptionError for keys that are wrong or missing,
    RewriteError for outputs that must not be written, OSError.
    """
    given = locals()
    advised = advised_by(given, columns, advice)
    options = BuildOptions.of(given, columns=() if advised else columns_needed(columns))
    if append_in_place and (in_place or output is not None):
        raise ValueError("append_in_place: expected neither output nor in_place with it")
    destination = Destination.of(given, in_place=append_in_place or in_place)
    change = partial(build_file, keys=keys, advised=advised)
    report: BuildReport = change_each(
        "build",
        source,
        options,
        destination,
        change,
        storage_options=storage_options,
        progress=progress,
        keys=keys,
    )
    return report


def advised_by(
    given: Mapping[str, Any],
    columns: SomeNames | None,
    advice: AdviceReport | FilesReport[AdviceReport] | None,
) -> tuple[AdviceReport, ...]:
    """The reports on tables, none where columns are given instead;
    `given`: the arguments of the public function. Raises TypeError."""
    if advice is None:
        return ()
    from parquet_bloom.verbs.advise import AdviceReport

    reports = advice.reports if isinstance(advice, FilesReport) else (advice,)
    if not reports or not all(isinstance(each, AdviceReport) for each in reports):
        raise TypeError(f"advice: {advice!r}, expected what advise returned, with a report")
    if columns is not None or given["fpp"] is not None:
        raise TypeError("advice: expected neither columns nor fpp with it")
    return reports


def build_file(
    path: str | os.PathLike[str],
    options: BuildOptions,
    destination: Destination,
    *,
    keys: Keys | None = None,
    progress: Progress | None = None,
    advised: Sequence[AdviceReport] = (),
) -> BuildReport:
    """As build. `advised`: reports on tables, of which that on the file's says what to build."""
    if options.append_in_place:
        check_appendable(path)
    with changing(path, destination, keys) as opened:
        if advised:
            from parquet_bloom.verbs.advise import options_to_build, report_on

            options = options_to_build(report_on(opened.file, advised), options)
        return _build(opened, options, progress)


def build_opened(
    file: Container,
    options: BuildOptions,
    destination: Destination,
    filters: TakeFilters | None = None,
) -> BuildReport:
    """As build, of a file that is open. `filters`: yields the filters of all chunks that can be built
    elsewhere."""
    return _build(changing_opened(file, destination), options, filters=filters)


def without_filters(file: Container, columns: Sequence[str]) -> list[str]:
    """Those of these columns that have values and no filter at all, though build gives them some."""
    seen = FORMATS[file.format].examination(file, ValidateOptions(columns=tuple(columns)))

    def has_none(column: Any) -> bool:
        if not seen.may_be_built(column.name) or len(seen.parts_without(column)) < len(seen.parts):
            return False
        found = [part for part in seen.parts if seen.has_values(part, column)]
        return bool(found) and not any(seen.is_hidden(part, column) for part in found)

    return [column.name for column in seen.columns if has_none(column)]


def _build(
    opened: Changing,
    options: BuildOptions,
    progress: Progress | None = None,
    filters: TakeFilters | None = None,
) -> BuildReport:
    take_by_name(opened.file, options)
    if options.append_in_place:
        opened = replace(opened, target=replace(opened.target, is_appended=True))
    change = opened.file.build(opened.ready(options), progress)
    if filters is not None:
        change.take(filters(opened.file, change.planned))
    if opened.target.in_place:
        change.judge = partial(_lost_traces, opened.file, options)
    facts = opened.write(change)
    return BuildReport(
        **facts,
        filters=tuple(sorted(change.filters, key=lambda built: built.place.part)),
        skipped=tuple(sorted(change.skipped, key=lambda skip: skip.place.part)),
        bytes_added=facts["size_after"] - facts["size_before"],
        notes=(
            *lacking(opened.file, options),
            *_no_rows(opened.file),
            *_gone(opened, change, is_dry_run=facts["dry_run"]),
            *change.notes,
            *opened.notes(change),
        ),
    )


def _no_rows(file: Container) -> Iterator[str]:
    """Why nothing was built, where nothing was skipped either."""
    if file.num_parts == 0:
        yield f"the file has no {file.units.part}, and so no rows to build filters of"


def _lost_traces(
    file: Container, options: BuildOptions, chunks: Collection[tuple[int, str]]
) -> Iterator[str]:
    """What nobody can tell any more of values that these filters lack, once others are in their place, as `repair`
    says it. Raises RewriteError for one that repair leaves, as something else is wrong with its pages."""
    among = RepairOptions(
        columns=tuple({column for _, column in chunks}),
        parts=tuple(sorted({part for part, _ in chunks})),
        drop_bad=True,
        threads=options.threads,
    )
    for each in FORMATS[file.format].diagnose(file, among, None).filters:
        if (each.chunk.place.part, each.chunk.column.name) not in chunks:
            continue
        where = f"{each.chunk.place}, column {quoted_name(each.chunk.column.name)}"
        if each.only_trace is not None:
            lacking, damage = each.only_trace
            raise RewriteError(
                f"{file.path}: {where}: {lacking.statement}; {MAY_HAVE_CHANGED}: {damage.definition.heading}:"
                f" {damage.statement}: take another copy of the file"
            )
        if each.doubt_about_values:
            yield f"{where}: the filter that it had lacks values {each.doubt_about_values}"


def _gone(opened: Changing, change: BuildChange, *, is_dry_run: bool) -> Iterator[str]:
    """Which filters nothing brings back, in a dry run too."""
    if not opened.target.in_place:
        return
    built = {(each.place.part, each.column) for each in change.filters}
    replaced = [chunk for chunk in change.replaced if chunk in built]
    lost = [chunk for chunk in change.replaced if chunk not in built]
    units = opened.file.units
    if replaced:
        chunks = _counted(replaced, units)
        yield f"{REPLACED[is_dry_run]} {chunks} for good, whoever built them"
    if lost:
        yield f"{REMOVED[is_dry_run]} {_counted(lost, units)} for good, with none in their place"


def _counted(chunks: Sequence[tuple[int, str]], units: Units) -> str:
    """`3 column chunks`; where parts have groups, `2 columns in 3 stripes`"""
    if not units.has_groups:
        return number_of(len(chunks), "column chunk")
    columns = number_of(len({column for _, column in chunks}), "column")
    return f"{columns} in {number_of(len({part for part, _ in chunks}), units.part)}"
