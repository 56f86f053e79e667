"""Which of the files that an index knows, and that a listing has not found, may be there all the same: nobody could
look.

    a folder that cannot be listed, a store that refuses        an error of the listing
    the rest of a source, of whose listing that was the end     no error of its own: the file itself tells, if local
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from parquet_bloom.container import number_of
from parquet_bloom.errors import complaint, complaint_about
from parquet_bloom.index.names import GivenNames, lasting
from parquet_bloom.index.states import state_of
from parquet_bloom.storage import without_options
from parquet_bloom.storage.source import is_url


class Unseen(NamedTuple):
    """`paths`: of files that may be there; `problems`: where nobody could look, and why."""

    paths: frozenset[str]
    problems: tuple[str, ...]


def unseen(missing: Iterable[str], sources: Iterable[str], errors: Iterable[OSError]) -> Unseen:
    """Of files that are `missing` in a listing of `sources`, which ended with these errors, those that may be there.
    What no source means was of a table, whose log knows."""
    met = _Met([error for error in errors if not isinstance(error, FileNotFoundError)], sources)
    paths: set[str] = set()
    in_folders: Counter[tuple[str, str]] = Counter()
    for path in missing:
        if not met.sources.meaning(path):
            continue
        try:
            is_there = is_url(path) or state_of(path) is not None
        except OSError as error:
            paths.add(path)
            if not met.named.meaning(path):
                reason = complaint(error).removeprefix(f"{path}: ")
                in_folders[os.path.dirname(path), reason] += 1
        else:
            if is_there and met.has_kept_from(path):
                paths.add(path)
    told = [complaint_about("", error) for error in met.errors]
    for (folder, reason), count in sorted(in_folders.items()):
        told.append(f"{folder}: {number_of(count, 'file')} that cannot be looked at: {reason}")
    return Unseen(frozenset(paths), tuple(told))


class _Met:
    """The errors of those that were kept from looking: what they name, and what else was not listed for them."""

    def __init__(self, errors: Sequence[OSError], sources: Iterable[str]) -> None:
        self.errors = errors
        self.sources = GivenNames(map(without_options, sources))
        names = lasting(str(error.filename) for error in errors if error.filename)
        self.named = GivenNames(names)
        self._is_all = len(names) < len(errors)
        # Of an error in the middle, the rest of the same folder or glob was not listed, either.
        self._ended = self.sources.that_mean(names)

    def has_kept_from(self, path: str) -> bool:
        if self._is_all or self.named.meaning(path):
            return True
        return not self._ended.isdisjoint(self.sources.meaning(path))
