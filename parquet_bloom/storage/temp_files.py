"""Names of temporary files, and the files that killed outputs left behind."""

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

# A name can have 255 bytes; the rest is for the random part and the suffix.
NAME_BYTES = 200

# A temporary file, or the checksum put aside for it.
_TEMPORARY = re.compile(r"\..*\.[0-9a-f]{16}(\.crc)?" + re.escape(TEMPORARY_SUFFIX), re.DOTALL)


def hidden_name(name: str) -> str:
    """A unique name for the temporary file of an output."""
    cut = os.fsencode(name)[:NAME_BYTES].decode(errors="ignore")
    return f".{cut}.{os.urandom(8).hex()}{TEMPORARY_SUFFIX}"


def is_left(name: str, modified: float, older_than: float) -> bool:
    """Whether a killed output left this file: by its name, and because it was last `modified`
    (seconds since 1970) at least `older_than` seconds ago."""
    return _TEMPORARY.fullmatch(name) is not None and time.time() - modified >= older_than


@dataclass(frozen=True, slots=True)
class Leftover:
    """A file left by a killed output; `size` in bytes."""

    path: str
    size: int
    remove: Callable[[], None]


def leftovers(folder: Path, older_than: float) -> Iterator[Leftover]:
    """The leftovers in `folder` that are older than that many seconds. Raises OSError."""
    for entry in os.scandir(folder):
        with suppress(FileNotFoundError):
            status = entry.stat(follow_symlinks=False)
            is_file = stat.S_ISREG(status.st_mode)
            if is_file and is_left(entry.name, status.st_mtime, older_than):
                yield Leftover(entry.path, status.st_size, partial(os.unlink, entry.path))


def folders_in(folder: str) -> Iterator[str]:
    """`folder` and all folders below it, including hidden ones; links are not followed."""
    yield folder
    for above, names, _ in os.walk(folder):
        paths = (os.path.join(above, name) for name in names)
        yield from (path for path in paths if not os.path.islink(path))
