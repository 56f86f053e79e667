"""How long files are by now, and whether they still have the ends whose sizes a commit is about to
record."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from typing import Final

from parquet_bloom.parquet.footer.tail import TAIL_BYTES
from parquet_bloom.parquet.sealed.protection import MAGIC, MAGIC_ENCRYPTED
from parquet_bloom.storage import open_folder, open_source
from parquet_bloom.storage.address import Address
from parquet_bloom.storage.source import is_in_store, is_url, local_path
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


def sizes_of(paths: Sequence[str]) -> list[int | None]:
    """In bytes, None for what is not there. Objects of a bucket are asked for at once. Raises OSError,
    UnsupportedError if what reads there is not installed."""
    found: dict[str, int | None] = {}
    buckets: dict[str, list[tuple[str, Address]]] = {}
    for path in paths:
        if is_in_store(path):
            address = Address.of(path)
            buckets.setdefault(f"{address.scheme}://{address.host}", []).append((path, address))
        else:
            found[path] = _size_of(path)
    for root, asked in buckets.items():
        folder = open_folder(asked[0][1].other(root))
        sizes = folder.sizes_of([address.key for _, address in asked])
        found |= {path: size for (path, _), size in zip(asked, sizes, strict=True)}
    return [found[path] for path in paths]


def _size_of(path: str) -> int | None:
    try:
        if not is_url(path):
            return os.stat(path).st_size
        with closing(open_source(path)) as source:
            return source.size
    except FileNotFoundError:
        return None
