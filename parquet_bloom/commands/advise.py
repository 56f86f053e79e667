"""pbloom advise"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from parquet_bloom.commands.options import (
    FILE,
    Inputs,
    columns_option,
    files_argument,
    fpp_option,
    json_option,
    key_options,
    max_bytes_option,
    threads_option,
)

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys


@click.command()
@files_argument
@columns_option()
@fpp_option
@max_bytes_option
@click.option(
    "--value-sample", type=FILE,
    help="Real look-up values: one per line (with one --column), or CSV with a header line.",
)  # fmt: skip
@click.option(
    "--details",
    is_flag=True,
    help="Also show which engines use the filter, and settings for writers.",
)
@threads_option
@key_options
@json_option
def advise(
    files: tuple[str, ...], columns: tuple[str, ...], fpp: float, max_bytes: int | None,
    value_sample: Path | None, details: bool, threads: int | None, keys: Keys | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Say which columns deserve a filter, how large it would be, and what it would save.

    For each column: how many row groups (in ORC files: index groups) a point look-up reads with
    min/max statistics alone and with a filter, judged by the stored values or by --value-sample.
    The verdict is build, optional or skip, with the reason. Files with the same columns are judged
    together, as one table.

    \b
    Example:
      pbloom advise events.parquet
    """
    from parquet_bloom.advice.value_sample import read_value_sample
    from parquet_bloom.options import AdviseOptions
    from parquet_bloom.render.advise import write_advice, write_details
    from parquet_bloom.render.terminal import progress, write_json
    from parquet_bloom.verbs.advise import Advisor
    from parquet_bloom.verbs.documents import document_of

    options = AdviseOptions(
        columns=columns or None,
        fpp=fpp,
        max_bytes=max_bytes,
        value_sample=read_value_sample(value_sample, columns) if value_sample else None,
        threads=threads,
    )
    advisor = Advisor(options, keys)

    def work(path: str) -> None:
        with progress(path) as show:
            advisor.add(path, show)

    code = Inputs(files).each(work)
    if as_json:
        for report in advisor.reports():
            write_json(document_of(report))
        sys.exit(code)
    for table in advisor.tables():
        write_advice(table)
        if details:
            write_details(table)
    sys.exit(code)
