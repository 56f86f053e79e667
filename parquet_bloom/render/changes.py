"""What `pbloom build`, `strip` and `repair` print about the files that they change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from parquet_bloom.container import BuiltFilters, LeftChunk, number_of
from parquet_bloom.filters.rates import percent
from parquet_bloom.render.hints import command, with_hint
from parquet_bloom.render.many_files import FileSummary, Remark
from parquet_bloom.render.terminal import Row, write_table, write_text
from parquet_bloom.render.wording import columns_alike, size, where, without_numbers

if TYPE_CHECKING:
    from parquet_bloom.verbs.build import BuildReport
    from parquet_bloom.verbs.repair import LeftFilter, RepairedFilter, RepairReport
    from parquet_bloom.verbs.strip import StripReport

ChangeReport: TypeAlias = "BuildReport | StripReport | RepairReport"

_BUILT = ("column", "filters", "bytes", "largest", "bits of each", "hashes", "highest FPP")


NOT_LOOKED_UP = "no stored value was looked up: --drop-bad and --rebuild do that"

# What gives way on a narrow terminal.
_BUILT_GIVES = ("bits of each", "hashes", "largest", "column…")


def write_build(report: BuildReport, verbose: bool = False) -> None:
    """What was added to one file, by column; what was skipped, by reason."""
    _write_heading(report, _added(report))
    by_column: dict[str, list[BuiltFilters]] = {}
    for built in report.filters:
        by_column.setdefault(built.column, []).append(built)
    if by_column:
        rows = [_column_row(*item) for item in by_column.items()]
        write_table(_BUILT, rows, _BUILT_GIVES, verbose)
    _write_remarks(_build_remarks(report))


def summarize_build(report: BuildReport) -> FileSummary:
    """The same of one of many files."""
    done = "built" if report.filters else "skipped" if report.skipped else "unchanged"
    numbers = {"filters": report.num_filters, "bytes": report.bytes_added}
    return _summary(report, done, _added(report), _build_remarks(report), numbers)


def total_built(numbers: Mapping[str, int]) -> str:
    """`1,196 filters, 12.3 MiB added`"""
    return _total(
        f"{number_of(numbers['filters'], 'filter')}, {_change(numbers['bytes'])}", numbers
    )


def write_strip(report: StripReport, verbose: bool = False) -> None:
    """What was removed from one file; what was left, by reason."""
    _write_heading(report, _removed(report))
    _write_remarks(_strip_remarks(report))


def summarize_strip(report: StripReport) -> FileSummary:
    """The same of one of many files."""
    done = "stripped" if report.removed else "unchanged"
    numbers = {"filters": report.num_filters, "bytes": report.bytes_removed}
    return _summary(report, done, _removed(report), _strip_remarks(report), numbers)


def total_stripped(numbers: Mapping[str, int]) -> str:
    """`1,196 filters removed, 12.3 MiB less`"""
    removed = f"{number_of(numbers['filters'], 'filter')} removed, {size(numbers['bytes'])} less"
    return _total(removed, numbers)


def write_repair(report: RepairReport, verbose: bool = False) -> None:
    """What was repaired in one file and what was left, alike filters in one line."""
    _write_heading(report, _repaired(report))
    _write_remarks(_repair_remarks(report))
    if not report.looked_up:
        write_text(f"note: {NOT_LOOKED_UP}, and so does {command('validate', report.path)}")


def summarize_repair(report: RepairReport) -> FileSummary:
    """The same of one of many files."""
    done = "still wrong" if report.left else "repaired" if report.repaired else "unchanged"
    numbers = {
        "repaired": len(report.repaired), "left": len(report.left), "bytes": report.bytes_added,
        "looked up": report.looked_up,
    }  # fmt: skip
    return _summary(report, done, _repaired(report), _repair_remarks(report), numbers)


def total_repaired(numbers: Mapping[str, int]) -> str:
    """`12 filters repaired, 1 left, 3.0 KiB added`"""
    repaired = number_of(numbers["repaired"], "filter")
    change = _change(numbers["bytes"])
    looked_up = "" if numbers["looked up"] else f"; {NOT_LOOKED_UP}"
    total = f"{repaired} repaired, {numbers['left']:,} left, {change}{looked_up}"
    return _total(total, numbers)


def _added(report: BuildReport) -> str:
    filters = number_of(report.num_filters, "filter")
    share = percent(report.bytes_added / report.size_before)
    return f"{filters}, {size(report.bytes_added)} added ({share})"


def _removed(report: StripReport) -> str:
    filters = number_of(report.num_filters, "filter")
    return f"{filters} removed, {size(report.bytes_removed)} less"


def _repaired(report: RepairReport) -> str:
    repaired = number_of(len(report.repaired), "filter")
    return f"{repaired} repaired, {len(report.left):,} left, {_change(report.bytes_added)}"


def _change(num_bytes: int) -> str:
    return f"{size(-num_bytes)} removed" if num_bytes < 0 else f"{size(num_bytes)} added"


def _write_heading(report: ChangeReport, what: str) -> None:
    target = report.output or f"{report.path} (dry run)"
    write_text(f"{target}: {what}, {report.seconds:.2f} s")


def _summary(
    report: ChangeReport, done: str, what: str, remarks: Sequence[Remark], numbers: dict[str, int]
) -> FileSummary:
    is_dry = report.output is None
    return FileSummary(done, what, remarks, {**numbers, "dry": is_dry})


def _total(text: str, numbers: Mapping[str, int]) -> str:
    return f"{text}; dry run: nothing was written" if numbers["dry"] else text


def _column_row(column: str, filters: Sequence[BuiltFilters]) -> Row:
    first = filters[0]
    largest = size(max(built.num_bytes for built in filters))
    return (
        column,
        str(sum(built.num_filters for built in filters)),
        size(sum(built.length for built in filters)),
        largest if first.num_bits is None else None,
        None if first.num_bits is None else str(first.num_bits),
        None if first.num_hashes is None else str(first.num_hashes),
        percent(max(built.fpp for built in filters)),
    )


def _build_remarks(report: BuildReport) -> list[Remark]:
    return [*_left_remarks("skipped", report.skipped), *_notes(report)]


def _strip_remarks(report: StripReport) -> list[Remark]:
    return [*_left_remarks("left", report.left), *_unused(report), *_notes(report)]


def _unused(report: StripReport) -> list[Remark]:
    """What stays of filters that nothing points to."""
    if not report.unused_filters:
        return []
    is_one = report.unused_filters == 1
    found = f"{number_of(report.unused_filters, 'unused filter')}, {size(report.unused_bytes)}"
    why = (
        f"{'stays' if is_one else 'stay'} in the file, as data {'follows it' if is_one else 'follows them'}:"
        " whoever writes it anew, with any writer, is rid of them"
    )
    return [Remark("unused filters stay", why, f"{found}: {why}")]


def _notes(report: ChangeReport) -> list[Remark]:
    return [Remark("note", note, f"note: {note}") for note in report.notes]


def _left_remarks(what: str, chunks: Sequence[LeftChunk]) -> list[Remark]:
    """One for all chunks with the same reason; `what` was done to them."""
    alike = columns_alike((chunk.column, chunk.place, chunk.reason) for chunk in chunks)
    return [
        Remark(
            f"{what} {columns}",
            with_hint(reason),
            with_hint(f"{what} {columns}, {where(None, places)}: {reason}"),
        )
        for columns, places, reason in alike
    ]


def _repair_remarks(report: RepairReport) -> list[Remark]:
    """One for all items of a column whose reasons differ only in numbers."""
    from parquet_bloom.rules.rule import rules

    groups: dict[tuple[str | None, ...], list[RepairedFilter | LeftFilter]] = {}
    done: list[tuple[str, RepairedFilter | LeftFilter]] = [
        *((item.action, item) for item in report.repaired),
        *(("left", item) for item in report.left),
    ]
    for what, item in done:
        likeness = (what, item.column, item.rule, without_numbers(item.reason))
        groups.setdefault(likeness, []).append(item)
    remarks = []
    for (action, *_), members in groups.items():
        first = members[0]
        rule = rules()[first.rule].heading
        place = where(first.column, [item.place for item in members if item.place])
        is_example = len({item.reason for item in members}) > 1 or len(first.groups or ()) > 1
        example = "for example " if is_example else ""
        column = where(first.column, [])
        remarks.append(
            Remark(
                what=f"{action}: {column}{': ' if column else ''}{rule}",
                why=first.reason,
                text=f"{action}: {place}: {rule}: {example}{first.reason}",
            )
        )
    return [*remarks, *_notes(report)]


def _write_remarks(remarks: Sequence[Remark]) -> None:
    for remark in remarks:
        write_text(remark.text)
