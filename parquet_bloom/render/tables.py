"""What `pbloom build`, `repair` and `strip` print about tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from parquet_bloom.container import number_of
from parquet_bloom.render.changes import NOT_LOOKED_UP
from parquet_bloom.render.hints import with_hint
from parquet_bloom.render.many_files import FileSummary, Remark
from parquet_bloom.render.terminal import write_text
from parquet_bloom.render.wording import files_of, size, where, without_numbers

if TYPE_CHECKING:
    from parquet_bloom.verbs.build_table import TableBuildReport
    from parquet_bloom.verbs.repair_table import TableRepairReport
    from parquet_bloom.verbs.strip_table import TableStripReport
    from parquet_bloom.verbs.table_runner import ChangedFile, LeftColumn, RepairedColumn

    TableReport: TypeAlias = TableBuildReport | TableRepairReport | TableStripReport


def write_table_build(report: TableBuildReport, verbose: bool = False) -> None:
    """What was added to the files of a table, and which version records it; with `verbose`, each file."""
    _write(report, _built(report), _build_remarks(report), verbose)


def summarize_table_build(report: TableBuildReport) -> FileSummary:
    """The same of one of several tables."""
    numbers = {"filters": report.num_filters, "bytes": report.bytes_added}
    return _summary(report, _built(report), _build_remarks(report), numbers)


def total_built_in_tables(numbers: Mapping[str, int]) -> str:
    """`1,196 filters, 12.3 MiB added`"""
    text = f"{number_of(numbers['filters'], 'filter')}, {size(numbers['bytes'])} added"
    return _total(text, numbers)


def write_table_repair(report: TableRepairReport, verbose: bool = False) -> None:
    """What was repaired in the files of a table and what was left, and which version records it."""
    _write(report, _repaired(report), _repair_remarks(report), verbose)
    if not report.looked_up:
        write_text(f"note: {NOT_LOOKED_UP}, and so does pbloom validate --table")


def summarize_table_repair(report: TableRepairReport) -> FileSummary:
    """The same of one of several tables."""
    numbers = {
        "repaired": _num_chunks(report.repaired), "left": _num_chunks(report.left),
        "bytes": report.bytes_added, "looked up": report.looked_up,
    }  # fmt: skip
    return _summary(report, _repaired(report), _repair_remarks(report), numbers)


def write_table_strip(report: TableStripReport, verbose: bool = False) -> None:
    """What was taken back of the files of a table, and which version records it."""
    _write(report, _stripped(report), _file_remarks(report), verbose)


def summarize_table_strip(report: TableStripReport) -> FileSummary:
    """The same of one of several tables."""
    return _summary(
        report, _stripped(report), _file_remarks(report), {"bytes": report.bytes_removed}
    )


def total_stripped_in_tables(numbers: Mapping[str, int]) -> str:
    """`12.3 MiB taken back`"""
    return _total(f"{size(numbers['bytes'])} taken back", numbers)


def _built(report: TableBuildReport) -> str:
    filters = number_of(report.num_filters, "filter")
    return f"{_counted(report.files)}; {filters}, {size(report.bytes_added)} added"


def _stripped(report: TableStripReport) -> str:
    return f"{_counted(report.files)}; {size(report.bytes_removed)} taken back"


def _repaired(report: TableRepairReport) -> str:
    repaired = number_of(_num_chunks(report.repaired), "filter")
    left = _num_chunks(report.left)
    return f"{_counted(report.files)}; {repaired} repaired, {left:,} left, {size(report.bytes_added)} added"


def _num_chunks(columns: Sequence[RepairedColumn | LeftColumn]) -> int:
    return sum(each.num_chunks for each in columns)


def _counted(files: Sequence[ChangedFile]) -> str:
    """`12 files: 9 appended, 3 too small`"""
    actions = Counter(file.action for file in files).most_common()
    counts = ", ".join(f"{count:,} {action}" for action, count in actions)
    return f"{number_of(len(files), 'file')}{': ' * bool(counts)}{counts}"


def _version(report: TableReport) -> str:
    if report.committed is not None:
        return f"version {report.committed} records it"
    return "dry run: nothing was written" if report.dry_run else f"version {report.version} stays"


def _write(report: TableReport, what: str, remarks: Sequence[Remark], verbose: bool) -> None:
    write_text(f"{report.path}: {what}; {_version(report)}, {report.seconds:.2f} s")
    if verbose:
        for file in report.files:
            reason = f": {file.reason}" if file.reason else ""
            write_text(
                f"{file.file}: {file.action}, {file.recorded:,} to {file.size:,} bytes{reason}"
            )
    for remark in remarks:
        write_text(remark.text)


def _summary(
    report: TableReport, what: str, remarks: Sequence[Remark], numbers: dict[str, int]
) -> FileSummary:
    state = "unchanged" if report.committed is None else "committed"
    text = f"{what}; {_version(report)}"
    return FileSummary(state, text, remarks, {**numbers, "dry": report.dry_run})


def _total(text: str, numbers: Mapping[str, int]) -> str:
    return f"{text}; dry run: nothing was written" if numbers["dry"] else text


def _build_remarks(report: TableBuildReport) -> list[Remark]:
    found = [*_file_remarks(report)]
    for each in report.skipped:
        text = f"skipped {each.column}, {number_of(each.num_chunks, 'column chunk')}"
        found.append(
            Remark(f"skipped {each.column}", each.reason, f"{text}: {with_hint(each.reason)}")
        )
    return [*found, *(Remark("note", note, f"note: {note}") for note in report.notes)]


def _repair_remarks(report: TableRepairReport) -> list[Remark]:
    from parquet_bloom.rules.rule import rules

    found = [*_file_remarks(report)]
    done: list[tuple[str, RepairedColumn | LeftColumn]] = [
        *((each.action, each) for each in report.repaired),
        *(("left", each) for each in report.left),
    ]
    for what, each in done:
        rule = rules()[each.rule].heading
        about = f"{what}: {where(each.column, [])}{': ' * bool(each.column)}"
        example = "for example " * (each.num_chunks > 1)
        count = number_of(each.num_chunks, "column chunk")
        text = f"{about}{count}: {rule}: {example}{each.reason}"
        found.append(Remark(f"{about}{rule}", each.reason, text))
    return [*found, *(Remark("note", note, f"note: {note}") for note in report.notes)]


def _file_remarks(report: TableReport) -> list[Remark]:
    return list(_alike(report))


def _alike(report: TableReport) -> Iterator[Remark]:
    """One for all files with the same reason but for numbers."""
    groups: dict[tuple[str, str], list[ChangedFile]] = {}
    for file in report.files:
        if file.reason:
            groups.setdefault((file.action, without_numbers(file.reason)), []).append(file)
    for (action, _), members in groups.items():
        first = members[0]
        names = files_of([file.file for file in members], len(report.files))
        example = "for example " * (len({file.reason for file in members}) > 1)
        reason = first.reason or ""
        hint = "; --all-sizes takes them, too" * (action == "too small")
        yield Remark(action, reason, f"{names}: {action}: {example}{reason}{hint}")
