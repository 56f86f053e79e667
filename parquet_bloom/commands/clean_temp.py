"""pbloom clean-temp"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from parquet_bloom.commands import file_options
from parquet_bloom.commands import options as option
from parquet_bloom.commands.inputs import Inputs
from parquet_bloom.commands.parameters import age_in_seconds
from parquet_bloom.commands.sections import Command, files_option
from parquet_bloom.commands.store_options import storage_options, stores
from parquet_bloom.container import number_of
from parquet_bloom.program import TROUBLE
from parquet_bloom.render.terminal import complain, write_json, write_text
from parquet_bloom.render.wording import size
from parquet_bloom.storage.paths import expand_named
from parquet_bloom.verbs.clean_temp import LEAST_UPLOAD_AGE, CleaningReport, FoundLeftover
from parquet_bloom.verbs.clean_temp import clean_temp as clean


def _upload_age(ctx: click.Context, param: click.Parameter, text: str | None) -> float | None:
    seconds = age_in_seconds(ctx, param, text)
    if seconds is not None and seconds < LEAST_UPLOAD_AGE:
        least = "expected at least 1d: other programs keep uploads open for hours"
        raise click.BadParameter(f"{text}: {least}")
    return seconds


@click.command("clean-temp", cls=Command)
@file_options.file_argument("paths", nargs=-1, required=True, metavar="PATH...")
@option.older_than
@files_option(
    "--uploads",
    "uploads_older_than",
    callback=_upload_age,
    metavar="AGE",
    help="Also abort unfinished uploads that received nothing for this long, at least"
    " 1d: on S3, where they may belong to other programs, and on Azure, only our"
    " own.",
)
@option.only_show_removed
@option.as_json("path")
@stores
def clean_temp(
    paths: tuple[str, ...],
    older_than: float,
    uploads_older_than: float | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Remove temporary files that killed runs have left.

    PATH is a folder, which is searched recursively, or a file, for its own leftovers; it can be a URL.

    On S3, a killed build leaves an unfinished upload, which is invisible and billed. It cannot be told
    from an upload by another program, so it is aborted only with --uploads, and only if there is an
    object at its key, as with ours, or if the key is that of a temporary file of ours. Check with
    --dry-run first.

    On Azure, it may leave uncommitted blocks, which can be told to be ours. While they exist, others may
    be unable to upload to the blob. With --uploads they are discarded: the blob gets a new ETag, but
    keeps its content.

    \b
    Examples:
      pbloom clean-temp . --dry-run
      pbloom clean-temp lake/ --older-than 1d
      pbloom clean-temp events.parquet --older-than 0s --json
    """
    reports: list[CleaningReport] = []

    def work(path: str) -> CleaningReport:
        return clean(
            path, older_than=older_than, uploads_older_than=uploads_older_than, dry_run=dry_run
        )

    def take(path: str, report: CleaningReport) -> None:
        reports.append(report)
        if as_json:
            write_json(report)
        else:
            _write(report)
        for left in report.leftovers:
            if left.problem is not None:
                complain(left.problem)

    found = expand_named(paths, storage_options(), "a file or folder")
    inputs = Inputs(found, are_held=False)
    code = inputs.each(work, take=take)
    if any(left.problem is not None for report in reports for left in report.leftovers):
        code = TROUBLE
    if reports and not as_json:
        _write_total(reports)
    sys.exit(code)


_BEGAN = {"temporary file": "last written", "upload": "begun"}
_DONE = {"temporary file": "removed", "upload": "aborted"}


def _write(report: CleaningReport) -> None:
    """A line for each leftover that is gone, or would be."""
    for left in report.leftovers:
        if left.problem is None:
            write_text(f"{left.file}: {_line(left, report.dry_run)}")


def _line(left: FoundLeftover, dry_run: bool) -> str:
    done = f"would be {_DONE[left.kind]}" if dry_run else _DONE[left.kind]
    since = left.since.replace("T", " ").replace("Z", " UTC")
    return f"{left.kind} of {size(left.num_bytes)}, {_BEGAN[left.kind]} {since}: {done}"


def _write_total(reports: Sequence[CleaningReport]) -> None:
    """`2 temporary files, 1 upload; 12.3 MiB; 1 temporary file is younger than --older-than, by default an hour`"""
    gone = [left for report in reports for left in report.leftovers if left.problem is None]
    younger = younger_in_words(sum(report.num_younger for report in reports))
    if not gone:
        if not any(report.leftovers for report in reports):
            write_text(f"nothing to remove{younger}")
        return
    counts = [(kind, sum(left.kind == kind for left in gone)) for kind in _DONE]
    kinds = ", ".join(number_of(count, kind) for kind, count in counts if count)
    dry = "; dry run: nothing was removed" if any(report.dry_run for report in reports) else ""
    write_text(f"{kinds}; {size(sum(left.num_bytes for left in gone))}{younger}{dry}")


def younger_in_words(count: int) -> str:
    """`; 1 temporary file is younger than --older-than, by default an hour`, empty if none is."""
    verb = "is" if count == 1 else "are"
    return (
        f"; {number_of(count, 'temporary file')} {verb} younger than --older-than, by default an hour"
        * bool(count)
    )
