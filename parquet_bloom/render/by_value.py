"""Many values in many files, value by value: a screen, or all of them.

id in 300 files: 10,000 values, 58 in no file, 9,942 maybe in some; 1.5 MiB read to find out
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from parquet_bloom.container import number_of
from parquet_bloom.errors import quoted_name
from parquet_bloom.filters.rates import percent
from parquet_bloom.render.hints import with_hint
from parquet_bloom.render.terminal import Cells, complain, write_line, write_table, write_text
from parquet_bloom.render.value_lines import line_of
from parquet_bloom.render.wording import (
    MOST_SHOWN,
    SHOWS_ALL,
    files_in,
    files_of,
    parts_of,
    shortened,
    size,
)
from parquet_bloom.values.given import show_value
from parquet_bloom.vocabulary import BY_NAME, NO_FILTER

if TYPE_CHECKING:
    from parquet_bloom.verbs.index_probe import IndexedFile, IndexedValue, IndexReport
    from parquet_bloom.verbs.values_in_files import (
        NotAsked,
        ValueInFile,
        ValueInFiles,
        ValuesReport,
    )
    from parquet_bloom.vocabulary import Format, Verdict


# Of many values, the files of so few are named: with three lines each on a narrow terminal, all is on one screen.
_EXAMPLES: Final = 4

_SOME: Final = "may hold some of the values"


def write_values(report: ValuesReport, in_full: bool, took: str) -> None:
    """With `in_full`, every value has a line, and every file is named. `took`: how long it took, if anything is to
    be said of that."""
    for text in totals(report, took):
        write_text(text)
    if in_full:
        _write_table(report.results, report.formats, in_full, report.files_unknown)
    else:
        _write_some(report)
    write_files_unknown(report.files_unknown, report.num_files, in_full)


def totals(report: ValuesReport, took: str) -> Iterator[str]:
    """How many values have which verdict, and what the rate of false positives makes of so many row groups."""
    yield in_all(report, took)
    if report.false_groups is None or not report.maybe:
        return
    filters = number_of(report.num_filters, "filter")
    yield (
        f"by chance alone, a value that is in no file is maybe in {report.false_groups:.2g} of {filters}, and in"
        f" at least one with a chance of {_chance(report)}{_by_chance(report)}; `pbloom find --report FILE` "
        "looks into the files, an index (`pbloom index build`) excludes more"
    )


def _chance(report: ValuesReport) -> str:
    """`1 %`; of several filters, `1 % (if all filters have the same values) to 20 % (if no two have one in common)`:
    those of copies say `maybe` of the same values, and no filter tells whether it is one of a copy."""
    assert report.worst_fpp is not None
    assert report.false_maybe is not None
    least, most = percent(report.worst_fpp), percent(report.false_maybe)
    if least == most:
        return most
    return f"{least} (if all filters have the same values) to {most} (if no two have one in common)"


def _by_chance(report: ValuesReport) -> str:
    """`: so about 95 to 1,900 of the 4,854 are in no file`, of two digits, as more would be made up."""
    found = report.maybe_by_chance
    if found is None:
        return ""
    least, most = (min(report.maybe, int(float(f"{round(each):.2g}"))) for each in found)
    # Less is what chance makes of it, and that it may be any of them is no news.
    if most == 0 or (least == 0 and most == report.maybe):
        return ""
    if least == most:
        told = f"about {most:,}"
    elif most == report.maybe:
        told = f"at least about {least:,}"
    else:
        told = f"about {least:,} to {most:,}" if least else f"at most about {most:,}"
    return f": so {told} of the {report.maybe:,} are in no file"


def in_all(report: ValuesReport, took: str) -> str:
    """`id in 300 files: 10,000 values, 58 in no file, 9,942 maybe in some; 1.5 MiB read to find out`"""
    counts = verdict_counts(report)
    if report.files_without_column:
        without = number_of(report.files_without_column, "file")
        counts += f", {without} without the column: {BY_NAME}"
    unknown = len({each.path for each in report.files_unknown})
    doubt = f", {unknown:,} unknown" if unknown else ""
    return (
        f"{quoted_name(report.column)} in {number_of(report.num_files, 'file')}{doubt}: "
        f"{number_of(len(report.results), 'value')}, {counts}; {size(report.bytes_read)} read to find out{took}"
    )


def verdict_counts(report: ValuesReport | IndexReport) -> str:
    """`58 in no file, 9,942 maybe in some`; where some are unknown, more may be in none."""
    sure = "certainly " * bool(report.unknown)
    verdicts = [f"{report.absent:,} {sure}in no file", f"{report.maybe:,} maybe in some"]
    if report.unknown:
        verdicts.append(f"{report.unknown:,} unknown")
    return ", ".join(verdicts)


def write_values_with(
    verdict: Verdict,
    results: Iterable[ValueInFiles | IndexedValue],
    values: Iterable[object],
    column: str,
) -> None:
    """The values alone, each on a line, for another program or to be looked up again. `values`: as given."""
    for each, given in zip(results, values, strict=True):
        if each.verdict == verdict:
            write_line(line_of(given, each.value, column))


def _write_some(report: ValuesReport) -> None:
    """Some of the values that are in no file, and some of the others."""
    results = report.results
    first = results.absent.nonzero()[0][:MOST_SHOWN].tolist()
    if first:
        absent = [show_value(results[number].value) for number in first]
        write_text(f"in no file: {shortened(absent, report.absent)}")
    left = results.hit.nonzero()[0].tolist()
    shown = left if len(left) <= MOST_SHOWN else left[:_EXAMPLES]
    _write_table([results[number] for number in shown], report.formats, in_full=False)
    if more := len(left) - len(shown):
        write_text(f"and {more:,} more: {SHOWS_ALL}")


def write_files_unknown(
    files: Sequence[NotAsked | IndexedFile], num_files: int, in_full: bool
) -> None:
    """The files that may hold any value: in full, a line for each; else for each reason."""
    what = "may hold any value"
    if in_full:
        for file in files:
            write_text(f"{file.path}: {what}: {file.reason}")
        return
    for line in _about_unknown(files, num_files, what):
        # What could not be opened has been complained about, with what helps.
        write_text(with_hint(line) if line.endswith(NO_FILTER) else line)


def write_files_unknown_of_some(files: Sequence[IndexedFile], num_files: int) -> None:
    """Those that may hold some of the values that were asked, some for each reason."""
    for line in _about_unknown(files, num_files, _SOME):
        write_text(line)


def complain_of_unknown_of_some(files: Sequence[IndexedFile], num_files: int) -> None:
    """That the list of absent values may lack some."""
    for line in _about_unknown(files, num_files, _SOME):
        complain(line)


def complain_of_unknown(files: Sequence[NotAsked | IndexedFile], num_files: int) -> None:
    """That the list of absent values has to be empty."""
    for line in _about_unknown(files, num_files, "may hold any value, so none is absent"):
        complain(line)


def _about_unknown(
    files: Sequence[NotAsked | IndexedFile], num_files: int, what: str
) -> Iterator[str]:
    """`a.parquet, b.parquet: may hold any value: no filter`"""
    paths: dict[str, list[str]] = {}
    for file in files:
        paths.setdefault(file.reason or "", []).append(file.path)
    for reason in [*paths][:MOST_SHOWN]:
        yield f"{files_of(paths[reason], num_files)}: {what}: {reason}"
    if len(paths) > MOST_SHOWN:
        left = sum(map(len, [*paths.values()][MOST_SHOWN:]))
        yield f"and {left:,} more: {what}"


def _write_table(
    values: Sequence[ValueInFiles],
    formats: Sequence[Format],
    in_full: bool,
    unknown: Sequence[NotAsked] = (),
) -> None:
    """`unknown`: the files that may hold any of the values, of which each has a line."""
    if not values:
        return
    # Nobody counts what is to be read of them: some cannot even be opened.
    paths = {file.path for file in unknown}
    in_any = ("", "", "", number_of(len(paths), "unknown file"))

    def counts(files: Sequence[ValueInFile]) -> Cells:
        return (
            f"{len(files):,}",
            f"{sum(len(file.row_groups) for file in files):,}",
            f"{sum(file.rows_to_read for file in files):,}",
            files_in([file.path for file in files], in_full),
        )

    rows = [
        (
            show_value(each.value),
            each.verdict,
            *(in_any if each.verdict == "unknown" and not each.files else counts(each.files)),
        )
        for each in values
    ]
    heads = ("value", "verdict", "files", parts_of(formats), "rows to read", "in")
    # Which files they are is what was asked.
    write_table(heads, rows, full=True)
