"""How long files are by now, many at a time."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing

from parquet_bloom.storage import open_folder, open_source
from parquet_bloom.storage.address import Address
from parquet_bloom.storage.source import is_in_store, is_url


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
