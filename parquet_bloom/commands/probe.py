"""pbloom probe"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from parquet_bloom.commands import options as option
from parquet_bloom.commands.inputs import Answers, Inputs, Summed, Write
from parquet_bloom.commands.key_options import GivenKeys, arguments_of, key_options
from parquet_bloom.commands.sections import Command, output_option
from parquet_bloom.commands.store_options import stores
from parquet_bloom.program import FINE, NO

if TYPE_CHECKING:
    from parquet_bloom.verbs.probe import ProbeReport


@click.command(cls=Command)
@option.files
@option.columns(required=True)
@option.row_groups
@option.literals
@output_option("--explain", is_flag=True, help="Show the hash and bits of each value.")
@output_option(
    "--groups-to-read",
    "only_groups",
    is_flag=True,
    help="Print only the row groups, or index groups of an ORC file, that remain to be read.",
)
@output_option("--json", "as_json", is_flag=True, help="One JSON document per file and column.")
@option.answers
@option.stored_dialect
@option.verbose
@option.threads_to_read
@option.memory
@stores
@key_options
def probe(
    inputs: Inputs, columns: tuple[str, ...], explain: bool, only_groups: bool, keys: GivenKeys,
    as_json: bool, verbose: bool, threads: int | None, **given: Any,
) -> None:  # fmt: skip
    """Ask the filters whether values can be in files.

    Reads the footer and, for each value, 32 bytes of each filter, or all of a filter that is
    encrypted or asked for many values; in an ORC file, the column's filter streams, and the verdicts
    are about index groups. A verdict is `absent` (certain), `maybe`, or `unknown` with the reason.
    Of several columns, each is asked for the same values and gets an answer of its own. Exit code 1:
    every value is absent, wherever it was looked for.

    \b
    Example:
      pbloom probe events.bloom.parquet -c user_id -v 123456
    """
    from parquet_bloom.options import ProbeOptions
    from parquet_bloom.render.probe import (
        summarize_probe,
        total_probed,
        write_explanations,
        write_groups_to_read,
        write_probe,
    )
    from parquet_bloom.render.terminal import write_line
    from parquet_bloom.verbs.probe import probe_file

    if only_groups and (explain or as_json):
        raise click.UsageError("expected --groups-to-read without --explain and --json")
    if only_groups and len(columns) > 1:
        raise click.UsageError("expected --groups-to-read with one --column")
    absent: list[bool] = []
    summed: Summed | None = None
    write: Write
    if explain:
        write = write_explanations
    elif only_groups:
        write = write_groups_to_read
    else:
        write = partial(write_probe, next_lines=inputs.next_lines(arguments_of(keys)))
        summed = summarize_probe, total_probed
    code = FINE
    at_a_time, of_each = inputs.threads_for(threads)
    inputs.check_columns(columns)
    for column in (names := dict.fromkeys(columns)):
        options = ProbeOptions(column=column, explain=explain, threads=of_each, **given)

        def work(path: str, options: ProbeOptions = options) -> ProbeReport:
            with inputs.open(path, keys) as file:
                report = probe_file(file, options)
            absent.append(report.is_absent)
            return report

        if len(names) > 1 and len(inputs.files) > 1 and not as_json:
            write_line(f"column {column}")
        answers = Answers(inputs, write, summed, as_json=as_json, verbose=verbose)
        code = max(code, answers.each(work, threads=at_a_time))
    sys.exit(code or (NO if all(absent) else FINE))
