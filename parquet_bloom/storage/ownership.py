"""Who may replace a file, and whose it is then.

To replace a file, its folder must be writable, not the file itself: it could be taken from under its owner, who
protected it from just that.
"""

from __future__ import annotations

import errno
import grp
import os
import pwd
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress

from parquet_bloom.errors import RewriteError
from parquet_bloom.storage.source import making_in


def check_replaceable(path: str) -> None:
    """Raise RewriteError for a file to be changed that this process may not write, in a folder where it may: of one
    where nothing new can be made see check_takes_new."""
    _check_writable(path, "not changed in place", "write another file with an output")


def check_overwritable(path: str) -> None:
    """The same for an output."""
    _check_writable(path, "not overwritten", "name another output")


def _check_writable(path: str, what: str, instead: str) -> None:
    if _may_write(path) or not _may_write(os.path.dirname(os.path.realpath(path))):
        return
    status = os.stat(path)
    raise RewriteError(
        f"{path}: {what}: you may not write it (mode {stat.S_IMODE(status.st_mode):03o},"
        f" owner {_user(status.st_uid)}): allow it with chmod, or {instead}"
    )


def check_takes_new(path: str) -> None:
    """Raise what making a file of this name would raise in a folder that takes nothing new, or in what is there of
    the way to it."""
    folder = os.path.dirname(os.path.realpath(path))
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    if _may_write(folder):
        return
    is_read_only = os.statvfs(folder).f_flag & os.ST_RDONLY
    number = errno.EROFS if is_read_only else errno.EACCES
    with making_in(folder):
        raise OSError(number, os.strerror(number), path)


def _may_write(path: str) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def lost_owners(before: os.stat_result, path: str) -> Iterator[str]:
    """What to say of a file that was replaced, if the new one does not belong to the same user and group. Nothing
    where it cannot be asked: the file is written, and that must not read as a failure."""
    with suppress(OSError):
        after = os.stat(path)
        yield from _lost("owner", before.st_uid, after.st_uid, _user)
        yield from _lost("group", before.st_gid, after.st_gid, _group)


def _lost(what: str, before: int, after: int, name: Callable[[int], str]) -> Iterator[str]:
    if before != after:
        yield f"its {what} could not be kept: {name(after)} instead of {name(before)}"


def _user(number: int) -> str:
    """The name, or the number of one without."""
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)
