"""Folders that are synced to disk, so that a new name in them is there after a power failure.

Threads that change many files of one folder share its syncs: a sync that begins after a file got its
name is as good for that file as one of its own, whoever began it.
"""

from __future__ import annotations

import errno
import os
from threading import Lock

from parquet_bloom.storage.disk_sync import sync_file
from parquet_bloom.storage.source import tolerating

# Errors of file systems where a folder cannot be synced.
_UNSUPPORTED = {errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EACCES}


class _Folder:
    """How often a sync of one folder was asked for, which of these are done, and how many wait."""

    def __init__(self) -> None:
        self.asked = self.done = self.waiting = 0
        self.syncing = Lock()


_counting = Lock()
# Those that a thread waits for.
_waited_for: dict[str, _Folder] = {}


def sync_folder(path: str | os.PathLike[str]) -> None:
    """Sync a folder, where it can be. Raises OSError."""
    name = os.fspath(path) or os.curdir
    with _counting:
        folder = _waited_for.setdefault(name, _Folder())
        folder.asked += 1
        folder.waiting += 1
        mine = folder.asked
    try:
        with folder.syncing:
            if folder.done < mine:
                # Whoever has asked by now has given its file the name before.
                asked = folder.asked
                _sync(name)
                folder.done = asked
    finally:
        with _counting:
            folder.waiting -= 1
            if not folder.waiting:
                del _waited_for[name]


def _sync(name: str) -> None:
    with tolerating(_UNSUPPORTED):
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        try:
            sync_file(descriptor)
        finally:
            os.close(descriptor)
