"""Ranges that will be read, fetched ahead in few requests of bounded size.

    wanted     |--|  |----|     |-------------------|           |-|
    pieces     |----------|     |---------|---------|           |-|

Ranges that are near each other are one piece, and long ones several. When a thread reads in a piece,
those that follow are fetched in the meantime. All sources of the process hold at most HELD_BYTES, and
what threads are reading; pieces that were read and left are dropped first. A piece that is needed and
not there is fetched then: this is about time, and never about what is read.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError, Future
from itertools import count, pairwise
from threading import Lock, Thread, current_thread
from typing import Final
from weakref import WeakKeyDictionary, WeakSet

from parquet_bloom.storage.objects.requests import IN_FLIGHT, submit

# Bytes between two ranges that cost less to read than another request takes.
GAP_BYTES: Final = 128 << 10
# What is repeated at most when a request fails.
PIECE_BYTES: Final = 8 << 20
HELD_BYTES: Final = IN_FLIGHT * PIECE_BYTES

ByteRange = tuple[int, int]


def join_ranges(ranges: Iterable[ByteRange]) -> list[ByteRange]:
    """The pieces to fetch for ranges [start, end), in the order in which these are wanted."""
    wanted = [(start, end, number) for number, (start, end) in enumerate(ranges) if start < end]
    joined: list[list[int]] = []
    for start, end, number in sorted(wanted):
        last = joined[-1] if joined else None
        if last is not None and start - last[1] <= GAP_BYTES:
            whole = max(end, last[1]) - last[0]
            # A filter is not torn apart to fill a piece.
            if whole <= PIECE_BYTES or start < last[1]:
                last[1], last[2] = max(end, last[1]), min(number, last[2])
                continue
        joined.append([start, end, number])
    joined.sort(key=lambda each: each[2])
    return [
        (at, min(end, at + PIECE_BYTES))
        for start, end, _ in joined
        for at in range(start, end, PIECE_BYTES)
    ]


class _BytesHeld:
    """How many bytes all sources hold."""

    def __init__(self) -> None:
        self.num_bytes = 0
        self.lock = Lock()

    def take(self, num_bytes: int, *, whatever: bool = False) -> bool:
        with self.lock:
            if not whatever and self.num_bytes + num_bytes > HELD_BYTES:
                return False
            self.num_bytes += num_bytes
            return True

    def give_back(self, num_bytes: int) -> None:
        with self.lock:
            self.num_bytes -= num_bytes


held = _BytesHeld()


class _Range:
    """`data`: None if it is not there and was not asked for. `touched`: when it was last read, 0 if
    it was not."""

    __slots__ = ("data", "end", "readers", "start", "touched")

    def __init__(self, start: int, end: int) -> None:
        self.start, self.end = start, end
        self.data: Future[memoryview] | None = None
        self.readers: WeakSet[Thread] = WeakSet()
        self.touched = 0


class Prefetch:
    """The pieces of one object; `fetch` gets the bytes [start, end)."""

    def __init__(self, fetch: Callable[[int, int], memoryview]) -> None:
        self._fetch = fetch
        self._lock = Lock()
        self._clock = count(1)
        # In the order in which they are wanted; and by where they start.
        self._pieces: list[_Range] = []
        self._starts: list[int] = []
        self._order: list[int] = []
        self._where: WeakKeyDictionary[Thread, _Range] = WeakKeyDictionary()

    def will_read(self, ranges: Iterable[ByteRange]) -> None:
        """Forget what was wanted before, and begin to fetch the first of these."""
        pieces = [_Range(start, end) for start, end in join_ranges(ranges)]
        self.close()
        with self._lock:
            self._pieces = pieces
            self._order = sorted(range(len(pieces)), key=lambda number: pieces[number].start)
            self._starts = [pieces[number].start for number in self._order]
            self._fetch_from(0)

    def at(self, position: int) -> tuple[int, memoryview] | None:
        """The piece with this position: its start and bytes; None if none was wanted there. Raises
        as `fetch`."""
        with self._lock:
            index = bisect_right(self._starts, position) - 1
            if index < 0:
                return None
            number = self._order[index]
            piece = self._pieces[number]
            if position >= piece.end:
                return None
            if piece.data is None:
                self._fetch_again(number)
                self._make_room(piece.end - piece.start, whatever=True)
                self._submit(piece)
            self._touch(piece)
            self._fetch_from(number + 1)
            data = piece.data
        assert data is not None
        try:
            return piece.start, data.result()
        except CancelledError:
            # Another thread has said meanwhile that it will read something else.
            return piece.start, submit(lambda: self._fetch(piece.start, piece.end)).result()
        except BaseException:
            with self._lock:
                self._drop(piece)
            raise

    def next_start(self, position: int) -> int | None:
        """Where the next piece starts."""
        with self._lock:
            index = bisect_right(self._starts, position)
            return self._starts[index] if index < len(self._starts) else None

    def close(self) -> None:
        with self._lock:
            for piece in self._pieces:
                self._drop(piece)
            self._pieces, self._starts, self._order = [], [], []
            self._where.clear()

    # --------------------------------------------------------------------------------------------
    # With the lock

    def _touch(self, piece: _Range) -> None:
        """The thread reads here now, and has left the piece where it was."""
        thread = current_thread()
        before = self._where.get(thread)
        if before is not None and before is not piece:
            before.readers.discard(thread)
        self._where[thread] = piece
        piece.readers.add(thread)
        piece.touched = next(self._clock)

    def _fetch_from(self, number: int) -> None:
        for piece in self._pieces[number : number + IN_FLIGHT]:
            if piece.data is None and not piece.touched:
                if not self._make_room(piece.end - piece.start):
                    return
                self._submit(piece)

    def _fetch_again(self, number: int) -> None:
        """Somebody reads a long range once more: what follows is wanted again, too."""
        for before, piece in pairwise(self._pieces[number:]):
            if piece.start != before.end:
                return
            if piece.data is None:
                piece.touched = 0

    def _submit(self, piece: _Range) -> None:
        try:
            piece.data = submit(lambda: self._fetch(piece.start, piece.end))
        except BaseException:
            held.give_back(piece.end - piece.start)
            raise

    def _make_room(self, num_bytes: int, whatever: bool = False) -> bool:
        """Hold so many bytes more; drops what was read and left, the longest ago first."""
        while not held.take(num_bytes):
            left = [
                each for each in self._pieces if each.data and each.touched and not each.readers
            ]
            if not left:
                return whatever and held.take(num_bytes, whatever=True)
            self._drop(min(left, key=lambda each: each.touched))
        return True

    def _drop(self, piece: _Range) -> None:
        if piece.data is not None:
            piece.data.cancel()
            piece.data = None
            held.give_back(piece.end - piece.start)
