"""pbloom inspect"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from parquet_bloom.commands import file_options
from parquet_bloom.commands import options as option
from parquet_bloom.commands.inputs import Answers
from parquet_bloom.commands.key_options import arguments_of
from parquet_bloom.commands.sections import Command, orc_option, output_option
from parquet_bloom.options import InspectOptions
from parquet_bloom.render.inspect import InspectionView, write_inspection_summary
from parquet_bloom.render.terminal import write_json
from parquet_bloom.verbs.documents import document_of
from parquet_bloom.verbs.inspect import FileInspection, inspect_file

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys


@click.command(cls=Command)
@file_options.files
@option.columns()
@option.row_groups
@orc_option("--index-groups", is_flag=True, help="Also show each index group.")
@output_option("--summary", is_flag=True, help="One table by column, over all files.")
@output_option("--histogram", is_flag=True, help="Draw how many blocks have how many bits set.")
@option.answered()
@option.threads_to_read
@option.access
def inspect(
    answers: Answers, index_groups: bool, summary: bool, histogram: bool,
    columns: tuple[str, ...] | None, keys: Keys | None, threads: int | None, **given: Any,
) -> None:  # fmt: skip
    """Show which column chunks have filters, and how good they are.

    Fill, the share of bits that are set, and FPP, that of absent values that pass, are computed from the bits, and so
    is NDV, an estimate of the number of distinct values. Where a Parquet column can have none, it says why: in a file
    without any, of those that -c names. For an ORC file, each line is a column in a stripe, whose index groups have a
    filter each: the largest NDV is that of one of these. Several files have one line each, more than twenty only a
    total, with the names of some that have filters, or that have none if these are fewer;
    --verbose shows them in full, --summary shows their columns.

    --histogram draws how many blocks of each filter have how many bits set, beside what a good
    hash would give; in a pipe and with --json, it lists the counts.

    \b
    Examples:
      pbloom inspect events.bloom.parquet
      pbloom inspect lake/ --summary
      pbloom inspect events.bloom.parquet -c user_id --histogram
    """
    if summary + histogram + index_groups > 1:
        raise click.UsageError("expected at most one of --summary, --histogram and --index-groups")
    inputs = answers.inputs
    # Each histogram is drawn while its file is read.
    at_a_time, of_each = (1, threads) if histogram else inputs.threads_for(threads)
    inputs.check_columns(columns or ())
    options = InspectOptions(columns=columns, index_groups=index_groups, threads=of_each, **given)

    def work(path: str) -> FileInspection:
        with inputs.open(path, keys) as file:
            return inspect_file(file, options)

    if summary:
        inputs.take_once()
        sys.exit(_sum_up(answers, work, at_a_time, keys))
    if histogram:
        sys.exit(_draw(answers, options, keys))
    view = InspectionView(inputs.next_lines(arguments_of(keys)), options.columns, options.parts)
    sys.exit(answers.each(work, view, threads=at_a_time))


def _draw(answers: Answers, options: InspectOptions, keys: Keys | None) -> int:
    """Draw the filters of each file while they are read; the exit code."""
    from parquet_bloom.render.histogram import HistogramWriter, write_histograms_json
    from parquet_bloom.verbs.occupancy import FilterOccupancy, inspect_occupancy

    inputs = answers.inputs
    complaints = inputs.complaints(at_once=answers.at_once)

    def draw(path: str) -> FileInspection:
        found: list[FilterOccupancy] = []
        writer = HistogramWriter(path, answers.verbose)
        with inputs.open(path, keys) as file:
            take = (lambda each, _: found.append(each)) if answers.as_json else writer.take
            report = inspect_occupancy(file, options, take)
        if answers.as_json:
            write_histograms_json(report, found)
        else:
            writer.finish(report)
        return report

    return inputs.each(draw, complaints=complaints, take=complaints.add_if_unverified)


def _sum_up(
    answers: Answers, work: Callable[[str], FileInspection], threads: int, keys: Keys | None
) -> int:
    """Write one table, or one document, about all files; the exit code."""
    from parquet_bloom.verbs.inspect_summary import InspectionSummarizer

    summarizer = InspectionSummarizer()
    complaints = answers.inputs.complaints(at_once=answers.as_json)

    def add(path: str, report: FileInspection) -> None:
        complaints.add_if_unverified(path, report)
        summarizer.add(document_of(report))

    code = answers.inputs.each(work, complaints=complaints, take=add, threads=threads)
    found = summarizer.summary()
    if answers.as_json:
        write_json(found)
    else:
        write_inspection_summary(found, answers.verbose, arguments_of(keys))
    return code
