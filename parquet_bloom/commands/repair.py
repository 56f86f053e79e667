"""pbloom repair"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from parquet_bloom.commands import file_options
from parquet_bloom.commands import options as option
from parquet_bloom.commands.inputs import Answers
from parquet_bloom.commands.key_options import arguments_of
from parquet_bloom.commands.sections import Command, filters_option
from parquet_bloom.commands.table_options import appending_in_tables
from parquet_bloom.options import RepairOptions, TableOptions
from parquet_bloom.program import FINE, NO
from parquet_bloom.render.changes import RepairView, TableRepairView
from parquet_bloom.render.terminal import no_progress, progress

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.verbs.repair import RepairReport
    from parquet_bloom.verbs.repair_table import TableRepairReport

# What says nothing about the files of a table, which stay where they are.
_ONLY_FILES = {"output", "output_dir", "in_place", "overwrite", "resume", "layout", "parts"}


@click.command(cls=Command)
@file_options.files
@option.columns()
@option.row_groups
@appending_in_tables(refused=_ONLY_FILES)
@filters_option(
    "--drop-bad",
    is_flag=True,
    help="Look up every stored value, and drop filters that lack any.",
)
@filters_option(
    "--rebuild",
    is_flag=True,
    help="The same, and build dropped filters again from the data; those of ORC files in the size that they had, if "
    "that is of use, unless --fpp says another.",
)
@option.fpp
@option.max_bytes
@option.layout
@option.ignore_checksums
@option.destinations
@option.threads
@option.access
def repair(
    answers: Answers, destination_of: option.DestinationOf, keys: Keys | None,
    of_table: TableOptions | None, **given: Any,
) -> None:  # fmt: skip
    """Repair the filters of files.

    Without --rebuild, only the footer changes: a missing or wrong bloom_filter_length is set, and pointers that
    lead to nothing, or to a filter that no reader can trust, are dropped. A filter that only the stored
    values could prove right is dropped, too, unless --drop-bad or --rebuild reads them. What --rebuild would
    have built in the same run, pbloom build adds later.
    Filters that are right and exclude too little (PB3xx) stay: pbloom build --existing replace makes better ones.
    Of Parquet, a filter stays, too, that lacks values of pages with which something else is wrong: it may be the
    only trace of what has changed.
    Exit code 1: something is still wrong, and the answer says what would repair it.

    In ORC files nothing points to a filter, so that only --drop-bad and --rebuild repair anything; the filters of a
    column in a stripe are one stream there, and dropped together. What --rebuild builds is as large as what was
    there; what pbloom build adds later is of its own size. ORC has no checksums: validate --diagnose first, which
    says what to look at.

    With --table, what is new is appended to the files of tables, and a commit to each table records
    the new sizes; one with many files gets several.

    \b
    Examples:
      pbloom repair events.bloom.parquet --rebuild --in-place
      pbloom repair lake/ --drop-bad --dry-run
      pbloom repair events.bloom.parquet -o events.repaired.parquet
    """
    options = RepairOptions(**given)
    if of_table is not None:
        from parquet_bloom.commands.table_inputs import change_tables
        from parquet_bloom.verbs.repair_table import repair_in_table

        code, reports = change_tables(
            answers,
            of_table,
            TableRepairView(arguments_of(keys)),
            lambda table, show: repair_in_table(table, options, of_table, keys=keys, progress=show),
        )
        sys.exit(code or (NO if any(map(_is_wrong, reports)) else FINE))
    from parquet_bloom.verbs.repair import repair_file

    are_wrong: list[bool] = []
    at_a_time, of_each = answers.inputs.threads_to_change(options.threads)
    options = replace(options, threads=of_each)
    bar = progress if at_a_time == 1 else no_progress

    def work(path: str) -> RepairReport:
        with bar(path) as show:
            report = repair_file(path, options, destination_of(path), keys=keys, progress=show)
        are_wrong.append(_is_wrong(report))
        return report

    view = RepairView(arguments_of(keys))
    sys.exit(answers.each(work, view, threads=at_a_time) or (NO if any(are_wrong) else FINE))


def _is_wrong(report: RepairReport | TableRepairReport) -> bool:
    """Whether anything still is."""
    return any(each.is_wrong for each in report.left)
