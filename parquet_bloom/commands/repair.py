"""pbloom repair"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from parquet_bloom.commands import options as option
from parquet_bloom.commands.inputs import Answers, Inputs
from parquet_bloom.commands.key_options import GivenKeys, key_options
from parquet_bloom.commands.sections import Command, filters_option
from parquet_bloom.commands.store_options import stores
from parquet_bloom.program import FINE, NO

if TYPE_CHECKING:
    from parquet_bloom.verbs.repair import LeftFilter, RepairReport


@click.command(cls=Command)
@option.files
@option.columns()
@option.row_groups
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
@option.destinations
@option.threads
@option.memory
@stores
@key_options
@option.as_json
@option.verbose
def repair(
    inputs: Inputs, destination_of: option.DestinationOf, keys: GivenKeys,
    as_json: bool, verbose: bool, **given: Any,
) -> None:  # fmt: skip
    """Repair the filters of files.

    Only the footer changes: a missing or wrong bloom_filter_length is set, and pointers that lead to
    nothing, or to a filter that no reader can trust, are dropped. A filter that only the values
    could prove right is dropped, too, unless --drop-bad or --rebuild lets them be read. Without
    --rebuild, only pbloom build brings dropped filters back. In ORC files nothing points to a
    filter, so that only --drop-bad and --rebuild repair anything. Exit code 1: something is still
    wrong, and the answer says what would repair it.

    \b
    Example:
      pbloom repair events.bloom.parquet --rebuild --in-place
    """
    from parquet_bloom.options import RepairOptions
    from parquet_bloom.render.changes import summarize_repair, total_repaired, write_repair
    from parquet_bloom.render.terminal import progress
    from parquet_bloom.verbs.repair import repair_file

    options = RepairOptions(**given)
    left: list[LeftFilter] = []

    def work(path: str) -> RepairReport:
        with progress(path) as show:
            report = repair_file(path, options, destination_of(path), keys, show)
        left.extend(report.left)
        return report

    summed = summarize_repair, total_repaired
    answers = Answers(inputs, write_repair, summed, as_json=as_json, verbose=verbose)
    sys.exit(answers.each(work) or (NO if left else FINE))
