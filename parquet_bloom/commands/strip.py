"""pbloom strip"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from parquet_bloom.commands import options as option
from parquet_bloom.commands.inputs import Answers, Inputs
from parquet_bloom.commands.key_options import GivenKeys, key_options
from parquet_bloom.commands.sections import Command, general_option
from parquet_bloom.commands.store_options import stores

if TYPE_CHECKING:
    from parquet_bloom.verbs.strip import StripReport


@click.command(cls=Command)
@option.files
@option.columns()
@option.row_groups
@option.destinations
@key_options
@option.as_json
@option.verbose
@general_option(
    "--threads",
    type=click.IntRange(1),
    metavar="N",
    help="Number of files to work on at a time.  [default: 16 behind URLs, otherwise 1]",
)
@option.memory
@stores
def strip(
    inputs: Inputs, destination_of: option.DestinationOf, keys: GivenKeys,
    as_json: bool, verbose: bool, threads: int | None, **given: Any,
) -> None:  # fmt: skip
    """Remove Bloom filters from files.

    The footer loses its pointers. The filters' bytes go if nothing but the footer follows them, and
    always in an ORC file. A file that loses all filters that were appended to it is cut back to its
    old size.

    \b
    Example:
      pbloom strip events.bloom.parquet -o events.plain.parquet
    """
    from parquet_bloom.options import Selection
    from parquet_bloom.render.changes import summarize_strip, total_stripped, write_strip
    from parquet_bloom.verbs.strip import strip_file

    selection = Selection(**given)

    def work(path: str) -> StripReport:
        return strip_file(path, selection, destination_of(path), keys=keys)

    summed = summarize_strip, total_stripped
    answers = Answers(inputs, write_strip, summed, as_json=as_json, verbose=verbose)
    at_a_time, _ = inputs.threads_for(threads)
    sys.exit(answers.each(work, threads=at_a_time))
