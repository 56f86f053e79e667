"""The names of files, folders and globs by which an index was given files, and which of them mean a file."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable

from parquet_bloom.storage import without_options
from parquet_bloom.storage.globs import is_matched
from parquet_bloom.storage.source import has_wildcard, is_url, local_name


def lasting(names: Iterable[str]) -> list[str]:
    """Names of files, folders and globs as they mean the same from anywhere; an empty one means nothing, and not this
    folder."""
    return [
        name if is_url(name) or not name else os.path.abspath(local_name(name)) for name in names
    ]


class GivenNames:
    """Names of files, folders and globs, however many: which of them mean a file, wherever it is by now."""

    def __init__(self, names: Iterable[str]) -> None:
        self._paths: dict[str, list[str]] = {}
        self._globs: list[tuple[str, str]] = []
        for name in dict.fromkeys(names):
            self._paths.setdefault(name.rstrip("/"), []).append(name)
            if has_wildcard(name):
                self._globs.append((name, without_options(name)))

    def naming(self, path: str) -> list[str]:
        """Those that are its path, or that of a folder above it."""
        paths = [path, *(path[:at] for at, each in enumerate(path) if each == "/")]
        return [name for each in paths for name in self._paths.get(each, ())]

    def matching(self, path: str) -> list[str]:
        """The globs that match it, or a folder above it."""
        return [name for name, glob in self._globs if is_matched(path, glob)]

    def meaning(self, path: str) -> list[str]:
        return [*self.naming(path), *self.matching(path)]

    def that_mean(self, paths: Iterable[str]) -> set[str]:
        """Those that mean any of the files."""
        return {name for path in paths for name in self.meaning(path)}

    def num_found(self, paths: Iterable[str]) -> Counter[str]:
        """The folders and globs that mean any of them, and how many each."""
        return Counter(name for path in paths for name in self.meaning(path) if name != path)
