"""How long the work on several files took, for people: the last words of the line that sums it up.

300 files: 300 built; 300 filters, 31.4 KiB added; 3.7 s
"""

from __future__ import annotations

import time
from typing import Final

# Less is nothing that anybody plans with.
LEAST_SECONDS: Final = 1.0


class Stopwatch:
    """Runs from when it is made."""

    def __init__(self) -> None:
        self._started = time.perf_counter()

    def so_far(self, num_files: int) -> str:
        """`; 3.7 s`, of several files that took a while; else nothing."""
        seconds = time.perf_counter() - self._started
        return f"; {seconds:,.1f} s" if num_files > 1 and seconds > LEAST_SECONDS else ""
