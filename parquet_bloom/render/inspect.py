"""What `pbloom inspect` prints."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from parquet_bloom.container import UNITS, number_of
from parquet_bloom.errors import quoted_name
from parquet_bloom.filters.rates import percent
from parquet_bloom.render.hints import OF_FILES, NextLines, command, with_key_hint, would_refuse
from parquet_bloom.render.reports import FileSummary, Remark, SummarizedView
from parquet_bloom.render.terminal import MOST_ROWS, is_cut, write_line, write_table, write_text
from parquet_bloom.render.wording import asked_for, columns_alike, listed, shows_parts, size, where
from parquet_bloom.vocabulary import NO_FILTER, NO_KEY, is_no_filter, is_out_of_sight

if TYPE_CHECKING:
    from parquet_bloom.container import FilterDescription
    from parquet_bloom.container.descriptions import (
        ChunkDescription,
        GroupDescription,
        LegacyDescription,
    )
    from parquet_bloom.verbs.inspect import FileInspection
    from parquet_bloom.verbs.inspect_summary import ColumnSummary, InspectionSummary

ALL_SET = "all bits set"

_UNIX_EPOCH = datetime(1970, 1, 1)

_OF_COLUMN = ("type", "encoding", "data", "stream", "size", "filter", "offset", "filters", "bits", "k",
              "fill", "FPP", "worst FPP", "NDV", "largest NDV", "note")  # fmt: skip
_OF_GROUP = ("first row", "rows", "values", "nulls", "min", "max", "sum", "positions", "bits", "k",
             "fill", "FPP", "NDV")  # fmt: skip

# A row by the headings of its cells; "" is an empty cell of a column that the table shall have.
_Cells = dict[str, str | None]


# What gives way on a narrow terminal.
_GIVES = ("note…", "encoding", "offset", "type…", "stream", "bits", "k", "NDV", "fill", "data",
          "largest NDV", "filters", "note", "column…", "type", "size")  # fmt: skip
# What index groups are shown for, their filters, stays.
_GROUP_GIVES = ("positions", "sum", "first row", "nulls", "values", "k", "bits", "min…", "max…",
                "min, max", "column…")  # fmt: skip
_SUMMARY_GIVES = ("files", "filters", "of the files", "worst FPP", "column…")


_BY_COLUMN_GIVES = ("of the file", "worst FPP", "column…")

# What helps with many files; about one, it is a command with its name.
_WITHOUT_FILTERS = "pbloom advise says which columns deserve filters, pbloom build adds them"
# What shows the rows of a long table.
_MORE = "--verbose shows all"


class InspectionView(SummarizedView["FileInspection"]):
    """Which filters files have. `next_lines`: the commands that help next; `columns`, `parts`: those that were
    asked for, if not all."""

    named = ("without", "with filters")
    in_short = "--summary shows a row per column, over all files; --verbose shows each file."

    def __init__(
        self,
        next_lines: NextLines = OF_FILES,
        columns: Sequence[str] | None = None,
        parts: Sequence[int] | None = None,
    ) -> None:
        self._next_lines = next_lines
        self._columns = ",".join(map(quoted_name, columns or ()))
        self._there = asked_for(columns, parts)

    def summarize(self, report: FileInspection) -> FileSummary:
        rows, parts = report.num_rows, number_of(report.num_parts, UNITS[report.format].part)
        num_filters = report.num_filters
        return FileSummary(
            state=report.state,
            line=f"{number_of(rows, 'row')} in {parts}, {size(report.size)}; {self._filters_of(report)}",
            remarks=_missing(report, is_unusable),
            numbers={
                "filters": num_filters, "bytes": report.filter_bytes, "size": report.size,
                "unusable": sum(
                    bool(column.why_unusable) for part in report.parts for column in part.columns
                ),
            },
        )  # fmt: skip

    def _filters_of(self, report: FileInspection) -> str:
        chunks = (column for part in report.parts for column in part.columns)
        # Of those that nobody sees, or that are damaged, the bytes are not counted.
        filters = "usable filters" if any(map(is_unusable, chunks)) else "filters"
        if not report.filter_bytes and not report.num_filters:
            return f"no {filters}{self._there}"
        return f"{filters}{self._there} take {size(report.filter_bytes)} ({percent(report.filter_share)})"

    def _is_to_explain(self, are_some_shown: bool) -> Callable[[ChunkDescription], bool]:
        """Which chunks a line says of why they have none. Where none of them has, the first line says that, and of
        columns that were named there may be more to say."""
        if are_some_shown:
            return _is_bare
        return _says_why if self._columns else is_unusable

    def total(self, numbers: Mapping[str, int]) -> str:
        return _filters_take(numbers, self._there)

    def hint(self, states: Mapping[str, int], numbers: Mapping[str, int]) -> str:
        return _WITHOUT_FILTERS if states.keys() == {"without"} else ""

    def write(self, report: FileInspection, verbose: bool = False) -> None:
        """One line about the file, then one row per column in each part that has filters, or where these
        are too many for a terminal, per column, the largest filters first; and a line for those that have none,
        unless `verbose`; after these, if they were asked for, one row per group; and the command that helps next."""
        units = UNITS[report.format]
        codec = "" if report.compression is None else f" {report.compression},"
        write_text(
            f"{report.path}: {number_of(report.num_rows, 'row')} in"
            f" {number_of(report.num_parts, units.part)}, {size(report.size)},{codec}"
            f" written by {report.created_by or 'an unnamed writer'}; {self._filters_of(report)}"
        )
        if report.earlier_ends:
            write_text(_ends(report.earlier_ends))
        for line in would_refuse(report.obstacles):
            write_text(line)
        shown = [
            (part, column)
            for part in report.parts
            for column in part.columns
            if verbose or not _is_bare(column)
        ]
        if is_cut(len(shown)) and not verbose:
            shown.sort(key=lambda each: -each[1].filter_bytes)
        rows = [
            (str(part.place.part), column.column, *map(cells.get, _OF_COLUMN))
            for part, column in shown
            for cells in _column_rows(column)
        ]
        if len(report.parts) > 1 and is_cut(len(rows)) and not verbose:
            _write_by_column(report)
            notes = list(_notes_alike(report))
            for line in notes[:MOST_ROWS]:
                write_text(line)
            if (left := len(notes) - MOST_ROWS) > 0:
                write_text(f"And {number_of(left, 'more note')}: {_MORE}.")
        elif rows:
            heads = (units.part, "column", *_OF_COLUMN)
            write_table(heads, rows, _GIVES, verbose, more=_MORE)
        if not verbose:
            in_full = not sys.stdout.isatty()
            for remark in _missing(report, self._is_to_explain(bool(rows)), in_full):
                write_text(remark.text)
        groups = [
            (str(part.place.part), column.column, str(group.place.group), *_group_row(group))
            for part in report.parts
            for column in part.columns
            for group in column.groups or ()
        ]
        if groups:
            header = (units.part, "column", units.group, *_OF_GROUP)
            write_table(header, groups, _GROUP_GIVES, verbose, more=_MORE)
        command = _next_command(report)
        if command:
            of_columns = " -c COLUMN" * bool(self._columns)
            for line in self._next_lines.lines(
                report.path, f"{command}{of_columns}", self._columns
            ):
                write_line(line)


def _write_by_column(report: FileInspection) -> None:
    """One row per column with filters, over all parts of the file; the largest filters first."""
    from parquet_bloom.verbs.documents import document_of
    from parquet_bloom.verbs.inspect_summary import InspectionSummarizer

    summarizer = InspectionSummarizer()
    summarizer.add(document_of(report))
    found = [each for each in summarizer.summary().columns if each.filter_bytes or each.num_filters]
    units = UNITS[report.format]
    rows = [
        (
            each.column,
            f"{each.chunks_with_filters:,} of {each.chunks:,}",
            size(each.filter_bytes),
            percent(each.filter_share),
            *("" if rate is None else percent(rate) for rate in (each.fpp, each.worst_fpp)),
        )
        for each in sorted(found, key=lambda each: -each.filter_bytes)
    ]
    heads = ("column", f"{units.part}s", "filters", "of the file", "FPP", "worst FPP")
    write_table(
        heads,
        rows,
        _BY_COLUMN_GIVES,
        more="--summary --verbose shows all",
        whole_in="a pipe with --summary",
    )
    write_text(shows_parts(units.part))


def _notes_alike(report: FileInspection) -> Iterator[str]:
    """What the table by column has no room for: the notes on filters, each once for all columns and parts that it
    is on."""
    chunks = [
        (column.column, part.place, note)
        for part in report.parts
        for column in part.columns
        if not _is_bare(column)
        for cells in _column_rows(column)
        if (note := cells.get("note"))
    ]
    for columns, places, note in columns_alike(chunks):
        place = "" if len(places) == len(report.parts) else f", {where(None, places)}"
        yield f"note, {columns}{place}: {note}"


def _ends(earlier: Sequence[int]) -> str:
    """`2 ends: cut at 1,234 bytes, the file is as it was before filters were appended`"""
    places = " or ".join(f"{each:,}" for each in earlier)
    return (
        f"{len(earlier) + 1} ends: cut at {places} bytes, the file is as it was before filters were"
        " appended"
    )


def _next_command(report: FileInspection) -> str | None:
    """The command that helps: to say what is wrong with filters, or which there should be."""
    chunks = [column for part in report.parts for column in part.columns]
    if any(_is_damaged(column) for column in chunks):
        return "validate FILE"
    has_any = any(
        column.filter or column.legacy_filters or (column.reason or "").startswith(NO_KEY)
        for column in chunks
    )
    return None if has_any or not chunks else "advise FILES"


def _is_damaged(column: ChunkDescription) -> bool:
    """Whether a filter cannot be used, and not just because it is encrypted."""
    return not all(map(is_out_of_sight, column.why_unusable))


def _filters_take(numbers: Mapping[str, int], there: str = "") -> str:
    """`1,196 filters take 12.3 MiB of 1.2 GiB (1 %)`; where others cannot be used, `0 usable filters take …`;
    `there`: in which columns, if some are named."""
    noun = "usable filter" if numbers["unusable"] else "filter"
    filters, taken = number_of(numbers["filters"], noun), size(numbers["bytes"])
    share = percent(numbers["bytes"] / numbers["size"])
    take = "takes" if numbers["filters"] == 1 else "take"
    return f"{filters}{there} {take} {taken} of {size(numbers['size'])} ({share})"


def write_inspection_summary(
    summary: InspectionSummary, verbose: bool = False, again: Sequence[str] = ()
) -> None:
    """One row per column with filters, a line for the others, and one about all files. Of many rows, a terminal shows
    those of the largest filters, unless `verbose`. `again`: the options that the next command needs, too."""
    with_filters = [each for each in summary.columns if each.filter_bytes or each.num_filters]
    if is_cut(len(with_filters)) and not verbose:
        with_filters.sort(key=lambda each: -each.filter_bytes)
    rows = [
        (
            each.column,
            f"{each.files_with_filters:,} of {each.files:,}",
            f"{each.chunks_with_filters:,} of {each.chunks:,}",
            f"{each.num_filters:,}",
            size(each.filter_bytes),
            percent(each.filter_share),
            "" if each.fpp is None else percent(each.fpp),
            "" if each.worst_fpp is None else percent(each.worst_fpp),
        )
        for each in with_filters
    ]
    unreadable = _some_chunks(summary, lambda column: column.chunks_unusable - column.chunks_hidden)
    hidden = _some_chunks(summary, lambda column: column.chunks_hidden)
    without = [
        quoted_name(each.column)
        for each in summary.columns
        if not (each.filter_bytes or each.num_filters or each.chunks_unusable)
    ]
    in_full = verbose or not sys.stdout.isatty()
    chunks = f"{chunk_of(summary)}s"
    heads = ("column", "files", chunks, "filters", "bytes", "of the files", "FPP", "worst FPP")
    if rows:
        write_table(heads, rows, _SUMMARY_GIVES, verbose, more=_MORE)
    if unreadable:
        look = command("inspect", summary.first_unreadable or "FILE", *again)
        write_text(f"filters that cannot be read: {listed(unreadable, in_full)}; {look} says why")
    if hidden:
        write_text(f"may have filters, unknown without keys: {listed(hidden, in_full)}")
    if without:
        write_text(f"no filters: {listed(without, in_full)}")
    if any(each.files < summary.files for each in with_filters):
        write_text("note: a row does not count the files without values of its column")
    total = {
        "filters": summary.num_filters, "bytes": summary.filter_bytes, "size": summary.size,
        "unusable": sum(each.chunks_unusable for each in summary.columns),
    }  # fmt: skip
    if summary.files:
        rows_of = number_of(summary.num_rows, "row")
        files = number_of(summary.files, "file")
        write_text(f"{files}, {rows_of}: {_filters_take(total)}")


def chunk_of(summary: InspectionSummary) -> str:
    """What is counted of a column: `stripe` where all files have these, else `chunk`."""
    units = [UNITS[each] for each in summary.formats]
    return units[0].part if len(units) == 1 and units[0].has_groups else "chunk"


def _some_chunks(summary: InspectionSummary, count: Callable[[ColumnSummary], int]) -> list[str]:
    """The columns that have any such chunks, with how many."""
    return [
        f"{each.column} ({count(each):,} of {number_of(each.chunks, chunk_of(summary))})"
        for each in summary.columns
        if count(each)
    ]


def _is_bare(column: ChunkDescription) -> bool:
    """Whether there is nothing to say but why there is no filter."""
    return column.filter is None and not column.legacy_filters and not column.streams


def _says_why(column: ChunkDescription) -> bool:
    """Whether more is known than that there is no filter."""
    return column.reason not in (None, NO_FILTER)


def _missing(
    report: FileInspection, is_meant: Callable[[ChunkDescription], bool], in_full: bool = False
) -> list[Remark]:
    """Why chunks have no filter, of those that are meant. `in_full`: all columns are named."""
    chunks = [
        (column.column, part.place, column.reason or "")
        for part in report.parts
        for column in part.columns
        if _is_bare(column) and is_meant(column)
    ]
    remarks = []
    for columns, places, reason in columns_alike(chunks, in_full):
        are_all = len(places) == len(report.parts)
        place = "" if are_all else f", {where(None, places)}"
        why = with_key_hint(reason)
        remarks.append(Remark(columns, why, f"{columns}{place}: {why}"))
    return remarks


def is_unusable(column: ChunkDescription) -> bool:
    """Whether it has filters, of which none can be used."""
    return bool(column.reason) and not is_no_filter(column.reason or "")


def _column_rows(column: ChunkDescription) -> Iterator[_Cells]:
    """One for the column, and one for each legacy filter that bloom_filter_offset does not lead to."""
    cells = _filter_cells(column) if column.streams is None else _stream_cells(column)
    yield {
        "type": column.logical_type or column.physical_type,
        "encoding": column.encoding,
        "data": size(column.chunk_bytes or 0),
        **cells,
    }
    for legacy in column.legacy_filters:
        yield _legacy_cells(legacy)


def _filter_cells(column: ChunkDescription) -> _Cells:
    """Of one filter."""
    found = column.filter
    if found is None:
        return _empty("filter", "offset", "fill", "FPP", "NDV") | {"note": column.reason}
    return {
        "filter": size(found.num_bytes),
        "offset": str(found.offset),
        "fill": percent(found.fill),
        "FPP": percent(found.fpp),
        "NDV": _ndv(found.ndv_estimate),
        "note": "; ".join([*_remarks(found), *column.notes]),
    }


def _remarks(found: FilterDescription) -> list[str]:
    if found.dialect != "xxhash":
        return [f"{found.dialect}: {found.hash}"]
    return [] if found.length is not None else ["bloom_filter_length is missing"]


def _stream_cells(column: ChunkDescription) -> _Cells:
    """Of a stream with a filter for each group; where there are two, the figures are those of the one that readers
    take, and the size is that of both."""
    found, streams = column.filter, column.streams or ()
    stored: _Cells = {
        "stream": ", ".join(each.stream for each in streams),
        "size": size(sum(each.length for each in streams)) if streams else "",
    }
    if found is None:
        empty = _empty("filters", "bits", "k", "fill", "FPP", "worst FPP", "largest NDV")
        return empty | stored | {"note": column.reason}
    return stored | {
        "filters": str(found.num_filters),
        "bits": "varies" if found.num_bits is None else str(found.num_bits),
        "k": "varies" if found.num_hashes is None else str(found.num_hashes),
        "fill": percent(found.fill),
        "FPP": percent(found.fpp),
        "worst FPP": percent(found.worst_fpp),
        "largest NDV": _ndv(found.ndv_estimate),
        "note": "; ".join(column.notes),
    }


def _legacy_cells(found: LegacyDescription) -> _Cells:
    about = f"{found.dialect}, by {found.pointer}"
    if found.reason is not None:
        return _empty("filter", "offset", "fill", "FPP", "NDV") | {
            "note": f"{about}: {found.reason}"
        }
    return {
        "filter": size(found.num_bytes or 0),
        "offset": "in the footer" if found.offset is None else str(found.offset),
        "fill": percent(found.fill or 0),
        "FPP": percent(found.fpp or 0),
        "NDV": _ndv(found.ndv_estimate),
        "note": f"{about}: {found.hash}",
    }


def _empty(*heads: str) -> _Cells:
    return dict.fromkeys(heads, "")


def _group_row(group: GroupDescription) -> Iterator[str]:
    statistics, found = group.statistics, group.filter
    cells: dict[str, object] = {"first row": group.first_row, "rows": group.num_rows}
    if group.positions is not None:
        cells["positions"] = " ".join(map(str, group.positions))
    if statistics is not None:
        low, high = (_bound(statistics.kind, each) for each in (statistics.min, statistics.max))
        cells |= {"values": statistics.num_values, "min": low, "max": high}
        cells |= {
            "sum": statistics.sum,
            "nulls": {False: "no", True: "yes"}.get(statistics.has_null),
        }
    if found is not None:
        cells |= {"bits": found.num_bits, "k": found.num_hashes, "NDV": _ndv(found.ndv_estimate)}
        cells |= {"fill": percent(found.fill), "FPP": percent(found.fpp)}
    values = map(cells.get, _OF_GROUP)
    return ("" if value is None else str(value) for value in values)


def _bound(kind: str | None, stored: object) -> object:
    """A minimum or maximum: milliseconds since 1970 as the time that they are, if a calendar has it."""
    if kind != "timestamp" or not isinstance(stored, int):
        return stored
    try:
        time = _UNIX_EPOCH + timedelta(milliseconds=stored)
    except OverflowError:
        return stored
    return time.isoformat(" ", "milliseconds")


def _ndv(estimate: float | None) -> str:
    """The number of values that explain the bits of a filter."""
    return ALL_SET if estimate is None else f"{estimate:,.0f}"
