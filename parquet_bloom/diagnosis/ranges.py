"""Numbers of pages and blocks, in words."""

from __future__ import annotations

from collections.abc import Collection, Sequence

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
