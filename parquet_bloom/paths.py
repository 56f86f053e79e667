"""From what a user names to files: paths, globs, folders and URLs."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from glob import glob, has_magic
from pathlib import Path

from parquet_bloom.errors import RewriteError
from parquet_bloom.storage import is_url, local_path

SUFFIXES = (".parquet", ".parq", ".pq")


def expand(paths: Iterable[str]) -> Iterator[str]:
    """Each file once named: globs expanded, folders searched for Parquet files, in order.

    Hidden files and those that begin with an underscore are metadata or temporary, and skipped in
    folders. Raises FileNotFoundError for a glob or folder without files.
    """
    for path in paths:
        if is_url(path):
            yield path
        elif local_path(path).is_dir():
            yield from _some(path, _in_folder(local_path(path)))
        elif has_magic(path) and not local_path(path).exists():
            yield from _some(path, sorted(glob(path, recursive=True)))
        else:
            yield path


def _some(path: str, files: list[str]) -> list[str]:
    if not files:
        raise FileNotFoundError(errno.ENOENT, "no Parquet files", path)
    return files


def _in_folder(folder: Path) -> list[str]:
    return sorted(
        str(file)
        for file in folder.rglob("*")
        if file.suffix in SUFFIXES
        and file.is_file()
        and not any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
    )


def output_in(folder: Path, path: str, roots: Iterable[str]) -> Path:
    """Where the new version of `path` goes in `folder`: below it as the file was below its root."""
    file = local_path(path)
    for root in roots:
        if not is_url(root) and local_path(root).is_dir() and file.is_relative_to(local_path(root)):
            return folder / file.relative_to(local_path(root))
    return folder / file.name


def make_parent(target: Path) -> None:
    """Make the folder of an output. Raises RewriteError if something else is in its place."""
    try:
        os.makedirs(target.parent, exist_ok=True)
    except FileExistsError:
        raise RewriteError(f"{target.parent}: exists and is no folder") from None
