"""What a glob matches, told by names alone, as the globs of local files have it."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from parquet_bloom.storage.source import before_wildcard


def matches(names: Sequence[str], patterns: Sequence[str]) -> bool:
    """Whether the segments of a path are matched by those of a glob: `**` stands for any folders, and no wildcard for
    a leading dot."""
    if not patterns:
        return not names
    first, *rest = patterns
    if first == "**":
        hidden = next((at for at, name in enumerate(names) if name.startswith(".")), len(names))
        return any(matches(names[start:], rest) for start in range(hidden + 1)) or (
            not rest and hidden == len(names)
        )
    if not names or (names[0].startswith(".") and not first.startswith(".")):
        return False
    return fnmatchcase(names[0], first) and matches(names[1:], rest)


def is_matched(path: str, glob: str) -> bool:
    """Whether a glob matches a path, or a folder above it. Both are absolute, or URLs without options."""
    before = before_wildcard(glob)
    if before == glob or not path.startswith(before):
        return False
    names, patterns = path.split("/"), glob.split("/")
    return any(matches(names[:end], patterns) for end in range(len(names), 0, -1))
