"""pbloom report"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from parquet_bloom.commands import file_options
from parquet_bloom.commands import options as option
from parquet_bloom.commands.check_options import configured, deep
from parquet_bloom.commands.parameters import FILE
from parquet_bloom.commands.sections import Command, output_option
from parquet_bloom.commands.store_options import storage_options
from parquet_bloom.options import DEFAULT_FPP
from parquet_bloom.render.findings import summary
from parquet_bloom.render.terminal import progress, write_bytes, write_text
from parquet_bloom.render.wording import size
from parquet_bloom.storage.new_version import resolve_target
from parquet_bloom.verbs.answer_file import save
from parquet_bloom.verbs.report import report as report_file


@click.command(cls=Command)
@file_options.file_argument("file")
@output_option("-o", "--output", type=FILE, required=True, help="The page; '-' is standard output.")
@option.overwrite_answer
@option.columns()
@option.row_groups
@deep
@option.fpp
@configured
@option.ignore_checksums
@option.threads
@option.access
def report(
    file: str, output: Path, overwrite: bool, fpp: float | None, parts: tuple[int, ...] | None,
    **given: Any,
) -> None:  # fmt: skip
    """Write one HTML page about the filters of a Parquet file.

    It shows which columns have filters, their sizes beside the data, their false positive
    probabilities (computed and measured), maps of their blocks, the findings of `pbloom validate`
    and, unless --no-deep, the advice of `pbloom advise`. The page needs no network and no script.
    The exit code says whether it was written, not what it says.

    \b
    Examples:
      pbloom report events.bloom.parquet -o report.html
      pbloom report events.parquet -c user_id -o user_id.html
      pbloom report events.bloom.parquet --no-deep -o quick.html
    """
    to_standard_output = output == Path("-")
    if not to_standard_output:
        # A page that must not be written is not worth the wait.
        resolve_target(file, output, in_place=False, overwrite=overwrite)
    with progress(file) as show:
        found = report_file(
            file,
            storage_options=storage_options(),
            row_groups=parts,
            fpp=fpp or DEFAULT_FPP,
            progress=show,
            **given,
        )
    # jinja2 takes as long to import as a small file to read.
    from parquet_bloom.render.report import render_report

    page = render_report(found).encode()
    if to_standard_output:
        write_bytes(page)
    else:
        save(page, file, output, overwrite=overwrite)
        write_text(f"{output}: {size(len(page))}; {summary(found.validation)}")
