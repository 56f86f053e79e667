"""pbloom report"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from parquet_bloom.commands.options import (
    FILE,
    columns_option,
    config_options,
    fpp_option,
    key_options,
    overwrite_option,
    policy_of,
    threads_option,
)

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys


@click.command()
@click.argument("file")
@click.option("-o", "--output", type=FILE, required=True, help="The page; '-' is standard output.")
@overwrite_option
@columns_option()
@click.option(
    "--deep/--no-deep", default=True, show_default=True,
    help="Look up every stored value, and advise; else read only footer and filters.",
)  # fmt: skip
@fpp_option
@config_options
@threads_option
@key_options
def report(
    file: str, output: Path, overwrite: bool, columns: tuple[str, ...], deep: bool, fpp: float,
    config: Path | None, no_config: bool, threads: int | None, keys: Keys | None,
) -> None:  # fmt: skip
    """Write one HTML page about the filters of a Parquet file.

    What has filters, their sizes beside the data, false positive probabilities computed and
    measured, maps of their blocks, findings of the same rules as `pbloom validate`, advice. The page
    needs no network and no script. The exit code says whether it was written, not what it says.

    \b
    Example:
      pbloom report events.bloom.parquet -o report.html
    """
    from parquet_bloom.render.report import render_report, write_report
    from parquet_bloom.render.terminal import progress, write_bytes
    from parquet_bloom.storage.new_version import resolve_target
    from parquet_bloom.verbs.dump import save
    from parquet_bloom.verbs.report import report as report_file

    policy = policy_of(config, no_config)
    to_standard_output = output == Path("-")
    if not to_standard_output:
        # Nobody waits for a page that must not be written.
        resolve_target(file, output, in_place=False, overwrite=overwrite)
    with progress(file) as show:
        found = report_file(
            file,
            columns=columns or None,
            deep=deep,
            fpp=fpp,
            policy=policy,
            threads=threads,
            keys=keys,
            progress=show,
        )
    page = render_report(found).encode()
    if to_standard_output:
        write_bytes(page)
    else:
        save(page, file, output, overwrite=overwrite)
        write_report(found, str(output), len(page))
