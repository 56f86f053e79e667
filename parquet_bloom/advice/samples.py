"""Values that are expected to be looked up: drawn from the stored ones, or given by the user.

Stored values are drawn by their hashes: the smallest hashes are the same in every group and file,
so one pass tells which groups hold these values, and every distinct value has the same chance.

Chunks are read by several threads, each into a part of its own (`begin`, `add`); `finish` merges a
part into the whole and is called by one thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.advice.lookups import LookUps
from parquet_bloom.advice.ranges import KeyOf, OrderKey

# Distinct stored values that are drawn from each column, unless told otherwise.
LIMIT = 4096

# Above every hash that is considered; the greatest possible one is not.
ALL_HASHES = (1 << 64) - 1


class StoredValues(Protocol):
    """Values stored one after the other, few of which are wanted."""

    def take(self, positions: Iterable[int]) -> Iterable[Any]:
        """The values at these positions, as the column's KeyOf takes them."""


class SampledChunk(Protocol):
    """What one chunk tells about the sampled values."""

    def add(self, run: StoredValues, hashes: NDArray[np.uint64]) -> None:
        """The next values of the chunk, and their hashes in the same order."""

    def finish(self, fpp: float) -> None:
        """Merge the chunk into the whole; `fpp`: of its filter."""


class Sample(Protocol):
    """The sampled values of a column."""

    def begin(self, below: int = ALL_HASHES) -> SampledChunk:
        """`below`: hashes from here on are known not to be among the smallest of the column."""

    def pack(self) -> None:
        """Save memory until the next chunk comes."""

    def look_ups(self) -> LookUps:
        """The values, once every chunk is finished."""


@dataclass(slots=True)
class _Drawn:
    """A value: how many groups hold it, and the sum of the FPPs of their filters."""

    key: OrderKey | None
    held: int = 0
    held_fpp: float = 0.0


class StoredSample:
    """The values of a column with the smallest hashes, and which groups hold them."""

    def __init__(self, key_of: KeyOf | None, limit: int = LIMIT) -> None:
        self._key_of = key_of
        self._limit = limit
        # By hash, what chunks told since the last `_shrink`.
        self._new: dict[int, _Drawn] = {}
        # The rest: hashes ascending, and for each of them what is known.
        self._hashes = np.empty(0, np.uint64)
        self._keys: list[OrderKey | None] = []
        self._held = np.empty(0, np.int64)
        self._held_fpp = np.empty(0, np.float64)
        # Hashes from here on can no longer be among the smallest.
        self._threshold = ALL_HASHES

    def begin(self, below: int = ALL_HASHES) -> SampledChunk:
        return _StoredChunk(self, min(below, self._threshold), self._key_of, self._limit)

    def merge(self, keys: dict[int, OrderKey | None], fpp: float) -> None:
        """Add the values of a chunk by hash: at least the smallest ones, up to the limit."""
        for hash, key in keys.items():
            drawn = self._new.get(hash)
            if drawn is None:
                drawn = self._new[hash] = _Drawn(key)
            drawn.held += 1
            drawn.held_fpp += fpp
        if len(self._new) > 2 * self._limit:
            self._shrink()

    def pack(self) -> None:
        """A few values take little memory as they are."""
        if len(self._new) > self._limit // 8:
            self._shrink()

    def _shrink(self) -> None:
        """Keep the smallest. Chunks that told only their own smallest have told all of these."""
        if not self._new:
            return
        new = list(self._new.values())
        hashes = np.concatenate([self._hashes, np.fromiter(self._new, np.uint64, len(new))])
        keys = [*self._keys, *(drawn.key for drawn in new)]
        held = [*self._held.tolist(), *(drawn.held for drawn in new)]
        held_fpp = [*self._held_fpp.tolist(), *(drawn.held_fpp for drawn in new)]
        self._new = {}

        distinct, first, place = np.unique(hashes, return_index=True, return_inverse=True)
        kept = slice(self._limit)
        self._hashes = distinct[kept].copy()
        self._keys = [keys[position] for position in first[kept].tolist()]
        self._held = np.bincount(place, held)[kept].astype(np.int64)
        self._held_fpp = np.array(np.bincount(place, held_fpp)[kept], np.float64)
        if self._hashes.size == self._limit:
            self._threshold = int(self._hashes[-1]) + 1

    def look_ups(self) -> LookUps:
        """Each value once. Where there is an order, values outside it are not looked up."""
        self._shrink()
        is_asked = [self._key_of is None or key is not None for key in self._keys]
        return LookUps(
            keys=[key for key, asked in zip(self._keys, is_asked, strict=True) if asked],
            times=np.ones(sum(is_asked), np.int64),
            held=self._held[is_asked],
            held_fpp=self._held_fpp[is_asked],
        )


class _StoredChunk:
    def __init__(
        self, whole: StoredSample, threshold: int, key_of: KeyOf | None, limit: int
    ) -> None:
        self._whole = whole
        self._threshold = threshold
        self._key_of = key_of
        self._limit = limit
        self._keys: dict[int, OrderKey | None] = {}

    def add(self, run: StoredValues, hashes: NDArray[np.uint64]) -> None:
        below = np.flatnonzero(hashes < np.uint64(self._threshold))
        found, first = np.unique(hashes[below], return_index=True)
        # A run can have millions; no more than the limit can be among the smallest.
        smallest, positions = found[: self._limit], below[first[: self._limit]]
        if smallest.size == self._limit:
            self._threshold = int(smallest[-1]) + 1
        new = {
            position: hash
            for hash, position in zip(smallest.tolist(), positions.tolist(), strict=True)
            if hash not in self._keys
        }
        if self._key_of is None:
            self._keys |= dict.fromkeys(new.values())
        elif new:
            for position, stored in zip(new, run.take(new), strict=True):
                self._keys[new[position]] = self._key_of(stored)
        if len(self._keys) > 1.5 * self._limit:
            kept = sorted(self._keys)[: self._limit]
            self._keys = {hash: self._keys[hash] for hash in kept}
            self._threshold = kept[-1] + 1

    def finish(self, fpp: float) -> None:
        self._whole.merge(self._keys, fpp)


@dataclass(frozen=True, slots=True)
class GivenValue:
    """A value that is looked up: the hashes it may have where it is stored, and its place in the
    order. `is_unknown`: not all of its hashes are known, so no filter can rule it out."""

    hashes: Sequence[int]
    key: OrderKey | None
    is_unknown: bool


class GivenSample:
    """Values given by the user, and which groups hold them."""

    def __init__(self, values: Sequence[GivenValue], times: Sequence[int]) -> None:
        """`times`: how often each of the values is looked up."""
        hashes = [hash for each in values for hash in each.hashes]
        self._hashes, self._place = np.unique(np.array(hashes, np.uint64), return_inverse=True)
        # The hashes of value i are those of the places starts[i] to ends[i].
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

    def begin(self, below: int = ALL_HASHES) -> SampledChunk:
        return _GivenChunk(self, self._hashes)

    def merge(self, found: NDArray[np.bool_], fpp: float) -> None:
        """Add a chunk in which these of the hashes were found."""
        upto = np.concatenate([[0], np.cumsum(found[self._place])])
        is_held = (upto[self._ends] > upto[self._starts]) | self._is_unknown
        self._look_ups.held[is_held] += 1
        self._look_ups.held_fpp[is_held] += fpp

    def pack(self) -> None:
        """Nothing to save."""

    def look_ups(self) -> LookUps:
        return self._look_ups


class _GivenChunk:
    def __init__(self, whole: GivenSample, hashes: NDArray[np.uint64]) -> None:
        self._whole = whole
        self._hashes = hashes
        self._found = np.zeros(hashes.size, np.bool_)

    def add(self, run: StoredValues, hashes: NDArray[np.uint64]) -> None:
        if self._hashes.size:
            at = np.searchsorted(self._hashes, hashes)
            at[at == self._hashes.size] = 0
            self._found[at[self._hashes[at] == hashes]] = True

    def finish(self, fpp: float) -> None:
        self._whole.merge(self._found, fpp)
