"""pbloom strip"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from parquet_bloom.commands import options as option
from parquet_bloom.commands.inputs import Answers, Inputs
from parquet_bloom.commands.key_options import GivenKeys, key_options
from parquet_bloom.commands.sections import Command, general_option
from parquet_bloom.commands.store_options import stores
from parquet_bloom.commands.table_options import change_tables, in_tables, sole_writer

if TYPE_CHECKING:
    from parquet_bloom.options import TableOptions
    from parquet_bloom.verbs.strip import StripReport

# What says nothing about the files of a table, which are not changed.
_ONLY_FILES = {
    *("output", "output_dir", "in_place", "overwrite", "verify", "unconditional"),
    *("columns", "parts", "threads"),
}


@click.command(cls=Command)
@option.files
@option.columns()
@option.row_groups
@in_tables(sole_writer, refused=_ONLY_FILES)
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
    of_table: TableOptions | None, as_json: bool, verbose: bool, threads: int | None, **given: Any,
) -> None:  # fmt: skip
    """Remove Bloom filters from files.

    The footer loses its pointers. The filters' bytes go if no page or page index follows them, with those
    of filters that were replaced or removed before, and always in an ORC file; of others, the answer
    says how many stay. A file that loses all filters that were appended to it is cut back to its old
    size.

    With --table, one commit for each table records the sizes of before, and the bytes stay.

    \b
    Example:
      pbloom strip events.bloom.parquet -o events.plain.parquet
    """
    from parquet_bloom.options import Selection
    from parquet_bloom.render.changes import summarize_strip, total_stripped, write_strip
    from parquet_bloom.verbs.strip import strip_file

    if of_table is not None:
        sys.exit(_strip_in_tables(inputs, of_table, keys, (as_json, verbose)))
    selection = Selection(**given)

    def work(path: str) -> StripReport:
        return strip_file(path, selection, destination_of(path), keys=keys)

    summed = summarize_strip, total_stripped
    answers = Answers(inputs, write_strip, summed, as_json=as_json, verbose=verbose)
    at_a_time = max(inputs.threads_for(threads)[0], inputs.threads_to_change(threads)[0])
    sys.exit(answers.each(work, threads=at_a_time))


def _strip_in_tables(
    inputs: Inputs, of_table: TableOptions, keys: GivenKeys, shown: tuple[bool, bool]
) -> int:
    """The exit code. `shown`: whether as JSON, and whether in full."""
    from parquet_bloom.render.tables import (
        summarize_table_strip,
        total_stripped_in_tables,
        write_table_strip,
    )
    from parquet_bloom.verbs.strip_table import strip_in_table

    as_json, verbose = shown
    summed = summarize_table_strip, total_stripped_in_tables
    answers = Answers(inputs, write_table_strip, summed, as_json=as_json, verbose=verbose)
    code, _ = change_tables(answers, of_table, partial(strip_in_table, options=of_table, keys=keys))
    return code
