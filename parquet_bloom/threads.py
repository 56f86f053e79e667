"""How many threads pay off: where reads wait, more than one; elsewhere, handing a small filter, or the
values of a small chunk, to a thread takes longer than looking at it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from parquet_bloom.parallel import Item
from parquet_bloom.storage.paths import sizes_if_independent
from parquet_bloom.storage.source import is_url

if TYPE_CHECKING:
    from parquet_bloom.storage.paths import Input
    from parquet_bloom.storage.source import Source

# Behind URLs. What waits for the network needs no processor.
AT_ONCE: Final = 16

# From so many files on, several are changed at a time, each with a thread, unless they are larger than
# this. What a small file takes is to wait for the disk, once for all that wait at the same time.
MANY: Final = 64
SMALL_FILE: Final = 16 << 20

# Up to so many bytes of filters, or so many of each, one thread is quicker. A probe of 500,000 filters of
# 32 bytes took five times as long with two.
SMALL_BYTES: Final = 128 << 20
SMALL_FILTER: Final = 256 << 10

# The same for values, in bytes of the file for each chunk. With more threads than one, 20,000 chunks of
# 500 bytes took twice as long, 2,000 of 32 KiB half as long again.
SMALL_CHUNK: Final = 64 << 10


def threads_to_read(
    threads: int | None,
    sources: Sequence[Source],
    items: Sequence[Item],
    filter_bytes: Callable[[Item], int],
) -> int | None:
    """How many threads for the filters of one file, or of two: `threads` if given. `filter_bytes`: of the
    filters of an item."""
    if threads:
        return threads
    size = 0
    for source in sources:
        if is_url(source.path):
            return AT_ONCE
        size += source.size
    most = max(SMALL_BYTES, SMALL_FILTER * len(items))
    # Nobody has to add up the filters of small files.
    return 1 if size <= most or sum(map(filter_bytes, items)) <= most else None


def threads_for_values(threads: int | None, source: Source, num_chunks: int) -> int | None:
    """How many threads for the values of so many chunks of a file: `threads` if given."""
    if threads or is_url(source.path):
        return threads
    return 1 if source.size <= SMALL_CHUNK * num_chunks else None


def threads_for_files(threads: int | None, paths: Sequence[str]) -> tuple[int, int | None]:
    """How many files to read at a time, and how many threads each of them gets: of several files,
    each gets one."""
    if len(paths) < 2:
        return 1, threads
    if threads is None and any(map(is_url, paths)):
        threads = AT_ONCE
    return (1, None) if threads is None else (threads, 1)


def threads_to_change(threads: int | None, inputs: Sequence[Input]) -> tuple[int, int | None]:
    """The same for files of which new versions take their places: several at a time only where each waits for the
    disk."""
    if threads is None:
        sizes = sizes_if_independent(inputs)
        if sizes is not None and are_many_small(sizes):
            return AT_ONCE, 1
    return 1, threads


def are_many_small(sizes: Sequence[int]) -> bool:
    """Whether AT_ONCE files of these bytes are to be changed at a time, where each must be on disk before
    it takes the place of its old version."""
    return len(sizes) >= MANY and max(sizes) <= SMALL_FILE
