"""The lock of a file that changes: flock of the file itself.

Whoever replaces a file here holds its lock from the last look at it until another has its name, and
whoever appends to it from the first byte to the last. So no two of us change one version of a file, and
who comes later sees that it is no longer the one that was read. The lock ends with its process, and
leaves nothing behind.

Source: man 2 flock; "NFS details": what is locked there must be open for writing.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from parquet_bloom.errors import RewriteError
from parquet_bloom.storage.source import LocalSource, naming

# Errors of file systems without locks.
NO_LOCKS: Final = {errno.EOPNOTSUPP, errno.ENOLCK, errno.ENOSYS, errno.EINVAL, errno.ENOTSUP}


def take(descriptor: int, name: object) -> None:
    """Lock an open file until it is closed. Raises RewriteError if somebody else has; OSError, whose
    errno is one of NO_LOCKS where there are none."""
    try:
        with naming(name):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RewriteError(
            f"{name}: another build is changing it or holds its lock: wait until it is done"
        ) from None


@contextmanager
def held(source: LocalSource, unconditional: bool) -> Iterator[None]:
    """Hold the lock of an open file that is about to lose its name. Raises RewriteError if somebody else
    has it, and where there are no locks, unless `unconditional`."""
    own = -1
    try:
        try:
            own = _locked(source)
        except OSError as error:
            if not unconditional:
                raise RewriteError(
                    f"{source.path}: its file system does not lock it ({error.strerror}), so a"
                    " concurrent change could be lost: if nobody else writes, use unconditional=True"
                ) from None
        yield
    finally:
        if own >= 0:
            os.close(own)
        else:
            _unlock(source.descriptor)


def _locked(source: LocalSource) -> int:
    """The descriptor that ends the lock when it is closed; -1 for that of the source."""
    try:
        take(source.descriptor, source.path)
    except OSError as error:
        if error.errno != errno.EBADF:
            raise
    else:
        return -1
    with naming(source.path):
        descriptor = os.open(source.file, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        take(descriptor, source.path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _unlock(descriptor: int) -> None:
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_UN)
