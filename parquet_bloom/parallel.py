"""Process column chunks in parallel within a memory budget, and yield the results in order.

In an ORC file, a chunk is one column of one stripe.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Collection, Generator, Sequence, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

# Called with the number of finished chunks and the total.
Progress = Callable[[int, int], None]


def of_all(progress: Progress | None, chunks: Sized) -> Callable[[int], None]:
    """A function that passes the number of finished `chunks` to `progress`, if there is one."""
    return lambda done: progress(done, len(chunks)) if progress else None


# For all filters in progress or waiting to be consumed: two large ones are built one at a time.
MEMORY_BUDGET = 128 << 20


@dataclass(frozen=True, slots=True)
class _Task(Generic[Item, Result]):
    """A chunk in progress; `room` is the most memory it takes, in bytes."""

    chunk: Item
    room: int
    future: Future[Result]


def work_in_order(
    chunks: Sequence[Item],
    work: Callable[[Item], Result],
    room: Callable[[Item], int],
    threads: int | None,
) -> Generator[tuple[Item, Result]]:
    """Yield each chunk with the result of `work`, in the order of `chunks`.

    `threads`: None for one per processor; 1: the caller's own. `room`: the most memory that a chunk takes, in bytes. A
    chunk starts once it fits the budget beside all results not yet consumed; a consumer that holds
    on to a result holds on to its memory, too. A consumer that does not take every result must
    close this: otherwise the garbage collector may do so in a thread that it waits for.
    """
    threads = threads or len(os.sched_getaffinity(0))
    if threads == 1:
        for chunk in chunks:
            yield chunk, work(chunk)
        return
    ahead = deque(chunks)
    begun: deque[_Task[Item, Result]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="pbloom-chunk") as pool:
        try:
            while ahead or begun:
                while ahead and _has_room(begun, room(ahead[0]), threads):
                    chunk = ahead.popleft()
                    begun.append(_Task(chunk, room(chunk), pool.submit(work, chunk)))
                yield _taken(begun)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _has_room(begun: Collection[_Task[Item, Result]], room: int, threads: int) -> bool:
    """Whether to start one more. A chunk that exceeds the budget by itself runs alone."""
    if not begun:
        return True
    taken = sum(task.room for task in begun)
    return len(begun) < 2 * threads and taken + room <= MEMORY_BUDGET


def _taken(begun: deque[_Task[Item, Result]]) -> tuple[Item, Result]:
    """The first result, once ready. A separate function, so that no local keeps it alive."""
    task = begun.popleft()
    return task.chunk, task.future.result()
