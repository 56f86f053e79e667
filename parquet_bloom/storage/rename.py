"""Renames that overwrite nothing, or lose nothing: renameat2 of Linux and renamex_np of macOS, which Python does not
have.

File systems support it or not (vfat and many FUSE file systems know RENAME_NOREPLACE only), and some
C libraries lack it.

Source: man 2 renameat2; Apple's man 2 rename.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from functools import cache
from typing import TypeAlias

PathName: TypeAlias = "str | os.PathLike[str]"

AT_FDCWD = -100
# Of Linux, and what macOS calls RENAME_EXCL and RENAME_SWAP.
RENAME_NOREPLACE = 1
RENAME_EXCHANGE = 2
OF_MACOS = {RENAME_NOREPLACE: 4, RENAME_EXCHANGE: 2}

# Of kernels and file systems that do not support the flag; EPERM is what sandboxes that do not know
# the call answer, and if it is about the file, the other way fails of it, too.
_UNSUPPORTED = {errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EPERM}


def rename_to_free(old: PathName, new: PathName) -> bool:
    """Rename `old` to `new`, where no file may be; False if the system cannot. Raises
    FileExistsError, OSError."""
    return _rename(old, new, RENAME_NOREPLACE)


def exchange(one: PathName, other: PathName) -> bool:
    """Give each of two files the other's name, at once; False if the system cannot. Raises OSError."""
    return _rename(one, other, RENAME_EXCHANGE)


def _rename(old: PathName, new: PathName, flag: int) -> bool:
    call = _call()
    if call is None:
        return False
    import ctypes

    if call(os.fsencode(old), os.fsencode(new), flag) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), str(old), None, str(new))


@cache
def _call() -> Callable[[bytes, bytes, int], int] | None:
    """The function of the C library; None if it has none."""
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    name, folder = ctypes.c_char_p, ctypes.c_int
    if renameat2 := getattr(library, "renameat2", None):
        renameat2.argtypes = (folder, name, folder, name, ctypes.c_uint)
        return lambda old, new, flag: int(renameat2(AT_FDCWD, old, AT_FDCWD, new, flag))
    if renamex_np := getattr(library, "renamex_np", None):
        renamex_np.argtypes = (name, name, ctypes.c_uint)
        return lambda old, new, flag: int(renamex_np(old, new, OF_MACOS[flag]))
    return None
