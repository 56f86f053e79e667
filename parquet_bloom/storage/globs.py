"""What a glob matches, told by names alone, as the globs of local files have it."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase


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
