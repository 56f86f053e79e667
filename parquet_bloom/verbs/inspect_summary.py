"""The filters of many files in one table: by column, how many, how large, how good."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from parquet_bloom.container import UNITS
from parquet_bloom.verbs.documents import key_of


@dataclass(frozen=True, slots=True)
class ColumnSummary:
    """One column in all files that have it.

    `chunks` of it in `files`; `chunks_with_filters` and `files_with_filters`: those with a filter that
    can be used, of any dialect; `num_filters`: of these, counting each index group; `fpp` and
    `worst_fpp`: their mean and highest, None without any. `filter_bytes`: of all its filters, in the
    files; `filter_share`: of the size of these files, 0 to 1.
    """

    column: str
    files: int
    files_with_filters: int
    chunks: int
    chunks_with_filters: int
    num_filters: int
    filter_bytes: int
    filter_share: float
    fpp: float | None
    worst_fpp: float | None


@dataclass(frozen=True, slots=True)
class InspectionSummary:
    """All files; `columns` in the order in which they were met. Sizes in bytes."""

    files: int
    files_with_filters: int
    size: int
    num_rows: int
    num_filters: int
    filter_bytes: int
    filter_share: float
    columns: tuple[ColumnSummary, ...]


@dataclass(slots=True)
class _Column:
    """What is known so far."""

    files: int = 0
    files_with_filters: int = 0
    size: int = 0
    chunks: int = 0
    chunks_with_filters: int = 0
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

    def add(self, document: dict[str, Any]) -> None:
        """What `pbloom inspect --json` prints about a file."""
        before: dict[str, int] = {}
        for part in document[key_of("parts", UNITS[document["format"]])]:
            for chunk in part["columns"]:
                column = self._columns.setdefault(chunk["column"], _Column())
                before.setdefault(chunk["column"], column.num_filters)
                column.add(chunk)
        has_more = {name: self._columns[name].num_filters > before[name] for name in before}
        for name in before:
            column = self._columns[name]
            column.files += 1
            column.size += document["size"]
            column.files_with_filters += has_more[name]
        self._files += 1
        self._with_filters += any(has_more.values())
        self._size += document["size"]
        self._rows += document["num_rows"]

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
        )


def _summary(name: str, column: _Column) -> ColumnSummary:
    return ColumnSummary(
        column=name,
        files=column.files,
        files_with_filters=column.files_with_filters,
        chunks=column.chunks,
        chunks_with_filters=column.chunks_with_filters,
        num_filters=column.num_filters,
        filter_bytes=column.filter_bytes,
        filter_share=_share(column.filter_bytes, column.size),
        fpp=column.fpp_sum / column.num_filters if column.num_filters else None,
        worst_fpp=column.worst_fpp,
    )


def _stored_bytes(chunk: dict[str, Any]) -> int:
    """What all its filters take in the file; streams count whether or not they can be used."""
    if "streams" in chunk:
        return sum(each["length"] for each in chunk["streams"])
    filters = [*chunk["legacy_filters"], *filter(None, [chunk["filter"]])]
    return sum(each["stored_bytes"] for each in filters)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
