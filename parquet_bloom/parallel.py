"""Process files or column chunks in parallel within a memory budget, and yield the results in order.

The budget is one for the whole process, whatever its threads do: for the pages, dictionaries and
filters that are held at a time. What does not fit by itself is refused before it is allocated.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Sequence, Sized
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from parquet_bloom.errors import UnsupportedError
from parquet_bloom.vocabulary import NO_MEMORY

if TYPE_CHECKING:
    from concurrent.futures import Future

Item = TypeVar("Item")
Result = TypeVar("Result")


class read_once(Generic[Result]):
    """cached_property without the lock of Python 3.11, which lets only one of all threads read at a
    time. If two threads share the object, both may read."""

    def __init__(self, read: Callable[[Any], Result]) -> None:
        self._read = read
        self.__doc__ = read.__doc__

    def __get__(self, owner: Any, kind: object) -> Result:
        found = owner.__dict__[self._read.__name__] = self._read(owner)
        return found


# Takes the number of finished chunks and the total.
Progress = Callable[[int, int], None]


def of_all(progress: Progress | None, chunks: Sized) -> Callable[[int], None]:
    """A function that passes the number of finished `chunks` to `progress`, if there is one."""
    return lambda done: progress(done, len(chunks)) if progress else None


DEFAULT_MEMORY = 1 << 30

# Two of the largest filters, and pages.
LEAST_MEMORY = 256 << 20


class _Budget:
    limit = DEFAULT_MEMORY


def memory() -> int:
    """How many bytes the threads of this process may hold at a time, see set_memory."""
    return _Budget.limit


def set_memory(num_bytes: int) -> None:
    """Let all threads of this process together hold `num_bytes` of pages and filters at a time, at
    least 256 MiB; 1 GiB by default. Chunks wait for each other, and a page that does not fit by
    itself is refused with UnsupportedError. The interpreter and its libraries come on top.

    Raises ValueError for less.
    """
    if num_bytes < LEAST_MEMORY:
        raise ValueError(f"memory: {num_bytes}, expected {LEAST_MEMORY} bytes or more")
    _Budget.limit = num_bytes


def check_fits(what: str, num_bytes: int) -> None:
    """Raise UnsupportedError if that alone exceeds the memory budget; `what`: such as `a page takes`."""
    if num_bytes > memory():
        raise UnsupportedError(
            f"{what} {num_bytes} bytes, expected at most {memory()}: {NO_MEMORY}"
        )


def num_processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0))


def work_in_order(
    chunks: Sequence[Item],
    work: Callable[[Item], Result],
    room: Callable[[Item], int],
    threads: int | None,
) -> Generator[tuple[Item, Result]]:
    """Yield each chunk with the result of `work`, in the order of `chunks`.

    `threads`: None for one per processor, 1 for just the caller's. `room`: the most memory that a
    chunk takes, in bytes. A chunk starts once it fits the budget beside all results not yet
    consumed; a consumer that keeps a result keeps its memory, too. A consumer that does not take
    every result must close this: otherwise the garbage collector may do so in a thread that it
    waits for.
    """
    threads = threads or num_processors()
    if threads == 1:
        for chunk in chunks:
            yield chunk, work(chunk)
        return
    # Takes 10 ms, of no use to one thread.
    from concurrent.futures import ThreadPoolExecutor

    ahead = deque(chunks)
    # Chunks in progress, each with its room and its result to come.
    begun: deque[tuple[Item, int, Future[Result]]] = deque()
    needed: int | None = None
    with ThreadPoolExecutor(threads, thread_name_prefix="pbloom-chunk") as pool:
        try:
            while ahead or begun:
                while ahead and len(begun) < 2 * threads:
                    taken = sum(each for _, each, _ in begun)
                    needed = room(ahead[0]) if needed is None else needed
                    # A chunk that exceeds the budget by itself runs alone.
                    if begun and taken + needed > memory():
                        break
                    chunk = ahead.popleft()
                    begun.append((chunk, needed, pool.submit(work, chunk)))
                    needed = None
                yield _taken(begun)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _taken(begun: deque[tuple[Item, int, Future[Result]]]) -> tuple[Item, Result]:
    """The first result, once ready. A separate function, so that no local keeps it alive."""
    chunk, _, future = begun.popleft()
    return chunk, future.result()
