"""pbloom advise"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import click

from parquet_bloom.commands import options as option
from parquet_bloom.commands.inputs import Inputs, answer


@click.command()
@option.files
@option.columns()
@option.fpp
@option.max_bytes
@click.option(
    "--value-sample", type=option.FILE,
    help="Real look-up values: one per line (with one --column), or CSV with a header line.",
)  # fmt: skip
@click.option(
    "--details", is_flag=True,
    help="Also show which engines use the filter, and settings for writers.",
)  # fmt: skip
@option.threads
@option.keys
@option.as_json
@option.verbose
def advise(
    files: tuple[str, ...], columns: tuple[str, ...] | None, value_sample: Path | None,
    details: bool, keys: option.GivenKeys, as_json: bool, verbose: bool,
    **given: Any,
) -> None:  # fmt: skip
    """Say which columns deserve a filter, how large it would be, and what it would save.

    For each column: how many row groups (index groups in ORC files) a point look-up reads, with
    min/max statistics alone and with a filter, judged by the stored values or by --value-sample.
    The verdict is build, optional or skip, with the reason. Files with the same columns are judged
    together, as one table.

    \b
    Example:
      pbloom advise events.parquet
    """
    from parquet_bloom.advice.value_sample import read_value_sample
    from parquet_bloom.options import AdviseOptions
    from parquet_bloom.render.advise import (
        summarize_advice,
        total_advised,
        write_advice,
        write_details,
    )
    from parquet_bloom.render.many_files import Complaints, Summary
    from parquet_bloom.render.terminal import progress
    from parquet_bloom.values.types import literal
    from parquet_bloom.verbs.advise import Advisor

    texts = read_value_sample(value_sample, columns or ()) if value_sample else {}
    sample = {name: list(map(literal, each)) for name, each in texts.items()}
    advisor = Advisor(AdviseOptions(columns=columns, value_sample=sample or None, **given), keys)

    def work(path: str) -> None:
        with progress(path) as show:
            advisor.add(path, show)

    inputs = Inputs(files)
    complaints = Complaints(len(inputs.files), at_once=as_json or verbose)
    code = inputs.each(work, complaints=complaints)
    reports = list(advisor.reports() if as_json else advisor.tables())
    if len(reports) == 1 or as_json or verbose or details:
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
