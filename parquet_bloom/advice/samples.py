"""Values that are expected to be looked up: drawn from the stored ones, or given by the user.

Stored values are drawn by their hashes: the smallest hashes are the same in every group and file,
so one pass tells which groups hold these values, and every distinct value has the same chance.

Groups are read by several threads, each into a part of its own (`begin`, `add`); `finish` merges a
part into the whole and is called by one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.advice.lookups import LookUps, OrderKey
from parquet_bloom.advice.ndv import ALL_HASHES
from parquet_bloom.dataclass import dataclass

# The default number of distinct stored values to draw from each column.
LIMIT = 4096

# The places in the column's order of the values at some positions, None for values without one.
KeysAt = Callable[[Iterable[int]], Iterable[OrderKey | None]]


class StoredSample:
    """The values of a column with the smallest hashes, and which groups hold them."""

    def __init__(self, is_ordered: bool, limit: int = LIMIT) -> None:
        """`is_ordered`: the type has an order, and values without a place in it are left out."""
        self.is_ordered = is_ordered
        self.limit = limit
        # What was merged since the last `_shrink`: of each group, keys by hash and the FPP.
        self._new: list[tuple[dict[int, OrderKey | None], float]] = []
        self._num_new = 0
        # The rest: hashes in ascending order, and of each value its key, how many groups hold it, and
        # the sum of the FPPs of their filters.
        self._hashes = np.empty(0, np.uint64)
        self._keys: list[OrderKey | None] = []
        self._held = np.empty(0, np.int64)
        self._held_fpp = np.empty(0, np.float64)
        # Hashes from here on can no longer be among the smallest.
        self._threshold = ALL_HASHES

    def begin(self, below: int = ALL_HASHES) -> StoredPart:
        """`below`: hashes from here on are known not to be among the smallest of the column."""
        return StoredPart(self, min(below, self._threshold))

    def merge(self, keys: dict[int, OrderKey | None], fpp: float) -> None:
        """Add the values of a group by hash: at least the smallest ones, up to the limit."""
        self._new.append((keys, fpp))
        self._num_new += len(keys)
        if self._num_new > 2 * self.limit:
            self._shrink()

    def pack(self) -> None:
        """Save memory until the next group comes; a few values take little as they are."""
        if self._num_new > self.limit // 8:
            self._shrink()

    def _shrink(self) -> None:
        """Keep the smallest. Groups that gave only their own smallest have given all of these."""
        if not self._new:
            return
        new = [np.fromiter(group, np.uint64, len(group)) for group, _ in self._new]
        hashes = np.concatenate([self._hashes, *new])
        keys = [*self._keys, *(key for group, _ in self._new for key in group.values())]
        held = np.append(self._held, np.ones(self._num_new))
        fpps = [np.full(len(group), fpp) for group, fpp in self._new]
        held_fpp = np.concatenate([self._held_fpp, *fpps])
        self._new, self._num_new = [], 0

        distinct, first, place = np.unique(hashes, return_index=True, return_inverse=True)
        kept = slice(self.limit)
        self._hashes = distinct[kept].copy()
        self._keys = [keys[position] for position in first[kept].tolist()]
        self._held = np.bincount(place, held)[kept].astype(np.int64)
        self._held_fpp = np.array(np.bincount(place, held_fpp)[kept], np.float64)
        if self._hashes.size == self.limit:
            self._threshold = int(self._hashes[-1]) + 1

    def look_ups(self) -> LookUps:
        """Each value once."""
        self._shrink()
        is_asked = [not self.is_ordered or key is not None for key in self._keys]
        return LookUps(
            keys=[key for key, asked in zip(self._keys, is_asked, strict=True) if asked],
            times=np.ones(sum(is_asked), np.int64),
            held=self._held[is_asked],
            held_fpp=self._held_fpp[is_asked],
        )


class StoredPart:
    """The smallest hashes of one group."""

    def __init__(self, whole: StoredSample, threshold: int) -> None:
        self._whole = whole
        self._threshold = threshold
        self._keys: dict[int, OrderKey | None] = {}

    def add(self, hashes: NDArray[np.uint64], keys_at: KeysAt) -> None:
        """Add the hashes of the next values; `keys_at` gives their keys by position."""
        limit = self._whole.limit
        below = np.flatnonzero(hashes < np.uint64(self._threshold))
        found, first = np.unique(hashes[below], return_index=True)
        # There can be millions; no more than the limit can be among the smallest.
        smallest, positions = found[:limit], below[first[:limit]]
        if smallest.size == limit:
            self._threshold = int(smallest[-1]) + 1
        new = {
            position: hash
            for hash, position in zip(smallest.tolist(), positions.tolist(), strict=True)
            if hash not in self._keys
        }
        if new:
            keys = keys_at(new) if self._whole.is_ordered else [None] * len(new)
            self._keys |= zip(new.values(), keys, strict=True)
        if len(self._keys) > 1.5 * limit:
            kept = sorted(self._keys)[:limit]
            self._keys = {hash: self._keys[hash] for hash in kept}
            self._threshold = kept[-1] + 1

    def finish(self, fpp: float) -> None:
        """Merge the group into the whole; `fpp`: of its filter."""
        self._whole.merge(self._keys, fpp)


@dataclass(frozen=True, slots=True)
class GivenValue:
    """A value that is looked up: the hashes it may have where it is stored, and its place in the
    order. `is_unknown`: it may have other hashes, too, so no filter can rule it out."""

    hashes: Sequence[int]
    key: OrderKey | None
    is_unknown: bool


class GivenSample:
    """Values given by the user, and which groups hold them."""

    def __init__(self, values: Sequence[GivenValue], times: Sequence[int]) -> None:
        """`times`: how often each of the values is looked up."""
        hashes = [hash for each in values for hash in each.hashes]
        self.hashes, self._place = np.unique(np.array(hashes, np.uint64), return_inverse=True)
        # The hashes of value i are at the places starts[i] to ends[i].
        counts = np.array([len(each.hashes) for each in values], np.int64)
        self._ends = np.cumsum(counts)
        self._starts = self._ends - counts
        self._is_unknown = np.array([each.is_unknown for each in values], np.bool_)
        self._look_ups = LookUps(
            keys=[each.key for each in values],
            times=np.array(times, np.int64),
            held=np.zeros(len(values), np.int64),
            held_fpp=np.zeros(len(values), np.float64),
        )

    def begin(self, below: int = ALL_HASHES) -> GivenPart:
        """Given values are looked for whatever their hashes."""
        return GivenPart(self)

    def merge(self, found: NDArray[np.bool_], fpp: float) -> None:
        """Add a group in which these of the hashes were found."""
        upto = np.concatenate([[0], np.cumsum(found[self._place])])
        is_held = (upto[self._ends] > upto[self._starts]) | self._is_unknown
        self._look_ups.held[is_held] += 1
        self._look_ups.held_fpp[is_held] += fpp

    def pack(self) -> None:
        """There is no memory to save."""

    def look_ups(self) -> LookUps:
        return self._look_ups


class GivenPart:
    """Which of the given hashes one group has."""

    def __init__(self, whole: GivenSample) -> None:
        self._whole = whole
        self._found = np.zeros(whole.hashes.size, np.bool_)

    def add(self, hashes: NDArray[np.uint64], keys_at: KeysAt) -> None:
        """See StoredPart."""
        given = self._whole.hashes
        if given.size:
            at = np.searchsorted(given, hashes)
            at[at == given.size] = 0
            self._found[at[given[at] == hashes]] = True

    def finish(self, fpp: float) -> None:
        self._whole.merge(self._found, fpp)


Sample = StoredSample | GivenSample
SamplePart = StoredPart | GivenPart
