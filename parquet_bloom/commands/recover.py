"""pbloom recover"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Final

import click

from parquet_bloom.commands import file_options
from parquet_bloom.commands import options as option
from parquet_bloom.commands.inputs import Answers, Inputs
from parquet_bloom.commands.sections import Command
from parquet_bloom.render.reports import FileSummary, SummarizedView
from parquet_bloom.render.terminal import write_text
from parquet_bloom.render.wording import size
from parquet_bloom.storage.paths import expand_left
from parquet_bloom.verbs.recover import RecoveryReport
from parquet_bloom.verbs.recover import recover as recover_file


@click.command(cls=Command)
@file_options.file_argument("files", nargs=-1, required=True, metavar="FILE...")
@option.dry_run
@option.as_json()
@option.verbose
def recover(files: tuple[str, ...], dry_run: bool, as_json: bool, verbose: bool) -> None:
    """Undo what killed builds have appended to files.

    pbloom build --append-in-place keeps a journal of the file's previous state beside it until the new
    end is complete. A file that still has one is cut back. Folders are searched for journals. Other
    commands do the same when they cannot read a file, and say so, or are about to change it.

    \b
    Examples:
      pbloom recover events.parquet
      pbloom recover lake/ --dry-run
      pbloom recover lake/ --verbose
    """
    inputs = Inputs(expand_left(files), are_held=False)
    answers = Answers(inputs, as_json=as_json, verbose=verbose)
    code = answers.each(lambda path: recover_file(path, dry_run=dry_run), RecoveryView())
    if not inputs.files and not code and not as_json:
        write_text("no journals: nothing to recover")
    sys.exit(code)


_NOTHING: Final = "no journal beside it: nothing to recover; pbloom strip takes filters of finished builds out again"


class RecoveryView(SummarizedView[RecoveryReport]):
    """What was done about files."""

    def summarize(self, report: RecoveryReport) -> FileSummary:
        numbers = {"bytes": report.size_before - report.size_after, "dry": report.dry_run}
        done, state = _NOTHING, str(report.action)
        if report.action == "nothing":
            state = "without a journal"
        elif report.action == "journal removed":
            done = "journal removed; nothing had been appended"
        else:
            done = f"cut back from {report.size_before:,} to {report.size_after:,} bytes"
        dry = " (dry run)" if report.dry_run else ""
        return FileSummary(state, done, (), numbers, heading=f"{report.path}{dry}: {done}")

    def total(self, numbers: Mapping[str, int]) -> str:
        return f"{size(numbers['bytes'])} cut off"
