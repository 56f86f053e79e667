"""pbloom diff"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parquet_bloom.commands import file_options
from parquet_bloom.commands import options as option
from parquet_bloom.commands.key_options import arguments_of
from parquet_bloom.commands.sections import Command, output_option
from parquet_bloom.commands.store_options import storage_options
from parquet_bloom.container import UNITS, FilterDescription, Units, number_of, without_numbers
from parquet_bloom.diagnosis.diagnosis import without_list
from parquet_bloom.errors import quoted_name
from parquet_bloom.filters.rates import percent
from parquet_bloom.program import FINE, NO
from parquet_bloom.render.findings import grouped, grouped_in_text
from parquet_bloom.render.hints import next_line
from parquet_bloom.render.terminal import Cells, is_cut, write_json, write_table, write_text
from parquet_bloom.render.wording import shortened, shows_parts, size, where
from parquet_bloom.verbs.diff import FileDiff, FilterDiff
from parquet_bloom.verbs.diff import diff as diff_files

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys


@click.command(cls=Command)
@file_options.file_argument("a")
@file_options.file_argument("b")
@option.columns()
@option.row_groups
@output_option("--all", "with_same", is_flag=True, help="Also show filters that are the same.")
@output_option(
    "--diagnose",
    is_flag=True,
    help="Of filters that both files have, even the same, look up the values that each file stores: which of them"
    " its filter lacks, and what its writer did instead.",
)
@output_option("--json", "as_json", is_flag=True, help="One JSON document.")
@option.answer_options
@output_option("--verbose", is_flag=True, help="Show all of it on a terminal, however much it is.")
@option.ignore_checksums
@option.threads_to_read
@option.access
def diff(
    a: str, b: str, columns: tuple[str, ...] | None, parts: tuple[int, ...] | None, with_same: bool,
    keys: Keys | None, as_json: bool, output: Path | None, overwrite: bool, verbose: bool, **given: Any,
) -> None:  # fmt: skip
    """Compare the filters of two files.

    Row group by row group: presence, size, what headers and footers say, bits that differ, and
    whether one filter is the other one folded. In ORC files, index group by index group: presence,
    size, hashes, which streams there are, bits that differ (of two streams, in the one that readers
    take). It does not matter where in a file the filters are.
    Legacy filters are counted, not compared, unless bloom_filter_offset leads to them. Prints
    nothing if all are the same. Exit code 1: there is a difference.

    \b
    Examples:
      pbloom diff events.parquet events.bloom.parquet
      pbloom diff events.parquet events.bloom.parquet -c user_id -g 0
      pbloom diff events.parquet events.bloom.parquet --all
    """
    again = [
        *(word for name in columns or () for word in ("-c", quoted_name(name))),
        *(word for part in parts or () for word in ("-g", str(part))),
        *arguments_of(keys),
    ]
    with option.answering([a, b], output, overwrite):
        report = diff_files(
            a,
            b,
            columns=columns,
            row_groups=parts,
            keys=keys,
            storage_options=storage_options(),
            **given,
        )
        if as_json:
            write_json(report)
        else:
            _write(report, with_same, again, verbose)
        sys.exit(FINE if report.same else NO)


_HEADER = ("column", "filter", "size a", "size b", "FPP a", "FPP b", "bits only a", "bits only b",
           "difference")  # fmt: skip
# What gives way on a narrow terminal.
_GIVES = (
    "difference…",
    "FPP a",
    "FPP b",
    "size a",
    "size b",
    "bits only a",
    "bits only b",
    "column…",
)


def _write(report: FileDiff, with_same: bool, again: Sequence[str], verbose: bool) -> None:
    """What differs, what is wrong and what was not compared, if anything; `with_same`: also equal filters. `again`:
    options that the next command needs, too. Unless `verbose`, a terminal gets what is too much for it by column."""
    filters = [
        item
        for item in report.filters
        if with_same or item.status != "same" or item.wrong_a or item.wrong_b
    ]
    units = UNITS[report.format]
    for what, a, b in (
        (f"{units.part}s", report.num_parts_a, report.num_parts_b),
        ("row index stride", report.row_index_stride_a, report.row_index_stride_b),
    ):
        # Equal as far as was asked if the row groups were chosen.
        if a != b and not report.same:
            write_text(f"{what}: {a} in a, {b} in b")
    for side, columns in (("a", report.columns_only_a), ("b", report.columns_only_b)):
        if is_cut(len(columns)) and not verbose:
            write_text(f"columns {shortened([*map(quoted_name, columns)])}: only in {side}")
        else:
            for column in columns:
                write_text(f"column {quoted_name(column)}: only in {side}")
    runs = _runs(filters)
    is_long = is_cut(len(runs)) and not verbose
    if is_long:
        write_text(_counts(filters))
    if is_long and len({item.place.part for item in filters}) > 1:
        _write_by_column(filters, units)
    elif runs:
        places = (units.part, f"{units.group}s") if units.has_groups else (units.part,)
        rows = [(*_places(alike[0], alike[-1]), *_row(alike)) for alike in runs]
        write_table((*places, *_HEADER), rows, _GIVES, verbose, more="--verbose shows all")
    for line in _wrong_lines(filters, verbose):
        write_text(line)
    differing = (item for item in filters if item.bits_only_a or item.bits_only_b)
    if any(item.wrong_a is None for item in differing):
        write_text(next_line("diff", report.path_a, report.path_b, "--diagnose", *again))
    for note in report.notes:
        write_text(f"note: {note}")


def _counts(filters: Sequence[FilterDiff]) -> str:
    """`600 filters in 300 columns: 598 only in b, 2 different`"""
    kinds = Counter(item.status for item in filters).most_common()
    columns = number_of(len({item.column for item in filters}), "column")
    counts = ", ".join(f"{count:,} {kind}" for kind, count in kinds)
    return f"{number_of(len(filters), 'filter')} in {columns}: {counts}"


def _write_by_column(filters: Sequence[FilterDiff], units: Units) -> None:
    """One row for what is alike in a column, over all parts of the files."""
    alike: dict[tuple[str, str, str], list[FilterDiff]] = {}
    for item in filters:
        alike.setdefault((item.column, item.status, without_numbers(item.reason)), []).append(item)
    rows = [(f"{len(those):,}", *_row(those)) for those in alike.values()]
    write_table(("filters", *_HEADER), rows, _GIVES, more="--verbose shows all")
    write_text(shows_parts(units.part))


def _wrong_lines(filters: Iterable[FilterDiff], verbose: bool) -> Iterator[str]:
    """What the values of each file say about its filters, as `validate` says it,
    a line for the like in several groups."""
    groups = grouped if verbose else grouped_in_text
    looked_up = [item for item in filters if item.wrong_a is not None]
    for side in ("a", "b"):
        wrong = [each for item in looked_up for each in getattr(item, f"wrong_{side}")]
        for group in groups(wrong):
            first, *others = group.painted_lines
            yield f"{side}: {first}"
            yield from others if verbose else map(without_list, others)
        right = [item for item in looked_up if not getattr(item, f"wrong_{side}")]
        for column in dict.fromkeys(item.column for item in right):
            places = [item.place for item in right if item.column == column]
            yield f"{side}: {where(column, places)}: nothing wrong is found"


def _runs(filters: Iterable[FilterDiff]) -> list[list[FilterDiff]]:
    """What one row shows each: neighbouring groups of a column, unless their bits differ."""
    runs: list[list[FilterDiff]] = []
    for item in filters:
        if runs and _continues(runs[-1][-1], item):
            runs[-1].append(item)
        else:
            runs.append([item])
    return runs


def _continues(before: FilterDiff, item: FilterDiff) -> bool:
    return (
        before.place.group is not None
        and before.status != "different"
        and (before.place.part, before.place.group + 1) == (item.place.part, item.place.group)
        and (before.column, before.status, before.reason) == (item.column, item.status, item.reason)
    )


def _row(alike: Sequence[FilterDiff]) -> Cells:
    """Some filters of a column that are alike: their total size and mean FPP."""
    first = alike[0]
    sides = [[item.a for item in alike if item.a], [item.b for item in alike if item.b]]
    only_a = [item.bits_only_a for item in alike if item.bits_only_a is not None]
    only_b = [item.bits_only_b for item in alike if item.bits_only_b is not None]
    return (
        first.column,
        first.status,
        *map(_size, sides),
        *map(_fpp, sides),
        *(str(sum(bits)) if bits else "" for bits in (only_a, only_b)),
        first.reason,
    )


def _places(first: FilterDiff, last: FilterDiff) -> tuple[str, ...]:
    part, group = str(first.place.part), first.place.group
    if group is None:
        return (part,)
    return part, str(group) if first is last else f"{group}-{last.place.group}"


def _size(filters: Sequence[FilterDescription]) -> str:
    return size(sum(filter.num_bytes for filter in filters)) if filters else ""


def _fpp(filters: Sequence[FilterDescription]) -> str:
    return percent(sum(filter.fpp for filter in filters) / len(filters)) if filters else ""
