"""pbloom build"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from parquet_bloom.commands.dialect_options import dialect_options, take_dialect
from parquet_bloom.commands.options import (
    Destinations,
    Inputs,
    columns_option,
    destination_options,
    files_argument,
    filter_options,
    json_option,
    key_options,
    row_groups_option,
    threads_option,
)
from parquet_bloom.program import FINE
from parquet_bloom.vocabulary import OrcStreams, words

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.options import BuildOptions


@click.command()
@files_argument
@columns_option()
@click.option("--auto", is_flag=True, help="The columns that advise recommends.")
@destination_options
@filter_options
@row_groups_option
@threads_option
@click.option(
    "--expose-filter-location", is_flag=True,
    help="Let a plaintext footer say where filters of encrypted columns lie.",
)  # fmt: skip
@click.option(
    "--orc-streams", type=click.Choice(words(OrcStreams)),
    help="Of ORC files: both for readers from before ORC 1.3, too.  [default: utf8]",
)  # fmt: skip
@dialect_options
@key_options
@json_option
def build(
    files: tuple[str, ...], columns: tuple[str, ...], auto: bool, destinations: Destinations,
    row_groups: tuple[int, ...], keys: Keys | None, as_json: bool, **given: Any,
) -> None:  # fmt: skip
    """Add Bloom filters to files (alias: inject).

    No page is rewritten: filters and a new footer follow the data as it is. Each filter is as
    small as the target allows; nobody has to know the number of distinct values. What gets none
    is reported with the reason. In an ORC file each index group gets a filter, for as many values
    as it has rows.

    \b
    Example:
      pbloom build events.parquet -c user_id -o events.bloom.parquet
    """
    from dataclasses import replace

    from parquet_bloom.options import BuildOptions
    from parquet_bloom.render.changes import write_build
    from parquet_bloom.render.terminal import progress, write_json
    from parquet_bloom.verbs.build import build_file
    from parquet_bloom.verbs.documents import document_of

    dialect, columns = take_dialect(given, columns)
    inputs = Inputs(files)
    destination_of = destinations(inputs)
    if auto == bool(columns):
        raise click.UsageError("expected exactly one of --column and --auto")
    options = BuildOptions(columns=columns, parts=row_groups or None, dialect=dialect, **given)
    code, chosen = FINE, dict.fromkeys((path for path, _ in inputs.files), columns)
    if auto:
        code, chosen = _recommended(inputs, options, keys)
        # What cannot be read was complained of.
        inputs = Inputs(tuple(chosen))

    def work(path: str) -> None:
        with progress(path) as show:
            report = build_file(
                path, replace(options, columns=chosen[path]), destination_of(path),
                keys=keys, progress=show,
            )  # fmt: skip
        if as_json:
            write_json(document_of(report))
        else:
            write_build(report)

    sys.exit(max(code, inputs.each(work)))


def _recommended(
    inputs: Inputs, options: BuildOptions, keys: Keys | None
) -> tuple[int, dict[str, tuple[str, ...]]]:
    """The columns of each file that advise would build, judged as `pbloom advise` judges them all;
    and the exit code."""
    from parquet_bloom.options import AdviseOptions
    from parquet_bloom.render.terminal import complain, progress
    from parquet_bloom.verbs.advise import Advisor

    wanted = AdviseOptions(fpp=options.fpp, max_bytes=options.max_bytes, threads=options.threads)
    advisor = Advisor(wanted, keys)

    def work(path: str) -> None:
        with progress(path) as show:
            advisor.add(path, show)

    code = inputs.each(work)
    for table in advisor.tables():
        if not table.recommended:
            complain(f"{table.path}: no column that advise would build; `pbloom advise` says why")
    return code, {report.path: report.recommended for report in advisor.reports()}
