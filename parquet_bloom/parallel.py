"""Work on several column chunks at the same time, within a memory budget; results come in order.

Of an ORC file, what is called a chunk here is a column of a stripe.
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

# Called with how many chunks are done, and of how many.
Progress = Callable[[int, int], None]


def of_all(progress: Progress | None, chunks: Sized) -> Callable[[int], None]:
    """Tells `progress`, if there is one, how many of `chunks` are done."""
    return lambda done: progress(done, len(chunks)) if progress else None


# Filters that are worked on or wait for somebody to take them, together: two large ones go one by
# one.
MEMORY_BUDGET = 128 << 20


@dataclass(frozen=True, slots=True)
class _Task(Generic[Item, Result]):
    """A chunk that is being worked on; `room` is what that takes at most, in bytes."""

    chunk: Item
    room: int
    future: Future[Result]


def work_in_order(
    chunks: Sequence[Item],
    work: Callable[[Item], Result],
    room: Callable[[Item], int],
    threads: int | None,
) -> Generator[tuple[Item, Result]]:
    """Each chunk with what `work` makes of it, in the order of `chunks`.

    `threads`: one for each processor if None. `room` says how many bytes the work takes at most: the
    next chunks begin as far as there is room beside those whose result nobody has taken yet. Whoever
    keeps a result when asking for another keeps its memory, too. Whoever does not take all of them
    closes it: the garbage collector may do so in one of the threads that it waits for.
    """
    threads = threads or len(os.sched_getaffinity(0))
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
    """Whether to begin with one more. What exceeds the budget alone may go alone."""
    if not begun:
        return True
    taken = sum(task.room for task in begun)
    return len(begun) < 2 * threads and taken + room <= MEMORY_BUDGET


def _taken(begun: deque[_Task[Item, Result]]) -> tuple[Item, Result]:
    """The first of them, when it is ready; a function of its own, so that nothing else holds it."""
    task = begun.popleft()
    return task.chunk, task.future.result()
