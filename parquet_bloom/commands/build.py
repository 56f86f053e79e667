"""pbloom build"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parquet_bloom.commands.dialect_options import dialect_options, take_dialect
from parquet_bloom.commands.options import (
    Inputs,
    columns_option,
    files_argument,
    filter_options,
    json_option,
    key_options,
    output_of,
    output_options,
    row_groups_option,
    threads_option,
)
from parquet_bloom.program import FINE

if TYPE_CHECKING:
    from parquet_bloom.verbs.build import BuildReport
    from parquet_bloom.verbs.orc.build import OrcBuildReport


@click.command()
@files_argument
@columns_option()
@click.option("--auto", is_flag=True, help="The columns that advise recommends.")
@output_options
@filter_options
@row_groups_option
@threads_option
@click.option(
    "--expose-filter-location", is_flag=True,
    help="Let a plaintext footer say where filters of encrypted columns lie.",
)  # fmt: skip
@click.option(
    "--orc-streams", type=click.Choice(["utf8", "both"]), default="utf8", show_default=True,
    help="Of ORC files: both for readers from before ORC 1.3, too.",
)  # fmt: skip
@dialect_options
@key_options
@json_option
def build(
    files: tuple[str, ...], columns: tuple[str, ...], auto: bool, output: Path | None,
    output_dir: Path | None, in_place: bool, overwrite: bool, dry_run: bool, no_verify: bool,
    row_groups: tuple[int, ...], as_json: bool, **options: Any,
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
    from parquet_bloom.render.terminal import progress, write_json
    from parquet_bloom.verbs.build import build as build_filters

    chosen_dialect = take_dialect(options, columns)
    columns, dialect = chosen_dialect.columns, chosen_dialect.dialect
    inputs = Inputs(files)
    target = output_of(inputs, output, output_dir, in_place, dry_run)
    if auto == bool(columns):
        raise click.UsageError("expected exactly one of --column and --auto")
    code, chosen = FINE, dict.fromkeys((path for path, _ in inputs.files), columns)
    if auto:
        code, chosen = _recommended(inputs, options)
        # What cannot be read was complained of.
        inputs = Inputs(tuple(chosen))

    def work(path: str) -> None:
        with progress(path) as show:
            report = build_filters(
                path, target(path), columns=chosen[path], row_groups=row_groups or None,
                in_place=in_place, overwrite=overwrite, dry_run=dry_run, verify=not no_verify,
                dialect=dialect, progress=show, **options,
            )  # fmt: skip
        (write_json if as_json else _write)(report)

    sys.exit(max(code, inputs.each(work)))


def _write(report: BuildReport | OrcBuildReport) -> None:
    from parquet_bloom.render.build import write_build
    from parquet_bloom.render.orc.build import write_orc_build
    from parquet_bloom.verbs.build import BuildReport

    if isinstance(report, BuildReport):
        write_build(report)
    else:
        write_orc_build(report)


def _recommended(
    inputs: Inputs, options: Mapping[str, Any]
) -> tuple[int, dict[str, tuple[str, ...]]]:
    """The columns of each file that advise would build, judged as `pbloom advise` judges them all;
    and the exit code."""
    from parquet_bloom.filters.sizing import MAX_BYTES
    from parquet_bloom.options import AdviseOptions
    from parquet_bloom.render.terminal import complain, progress
    from parquet_bloom.verbs.advise import Advisor

    max_bytes = None if options["max_bytes"] == MAX_BYTES else options["max_bytes"]
    wanted = AdviseOptions(fpp=options["fpp"], max_bytes=max_bytes, threads=options["threads"])
    advisor = Advisor(wanted, options["keys"])

    def work(path: str) -> None:
        with progress(path) as show:
            advisor.add(path, show)

    code = inputs.each(work)
    for table in advisor.tables():
        if not table.recommended:
            complain(f"{table.path}: no column that advise would build; `pbloom advise` says why")
    return code, {report.path: report.recommended for report in advisor.reports()}
