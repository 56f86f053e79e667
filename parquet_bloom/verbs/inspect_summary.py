"""The filters of many files in one table: by column, how many, how large, how good."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from parquet_bloom.arguments import SomeNames, SomeNumbers, files_given
from parquet_bloom.container import IN_PYTHON, UNITS, WHERE_KNOWN
from parquet_bloom.container.shown_names import key_of
from parquet_bloom.dataclass import dataclass
from parquet_bloom.options import InspectOptions
from parquet_bloom.storage.traffic import Requests, in_all
from parquet_bloom.verbs.documents import VerbReport, document_of
from parquet_bloom.verbs.inspect import inspect_file
from parquet_bloom.verbs.several import Failure, each_read, message_of
from parquet_bloom.vocabulary import ONLY_NULLS, is_no_filter, is_out_of_sight

if TYPE_CHECKING:
    from parquet_bloom.container.protocols import Container
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.options import TableView
    from parquet_bloom.vocabulary import Format, TableChoice

# A file, a folder, a glob or a URL.
Path = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class ColumnSummary:
    """One column in all files that have values of it.

    `chunks` of it in `files`, without those that need no filter, as they have no value that is not null;
    `chunks_with_filters` and `files_with_filters`: those with a filter that can be used, of any dialect;
    `chunks_unusable`: those with one that cannot, because it is damaged, or encrypted and no key was given;
    `chunks_hidden`: those of them that are encrypted, of which some may have no filter;
    `num_filters`: of these, counting each index group; `fpp` and `worst_fpp`: their mean and highest, None without
    any. `filter_bytes`: of all its filters, in the files; `filter_share`: of the size of these files, 0 to 1.
    """

    column: str
    files: int
    files_with_filters: int
    chunks: int
    chunks_with_filters: int
    chunks_unusable: int
    chunks_hidden: int
    num_filters: int
    filter_bytes: int
    filter_share: float
    fpp: float | None
    worst_fpp: float | None


@dataclass(frozen=True, slots=True, repr=False)
class InspectionSummary(VerbReport):
    """All files; `columns` in the order in which they were met. Sizes in bytes. `requests`: sent to object
    stores, None if none of the files is in one. `failures`: the files that could not be read, of which nothing is in
    the other numbers. `formats`: of those that could; `first_unreadable`: the first with a filter that cannot be
    read, and not just because it is encrypted."""

    _rows: ClassVar = ("columns",)

    files: int
    files_with_filters: int
    size: int
    num_rows: int
    num_filters: int
    filter_bytes: int
    filter_share: float
    columns: tuple[ColumnSummary, ...]
    requests: Requests | None = field(default=None, metadata=WHERE_KNOWN)
    failures: tuple[Failure, ...] = field(default=(), metadata=IN_PYTHON)
    formats: tuple[Format, ...] = field(default=(), metadata=IN_PYTHON)
    first_unreadable: str | None = field(default=None, metadata=IN_PYTHON)

    def __repr__(self) -> str:
        said = VerbReport.__repr__(self).removesuffix(">")
        failed = f", {len(self.failures):,} failed" if self.failures else ""
        return f"{said}{failed}>"


def inspect_summary(
    paths: Path | Iterable[Path],
    *,
    table: TableChoice | TableView | None = None,
    columns: SomeNames | None = None,
    row_groups: SomeNumbers | None = None,
    threads: int | None = None,
    keys: Keys | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> InspectionSummary:
    """The filters of many files, by column; `columns` (dotted paths; default: all) in `row_groups`,
    which are the stripes of ORC files.

    paths: files, folders, globs or URLs, one or several; of folders, all Parquet and ORC files in
    them. table: the paths are tables of this kind, which stand for their live files; see inspect. threads: how many
    files to read at a time; by default, one for local files, and 16 behind URLs. keys and
    storage_options are for all files; see inspect.

    Files that cannot be read are in `failures` of the report. Raises FileNotFoundError for a name without files, and
    what the first file raises if none can be read; see inspect.
    """
    options = InspectOptions.of(locals())
    summarizer = InspectionSummarizer()
    failures: list[Failure] = []

    def describe(file: Container, options: InspectOptions) -> dict[str, Any]:
        return document_of(inspect_file(file, options))

    def take(path: str, found: dict[str, Any] | Exception) -> None:
        if isinstance(found, Exception):
            failures.append(Failure(path, message_of(path, found)))
        else:
            summarizer.add(found)

    each_read(
        files_given("paths", paths), options, describe, take, table=table, keys=keys,
        storage_options=storage_options,
    )  # fmt: skip
    return replace(summarizer.summary(), failures=tuple(failures))


@dataclass(slots=True)
class _Column:
    """What is known so far."""

    files: int = 0
    files_with_filters: int = 0
    size: int = 0
    chunks: int = 0
    chunks_with_filters: int = 0
    chunks_unusable: int = 0
    chunks_hidden: int = 0
    num_filters: int = 0
    filter_bytes: int = 0
    fpp_sum: float = 0.0
    worst_fpp: float | None = None

    def add(self, chunk: dict[str, Any]) -> None:
        """One of the `columns` of a document."""
        legacy, found = chunk["legacy_filters"], chunk["filter"]
        usable = [(1, each["fpp"], each["fpp"]) for each in legacy if each["reason"] is None]
        if found is not None:
            usable.append((found["num_filters"], found["fpp"], found["worst_fpp"]))
        self.chunks += 1
        self.chunks_with_filters += bool(usable)
        self.chunks_unusable += _is_unusable(chunk)
        self.chunks_hidden += is_out_of_sight(chunk["reason"] or "")
        self.filter_bytes += _stored_bytes(chunk)
        for count, mean, worst in usable:
            self.num_filters += count
            self.fpp_sum += count * mean
            self.worst_fpp = max(worst, self.worst_fpp or 0.0)


class InspectionSummarizer:
    """Takes inspections one by one, as documents."""

    def __init__(self) -> None:
        self._columns: dict[str, _Column] = {}
        self._files = self._with_filters = self._size = self._rows = 0
        self._requests: Requests | None = None
        self._formats: set[Format] = set()
        self._first_unreadable: str | None = None

    def add(self, document: dict[str, Any]) -> list[str]:
        """What `pbloom inspect --json` prints about a file. Returns the columns with values that have no filter in it
        that can be used."""
        before: dict[str, int] = {}
        needing = set()
        for part in document[key_of("parts", UNITS[document["format"]])]:
            for chunk in part["columns"]:
                column = self._columns.setdefault(chunk["column"], _Column())
                before.setdefault(chunk["column"], column.num_filters)
                if not _needs_none(chunk):
                    needing.add(chunk["column"])
                    column.add(chunk)
                    if _is_unusable(chunk) and not is_out_of_sight(chunk["reason"] or ""):
                        self._first_unreadable = self._first_unreadable or document["path"]
        has_more = {name: self._columns[name].num_filters > before[name] for name in before}
        for name in filter(needing.__contains__, before):
            column = self._columns[name]
            column.files += 1
            column.size += document["size"]
            column.files_with_filters += has_more[name]
        self._files += 1
        self._formats.add(document["format"])
        self._with_filters += any(has_more.values())
        self._size += document["size"]
        self._rows += document["num_rows"]
        sent = document.get("requests")
        self._requests = in_all([self._requests, sent and Requests(**sent)])
        return [name for name in before if name in needing and not has_more[name]]

    def summary(self) -> InspectionSummary:
        """Of all files so far."""
        columns = tuple(_summary(name, column) for name, column in self._columns.items())
        return InspectionSummary(
            files=self._files,
            files_with_filters=self._with_filters,
            size=self._size,
            num_rows=self._rows,
            num_filters=sum(each.num_filters for each in columns),
            filter_bytes=sum(each.filter_bytes for each in columns),
            filter_share=_share(sum(each.filter_bytes for each in columns), self._size),
            columns=columns,
            requests=self._requests,
            formats=tuple(sorted(self._formats)),
            first_unreadable=self._first_unreadable,
        )


def _summary(name: str, column: _Column) -> ColumnSummary:
    return ColumnSummary(
        column=name,
        files=column.files,
        files_with_filters=column.files_with_filters,
        chunks=column.chunks,
        chunks_with_filters=column.chunks_with_filters,
        chunks_unusable=column.chunks_unusable,
        chunks_hidden=column.chunks_hidden,
        num_filters=column.num_filters,
        filter_bytes=column.filter_bytes,
        filter_share=_share(column.filter_bytes, column.size),
        fpp=column.fpp_sum / column.num_filters if column.num_filters else None,
        worst_fpp=column.worst_fpp,
    )


def _needs_none(chunk: dict[str, Any]) -> bool:
    """Whether it has no filter because there is no value to insert."""
    reason: str | None = chunk["reason"]
    if chunk["filter"] or chunk["legacy_filters"] or not is_no_filter(reason or ""):
        return False
    num_values: int | None = chunk["num_values"]
    return num_values == 0 or reason == ONLY_NULLS


def _is_unusable(chunk: dict[str, Any]) -> bool:
    """Whether it has filters, or may have, of which one cannot be used."""
    reasons = [chunk["reason"], *(each["reason"] for each in chunk["legacy_filters"])]
    return any(reason and not is_no_filter(reason) for reason in reasons)


def _stored_bytes(chunk: dict[str, Any]) -> int:
    """What all its filters take in the file; streams count whether or not they can be used."""
    if "streams" in chunk:
        return sum(each["length"] for each in chunk["streams"])
    filters = [*chunk["legacy_filters"], *filter(None, [chunk["filter"]])]
    return sum(each["stored_bytes"] for each in filters)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
