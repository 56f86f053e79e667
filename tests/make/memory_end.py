"""Memory that ends where a buffer ends."""

import ctypes
import mmap

import numpy as np
import pytest


class MemoryEnd:
    """A few pages, and after them one that nobody may touch: a read past the end is a crash."""

    def __init__(self, size: int) -> None:
        room = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
        self._pages = mmap.mmap(-1, room + mmap.PAGESIZE)
        self._room = np.frombuffer(self._pages, np.uint8)[:room]
        address = self._room.ctypes.data
        library = ctypes.CDLL(None, use_errno=True)
        forbid = library.mprotect(ctypes.c_void_p(address + room), mmap.PAGESIZE, 0)
        assert forbid == 0, f"mprotect: errno {ctypes.get_errno()}"

    def place(self, data: bytes) -> np.ndarray:
        """A copy of `data` whose last byte is the last one there is; valid until the next one."""
        view = self._room[self._room.size - len(data) :]
        view[:] = np.frombuffer(data, np.uint8)
        return view


@pytest.fixture(scope="session")
def memory_end() -> MemoryEnd:
    return MemoryEnd(1 << 20)
