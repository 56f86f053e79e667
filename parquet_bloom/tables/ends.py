"""Whether files still have the ends whose sizes a commit is about to record."""

from __future__ import annotations

import os
from typing import Final

from parquet_bloom.parquet.footer.tail import TAIL_BYTES
from parquet_bloom.parquet.sealed.protection import MAGIC, MAGIC_ENCRYPTED
from parquet_bloom.storage.source import is_url, local_path
from parquet_bloom.tables.table import SHORTER

NO_END: Final = "was replaced in the meantime: run it again"


def why_not(path: str, there: int | None, size: int) -> str | None:
    """Why nothing must record `size` of a data file, which has `there` bytes by now, None if it is not
    there; None if it still ends so. Objects, which only change on condition that they are what was read,
    are not asked. Raises OSError."""
    if there is None or there < size:
        return SHORTER
    if is_url(path):
        return None
    return None if _is_end(path, size) else NO_END


def _is_end(path: str, size: int) -> bool:
    """Whether a local file is there and, cut at `size`, has a footer at its end."""
    try:
        descriptor = os.open(local_path(path), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return False
    try:
        tail = os.pread(descriptor, TAIL_BYTES, size - TAIL_BYTES)
    finally:
        os.close(descriptor)
    length = int.from_bytes(tail[:4], "little")
    return tail[4:] in (MAGIC, MAGIC_ENCRYPTED) and len(MAGIC) + length + TAIL_BYTES <= size
