"""What a command line names to be written: nothing twice, and nothing that the command reads, be it behind another
name of the same file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final

import click

from parquet_bloom.commands.parameters import FileOfValues, LocalPath, is_written
from parquet_bloom.dataclass import dataclass
from parquet_bloom.encryption.settings import file_of
from parquet_bloom.program import words_of
from parquet_bloom.storage.paths import are_same_place, is_in_folder

# What one option has said is read before the other writes it anew.
_BROUGHT_UP_TO_DATE: Final = ("--write-expect", "--expect")

# Standard input and output.
_STREAM: Final = "-"
_INDEX: Final = "DIR"
# Of commands on Spark: what is written in the folder itself would be read as data.
_PATHS: Final = "paths"


@dataclass(frozen=True, slots=True)
class _Named:
    """A place that an option names. `kind`: file or folder; `is_index`: a folder whose files are its own."""

    option: str
    path: str
    kind: str
    is_written: bool
    is_index: bool


def check_outputs(ctx: click.Context) -> None:
    """Raise UsageError for a place that is to be written twice, or that the command reads: the last would win, and
    what was there would be lost."""
    named = [each for each in _named(ctx) if each.path != _STREAM]
    written = [each for each in named if each.is_written]
    for one, other in combinations(written, 2):
        if are_same_place(one.path, other.path):
            same = f"{one.option} and {other.option} are the same {one.kind}"
            raise click.UsageError(f"{other.path}: {same}, expected two", ctx)
    for output in written:
        for read in (each for each in named if not each.is_written):
            if told := _taken_by(read, output):
                expected = f"expected another {output.kind} for {output.option}"
                raise click.UsageError(f"{output.path}: {told}, {expected}", ctx)


def _taken_by(read: _Named, output: _Named) -> str:
    """What an output is to an option that reads; empty if nothing."""
    if (output.option, read.option) == _BROUGHT_UP_TO_DATE:
        return ""
    if are_same_place(output.path, read.path):
        return f"is what {read.option} reads"
    if read.is_index and is_in_folder(output.path, read.path):
        return f"is in the folder of {read.option}"
    return ""


def _named(ctx: click.Context) -> Iterator[_Named]:
    words = words_of(ctx)
    for param in ctx.command.params:
        given = ctx.params.get(param.name or "") or ()
        if param.name == _PATHS:
            yield from (_Named("PATH", path, "folder", False, False) for path in given)
        elif isinstance(param, click.Option) and given:
            is_output, is_index = is_written(param), param.metavar == _INDEX
            kind = "folder" if is_index else "file"
            for path in _paths(param, given):
                yield _Named(_as_typed(param, words), path, kind, is_output, is_index)


def _paths(option: click.Option, given: object) -> Iterator[str]:
    """The places among the values of an option; of a KEYSPEC, the file that has the key."""
    for each in given if isinstance(given, tuple) else (given,):
        if isinstance(option.type, FileOfValues):
            yield str(getattr(each, "name", _STREAM))
        elif isinstance(option.type, LocalPath) or option.metavar in ("FILE", _INDEX):
            yield os.fspath(each)
        elif "KEYSPEC" in (option.metavar or "") and (path := file_of(str(each))):
            yield path


def _as_typed(option: click.Option, words: Sequence[str]) -> str:
    """The long name that was typed, of several."""
    long = [name for name in option.opts if name.startswith("--")]
    typed = {word.partition("=")[0] for word in words}
    return next((name for name in long if name in typed), long[0])
