"""How fast this process asks a store below each prefix: as fast as it can, until the store complains.

    503, 429      what follows below the prefix is sent at most every 20 ms, then 40, 80, … up to a second
    an answer     a tenth sooner; below 5 ms there is no pace any more

Stores count requests for each prefix, and those of all processes together. Whoever repeats a refused request
later by itself alone still sends all others at full speed, and most of them in vain.
"""

from __future__ import annotations

import time
from threading import Lock
from typing import Final

# Seconds between two requests: after the first complaint, at most, and when it is over.
FIRST: Final = 0.02
LONGEST: Final = 1.0
OVER: Final = 0.005
# What an answer makes of them.
QUICKER: Final = 0.9


class _Gap:
    """Between requests below one prefix. `free`: when the next may be sent; `slowed`: when it became longer."""

    __slots__ = ("free", "seconds", "slowed")

    def __init__(self, now: float) -> None:
        self.seconds, self.free, self.slowed = FIRST, now + FIRST, now

    def lengthen(self, now: float) -> None:
        self.seconds = min(LONGEST, 2 * self.seconds)
        self.free, self.slowed = now + self.seconds, now


class Pace:
    """For all threads of a process, by prefix: the URL of a folder."""

    def __init__(self) -> None:
        self._lock = Lock()
        # Only where a store has complained.
        self._gaps: dict[str, _Gap] = {}

    def wait(self, prefix: str) -> float:
        """Until the next request may be sent; returns when that is, by the monotonic clock."""
        now = time.monotonic()
        with self._lock:
            gap = self._gaps.get(prefix)
            if gap is None:
                return now
            start = max(now, gap.free)
            gap.free = start + gap.seconds
        if start > now:
            time.sleep(start - now)
        return start

    def slow_down(self, prefix: str, sent: float) -> None:
        """The store has complained of a request that was `sent` then."""
        now = time.monotonic()
        with self._lock:
            gap = self._gaps.get(prefix)
            if gap is None:
                self._gaps[prefix] = _Gap(now)
            elif sent >= gap.slowed:
                # Those that were under way before do not say that the pace of now is too fast.
                gap.lengthen(now)

    def speed_up(self, prefix: str) -> None:
        """The store has done what was asked."""
        with self._lock:
            gap = self._gaps.get(prefix)
            if gap is not None:
                gap.seconds *= QUICKER
                if gap.seconds < OVER:
                    del self._gaps[prefix]


# Of this process.
PACE: Final = Pace()
