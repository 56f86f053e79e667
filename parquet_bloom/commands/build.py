"""pbloom build"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from parquet_bloom.commands import options as option
from parquet_bloom.commands.build_options import (
    append_in_place,
    drop_foreign_fields,
    expose_filter_location,
    filters,
    orc_streams,
)
from parquet_bloom.commands.check_options import ignore_checksums
from parquet_bloom.commands.dialect_options import dialect_options, take_dialect
from parquet_bloom.commands.inputs import Answers, Inputs
from parquet_bloom.commands.key_options import GivenKeys, key_options
from parquet_bloom.commands.sections import Command, columns_option
from parquet_bloom.commands.store_options import stores
from parquet_bloom.commands.table_options import appending_in_tables, change_tables

if TYPE_CHECKING:
    from parquet_bloom.options import BuildOptions, TableOptions
    from parquet_bloom.verbs.build import BuildReport

# The columns to build, None for all; or why a file has none.
Choice: TypeAlias = "tuple[str, ...] | Exception | None"

# What says nothing about the files of a table: their places, and formats that are not Parquet's own.
_ONLY_FILES = {
    *(
        "output",
        "output_dir",
        "in_place",
        "overwrite",
        "append_in_place",
        "drop_foreign_fields",
        "layout",
        "auto",
        "parts",
    ),
    *("orc_streams", "dialect"),
}


@click.command(cls=Command)
@option.files
@option.columns()
@columns_option("--auto", is_flag=True, help="Take the columns that `pbloom advise` recommends.")
@option.row_groups
@appending_in_tables(refused=_ONLY_FILES)
@option.destinations
@append_in_place
@drop_foreign_fields
@filters
@ignore_checksums
@option.threads
@option.memory
@stores
@orc_streams
@dialect_options
@key_options
@expose_filter_location
@option.as_json
@option.verbose
def build(
    inputs: Inputs, columns: tuple[str, ...] | None, auto: bool,
    destination_of: option.DestinationOf, keys: GivenKeys,
    of_table: TableOptions | None, as_json: bool, verbose: bool, **given: Any,
) -> None:  # fmt: skip
    """Add Bloom filters to files (alias: inject).

    No page is rewritten: filters and a new footer follow the existing data. Each filter is as small
    as the target allows, without your knowing the number of distinct values. What gets no filter is
    reported with the reason. In an ORC file, each index group gets a filter for as many
    values as it has rows.

    With --table, they are appended to the files of tables, each of which then gets one commit that
    records the new sizes. Without --column, the table's properties say for which columns.

    \b
    Example:
      pbloom build events.parquet -c user_id -o events.bloom.parquet
    """
    from dataclasses import replace

    from parquet_bloom.options import BuildOptions
    from parquet_bloom.render.changes import summarize_build, total_built, write_build
    from parquet_bloom.render.terminal import no_progress, progress
    from parquet_bloom.verbs.build import build_file

    dialect, columns = take_dialect(given, columns)
    if auto == bool(columns) and of_table is None:
        raise click.UsageError("expected exactly one of --column and --auto")
    options = BuildOptions(columns=columns, dialect=dialect, **given)
    if of_table is not None:
        sys.exit(_build_in_tables(inputs, options, of_table, keys, (as_json, verbose)))
    chosen: Mapping[str, Choice] = dict.fromkeys((path for path, _ in inputs.files), columns)
    if auto:
        chosen = _recommended(inputs, options, keys, at_once=as_json or verbose)

    at_a_time, of_each = inputs.threads_to_change(options.threads)
    options = replace(options, threads=of_each)
    bar = progress if at_a_time == 1 else no_progress

    def work(path: str) -> BuildReport:
        choice = chosen[path]
        if isinstance(choice, Exception):
            raise choice
        wanted = options if choice == columns else replace(options, columns=choice)
        with bar(path) as show:
            return build_file(path, wanted, destination_of(path), keys=keys, progress=show)

    summed = summarize_build, total_built
    answers = Answers(inputs, write_build, summed, as_json=as_json, verbose=verbose)
    sys.exit(answers.each(work, threads=at_a_time))


def _build_in_tables(
    inputs: Inputs,
    options: BuildOptions,
    of_table: TableOptions,
    keys: GivenKeys,
    shown: tuple[bool, bool],
) -> int:
    """The exit code. `shown`: whether as JSON, and whether in full."""
    from parquet_bloom.render.tables import (
        summarize_table_build,
        total_built_in_tables,
        write_table_build,
    )
    from parquet_bloom.verbs.build_table import build_in_table

    as_json, verbose = shown
    summed = summarize_table_build, total_built_in_tables
    answers = Answers(inputs, write_table_build, summed, as_json=as_json, verbose=verbose)
    change = partial(build_in_table, options=options, of_table=of_table, keys=keys)
    code, _ = change_tables(answers, of_table, change)
    return code


def _recommended(
    inputs: Inputs, options: BuildOptions, keys: GivenKeys, at_once: bool
) -> Mapping[str, Choice]:
    """By file, the columns that `pbloom advise` would recommend, or what went wrong with it."""
    from parquet_bloom.options import AdviseOptions
    from parquet_bloom.render.terminal import complain, progress
    from parquet_bloom.verbs.advise import Advisor

    wanted = AdviseOptions(
        fpp=options.fpp,
        max_bytes=options.max_bytes,
        ignore_checksums=options.ignore_checksums,
        threads=options.threads,
    )
    advisor = Advisor(wanted, keys)

    failed: dict[str, Exception] = {}

    def work(path: str) -> None:
        try:
            with progress(path) as show:
                advisor.add(path, show)
        except Exception as error:
            failed[path] = error
            raise

    inputs.each(work, complaints=inputs.complaints(at_once))
    for table in advisor.tables():
        if not table.recommended:
            complain(f"{table.path}: no column that advise would build; `pbloom advise` says why")
    return {**failed, **{report.path: report.recommended for report in advisor.reports()}}
