"""pbloom probe"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from parquet_bloom.commands import options as option
from parquet_bloom.commands.inputs import Answers, Inputs, Summed
from parquet_bloom.program import FINE, NO

if TYPE_CHECKING:
    from parquet_bloom.verbs.probe import ProbeReport


@click.command()
@option.files
@option.column
@option.literals
@click.option("--explain", is_flag=True, help="Show the hash and bits of each value.")
@click.option(
    "--groups-to-read", "only_groups", is_flag=True,
    help="Print only the row groups, or index groups of an ORC file, that remain to be read.",
)  # fmt: skip
@option.stored_dialect
@option.keys
@option.as_json
@option.verbose
def probe(
    files: tuple[str, ...], explain: bool, only_groups: bool, keys: option.GivenKeys,
    as_json: bool, verbose: bool, **given: Any,
) -> None:  # fmt: skip
    """Ask the filters whether values can be in files.

    Reads the footer and 32 bytes of each filter, or all of an encrypted one; in an ORC file, the
    column's filter streams, and the verdicts are about index groups. A verdict is `absent`
    (certain), `maybe`, or `unknown` with the reason. Exit code 1: every value is absent from every
    file.

    \b
    Example:
      pbloom probe events.bloom.parquet -c user_id -v 123456
    """
    from parquet_bloom.files import open as open_file
    from parquet_bloom.options import ProbeOptions
    from parquet_bloom.render.probe import (
        summarize_probe,
        total_probed,
        write_explanations,
        write_groups_to_read,
        write_probe,
    )
    from parquet_bloom.verbs.probe import probe_file

    if only_groups and (explain or as_json):
        raise click.UsageError("expected --groups-to-read without --explain and --json")
    options = ProbeOptions(explain=explain, **given)
    absent = []

    def work(path: str) -> ProbeReport:
        with open_file(path, keys) as file:
            report = probe_file(file, options)
        absent.append(report.is_absent)
        return report

    summed: Summed | None = None
    if explain:
        write = write_explanations
    elif only_groups:
        write = write_groups_to_read
    else:
        write, summed = write_probe, (summarize_probe, total_probed)
    answers = Answers(Inputs(files), write, summed, as_json=as_json, verbose=verbose)
    sys.exit(answers.each(work) or (NO if all(absent) else FINE))
