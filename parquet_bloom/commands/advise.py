"""pbloom advise"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import click

from parquet_bloom.commands import options as option
from parquet_bloom.commands.check_options import ignore_checksums
from parquet_bloom.commands.inputs import Inputs, answer
from parquet_bloom.commands.key_options import GivenKeys, key_options
from parquet_bloom.commands.sections import Command, output_option, values_option
from parquet_bloom.commands.store_options import stores


@click.command(cls=Command)
@option.files
@option.columns()
@option.row_groups
@option.fpp
@option.max_bytes
@ignore_checksums
@values_option(
    "--value-sample",
    type=option.FILE,
    help="Values that are really looked up: one per line, with one --column, or CSV with a header.",
)
@output_option(
    "--details",
    is_flag=True,
    help="Also show which engines use each filter, and settings for writers.",
)
@option.as_json
@option.answers
@option.verbose
@option.threads
@option.memory
@stores
@key_options
def advise(
    inputs: Inputs, columns: tuple[str, ...] | None, value_sample: Path | None,
    details: bool, keys: GivenKeys, as_json: bool, verbose: bool, **given: Any,
) -> None:  # fmt: skip
    """Say which columns deserve a filter, and what it would save.

    For each column: how large its filters would be, and how many row groups (index groups in ORC files)
    a point look-up reads, with min/max statistics alone and with a filter, judged by the stored values
    or by --value-sample. The verdict is build, optional or skip, with the reason. Files with the same
    columns are judged together, as one table.

    \b
    Example:
      pbloom advise events.parquet
    """
    from parquet_bloom.advice.samples import read_value_sample
    from parquet_bloom.options import AdviseOptions
    from parquet_bloom.render.advise import (
        summarize_advice,
        total_advised,
        write_advice,
        write_details,
    )
    from parquet_bloom.render.many_files import Summary
    from parquet_bloom.render.terminal import progress
    from parquet_bloom.values.types import literal
    from parquet_bloom.verbs.advise import Advisor

    texts = read_value_sample(value_sample, columns or ()) if value_sample else {}
    inputs.check_columns((*texts, *(columns or ())))
    sample = {name: list(map(literal, each)) for name, each in texts.items()}
    advisor = Advisor(AdviseOptions(columns=columns, value_sample=sample or None, **given), keys)

    def work(path: str) -> None:
        with progress(path) as show, inputs.open(path, keys) as file:
            advisor.add_file(file, show)

    complaints = inputs.complaints(at_once=as_json or verbose)
    code = inputs.each(work, complaints=complaints)
    reports = list(advisor.reports() if as_json else advisor.tables())
    if len(reports) < 2 or as_json or verbose or details:
        for report in reports:
            answer(report, as_json, partial(write_advice, verbose=verbose))
            if details and not as_json:
                write_details(report)
    else:
        summary = Summary(len(reports), total_advised, "table")
        for report in reports:
            summary.add(report.path, summarize_advice(report))
        summary.finish()
    sys.exit(code)
