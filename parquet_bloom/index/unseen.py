"""Which of the files that an index knows, and that a listing has not found, may be there all the same: nobody could
look.

    a folder that cannot be listed, a store that refuses        an error of the listing
    the rest of a source, of whose listing that was the end     no error of its own: the file itself tells, if local
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
    # By folder and reason, of those that are there and cannot be looked at.
    in_folders: defaultdict[tuple[str, str], set[str]] = defaultdict(set)

    def note(path: str, error: OSError) -> None:
        reason = complaint(error).removeprefix(f"{path}: ")
        in_folders[os.path.dirname(path), reason].add(path)

    for path in missing:
        if not met.sources.meaning(path):
            continue
        try:
            is_there = is_url(path) or state_of(path) is not None
        except OSError as error:
            paths.add(path)
            if not met.named.meaning(path):
                note(path, error)
        else:
            if is_there and met.has_kept_from(path):
                paths.add(path)
    told: list[str] = []
    for each in met.errors:
        name = str(each.filename or "")
        if not is_url(name) and os.path.abspath(name) in paths:
            note(name, each)
        else:
            told.append(complaint_about("", each))
    return Unseen(frozenset(paths), (*dict.fromkeys(told), *_in_folders(in_folders)))


def _in_folders(found: Mapping[tuple[str, str], Collection[str]]) -> Iterator[str]:
    """A line for each folder, as one that nobody may enter can have any number of files; one file has its own."""
    for (folder, reason), paths in sorted(found.items()):
        if len(paths) > 1:
            yield f"{folder}: {number_of(len(paths), 'file')} that cannot be looked at: {reason}"
        else:
            yield f"{next(iter(paths))}: {reason}"


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
