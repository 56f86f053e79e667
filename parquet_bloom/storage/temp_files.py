"""Temporary files: what they are called, and those that outputs which were killed have left."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

TEMPORARY_SUFFIX = ".pbloom-tmp"

# A name may have 255 bytes; with the suffix and what makes it unique, this much of one fits.
NAME_BYTES = 200

# What a temporary file is called, and what is put aside for it.
_TEMPORARY = re.compile(r"\..*\.[0-9a-f]{16}(\.crc)?" + re.escape(TEMPORARY_SUFFIX), re.DOTALL)


def hidden_name(name: str) -> str:
    """What the temporary file of an output is called: no other one is."""
    cut = os.fsencode(name)[:NAME_BYTES].decode(errors="ignore")
    return f".{cut}.{os.urandom(8).hex()}{TEMPORARY_SUFFIX}"


def is_left(name: str, modified: float, older_than: float) -> bool:
    """Whether a file with this name is what an output that was killed has left, if nobody has
    written to it for `older_than` seconds; `modified`: when somebody has, in seconds since 1970."""
    return _TEMPORARY.fullmatch(name) is not None and time.time() - modified >= older_than


@dataclass(frozen=True, slots=True)
class Leftover:
    """What an output that was killed has left; `size` in bytes."""

    path: str
    size: int
    remove: Callable[[], None]


def leftovers(folder: Path, older_than: float) -> Iterator[Leftover]:
    """What is left in `folder`, and is older than that many seconds. Raises OSError."""
    for entry in os.scandir(folder):
        with suppress(FileNotFoundError):
            status = entry.stat(follow_symlinks=False)
            is_file = stat.S_ISREG(status.st_mode)
            if is_file and is_left(entry.name, status.st_mtime, older_than):
                yield Leftover(entry.path, status.st_size, partial(os.unlink, entry.path))


def folders_in(folder: str) -> Iterator[str]:
    """`folder` and all below it, also hidden ones; links are not followed."""
    yield folder
    for above, names, _ in os.walk(folder):
        paths = (os.path.join(above, name) for name in names)
        yield from (path for path in paths if not os.path.islink(path))
