"""Remove filters of all dialects."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from parquet_bloom.arguments import SomeNames, SomeNumbers
from parquet_bloom.container import WHERE_KNOWN, LeftChunk, RemovedFilters, number_of
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import quoted_name
from parquet_bloom.options import Destination, StripOptions
from parquet_bloom.verbs.documents import VerbReport
from parquet_bloom.verbs.file_runner import (
    Changing,
    changing,
    changing_opened,
    lacking,
    take_by_name,
)
from parquet_bloom.verbs.several import change_each, changes_several
from parquet_bloom.vocabulary import Format

if TYPE_CHECKING:
    from parquet_bloom.container.protocols import Container
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.storage.traffic import Requests


@dataclass(frozen=True, slots=True, repr=False)
class StripReport(VerbReport):
    """What strip did to one file. `left`: filters, or plaintext remains of filters, that could not be
    removed or may still be there. `unused_filters`: to which nothing leads, while their `unused_bytes` stay
    in the file, as pages follow them, or it is uncertain what else is there. Sizes in bytes; `output` as in
    BuildReport. `notes`: what to know about the file."""

    _rows: ClassVar = ("removed",)
    _told_below: ClassVar = ("left",)

    path: str
    format: Format
    output: str | None
    removed: tuple[RemovedFilters, ...]
    left: tuple[LeftChunk, ...]
    unused_filters: int
    unused_bytes: int
    bytes_removed: int
    size_before: int
    size_after: int
    dry_run: bool
    seconds: float
    notes: tuple[str, ...] = ()
    requests: Requests | None = field(default=None, metadata=WHERE_KNOWN)

    @property
    def num_filters(self) -> int:
        """How many were removed, counting each index group."""
        return sum(removed.num_filters for removed in self.removed)

    @property
    def state(self) -> str:
        """`stripped` or `unchanged`."""
        return "stripped" if self.removed else "unchanged"

    @staticmethod
    def _in_total(reports: Sequence[StripReport]) -> str:
        """`40 filters removed`"""
        return f"{number_of(sum(report.num_filters for report in reports), 'filter')} removed"


@changes_several
def strip(
    source: Any,
    output: str | os.PathLike[str] | None = None,
    *,
    columns: SomeNames | None = None,
    row_groups: SomeNumbers | None = None,
    union_by_name: bool = False,
    in_place: bool = False,
    overwrite: bool = False,
    resume: bool = False,
    dry_run: bool = False,
    verify: bool = True,
    unconditional: bool = False,
    keys: Keys | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> StripReport:
    """Write `source` to `output` without the filters of `columns` (default: all) in `row_groups`,
    which are the stripes of an ORC file: whoever built them, the file's writer or build.

    A list of paths, a folder, a glob, and a URL that ends with / stand for several files: then this returns a
    FilesReport, with the report on each, and the errors of files that failed.
    `output` is then the folder of the new files.

    Legacy filters go, too, and filters to which nothing points any more. A filter that pages follow, or that cannot
    be read where not all bytes behind the data are known to be filters, loses its pointer, but its bytes stay.
    union_by_name: several files are those of one schema: one that has no such column, in upper or lower case, has no
    filters of it, if any file has it.
    keys: for encrypted files, the keys of the footer and of `columns`; if columns are not given, those without a key
    are left as they are. Other options as for build.

    Raises ColumnError, FormatError, UnsupportedError, EncryptionError, RewriteError, OSError.
    """
    given = locals()
    options, destination = StripOptions.of(given), Destination.of(given)
    change = partial(strip_file, keys=keys)
    report: StripReport = change_each(
        "strip",
        source,
        options,
        destination,
        change,
        storage_options=storage_options,
        keys=keys,
    )
    return report


def strip_file(
    path: str | os.PathLike[str],
    options: StripOptions,
    destination: Destination,
    *,
    keys: Keys | None = None,
) -> StripReport:
    """As strip."""
    with changing(path, destination, keys) as opened:
        return _strip(opened, options)


def with_filters(file: Container, options: StripOptions) -> list[str]:
    """The columns that were asked for, of which there still are filters in what was asked for."""
    columns, parts = file.select(options.columns), file.select_parts(options.parts)
    chunks = (each for part in parts for each in file.chunks(part, columns) if each.has_filters)
    return [*dict.fromkeys(each.column.name for each in chunks)]


def _named(file: Container, options: StripOptions) -> Sequence[str]:
    """The columns that were asked for by name."""
    if options.columns is None:
        return ()
    return [column.name for column in file.select(options.columns)]


def _none_to_remove(columns: Sequence[str]) -> Iterator[str]:
    """That these columns, which were named, had no filters."""
    if columns:
        names = ", ".join(map(quoted_name, columns))
        yield f"column{'s' * (len(columns) > 1)} {names}: no filter there, so none to remove"


def strip_opened(file: Container, options: StripOptions, destination: Destination) -> StripReport:
    """As strip, of a file that is open."""
    return _strip(changing_opened(file, destination), options)


def _strip(opened: Changing, options: StripOptions) -> StripReport:
    take_by_name(opened.file, options)
    change = opened.file.strip(options)
    facts = opened.write(change)
    there = {each.column for each in change.removed} | {each.column for each in change.left}
    without = [name for name in _named(opened.file, options) if name not in there]
    notes = (
        *lacking(opened.file, options),
        *_none_to_remove(without),
        *change.notes,
        *opened.notes(change),
    )
    return StripReport(
        **facts,
        removed=tuple(change.removed),
        left=tuple(change.left),
        unused_filters=change.unused_filters,
        unused_bytes=change.unused_bytes,
        bytes_removed=facts["size_before"] - facts["size_after"],
        notes=notes,
    )
