"""Room for what will be written, which a file system then need not find page by page: fallocate of Linux.
Python has posix_fallocate, which writes to each block where the file system cannot reserve any.

Source: man 2 fallocate.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

# The file grows when it is written.
_KEEP_SIZE: Final = 1

# To load what makes the call takes as long as is saved by some 30 MB.
_WORTHWHILE: Final = 32 << 20


def reserve(file: int, start: int, length: int) -> None:
    """Reserve room for `length` bytes from `start` in the file with that descriptor, where it pays and the
    system can. What does not fit will fail when it is written."""
    if length < _WORTHWHILE:
        return
    call = _fallocate()
    if call is not None:
        call(file, _KEEP_SIZE, start, length)


@cache
def _fallocate() -> Any:
    """The function of the C library; None if it has none."""
    import ctypes

    library = ctypes.CDLL(None)
    # C libraries whose own offsets have 32 bits have both.
    call = getattr(library, "fallocate64", None) or getattr(library, "fallocate", None)
    if call is not None:
        offset = ctypes.c_int64
        call.argtypes = (ctypes.c_int, ctypes.c_int, offset, offset)
    return call
