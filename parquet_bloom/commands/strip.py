"""pbloom strip"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from parquet_bloom.commands.options import (
    Inputs,
    columns_option,
    files_argument,
    json_option,
    key_options,
    output_of,
    output_options,
    row_groups_option,
)

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.verbs.orc.strip import OrcStripReport
    from parquet_bloom.verbs.strip import StripReport


@click.command()
@files_argument
@columns_option()
@row_groups_option
@output_options
@key_options
@json_option
def strip(
    files: tuple[str, ...], columns: tuple[str, ...], row_groups: tuple[int, ...],
    output: Path | None, output_dir: Path | None, in_place: bool, overwrite: bool, dry_run: bool,
    no_verify: bool, keys: Keys | None, as_json: bool,
) -> None:  # fmt: skip
    """Remove Bloom filters from files.

    The footer loses its pointers; the filters' bytes go where they are the last before the footer,
    and always in an ORC file.

    \b
    Example:
      pbloom strip events.bloom.parquet -o events.plain.parquet
    """
    from parquet_bloom.render.terminal import write_json
    from parquet_bloom.verbs.strip import strip as strip_filters

    inputs = Inputs(files)
    target = output_of(inputs, output, output_dir, in_place, dry_run)

    def work(path: str) -> None:
        report = strip_filters(
            path, target(path), columns=columns or None, row_groups=row_groups or None,
            in_place=in_place, overwrite=overwrite, dry_run=dry_run, verify=not no_verify,
            keys=keys,
        )  # fmt: skip
        (write_json if as_json else _write)(report)

    sys.exit(inputs.each(work))


def _write(report: StripReport | OrcStripReport) -> None:
    from parquet_bloom.render.orc.strip import write_orc_strip
    from parquet_bloom.render.strip import write_strip
    from parquet_bloom.verbs.strip import StripReport

    if isinstance(report, StripReport):
        write_strip(report)
    else:
        write_orc_strip(report)
