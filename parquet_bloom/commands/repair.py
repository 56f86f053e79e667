"""pbloom repair"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parquet_bloom.commands.options import (
    Inputs,
    columns_option,
    files_argument,
    fpp_option,
    json_option,
    key_options,
    max_bytes_option,
    output_of,
    output_options,
    row_groups_option,
    threads_option,
)
from parquet_bloom.program import FINE, NO

if TYPE_CHECKING:
    from parquet_bloom.verbs.orc.repair import LeftOrcFilters, OrcRepairReport
    from parquet_bloom.verbs.repair import LeftFilter, RepairReport


@click.command()
@files_argument
@columns_option()
@row_groups_option
@click.option(
    "--drop-bad", is_flag=True, help="Look up every stored value, and drop filters that lack some."
)
@click.option(
    "--rebuild", is_flag=True, help="The same, and build again from the data what was dropped."
)
@fpp_option
@max_bytes_option
@output_options
@threads_option
@key_options
@json_option
def repair(
    files: tuple[str, ...], columns: tuple[str, ...], row_groups: tuple[int, ...],
    output: Path | None, output_dir: Path | None, in_place: bool, overwrite: bool, dry_run: bool,
    no_verify: bool, as_json: bool, **options: Any,
) -> None:  # fmt: skip
    """Mend what is wrong with the filters of files.

    Only the footer changes: a missing or wrong bloom_filter_length is set, and a pointer to nothing,
    or to a filter that no reader can trust, is dropped. What only values can tell is dropped too,
    unless --drop-bad or --rebuild let them be read. What was dropped without --rebuild comes back by
    pbloom build only. In ORC files nothing points to a filter: there only --drop-bad and --rebuild
    mend anything. Exit code 1: something is still wrong, and the answer says what would mend it.

    \b
    Example:
      pbloom repair events.bloom.parquet --rebuild --in-place
    """
    from parquet_bloom.render.terminal import progress, write_json
    from parquet_bloom.verbs.repair import repair as repair_filters

    inputs = Inputs(files)
    target = output_of(inputs, output, output_dir, in_place, dry_run)
    left: list[LeftFilter | LeftOrcFilters] = []

    def work(path: str) -> None:
        with progress(path) as show:
            report = repair_filters(
                path, target(path), columns=columns or None, row_groups=row_groups or None,
                in_place=in_place, overwrite=overwrite, dry_run=dry_run, verify=not no_verify,
                progress=show, **options,
            )  # fmt: skip
        left.extend(report.left)
        (write_json if as_json else _write)(report)

    sys.exit(inputs.each(work) or (NO if left else FINE))


def _write(report: RepairReport | OrcRepairReport) -> None:
    from parquet_bloom.render.orc.repair import write_orc_repair
    from parquet_bloom.render.repair import write_repair
    from parquet_bloom.verbs.repair import RepairReport

    if isinstance(report, RepairReport):
        write_repair(report)
    else:
        write_orc_repair(report)
