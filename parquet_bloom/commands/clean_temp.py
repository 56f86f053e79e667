"""pbloom clean-temp"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from parquet_bloom.commands import options as option
from parquet_bloom.commands.ages import in_seconds, older_than
from parquet_bloom.commands.inputs import Inputs
from parquet_bloom.commands.sections import Command, files_option, output_option
from parquet_bloom.commands.store_options import storage_options, stores
from parquet_bloom.program import TROUBLE

if TYPE_CHECKING:
    from parquet_bloom.storage.paths import Input
    from parquet_bloom.verbs.clean_temp import CleaningReport


def _upload_age(ctx: click.Context, param: click.Parameter, text: str | None) -> float | None:
    seconds = in_seconds(ctx, param, text)
    from parquet_bloom.verbs.clean_temp import LEAST_UPLOAD_AGE

    if seconds is not None and seconds < LEAST_UPLOAD_AGE:
        least = "expected at least 1d: other programs keep uploads open for hours"
        raise click.BadParameter(f"{text}: {least}")
    return seconds


@click.command("clean-temp", cls=Command)
@option.file_argument("paths", nargs=-1, required=True, metavar="PATH...")
@older_than
@files_option(
    "--uploads",
    "uploads_older_than",
    callback=_upload_age,
    metavar="AGE",
    help="Also abort unfinished uploads that got nothing for this long, at least 1d: to S3, where they"
    " may be those of other programs, and to Azure, only our own.",
)
@files_option("--dry-run", is_flag=True, help="Only show what would be removed.")
@output_option("--json", "as_json", is_flag=True, help="One JSON document per path.")
@stores
def clean_temp(
    paths: tuple[str, ...],
    older_than: float,
    uploads_older_than: float | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Remove temporary files that killed runs have left.

    PATH is a folder, which is searched with all folders below it, or a file, for its own leftovers;
    a URL, too.

    A killed build in S3 leaves an upload, which nobody sees and which is paid for. Nothing tells it from
    one of another program, so it is aborted only with --uploads, and only if it is to a key at which
    there is an object, as ours are, or to a temporary file of ours. Look with --dry-run first.

    In Azure it may leave blocks, which tell whose they are. While they are there, others may be unable
    to upload to the blob. With --uploads they are discarded: the blob gets another ETag, but keeps its
    content.

    \b
    Example:
      pbloom clean-temp . --dry-run
    """
    from parquet_bloom.commands.inputs import answer
    from parquet_bloom.render.clean_temp import write_cleaning, write_total
    from parquet_bloom.render.terminal import complain
    from parquet_bloom.storage.paths import expand_named
    from parquet_bloom.verbs.clean_temp import clean_temp as clean

    def find(names: tuple[str, ...]) -> tuple[list[Input], list[OSError]]:
        return expand_named(names, storage_options(), "a file or folder")

    reports: list[CleaningReport] = []

    def work(path: str) -> CleaningReport:
        return clean(
            path, older_than=older_than, uploads_older_than=uploads_older_than, dry_run=dry_run
        )

    def take(path: str, report: CleaningReport) -> None:
        reports.append(report)
        answer(report, as_json, write_cleaning)
        for left in report.leftovers:
            if left.problem is not None:
                complain(left.problem)

    code = Inputs(paths, find).each(work, take=take)
    if any(left.problem is not None for report in reports for left in report.leftovers):
        code = TROUBLE
    if reports and not as_json:
        write_total(reports)
    sys.exit(code)
