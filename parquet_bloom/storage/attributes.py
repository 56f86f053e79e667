"""The extended attributes of a file, to which access control lists belong, for the file that replaces it.

Source: Apple's man 3 fcopyfile, which Python does not have.
"""

from __future__ import annotations

import errno
import os
import sys

from parquet_bloom.storage.source import tolerating

# Errors of file systems that do not support setting one.
NO_ATTRIBUTE = {
    *(errno.EPERM, errno.EACCES, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP),
}


def copy_attributes(path: str, descriptor: int) -> None:
    """Give an open file those of another, as far as its file system has them. Raises OSError."""
    with tolerating(NO_ATTRIBUTE):
        _copy(path, descriptor)


if sys.platform == "darwin":
    COPYFILE_ACL, COPYFILE_XATTR = 1, 4

    def _copy(path: str, descriptor: int) -> None:
        import ctypes

        library = ctypes.CDLL(None, use_errno=True)
        source = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if library.fcopyfile(source, descriptor, None, COPYFILE_ACL | COPYFILE_XATTR):
                code = ctypes.get_errno()
                raise OSError(code, os.strerror(code), path)
        finally:
            os.close(source)
else:

    def _copy(path: str, descriptor: int) -> None:
        for name in os.listxattr(path):
            with tolerating(NO_ATTRIBUTE | {errno.ENODATA}):
                os.setxattr(descriptor, name, os.getxattr(path, name))
