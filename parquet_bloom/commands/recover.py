"""pbloom recover"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from parquet_bloom.commands import options as option
from parquet_bloom.commands.inputs import Answers, Inputs
from parquet_bloom.commands.sections import Command

if TYPE_CHECKING:
    from parquet_bloom.verbs.recover import RecoveryReport


@click.command(cls=Command)
@option.files
@option.dry_run
@option.as_json
@option.verbose
def recover(files: tuple[str, ...], dry_run: bool, as_json: bool, verbose: bool) -> None:
    """Undo what killed builds have appended to files.

    pbloom build --append-in-place keeps a journal beside the file, of what it was, until the new end
    is complete. A file that still has one is cut back. Folders are searched for journals. Other
    commands do the same when they cannot read a file, or are about to change it.

    \b
    Example:
      pbloom recover events.parquet
    """
    from parquet_bloom.render.recover import (
        summarize_recovery,
        total_recovered,
        write_nothing,
        write_recovery,
    )
    from parquet_bloom.storage.paths import expand_left
    from parquet_bloom.verbs.recover import recover as recover_file

    inputs = Inputs(files, expand_left)

    def work(path: str) -> RecoveryReport:
        return recover_file(path, dry_run=dry_run)

    summed = summarize_recovery, total_recovered
    answers = Answers(inputs, write_recovery, summed, as_json=as_json, verbose=verbose)
    code = answers.each(work)
    if not inputs.files and not code and not as_json:
        write_nothing()
    sys.exit(code)
