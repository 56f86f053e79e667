"""pbloom strip"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from parquet_bloom.commands import file_options
from parquet_bloom.commands import options as option
from parquet_bloom.commands.inputs import Answers
from parquet_bloom.commands.parameters import Number
from parquet_bloom.commands.sections import Command, general_option
from parquet_bloom.commands.table_options import files_per_commit, in_tables, sole_writer
from parquet_bloom.options import StripOptions, TableOptions
from parquet_bloom.render.changes import STRIP, TABLE_STRIP

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.verbs.strip import StripReport

# What says nothing about the files of a table, which are not changed. What else build --table takes, may stay in the
# command that undoes it: --no-verify, --unconditional.
_ONLY_FILES = {"output", "output_dir", "in_place", "overwrite", "resume", "columns", "parts"}


@click.command(cls=Command)
@file_options.files
@option.columns()
@option.row_groups
@file_options.union_by_name
@in_tables(files_per_commit, sole_writer, refused=_ONLY_FILES)
@option.destinations
@general_option(
    "--threads",
    type=Number(1),
    metavar="N",
    help="Number of files to work on at a time.  [default: 16 behind URLs, otherwise 1]",
)
@option.access
def strip(
    answers: Answers, destination_of: option.DestinationOf, keys: Keys | None,
    of_table: TableOptions | None, threads: int | None, **given: Any,
) -> None:  # fmt: skip
    """Remove Bloom filters from files.

    This undoes build. Those of a file's writer go, too: nothing tells them from those that build added. To keep
    them, name the files and columns that had none before.

    The footer loses its pointers. The filters' bytes go if no page or page index follows them, with those
    of filters that were replaced or removed before, and always in an ORC file; of others, the answer
    says how many stay. A file that loses all filters that were appended to it is cut back to its old
    size.

    With --table, a commit to each table records the previous sizes. All filters that build appended go at once,
    whatever columns they are of; those of the files' writer stay, and so do the bytes. A later build of any column
    brings all of them back. Those of single columns go only when a writer rewrites the files, as OPTIMIZE does.

    \b
    Examples:
      pbloom strip events.bloom.parquet -o events.plain.parquet
      pbloom strip lake/ -c user_id --in-place
      pbloom strip lake/ --in-place --dry-run
    """
    if of_table is not None:
        from parquet_bloom.commands.table_inputs import change_tables
        from parquet_bloom.verbs.strip_table import strip_in_table

        code, _ = change_tables(
            answers,
            of_table,
            TABLE_STRIP,
            lambda table, show: strip_in_table(
                table, of_table, threads=threads, keys=keys, progress=show
            ),
        )
        sys.exit(code)
    from parquet_bloom.verbs.strip import strip_file, with_filters

    options, inputs = StripOptions(**given), answers.inputs
    if options.union_by_name:
        inputs.check_some_have(options.columns or (), keys)
    inputs.tell_of_others(partial(with_filters, options=options), "with a filter", keys)

    def work(path: str) -> StripReport:
        return strip_file(path, options, destination_of(path), keys=keys)

    at_a_time = max(inputs.threads_for(threads)[0], inputs.threads_to_change(threads)[0])
    code = answers.each(work, STRIP, threads=at_a_time)
    inputs.tell_lacking(options.union_by_name)
    sys.exit(code)
