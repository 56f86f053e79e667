"""pbloom repair"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from parquet_bloom.commands import options as option
from parquet_bloom.commands.check_options import ignore_checksums
from parquet_bloom.commands.inputs import Answers, Inputs
from parquet_bloom.commands.key_options import GivenKeys, key_options
from parquet_bloom.commands.sections import Command, filters_option
from parquet_bloom.commands.store_options import stores
from parquet_bloom.commands.table_options import appending_in_tables, change_tables
from parquet_bloom.program import FINE, NO

if TYPE_CHECKING:
    from parquet_bloom.options import RepairOptions, TableOptions
    from parquet_bloom.verbs.repair import LeftFilter, RepairReport

# What says nothing about the files of a table, which stay where they are.
_ONLY_FILES = {"output", "output_dir", "in_place", "overwrite", "layout", "parts"}


@click.command(cls=Command)
@option.files
@option.columns()
@option.row_groups
@appending_in_tables(refused=_ONLY_FILES)
@filters_option(
    "--drop-bad",
    is_flag=True,
    help="Look up every stored value, and drop filters that lack any.",
)
@filters_option(
    "--rebuild", is_flag=True, help="The same, and build dropped filters again from the data."
)
@option.fpp
@option.max_bytes
@option.layout
@ignore_checksums
@option.destinations
@option.threads
@option.memory
@stores
@key_options
@option.as_json
@option.verbose
def repair(
    inputs: Inputs, destination_of: option.DestinationOf, keys: GivenKeys,
    of_table: TableOptions | None, as_json: bool, verbose: bool, **given: Any,
) -> None:  # fmt: skip
    """Repair the filters of files.

    Only the footer changes: a missing or wrong bloom_filter_length is set, and pointers that lead to
    nothing, or to a filter that no reader can trust, are dropped. A filter that only the values
    could prove right is dropped, too, unless --drop-bad or --rebuild lets them be read. Without
    --rebuild, only pbloom build brings dropped filters back. In ORC files nothing points to a
    filter, so that only --drop-bad and --rebuild repair anything. Exit code 1: something is still
    wrong, and the answer says what would repair it.

    With --table, what is new is appended to the files of tables, each of which then gets one commit
    that records the new sizes.

    \b
    Example:
      pbloom repair events.bloom.parquet --rebuild --in-place
    """
    from dataclasses import replace

    from parquet_bloom.options import RepairOptions
    from parquet_bloom.render.changes import summarize_repair, total_repaired, write_repair
    from parquet_bloom.render.terminal import no_progress, progress
    from parquet_bloom.verbs.repair import repair_file

    options = RepairOptions(**given)
    if of_table is not None:
        sys.exit(_repair_in_tables(inputs, options, of_table, keys, (as_json, verbose)))
    left: list[LeftFilter] = []

    at_a_time, of_each = inputs.threads_to_change(options.threads)
    options = replace(options, threads=of_each)
    bar = progress if at_a_time == 1 else no_progress

    def work(path: str) -> RepairReport:
        with bar(path) as show:
            report = repair_file(path, options, destination_of(path), keys, show)
        left.extend(report.left)
        return report

    summed = summarize_repair, total_repaired
    answers = Answers(inputs, write_repair, summed, as_json=as_json, verbose=verbose)
    sys.exit(answers.each(work, threads=at_a_time) or (NO if left else FINE))


def _repair_in_tables(
    inputs: Inputs,
    options: RepairOptions,
    of_table: TableOptions,
    keys: GivenKeys,
    shown: tuple[bool, bool],
) -> int:
    """The exit code. `shown`: whether as JSON, and whether in full."""
    from parquet_bloom.render.changes import total_repaired
    from parquet_bloom.render.tables import summarize_table_repair, write_table_repair
    from parquet_bloom.verbs.repair_table import repair_in_table

    as_json, verbose = shown
    summed = summarize_table_repair, total_repaired
    answers = Answers(inputs, write_table_repair, summed, as_json=as_json, verbose=verbose)
    change = partial(repair_in_table, options=options, of_table=of_table, keys=keys)
    code, reports = change_tables(answers, of_table, change)
    return code or (NO if any(report.left for report in reports) else FINE)
