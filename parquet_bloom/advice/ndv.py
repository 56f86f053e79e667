"""How many distinct values there are, from their hashes, in bounded memory.

Only the smallest hashes are kept (KMV, "k minimum values"). Up to LIMIT distinct hashes are simply
counted. Beyond that, the k-th smallest tells how densely the hashes lie; they are spread evenly
over 2^64, hence

    NDV ~ (k - 1) / (k-th smallest hash / 2^64),   relative standard error 1 / sqrt(k - 2)

The k smallest hashes of a column are among the k smallest of its groups, so one pass gives both. What is
kept follows from the set of values alone: however they are split and in whatever order the parts are
merged, the same hashes are kept. HyperLogLog would take an eighth of the memory for the same error, but
could neither count exactly nor be asked which group holds what.

Source: Bar-Yossef et al., "Counting Distinct Elements in a Data Stream" (2002); the error is from
Beyer et al., "On Synopses for Distinct-Value Estimation" (2007).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np
from numpy.typing import NDArray

# 128 KiB of hashes, and a standard error of 0.78 %.
LIMIT = 1 << 14

# Above every hash that is considered; the greatest possible one is not.
ALL_HASHES = (1 << 64) - 1


def distinct(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The hashes ascending, each once. numpy 2.3 finds unique values with a hash table, which is several
    times slower than this."""
    ordered = np.sort(hashes)
    return ordered[are_new(ordered)]


def united(parts: Sequence[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """The hashes of all parts, ascending, each once. A stable sort merges parts that are ascending."""
    ordered = np.sort(np.concatenate([np.empty(0, np.uint64), *parts]), kind="stable")
    return ordered[are_new(ordered)]


def are_new(ordered: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which of ascending hashes differ from the one before."""
    are_new = np.empty(ordered.size, np.bool_)
    are_new[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=are_new[1:])
    return are_new


class DistinctHashes:
    """The `limit` (>= 3) smallest of the hashes that were added."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self._parts: list[NDArray[np.uint64]] = []
        self._size = 0
        # The greatest hash that is kept, once others were dropped.
        self._threshold: np.uint64 | None = None

    def add(self, hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Add hashes, shape (n,), dtype uint64, in any order and any number of times. Returns the smallest of them,
        ascending, each once: all that can still be among those kept."""
        if self._threshold is not None:
            hashes = hashes[hashes < self._threshold]
        smallest = distinct(hashes)
        if smallest.size:
            self._keep(smallest)
        return smallest

    def merge(self, other: DistinctHashes) -> None:
        """Add what `other` has seen; its limit is no lower."""
        kept = other._kept()
        if self._threshold is None:
            self._threshold = other._threshold
        elif other._threshold is not None:
            self._threshold = min(self._threshold, other._threshold)
        self._keep(kept)

    def pack(self, limit: int) -> None:
        """Keep no more than `limit` (>= 3) hashes from now on, and no memory for others."""
        self.limit = min(self.limit, limit)
        self._kept()

    @property
    def below(self) -> int:
        """No hash from here on is among the smallest."""
        self._kept()
        return ALL_HASHES if self._threshold is None else int(self._threshold) + 1

    def _keep(self, part: NDArray[np.uint64]) -> None:
        """Add a part, ascending and distinct. Sorting waits until there is something to drop."""
        self._parts.append(part)
        self._size += part.size
        if self._size > 4 * self.limit:
            self._compact()

    def _compact(self) -> None:
        kept = united(self._parts)
        if self._threshold is not None:
            kept = kept[kept <= self._threshold]
        if kept.size > self.limit:
            # Not a view, which would keep the rest alive.
            kept = kept[: self.limit].copy()
            self._threshold = kept[-1]
        self._parts, self._size = [kept], kept.size

    def _kept(self) -> NDArray[np.uint64]:
        """The hashes that are kept, ascending and distinct."""
        if len(self._parts) != 1 or self._size > self.limit:
            self._compact()
        return self._parts[0]

    @property
    def kept(self) -> NDArray[np.uint64]:
        """The smallest hashes, ascending: with `is_exact`, all that there is to know."""
        return self._kept()

    @classmethod
    def of(cls, kept: NDArray[np.uint64], is_exact: bool, limit: int) -> DistinctHashes:
        """What kept these hashes."""
        found = cls(limit)
        found._parts, found._size = [kept], kept.size
        if not is_exact:
            found._threshold = kept[-1]
        return found

    @property
    def is_exact(self) -> bool:
        """Whether no hash has been dropped."""
        self._kept()
        return self._threshold is None

    @property
    def count(self) -> int:
        """The number of distinct values, estimated if not `is_exact`."""
        kept = self._kept()
        if self._threshold is None:
            return int(kept.size)
        return round((kept.size - 1) / ((float(kept[-1]) + 1) / 2.0**64))

    @property
    def relative_error(self) -> float | None:
        """The standard error of `count` as a fraction of it; None if it is exact."""
        return None if self.is_exact else 1 / sqrt(self._kept().size - 2)
