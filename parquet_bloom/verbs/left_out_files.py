"""Who names a folder may mean files in it that are not looked at because of their names, and what links there lead
to."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Final

from parquet_bloom.container import number_of
from parquet_bloom.errors import LeftOutWarning
from parquet_bloom.storage.source import is_hidden
from parquet_bloom.verbs.table_folders import level_of_caller

# So many are named.
_MOST_NAMES: Final = 3


def left_out(paths: Sequence[str]) -> str:
    """That files of folders were not looked at, nor what links to folders lead to."""
    # No file is one, nor what is behind a URL.
    are_links = [os.path.isdir(path) for path in paths]
    files = [path for path, is_link in zip(paths, are_links, strict=True) if not is_link]
    links = [path for path, is_link in zip(paths, are_links, strict=True) if is_link]
    told = (say(those) for say, those in ((_files, files), (_links, links)) if those)
    return "; ".join(told)


def _files(paths: Sequence[str]) -> str:
    from parquet_bloom.storage.temporary_files import is_temporary

    is_one = len(paths) == 1
    if any(map(_may_be_in_hidden, paths)):
        why = (
            "its name, or that of a folder that it is in, is not that of data"
            if is_one
            else "their names, or those of folders that they are in, are not those of data"
        )
    elif is_one:
        why = "its name is not that of a data file"
    else:
        why = "their names are not those of data files"
    include = "to include it, name it itself" if is_one else "to include them, name them one by one"
    left = any(map(is_temporary, map(os.path.basename, paths)))
    removed = "; pbloom clean-temp removes temporary files that killed runs have left" * left
    return f"{number_of(len(paths), 'file')} left out{_named(paths)}; {why}: {include}{removed}"


def _may_be_in_hidden(path: str) -> bool:
    """Not if no part of its name says so; which folder was searched is not told."""
    return any(map(is_hidden, path.split("/")[:-1]))


def _links(paths: Sequence[str]) -> str:
    is_one = len(paths) == 1
    what = "link to a folder" if is_one else "links to folders"
    which = "it itself" if is_one else "them one by one"
    include = f"to include what is there, name {which}"
    return f"{len(paths):,} {what} left out{_named(paths)}; such links are not followed: {include}"


def _named(paths: Sequence[str]) -> str:
    """`: a, b` or `, such as a, b, c`"""
    shown = ", ".join(paths[:_MOST_NAMES])
    return f", such as {shown}" if len(paths) > _MOST_NAMES else f": {shown}"


def warn_of_left_out(paths: Sequence[str]) -> None:
    """Say it to the caller of this package as a warning, if there are any."""
    if paths:
        warnings.warn(left_out(paths), LeftOutWarning, level_of_caller())
