"""Runs of pages, blocks and bytes, and their numbers in words."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.container import number_of

# As many as one sentence can bear.
MAX_RANGES = 8


def some_of(found: Sequence[str]) -> str:
    """Of ranges, as many as a sentence can bear."""
    words = ", ".join(found[:MAX_RANGES])
    left = len(found) - MAX_RANGES
    return words if left <= 0 else f"{words} and {number_of(left, 'more range')}"


def ranges(numbers: Collection[int]) -> list[str]:
    """`0 to 3`, `7`"""
    starts = sorted(n for n in numbers if n - 1 not in numbers)
    ends = sorted(n for n in numbers if n + 1 not in numbers)
    return [
        str(start) if start == end else f"{start} to {end}"
        for start, end in zip(starts, ends, strict=True)
    ]


def longest_run(flags: NDArray[np.bool_]) -> tuple[int, int]:
    """Where the longest run of True begins, and its length; 0 if there is none."""
    edges = np.flatnonzero(np.diff(flags, prepend=False, append=False))
    starts, lengths = edges[::2], edges[1::2] - edges[::2]
    if not lengths.size:
        return 0, 0
    longest = int(lengths.argmax())
    return int(starts[longest]), int(lengths[longest])
