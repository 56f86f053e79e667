"""What shells complete the words of a command with."""

from __future__ import annotations

import os
import re
from itertools import chain
from typing import TYPE_CHECKING, Final

import click

from parquet_bloom.errors import ParquetBloomError, quoted_name
from parquet_bloom.files import open_file
from parquet_bloom.storage import open_folder
from parquet_bloom.storage.listing import list_folder
from parquet_bloom.storage.source import is_url, local_path

if TYPE_CHECKING:
    from collections.abc import Iterable

    from click.shell_completion import CompletionItem

# What is complete of a list of names, with the comma behind it; a name may be in quotes, as in CSV.
_COMPLETE: Final = re.compile(r'(?:(?:"(?:[^"]|"")*"(?!")|(?!"))[^,]*,)*')


def file_names(ctx: click.Context, param: click.Parameter, word: str) -> list[CompletionItem]:
    """The shell itself knows the names of files."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(word, type="file")]


def leaf_columns(ctx: click.Context, param: click.Parameter, word: str) -> list[str]:
    """The columns of the first local file on the line, or in a folder there, of which only the footer is read, or of
    an index; none if it cannot be read. `word` may have several, separated by commas."""
    return _listed(_columns(ctx), word)


def row_columns(ctx: click.Context, param: click.Parameter, word: str) -> list[str]:
    """The same for an option that takes what rows have: the columns at the top, of which others are part."""
    tops = dict.fromkeys(column.partition(".")[0] for column in _columns(ctx))
    return _listed(tops, word)


def _listed(columns: Iterable[str], word: str) -> list[str]:
    """Those of the columns that the last in a list of names can become. One that needs quotes is not among others
    unless they have been begun: shells would delete what does not begin all that they are told."""
    before, begun = _parted(word)
    names = {quoted_name(column): column for column in columns}
    found = [name for name in names if name.startswith(begun)]
    return _added(before, found or [name for name in names if names[name].startswith(begun)])


def _columns(ctx: click.Context) -> list[str]:
    """Those of the first file that can be read, but for names with what cannot be shown as it is: shells are told a
    line for each."""
    for columns in chain(
        map(_columns_of, _given_files(ctx)), map(_indexed_by, _given_indexes(ctx))
    ):
        if columns:
            return [column for column in columns if column.isprintable()]
    return []


def rule_names(ctx: click.Context, param: click.Parameter, word: str) -> list[CompletionItem]:
    """Ids, and names where one has been begun. `word` may have several, separated by commas."""
    from click.shell_completion import CompletionItem

    from parquet_bloom.rules.rule import rules

    before, begun = _parted(word)
    ids = [(rule.id, rule.name) for rule in rules().values()]
    names = [(rule.name, None) for rule in rules().values() if begun]
    found = [(name, about) for name, about in (*ids, *names) if name.startswith(begun)]
    return [
        CompletionItem(before + name, help=about) for name, about in found if _is_new(name, before)
    ]


def engine_names(ctx: click.Context, param: click.Parameter, word: str) -> list[str]:
    """Those that read files, whose names are taken in any case of letters. `word` may have several, separated by
    commas."""
    from parquet_bloom.engines.reading import reading_engines

    before, begun = _parted(word)
    names = [name.lower() for name in reading_engines()]
    return _added(before, [name for name in names if name.startswith(begun.lower())])


def _parted(word: str) -> tuple[str, str]:
    """What is complete, with the comma behind it, and what is begun."""
    complete = _COMPLETE.match(word)
    assert complete is not None
    return complete[0], word[complete.end() :]


def _added(before: str, names: Iterable[str]) -> list[str]:
    """Each of the names behind what is complete, where it is not among that already."""
    return [before + name for name in names if _is_new(name, before)]


def _is_new(name: str, before: str) -> bool:
    return f",{name}," not in f",{before}"


def _given_files(ctx: click.Context) -> list[str]:
    """The arguments so far. After an option that lacks its value, click has not sorted them yet."""
    found: list[str] = list(ctx.args)
    for parameter in ctx.command.params:
        if isinstance(parameter, click.Argument):
            value: str | tuple[str, ...] | None = ctx.params.get(parameter.name or "")
            found += [value] if isinstance(value, str) else value or ()
    return found


def _given_indexes(ctx: click.Context) -> list[str]:
    return [
        path for name in ("index_path", "index") if isinstance(path := ctx.params.get(name), str)
    ]


def _indexed_by(path: str) -> tuple[str, ...]:
    from parquet_bloom.index.manifest import existing

    try:
        return () if is_url(path) else existing(open_folder(path)).columns
    except (ParquetBloomError, OSError):
        return ()


def _columns_of(name: str) -> tuple[str, ...]:
    try:
        first = None if is_url(name) else _first_file(str(local_path(name)))
        if first is None:
            return ()
        with open_file(first) as file:
            return file.columns
    except (ParquetBloomError, OSError):
        return ()


def _first_file(path: str) -> str | None:
    """The file itself, or the first that is found in a folder, of which no more is listed."""
    if not os.path.isdir(path):
        return path
    files, folders = list_folder(path)
    for file in files:
        # A link that leads nowhere has no size.
        if file.size:
            return file.path
    return next(filter(None, map(_first_file, folders)), None)
