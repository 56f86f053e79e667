"""How many threads pay off for reading filters, whose values nobody reads: where reads wait, more
than one; elsewhere, handing a small filter to a thread takes longer than looking at it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from parquet_bloom.parallel import Item
from parquet_bloom.storage.source import is_url

if TYPE_CHECKING:
    from parquet_bloom.storage.source import Source

# Behind URLs. What waits for the network needs no processor.
AT_ONCE: Final = 16

# Up to so many bytes of filters, one thread is quicker.
SMALL_BYTES = 128 << 20


def threads_to_read(
    threads: int | None,
    sources: Sequence[Source],
    items: Iterable[Item],
    room: Callable[[Item], int],
) -> int | None:
    """How many threads for the filters of one file, or of two: `threads` if given."""
    if threads:
        return threads
    if any(is_url(source.path) for source in sources):
        return AT_ONCE
    # Nobody has to add up the filters of small files.
    is_small = sum(source.size for source in sources) <= SMALL_BYTES
    return 1 if is_small or sum(map(room, items)) <= SMALL_BYTES else None


def threads_for_files(threads: int | None, paths: Sequence[str]) -> tuple[int, int | None]:
    """How many files to read at a time, and how many threads each of them gets: of several files,
    each gets one."""
    if len(paths) < 2:
        return 1, threads
    if threads is None and any(map(is_url, paths)):
        threads = AT_ONCE
    return (1, None) if threads is None else (threads, 1)
