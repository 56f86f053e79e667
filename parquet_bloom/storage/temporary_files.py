"""Temporary files: their names, and those that killed outputs have left."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from parquet_bloom.dataclass import dataclass
from parquet_bloom.vocabulary import LeftoverKind

TEMPORARY_SUFFIX = ".pbloom-tmp"

# A name can have 255 bytes, with the random part and the suffix.
NAME_BYTES = 200

# A temporary file, or the checksum put aside for it, and of which output.
_TEMPORARY = re.compile(r"\.(.*)\.[0-9a-f]{16}(\.crc)?" + re.escape(TEMPORARY_SUFFIX), re.DOTALL)


def hidden_name(name: str) -> str:
    """A unique name for the temporary file of an output."""
    return f".{_cut(name)}.{os.urandom(8).hex()}{TEMPORARY_SUFFIX}"


def _cut(name: str) -> str:
    """Whole characters, as some file systems take no others; what is no character is kept."""
    while len(os.fsencode(name)) > NAME_BYTES:
        name = name[:-1]
    return name


def is_temporary(name: str, of: str | None = None) -> bool:
    """Whether an output gave a temporary file this name; `of`: the output named so, or like the first
    NAME_BYTES of it, of which the name is made."""
    found = _TEMPORARY.fullmatch(name)
    return found is not None and (of is None or found[1] == _cut(of))


def is_left(name: str, modified: float, older_than: float) -> bool:
    """Whether a killed output left this file: it has such a name, and was last `modified` (seconds
    since 1970) at least `older_than` seconds ago."""
    return is_temporary(name) and is_as_old(modified, older_than)


def is_as_old(modified: float, older_than: float) -> bool:
    """Whether the time when it was last `modified` is at least `older_than` seconds ago."""
    return time.time() - modified >= older_than


@dataclass(frozen=True, slots=True)
class Leftover:
    """A file left by a killed output, last written at the time `since`, in seconds since 1970; or an
    upload that began then and was not finished. `size` in bytes. `remove`: raises OSError, which is
    FileNotFoundError if it is no longer there."""

    path: str
    size: int
    since: float
    remove: Callable[[], None]
    kind: LeftoverKind = "temporary file"


def leftovers(folder: Path, older_than: float) -> Iterator[Leftover]:
    """The leftovers in `folder` of at least that many seconds. Raises OSError."""
    with os.scandir(folder) as entries:
        for entry in filter(lambda entry: is_temporary(entry.name), entries):
            with suppress(FileNotFoundError):
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode) and is_as_old(status.st_mtime, older_than):
                    remove = partial(os.unlink, entry.path)
                    yield Leftover(entry.path, status.st_size, status.st_mtime, remove)


def leftovers_below(folder: str, older_than: float) -> Iterator[Leftover]:
    """Those in `folder` and in all folders below it, see folders_in. Raises OSError."""
    for place in folders_in(folder):
        try:
            yield from leftovers(Path(place), older_than)
        except FileNotFoundError:
            # Others, such as Spark, remove folders of theirs meanwhile.
            if place == folder:
                raise


def folders_in(folder: str) -> Iterator[str]:
    """`folder` and all folders below it, including hidden ones; links are not followed."""
    yield folder
    for above, names, _ in os.walk(folder):
        paths = (os.path.join(above, name) for name in names)
        yield from (path for path in paths if not os.path.islink(path))
