"""Process column chunks in parallel within a memory budget, and yield the results in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Sequence, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

# Takes the number of finished chunks and the total.
Progress = Callable[[int, int], None]


def of_all(progress: Progress | None, chunks: Sized) -> Callable[[int], None]:
    """A function that passes the number of finished `chunks` to `progress`, if there is one."""
    return lambda done: progress(done, len(chunks)) if progress else None


# For all filters that are being built or wait to be consumed: two large ones take turns.
MEMORY_BUDGET = 128 << 20


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
    threads = threads or len(os.sched_getaffinity(0))
    if threads == 1:
        for chunk in chunks:
            yield chunk, work(chunk)
        return
    ahead = deque(chunks)
    # Chunks in progress, each with its room and its result to come.
    begun: deque[tuple[Item, int, Future[Result]]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="pbloom-chunk") as pool:
        try:
            while ahead or begun:
                while ahead and len(begun) < 2 * threads:
                    taken = sum(each for _, each, _ in begun)
                    # A chunk that exceeds the budget by itself runs alone.
                    if begun and taken + room(ahead[0]) > MEMORY_BUDGET:
                        break
                    chunk = ahead.popleft()
                    begun.append((chunk, room(chunk), pool.submit(work, chunk)))
                yield _taken(begun)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _taken(begun: deque[tuple[Item, int, Future[Result]]]) -> tuple[Item, Result]:
    """The first result, once ready. A separate function, so that no local keeps it alive."""
    chunk, _, future = begun.popleft()
    return chunk, future.result()
