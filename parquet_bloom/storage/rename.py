"""Renames that overwrite nothing, or lose nothing: renameat2 of Linux, which Python does not have.

File systems support it or not (vfat and many FUSE file systems know RENAME_NOREPLACE only), and some
C libraries lack it.

Source: man 2 renameat2.
"""

from __future__ import annotations

import errno
import os
from functools import cache
from typing import Any, TypeAlias

PathName: TypeAlias = "str | os.PathLike[str]"

AT_FDCWD = -100
RENAME_NOREPLACE = 1
RENAME_EXCHANGE = 2

# Of kernels and file systems that do not support the flag; EPERM is what sandboxes that do not know
# the call answer, and if it is about the file, the other way fails of it, too.
_UNSUPPORTED = {errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM}


def rename_to_free(old: PathName, new: PathName) -> bool:
    """Rename `old` to `new`, where no file may be; False if the system cannot. Raises
    FileExistsError, OSError."""
    return _rename(old, new, RENAME_NOREPLACE)


def exchange(one: PathName, other: PathName) -> bool:
    """Give each of two files the other's name, at once; False if the system cannot. Raises OSError."""
    return _rename(one, other, RENAME_EXCHANGE)


def _rename(old: PathName, new: PathName, flag: int) -> bool:
    call = _renameat2()
    if call is None:
        return False
    import ctypes

    if call(AT_FDCWD, os.fsencode(old), AT_FDCWD, os.fsencode(new), flag) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), str(old), None, str(new))


@cache
def _renameat2() -> Any:
    """The function of the C library; None if it has none."""
    import ctypes

    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is not None:
        name, folder = ctypes.c_char_p, ctypes.c_int
        call.argtypes = (folder, name, folder, name, ctypes.c_uint)
    return call
