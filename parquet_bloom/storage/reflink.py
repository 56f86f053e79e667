"""Copies that share their blocks with the original until one of the two is changed: FICLONE of Linux,
which Btrfs, XFS, bcachefs and some network file systems support.

Source: man 2 ioctl_ficlone.
"""

from __future__ import annotations

import errno
import os

from parquet_bloom.storage.source import tolerating

FICLONE = 0x40049409

# Of file systems that cannot, of two that are not the same, and of sandboxes.
_UNSUPPORTED = {
    *(errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOTTY, errno.ENOSYS, errno.EPERM),
    # Of a swap file, and of one whose copies have another encryption key.
    *(errno.ETXTBSY, errno.ENOKEY),
}


def clone(source: int, copy: int, size: int) -> bool:
    """Make the new file `copy` the first `size` bytes of `source`, both descriptors; False if the
    system cannot. Raises OSError."""
    from fcntl import ioctl

    with tolerating(_UNSUPPORTED):
        ioctl(copy, FICLONE, source)
        os.ftruncate(copy, size)
        return True
    return False
