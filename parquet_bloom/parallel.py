"""Process files or column chunks in parallel within a memory budget, and yield the results in order.

The budget is one for the whole process, whatever its threads do: for the pages, dictionaries and
filters that are held at a time. What does not fit by itself is refused before it is allocated.

    run       one call of work_in_order
    holder    the thread that consumes a run; also that of runs within its work

A run that holds nothing yet waits for the chunks of other holders; one whose holder holds something
never does, so that no two wait for each other. Once there are fewer chunks left than threads, those without
one help with the parts of others', as far as there is room: see start_helper.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Generator, Sequence, Sized
from threading import Condition, Lock, get_ident, local
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from parquet_bloom.arguments import number_given
from parquet_bloom.errors import UnsupportedError
from parquet_bloom.interruptions import undisturbed
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
        self._name = read.__name__
        self.__doc__ = read.__doc__

    def __get__(self, owner: Any, kind: object) -> Result:
        found = owner.__dict__[self._name] = self._read(owner)
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
    """The limit, and how much of it each holder holds."""

    def __init__(self) -> None:
        self.limit = DEFAULT_MEMORY
        # For what sources read ahead.
        self.aside = 0
        self._held: dict[int, int] = {}
        self._counting = Lock()
        self._given_back = Condition(self._counting)
        self._num_waiting = 0
        self._working_for = local()

    @property
    def holder(self) -> int:
        """The holder of what this thread reads."""
        return getattr(self._working_for, "holder", None) or get_ident()

    def work_for(self, holder: int) -> None:
        """From now on, this thread does."""
        self._working_for.holder = holder

    def take(self, holder: int, room: int, *, is_first: bool) -> bool:
        """Hold `room` more if it fits; the first chunk of a run waits until it does, or until it is
        the only one."""
        if not room:
            return True
        with self._counting:
            while self._held and sum(self._held.values()) + room > self.limit - self.aside:
                if not is_first:
                    return False
                if holder in self._held:
                    break
                self._wait()
            self._held[holder] = self._held.get(holder, 0) + room
            return True

    def _wait(self) -> None:
        self._num_waiting += 1
        try:
            self._given_back.wait()
        finally:
            self._num_waiting -= 1

    def give_back(self, holder: int, room: int) -> None:
        if not room:
            return
        with self._counting:
            self._held[holder] -= room
            if not self._held[holder]:
                del self._held[holder]
            if self._num_waiting:
                self._given_back.notify_all()


_budget = _Budget()


def memory() -> int:
    """How many bytes the threads of this process may hold at a time, see set_memory."""
    return _budget.limit


def set_memory(num_bytes: int) -> None:
    """Let all threads of this process together hold `num_bytes` of pages and filters at a time, at
    least 256 MiB; 1 GiB by default. Chunks wait for each other, also those of several calls at a time,
    and a page that does not fit by itself is refused with UnsupportedError. The interpreter and its
    libraries come on top.

    Raises TypeError for anything but an integer, ValueError for less.
    """
    if number_given("memory", num_bytes, "a number of bytes") < LEAST_MEMORY:
        raise ValueError(f"memory: {num_bytes}, expected {LEAST_MEMORY} bytes or more")
    _budget.limit = num_bytes


def set_aside(num_bytes: int) -> None:
    """Let chunks have so much less of the budget from now on: sources hold it."""
    _budget.aside = max(_budget.aside, num_bytes)


def check_fits(what: str, num_bytes: int) -> None:
    """Raise UnsupportedError if that alone exceeds the memory budget; `what`: such as `a page takes`."""
    if num_bytes > memory():
        raise UnsupportedError(
            f"{what} {num_bytes} bytes, expected at most {memory()}: {NO_MEMORY}"
        )


def num_processors() -> int:
    """How many this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Run:
    """One call of work_in_order: whether any of its threads has no chunk of its own."""

    def __init__(self, threads: int, num_chunks: int) -> None:
        self._threads = threads
        self._left = num_chunks
        self._helping = 0
        self._counting = Lock()

    def do(self, work: Callable[[Item], Result], chunk: Item) -> Result:
        before = _working.run
        _working.run = self
        try:
            return work(chunk)
        finally:
            _working.run = before
            with self._counting:
                self._left -= 1

    def take_thread(self) -> bool:
        """Whether one has no chunk of its own, which helps from now on."""
        with self._counting:
            if min(self._threads, self._left) + self._helping >= self._threads:
                return False
            self._helping += 1
            return True

    def give_back_thread(self) -> None:
        with self._counting:
            self._helping -= 1


class _Alone:
    """A run of one thread, which nobody helps, so that nothing is counted."""

    def do(self, work: Callable[[Item], Result], chunk: Item) -> Result:
        before = _working.run
        _working.run = None
        try:
            return work(chunk)
        finally:
            _working.run = before


_ALONE = _Alone()


class _Working(local):
    """The run that this thread works for; None if nobody can help it."""

    run: _Run | None = None


_working = _Working()


class Helper:
    """A thread that helps with another one's chunk."""

    def __init__(
        self, work: Callable[[], None], holder: int, give_back: Callable[[], None]
    ) -> None:
        """`give_back`: what it holds. Raises RuntimeError if the system has no more threads."""
        # Takes 10 ms, of no use to one thread.
        from concurrent.futures import ThreadPoolExecutor

        self._give_back = give_back
        self._thread = ThreadPoolExecutor(
            1, "pbloom-helper", initializer=_budget.work_for, initargs=(holder,)
        )
        with undisturbed():
            self._work = self._thread.submit(work)

    def join(self) -> None:
        """Wait for it; raises what it raised."""
        self._work.result()

    def end(self) -> None:
        """Wait for it, and let others have its memory."""
        self._thread.shutdown()
        self._give_back()


def start_helper(work: Callable[[], None], room: int) -> Helper | None:
    """Do `work`, which takes at most `room` bytes, in another thread of the run that this one works for;
    None if all of them have chunks of their own, or there is no room. Whoever asks must `end` it."""
    run = _working.run
    if run is None or not run.take_thread():
        return None
    holder = _budget.holder
    if not _budget.take(holder, room, is_first=False):
        run.give_back_thread()
        return None

    def give_back() -> None:
        _budget.give_back(holder, room)
        run.give_back_thread()

    try:
        return Helper(work, holder, give_back)
    except RuntimeError:
        give_back()
        return None


def work_in_order(
    chunks: Sequence[Item],
    work: Callable[[Item], Result],
    room: Callable[[Item], int],
    threads: int | None,
) -> Generator[tuple[Item, Result]]:
    """Yield each chunk with the result of `work`, in the order of `chunks`.

    `threads`: None for one per processor, 1 for just the caller's, helpers included. `room`: the most
    memory that a chunk takes, in bytes. A chunk starts once it fits the budget beside all results not yet
    consumed; a consumer that keeps a result keeps its memory, too. A consumer that does not take
    every result must close this: otherwise the garbage collector may do so in a thread that it
    waits for.
    """
    allowed = threads or num_processors()
    run = _Run(allowed, len(chunks)) if allowed > 1 else _ALONE
    threads = min(allowed, len(chunks))
    holder = _budget.holder
    if threads <= 1:
        for chunk in chunks:
            taken = room(chunk)
            _budget.take(holder, taken, is_first=True)
            try:
                yield chunk, run.do(work, chunk)
            finally:
                _budget.give_back(holder, taken)
        return
    # Takes 10 ms, of no use to one thread.
    from concurrent.futures import ThreadPoolExecutor

    ahead = deque(chunks)
    # Chunks in progress; and the room of these, and of the one that the consumer has.
    begun: deque[_Begun[Item, Result]] = deque()
    held: deque[int] = deque()
    needed: int | None = None
    with ThreadPoolExecutor(
        threads, "pbloom-chunk", initializer=_budget.work_for, initargs=(holder,)
    ) as pool:
        try:
            while ahead or begun:
                while ahead and len(begun) < 2 * threads:
                    needed = room(ahead[0]) if needed is None else needed
                    if not _budget.take(holder, needed, is_first=not begun):
                        break
                    held.append(needed)
                    chunk = ahead.popleft()
                    with undisturbed():
                        begun.append(_Begun(chunk, pool.submit(run.do, work, chunk)))
                    needed = None
                yield _taken(begun)
                _budget.give_back(holder, held.popleft())
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
            _budget.give_back(holder, sum(held))


class _Begun(Generic[Item, Result]):
    """A chunk in progress, with its result to come."""

    def __init__(self, chunk: Item, future: Future[Result]) -> None:
        self._chunk, self._future = chunk, future
        self._going_on = Lock()
        self._going_on.acquire()
        future.add_done_callback(lambda _: self._going_on.release())

    def ended(self) -> tuple[Item, Result]:
        """Both, once it is done; raises what the work raised."""
        # Waiting for a lock can be interrupted; a Condition, on which a future waits, may then be
        # released without having been had again, so that a RuntimeError is all that anybody sees.
        self._going_on.acquire()
        return self._chunk, self._future.result()


def _taken(begun: deque[_Begun[Item, Result]]) -> tuple[Item, Result]:
    """The first result, once ready. A separate function, so that no local keeps it alive."""
    return begun.popleft().ended()
